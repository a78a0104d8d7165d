/* test_pipeline_golden.c - tokenizers of every kind, trained by the Python package `tokenizers`,
 * make the tokens that it made of 20,000 texts (golden/record_pipelines.py). */
#include "base/file.h"
#include "base/random.h"
#include "formats/tokenizer_json.h"
#include "support/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pipelines/"

enum { TEXTS = 20000, PAIRS = 2000, DECODED = 5000, LONG = 100000, TOKENS_MAX = 1 << 20 };

static const uint64_t fnv_start = 0xCBF29CE484222325;

/* Fragments, and room for what is made of them. */
struct golden {
    json_t *root, *fragments;
    char *text, *second, *decoded;
    int32_t *ids, *types;
    struct sl_token_offset *offsets;
};

/* Digests that were recorded, and those of now. */
struct digests {
    struct sl_map file;
    size_t count;
    uint64_t all;
};

/* -- texts, as record_pipelines.py makes them ------------------------------------------------- */

static size_t append(char *text, size_t used, const char *part, size_t bytes)
{
    memcpy(text + used, part, bytes);
    return used + bytes;
}

static uint64_t mix(uint64_t x)
{
    return sl_random_mix(x + 0x9E3779B97F4A7C15);
}

static size_t text_of(const struct golden *g, uint64_t number, char *text)
{
    size_t used = 0;
    if (number == 0) {
        memset(text, 'a', LONG);
        return LONG;
    }
    uint64_t state = mix(number), count = 1 + state % 15;
    bool blanks = state >> 8 & 1;
    for (uint64_t i = 0; i < count; i++) {
        state = mix(state);
        const json_t *part = json_array_get(g->fragments, state % json_array_size(g->fragments));
        uint64_t times = (state >> 40) % 16 == 0 ? 1 + (state >> 32) % 40 : 1;
        if (i > 0 && blanks)
            used = append(text, used, " ", 1);
        for (; times > 0; times--)
            used = append(text, used, json_string_value(part), json_string_length(part));
    }
    return used;
}

static struct golden golden_open(void)
{
    struct golden g = {.text = malloc(TOKENS_MAX),
                       .second = malloc(TOKENS_MAX),
                       .decoded = malloc(TOKENS_MAX),
                       .ids = malloc(TOKENS_MAX * sizeof *g.ids),
                       .types = malloc(TOKENS_MAX * sizeof *g.types),
                       .offsets = malloc(TOKENS_MAX * sizeof *g.offsets)};
    json_error_t error;
    cr_assert(g.text && g.second && g.decoded && g.ids && g.types && g.offsets);
    g.root = json_load_file(GOLDEN "fragments.json", JSON_ALLOW_NUL, &error);
    g.fragments = json_object_get(g.root, "fragments");
    cr_assert(json_is_array(g.fragments), "%s", error.text);
    return g;
}

static void golden_close(struct golden *g)
{
    json_decref(g->root);
    free(g->text);
    free(g->second);
    free(g->decoded);
    free(g->ids);
    free(g->types);
    free(g->offsets);
}

/* -- digests ---------------------------------------------------------------------------------- */

static uint64_t fnv(const void *data, size_t bytes, uint64_t digest)
{
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * 0x100000001B3;
    return digest;
}

static uint64_t fnv_word(uint64_t word, size_t bytes, uint64_t digest)
{
    for (; bytes > 0; bytes--, word >>= 8)
        digest = fnv(&(unsigned char){(unsigned char)word}, 1, digest);
    return digest;
}

static struct digests digests_open(const char *name, const char *extension, size_t count)
{
    char path[512];
    struct sl_err err;
    struct digests d = {.all = fnv_start};
    (void)snprintf(path, sizeof path, "%s%s.%s", GOLDEN, name, extension);
    EXPECT_OK(sl_map_open(&d.file, path, &err), err);
    cr_assert_eq(d.file.size, 2 * count + 8);
    return d;
}

static void digests_add(struct digests *d, uint64_t digest, const char *what, const char *name)
{
    const unsigned char *recorded = (const unsigned char *)d->file.data + 2 * d->count;
    cr_assert_eq(digest >> 48, recorded[0] | recorded[1] << 8, "%s: %s %zu", name, what, d->count);
    d->all = fnv_word(digest, 8, d->all);
    d->count++;
}

/* Compares the last one only if all before it were added. */
static void digests_close(struct digests *d, const char *what, const char *name)
{
    uint64_t recorded = 0;
    if (2 * d->count + 8 < d->file.size)
        d->all = 0;
    for (size_t i = 0; i < 8; i++)
        recorded |= (uint64_t)((const unsigned char *)d->file.data)[2 * d->count + i] << (8 * i);
    cr_assert(d->all == 0 || d->all == recorded, "%s: %s", name, what);
    sl_map_close(&d->file);
}

/* -- comparing -------------------------------------------------------------------------------- */

static uint64_t tokens_digest(const struct golden *g, long count)
{
    uint64_t digest = fnv_start;
    for (long i = 0; i < count; i++) {
        digest = fnv_word((uint64_t)g->ids[i], 4, digest);
        digest = fnv_word(g->offsets[i].start, 4, digest);
        digest = fnv_word(g->offsets[i].stop, 4, digest);
        digest = fnv_word((uint64_t)g->types[i], 4, digest);
    }
    return digest;
}

static long encode(const struct golden *g, const struct sl_tokenizer *tokens,
                   struct sl_encoding job)
{
    struct sl_err err;
    job.special = true;
    job.ids = g->ids;
    job.types = g->types;
    job.offsets = g->offsets;
    job.capacity = TOKENS_MAX;
    long count = sl_tokenizer_tokenize(tokens, &job, &err);
    cr_assert_geq(count, 0, "%s", err.text);
    cr_assert_leq((size_t)count, sl_tokenizer_max_tokens(tokens, job.bytes + job.pair_bytes));
    return count;
}

static uint64_t decoded_digest(const struct golden *g, const struct sl_tokenizer *tokens,
                               long count, bool skip_special)
{
    struct sl_err err;
    const struct sl_decoding job = {.ids = g->ids,
                                    .count = count,
                                    .skip_special = skip_special,
                                    .text = g->decoded,
                                    .capacity = TOKENS_MAX};
    long bytes = sl_tokenizer_decode(tokens, &job, &err);
    cr_assert_geq(bytes, 0, "%s", err.text);
    return fnv(g->decoded, (size_t)bytes, fnv_start);
}

static void texts_check(const struct golden *g, const struct sl_tokenizer *tokens, const char *name)
{
    struct digests single = digests_open(name, "digests", TEXTS);
    struct digests decoded = digests_open(name, "decoded", DECODED);
    for (uint64_t i = 0; i < (TEST_SANITIZED ? DECODED : TEXTS); i++) {
        size_t bytes = text_of(g, i, g->text);
        long count = encode(g, tokens, (struct sl_encoding){.text = g->text, .bytes = bytes});
        digests_add(&single, tokens_digest(g, count), "text", name);
        if (i < DECODED)
            digests_add(&decoded, decoded_digest(g, tokens, count, i % 2 == 0), "decoded", name);
    }
    digests_close(&single, "texts", name);
    digests_close(&decoded, "decoded texts", name);
}

static void pairs_check(const struct golden *g, const struct sl_tokenizer *tokens, const char *name)
{
    struct digests pairs = digests_open(name, "pairs", PAIRS);
    for (uint64_t i = 0; i < PAIRS; i++) {
        size_t first = text_of(g, 1 + i, g->text), second = text_of(g, TEXTS - 1 - i, g->second);
        struct sl_encoding job = {.text = g->text,
                                  .bytes = first,
                                  .pair = g->second,
                                  .pair_bytes = second,
                                  .max_tokens = i % 3 == 0 ? 0 : 5 + (long)(mix(i) % 40),
                                  .side = i % 2 ? SL_TRUNCATE_LEFT : SL_TRUNCATE_RIGHT};
        digests_add(&pairs, tokens_digest(g, encode(g, tokens, job)), "pair", name);
    }
    digests_close(&pairs, "pairs", name);
}

static void kind_check(const char *name)
{
    char path[512];
    struct sl_map map;
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    struct golden g = golden_open();
    (void)snprintf(path, sizeof path, "%s%s.json", GOLDEN, name);
    EXPECT_OK(sl_map_open(&map, path, &err), err);
    EXPECT_OK((tokens = sl_tokenizer_json_read(map.data, map.size, &err)), err);
    texts_check(&g, tokens, name);
    pairs_check(&g, tokens, name);
    sl_tokenizer_destroy(tokens);
    sl_map_close(&map);
    golden_close(&g);
}

Test(pipeline_golden, wordpiece_as_bert_has_it)
{
    kind_check("bert");
}

Test(pipeline_golden, wordpiece_with_other_steps)
{
    kind_check("bert_steps");
}

Test(pipeline_golden, byte_level)
{
    kind_check("gpt2");
    kind_check("roberta");
    kind_check("smollm");
}

Test(pipeline_golden, byte_level_with_newer_patterns)
{
    kind_check("llama3");
    kind_check("qwen2");
}

Test(pipeline_golden, bpe_with_byte_fallback)
{
    kind_check("llama2");
    kind_check("gemma");
}

Test(pipeline_golden, bpe_with_prefix_or_suffix)
{
    kind_check("clip");
    kind_check("prefixed");
}

Test(pipeline_golden, unigram)
{
    kind_check("xlm_roberta");
    kind_check("t5");
}
