/* initial_values.c - random values, word vectors, and the parameters of a checkpoint. */
#include "train/initial_values.h"

#include "train/word_vectors.h"

#include <string.h>

static const struct sl_parameter *token_table(const struct sl_model *model)
{
    for (int i = 0; i < model->builder.count; i++)
        if (strcmp(model->builder.parameters[i].name, "token_embedding.weight") == 0)
            return &model->builder.parameters[i];
    return NULL;
}

static bool apply_vectors(const struct sl_model *model, const char *path,
                          const struct sl_tokenizer *tokens, struct sl_err *err)
{
    const struct sl_parameter *table = token_table(model);
    return table
               ? sl_word_vectors_apply(path, tokens, table, err)
               : sl_fail(err, SL_BAD_INPUT, "%s has no token embeddings to set", model->arch->name);
}

/* The usual reason why weights do not fit is a size given beside --init-from. */
static bool fail_sizes(const struct sl_model *model, const struct sl_checkpoint *start,
                       const char *directory, struct sl_err *err)
{
    const struct sl_param *row = model->arch->hypers;
    if (start->model_config.arch == model->arch)
        for (; row->name; row++) {
            char there[SL_PARAM_TEXT], here[SL_PARAM_TEXT];
            sl_param_format(row, sl_param_get(row, &start->model_config.hyper), there);
            sl_param_format(row, sl_param_get(row, &model->config), here);
            if (strcmp(there, here) != 0)
                return sl_wrap(err, "%s is %s, but %s in the model '%s'", row->name, here, there,
                               directory);
        }
    return sl_wrap(err, "the weights of '%s' do not fit", directory);
}

bool sl_initial_values_set(struct sl_model *model, const struct sl_train_options *training,
                           const struct sl_tokenizer *tokens, const struct sl_checkpoint *start,
                           struct sl_err *err)
{
    sl_model_initialize(model, (uint64_t)training->hyperparameters.seed);
    if (training->vectors && !apply_vectors(model, training->vectors, tokens, err))
        return false;
    return !start ||
           sl_checkpoint_load_matching(start, model->state_dict, model->state_dict_count, err) ||
           fail_sizes(model, start, training->init_from, err);
}
