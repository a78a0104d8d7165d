/* bench_tokenizers.c - how fast a tokenizer.json encodes the lines of a file, on one thread.
 *
 *     bench_tokenizers TOKENIZER.JSON TEXTS    bytes, tokens, processor seconds of the best round
 *
 * bench_tokenizers.py compares it with the package `tokenizers`. */
#include "base/file.h"
#include "formats/tokenizer_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, TOKENS_MAX = 1 << 20 };

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The tokens of all lines; -1: failed. `job` has room for those of one. */
static long encode_lines(const struct sl_tokenizer *tokens, const struct sl_map *texts,
                         struct sl_encoding job, struct sl_err *err)
{
    const char *line = texts->data, *end = texts->data + texts->size;
    long total = 0;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        job.text = line;
        job.bytes = (size_t)(stop - line);
        long count = sl_tokenizer_tokenize(tokens, &job, err);
        if (count < 0)
            return -1;
        total += count;
        line = stop + 1;
    }
    return total;
}

static bool measure(const struct sl_tokenizer *tokens, const struct sl_map *texts,
                    struct sl_err *err)
{
    struct sl_encoding job = {.special = true, .capacity = TOKENS_MAX};
    job.ids = malloc(TOKENS_MAX * sizeof *job.ids);
    double best = 0.0;
    long count = 0;
    if (!job.ids)
        return sl_fail(err, SL_NO_MEMORY, "no memory");
    for (int round = 0; round < ROUNDS && count >= 0; round++) {
        double start = now();
        count = encode_lines(tokens, texts, job, err);
        double seconds = now() - start;
        best = round == 0 || seconds < best ? seconds : best;
    }
    free(job.ids);
    if (count >= 0)
        (void)printf("%zu %ld %.6f\n", texts->size, count, best);
    return count >= 0;
}

int main(int argc, char **argv)
{
    struct sl_map file = {0}, texts = {0};
    struct sl_err err = {0};
    if (argc != 3) {
        (void)fputs("usage: bench_tokenizers TOKENIZER.JSON TEXTS\n", stderr);
        return 2;
    }
    bool ok = sl_map_open(&file, argv[1], &err) && sl_map_open(&texts, argv[2], &err);
    struct sl_tokenizer *tokens = ok ? sl_tokenizer_json_read(file.data, file.size, &err) : NULL;
    ok = tokens && measure(tokens, &texts, &err);
    if (!ok)
        (void)fprintf(stderr, "bench_tokenizers: %s\n", err.text);
    sl_tokenizer_destroy(tokens);
    sl_map_close(&file);
    sl_map_close(&texts);
    return ok ? 0 : 1;
}
