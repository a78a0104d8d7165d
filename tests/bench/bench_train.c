/* bench_train.c - the time of a training step, on generated text.
 *
 *     bench_train --help
 *
 * Prints the median and the fastest of the steps, as JSON with --json. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/option_parser.h"
#include "bench/forward.h"
#include "train/trainer.h"

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
    {"threads", "N", "0: one for each CPU that this process may use [0]", SL_OPTION_INT,
     offsetof(struct arguments, threads), 0, 256},
    {"isa", "LEVEL", "instruction set [the fastest that the CPU has]", SL_OPTION_STRING,
     offsetof(struct arguments, isa), 0, 0},
    {"precision", "TYPE", "inputs of matrix products: fp32 or bf16 [bf16 with AMX; else fp32]",
     SL_OPTION_STRING, offsetof(struct arguments, precision), 0, 0},
    {"json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(struct arguments, json), 0, 0},
    {0}};

static void need(bool good, const struct sl_err *err)
{
    static char done;
    (void)forward_need(good ? &done : NULL, err);
}

/* Writes a text with 65 different characters, as many as Tiny-Shakespeare has. */
static void write_text(const char *path)
{
    enum { CHARACTERS = 1 << 19, VOCAB = 65 };

    static char text[CHARACTERS];
    struct sl_err err;
    for (size_t i = 0; i < CHARACTERS; i++)
        text[i] = (char)(' ' + (i * i + i / 7) % VOCAB);
    struct sl_slice slice = {text, CHARACTERS};
    need(sl_file_replace(path, &slice, 1, &err), &err);
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
    (void)puts(text.failed ? "null" : text.data);
    sl_buffer_release(&text);
}

static void print(const struct arguments *a, const struct sl_trainer *trainer, double *times)
{
    const struct sl_model *m = sl_trainer_model(trainer);
    qsort(times, (size_t)a->steps, sizeof *times, compare);
    double median = times[a->steps / 2], tokens = (double)a->batch * a->context;
    if (a->json)
        print_json(a, m, median, times[0]);
    else
        (void)printf(
            "%s, %lld parameters, batch %d x %d, %s, %d threads: %.1f ms per step (minimum %.1f), "
            "%.0f tokens/s\n",
            m->arch->name, (long long)sl_model_parameter_count(m), a->batch, a->context,
            sl_engine_isa(m->engine), sl_engine_threads(m->engine), 1e3 * median, 1e3 * times[0],
            tokens / median);
}

static void measure(const struct arguments *a, struct sl_trainer *trainer)
{
    enum { WARM = 2 };

    struct sl_err err = {.text = "no memory"};
    double *times = forward_need(calloc((size_t)a->steps, sizeof *times), &err);
    for (int i = -WARM; i < a->steps; i++) {
        double begun = sl_now_seconds();
        need(sl_trainer_step(trainer, &err), &err);
        if (i >= 0)
            times[i] = sl_now_seconds() - begun;
    }
    print(a, trainer, times);
    free(times);
}

static void bench(const struct arguments *a, struct sl_engine *engine, const char *directory)
{
    struct sl_err err;
    char corpus[SL_PATH_MAX], run[SL_PATH_MAX], state[SL_PATH_MAX];
    struct sl_train_options t = {
        .arch = sl_arch_find(a->arch), .sources.corpus = corpus, .run_dir = run};
    need(t.arch != NULL, &(struct sl_err){.text = "unknown architecture"});
    sl_config_set_defaults(t.arch, &t.config);
    sl_params_set_defaults(sl_hyperparameter_rows, &t.hyperparameters);
    t.config.context_length = a->context;
    t.hyperparameters.batch_size = a->batch;
    if (a->micro_batch)
        t.hyperparameters.micro_batch_size = a->micro_batch;
    need(sl_path_join(corpus, directory, "text", &err) &&
             sl_path_join(run, directory, "run", &err) && sl_path_join(state, run, "state", &err),
         &err);
    write_text(corpus);
    struct sl_trainer *trainer = forward_need(sl_trainer_create(engine, &t, &err), &err);
    measure(a, trainer);
    sl_trainer_destroy(trainer);
    need(sl_directory_remove(state, &err) && sl_directory_remove(run, &err) &&
             sl_directory_remove(directory, &err),
         &err);
}

int main(int count, char **words)
{
    struct sl_err err;
    struct arguments a = {.arch = "tsa", .steps = 10, .batch = 64, .context = 128};
    struct sl_option_parser parser = {.program = "bench_train",
                                      .about = "Measures the time of a training step.",
                                      .tables = {{.rows = rows, .values = &a}}};
    need(sl_options_parse(&parser, count - 1, words + 1, &err), &err);
    if (parser.wants_help) {
        sl_options_help(&parser, stdout);
        return EXIT_SUCCESS;
    }
    char directory[] = "/tmp/bench-train-XXXXXX";
    need(mkdtemp(directory) != NULL, &(struct sl_err){.text = "no directory in /tmp"});
    const struct sl_engine_options options = {
        .threads = a.threads, .isa = a.isa, .precision = a.precision};
    struct sl_engine *engine = forward_need(sl_engine_create(&options, &err), &err);
    bench(&a, engine, directory);
    sl_engine_destroy(engine);
    return EXIT_SUCCESS;
}
