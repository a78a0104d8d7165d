/* routing_sums.c - sums over groups of tokens. */
#include "cli/routing/routing_sums.h"

#include "base/int_math.h"
#include "tokenizer/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const routing_kind_names[] = {[ROUTING_ALL] = "all",
                                          [ROUTING_CLASS] = "class",
                                          [ROUTING_FREQUENCY] = "frequency",
                                          [ROUTING_ENTROPY] = "entropy"};

/* A group: characters of a class, tokens up to a rank, predictions up to an entropy in nats. The
 * first that fits. */
static const struct {
    enum routing_kind kind;
    const char *name;
    unsigned classes;
    int rank;
    double entropy;
} groups[] = {{.kind = ROUTING_ALL, .name = "all tokens"},
              {.kind = ROUTING_CLASS, .name = "letters", .classes = SL_CHAR_LETTER},
              {.kind = ROUTING_CLASS, .name = "digits", .classes = SL_CHAR_NUMBER},
              {.kind = ROUTING_CLASS, .name = "white space", .classes = SL_CHAR_SPACE},
              {.kind = ROUTING_CLASS, .name = "punctuation", .classes = SL_CHAR_PUNCTUATION},
              {.kind = ROUTING_CLASS, .name = "word continuations"},
              {.kind = ROUTING_CLASS, .name = "special tokens"},
              {.kind = ROUTING_CLASS, .name = "others"},
              {.kind = ROUTING_FREQUENCY, .name = "the 10 most frequent", .rank = 10},
              {.kind = ROUTING_FREQUENCY, .name = "the next 20", .rank = 30},
              {.kind = ROUTING_FREQUENCY, .name = "the next 70", .rank = 100},
              {.kind = ROUTING_FREQUENCY, .name = "the next 900", .rank = 1000},
              {.kind = ROUTING_FREQUENCY, .name = "all rarer ones", .rank = INT32_MAX},
              {.kind = ROUTING_ENTROPY, .name = "below 0.1 nats", .entropy = 0.1},
              {.kind = ROUTING_ENTROPY, .name = "0.1 to 0.5", .entropy = 0.5},
              {.kind = ROUTING_ENTROPY, .name = "0.5 to 1", .entropy = 1.0},
              {.kind = ROUTING_ENTROPY, .name = "1 to 2", .entropy = 2.0},
              {.kind = ROUTING_ENTROPY, .name = "2 to 3", .entropy = 3.0},
              {.kind = ROUTING_ENTROPY, .name = "above 3", .entropy = HUGE_VAL}};

_Static_assert(sizeof groups / sizeof *groups == ROUTING_GROUPS, "a name for each group");

enum { LETTERS = 1, CONTINUATIONS = 5, SPECIALS = 6, OTHERS = 7 }; /* of `groups` */

/* ---- which groups a token is in -------------------------------------------------------------- */

static bool is_special(const struct sl_tokenizer *tokenizer, int32_t id)
{
    for (int s = 0; s < SL_SPECIALS; s++)
        if (sl_tokenizer_special(tokenizer, (enum sl_special)s) == id && s != SL_SPECIAL_UNKNOWN)
            return true;
    return false;
}

static int class_of(const struct sl_tokenizer *tokenizer, int32_t id)
{
    size_t bytes = 0, at = 0;
    const char *piece = sl_tokenizer_piece(tokenizer, id, &bytes);
    if (is_special(tokenizer, id))
        return SPECIALS;
    if (bytes > 2 && sl_tokenizer_marks_continuations(tokenizer) && memcmp(piece, "##", 2) == 0)
        return CONTINUATIONS;
    if (bytes == 0 || sl_char_bytes(piece[0]) > bytes)
        return OTHERS;
    unsigned classes = sl_char_classes(sl_char_next(piece, &at));
    for (int g = LETTERS; g < CONTINUATIONS; g++)
        if (classes & groups[g].classes)
            return g;
    return OTHERS;
}

static int first_of(enum routing_kind kind)
{
    int g = 0;
    while (groups[g].kind != kind)
        g++;
    return g;
}

static int frequency_of(const struct routing_sums *s, int32_t id)
{
    int g = first_of(ROUTING_FREQUENCY);
    while (s->by_id[id].rank >= groups[g].rank)
        g++;
    return g;
}

static int entropy_of(double entropy)
{
    int g = first_of(ROUTING_ENTROPY);
    while (g + 1 < ROUTING_GROUPS && entropy >= groups[g].entropy)
        g++;
    return g;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    const struct routing_token *x = *(struct routing_token *const *)a,
                               *y = *(struct routing_token *const *)b;
    int by_count = (x->tokens < y->tokens) - (x->tokens > y->tokens);
    return by_count ? by_count : (x->id > y->id) - (x->id < y->id);
}

static void rank(struct routing_sums *s, const int32_t *ids, size_t count)
{
    for (int id = 0; id < s->vocab; id++)
        s->by_id[id].id = id;
    for (size_t i = 0; i < count; i++)
        s->by_id[ids[i]].tokens++;
    for (int id = 0; id < s->vocab; id++)
        if (s->by_id[id].tokens > 0)
            s->ranked[s->distinct++] = &s->by_id[id];
    qsort(s->ranked, (size_t)s->distinct, sizeof(struct routing_token *), compare);
    for (int i = 0; i < s->distinct; i++)
        s->ranked[i]->rank = i;
}

bool routing_sums_open(struct routing_sums *s, const struct sl_model *m, int parts,
                       const int32_t *ids, size_t count, struct sl_err *err)
{
    *s = (struct routing_sums){.tokenizer = m->tokenizer, .parts = parts, .vocab = m->config.vocab};
    const size_t vocab = (size_t)s->vocab, numbers = (size_t)parts;
    s->memory = calloc((size_t)2 * ROUTING_GROUPS * numbers, sizeof *s->memory);
    s->by_id = calloc(vocab, sizeof *s->by_id);
    s->ranked = malloc(vocab * sizeof(struct routing_token *));
    if (!s->memory || !s->by_id || !s->ranked)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the sums of %d tokens", s->vocab);
    for (size_t g = 0; g < ROUTING_GROUPS; g++)
        s->groups[g] = (struct routing_group){.kind = groups[g].kind,
                                              .name = groups[g].name,
                                              .ran = s->memory + 2 * g * numbers,
                                              .weight = s->memory + (2 * g + 1) * numbers};
    rank(s, ids, count);
    return true;
}

static void add_to_group(struct routing_sums *s, int number, const float *weights)
{
    struct routing_group *group = &s->groups[number];
    group->tokens++;
    for (int p = 0; p < s->parts; p++) {
        group->ran[p] += weights[p] != 0.0f;
        group->weight[p] += (double)weights[p];
    }
}

void routing_sums_add(struct routing_sums *s, const struct sl_routing *routing, const int32_t *ids,
                      int count)
{
    const bool predicts = routing->model->config.task == SL_TASK_COMPLETION;
    for (int i = 0; i < count; i++) {
        const float *weights = routing->weights + (size_t)i * (size_t)s->parts;
        struct routing_token *token = &s->by_id[ids[i]];
        add_to_group(s, 0, weights);
        add_to_group(s, class_of(s->tokenizer, ids[i]), weights);
        add_to_group(s, frequency_of(s, ids[i]), weights);
        if (predicts)
            add_to_group(s, entropy_of((double)routing->entropy[i]), weights);
        const struct sl_routing_total total = sl_routing_total(routing, i);
        token->ran += total.ran;
        token->weight += total.weight;
    }
}

void routing_sums_close(struct routing_sums *s)
{
    free(s->memory);
    free(s->by_id);
    free(s->ranked);
    *s = (struct routing_sums){0};
}

static double mean_of(const struct routing_sums *s, const double *sums, int64_t tokens)
{
    double sum = 0.0;
    for (int p = 0; p < s->parts; p++)
        sum += sums[p];
    return tokens > 0 ? sum / (double)tokens : 0.0;
}

double routing_group_ran(const struct routing_sums *s, const struct routing_group *group)
{
    return mean_of(s, group->ran, group->tokens);
}

double routing_group_weight(const struct routing_sums *s, const struct routing_group *group)
{
    return mean_of(s, group->weight, group->tokens);
}
