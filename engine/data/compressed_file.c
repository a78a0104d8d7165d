/* compressed_file.c - reads mapped files through zlib, liblzma or as they are, with one
 * interface. */
#define ZLIB_CONST /* zlib leaves its input alone */
#include "data/compressed_file.h"

#include "base/dynarray.h"
#include "base/file_kind.h"

#include <assert.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* xz -9 needs 65 MiB to unpack; more needs special options of xz. */
static const uint64_t xz_memory_max = UINT64_C(256) << 20;

static const int64_t standard_bytes_max = INT64_C(4) << 30;

/* No text packs so well, but a file that was made to fill the memory does. */
static const int64_t ratio_max = 200, small_bytes = INT64_C(64) << 20;

enum { MAGIC_MAX = 6, PIECE_BYTES = 1 << 16 };

/* A compressed format: its magic bytes, and its decoder. */
struct packing {
    const char *name;
    unsigned char magic[MAGIC_MAX];
    size_t magic_bytes;
    size_t padding; /* members may be followed by zeros, a multiple of this many; 0: they may not */
    /* Of one member, begun when the source is opened and again after each. */
    bool (*begin)(struct sl_compressed_reader *source, struct sl_err *err);
    /* Unpacks some of the member; sets source->between at its end. */
    bool (*unpack)(struct sl_compressed_reader *source, char *out, size_t room, size_t *got,
                   struct sl_err *err);
    void (*end)(struct sl_compressed_reader *source);
};

struct sl_compressed_reader {
    const struct packing *packing; /* NULL: plain */
    struct sl_map map;
    size_t at;           /* bytes of the file that are read */
    int64_t left;        /* bytes that may still come out */
    int64_t bytes_max;   /* of how many */
    bool is_ratio;       /* which follow from the size of the file */
    bool begun, between; /* a decoder exists; its member is at its end */
    z_stream gzip;
    lzma_stream xz;
};

static bool fail_truncated(const struct sl_compressed_reader *s, struct sl_err *err)
{
    return sl_fail(err, SL_CORRUPT, "truncated %s data: the file ends after %zu bytes",
                   s->packing->name, s->map.size);
}

static bool fail_damaged(const struct sl_compressed_reader *s, const char *why, struct sl_err *err)
{
    return sl_fail(err, SL_CORRUPT, "the %s data is damaged near byte offset %zu: %s",
                   s->packing->name, s->at, why);
}

static bool fail_memory(const struct sl_compressed_reader *s, struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory to unpack %s", s->packing->name);
}

/* ---- gzip (RFC 1952) ------------------------------------------------------------------------ */

static bool gzip_begin(struct sl_compressed_reader *s, struct sl_err *err)
{
    enum { GZIP_ONLY = 16 }; /* zlib's own way of saying so */

    int status = s->begun ? inflateReset(&s->gzip) : inflateInit2(&s->gzip, MAX_WBITS + GZIP_ONLY);
    s->begun = true;
    return status == Z_OK || fail_memory(s, err);
}

static bool gzip_unpack(struct sl_compressed_reader *s, char *out, size_t room, size_t *got,
                        struct sl_err *err)
{
    z_stream *z = &s->gzip;
    size_t given = s->map.size - s->at;
    z->next_in = (const unsigned char *)s->map.data + s->at;
    z->avail_in = given < UINT_MAX ? (unsigned)given : UINT_MAX;
    z->next_out = (unsigned char *)out;
    z->avail_out = room < UINT_MAX ? (unsigned)room : UINT_MAX;
    int status = inflate(z, Z_NO_FLUSH);
    s->at = (size_t)(z->next_in - (const unsigned char *)s->map.data);
    *got = (size_t)(z->next_out - (unsigned char *)out);
    s->between = status == Z_STREAM_END;
    if (status == Z_OK || status == Z_STREAM_END)
        return true;
    if (status == Z_BUF_ERROR)
        return fail_truncated(s, err);
    if (status == Z_MEM_ERROR)
        return fail_memory(s, err);
    return fail_damaged(s, z->msg ? z->msg : "zlib gives no reason", err);
}

static void gzip_end(struct sl_compressed_reader *s)
{
    (void)inflateEnd(&s->gzip);
}

/* ---- xz (the .xz file format, version 1.1.0) ------------------------------------------------ */

static bool xz_begin(struct sl_compressed_reader *s, struct sl_err *err)
{
    s->begun = true;
    return lzma_stream_decoder(&s->xz, xz_memory_max, 0) == LZMA_OK || fail_memory(s, err);
}

static const char *xz_reason(lzma_ret status)
{
    if (status == LZMA_OPTIONS_ERROR)
        return "filters or options that this version of liblzma does not support";
    return "checksum or length mismatch";
}

static bool xz_unpack(struct sl_compressed_reader *s, char *out, size_t room, size_t *got,
                      struct sl_err *err)
{
    s->xz.next_in = (const uint8_t *)s->map.data + s->at;
    s->xz.avail_in = s->map.size - s->at;
    s->xz.next_out = (uint8_t *)out;
    s->xz.avail_out = room;
    lzma_ret status = lzma_code(&s->xz, LZMA_FINISH);
    s->at = s->map.size - s->xz.avail_in;
    *got = room - s->xz.avail_out;
    s->between = status == LZMA_STREAM_END;
    if (status == LZMA_OK || status == LZMA_STREAM_END)
        return true;
    if (status == LZMA_BUF_ERROR)
        return fail_truncated(s, err);
    if (status == LZMA_MEM_ERROR)
        return fail_memory(s, err);
    if (status == LZMA_MEMLIMIT_ERROR)
        return sl_fail(err, SL_BAD_INPUT,
                       "unpacking this xz data takes %llu MiB of memory, at most %llu are allowed: "
                       "pack it with xz -9 or less",
                       (unsigned long long)(lzma_memusage(&s->xz) >> 20),
                       (unsigned long long)(xz_memory_max >> 20));
    return fail_damaged(s, xz_reason(status), err);
}

static void xz_end(struct sl_compressed_reader *s)
{
    lzma_end(&s->xz);
}

/* ---- what a file is ------------------------------------------------------------------------- */

static const struct packing packings[] = {
    {.name = "gzip",
     .magic = {0x1F, 0x8B},
     .magic_bytes = 2,
     .begin = gzip_begin,
     .unpack = gzip_unpack,
     .end = gzip_end},
    {.name = "xz",
     .magic = {0xFD, '7', 'z', 'X', 'Z', 0},
     .magic_bytes = 6,
     .padding = 4,
     .begin = xz_begin,
     .unpack = xz_unpack,
     .end = xz_end},
};

enum { PACKINGS = sizeof packings / sizeof packings[0] };

static bool begins_with(const struct sl_compressed_reader *s, const struct packing *p)
{
    return s->map.size - s->at >= p->magic_bytes &&
           memcmp(s->map.data + s->at, p->magic, p->magic_bytes) == 0;
}

static bool source_begin(struct sl_compressed_reader *s, struct sl_err *err)
{
    for (int i = 0; i < PACKINGS && !s->packing; i++)
        if (begins_with(s, &packings[i]))
            s->packing = &packings[i];
    if (s->packing)
        return s->packing->begin(s, err);
    const struct sl_file_kind *kind = sl_file_kind_find(s->map.data, s->map.size);
    return !kind || kind->is_text ||
           sl_fail(err, SL_BAD_INPUT, "the file is %s, which is not read: %s", kind->name,
                   kind->way_out);
}

static void limit_ratio(struct sl_compressed_reader *s)
{
    const int64_t most = (int64_t)s->map.size * ratio_max;
    s->bytes_max = most > small_bytes ? most : small_bytes;
    s->is_ratio = s->bytes_max < standard_bytes_max;
    s->bytes_max = s->is_ratio ? s->bytes_max : standard_bytes_max;
}

/* ---- the source ----------------------------------------------------------------------------- */

struct sl_compressed_reader *sl_compressed_reader_open(const char *path, const char *display_name,
                                                       int64_t bytes_max, struct sl_err *err)
{
    assert(path);
    assert(bytes_max >= 0);
    const char *name = display_name ? display_name : path;
    struct sl_compressed_reader *s = calloc(1, sizeof *s);
    if (!s) {
        sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", name);
        return NULL;
    }
    s->xz = (lzma_stream)LZMA_STREAM_INIT;
    s->bytes_max = bytes_max > 0 ? bytes_max : standard_bytes_max;
    if (!sl_map_open(&s->map, path, err)) {
        sl_compressed_reader_close(s);
        return NULL;
    }
    if (!source_begin(s, err)) {
        sl_wrap_file(err, name, 0);
        sl_compressed_reader_close(s);
        return NULL;
    }
    if (bytes_max == 0 && s->packing)
        limit_ratio(s);
    s->left = s->bytes_max;
    return s;
}

void sl_compressed_reader_close(struct sl_compressed_reader *source)
{
    if (!source)
        return;
    if (source->packing && source->begun)
        source->packing->end(source);
    sl_map_close(&source->map);
    free(source);
}

static void plain_read(struct sl_compressed_reader *s, char *out, size_t room, size_t *got)
{
    size_t left = s->map.size - s->at;
    *got = left < room ? left : room;
    if (*got > 0)
        memcpy(out, s->map.data + s->at, *got);
    s->at += *got;
}

static bool zeros_follow(const struct sl_compressed_reader *s, size_t count)
{
    static const char zeros[MAGIC_MAX];
    assert(count <= sizeof zeros);
    return count > 0 && s->map.size - s->at >= count &&
           memcmp(s->map.data + s->at, zeros, count) == 0;
}

/* After a member: the next one, or the end of the file. */
static bool member_next(struct sl_compressed_reader *s, struct sl_err *err)
{
    while (zeros_follow(s, s->packing->padding))
        s->at += s->packing->padding;
    if (s->at == s->map.size)
        return true;
    if (!begins_with(s, s->packing))
        return sl_fail(err, SL_CORRUPT,
                       "%zu bytes that are not %s follow the %s data, at byte offset %zu",
                       s->map.size - s->at, s->packing->name, s->packing->name, s->at);
    s->between = false;
    return s->packing->begin(s, err);
}

static bool packed_read(struct sl_compressed_reader *s, char *out, size_t room, size_t *got,
                        struct sl_err *err)
{
    *got = 0;
    while (*got < room) {
        size_t more = 0;
        if (s->between && !member_next(s, err))
            return false;
        if (s->between)
            return true;
        if (!s->packing->unpack(s, out + *got, room - *got, &more, err))
            return false;
        *got += more;
    }
    return true;
}

bool sl_compressed_reader_read(struct sl_compressed_reader *source, char *buffer, size_t bytes,
                               size_t *got, struct sl_err *err)
{
    assert(source);
    assert(buffer);
    size_t count = 0;
    if (!source->packing)
        plain_read(source, buffer, bytes, &count);
    else if (!packed_read(source, buffer, bytes, &count, err))
        return false;
    if (count > (uint64_t)source->left && source->is_ratio)
        return sl_fail(err, SL_BAD_INPUT,
                       "unpacks to more than %lld bytes, which is suspicious for a file of %zu: if "
                       "it is right, unpack it first, and give the plain file",
                       (long long)source->bytes_max, source->map.size);
    if (count > (uint64_t)source->left)
        return sl_fail(err, SL_BAD_INPUT, "larger than the limit of %lld bytes%s",
                       (long long)source->bytes_max, source->packing ? " when unpacked" : "");
    source->left -= (int64_t)count;
    *got = count;
    return true;
}

/* ---- whole files ---------------------------------------------------------------------------- */

static bool unpack_all(struct sl_decompressed_file *file, struct sl_compressed_reader *source,
                       struct sl_err *err)
{
    char *memory = NULL;
    size_t used = 0, room = 0, got = 1;
    bool ok = true;
    while (ok && got > 0) {
        ok = sl_dynarray_reserve(&memory, &room, used + PIECE_BYTES, 1, err) &&
             sl_compressed_reader_read(source, memory + used, room - used, &got, err);
        used += ok ? got : 0;
    }
    if (!ok) {
        free(memory);
        return false;
    }
    sl_dynarray_shrink(&memory, &room, used, 1);
    *file = (struct sl_decompressed_file){
        .data = used > 0 ? memory : NULL, .size = used, .memory = memory};
    return true;
}

bool sl_decompressed_file_open(struct sl_decompressed_file *file, const char *path,
                               struct sl_err *err)
{
    assert(file);
    struct sl_compressed_reader *source = sl_compressed_reader_open(path, NULL, 0, err);
    if (!source)
        return false;
    bool ok = true;
    if (source->packing) {
        ok = unpack_all(file, source, err) || sl_wrap_file(err, path, 0);
    } else {
        *file = (struct sl_decompressed_file){
            .data = source->map.data, .size = source->map.size, .map = source->map};
        source->map = (struct sl_map){0};
    }
    sl_compressed_reader_close(source);
    return ok;
}

void sl_decompressed_file_close(struct sl_decompressed_file *file)
{
    assert(file);
    sl_map_close(&file->map);
    free(file->memory);
    *file = (struct sl_decompressed_file){0};
}
