/* bench_forward.c - the time of a forward pass with the logits of all tokens.
 *
 *     bench_forward
 *     bench_forward CHECKPOINT TEXTS LENGTH PRECISION THREADS TOKENS LOGITS
 *
 * Without arguments: a dense decoder of the TSA paper's size with random weights, in each
 * precision of this machine.
 *
 * Otherwise it is one of the programs that tests/bench/peers runs in turns. TOKENS is a file of
 * TEXTS x LENGTH int32 numbers, and LOGITS the file to write: fp32. Then for each line of standard
 * input, a number of seconds, it prints {"value": ...}: the milliseconds of the fastest of the
 * passes that begin in this time. */
#include "bench/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 65, CONTEXT = 256, WORDS = 8 };

static const char *const precisions[] = {"fp32", "bf16", "int8"};

enum { PRECISIONS = sizeof precisions / sizeof *precisions };

static const int shapes[][2] = {{1, 256}, {8, 256}, {64, 256}, {64, 128}};

static void print_table(const char *precision)
{
    struct sl_err err;
    struct sl_engine *engine =
        sl_engine_create(&(struct sl_engine_options){.precision = precision}, &err);
    if (!engine) {
        (void)printf("%s: skipped: %s\n", precision, err.text);
        return;
    }
    struct sl_model *model = forward_model(engine, "vanilla", VOCAB, CONTEXT, NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct forward f;
        if (!forward_init(&f, model, shapes[i][0], shapes[i][1], NULL))
            continue;
        (void)printf("%s, %s, %d threads, %2d x %d: %8.2f ms\n", precision, sl_engine_isa(engine),
                     sl_engine_threads(engine), shapes[i][0], shapes[i][1],
                     forward_best_ms(&f, 1.0));
        forward_release(&f);
    }
    sl_model_close(model);
    sl_engine_destroy(engine);
}

/* ---- in turns with others ------------------------------------------------------------------- */

/* Reads or writes a whole file of 4-byte numbers. */
static void transfer(const char *path, const char *mode, void *numbers, size_t count)
{
    FILE *file = fopen(path, mode);
    const size_t done = !file          ? 0
                        : *mode == 'r' ? fread(numbers, 4, count, file)
                                       : fwrite(numbers, 4, count, file);
    if (done != count || fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

static void write_logits(struct forward *f, const char *path)
{
    const struct sl_tensor *logits = forward_run(f);
    const size_t cols = (size_t)logits->cols, rows = (size_t)logits->rows;
    float *values = malloc(rows * cols * sizeof *values);
    (void)forward_need(values, &(struct sl_err){.text = "no memory"});
    for (size_t r = 0; r < rows; r++)
        memcpy(values + r * cols, sl_row(logits, (int)r), cols * sizeof *values);
    transfer(path, "wb", values, rows * cols);
    free(values);
}

static void take_turns(struct forward *f)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        (void)printf("{\"value\": %.6g}\n", forward_best_ms(f, strtod(line, NULL)));
        (void)fflush(stdout);
    }
}

static void serve(char **words)
{
    struct sl_err err;
    const int texts = forward_number(words[2]), length = forward_number(words[3]);
    const struct sl_engine_options options = {.precision = words[4],
                                              .threads = forward_number(words[5])};
    struct sl_engine *engine = forward_need(sl_engine_create(&options, &err), &err);
    struct sl_model *model = forward_need(sl_model_open(engine, words[1], &err), &err);
    const size_t count = (size_t)texts * (size_t)length;
    int32_t *tokens = malloc(count * sizeof *tokens);
    (void)forward_need(tokens, &(struct sl_err){.text = "no memory"});
    transfer(words[6], "rb", tokens, count);
    struct forward f;
    if (!forward_init(&f, model, texts, length, tokens))
        (void)forward_need(NULL, &(struct sl_err){.text = "such a batch needs too much memory"});
    write_logits(&f, words[7]);
    (void)printf("{\"version\": \"%s\", \"isa\": \"%s\"}\n", sl_version(), sl_engine_isa(engine));
    (void)fflush(stdout);
    take_turns(&f);
    forward_release(&f);
    free(tokens);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

int main(int count, char **words)
{
    if (count == WORDS) {
        serve(words);
        return EXIT_SUCCESS;
    }
    if (count > 1) {
        (void)fprintf(stderr, "usage: bench_forward [CHECKPOINT TEXTS LENGTH PRECISION THREADS "
                              "TOKENS LOGITS]\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < PRECISIONS; i++)
        print_table(precisions[i]);
    return EXIT_SUCCESS;
}
