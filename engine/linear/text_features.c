/* text_features.c - counts the n-grams of labelled texts, and pools their word vectors. */
#include "linear/text_features.h"

#include "base/dynarray.h"
#include "base/hash_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More n-grams than this would make a model of tens of megabytes: the rarest are left out. Each has
 * a weight per label, so that of more labels than LABELS_MANY, n-grams are fewer in proportion.
 * Those of three words are counted apart, so that they do not displace shorter ones. */
enum { LABELS_MANY = 33 };

enum { TRIGRAM = 3 };

/* An n-gram of the texts. */
struct ngram {
    int32_t texts; /* number of texts that have it */
    int32_t last;  /* the text seen last */
    int32_t id;    /* -1: no feature */
    int32_t order;
};

struct collector {
    struct sl_text_features *f;
    const struct sl_bag_of_words *parts;
    const struct sl_dataset *set;
    struct sl_ngram_limits limits;
    struct sl_hash_index index; /* of the n-grams, by their hashes */
    struct ngram *ngrams;
    size_t capacity;
    uint64_t *hashes;          /* of one text: n-grams of words, then */
    int word_ngrams;           /* that many; the others are of characters */
    size_t entries;            /* of all texts */
    int least, least_trigrams; /* how many texts features must at least be in */
};

/* ---- passes over the texts ------------------------------------------------------------------- */

static int hash_text(struct collector *c, int text, int *words)
{
    int count;
    const int32_t *ids = sl_dataset_ids(c->set, text, &count);
    c->word_ngrams =
        sl_ngram_hashes(c->parts->roles, c->limits.order, ids, count, c->hashes, words);
    if (!c->f->has_characters)
        return c->word_ngrams;
    return c->word_ngrams + sl_character_hashes(c->parts, ids, count, c->hashes + c->word_ngrams);
}

/* Hashes are sorted by their order: `words` words, then words - 1 bigrams, and so on; then those of
 * characters, whose order is 0. */
static int order_at(const struct collector *c, int i, int words)
{
    int order = 1;
    if (i >= c->word_ngrams)
        return 0;
    for (int count = words; i >= count && count > 0; order++)
        i -= count--;
    return order;
}

static bool count_ngram(struct collector *c, int i, int order, int text, struct sl_err *err)
{
    const int before = c->index.count, at = sl_hash_add(&c->index, c->hashes[i]);
    if (at < 0 || !sl_dynarray_reserve(&c->ngrams, &c->capacity, (size_t)c->index.count,
                                       sizeof *c->ngrams, NULL))
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d n-grams", before);
    struct ngram *n = &c->ngrams[at];
    if (at == before)
        *n = (struct ngram){.last = -1, .id = -1, .order = order};
    c->entries += n->last != text;
    n->texts += n->last != text;
    n->last = text;
    return true;
}

static bool count_texts(struct collector *c, struct sl_err *err)
{
    for (int text = 0; text < c->f->texts; text++) {
        int words, count = hash_text(c, text, &words);
        for (int i = 0; i < count; i++) {
            const int order = order_at(c, i, words);
            if (order < TRIGRAM && !count_ngram(c, i, order, text, err))
                return false;
        }
    }
    return true;
}

/* NULL: it was not counted. */
static struct ngram *find(const struct collector *c, int i)
{
    const int at = sl_hash_find(&c->index, c->hashes[i]);
    return at >= 0 ? &c->ngrams[at] : NULL;
}

static bool is_feature(const struct collector *c, int i)
{
    const struct ngram *n = find(c, i);
    return n && n->texts >= c->least;
}

/* Only those of two bigrams that are features: a trigram is in no more texts than these, and all
 * would take much memory. */
static bool count_trigrams(struct collector *c, struct sl_err *err)
{
    for (int text = 0; text < c->f->texts; text++) {
        int words;
        (void)hash_text(c, text, &words);
        const int bigrams = words, trigrams = words + words - 1;
        for (int i = 0; i + 2 < words; i++)
            if (is_feature(c, bigrams + i) && is_feature(c, bigrams + i + 1) &&
                !count_ngram(c, trigrams + i, TRIGRAM, text, err))
                return false;
    }
    return true;
}

/* How many n-grams may be features, of texts with so many labels. */
static int ngrams_max(int of_few_labels, int labels)
{
    return labels <= LABELS_MANY ? of_few_labels
                                 : (int)((int64_t)of_few_labels * LABELS_MANY / labels);
}

/* Sets *least to how many texts an n-gram must at least be in, for at most this many. */
static bool find_least(const struct collector *c, bool trigrams, int most, int *least,
                       struct sl_err *err)
{
    int64_t *in_texts = calloc((size_t)c->f->texts + 1, sizeof *in_texts), kept = 0;
    if (!in_texts)
        return sl_fail(err, SL_NO_MEMORY, "no memory to count the n-grams of %d texts",
                       c->f->texts);
    for (int i = 0; i < c->index.count; i++)
        if ((c->ngrams[i].order == TRIGRAM) == trigrams)
            in_texts[c->ngrams[i].texts]++;
    *least = c->f->texts + 1;
    while (*least > 1 && kept + in_texts[*least - 1] <= most)
        kept += in_texts[--*least];
    free(in_texts);
    return true;
}

/* Adds a text's n-grams to the features, new ones in the order of their first occurrence. */
static void add_text(struct collector *c, int text)
{
    struct sl_text_features *f = c->f;
    int words, count = hash_text(c, text, &words);
    int64_t next = f->first[text];
    for (int i = 0; i < count; i++) {
        struct ngram *n = find(c, i);
        if (!n || n->texts < (n->order == TRIGRAM ? c->least_trigrams : c->least))
            continue;
        if (n->id < 0) {
            n->id = f->ngrams++;
            f->hash[n->id] = c->hashes[i];
            f->order[n->id] = (uint8_t)n->order;
        }
        /* After the first pass `last` is a text; here it is where the text's entry is. */
        int64_t known = f->first[text] + n->last;
        if (n->last >= 0 && known < next && f->index[known] == n->id) {
            f->times[known] += 1.0f;
            continue;
        }
        n->last = (int32_t)(next - f->first[text]);
        f->index[next] = n->id;
        f->times[next++] = 1.0f;
    }
    f->first[text + 1] = next;
}

static bool collect(struct collector *c, struct sl_err *err)
{
    struct sl_text_features *f = c->f;
    const int most = ngrams_max(c->limits.most, c->set->labels.count),
              most_trigrams = ngrams_max(c->limits.most / 2, c->set->labels.count);
    if (!count_texts(c, err) || !find_least(c, false, most, &c->least, err))
        return false;
    if (c->limits.order >= TRIGRAM && !count_trigrams(c, err))
        return false;
    if (!find_least(c, true, most_trigrams, &c->least_trigrams, err))
        return false;
    f->hash = calloc((size_t)c->index.count + 1, sizeof *f->hash);
    f->order = calloc((size_t)c->index.count + 1, sizeof *f->order);
    f->first = calloc((size_t)f->texts + 1, sizeof *f->first);
    f->index = calloc(c->entries + 1, sizeof *f->index);
    f->times = calloc(c->entries + 1, sizeof *f->times);
    if (!f->hash || !f->order || !f->first || !f->index || !f->times)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the n-grams of %d texts", f->texts);
    for (int text = 0; text < f->texts; text++)
        add_text(c, text);
    return true;
}

static bool open_ngrams(struct sl_text_features *f, const struct sl_bag_of_words *parts,
                        struct sl_ngram_limits limits, const struct sl_dataset *set,
                        struct sl_err *err)
{
    int longest = 0;
    for (int i = 0; i < set->count; i++)
        longest = set->examples[i].tokens > longest ? set->examples[i].tokens : longest;
    struct collector c = {.f = f, .parts = parts, .set = set, .limits = limits};
    size_t per_token = (size_t)limits.order + (f->has_characters ? SL_SPELLING_CHARACTERS : 0);
    c.hashes = calloc((size_t)longest * per_token + 1, sizeof *c.hashes);
    bool ok = c.hashes ? collect(&c, err) : sl_fail(err, SL_NO_MEMORY, "no memory for a text");
    sl_hash_release(&c.index);
    free(c.ngrams);
    free(c.hashes);
    return ok;
}

/* ---- word vectors ---------------------------------------------------------------------------- */

struct pooling {
    struct sl_text_features *f;
    const struct sl_engine *engine;
    const struct sl_bag_of_words *parts;
    const struct sl_dataset *set;
};

static void pool_texts(void *ctx, int first, int last, int worker)
{
    const struct pooling *p = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        int count;
        const int32_t *ids = sl_dataset_ids(p->set, i, &count);
        sl_pool_tokens(p->engine->kernels, p->parts, ids, count,
                       p->f->dense + (size_t)i * (size_t)p->f->dense_cols);
    }
}

static bool open_vectors(struct sl_text_features *f, const struct sl_engine *engine,
                         const struct sl_bag_of_words *parts, const struct sl_dataset *set,
                         struct sl_err *err)
{
    struct pooling p = {f, engine, parts, set};
    f->dense_cols = parts->vectors ? SL_BAG_VIEWS * parts->vectors->cols : 0;
    f->dense = calloc((size_t)f->texts * (size_t)f->dense_cols + 1, sizeof *f->dense);
    if (!f->dense)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the vectors of %d texts", f->texts);
    if (f->dense_cols > 0)
        sl_parallel_for(engine->pool, f->texts, 16, pool_texts, &p);
    return true;
}

bool sl_text_features_open(struct sl_text_features *f, const struct sl_engine *engine,
                           const struct sl_bag_of_words *parts, struct sl_ngram_limits limits,
                           const struct sl_dataset *set, struct sl_err *err)
{
    *f = (struct sl_text_features){.texts = set->count, .has_characters = parts->spellings != NULL};
    if (open_ngrams(f, parts, limits, set, err) && open_vectors(f, engine, parts, set, err))
        return true;
    sl_text_features_close(f);
    return false;
}

void sl_text_features_close(struct sl_text_features *f)
{
    free(f->hash);
    free(f->order);
    free(f->first);
    free(f->index);
    free(f->times);
    free(f->dense);
    *f = (struct sl_text_features){0};
}

/* ---- TF-IDF ---------------------------------------------------------------------------------- */

static bool is_chosen(struct sl_ngram_choice choice, int order)
{
    return order == 0 ? choice.characters : order <= choice.order;
}

void sl_text_features_idf(const struct sl_text_features *f, const int32_t *rows, int count,
                          struct sl_ngram_choice choice, float *idf)
{
    memset(idf, 0, (size_t)f->ngrams * sizeof *idf);
    for (int r = 0; r < count; r++)
        for (int64_t i = f->first[rows[r]]; i < f->first[rows[r] + 1]; i++)
            idf[f->index[i]] += 1.0f;
    for (int i = 0; i < f->ngrams; i++)
        idf[i] = idf[i] > 0.0f && is_chosen(choice, f->order[i])
                     ? 1.0f + logf((1.0f + (float)count) / (1.0f + idf[i]))
                     : 0.0f;
}

/* A text's n-grams of words come first. */
static void weigh_text(struct sl_text_values *v, const struct sl_text_features *f, const float *idf,
                       int text)
{
    int64_t next = v->first[text], words = next;
    for (int64_t i = f->first[text]; i < f->first[text + 1]; i++) {
        const int32_t id = f->index[i];
        if (!(idf[id] > 0.0f))
            continue;
        v->index[next] = id;
        v->value[next++] = sl_tfidf(f->times[i], idf[id]);
        if (f->order[id] > 0)
            words = next;
    }
    sl_tfidf_normalize(v->value + v->first[text], words - v->first[text]);
    sl_tfidf_normalize(v->value + words, next - words);
    v->first[text + 1] = next;
}

bool sl_text_values_open(struct sl_text_values *v, const struct sl_text_features *f,
                         const float *idf, struct sl_err *err)
{
    size_t entries = (size_t)f->first[f->texts] + 1;
    *v = (struct sl_text_values){.first = calloc((size_t)f->texts + 1, sizeof *v->first),
                                 .index = malloc(entries * sizeof *v->index),
                                 .value = malloc(entries * sizeof *v->value)};
    if (!v->first || !v->index || !v->value) {
        sl_text_values_close(v);
        return sl_fail(err, SL_NO_MEMORY, "no memory for the n-grams of %d texts", f->texts);
    }
    for (int text = 0; text < f->texts; text++)
        weigh_text(v, f, idf, text);
    return true;
}

void sl_text_values_close(struct sl_text_values *v)
{
    free(v->first);
    free(v->index);
    free(v->value);
    *v = (struct sl_text_values){0};
}

struct sl_text_matrix sl_text_features_matrix(const struct sl_text_features *f,
                                              const struct sl_text_values *values)
{
    return (struct sl_text_matrix){.texts = f->texts,
                                   .first = values->first,
                                   .index = values->index,
                                   .value = values->value,
                                   .dense = f->dense,
                                   .sparse_cols = f->ngrams,
                                   .dense_cols = f->dense_cols};
}
