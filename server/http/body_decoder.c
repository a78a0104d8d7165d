/* body_decoder.c - gzip in requests. */
#include "http/body_decoder.h"

#include <stdlib.h>
#include <strings.h>
#define ZLIB_CONST
#include <zlib.h>

enum { PIECE = 16 << 10, GZIP_ONLY = 16 /* added to zlib's window bits */ };

struct sv_body_decoder {
    z_stream gzip;
    bool is_at_end; /* of a member; another may follow */
};

bool sv_body_is_gzip(const char *content_encoding)
{
    return content_encoding && (strcasecmp(content_encoding, "gzip") == 0 ||
                                strcasecmp(content_encoding, "x-gzip") == 0);
}

struct sv_body_decoder *sv_body_decoder_create(struct sv_error *error)
{
    struct sv_body_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder && inflateInit2(&decoder->gzip, MAX_WBITS + GZIP_ONLY) == Z_OK)
        return decoder;
    free(decoder);
    (void)sv_fail_no_memory(error);
    return NULL;
}

void sv_body_decoder_destroy(struct sv_body_decoder *decoder)
{
    if (!decoder)
        return;
    (void)inflateEnd(&decoder->gzip);
    free(decoder);
}

static bool fail_damaged(const z_stream *gzip, int status, struct sv_error *error)
{
    if (status == Z_MEM_ERROR)
        return sv_fail_no_memory(error);
    return sv_fail(error, SV_INVALID_VALUE, NULL,
                   "The body is not valid gzip, as Content-Encoding says: %s.",
                   gzip->msg ? gzip->msg : "it is damaged");
}

bool sv_body_decode(struct sv_body_decoder *decoder, const char *bytes, size_t count,
                    bool (*take)(void *context, const char *bytes, size_t count), void *context,
                    struct sv_error *error)
{
    char piece[PIECE];
    z_stream *gzip = &decoder->gzip;
    gzip->next_in = (const unsigned char *)bytes;
    gzip->avail_in = (unsigned)count;
    do {
        if (decoder->is_at_end && gzip->avail_in > 0)
            (void)inflateReset(gzip);
        gzip->next_out = (unsigned char *)piece;
        gzip->avail_out = sizeof piece;
        int status = inflate(gzip, Z_NO_FLUSH);
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
            return fail_damaged(gzip, status, error);
        decoder->is_at_end = status == Z_STREAM_END;
        if (!take(context, piece, sizeof piece - gzip->avail_out))
            return false;
    } while (gzip->avail_in > 0 || gzip->avail_out == 0);
    return true;
}

bool sv_body_decoder_end(const struct sv_body_decoder *decoder, struct sv_error *error)
{
    return decoder->is_at_end ||
           sv_fail(error, SV_INVALID_VALUE, NULL,
                   "The body is not valid gzip, as Content-Encoding says: it ends too early.");
}
