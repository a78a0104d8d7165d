/* linear_training.c - the linear classifier from a file of texts to a published model. */
#include "linear/linear_training.h"

#include "base/utf8.h"
#include "checkpoint/checkpoint.h"
#include "tokenizer/normalizer.h"
#include "vectors/document_vectors.h"
#include "vectors/word_vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECES_MAX = 30000,    /* of a vocabulary learnt from the texts: pieces of words, */
    WORDS_MAX = 200000,    /* or words */
    TOKENS_MANY = 5000000, /* of all texts */
    SAMPLE_TEXTS = 500,    /* to see whether a base knows the language */
    SAMPLE_TOKENS = 256    /* of each */
};

static const double final_tolerance = 1e-6;

/* ---- what tokens are ------------------------------------------------------------------------- */

static bool is_special(const struct sl_tokenizer *tokens, int32_t id)
{
    for (int i = 0; i < SL_SPECIALS; i++)
        if (tokens->special[i] == id)
            return true;
    return false;
}

static enum sl_token_role role_of(const struct sl_tokenizer *tokens, int32_t id)
{
    const char *prefix = tokens->kind->continuation_prefix;
    const struct sl_piece *piece = &tokens->pieces[id];
    size_t at = 0;
    uint32_t point = 0;
    if (is_special(tokens, id))
        return id == tokens->special[SL_SPECIAL_UNKNOWN] ? SL_TOKEN_WORD : SL_TOKEN_SKIPPED;
    if (prefix && piece->bytes > strlen(prefix) && memcmp(piece->text, prefix, strlen(prefix)) == 0)
        return SL_TOKEN_CONTINUES;
    if (!sl_utf8_next(piece->text, piece->bytes, &at, &point))
        return SL_TOKEN_WORD;
    return sl_codepoint_kind(point) == SL_CODEPOINT_PUNCTUATION ? SL_TOKEN_SKIPPED : SL_TOKEN_WORD;
}

static void set_roles(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens)
{
    for (int32_t id = 0; id < m->roles->cols; id++)
        m->roles->data[id] = (float)role_of(tokens, id);
}

static void spell(const struct sl_tokenizer *tokens, int32_t id, float *spelling)
{
    const char *prefix = tokens->kind->continuation_prefix;
    const struct sl_piece *piece = &tokens->pieces[id];
    size_t at = 0;
    uint32_t point;
    if (is_special(tokens, id))
        return;
    if (role_of(tokens, id) == SL_TOKEN_CONTINUES)
        at = strlen(prefix);
    for (int i = 0; i < SL_SPELLING_CHARACTERS && at < piece->bytes; i++) {
        if (!sl_utf8_next(piece->text, piece->bytes, &at, &point))
            return;
        sl_spelling_set(spelling, i, point);
    }
}

/* A tokenizer without pieces of words would not spell unknown words. Character n-grams of very many
 * tokens would take long. */
static bool set_spellings(struct sl_linear_training *l, struct sl_err *err)
{
    int64_t total = 0;
    l->parts = *(const struct sl_bag_of_words *)l->base->self;
    for (int i = 0; i < l->set.count; i++)
        total += l->set.examples[i].tokens;
    if (total > TOKENS_MANY || !l->tokens->kind->continuation_prefix)
        return true;
    int vocab = sl_tokenizer_size(l->tokens);
    l->spellings = (struct sl_parameter){.rows = 1, .cols = vocab * SL_SPELLING_FLOATS};
    l->spellings.data = calloc((size_t)l->spellings.cols, sizeof *l->spellings.data);
    if (!l->spellings.data)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the spelling of %d tokens", vocab);
    for (int32_t id = 0; id < vocab; id++)
        spell(l->tokens, id, l->spellings.data + (size_t)id * SL_SPELLING_FLOATS);
    l->parts.spellings = &l->spellings;
    return true;
}

/* Special tokens do not count; others as the base says, or all the same. */
static void set_weights(struct sl_bag_of_words *m, const struct sl_tokenizer *tokens)
{
    for (int32_t id = 0; m->token_weights && id < m->token_weights->cols; id++)
        for (int view = 0; view < SL_BAG_VIEWS; view++)
            if (is_special(tokens, id))
                m->token_weights->data[view * m->token_weights->cols + id] = 0.0f;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct sl_config config_of(const struct sl_tokenizer *tokens, int width, int embedding_width)
{
    struct sl_config config;
    sl_config_set_defaults(sl_arch_find("linear"), &config);
    config.task = SL_TASK_PRETRAINING;
    config.vocab = sl_tokenizer_size(tokens);
    config.padding_token = 1 + sl_tokenizer_special(tokens, SL_SPECIAL_PAD);
    config.width = width;
    config.embedding_width = embedding_width;
    return config;
}

/* Without word vectors yet: they are copied, or read. */
static struct sl_model *base_create(struct sl_engine *engine, const struct sl_tokenizer *tokens,
                                    int width, int embedding_width, struct sl_err *err)
{
    struct sl_config config = config_of(tokens, width, embedding_width);
    const struct sl_arch *arch = sl_arch_find("linear");
    struct sl_model *base =
        sl_config_check(arch, &config, err) ? sl_model_create(engine, arch, &config, err) : NULL;
    if (base) {
        const struct sl_bag_of_words *m = base->self;
        for (size_t i = 0; m->token_weights && i < sl_parameter_floats(m->token_weights); i++)
            m->token_weights->data[i] = 1.0f;
        set_roles(base->self, tokens);
    }
    return base;
}

static bool open_base(struct sl_linear_training *l, const char *directory, struct sl_err *err)
{
    struct sl_checkpoint start;
    if (!sl_checkpoint_open(&start, directory, err))
        return false;
    l->tokens = start.tokens;
    start.tokens = NULL;
    l->base = base_create(l->engine, l->tokens, start.model_config.hyper.width, 0, err);
    bool ok = l->base && (sl_checkpoint_load_matching(&start, l->base->state_dict,
                                                      l->base->state_dict_count, err) ||
                          sl_wrap(err, "begin from '%s'", directory));
    sl_checkpoint_close(&start);
    if (ok) {
        set_roles(l->base->self, l->tokens);
        set_weights(l->base->self, l->tokens);
    }
    return ok;
}

static bool open_texts(struct sl_linear_training *l, const struct sl_data_sources *s,
                       struct sl_err *err)
{
    struct sl_labels listed = {0};
    bool ok = (!s->labels || sl_labels_read(&listed, s->labels, err)) &&
              sl_dataset_open(&l->set, s->data, &s->columns, s->labels ? &listed : NULL, err);
    sl_labels_release(&listed);
    return ok;
}

/* The search keeps dozens of numbers for each text and label. */
static bool check_size(const struct sl_dataset *set, struct sl_err *err)
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
    l->base = base_create(l->engine, l->tokens, 0, 0, err);
    return l->base;
}

/* Counts the tokens of a text that the vocabulary does not know, and all. */
static bool count_unknown(const struct sl_linear_training *l, int text, int32_t *ids,
                          long counts[2], struct sl_err *err)
{
    struct sl_encoding job = {.unknown = SL_UNKNOWN_REPLACE, .ids = ids, .capacity = SAMPLE_TOKENS};
    job.text = sl_dataset_text(&l->set, text, &job.bytes);
    long count = sl_tokenizer_tokenize(l->tokens, &job, err);
    for (long i = 0; i < count && i < SAMPLE_TOKENS; i++)
        counts[0] += ids[i] == l->tokens->special[SL_SPECIAL_UNKNOWN];
    counts[1] += count < SAMPLE_TOKENS ? count : SAMPLE_TOKENS;
    return count >= 0;
}

/* A base knows its language only: where it does not know every twentieth token, it is not used. */
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
    l->base = NULL;
    l->tokens = NULL;
    return true;
}

bool sl_linear_training_open(struct sl_linear_training *l,
                             const struct sl_linear_training_options *options, struct sl_err *err)
{
    *l = (struct sl_linear_training){.engine = options->engine, .seconds = options->seconds};
    const struct sl_data_sources *s = &options->sources;
    bool ok = open_texts(l, s, err) && check_size(&l->set, err) &&
              (!options->base || open_base(l, options->base, err)) && drop_foreign_base(l, err) &&
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

/* ---- the final fit --------------------------------------------------------------------------- */

static bool set_hyper(struct sl_config *config, const char *name, double value, struct sl_err *err)
{
    return sl_param_set(sl_param_find(sl_arch_find("linear")->hypers, name), config, value, err);
}

/* The table is half full, so that an n-gram finds a row near its own. */
static bool set_config(struct sl_config *config, const struct sl_linear_training *l,
                       const struct sl_linear_recipe *recipe, const float *idf, struct sl_err *err)
{
    int ngrams = 0;
    for (int i = 0; i < l->features.ngrams && recipe->sparse_c > 0.0f; i++)
        ngrams += idf[i] > 0.0f;
    if (ngrams == 0 && recipe->dense_c <= 0.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s': the texts have no words that distinguish the labels", l->set.path);
    *config = l->base->config;
    config->task = SL_TASK_CLASSIFICATION;
    config->classes = l->set.labels.count;
    config->multi_label = l->set.multi_label;
    config->width = recipe->dense_c > 0.0f ? config->width : 0;
    return set_hyper(config, "ngram_rows", 2.0 * ngrams, err) &&
           set_hyper(config, "ngram_order", recipe->ngrams.order, err) &&
           set_hyper(config, "score_exponent", l->search.calibration.exponent, err) &&
           set_hyper(config, "character_ngrams", recipe->ngrams.characters && ngrams > 0, err) &&
           sl_config_check(l->base->arch, config, err);
}

static void copy(struct sl_parameter *to, const struct sl_parameter *from)
{
    if (to && from)
        memcpy(to->data, from->data, sl_parameter_floats(to) * sizeof *to->data);
}

/* Rows of the table for the n-grams; an n-gram for which there is none is left out. */
static void set_ngrams(struct sl_bag_of_words *m, const struct sl_text_features *f,
                       const float *idf, const float *weights, float scale)
{
    const int classes = m->bias->cols;
    if (!m->keys)
        return;
    memset(m->idf->data, 0, sl_parameter_floats(m->idf) * sizeof *m->idf->data);
    for (int i = 0; i < f->ngrams; i++) {
        int row = idf[i] > 0.0f ? sl_ngram_insert(m->keys, f->hash[i]) : -1;
        if (row < 0)
            continue;
        m->idf->data[row] = idf[i];
        for (int c = 0; c < classes; c++)
            m->ngram_weights->data[(size_t)row * (size_t)classes + (size_t)c] =
                scale * weights[(size_t)i * (size_t)classes + (size_t)c];
    }
}

static bool set_labels(struct sl_model *model, const struct sl_labels *labels, struct sl_err *err)
{
    model->labels = calloc((size_t)labels->count, sizeof *model->labels);
    bool ok = model->labels;
    for (int i = 0; ok && i < labels->count; i++)
        ok = (model->labels[i] = strdup(labels->list[i].name)) != NULL;
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for labels");
}

/* Dividing all weights by the temperature divides the scores by it; the bias shifts them. */
static bool set_model(struct sl_linear_training *l, const struct sl_logistic_weights *w,
                      const float *idf, struct sl_err *err)
{
    const struct sl_linear_trial *trial = &l->search.trials[l->search.best];
    struct sl_config config;
    if (!set_config(&config, l, &trial->recipe, idf, err))
        return false;
    l->model = sl_model_create(l->engine, l->base->arch, &config, err);
    if (!l->model)
        return false;
    struct sl_bag_of_words *m = l->model->self; /* all of it is set below */
    const struct sl_bag_of_words *base = l->base->self;
    const struct sl_calibration *calibration = &l->search.calibration;
    const float scale = (float)(1.0 / calibration->temperature);
    copy(m->roles, base->roles);
    copy(m->spellings, l->parts.spellings);
    copy(m->vectors, base->vectors);
    copy(m->token_weights, base->token_weights);
    for (int c = 0; c < config.classes; c++)
        m->bias->data[c] = scale * w->bias[c] + (float)calibration->shift;
    if (m->vectors)
        for (size_t i = 0; i < sl_parameter_floats(m->classify.weight); i++)
            m->classify.weight->data[i] = scale * w->dense[i];
    set_ngrams(m, &l->features, idf, w->sparse, scale);
    sl_model_pack(l->model);
    return set_labels(l->model, &l->set.labels, err);
}

static bool fit(struct sl_linear_training *l, struct sl_linear_problem *q, struct sl_err *err)
{
    struct sl_logistic_weights w;
    q->p.tolerance = final_tolerance;
    if (!sl_logistic_weights_open(&w, &q->p, err))
        return false;
    bool ok = sl_logistic_fit(&q->p, &w, err) && set_model(l, &w, q->idf, err);
    sl_logistic_weights_close(&w);
    return ok;
}

static bool fit_to(struct sl_linear_training *l, int32_t *rows, struct sl_err *err)
{
    struct sl_linear_problem q;
    const struct sl_linear_texts texts = {.kernels = l->engine->kernels,
                                          .features = &l->features,
                                          .labels = &l->set.label_lists,
                                          .classes = l->set.labels.count,
                                          .rows = rows,
                                          .count = l->features.texts};
    for (int i = 0; i < texts.count; i++)
        rows[i] = i;
    bool ok = sl_linear_problem_open(&q, &texts, &l->search.trials[l->search.best].recipe, err);
    ok = ok && fit(l, &q, err);
    sl_linear_problem_close(&q);
    return ok;
}

static bool fit_all(struct sl_linear_training *l, struct sl_err *err)
{
    const size_t texts = (size_t)l->features.texts;
    int32_t *rows = malloc(texts * sizeof *rows);
    bool ok = rows ? fit_to(l, rows, err)
                   : sl_fail(err, SL_NO_MEMORY, "no memory to fit %zu texts", texts);
    free(rows);
    return ok;
}

bool sl_linear_training_run(struct sl_linear_training *l,
                            void (*report)(void *context, const struct sl_linear_search *search),
                            void *context, struct sl_err *err)
{
    const struct sl_linear_search_options options = {.engine = l->engine,
                                                     .features = &l->features,
                                                     .set = &l->set,
                                                     .seconds = l->seconds,
                                                     .report = report,
                                                     .context = context};
    const int order = sl_linear_order(l->set.count);
    return sl_text_features_open(&l->features, l->engine, &l->parts, order, &l->set, err) &&
           sl_linear_search_run(&l->search, &options, err) && fit_all(l, err);
}

/* ---- publishing ------------------------------------------------------------------------------ */

static bool write_model(const char *directory, const struct sl_model *model,
                        const struct sl_tokenizer *tokens, const char *training, struct sl_err *err)
{
    char *copy_of = strdup(training);
    struct sl_model_config config = {.arch = model->arch,
                                     .hyper = model->config,
                                     .policy = sl_policy_defaults(model->arch),
                                     .labels = model->labels,
                                     .tokenizer = sl_tokenizer_kind(tokens),
                                     .training = copy_of};
    struct sl_checkpoint_parts parts = {.model_config = &config,
                                        .tokens = tokens,
                                        .parameters = model->state_dict,
                                        .count = model->state_dict_count,
                                        .bf16 = true};
    bool ok = copy_of ? sl_checkpoint_write(directory, &parts, err)
                      : sl_fail(err, SL_NO_MEMORY, "no memory for a provenance");
    free(copy_of);
    return ok || sl_wrap(err, "publish");
}

bool sl_linear_training_publish(const struct sl_linear_training *l, const char *directory,
                                const char *training, struct sl_err *err)
{
    return write_model(directory, l->model, l->tokens, training, err);
}

/* ---- a base ---------------------------------------------------------------------------------- */

/* Two means of the word vectors: frequent words count less in both, and hardly in the first. */
static const double inverse_frequency[SL_BAG_VIEWS] = {1e-4, SL_SIF_SMOOTHING};

static bool set_frequencies(struct sl_bag_of_words *m, const struct sl_documents *documents,
                            struct sl_err *err)
{
    const int vocab = m->token_weights->cols;
    int64_t *times = calloc((size_t)vocab, sizeof *times);
    if (!times)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the frequencies of %d tokens", vocab);
    sl_documents_count(documents, vocab, times);
    for (int view = 0; view < SL_BAG_VIEWS; view++)
        sl_document_weights(times, documents->count, vocab, inverse_frequency[view],
                            m->token_weights->data + view * vocab);
    free(times);
    return true;
}

bool sl_linear_base_write(const char *directory, const struct sl_linear_base_options *o,
                          struct sl_err *err)
{
    struct sl_model *base = base_create(o->engine, o->tokens, o->width, o->embedding_width, err);
    struct sl_bag_of_words *m = base ? base->self : NULL;
    if (m) {
        sl_model_initialize(base, 0); /* tokens without a vector get a random one */
        set_roles(m, o->tokens);
    }
    bool ok = m && sl_word_vectors_apply(o->vectors, o->tokens, m->vectors, err) &&
              set_frequencies(m, o->documents, err);
    if (ok)
        set_weights(m, o->tokens);
    ok = ok && write_model(directory, base, o->tokens, "{}", err);
    sl_model_close(base);
    return ok;
}
