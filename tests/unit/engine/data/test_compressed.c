/* test_compressed.c - files that are plain, gzip or xz, whole and in pieces, sound and not. */
#include "data/compressed_file.h"
#include "data/corpus.h"
#include "data/dataset.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

#include <lzma.h>
#include <zlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PACKED_MAX = 1 << 20, GZIP = 16 };

static char directory[PATH_MAX], path[PATH_MAX];
static const struct sl_tokenizer_options characters = {.kind = "characters"};

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "input");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

/* ---- packing -------------------------------------------------------------------------------- */

/* Bytes of a file in the making. */
struct bytes {
    unsigned char data[PACKED_MAX];
    size_t count;
};

static void bytes_add(struct bytes *b, const void *data, size_t count)
{
    cr_assert_leq(count, sizeof b->data - b->count);
    if (count > 0)
        memcpy(b->data + b->count, data, count);
    b->count += count;
}

static void plain_add(struct bytes *b, const char *text, size_t count)
{
    bytes_add(b, text, count);
}

static void gzip_add(struct bytes *b, const char *text, size_t count)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text,
                  .avail_in = (unsigned)count,
                  .next_out = b->data + b->count,
                  .avail_out = (unsigned)(sizeof b->data - b->count)};
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    b->count += z.total_out;
    cr_assert_eq(deflateEnd(&z), Z_OK);
}

static void xz_add(struct bytes *b, const char *text, size_t count)
{
    cr_assert_eq(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, count,
                                         b->data, &b->count, sizeof b->data),
                 LZMA_OK);
}

static const struct {
    const char *name;
    void (*add)(struct bytes *b, const char *text, size_t count);
    size_t magic_bytes;
} kinds[] = {
    {"plain", plain_add, 0},
    {"gzip", gzip_add, 2},
    {"xz", xz_add, 6},
};

enum { PLAIN, FIRST_PACKED, KINDS = COUNT(kinds) };

static void file_write(const struct bytes *b)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    cr_assert_eq(fwrite(b->data, 1, b->count, file), b->count);
    cr_assert_eq(fclose(file), 0);
}

/* Text that packs, but not to nothing. */
static void text_fill(char *text, size_t count)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        text[i] = "abcdefghijklmnop"[state >> 28];
        if (i % 64 == 63)
            text[i] = '\n';
    }
}

/* ---- sound files ---------------------------------------------------------------------------- */

/* Reads a file in pieces of this many bytes, and compares. */
static void expect_pieces(const char *what, const char *text, size_t count, size_t piece)
{
    struct sl_err err;
    struct sl_compressed_reader *source = NULL;
    char *buffer = malloc(piece);
    size_t done = 0, got = piece;
    cr_assert(buffer);
    EXPECT_OK((source = sl_compressed_reader_open(path, NULL, 0, &err)), err);
    while (got == piece) {
        EXPECT_OK(sl_compressed_reader_read(source, buffer, piece, &got, &err), err);
        cr_assert_leq(got, count - done, "%s: more than was packed", what);
        cr_assert(got == 0 || memcmp(buffer, text + done, got) == 0, "%s at %zu", what, done);
        done += got;
    }
    cr_assert_eq(done, count, "%s: %zu of %zu bytes", what, done, count);
    EXPECT_OK(sl_compressed_reader_read(source, buffer, piece, &got, &err), err);
    cr_assert_eq(got, 0, "%s: goes on after its end", what);
    sl_compressed_reader_close(source);
    free(buffer);
}

static void expect_whole(const char *what, const char *text, size_t count)
{
    struct sl_err err;
    struct sl_decompressed_file file = {0};
    EXPECT_OK(sl_decompressed_file_open(&file, path, &err), err);
    cr_assert_eq(file.size, count, "%s: %zu of %zu bytes", what, file.size, count);
    cr_assert(count == 0 ? !file.data : memcmp(file.data, text, count) == 0, "%s", what);
    sl_decompressed_file_close(&file);
    sl_decompressed_file_close(&file);
}

static const size_t sizes[] = {0, 1, 100, 65535, 65536, 65537, 300000};

Test(compressed, every_kind_gives_back_what_was_packed, .init = setup, .fini = teardown)
{
    static const size_t pieces[] = {1, 7, 4096, 65536, 1 << 20};
    static char text[300000];
    static struct bytes b;
    text_fill(text, sizeof text);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            b.count = 0;
            kinds[kind].add(&b, text, sizes[s]);
            file_write(&b);
            expect_whole(kinds[kind].name, text, sizes[s]);
            for (size_t p = 0; p < COUNT(pieces); p++)
                expect_pieces(kinds[kind].name, text, sizes[s], pieces[p]);
        }
}

Test(compressed, members_are_read_to_the_last, .init = setup, .fini = teardown)
{
    static const char text[] = "one two three";
    static struct bytes b;
    for (int kind = FIRST_PACKED; kind < KINDS; kind++) {
        b.count = 0;
        kinds[kind].add(&b, text, 4);
        kinds[kind].add(&b, text, 0);
        kinds[kind].add(&b, text + 4, 4);
        kinds[kind].add(&b, text + 8, 5);
        file_write(&b);
        expect_whole(kinds[kind].name, text, strlen(text));
        expect_pieces(kinds[kind].name, text, strlen(text), 3);
        expect_pieces(kinds[kind].name, text, strlen(text), 100);
    }
}

Test(compressed, streams_of_xz_may_be_padded, .init = setup, .fini = teardown)
{
    static struct bytes b;
    struct sl_err err;
    struct sl_decompressed_file file = {0};
    b.count = 0;
    xz_add(&b, "one ", 4);
    bytes_add(&b, "\0\0\0\0\0\0\0\0", 8);
    xz_add(&b, "two", 3);
    bytes_add(&b, "\0\0\0\0", 4);
    file_write(&b);
    expect_whole("padded xz", "one two", 7);
    bytes_add(&b, "\0\0\0", 3);
    file_write(&b);
    EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT,
                "3 bytes that are not xz follow the xz data");
}

/* ---- files that are not --------------------------------------------------------------------- */

Test(compressed, every_truncation_is_rejected, .init = setup, .fini = teardown)
{
    static struct bytes whole, part;
    for (int kind = FIRST_PACKED; kind < KINDS; kind++) {
        whole.count = 0;
        kinds[kind].add(&whole, "a text of some words", 20);
        for (size_t count = kinds[kind].magic_bytes; count < whole.count; count++) {
            char want[64];
            struct sl_err err;
            struct sl_decompressed_file file = {0};
            part.count = 0;
            bytes_add(&part, whole.data, count);
            file_write(&part);
            (void)snprintf(want, sizeof want, "truncated %s data: the file ends after %zu",
                           kinds[kind].name, count);
            EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT, want);
            cr_assert_null(file.data);
        }
    }
}

Test(compressed, trailing_data_is_rejected, .init = setup, .fini = teardown)
{
    static struct bytes b;
    for (int kind = FIRST_PACKED; kind < KINDS; kind++) {
        char want[96];
        struct sl_err err;
        struct sl_decompressed_file file = {0};
        b.count = 0;
        kinds[kind].add(&b, "text", 4);
        (void)snprintf(want, sizeof want,
                       "input': 7 bytes that are not %s follow the %s data, at byte offset %zu",
                       kinds[kind].name, kinds[kind].name, b.count);
        bytes_add(&b, "garbage", 7);
        file_write(&b);
        EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT, want);
    }
}

/* An xz file is covered by checksums whole; of a gzip file the end is. */
Test(compressed, damage_is_noticed, .init = setup, .fini = teardown)
{
    static struct bytes b;
    struct sl_err err;
    struct sl_decompressed_file file = {0};
    b.count = 0;
    xz_add(&b, "a text of some words", 20);
    for (size_t i = 6; i < b.count; i++) {
        b.data[i] ^= 1;
        file_write(&b);
        EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT, "xz data");
        b.data[i] ^= 1;
    }
    b.count = 0;
    gzip_add(&b, "a text of some words", 20);
    b.data[b.count - 8] ^= 1;
    file_write(&b);
    EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT,
                "the gzip data is damaged near byte offset ");
    EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_CORRUPT,
                "incorrect data check");
}

Test(compressed, a_file_unpacks_to_its_limit_and_no_further, .init = setup, .fini = teardown)
{
    enum { BYTES = 1 << 19, LIMIT = 100000 };

    static char zeros[BYTES], buffer[BYTES];
    static struct bytes b;
    for (int kind = 0; kind < KINDS; kind++) {
        struct sl_err err;
        struct sl_compressed_reader *source = NULL;
        size_t got = 0;
        b.count = 0;
        kinds[kind].add(&b, zeros, BYTES);
        file_write(&b);
        EXPECT_OK((source = sl_compressed_reader_open(path, NULL, BYTES, &err)), err);
        EXPECT_OK(sl_compressed_reader_read(source, buffer, BYTES, &got, &err), err);
        cr_assert_eq(got, BYTES);
        sl_compressed_reader_close(source);
        EXPECT_OK((source = sl_compressed_reader_open(path, NULL, LIMIT, &err)), err);
        EXPECT_OK(sl_compressed_reader_read(source, buffer, LIMIT, &got, &err), err);
        EXPECT_FAIL(sl_compressed_reader_read(source, buffer, 1, &got, &err), err, SL_BAD_INPUT,
                    kind == PLAIN ? "larger than the limit of 100000 bytes"
                                  : "larger than the limit of 100000 bytes when unpacked");
        sl_compressed_reader_close(source);
    }
}

/* The dictionary that a block asks for is one byte of its header (.xz format, 5.3.1). */
Test(compressed, xz_above_the_memory_limit_is_rejected, .init = setup, .fini = teardown)
{
    enum { HEADER = 12, MAGIC_FILTER = 0x21, ONE_GIB = 36 };

    static struct bytes b;
    struct sl_err err;
    struct sl_decompressed_file file = {0};
    b.count = 0;
    xz_add(&b, "text", 4);
    unsigned char *header = b.data + HEADER;
    size_t size = (size_t)(header[0] + 1) * 4;
    unsigned char *filter = memchr(header + 1, MAGIC_FILTER, size - 1);
    cr_assert(filter);
    filter[2] = ONE_GIB;
    uint32_t sum = lzma_crc32(header, size - 4, 0);
    for (size_t i = 0; i < 4; i++)
        header[size - 4 + i] = (unsigned char)(sum >> (8 * i));
    file_write(&b);
    EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, SL_BAD_INPUT,
                "unpacking this xz data takes 1024 MiB of memory, at most 256 are allowed");
}

static const struct {
    const char *text; /* NULL: no such file */
    enum sl_code code;
    const char *want;
} bad_files[] = {
    {NULL, SL_NOT_FOUND, "input'"},
    {"\x28\xB5\x2F\xFDxyz", SL_BAD_INPUT,
     "input': the file is zstd data, which is not read: unpack it, or pack its contents with gzip "
     "or xz"},
    {"PK\3\4xyz", SL_BAD_INPUT, "the file is a zip archive"},
};

Test(compressed, other_formats_are_rejected_by_name, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_decompressed_file file = {0};
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        if (bad_files[i].text)
            test_write_file(path, bad_files[i].text);
        EXPECT_FAIL(sl_decompressed_file_open(&file, path, &err), err, bad_files[i].code,
                    bad_files[i].want);
    }
    EXPECT_FAIL(sl_decompressed_file_open(&file, directory, &err), err, SL_BAD_INPUT,
                "a directory, not a file");
}

/* ---- who reads them ------------------------------------------------------------------------- */

Test(compressed, a_corpus_may_be_packed, .init = setup, .fini = teardown)
{
    static struct bytes b;
    for (int kind = 0; kind < KINDS; kind++) {
        struct sl_err err;
        struct sl_corpus corpus = {0};
        struct sl_tokenizer *tokens = NULL;
        b.count = 0;
        kinds[kind].add(&b, "abba", 4);
        file_write(&b);
        EXPECT_OK((tokens = sl_corpus_train_tokenizer(path, &characters, &err)), err);
        EXPECT_OK(sl_corpus_open(&corpus, path, tokens, &err), err);
        cr_assert_eq(corpus.count, 4);
        cr_assert_eq(corpus.ids[1], 1);
        cr_assert_eq(corpus.ids[3], 0);
        sl_corpus_close(&corpus);
        b.count /= 2;
        file_write(&b);
        if (kind >= FIRST_PACKED)
            EXPECT_FAIL(sl_corpus_open(&corpus, path, tokens, &err), err, SL_CORRUPT, "input': ");
        sl_tokenizer_destroy(tokens);
    }
}

/* Names lie; the first bytes do not. */
Test(compressed, a_data_set_may_be_packed_whatever_its_name, .init = setup, .fini = teardown)
{
    static const char *const names[] = {"a.tsv", "a.tsv.gz", "a.tsv.xz"};
    static const char text[] = "0\tone\n1\ttwo\n";
    static struct bytes b;
    for (size_t name = 0; name < COUNT(names); name++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct sl_err err;
            struct sl_dataset set = {0};
            struct sl_record_options options = {.label = "1", .text = "2"};
            (void)test_path(path, directory, names[name]);
            b.count = 0;
            kinds[kind].add(&b, text, strlen(text));
            file_write(&b);
            EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
            cr_assert_eq(set.count, 2);
            sl_dataset_close(&set);
            if (kind < FIRST_PACKED)
                continue;
            b.count -= 4;
            file_write(&b);
            EXPECT_FAIL(sl_dataset_open(&set, path, &options, NULL, &err), err, SL_CORRUPT,
                        "' line 1: truncated ");
        }
}
