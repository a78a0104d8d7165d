/* bench_encoder.c - the time in which texts become embeddings, in turns with others.
 *
 *     bench_encoder MODEL TEXTS PRECISION THREADS EMBEDDINGS
 *
 * One of the programs that tests/bench/peers runs. TEXTS is a file of int32 numbers: how many texts
 * there are, the length of each, and the token ids of all. The embeddings, fp32 and not normalized,
 * go to EMBEDDINGS. Then for each line of standard input, a number of seconds, it prints
 * {"value": ...}: the milliseconds of the fastest of the runs that begin in this time. */
#include "base/clock.h"
#include "bench/forward.h"
#include "sluice/classifier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 6, BATCH_TEXTS = 512, BATCH_TOKENS = 1 << 15 };

/* All texts, in runs of up to BATCH_TEXTS; tokens of all types are 0. */
struct texts {
    int32_t *numbers;
    struct sl_classifier_item *items;
    int count;
};

static void fail(const char *path)
{
    perror(path);
    exit(EXIT_FAILURE);
}

static int32_t *read_numbers(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        fail(path);
    const long bytes = ftell(file);
    if (bytes < (long)sizeof(int32_t))
        fail(path);
    *count = (size_t)bytes / sizeof(int32_t);
    rewind(file);
    int32_t *numbers = malloc(*count * sizeof *numbers);
    if (!numbers || fread(numbers, sizeof *numbers, *count, file) != *count || fclose(file) != 0)
        fail(path);
    return numbers;
}

static struct texts texts_read(const char *path)
{
    size_t count;
    struct texts t = {.numbers = read_numbers(path, &count)};
    t.count = count > 0 ? t.numbers[0] : 0;
    size_t at = 1 + (size_t)t.count;
    if (t.count < 1 || at > count)
        (void)forward_need(NULL, &(struct sl_err){.text = "TEXTS says of no texts"});
    t.items = calloc((size_t)t.count, sizeof *t.items);
    (void)forward_need(t.items, &(struct sl_err){.text = "no memory"});
    for (int i = 0; i < t.count; i++) {
        t.items[i] = (struct sl_classifier_item){
            .tokens = t.numbers + at, .count = t.numbers[1 + i], .output = SL_OUTPUT_TEXT};
        at += (size_t)t.numbers[1 + i];
    }
    if (at != count)
        (void)forward_need(NULL, &(struct sl_err){.text = "TEXTS has other lengths"});
    return t;
}

/* out: NULL, or the file for embeddings. */
static void run(struct sl_classifier *classifier, struct texts *t, int dimensions, FILE *out)
{
    struct sl_err err;
    for (int first = 0; first < t->count;) {
        int last = first, tokens = 0;
        while (last < t->count && last - first < BATCH_TEXTS &&
               tokens + t->items[last].count <= BATCH_TOKENS)
            tokens += t->items[last++].count;
        if (!sl_classifier_run(classifier, t->items + first, last - first, &err))
            (void)forward_need(NULL, &err);
        for (int i = first; out && i < last; i++)
            if (fwrite(t->items[i].embedding, sizeof(float), (size_t)dimensions, out) !=
                (size_t)dimensions)
                fail("EMBEDDINGS");
        first = last;
    }
}

static double fastest_ms(struct sl_classifier *classifier, struct texts *t, double seconds)
{
    run(classifier, t, 0, NULL);
    const double end = sl_now_seconds() + seconds;
    double best = HUGE_VAL, now = 0;
    do {
        const double begun = sl_now_seconds();
        run(classifier, t, 0, NULL);
        now = sl_now_seconds();
        best = fmin(best, now - begun);
    } while (now < end);
    return 1e3 * best;
}

static void serve(char **words)
{
    struct sl_err err;
    const struct sl_engine_options options = {.precision = words[3],
                                              .threads = forward_number(words[4])};
    struct sl_engine *engine = forward_need(sl_engine_create(&options, &err), &err);
    struct sl_model *model = forward_need(sl_model_open(engine, words[1], &err), &err);
    struct texts texts = texts_read(words[2]);
    const struct sl_classifier_options limits = {.max_batch_size = BATCH_TEXTS,
                                                 .max_batch_tokens = BATCH_TOKENS};
    struct sl_classifier *classifier =
        forward_need(sl_classifier_create(model, &limits, &err), &err);
    FILE *out = fopen(words[5], "wb");
    if (!out)
        fail(words[5]);
    run(classifier, &texts, sl_model_info(model)->dimensions, out);
    if (fclose(out) != 0)
        fail(words[5]);
    (void)printf("{\"version\": \"%s\", \"isa\": \"%s\"}\n", sl_version(), sl_engine_isa(engine));
    (void)fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        (void)printf("{\"value\": %.6g}\n", fastest_ms(classifier, &texts, strtod(line, NULL)));
        (void)fflush(stdout);
    }
    sl_classifier_destroy(classifier);
    free(texts.items);
    free(texts.numbers);
    sl_model_close(model);
    sl_engine_destroy(engine);
}

int main(int count, char **words)
{
    if (count != WORDS) {
        (void)fprintf(stderr, "usage: bench_encoder MODEL TEXTS PRECISION THREADS EMBEDDINGS\n");
        return EXIT_FAILURE;
    }
    serve(words);
    return EXIT_SUCCESS;
}
