/* bench_length.c - the time of a forward pass against the length of the text, for every
 * architecture.
 *
 *     bench_length [--json] [LONGEST [PRECISION [THREADS [NAME]]]]
 *
 * One text, lengths 128, 256, ... up to LONGEST (2,048; at most 16,384), default sizes, random
 * weights. The last number of each architecture is the exponent of time against length, fitted
 * over lengths from 1,024: 1 where a token costs the same in any text, 2 where time grows with the
 * square. Lengths that an architecture does not take, or at which a pass would take more memory
 * than forward.c allows, are left out. NAME: only this row of the table below. */
#include "arch/eam/eam.h"
#include "bench/forward.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 65, SHORTEST = 128, LONGEST = 16384, LENGTHS_MAX = 16, FITTED_FROM = 1024 };

static void dense_pattern(struct sl_config *c)
{
    ((struct sl_eam_config *)(void *)c->own)->attention_pattern = SL_PATTERN_DENSE;
}

static const struct row {
    const char *name, *arch;
    void (*prepare)(struct sl_config *config);
} rows[] = {{"vanilla", "vanilla", NULL},       {"tsa", "tsa", NULL},
            {"early_exit", "early_exit", NULL}, {"transevolve", "transevolve", NULL},
            {"encoder", "encoder", NULL},       {"epsilon", "epsilon", NULL},
            {"eam, log-sparse", "eam", NULL},   {"eam, dense", "eam", dense_pattern},
            {"linear", "linear", NULL}};

struct point {
    int length;
    double ms;
};

/* Least squares of log time over log length; NAN with fewer than two points. */
static double exponent(const struct point *points, int count)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < count; i++) {
        if (points[i].length < FITTED_FROM)
            continue;
        const double lx = log(points[i].length), ly = log(points[i].ms);
        n += 1;
        x += lx;
        y += ly;
        xx += lx * lx;
        xy += lx * ly;
    }
    return n < 2 ? (double)NAN : (n * xy - x * y) / (n * xx - x * x);
}

/* The longest text that the architecture takes, or `longest` if that is shorter. */
static int longest_of(const char *arch, int longest)
{
    const struct sl_arch *found = sl_arch_find(arch);
    const struct sl_param *row = found ? sl_param_find(found->hypers, "context_length") : NULL;
    return row && row->max < longest ? (int)row->max : longest;
}

/* Of a fresh pass: false where it would take too much memory. */
static bool time_of(const struct sl_model *model, struct point *point)
{
    struct forward f;
    if (!forward_init(&f, model, 1, point->length, NULL))
        return false;
    point->ms = forward_best_ms(&f, 0.1);
    forward_release(&f);
    return true;
}

static void print(const struct row *row, const struct point *points, int count, bool json)
{
    const double slope = exponent(points, count);
    if (json)
        (void)printf("{\"name\": \"%s\", \"points\": [", row->name);
    else
        (void)printf("%-16s", row->name);
    for (int i = 0; i < count; i++) {
        const double us = 1e3 * points[i].ms / points[i].length;
        if (json)
            (void)printf("%s[%d, %.5g]", i ? ", " : "", points[i].length, us);
        else
            (void)printf(" %8.3f", us);
    }
    if (json && isnan(slope))
        (void)printf("], \"exponent\": null}\n");
    else
        (void)printf(json ? "], \"exponent\": %.3f}\n" : "  exponent %.2f\n", slope);
    (void)fflush(stdout);
}

/* name NULL: all rows. Returns how many there are. */
static int run(struct sl_engine *engine, int longest, const char *name, bool json)
{
    int measured = 0;

    if (!json)
        (void)printf("microseconds per token, lengths from %d to %d, %s, %s, %d threads\n",
                     SHORTEST, longest, sl_engine_isa(engine), sl_engine_precision(engine),
                     sl_engine_threads(engine));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct point points[LENGTHS_MAX];
        int count = 0;
        const int last = longest_of(rows[i].arch, longest);
        if (name && strcmp(name, rows[i].name) != 0)
            continue;
        struct sl_model *model = forward_model(engine, rows[i].arch, VOCAB, last, rows[i].prepare);
        for (int length = SHORTEST; length <= last; length *= 2) {
            points[count].length = length;
            count += time_of(model, &points[count]);
        }
        print(&rows[i], points, count, json);
        sl_model_close(model);
        measured++;
    }
    return measured;
}

int main(int count, char **words)
{
    struct sl_err err;
    const bool json = count > 1 && strcmp(words[1], "--json") == 0;
    char **rest = words + (json ? 2 : 1);
    const int given = count - (json ? 2 : 1);
    const int longest = given > 0 ? forward_number(rest[0]) : 2048;
    if (given > 4 || longest < SHORTEST || longest > LONGEST) {
        (void)fprintf(stderr,
                      "usage: bench_length [--json] [LONGEST [PRECISION [THREADS [NAME]]]]\n");
        return EXIT_FAILURE;
    }
    const struct sl_engine_options options = {.precision = given > 1 ? rest[1] : NULL,
                                              .threads = given > 2 ? forward_number(rest[2]) : 0};
    struct sl_engine *engine = forward_need(sl_engine_create(&options, &err), &err);
    const int measured = run(engine, longest, given > 3 ? rest[3] : NULL, json);
    sl_engine_destroy(engine);
    if (measured > 0)
        return EXIT_SUCCESS;
    (void)fprintf(stderr, "bench_length: no row '%s'\n", rest[3]);
    return EXIT_FAILURE;
}
