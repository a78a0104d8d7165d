/* bench_sparse.c - what skipped layers save: TSA beside the dense decoder, in turns.
 *
 *     bench_sparse [--json] [TEXTS [PRECISION [THREADS [SECONDS]]]]
 *
 * The paper's size, random weights, TEXTS x 256 tokens (8), all logits. The biases of the routers
 * are chosen so that each lets the same part of the tokens through, alpha; gates are hard. The
 * dense decoder has no routers: with alpha 1, TSA is slower by what they cost. Sparse logits have
 * to be, bit for bit, those of computing every layer and multiplying skipped ones by zero. SECONDS:
 * of each turn (0.1). The exit code is 1 if a bit differs. */
#include "bench/forward.h"
#include "layers/router.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 65, LENGTH = 256, TURNS = 12, HALVINGS = 24, ROUTERS_MAX = 16 };

static const float always = 1e4f; /* a bias with which every token skips */

static const double alphas[] = {0.1, 0.3, 0.5, 0.726, 0.833, 1.0};

struct result {
    double alpha, sparse_ms, dense_ms;
    bool same;
};

/* ---- routers that let a part of the tokens through ------------------------------------------ */

static int find_biases(const struct sl_model *m, float *bias[ROUTERS_MAX])
{
    int count = 0;
    for (int i = 0; i < m->state_dict_count && count < ROUTERS_MAX; i++)
        if (strstr(m->state_dict[i].name, "router.down.bias"))
            bias[count++] = m->state_dict[i].data;
    return count;
}

static double alpha_with(struct sl_model *m, struct forward *f, float *bias, float value)
{
    *bias = value;
    sl_model_pack(m);
    (void)forward_run(f);
    return forward_alpha(f);
}

/* Router after router, since each decides on what those before it left. */
static void set_alpha(struct sl_model *m, struct forward *f, double alpha)
{
    float *bias[ROUTERS_MAX];
    const int count = find_biases(m, bias);
    for (int i = 0; i < count; i++)
        *bias[i] = always;
    for (int i = 0; i < count; i++) {
        const double wanted = alpha * (i + 1) / count;
        float low = -always, high = always;
        for (int step = 0; alpha < 1 && step < HALVINGS; step++) {
            const float middle = 0.5f * (low + high);
            if (alpha_with(m, f, bias[i], middle) > wanted)
                low = middle;
            else
                high = middle;
        }
        (void)alpha_with(m, f, bias[i], alpha < 1 ? high : low);
    }
}

/* ---- one row -------------------------------------------------------------------------------- */

/* Copies the logits, without the padding between rows. */
static float *copied(const struct sl_tensor *logits)
{
    const size_t cols = (size_t)logits->cols;
    float *copy = malloc((size_t)logits->rows * cols * sizeof *copy);
    (void)forward_need(copy, &(struct sl_err){.text = "no memory"});
    for (int r = 0; r < logits->rows; r++)
        memcpy(copy + (size_t)r * cols, sl_row(logits, r), cols * sizeof *copy);
    return copy;
}

static bool same_bits(struct forward *f)
{
    float *sparse = copied(forward_run(f));
    f->policy.dense = true;
    const struct sl_tensor *logits = forward_run(f);
    float *dense = copied(logits);
    f->policy.dense = false;
    const size_t count = (size_t)logits->rows * (size_t)logits->cols;
    const bool same = memcmp(sparse, dense, count * sizeof *sparse) == 0;
    free(sparse);
    free(dense);
    return same;
}

static struct result measure(struct forward *sparse, struct forward *dense, double seconds)
{
    struct result r = {.same = same_bits(sparse), .sparse_ms = HUGE_VAL, .dense_ms = HUGE_VAL};
    for (int turn = 0; turn < TURNS; turn++) {
        r.sparse_ms = fmin(r.sparse_ms, forward_best_ms(sparse, seconds));
        r.dense_ms = fmin(r.dense_ms, forward_best_ms(dense, seconds));
    }
    r.alpha = forward_alpha(sparse);
    return r;
}

static void print(const struct result *r, double wanted, bool json)
{
    if (json)
        (void)printf("{\"alpha\": %g, \"measured_alpha\": %.4f, \"sparse_ms\": %.5g, \"dense_ms\": "
                     "%.5g, \"ratio\": %.4f, \"same_bits\": %s}\n",
                     wanted, r->alpha, r->sparse_ms, r->dense_ms, r->dense_ms / r->sparse_ms,
                     r->same ? "true" : "false");
    else
        (void)printf("alpha %5.3f: sparse %8.2f ms, dense %8.2f ms: %.2f times as fast; %s\n",
                     r->alpha, r->sparse_ms, r->dense_ms, r->dense_ms / r->sparse_ms,
                     r->same ? "same bits as multiplied by zero" : "BITS DIFFER");
    (void)fflush(stdout);
}

static void hard_gates(struct forward *f)
{
    ((struct sl_gate_policy *)(void *)f->policy.own)->gate = SL_GATE_HARD;
}

static bool run(struct sl_engine *engine, int texts, double seconds, bool json)
{
    bool same = true;
    struct sl_model *routed = forward_model(engine, "tsa", VOCAB, LENGTH, NULL);
    struct sl_model *plain = forward_model(engine, "vanilla", VOCAB, LENGTH, NULL);
    struct forward sparse, dense, sample;
    if (!forward_init(&sparse, routed, texts, LENGTH, NULL) ||
        !forward_init(&dense, plain, texts, LENGTH, NULL) ||
        !forward_init(&sample, routed, texts < 4 ? texts : 4, LENGTH, NULL))
        (void)forward_need(NULL, &(struct sl_err){.text = "such a batch needs too much memory"});
    hard_gates(&sparse);
    hard_gates(&sample);
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; i++) {
        set_alpha(routed, &sample, alphas[i]);
        const struct result r = measure(&sparse, &dense, seconds);
        print(&r, alphas[i], json);
        same = same && r.same;
    }
    forward_release(&sample);
    forward_release(&dense);
    forward_release(&sparse);
    sl_model_close(plain);
    sl_model_close(routed);
    return same;
}

int main(int count, char **words)
{
    struct sl_err err;
    const bool json = count > 1 && strcmp(words[1], "--json") == 0;
    char **rest = words + (json ? 2 : 1);
    const int given = count - (json ? 2 : 1);
    const int texts = given > 0 ? forward_number(rest[0]) : 8;
    if (given > 4) {
        (void)fprintf(stderr,
                      "usage: bench_sparse [--json] [TEXTS [PRECISION [THREADS [SECONDS]]]]\n");
        return EXIT_FAILURE;
    }
    const struct sl_engine_options options = {.precision = given > 1 ? rest[1] : NULL,
                                              .threads = given > 2 ? forward_number(rest[2]) : 0};
    struct sl_engine *engine = forward_need(sl_engine_create(&options, &err), &err);
    if (!json)
        (void)printf("%d x %d, %s, %s, %d threads\n", texts, LENGTH, sl_engine_isa(engine),
                     sl_engine_precision(engine), sl_engine_threads(engine));
    const bool same = run(engine, texts, given > 3 ? strtod(rest[3], NULL) : 0.1, json);
    sl_engine_destroy(engine);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
