/* linear_classifier.c - a linear classifier of averaged word vectors and TF-IDF n-grams.
 *
 *     v1 = mean of a1 / (a1 + p(t)) E[t]     over the words t of the text, each once
 *     v2 = mean of a2 / (a2 + p(t)) E[t]
 *     u_f = (1 + log tf_f) idf_f                             over its n-grams f of words
 *     c_f = (1 + log tf_f) idf_f                             over its n-grams f of characters
 *     z = W [v1 / |v1|, v2 / |v2|] + U [u / |u|, c / |c|] + b
 *     logits = a log(softplus(z)), or z if a = 0, as it is where a text may have several labels
 *
 * E, a / (a + p) and idf are not trained. Joulin et al. 2017, with the weights of Arora et al. 2017
 * (a1 = 0.0001 and a2 = 0.001 in models/base) and with TF-IDF. */
#include "arch/linear/linear_classifier.h"
#include "arch/arch.h"

struct linear_config {
    int ngram_order;       /* words of the longest n-grams */
    int ngram_rows;        /* of the table of n-grams; 0: none */
    bool character_ngrams; /* whether the table has those of characters, too */
    float score_exponent;  /* a */
};

SL_CONFIG_FITS(struct linear_config);

enum { ROWS_MAX = 1 << 22 };

static struct sl_parameter *build_vectors(struct sl_builder *b, const struct sl_config *c)
{
    return sl_buffer_add(
        b, "token_embedding.weight",
        (struct sl_buffer_shape){.kind = c->shares_vectors ? SL_BUFFER_SHARED : SL_BUFFER_SAVED,
                                 .rows = c->vocab,
                                 .cols = c->width,
                                 .init = sl_normal(0.1f)});
}

static void build_ngrams(struct sl_builder *b, struct sl_bag_of_words *m, const struct sl_config *c)
{
    const struct linear_config *own = sl_config_own(c);
    m->order = own->ngram_order;
    m->score_exponent = own->score_exponent;
    m->bias = sl_parameter_add(b, "bias", SL_ROLE_VECTOR, 1, c->classes, sl_constant(0.0f));
    if (own->ngram_rows > 0)
        sl_ngrams_build(b, m,
                        (struct sl_ngram_shape){.vocab = c->vocab,
                                                .classes = c->classes,
                                                .order = own->ngram_order,
                                                .rows = own->ngram_rows,
                                                .characters = own->character_ngrams});
}

/* A model without classes is a base: word vectors and their weights, for others to begin with and
 * for embeddings. */
static void linear_build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    struct sl_bag_of_words *m = self;
    sl_token_roles_build(b, m, c->vocab);
    if (c->width > 0) {
        m->vectors = build_vectors(b, c);
        m->token_weights = sl_buffer_add(b, "token_weights",
                                         (struct sl_buffer_shape){.kind = SL_BUFFER_SAVED,
                                                                  .rows = SL_BAG_VIEWS,
                                                                  .cols = c->vocab,
                                                                  .init = sl_constant(1.0f)});
    }
    m->embedding_width = c->embedding_width > 0 ? c->embedding_width : c->width;
    if (c->classes == 0)
        return;
    if (c->width > 0) {
        m->classify = sl_linear_build(
            b, "classify",
            (struct sl_linear_shape){.outs = c->classes, .ins = SL_BAG_VIEWS * c->width});
        m->classify.weight->kept = true; /* for explanations */
    }
    build_ngrams(b, m, c);
}

static struct sl_tensor *linear_forward(struct sl_tape *t, const void *self)
{
    const struct sl_bag_of_words *m = self;
    struct sl_tensor *x = NULL;
    if (!m->bias)
        return sl_text_vectors(t, m, sl_embed_tokens, m->embedding_width);
    if (m->vectors)
        x = sl_linear_apply(t, &m->classify,
                            sl_text_vectors(t, m, sl_pool_tokens, SL_BAG_VIEWS * m->vectors->cols),
                            (struct sl_linear_args){0});
    x = sl_add_tfidf_logits(t, x, m);
    return m->score_exponent > 0.0f ? sl_calibrated_logits(t, x, m->score_exponent) : x;
}

static bool linear_check(const struct sl_config *c, struct sl_err *err)
{
    const struct linear_config *own = sl_config_own(c);
    if (c->multi_label && own->score_exponent > 0.0f)
        return sl_fail(err, SL_BAD_INPUT,
                       "score_exponent is %g: expected 0, because labels are independent",
                       (double)own->score_exponent);
    if (c->embedding_width > c->width)
        return sl_fail(err, SL_BAD_INPUT, "embedding_width is %d: expected at most the width, %d",
                       c->embedding_width, c->width);
    return c->width > 0 || own->ngram_rows > 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "width and ngram_rows are both 0; at least one must be above 0");
}

/* Of classifiers: a base has no n-grams. */
#define OWN_ROW(member, min, max, default_value, help)                                             \
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), linear_config, member, SL_INTEGER, min, max,  \
                    default_value, help, NULL, SL_CLASSIFIES)

static const struct sl_param hypers[] = {
    SL_INTEGER_ROW(sl_config, width, 0, 8192, 64, "width of the word vectors; 0: none"),
    SL_PARAM_ROW_AT(0, sl_config, embedding_width, SL_INTEGER, 0, 8192, 0,
                    "bases: the embedding of a text is the first N of the numbers; 0: all", NULL,
                    SL_PRETRAINS),
    SL_INTEGER_ROW(sl_config, context_length, 2, SL_BAG_TOKENS_MAX, 2048,
                   "maximum text length T (tokens)"),
    OWN_ROW(ngram_order, 1, SL_NGRAM_ORDER_MAX, 2, "length of the longest n-grams, in words"),
    OWN_ROW(ngram_rows, 0, ROWS_MAX, 65536, "rows of the table of n-grams; 0: none"),
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), linear_config, character_ngrams, SL_FLAG, 0, 1,
                    0, "n-grams of 4 characters, too", NULL, SL_CLASSIFIES),
    SL_PARAM_ROW_AT(offsetof(struct sl_config, own), linear_config, score_exponent, SL_REAL, 0, 100,
                    0, "probabilities are proportional to softplus(score)^X; 0: to exp(score)",
                    NULL, SL_CLASSIFIES),
    {0}};

const struct sl_arch sl_arch_linear = {
    .name = "linear",
    .paper = "A Simple but Tough-to-Beat Baseline for Sentence Embeddings, 2017",
    .summary = "linear classifier of averaged word vectors and TF-IDF n-grams",
    .hypers = hypers,
    .tasks = SL_CLASSIFIES | SL_PRETRAINS,
    .pretrained_by = "sluice vectors",
    .embeds = "weighted_mean",
    .shares_vectors = true,
    .size = sizeof(struct sl_bag_of_words),
    .explain = sl_linear_explain,
    .check = linear_check,
    .build = linear_build,
    .forward = linear_forward,
};

struct sl_bag_of_words *sl_linear_parts(const struct sl_arch *arch, void *self)
{
    assert(arch == &sl_arch_linear);
    return self;
}
