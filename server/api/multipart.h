/* multipart.h - multipart/form-data (RFC 7578), read as it arrives and never held in memory.
 *
 * One thread at a time per form. */
#pragma once

#include "core/request_error.h"

#include <stddef.h>

enum {
    SV_BOUNDARY_MAX = 70,       /* RFC 2046 */
    SV_PART_HEAD_MAX = 2048,    /* headers of one part */
    SV_PART_NAME_MAX = 64,      /* with the NUL */
    SV_PART_FILENAME_MAX = 256, /* with the NUL */
    SV_PARTS_IN_FORM_MAX = 32
};

/* Gets the parts in order; returning false stops with the error that it has set. */
struct sv_form_reader {
    void *context;
    /* filename: without directories; NULL: the part is no file. Both are UTF-8. */
    bool (*begin)(void *context, const char *name, const char *filename, struct sv_error *error);
    bool (*data)(void *context, const char *bytes, size_t count, struct sv_error *error);
};

enum sv_form_state { SV_FORM_DATA, SV_FORM_DELIMITER, SV_FORM_HEAD, SV_FORM_END };

/* The fields belong to multipart.c. */
struct sv_form {
    struct sv_form_reader reader;
    enum sv_form_state state;
    char delimiter[SV_BOUNDARY_MAX + 5]; /* CR LF -- boundary */
    size_t delimiter_bytes, matched;     /* of the delimiter */
    bool in_part;                        /* not before the first */
    int parts;
    char head[SV_PART_HEAD_MAX + 1]; /* or what follows a delimiter */
    size_t head_bytes;
};

/* content_type: the request's. False: it is not multipart/form-data, or has no valid boundary. */
bool sv_form_begin(struct sv_form *form, const char *content_type,
                   const struct sv_form_reader *reader, struct sv_error *error);
/* The next bytes of the body. */
bool sv_form_feed(struct sv_form *form, const char *bytes, size_t count, struct sv_error *error);
/* At the end of the body: false if the form is cut off. */
bool sv_form_end(const struct sv_form *form, struct sv_error *error);
