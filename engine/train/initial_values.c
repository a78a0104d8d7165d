/* initial_values.c - random values, word vectors, and the parameters of a checkpoint. */
#include "train/initial_values.h"

#include "train/word_vectors.h"

#include <stdlib.h>
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

/* Whether class i is the same label in both. */
static bool has_same_labels(const struct sl_model *model, char *const *labels,
                            const struct sl_model_config *start)
{
    if (start->hyper.task != model->config.task || start->hyper.classes != model->config.classes)
        return false;
    for (int i = 0; i < model->config.classes; i++)
        if (strcmp(labels[i], start->labels[i]) != 0)
            return false;
    return true;
}

/* The parameters to take from a model: with other labels not those that stand for labels, which
 * begin anew. Sets *count. To be freed; NULL: see err. */
static struct sl_parameter *parameters_to_load(const struct sl_model *model, char *const *labels,
                                               const struct sl_model_config *start, int *count,
                                               struct sl_err *err)
{
    size_t all = (size_t)model->state_dict_count;
    bool *is_of_classes = calloc(all, sizeof *is_of_classes);
    struct sl_parameter *list = calloc(all, sizeof *list);
    bool is_same = model->config.classes == 0 || has_same_labels(model, labels, start);
    bool ok = is_of_classes && list;
    if (!ok)
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for a list of parameters");
    ok = ok && (is_same || sl_model_find_class_parameters(model, is_of_classes, err));
    *count = 0;
    for (size_t i = 0; ok && i < all; i++)
        if (!is_of_classes[i])
            list[(*count)++] = model->state_dict[i];
    free(is_of_classes);
    if (ok)
        return list;
    free(list);
    return NULL;
}

static bool load(struct sl_model *model, char *const *labels, const struct sl_checkpoint *start,
                 const char *directory, struct sl_err *err)
{
    int count;
    struct sl_parameter *list =
        parameters_to_load(model, labels, &start->model_config, &count, err);
    bool ok = list && (sl_checkpoint_load_matching(start, list, count, err) ||
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
