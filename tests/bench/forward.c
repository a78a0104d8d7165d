/* forward.c - forward passes for benchmarks: texts of the same length, complete, in one batch. */
#include "bench/forward.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *forward_need(void *p, const struct sl_err *err)
{
    if (p)
        return p;
    (void)fprintf(stderr, "%s\n", err->text);
    exit(EXIT_FAILURE);
}

int forward_number(const char *word)
{
    enum { MOST = 1 << 20 };

    char *end;
    const long value = strtol(word, &end, 10);
    if (!*end && value >= 1 && value <= MOST)
        return (int)value;
    (void)fprintf(stderr, "invalid number '%s': expected 1 to %d\n", word, MOST);
    exit(EXIT_FAILURE);
}

static void *memory(size_t count, size_t size)
{
    static const struct sl_err err = {.text = "no memory"};
    return forward_need(calloc(count, size), &err);
}

struct sl_model *forward_model(struct sl_engine *engine, const char *name, int vocab, int context,
                               void (*prepare)(struct sl_config *config))
{
    struct sl_err err = {.text = "no such architecture"};
    const struct sl_arch *arch = sl_arch_find(name);
    struct sl_config config;
    (void)forward_need((void *)(uintptr_t)arch, &err);
    sl_config_set_defaults(arch, &config);
    config.task = arch->tasks & SL_COMPLETES ? SL_TASK_COMPLETION : SL_TASK_CLASSIFICATION;
    config.classes = config.task == SL_TASK_CLASSIFICATION ? 2 : 0;
    config.vocab = vocab;
    config.context_length = context;
    if (prepare)
        prepare(&config);
    struct sl_model *model = forward_need(sl_model_create(engine, arch, &config, &err), &err);
    model->policy = sl_policy_defaults(arch);
    sl_model_initialize(model, 1);
    sl_model_pack(model);
    return model;
}

void forward_release(struct forward *f)
{
    sl_batch_runner_release(&f->runner);
    free(f->sequences);
    free(f->tokens);
}

bool forward_init(struct forward *f, const struct sl_model *model, int texts, int length,
                  const int32_t *tokens)
{
    static const size_t bytes_max = (size_t)6 << 30;

    const size_t rows = (size_t)texts * (size_t)length;
    struct sl_err err;
    *f = (struct forward){.model = model, .policy = model->policy};
    f->sequences = memory((size_t)texts, sizeof *f->sequences);
    f->tokens = memory(rows, sizeof *f->tokens);
    for (int i = 0; i < texts; i++)
        f->sequences[i] = (struct sl_sequence){.first = i * length, .rows = length};
    for (size_t i = 0; i < rows; i++)
        f->tokens[i] =
            tokens ? tokens[i] : (int32_t)((i * 2654435761u >> 7) % (unsigned)model->config.vocab);
    f->batch = (struct sl_batch){
        .tokens = f->tokens, .sequences = f->sequences, .rows = (int)rows, .count = texts};
    const struct sl_batch_limits limits = {
        .rows = (int)rows, .sequences = texts, .context = length};
    if (!sl_batch_runner_init(&f->runner, model, &f->policy, limits, &err))
        (void)forward_need(NULL, &err);
    if (f->runner.workers->tape.arena.size <= bytes_max)
        return true;
    forward_release(f);
    return false;
}

const struct sl_tensor *forward_run(struct forward *f)
{
    return sl_batch_runner_run(&f->runner, &f->batch, true);
}

double forward_best_ms(struct forward *f, double seconds)
{
    double best = HUGE_VAL;
    (void)forward_run(f);
    const double end = sl_now_seconds() + seconds;
    do {
        const double begun = sl_now_seconds();
        (void)forward_run(f);
        best = fmin(best, sl_now_seconds() - begun);
    } while (sl_now_seconds() < end);
    return 1e3 * best;
}

double forward_alpha(const struct forward *f)
{
    const int skippable = f->model->config.depth - 1;
    double ran = 0;
    for (int i = 0; i < f->batch.rows; i++)
        ran += f->runner.layers_used[i] - 1;
    return ran / ((double)skippable * f->batch.rows);
}
