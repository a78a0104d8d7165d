/* test_batch_runner.c - results do not depend on how a batch is cut into pieces, or on threads. */
#include "infer/batch_runner.h"

#include "support/model_fixture.h"
#include "support/test.h"

#include <string.h>

enum { CONTEXT = 300, ROWS = 3000, SEQUENCES = 64, WANTED_OF = 3, PIECE = 500 };

struct text_batch {
    struct sl_batch batch;
    struct sl_sequence sequences[SEQUENCES];
    struct sl_rows wanted;
    int32_t tokens[ROWS], wanted_rows[ROWS];
};

static struct text_batch texts;
static struct sl_model *model;

/* Texts of these lengths, which end with 0. */
static void fill(const int *lengths)
{
    const uint64_t key = sl_random_key(1, "texts");
    texts = (struct text_batch){.batch = {.tokens = texts.tokens, .sequences = texts.sequences}};
    for (; *lengths; lengths++) {
        texts.sequences[texts.batch.count++] =
            (struct sl_sequence){.first = texts.batch.rows, .rows = *lengths};
        texts.batch.rows += *lengths;
    }
    for (int i = 0; i < texts.batch.rows; i++)
        texts.tokens[i] = (int32_t)sl_random_below(key, (uint64_t)i, FIXTURE_VOCAB);
}

/* The logits of the last row of each text, and of some others. */
static void want_some_rows(void)
{
    for (int s = 0; s < texts.batch.count; s++) {
        const struct sl_sequence *sequence = &texts.sequences[s];
        for (int i = 0; i < sequence->rows; i++)
            if (i == sequence->rows - 1 || i % WANTED_OF == s % WANTED_OF)
                texts.wanted_rows[texts.wanted.count++] = sequence->first + i;
    }
    texts.wanted.index = texts.wanted_rows;
    texts.batch.wanted = &texts.wanted;
}

static void open_model(const struct fixture_case *f, int threads)
{
    const struct sl_arch *arch = sl_arch_at(f->arch);
    struct sl_config config = fixture_case_config(f);
    config.context_length = CONTEXT;
    fixture_clamp(arch, &config);
    model = fixture_model(fixture_engine(NULL, threads), arch, &config);
    model->policy = fixture_policy(arch, 1);
}

static void close_model(void)
{
    struct sl_engine *engine = model->engine;
    sl_model_close(model);
    sl_engine_destroy(engine);
    model = NULL;
}

static struct sl_batch_runner runner_for(int rows, int sequences)
{
    struct sl_batch_runner r;
    struct sl_err err;
    const struct sl_batch_limits limits = {
        .rows = rows, .sequences = sequences, .context = model->config.context_length};
    EXPECT_OK(sl_batch_runner_init(&r, model, &model->policy, limits, &err), err);
    return r;
}

/* Runs a text alone, and compares it with the rows from `row` on of `all`; returns their number. */
static int expect_same_alone(struct sl_batch_runner *alone, int text, const struct sl_tensor *all,
                             int row, const int32_t *layers_used)
{
    const struct sl_sequence *s = &texts.sequences[text];
    const struct sl_sequence first = {.rows = s->rows};
    struct sl_rows wanted = {.index = texts.wanted_rows + row};
    int32_t rows[CONTEXT];
    struct sl_batch batch = {
        .tokens = texts.tokens + s->first, .sequences = &first, .rows = s->rows, .count = 1};
    for (int i = row; i < texts.wanted.count && texts.wanted_rows[i] < s->first + s->rows; i++)
        rows[wanted.count++] = texts.wanted_rows[i] - s->first;
    wanted.index = rows;
    if (texts.batch.wanted)
        batch.wanted = &wanted;
    const struct sl_tensor *out = sl_batch_runner_run(alone, &batch, false);
    for (int i = 0; i < out->rows; i++)
        cr_expect_arr_eq(sl_row(out, i), sl_row(all, row + i), (size_t)out->cols * sizeof(float),
                         "%s, text %d, row %d", model->arch->name, text, i);
    cr_expect_arr_eq(alone->layers_used, layers_used + s->first,
                     (size_t)s->rows * sizeof *layers_used, "%s, text %d", model->arch->name, text);
    return out->rows;
}

static void expect_same_as_alone(const int *lengths, bool lists_rows)
{
    fill(lengths);
    if (lists_rows && model->config.task == SL_TASK_COMPLETION)
        want_some_rows();
    struct sl_batch_runner together = runner_for(texts.batch.rows, texts.batch.count),
                           alone = runner_for(model->config.context_length, 1);
    const struct sl_tensor *all = sl_batch_runner_run(&together, &texts.batch, true);
    int row = 0;
    for (int i = 0; i < texts.batch.count; i++)
        row += expect_same_alone(&alone, i, all, row, together.layers_used);
    cr_expect_eq(row, all->rows);
    sl_batch_runner_release(&together);
    sl_batch_runner_release(&alone);
}

Test(batch_runner, pieces_change_no_result)
{
    static const int lengths[][SEQUENCES] = {
        {300, 300, 300, 300, 300, 300, 300, 300, 300, 300},    /* pieces of equal length */
        {1, 299, 3, 250, 17, 100, 300, 1, 1, 1, 40, 290, 260}, /* and others */
        {300, 260, 20},                                        /* too few for three threads */
        {30, 20, 25, 1, 1, 2}                                  /* one piece */
    };

    enum { THREADS_MAX = 3 };

    for (struct fixture_case f = {0}; fixture_next(&f); f.variant++) {
        if (f.task == SL_TASK_TRANSLATION) /* has caches: test_archs */
            continue;
        for (int threads = TEST_SANITIZED ? THREADS_MAX : 1; threads <= THREADS_MAX; threads++) {
            open_model(&f, threads);
            for (size_t i = TEST_SANITIZED; i < sizeof lengths / sizeof *lengths; i++)
                expect_same_as_alone(lengths[i], i % 2 == 1);
            close_model();
        }
    }
}
