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

/* All values of a pass are in the arena: a dry run says how much that is. */
static bool make_tape(struct forward *f)
{
    static const size_t bytes_max = (size_t)6 << 30;

    const struct sl_engine *engine = f->model->engine;
    struct sl_tape dry;
    struct sl_err err;
    if (!sl_tape_init(&dry, engine->kernels, engine->pool, 0, &err))
        (void)forward_need(NULL, &err);
    dry.policy = &f->policy;
    sl_tape_begin(&dry, &f->batch, false);
    (void)sl_model_forward(f->model, &dry);
    const size_t bytes = dry.arena.peak;
    sl_tape_release(&dry);
    if (bytes > bytes_max)
        return false;
    if (!sl_tape_init(&f->tape, engine->kernels, engine->pool, bytes, &err))
        (void)forward_need(NULL, &err);
    f->tape.policy = &f->policy;
    f->tape.stats.layers_used = f->layers_used;
    return true;
}

static void release_inputs(struct forward *f)
{
    free(f->sequences);
    free(f->tokens);
    free(f->layers_used);
}

bool forward_init(struct forward *f, const struct sl_model *model, int texts, int length,
                  const int32_t *tokens)
{
    const size_t rows = (size_t)texts * (size_t)length;
    *f = (struct forward){.model = model, .policy = model->policy};
    f->sequences = memory((size_t)texts, sizeof *f->sequences);
    f->tokens = memory(rows, sizeof *f->tokens);
    f->layers_used = memory(rows, sizeof *f->layers_used);
    for (int i = 0; i < texts; i++)
        f->sequences[i] = (struct sl_sequence){.first = i * length, .rows = length};
    for (size_t i = 0; i < rows; i++)
        f->tokens[i] =
            tokens ? tokens[i] : (int32_t)((i * 2654435761u >> 7) % (unsigned)model->config.vocab);
    f->batch = (struct sl_batch){
        .tokens = f->tokens, .sequences = f->sequences, .rows = (int)rows, .count = texts};
    if (make_tape(f))
        return true;
    release_inputs(f);
    return false;
}

void forward_release(struct forward *f)
{
    sl_tape_release(&f->tape);
    release_inputs(f);
}

const struct sl_tensor *forward_run(struct forward *f)
{
    memset(f->layers_used, 0, (size_t)f->batch.rows * sizeof *f->layers_used);
    sl_tape_begin(&f->tape, &f->batch, false);
    return sl_model_forward(f->model, &f->tape);
}

double forward_best_ms(struct forward *f, double seconds)
{
    double best = HUGE_VAL, begun = sl_now_seconds();
    (void)forward_run(f);
    const double end = sl_now_seconds() + seconds;
    do {
        begun = sl_now_seconds();
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
        ran += f->layers_used[i] - 1;
    return ran / ((double)skippable * f->batch.rows);
}
