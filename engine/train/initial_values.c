/* initial_values.c - random values, word vectors, and the parameters of a checkpoint. */
#include "train/initial_values.h"

#include "data/labels.h"
#include "vectors/word_vectors.h"

#include <stdlib.h>
#include <string.h>

static bool apply_vectors(const struct sl_model *model, const char *path,
                          const struct sl_tokenizer *tokens, struct sl_err *err)
{
    const struct sl_parameter *table = sl_builder_find(&model->builder, "token_embedding.weight");
    return table
               ? sl_word_vectors_apply(path, tokens, table, err)
               : sl_fail(err, SL_BAD_INPUT, "%s has no token embeddings to set", model->arch->name);
}

/* The usual reason why weights do not fit is a size given beside --init-from. */
static bool fail_sizes(const struct sl_model *model, const struct sl_checkpoint *start,
                       const char *directory, struct sl_err *err)
{
    const struct sl_param *row = model->arch->hypers;
    (void)sl_err_set_path(err, directory);
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

/* With other labels, what stands for labels begins anew. */
static bool load(struct sl_model *model, char *const *labels, const struct sl_checkpoint *start,
                 const char *directory, struct sl_err *err)
{
    const struct sl_model_config *from = &start->model_config;
    const size_t bytes = (size_t)model->state_dict_count * sizeof(struct sl_parameter);
    struct sl_parameter *list = malloc(bytes);
    int count = model->state_dict_count;
    if (!list)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a list of parameters");
    memcpy(list, model->state_dict, bytes);
    bool is_same =
        model->config.classes == 0 ||
        (from->hyper.task == model->config.task &&
         sl_label_names_equal(from->labels, from->hyper.classes, labels, model->config.classes));
    bool ok = (is_same || sl_model_exclude_class_parameters(model, list, &count, err)) &&
              (sl_checkpoint_load_matching(start, list, count, err) ||
               fail_sizes(model, start, directory, err));
    free(list);
    return ok;
}

bool sl_initial_values_set(struct sl_model *model, const struct sl_train_options *training,
                           const struct sl_tokenizer *tokens, char *const *labels,
                           const struct sl_checkpoint *start, struct sl_err *err)
{
    sl_model_initialize(model, (uint64_t)training->hyperparameters.seed);
    if (training->vectors && !apply_vectors(model, training->vectors, tokens, err))
        return false;
    return !start || load(model, labels, start, training->init_from, err);
}
