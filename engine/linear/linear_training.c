/* linear_training.c - the linear classifier from a file of texts to a published model. */
#include "linear/linear_training.h"

#include "linear/linear_model.h"
#include "linear/linear_tokens.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECES_MAX = 30000,    /* of a vocabulary learnt from the texts: pieces of words, */
    WORDS_MAX = 200000,    /* or words */
    TOKENS_MANY = 5000000, /* of all texts */
    SAMPLE_TEXTS = 500,    /* to see whether a base knows the language */
    SAMPLE_TOKENS = 256    /* of each */
};

static bool open_texts(struct sl_linear_training *l, const struct sl_data_sources *s,
                       struct sl_err *err)
{
    struct sl_labels listed = {0};
    bool ok = (!s->labels || sl_labels_read(&listed, s->labels, err)) &&
              sl_dataset_open(&l->set, s->data, &s->columns, s->labels ? &listed : NULL, err) &&
              sl_dataset_check_labels(&l->set, err);
    sl_labels_release(&listed);
    return ok;
}

bool sl_linear_training_check_size(const struct sl_dataset *set, struct sl_err *err)
{
    enum { TEXTS_TIMES_LABELS_MAX = 100000000 };

    return (int64_t)set->count * set->labels.count <= TEXTS_TIMES_LABELS_MAX ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s' has %d texts and %d labels: without an architecture, texts times labels "
                   "may be at most %d",
                   set->path, set->count, set->labels.count, TEXTS_TIMES_LABELS_MAX);
}

/* Without a base, the vocabulary is that of the texts, and there are no word vectors. The end of a
 * text is kept, as with a base that is no classifier (read_truncation_side in model_config.c). */
static bool open_tokens(struct sl_linear_training *l, const struct sl_data_sources *s,
                        struct sl_err *err)
{
    const char *kind = s->tokenizer ? s->tokenizer : "wordpiece";
    const int most = strcmp(kind, "words") == 0 ? WORDS_MAX : PIECES_MAX;
    const struct sl_tokenizer_options how = {
        .kind = kind, .size = s->vocabulary_size ? s->vocabulary_size : most, .lower = !s->cased};
    if (l->base)
        return true;
    l->tokens = sl_tokenizer_train(&how, l->set.text, l->set.text_bytes, err);
    if (!l->tokens)
        return false;
    sl_tokenizer_set_truncation(l->tokens, SL_TRUNCATE_LEFT);
    l->base = sl_linear_base_create(l->engine, l->tokens, 0, 0, err);
    return l->base;
}

/* Counts the tokens of a text that the vocabulary does not know, and all. */
static bool count_unknown(const struct sl_linear_training *l, int text, int32_t *ids,
                          long counts[2], struct sl_err *err)
{
    struct sl_encoding job = {.unknown = SL_UNKNOWN_REPLACE, .capacity = SAMPLE_TOKENS};
    job.ids = ids;
    job.text = sl_dataset_text(&l->set, text, &job.bytes);
    long count = sl_tokenizer_tokenize(l->tokens, &job, err);
    for (long i = 0; i < count && i < SAMPLE_TOKENS; i++)
        counts[0] += ids[i] == l->tokens->special[SL_SPECIAL_UNKNOWN];
    counts[1] += count < SAMPLE_TOKENS ? count : SAMPLE_TOKENS;
    return count >= 0;
}

/* A base is of one language: where it lacks more than one token in twenty, it is not used. */
static bool drop_foreign_base(struct sl_linear_training *l, struct sl_err *err)
{
    long counts[2] = {0};
    int32_t ids[SAMPLE_TOKENS];
    int step = 1 + l->set.count / SAMPLE_TEXTS;
    for (int i = 0; l->base && i < l->set.count; i += step)
        if (!count_unknown(l, i, ids, counts, err))
            return false;
    l->unknown = counts[1] > 0 ? (double)counts[0] / (double)counts[1] : 0.0;
    if (!l->base || 20 * counts[0] <= counts[1])
        return true;
    sl_model_close(l->base);
    sl_tokenizer_destroy(l->tokens);
    l->base_is_foreign = true;
    l->origin = (struct sl_base_reference){0};
    l->base = NULL;
    l->tokens = NULL;
    return true;
}

static bool open_base(struct sl_linear_training *l, const char *directory, struct sl_err *err)
{
    return !directory || (l->base = sl_linear_base_open(l->engine, directory, &l->tokens,
                                                        &l->origin, err)) != NULL;
}

/* Character n-grams of very many tokens would take long. */
static bool set_spellings(struct sl_linear_training *l, struct sl_err *err)
{
    int64_t total = 0;
    l->parts = *sl_linear_model_parts(l->base);
    for (int i = 0; i < l->set.count; i++)
        total += l->set.examples[i].tokens;
    if (total > TOKENS_MANY || !sl_linear_tokens_can_spell(l->tokens))
        return true;
    l->parts.spellings = &l->spellings;
    return sl_linear_tokens_spell(&l->spellings, l->tokens, err);
}

bool sl_linear_training_open(struct sl_linear_training *l,
                             const struct sl_linear_training_options *options, struct sl_err *err)
{
    *l = (struct sl_linear_training){
        .engine = options->engine, .seconds = options->seconds, .standalone = options->standalone};
    const struct sl_data_sources *s = &options->sources;
    bool ok = open_texts(l, s, err) && sl_linear_training_check_size(&l->set, err) &&
              open_base(l, options->base, err) && drop_foreign_base(l, err) &&
              open_tokens(l, s, err);
    if (ok)
        sl_tokenizer_set_truncation(l->tokens, s->truncation);
    const struct sl_dataset_encoding encoding = {.context = ok ? l->base->config.context_length : 0,
                                                 .truncation = s->truncation,
                                                 .unknown = SL_UNKNOWN_REPLACE,
                                                 .keep_text = options->keep_text};
    ok = ok && sl_dataset_encode(&l->set, l->tokens, &encoding, err) && set_spellings(l, err);
    if (!ok)
        sl_linear_training_close(l);
    return ok;
}

void sl_linear_training_close(struct sl_linear_training *l)
{
    sl_linear_search_close(&l->search);
    sl_text_features_close(&l->features);
    sl_dataset_close(&l->set);
    free(l->spellings.data);
    sl_tokenizer_destroy(l->tokens);
    sl_model_close(l->base);
    sl_model_close(l->model);
    *l = (struct sl_linear_training){0};
}

const struct sl_tokenizer *sl_linear_training_tokens(const struct sl_linear_training *l)
{
    return sl_linear_search_is_linear(&l->search) ? l->tokens : l->others->tokens;
}

static struct sl_model *fit_best(const struct sl_linear_training *l, struct sl_err *err)
{
    const struct sl_linear_fit fit = {.engine = l->engine,
                                      .base = l->base,
                                      .spellings = l->parts.spellings,
                                      .features = &l->features,
                                      .set = &l->set,
                                      .search = &l->search};
    if (sl_linear_search_is_linear(&l->search))
        return sl_linear_model_fit(&fit, err);
    return l->others->fit(l->others->context, &l->search.trials[l->search.best],
                          &l->search.calibration, err);
}

bool sl_linear_training_run(struct sl_linear_training *l,
                            void (*report)(void *context, const struct sl_linear_search *search),
                            void *context, struct sl_err *err)
{
    const struct sl_linear_search_options options = {.engine = l->engine,
                                                     .features = &l->features,
                                                     .set = &l->set,
                                                     .others = l->others,
                                                     .seconds = l->seconds,
                                                     .report = report,
                                                     .context = context};
    const struct sl_ngram_limits limits = {sl_linear_order(l->set.count), SL_NGRAMS_MAX};
    return sl_text_features_open(&l->features, l->engine, &l->parts, limits, &l->set, err) &&
           sl_linear_search_run(&l->search, &options, err) && (l->model = fit_best(l, err)) != NULL;
}

/* The directory is <store>/<model>/<version>, and need not exist. */
static bool finds_origin(const struct sl_base_reference *origin, const char *directory)
{
    struct sl_base_weights base;
    char *path = strdup(directory);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's writes to its argument alone
    bool found = path && sl_base_open(&base, origin, dirname(dirname(path)), NULL);
    if (found)
        sl_base_close(&base);
    free(path);
    return found;
}

bool sl_linear_training_publish(struct sl_linear_training *l, const char *directory,
                                const struct sl_publication *how, struct sl_err *err)
{
    l->refers = !l->standalone && l->origin.model[0] && l->model->config.width > 0 &&
                sl_linear_search_is_linear(&l->search) && finds_origin(&l->origin, directory);
    return sl_linear_model_write(directory, l->model, sl_linear_training_tokens(l), how,
                                 l->refers ? &l->origin : NULL, err);
}
