/* test_sentences.c - tiny sentence encoders, saved by the Python package `sentence-transformers`,
 * give the vectors that it recorded (golden/record_sentences.py), with each of their prompts. */
#include "base/file.h"
#include "sluice/classifier.h"
#include "sluice/tokenizer.h"
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/sentences/"

static const struct {
    const char *name;
    bool normalizes; /* it ends with the module Normalize */
    int context, dimensions, texts;
} encoders[] = {
    {"prompts", true, 24, 16, 20},
    {"dense", true, 48, 8, 5},
    {"lower", false, 20, 16, 5},
};

enum { TOKENS_MAX = 256, NUMBERS_MAX = 64 };

static const double bound = 1e-5; /* fp32: the order of additions */

static void expect_info(const struct sl_model *m, size_t i)
{
    const struct sl_model_info *info = sl_model_info(m);
    cr_expect_eq(info->context, encoders[i].context, "%s: %d", encoders[i].name, info->context);
    cr_expect_eq(info->dimensions, encoders[i].dimensions, "%s: %d", encoders[i].name,
                 info->dimensions);
}

/* As `sluice embed` does it. */
static int tokenize(const struct sl_model *m, const json_t *row, int32_t *ids)
{
    struct sl_err err;
    const char *text = json_string_value(json_object_get(row, "text"));
    const char *name = json_string_value(json_object_get(row, "prompt_name"));
    const struct sl_prompt *prompt =
        name ? sl_model_prompt(sl_model_info(m), name, &err) : sl_model_info(m)->default_prompt;
    cr_assert(prompt || !name, "%s", name);
    const struct sl_encoding encoding = {.text = text,
                                         .bytes = strlen(text),
                                         .prompt = prompt ? prompt->text : NULL,
                                         .special = true,
                                         .ids = ids,
                                         .capacity = TOKENS_MAX};
    const long count = sl_tokenizer_tokenize(sl_model_tokenizer(m), &encoding, &err);
    cr_assert(count > 0 && count <= TOKENS_MAX);
    return (int)sl_tokenizer_truncate(sl_model_tokenizer(m), SL_TRUNCATE_RIGHT,
                                      sl_model_info(m)->context, ids, NULL, count);
}

static void normalize(float *x, int count)
{
    double squares = 0.0;
    for (int i = 0; i < count; i++)
        squares += (double)x[i] * (double)x[i];
    for (int i = 0; i < count; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
}

static void expect_row(struct sl_classifier *c, const struct sl_model *m, const json_t *row,
                       size_t encoder)
{
    int32_t ids[TOKENS_MAX];
    float want[NUMBERS_MAX], got[NUMBERS_MAX];
    struct sl_err err;
    const json_t *recorded = json_object_get(row, "embedding");
    const size_t count = json_array_size(recorded);
    struct sl_classifier_item item = {.tokens = ids, .count = tokenize(m, row, ids)};
    EXPECT_OK(sl_classifier_run(c, &item, 1, &err), err);
    cr_assert_eq(count, (size_t)sl_model_info(m)->dimensions);
    for (size_t i = 0; i < count; i++)
        want[i] = (float)json_number_value(json_array_get(recorded, i));
    memcpy(got, item.embedding, count * sizeof *got);
    if (encoders[encoder].normalizes)
        normalize(got, (int)count);
    const double error = reference_max_relative(got, want, count);
    cr_expect_leq(error, bound, "%s, '%s': %g", encoders[encoder].name,
                  json_string_value(json_object_get(row, "text")), error);
}

static int expect_recorded(struct sl_classifier *c, const struct sl_model *m, size_t encoder)
{
    char path[PATH_MAX], line[4096];
    int rows = 0;
    (void)snprintf(path, sizeof path, GOLDEN "%s/expected.jsonl", encoders[encoder].name);
    FILE *file = fopen(path, "re");
    cr_assert(file, "%s", path);
    for (; fgets(line, sizeof line, file); rows++) {
        json_t *row = json_loads(line, 0, NULL);
        cr_assert(row, "%s", line);
        expect_row(c, m, row, encoder);
        json_decref(row);
    }
    (void)fclose(file);
    return rows;
}

Test(sentences, encode_as_recorded)
{
    static const struct sl_classifier_options options = {.max_batch_size = 1,
                                                         .max_batch_tokens = TOKENS_MAX};
    struct sl_engine *engine = fixture_exact_engine(1);
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        char path[PATH_MAX];
        struct sl_err err;
        (void)snprintf(path, sizeof path, GOLDEN "%s", encoders[i].name);
        struct sl_model *m = sl_model_open(engine, path, &err);
        EXPECT_OK(m, err);
        expect_info(m, i);
        struct sl_classifier *c = sl_classifier_create(m, &options, &err);
        EXPECT_OK(c, err);
        cr_expect_eq(expect_recorded(c, m, i), encoders[i].texts);
        sl_classifier_destroy(c);
        sl_model_close(m);
    }
    sl_engine_destroy(engine);
}
