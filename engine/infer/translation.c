/* translation.c - beam search over the slots of a session: `beam` of them for each text. */
#include "sluice/translation.h"

#include "base/allocate.h"
#include "infer/logits.h"
#include "model/model.h"
#include "sluice/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_DEFAULT = 16, BEAM_DEFAULT = 4, EXTRA_DEFAULT = 50, TEXTS_MOST = 4096 };

/* A beginning of a translation, in a slot of its own. */
struct beginning {
    int slot;
    int parent; /* the beginning, a step ago, that it extends */
    double log_probability;
    int32_t *ids; /* with the token that begins every translation */
    int count;
};

/* A beginning and the token that may follow it. */
struct candidate {
    int beginning;
    int32_t token;
    double log_probability;
};

struct search {
    struct beginning *now, *next; /* `beam` of each; the memory of ids is exchanged */
    int alive;
    int most; /* tokens */
    int32_t *best;
    int best_count;
    double best_score, best_log_probability; /* -INFINITY: none is finished */
};

struct sl_translator {
    const struct sl_model *model;
    struct sl_translator_options options;
    struct sl_session *session;
    struct search *searches;
    struct beginning *beginnings; /* of all searches */
    int32_t *ids;                 /* of all beginnings and best translations */
    struct sl_chunk *chunks;
    struct candidate *candidates;
    float *log_probabilities;
    int *largest;
    int32_t first_token, last_token;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static bool check(const struct sl_model *m, const struct sl_translator_options *o,
                  struct sl_err *err)
{
    if (m->config.task != SL_TASK_TRANSLATION)
        return sl_fail(err, SL_BAD_INPUT, "the model is for %s", sl_task_name(m->config.task));
    if (o->texts < 0 || o->texts > TEXTS_MOST)
        return sl_fail(err, SL_BAD_INPUT, "%d texts at a time: expected 1 to %d", o->texts,
                       TEXTS_MOST);
    if (o->beam < 0 || o->beam > SL_BEAM_MAX)
        return sl_fail(err, SL_BAD_INPUT, "invalid beam %d: expected 1 to %d", o->beam,
                       SL_BEAM_MAX);
    return (o->length_penalty >= 0.0f && o->length_penalty <= 10.0f) ||
           sl_fail(err, SL_BAD_INPUT, "invalid length_penalty %g: expected 0 to 10",
                   (double)o->length_penalty);
}

static void set_defaults(struct sl_translator_options *o)
{
    o->texts = o->texts ? o->texts : TEXTS_DEFAULT;
    o->beam = o->beam ? o->beam : BEAM_DEFAULT;
    o->extra_tokens = o->extra_tokens ? o->extra_tokens : EXTRA_DEFAULT;
}

static void lay_out(struct sl_translator *t)
{
    const int beam = t->options.beam, context = t->model->config.context_length;
    struct beginning *b = t->beginnings;
    int32_t *ids = t->ids;
    for (int i = 0; i < t->options.texts; i++, b += 2 * beam) {
        t->searches[i].now = b;
        t->searches[i].next = b + beam;
        for (int k = 0; k < 2 * beam; k++, ids += context)
            b[k].ids = ids;
        t->searches[i].best = ids;
        ids += context;
    }
}

static bool allocate(struct sl_translator *t, struct sl_err *err)
{
    const size_t texts = (size_t)t->options.texts, beam = (size_t)t->options.beam;
    const size_t vocab = (size_t)t->model->config.vocab;
    const size_t context = (size_t)t->model->config.context_length;
    t->searches = calloc(texts, sizeof *t->searches);
    t->beginnings = calloc(texts * 2 * beam, sizeof *t->beginnings);
    t->ids = calloc(texts * (2 * beam + 1) * context, sizeof *t->ids);
    t->chunks = calloc(texts * beam, sizeof *t->chunks);
    t->candidates = calloc(2 * beam, sizeof *t->candidates);
    t->log_probabilities = calloc(vocab, sizeof *t->log_probabilities);
    t->largest = calloc(2 * beam, sizeof *t->largest);
    if (!t->searches || !t->beginnings || !t->ids || !t->chunks || !t->candidates ||
        !t->log_probabilities || !t->largest)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu translations", texts);
    lay_out(t);
    const struct sl_session_options options = {.max_sequences = t->options.texts * t->options.beam,
                                               .max_batch_tokens =
                                                   t->options.texts * ((int)context + (int)beam)};
    t->session = sl_session_create(t->model, &options, err);
    return t->session;
}

struct sl_translator *sl_translator_create(const struct sl_model *model,
                                           const struct sl_translator_options *options,
                                           struct sl_err *err)
{
    if (!check(model, options, err))
        return NULL;
    struct sl_translator *t = sl_new(sizeof *t, "a translator", err);
    if (!t)
        return NULL;
    t->model = model;
    t->options = *options;
    set_defaults(&t->options);
    t->first_token = sl_tokenizer_special(model->tokenizer, SL_SPECIAL_BEGIN);
    t->last_token = sl_tokenizer_special(model->tokenizer, SL_SPECIAL_END);
    if (allocate(t, err))
        return t;
    sl_translator_destroy(t);
    return NULL;
}

void sl_translator_destroy(struct sl_translator *t)
{
    if (!t)
        return;
    sl_session_destroy(t->session);
    free(t->searches);
    free(t->beginnings);
    free(t->ids);
    free(t->chunks);
    free(t->candidates);
    free(t->log_probabilities);
    free(t->largest);
    free(t);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static double score_of(const struct sl_translator *t, double log_probability, int tokens)
{
    return log_probability / pow((5.0 + tokens) / 6.0, (double)t->options.length_penalty);
}

/* Inserts it among the `count` most probable so far, of which `most` are kept. Returns how many
 * there are then. */
static int insert(struct candidate *candidates, int count, int most, struct candidate c)
{
    if (count == most && !(c.log_probability > candidates[count - 1].log_probability))
        return count;
    int at = count < most ? count++ : count - 1;
    for (; at > 0 && candidates[at - 1].log_probability < c.log_probability; at--)
        candidates[at] = candidates[at - 1];
    candidates[at] = c;
    return count;
}

/* What may follow the beginnings of a text, the most probable first: enough that `beam` of them do
 * not end. Returns how many. */
static int find_candidates(struct sl_translator *t, const struct search *s,
                           const struct sl_chunk *chunks)
{
    const int vocab = t->model->config.vocab, most = 2 * t->options.beam;
    int count = 0;
    for (int b = 0; b < s->alive; b++) {
        sl_log_softmax(chunks[b].logits, vocab, t->log_probabilities);
        const int found = sl_largest(t->log_probabilities, vocab, most, t->largest);
        for (int i = 0; i < found; i++) {
            const double log_probability =
                s->now[b].log_probability + (double)t->log_probabilities[t->largest[i]];
            const struct candidate c = {b, t->largest[i], log_probability};
            count = insert(t->candidates, count, most, c);
        }
    }
    return count;
}

static void finish(const struct sl_translator *t, struct search *s, const struct candidate *c)
{
    const struct beginning *b = &s->now[c->beginning];
    const double score = score_of(t, c->log_probability, b->count);
    if (!(score > s->best_score))
        return;
    s->best_score = score;
    s->best_log_probability = c->log_probability;
    s->best_count = b->count - 1;
    memcpy(s->best, b->ids + 1, (size_t)s->best_count * sizeof *s->best);
}

static void extend(const struct search *s, const struct candidate *c, struct beginning *to)
{
    const struct beginning *from = &s->now[c->beginning];
    memcpy(to->ids, from->ids, (size_t)from->count * sizeof *to->ids);
    to->ids[from->count] = c->token;
    to->count = from->count + 1;
    to->log_probability = c->log_probability;
    to->parent = c->beginning;
}

/* The first that goes on from a beginning keeps its slot. Others copy it to slots that nobody
 * needs any more. */
static void assign_slots(struct sl_translator *t, struct search *s, int first_slot, int count)
{
    bool taken[SL_BEAM_MAX] = {false};
    for (int i = 0; i < count; i++) {
        const int slot = s->now[s->next[i].parent].slot;
        s->next[i].slot = taken[slot - first_slot] ? -1 : slot;
        taken[slot - first_slot] = true;
    }
    for (int i = 0, free_slot = 0; i < count; i++) {
        if (s->next[i].slot >= 0)
            continue;
        while (taken[free_slot])
            free_slot++;
        taken[free_slot] = true;
        s->next[i].slot = first_slot + free_slot;
        sl_session_copy(t->session, s->now[s->next[i].parent].slot, s->next[i].slot);
    }
}

/* The beginnings that are still worth extending. */
static void prune(const struct sl_translator *t, struct search *s)
{
    const double best_left =
        s->alive > 0 ? score_of(t, s->now[0].log_probability, s->most) : (double)-INFINITY;
    if (s->alive > 0 && (s->best_score >= best_left || s->now[0].count > s->most))
        s->alive = 0;
}

static void advance(struct sl_translator *t, struct search *s, int first_slot,
                    const struct sl_chunk *chunks)
{
    const int found = find_candidates(t, s, chunks);
    int count = 0;
    for (int i = 0; i < found && count < t->options.beam; i++) {
        const struct candidate *c = &t->candidates[i];
        if (c->token == t->last_token)
            finish(t, s, c);
        else
            extend(s, c, &s->next[count++]);
    }
    assign_slots(t, s, first_slot, count);
    struct beginning *other = s->now;
    s->now = s->next;
    s->next = other;
    s->alive = count;
    prune(t, s);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void begin(struct sl_translator *t, struct search *s, int first_slot,
                  const struct sl_translated *text)
{
    const int room = t->model->config.context_length - 1;
    const int most = text->source_count + t->options.extra_tokens;
    for (int i = 0; i < t->options.beam; i++)
        sl_session_clear(t->session, first_slot + i);
    s->alive = 1;
    s->most = most < room ? most : room;
    s->best_count = 0;
    s->best_score = s->best_log_probability = (double)-INFINITY;
    s->now[0].slot = first_slot;
    s->now[0].log_probability = 0.0;
    s->now[0].ids[0] = t->first_token;
    s->now[0].count = 1;
}

/* Chunks of all beginnings; returns their number. */
static int next_chunks(struct sl_translator *t, const struct sl_translated *texts, int count)
{
    int chunks = 0;
    for (int i = 0; i < count; i++)
        for (int b = 0; b < t->searches[i].alive; b++) {
            const struct beginning *now = &t->searches[i].now[b];
            struct sl_chunk *chunk = &t->chunks[chunks++];
            *chunk = (struct sl_chunk){
                .slot = now->slot, .tokens = now->ids + now->count - 1, .count = 1};
            if (now->count == 1) {
                chunk->source = texts[i].source;
                chunk->source_count = texts[i].source_count;
            }
        }
    return chunks;
}

/* A search that ended because of its length has what is most probable so far. */
static void conclude(const struct search *s, struct sl_translated *text)
{
    text->ids = s->best;
    text->count = s->best_count;
    text->log_probability = s->best_log_probability;
    if (s->best_log_probability > (double)-INFINITY)
        return;
    text->ids = s->now[0].ids + 1;
    text->count = s->now[0].count - 1;
    text->log_probability = s->now[0].log_probability;
}

static bool step(struct sl_translator *t, int count, int chunks, struct sl_err *err)
{
    if (!sl_session_run(t->session, t->chunks, chunks, err))
        return false;
    for (int i = 0; i < chunks; i++)
        if (!t->chunks[i].finite)
            return sl_fail(err, SL_NOT_FINITE, "the model produced NaN or infinity");
    for (int i = 0, at = 0; i < count; i++) {
        struct search *s = &t->searches[i];
        const int alive = s->alive;
        if (alive > 0)
            advance(t, s, i * t->options.beam, t->chunks + at);
        at += alive;
    }
    return true;
}

bool sl_translator_run(struct sl_translator *t, struct sl_translated *texts, int count,
                       struct sl_err *err)
{
    if (count < 1 || count > t->options.texts)
        return sl_fail(err, SL_BAD_INPUT, "%d texts: expected 1 to %d", count, t->options.texts);
    for (int i = 0; i < count; i++)
        begin(t, &t->searches[i], i * t->options.beam, &texts[i]);
    int chunks;
    while ((chunks = next_chunks(t, texts, count)) > 0)
        if (!step(t, count, chunks, err))
            return sl_wrap(err, "translation");
    for (int i = 0; i < count; i++)
        conclude(&t->searches[i], &texts[i]);
    return true;
}
