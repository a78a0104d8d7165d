/* test_compression.c - a part of an encoder learns from the whole. */
#include "checkpoint/checkpoint.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/tiny_transformer.h"
#include "support/workspace.h"

#include "tuning/compression.h"
#include <math.h>

enum { TEXTS = 200, STEPS = 60, SMALL = 61 };

static struct workspace dirs;
static char encoder[PATH_MAX];
static struct sl_engine *engine;
static struct sl_checkpoint from;
static struct sl_dataset asked;

static struct sl_dataset texts_in(const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    struct sl_dataset set;
    const struct sl_record_options columns = {.unlabelled = true, .text = "1", .format = "tsv"};
    const struct sl_dataset_encoding how = {.context = from.model_config.hyper.context_length};
    EXPECT_OK(sl_dataset_open(&set, dirs.corpus, &columns, NULL, &err), err);
    EXPECT_OK(sl_dataset_encode(&set, tokens, &how, &err), err);
    return set;
}

static void setup(void)
{
    struct sl_err err;
    workspace_create(&dirs, "store/small/1");
    tiny_transformer_make(test_path(encoder, dirs.top, "store/encoder/1"), SL_TASK_PRETRAINING);
    tiny_texts_write(dirs.corpus, TEXTS);
    engine = fixture_engine(NULL, 2);
    EXPECT_OK(sl_checkpoint_open(&from, encoder, &err), err);
    asked = texts_in(from.tokens);
}

static void teardown(void)
{
    sl_dataset_close(&asked);
    sl_checkpoint_close(&from);
    sl_engine_destroy(engine);
    workspace_remove(&dirs);
}

TestSuite(compression, .init = setup, .fini = teardown);

/* ---- vocabularies --------------------------------------------------------------------------- */

static struct sl_smaller_vocabulary vocabulary_of(int size)
{
    struct sl_err err;
    struct sl_smaller_vocabulary v;
    EXPECT_OK(sl_smaller_vocabulary_open(&v, from.tokens, &asked, size, &err), err);
    cr_assert_eq(sl_tokenizer_size(v.tokens), size);
    return v;
}

Test(compression, the_pieces_that_are_used_stay)
{
    struct sl_err err;
    struct sl_smaller_vocabulary v = vocabulary_of(SMALL);
    struct sl_dataset own = texts_in(v.tokens);
    EXPECT_OK(sl_smaller_vocabulary_check(&v, &asked, &own, &err), err);
    for (int i = 0; i < SMALL; i++) {
        size_t bytes, other;
        const char *piece = sl_tokenizer_piece(v.tokens, i, &bytes);
        cr_expect_str_eq(piece, sl_tokenizer_piece(from.tokens, v.from[i], &other));
        cr_expect(i == 0 || v.from[i] > v.from[i - 1]);
    }
    cr_expect_geq(sl_tokenizer_special(v.tokens, SL_SPECIAL_PAD), 0);
    int32_t ids[8];
    cr_expect_gt(sl_tokenizer_encode(v.tokens, "film", 4, SL_UNKNOWN_REPLACE, ids, 8, &err), 0);
    cr_expect_neq(ids[0], sl_tokenizer_special(v.tokens, SL_SPECIAL_UNKNOWN));
    sl_dataset_close(&own);
    sl_smaller_vocabulary_close(&v);
    sl_smaller_vocabulary_close(&v);
}

Test(compression, other_tokens_are_noticed)
{
    struct sl_err err;
    struct sl_smaller_vocabulary v = vocabulary_of(sl_tokenizer_size(from.tokens));
    struct sl_dataset own = texts_in(v.tokens);
    own.ids[own.examples[7].ids + 1]++;
    EXPECT_FAIL(sl_smaller_vocabulary_check(&v, &asked, &own, &err), err, SL_BAD_INPUT,
                "the text of line 8 of");
    sl_dataset_close(&own);
    sl_smaller_vocabulary_close(&v);
}

Test(compression, sizes_that_are_not_possible_are_refused)
{
    struct sl_err err;
    struct sl_smaller_vocabulary v;
    EXPECT_FAIL(sl_smaller_vocabulary_open(&v, from.tokens, &asked, 7, &err), err, SL_BAD_INPUT,
                "a vocabulary of 7: expected");
    EXPECT_FAIL(sl_smaller_vocabulary_open(&v, from.tokens, &asked, 100000, &err), err,
                SL_BAD_INPUT, "a vocabulary of 100000: expected");
}

/* ---- students ------------------------------------------------------------------------------- */

static void open(struct sl_text_distillation *d, const struct sl_dataset *set,
                 const struct sl_smaller_vocabulary *v, int depth)
{
    struct sl_err err;
    const struct sl_text_distillation_options options = {.engine = engine,
                                                         .teacher = encoder,
                                                         .asked = &asked,
                                                         .set = set,
                                                         .steps = STEPS,
                                                         .batch_size = 16,
                                                         .learning_rate = 3e-3f};
    struct sl_model *student = sl_compression_student(engine, &from, v, depth, &err);
    cr_assert(student, "%s", err.text);
    EXPECT_OK(sl_text_distillation_open(d, &options, student, &err), err);
}

static double similarity(struct sl_text_distillation *d)
{
    struct sl_err err;
    struct sl_likeness q;
    EXPECT_OK(sl_text_distillation_compare(d, d->tuner.model, &q, &err), err);
    cr_expect(q.lowest <= q.similarity && q.similarity <= 1.0 + 1e-6);
    return q.similarity;
}

Test(compression, a_whole_student_is_its_teacher)
{
    struct sl_text_distillation d;
    struct sl_smaller_vocabulary v = vocabulary_of(sl_tokenizer_size(from.tokens));
    struct sl_dataset own = texts_in(v.tokens);
    open(&d, &own, &v, from.model_config.hyper.depth);
    cr_expect_gt(similarity(&d), 0.99999);
    sl_text_distillation_close(&d);
    open(&d, &asked, NULL, from.model_config.hyper.depth);
    cr_expect_gt(similarity(&d), 0.99999);
    sl_text_distillation_close(&d);
    sl_dataset_close(&own);
    sl_smaller_vocabulary_close(&v);
}

Test(compression, a_part_learns_from_the_whole)
{
    struct sl_err err;
    struct sl_text_distillation d;
    struct sl_smaller_vocabulary v = vocabulary_of(SMALL);
    struct sl_dataset own = texts_in(v.tokens);
    open(&d, &own, &v, 1);
    const double before = similarity(&d);
    for (int i = 0; i < STEPS; i++)
        EXPECT_OK(sl_text_distillation_step(&d, &err), err);
    const double after = similarity(&d);
    cr_expect_lt(before, 0.99, "%g", before);
    cr_expect_gt(after, before + 0.5 * (1.0 - before), "%g, then %g", before, after);
    sl_text_distillation_close(&d);
    sl_dataset_close(&own);
    sl_smaller_vocabulary_close(&v);
}

Test(compression, depths_that_are_not_possible_are_refused)
{
    struct sl_err err;
    cr_expect_null(sl_compression_student(engine, &from, NULL, 100, &err));
    cr_expect(strstr(err.text, "expected 1 to"), "%s", err.text);
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool near_row(const float *have, const float *want, int count)
{
    float most = 0.0f;
    for (int i = 0; i < count; i++)
        most = fmaxf(most, fabsf(want[i]));
    for (int i = 0; i < count; i++)
        if (fabsf(have[i] - want[i]) > 0.51f * most / 127.0f)
            return false;
    return true;
}

Test(compression, what_is_published_is_the_student_in_8_bits)
{
    struct sl_err err;
    struct sl_checkpoint file;
    struct sl_smaller_vocabulary v = vocabulary_of(SMALL);
    struct sl_model *student = sl_compression_student(engine, &from, &v, 1, &err);
    const struct sl_compression_notes notes = {.tokens = v.tokens, .training = "{\"note\": 1}"};
    cr_assert(student, "%s", err.text);
    EXPECT_OK(sl_compression_publish(student, &from, dirs.output, &notes, &err), err);
    EXPECT_OK(sl_checkpoint_open(&file, dirs.output, &err), err);
    const struct sl_safetensor *table =
        sl_safetensors_find(&file.weights, "token_embedding.weight");
    cr_expect_str_eq(sl_dtype_name(table->dtype), "I8");
    sl_checkpoint_close(&file);
    struct sl_model *served = sl_model_open(engine, dirs.output, &err);
    cr_assert(served, "%s", err.text);
    cr_expect_eq(served->config.depth, 1);
    cr_expect_eq(served->config.vocab, SMALL);
    const struct sl_parameter *want = &student->state_dict[0], *have = &served->state_dict[0];
    cr_assert_str_eq(want->name, "token_embedding.weight");
    for (int r = 0; r < want->rows; r++)
        cr_expect(near_row(have->data + (size_t)r * (size_t)want->cols,
                           want->data + (size_t)r * (size_t)want->cols, want->cols));
    sl_model_close(served);
    sl_model_close(student);
    sl_smaller_vocabulary_close(&v);
}
