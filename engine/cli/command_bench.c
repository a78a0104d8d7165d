/* command_bench.c - `sluice bench train`: the time of a training step, on generated text. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "train/trainer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *isa, *precision, *arch;
    int threads, steps, batch, context, micro_batch;
    bool json;
};

static const struct sl_option rows[] = {
    {"arch", "NAME", "architecture, at its default sizes [tsa]", SL_OPTION_STRING,
     offsetof(struct arguments, arch), 0, 0},
    {"steps", "N", "steps to measure, after 2 steps of warm-up [10]", SL_OPTION_INT,
     offsetof(struct arguments, steps), 1, 10000},
    {"batch-size", "N", "windows per step [64]", SL_OPTION_INT, offsetof(struct arguments, batch),
     1, 4096},
    {"context-length", "N", "tokens per window [128]", SL_OPTION_INT,
     offsetof(struct arguments, context), 2, 8192},
    {"micro-batch-size", "N", "windows computed at a time; 0: the default of `sluice train` [0]",
     SL_OPTION_INT, offsetof(struct arguments, micro_batch), 0, 4096},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static void options(const char *operand)
{
    (void)operand;
    sl_options_help(&(struct sl_option_parser){.program = "sluice bench train",
                                               .about = command_bench.help,
                                               .tables = {{.rows = rows}}},
                    stdout);
}

/* Writes a text with 65 different characters, as many as Tiny-Shakespeare has. */
static bool write_text(const char *path, struct sl_err *err)
{
    enum { CHARACTERS = 1 << 19, VOCAB = 65 };

    char *text = malloc(CHARACTERS);
    if (!text)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a text of %d bytes", CHARACTERS);
    for (size_t i = 0; i < CHARACTERS; i++)
        text[i] = (char)(' ' + (i * i + i / 7) % VOCAB);
    struct sl_slice slice = {text, CHARACTERS};
    bool ok = sl_file_replace(path, &slice, 1, err);
    free(text);
    return ok;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_json(const struct arguments *a, const struct sl_model *m, double median,
                       double min)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "bench"), "train");
    sl_json_add_string(sl_json_key(&json, "architecture"), m->arch->name);
    sl_json_add_int(sl_json_key(&json, "parameters"), sl_model_parameter_count(m));
    sl_json_add_int(sl_json_key(&json, "batch_size"), a->batch);
    sl_json_add_int(sl_json_key(&json, "context_length"), a->context);
    sl_json_add_string(sl_json_key(&json, "isa"), sl_engine_isa(m->engine));
    sl_json_add_int(sl_json_key(&json, "threads"), sl_engine_threads(m->engine));
    sl_json_printf(sl_json_key(&json, "milliseconds_median"), "%.1f", 1e3 * median);
    sl_json_printf(sl_json_key(&json, "milliseconds_min"), "%.1f", 1e3 * min);
    sl_json_printf(sl_json_key(&json, "tokens_per_second"), "%.0f",
                   (double)a->batch * a->context / median);
    sl_json_end_object(&json);
    command_print_json(&text);
}

static void print(const struct arguments *a, const struct sl_trainer *trainer, double *times)
{
    const struct sl_model *m = sl_trainer_model(trainer);
    qsort(times, (size_t)a->steps, sizeof *times, compare);
    double median = times[a->steps / 2], tokens = (double)a->batch * a->context;
    if (a->json)
        print_json(a, m, median, times[0]);
    else
        printf(
            "%s, %lld parameters, batch %d x %d, %s, %d threads: %.1f ms per step (minimum %.1f), "
            "%.0f tokens/s\n",
            m->arch->name, (long long)sl_model_parameter_count(m), a->batch, a->context,
            sl_engine_isa(m->engine), sl_engine_threads(m->engine), 1e3 * median, 1e3 * times[0],
            tokens / median);
}

static bool measure(struct sl_trainer *trainer, const struct arguments *a, struct sl_err *err)
{
    enum { WARM = 2 };

    double *times = calloc((size_t)a->steps, sizeof *times);
    if (!times)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the times of %d steps", a->steps);
    bool ok = true;
    for (int i = -WARM; ok && i < a->steps; i++) {
        double begun = sl_now_seconds();
        ok = sl_trainer_step(trainer, err);
        if (i >= 0)
            times[i] = sl_now_seconds() - begun;
    }
    if (ok)
        print(a, trainer, times);
    free(times);
    return ok;
}

static bool bench(struct sl_engine *engine, const struct arguments *a, const char *directory,
                  struct sl_err *err)
{
    char corpus[SL_PATH_MAX], run[SL_PATH_MAX], state[SL_PATH_MAX], list[SL_ARCH_LIST];
    struct sl_train_options t = {
        .arch = sl_arch_find(a->arch), .sources.corpus = corpus, .run_dir = run};
    if (!t.arch)
        return sl_fail(err, SL_BAD_INPUT, "invalid --arch '%s': expected one of: %s", a->arch,
                       sl_arch_list(SL_COMPLETES, list));
    sl_config_set_defaults(t.arch, &t.config);
    sl_params_set_defaults(sl_hyperparameter_rows, &t.hyperparameters);
    t.config.context_length = a->context;
    t.hyperparameters.batch_size = a->batch;
    t.hyperparameters.micro_batch_size =
        a->micro_batch ? a->micro_batch : t.hyperparameters.micro_batch_size;
    if (!sl_path_join(corpus, directory, "text", err) ||
        !sl_path_join(run, directory, "run", err) || !sl_path_join(state, run, "state", err) ||
        !write_text(corpus, err))
        return false;
    struct sl_trainer *trainer = sl_trainer_create(engine, &t, err);
    bool ok = trainer && measure(trainer, a, err);
    sl_trainer_destroy(trainer);
    struct sl_err ignored;
    (void)!sl_directory_remove(state, &ignored);
    (void)!sl_directory_remove(run, &ignored);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *what = NULL;
    struct arguments a = {.arch = "tsa", .steps = 10, .batch = 64, .context = 128};
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = &what, .operands_max = 1};
    char directory[] = "/tmp/sluice-bench-XXXXXX";
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!what || strcmp(what, "train") != 0)
        return sl_fail(err, SL_BAD_INPUT, "the only benchmark is `sluice bench train`");
    if (!mkdtemp(directory))
        return sl_fail(err, SL_IO, "cannot create a directory in /tmp: %s", strerrordesc_np(errno));
    struct sl_engine *engine = command_training_engine(a.threads, a.isa, a.precision, err);
    bool ok = engine && bench(engine, &a, directory, err);
    struct sl_err ignored;
    (void)!sl_directory_remove(directory, &ignored);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_bench = {
    .name = "bench",
    .operands = "train",
    .help = "measure the time of a training step, on synthetic text",
    .run = run,
    .print_help = options,
    .is_for_tests = true,
};
