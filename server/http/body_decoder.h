/* body_decoder.h - unpacks a body with Content-Encoding: gzip, piece by piece. */
#pragma once

#include "core/request_error.h"

#include <stdbool.h>
#include <stddef.h>

/* What Accept-Encoding says of bodies, and messages. */
#define SV_BODY_ENCODINGS "gzip"

struct sv_body_decoder;

bool sv_body_is_gzip(const char *content_encoding); /* NULL: no */
/* NULL: no memory. */
struct sv_body_decoder *sv_body_decoder_create(struct sv_error *error);
void sv_body_decoder_destroy(struct sv_body_decoder *decoder); /* NULL is fine */

/* Unpacks the next bytes of the body and passes what comes out to `take`, which checks its size.
 * Stops at its first failure. */
bool sv_body_decode(struct sv_body_decoder *decoder, const char *bytes, size_t count,
                    bool (*take)(void *context, const char *bytes, size_t count), void *context,
                    struct sv_error *error);
/* Once all bytes are in: whether it was whole. */
bool sv_body_decoder_end(const struct sv_body_decoder *decoder, struct sv_error *error);
