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

bool sl_initial_values_set(struct sl_model *model, const struct sl_train_options *training,
                           const struct sl_tokenizer *tokens, const struct sl_checkpoint *start,
                           struct sl_err *err)
{
    sl_model_initialize(model, (uint64_t)training->hyperparameters.seed);
    if (training->vectors && !apply_vectors(model, training->vectors, tokens, err))
        return false;
    return !start ||
           sl_checkpoint_load_matching(start, model->state_dict, model->state_dict_count, err) ||
           sl_wrap(err, "begin from '%s' with the sizes given here", training->init_from);
}
