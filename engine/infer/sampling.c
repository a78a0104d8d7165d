/* sampling.c - the next token from logits: greedy, temperature, top-k, top-p (Holtzman et al.
 * 2020). */
#include "sluice/sampling.h"

#include "base/random.h"
#include "infer/logits.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds the bias and subtracts the penalties of tokens that were generated before. */
static void adjust(const float *logits, int vocab, const struct sl_sampling *s,
                   const int32_t *counts, float *out)
{
    for (int i = 0; i < vocab; i++) {
        float x = logits[i] + (s->bias ? s->bias[i] : 0.0f);
        if (counts && counts[i] > 0)
            x -= s->presence_penalty + s->frequency_penalty * (float)counts[i];
        out[i] = x;
    }
}

/* A token and its weight, so that both can be sorted at once. */
struct candidate {
    float x;
    int32_t id;
};

static int more_likely(const void *a, const void *b)
{
    const struct candidate *p = a, *q = b;
    if (p->x > q->x || p->x < q->x)
        return p->x > q->x ? -1 : 1;
    return p->id < q->id ? -1 : 1;
}

/* Returns how many candidates remain after top-k and top-p, which need a sorted list. The x of
 * these become weights exp((x - max) / T), and *total their sum. */
static int shortlist(struct candidate *list, int vocab, const struct sl_sampling *s, double *total)
{
    double all = 0.0, kept = 0.0;
    float max = list[0].x;
    for (int i = 1; i < vocab; i++)
        max = list[i].x > max ? list[i].x : max;
    int count = s->top_k > 0 && s->top_k < vocab ? s->top_k : vocab, left = 0;
    for (int i = 0; i < count; i++) {
        list[i].x = expf((list[i].x - max) / s->temperature);
        all += (double)list[i].x;
    }
    double enough = s->top_p < 1.0f ? (double)s->top_p * all : all * 2.0;
    while (left < count && (left == 0 || kept < enough))
        kept += (double)list[left++].x;
    *total = kept;
    return left;
}

static int32_t draw(struct candidate *list, int vocab, const struct sl_sampling *s, double u)
{
    double total, sum = 0.0;
    if (s->top_k > 0 || s->top_p < 1.0f)
        qsort(list, (size_t)vocab, sizeof *list, more_likely);
    int left = shortlist(list, vocab, s, &total);
    for (int i = 0; i < left; i++) {
        sum += (double)list[i].x;
        if (u * total < sum)
            return list[i].id;
    }
    return list[left - 1].id; /* rounding: u * total reached the sum */
}

int32_t sl_sample(const struct sl_sample_params *c)
{
    static_assert(sizeof(struct candidate) + sizeof(float) == SL_SAMPLE_BYTES, "one of each");
    struct candidate *list = c->scratch;
    float *adjusted = (float *)(void *)(list + c->vocab);
    adjust(c->logits, c->vocab, c->sampling, c->counts, adjusted);
    if (c->sampling->temperature <= 0.0f)
        return sl_argmax(adjusted, c->vocab);
    for (int32_t i = 0; i < c->vocab; i++)
        list[i] = (struct candidate){adjusted[i], i};
    return draw(list, c->vocab, c->sampling, sl_random_uniform(c->key, c->index));
}
