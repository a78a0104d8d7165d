/* linear_base.c - makes, opens and writes bases. */
#include "linear/linear_base.h"

#include "arch/linear/linear_classifier.h"
#include "checkpoint/checkpoint.h"
#include "linear/linear_tokens.h"
#include "vectors/document_vectors.h"
#include "vectors/word_vectors.h"

#include <stdlib.h>
#include <string.h>

struct sl_bag_of_words *sl_linear_model_parts(const struct sl_model *model)
{
    return sl_linear_parts(model->arch, model->self);
}

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

struct sl_model *sl_linear_base_create(struct sl_engine *engine, const struct sl_tokenizer *tokens,
                                       int width, int embedding_width, struct sl_err *err)
{
    struct sl_config config = config_of(tokens, width, embedding_width);
    const struct sl_arch *arch = sl_arch_find("linear");
    struct sl_model *base =
        sl_config_check(arch, &config, err) ? sl_model_create(engine, arch, &config, err) : NULL;
    if (base) {
        struct sl_bag_of_words *m = sl_linear_model_parts(base);
        for (size_t i = 0; m->token_weights && i < sl_parameter_floats(m->token_weights); i++)
            m->token_weights->data[i] = 1.0f;
        sl_linear_tokens_set_roles(m, tokens);
    }
    return base;
}

static bool load(struct sl_model *base, const struct sl_checkpoint *from,
                 const struct sl_tokenizer *tokens, struct sl_err *err)
{
    if (!sl_checkpoint_load_matching(from, base->state_dict, base->state_dict_count, err))
        return false;
    sl_linear_tokens_set_roles(sl_linear_model_parts(base), tokens);
    sl_linear_tokens_drop_special(sl_linear_model_parts(base), tokens);
    return true;
}

/* Models refer to bases alone: others are replaced and removed without a thought of these. */
static struct sl_base_reference origin_of(const struct sl_checkpoint *from, const char *directory)
{
    struct sl_base_reference origin = from->model_config.base;
    const bool is_base = from->model_config.hyper.task == SL_TASK_PRETRAINING &&
                         from->model_config.arch == sl_arch_find("linear");
    if (is_base && sl_base_name(origin.model, directory))
        memcpy(origin.sha256, from->sha256, sizeof origin.sha256);
    return origin;
}

struct sl_model *sl_linear_base_open(struct sl_engine *engine, const char *directory,
                                     struct sl_tokenizer **tokens, struct sl_base_reference *origin,
                                     struct sl_err *err)
{
    struct sl_checkpoint from;
    if (!sl_checkpoint_open(&from, directory, err))
        return NULL;
    struct sl_model *base =
        sl_linear_base_create(engine, from.tokens, from.model_config.hyper.width, 0, err);
    if (base && !load(base, &from, from.tokens, err)) {
        (void)(sl_err_set_path(err, directory) || sl_wrap(err, "begin from '%s'", directory));
        sl_model_close(base);
        base = NULL;
    }
    if (base) {
        *origin = origin_of(&from, directory);
        *tokens = from.tokens;
        from.tokens = NULL;
    }
    sl_checkpoint_close(&from);
    return base;
}

bool sl_linear_model_write(const char *directory, const struct sl_model *model,
                           const struct sl_tokenizer *tokens, const struct sl_publication *how,
                           const struct sl_base_reference *base, struct sl_err *err)
{
    struct sl_model_config config = {.arch = model->arch,
                                     .hyper = model->config,
                                     .policy = model->policy,
                                     .operating_point_count = model->operating_point_count,
                                     .labels = model->labels,
                                     .precision_costs[SL_PRECISION_INT8] = how->int8_loss,
                                     .tokenizer = sl_tokenizer_kind(tokens)};
    if (base)
        config.base = *base;
    memcpy(config.operating_points, model->operating_points, sizeof config.operating_points);
    struct sl_checkpoint_parts parts = {.model_config = &config,
                                        .training = how->training,
                                        .tokens = tokens,
                                        .parameters = model->state_dict,
                                        .count = model->state_dict_count,
                                        .matrices = model->arch->describes_blocks ? SL_DTYPE_I8
                                                                                  : SL_DTYPE_BF16};
    return sl_checkpoint_write(directory, &parts, err) || sl_wrap(err, "publish");
}

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
                            m->token_weights->data + (size_t)view * (size_t)vocab);
    free(times);
    return true;
}

bool sl_linear_base_write(const char *directory, const struct sl_linear_base_options *o,
                          struct sl_err *err)
{
    struct sl_model *base =
        sl_linear_base_create(o->engine, o->tokens, o->width, o->embedding_width, err);
    if (!base)
        return false;
    struct sl_bag_of_words *m = sl_linear_model_parts(base);
    sl_model_initialize(base, 0); /* tokens without a vector get a random one */
    sl_linear_tokens_set_roles(m, o->tokens);
    bool ok = sl_word_vectors_apply(o->vectors, o->tokens, m->vectors, err) &&
              set_frequencies(m, o->documents, err);
    if (ok)
        sl_linear_tokens_drop_special(m, o->tokens);
    ok = ok && sl_linear_model_write(directory, base, o->tokens,
                                     &(struct sl_publication){.training = "{}"}, NULL, err);
    sl_model_close(base);
    return ok;
}
