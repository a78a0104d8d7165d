/* model_info.c - what a model is, in the words of the public header. */
#include "model/model.h"

#include "base/comma_list.h"
#include "tokenizer/tokenizer.h"

#include <limits.h>

int64_t sl_model_parameter_count(const struct sl_model *m)
{
    int64_t total = 0;
    for (int i = 0; i < m->builder.count; i++)
        total += (int64_t)sl_parameter_floats(&m->builder.parameters[i]);
    return total;
}

static bool embeds(const struct sl_model *m)
{
    return m->config.task == SL_TASK_PRETRAINING && m->arch->embeds && m->config.width > 0;
}

static int embedding_size(const struct sl_model *m)
{
    const struct sl_config *c = &m->config;
    if (m->arch->embedding_size)
        return m->arch->embedding_size(c);
    return c->embedding_width > 0 ? c->embedding_width : c->width;
}

static const char *pooling_of(const struct sl_model *m)
{
    const int pooling = m->config.pooling;
    return pooling == SL_POOLING_MEAN ? m->arch->embeds : sl_pooling_names[pooling];
}

/* Every token of two texts must have a type that the model has. */
static bool takes_pairs(const struct sl_model *m)
{
    return m->config.task == SL_TASK_CLASSIFICATION && m->arch->takes_pairs && m->tokenizer &&
           (m->builder.token_types < 2 ||
            sl_tokenizer_types(m->tokenizer) <= m->builder.token_types);
}

static int text_output_size(const struct sl_model *m)
{
    if (embeds(m))
        return embedding_size(m);
    return m->config.task == SL_TASK_CLASSIFICATION ? m->config.classes : 0;
}

static int token_output_size(const struct sl_model *m)
{
    if (m->config.task == SL_TASK_TOKEN_CLASSIFICATION)
        return m->config.classes;
    return embeds(m) && m->arch->embeds_tokens ? m->config.width : 0;
}

/* Of each token's logits; by_mask: where the vocabulary has a mask. */
static int vocabulary_size(const struct sl_model *m, bool by_mask)
{
    const bool predicts = m->arch->predicts_tokens && m->arch->predicts_tokens(&m->config);
    const bool masks = m->tokenizer && sl_tokenizer_special(m->tokenizer, SL_SPECIAL_MASK) >= 0;
    return predicts && (masks || !by_mask) ? m->config.vocab : 0;
}

static int routes_of(const struct sl_model *m)
{
    if (!m->arch->routes_to)
        return 0;
    return m->arch->routes ? m->arch->routes(&m->config) : m->config.depth;
}

void sl_model_describe(struct sl_model *m)
{
    m->info = (struct sl_model_info){
        .architecture = m->arch->name,
        .paper = m->arch->paper,
        .sha256 = m->sha256,
        .precision = sl_precision_of(m->kernels, m->int8),
        .task = m->config.task,
        .output_size = {[SL_OUTPUT_TEXT] = text_output_size(m),
                        [SL_OUTPUT_TOKENS] = token_output_size(m),
                        [SL_OUTPUT_MASKED] = vocabulary_size(m, true),
                        [SL_OUTPUT_SPARSE] = vocabulary_size(m, false)},
        .classes = m->config.classes,
        .multi_label = m->config.multi_label,
        .problem_type = m->config.task == SL_TASK_CLASSIFICATION
                            ? sl_problem_types[m->config.multi_label]
                            : NULL,
        .labels = (const char *const *)m->labels,
        .dimensions = embeds(m) ? embedding_size(m) : 0,
        .explains = m->arch->explain && m->config.task == SL_TASK_CLASSIFICATION,
        .takes_pairs = takes_pairs(m),
        .base = m->base,
        .pooling = embeds(m) ? pooling_of(m) : NULL,
        .generates = sl_task_generates(m->config.task),
        .context = m->config.context_length,
        .vocab = m->config.vocab,
        .depth = m->config.depth,
        .width = m->config.width,
        .routes_to = m->arch->routes_to,
        .routes = routes_of(m),
        .parameters = sl_model_parameter_count(m),
        .buffers = sl_stored_floats(&m->builder, !m->base),
        .created = m->created,
        .training = m->training,
        .chat_template = m->chat.template ? m->chat.template->name : NULL,
        .prompts = m->prompts.list,
        .prompt_count = m->prompts.count,
        .default_prompt = m->prompts.default_prompt,
        .gate = m->arch->skipping ? m->arch->skipping(&m->policy) : "none",
        .operating_points = m->operating_points,
        .operating_point_count = m->operating_point_count,
        .threshold = m->arch->threshold};
}

const struct sl_model_info *sl_model_info(const struct sl_model *m)
{
    return &m->info;
}

const struct sl_prompt *sl_model_prompt(const struct sl_model_info *info, const char *name,
                                        struct sl_err *err)
{
    char list[256] = "";
    const struct sl_prompt *prompt = sl_prompt_find(info->prompts, info->prompt_count, name);
    for (int i = 0; !prompt && i < info->prompt_count; i++)
        sl_list_add_quoted(list, sizeof list, info->prompts[i].name);
    if (!prompt)
        (void)(info->prompt_count > 0
                   ? sl_fail(err, SL_NOT_FOUND, "no prompt is named '%.64s': expected one of: %s",
                             name, list)
                   : sl_fail(err, SL_NOT_FOUND, "no prompt is named '%.64s': the model has none",
                             name));
    return prompt;
}

int sl_model_rows_max(const struct sl_model_info *info, enum sl_output output)
{
    enum { FLOATS = 1 << 23 };

    const bool is_long = output == SL_OUTPUT_MASKED || output == SL_OUTPUT_SPARSE;
    if (!is_long || info->vocab == 0)
        return INT_MAX;
    return info->vocab < FLOATS ? FLOATS / info->vocab : 1;
}

enum sl_output sl_model_main_output(const struct sl_model_info *info)
{
    int output = 0;
    while (output < SL_OUTPUTS && info->output_size[output] == 0)
        output++;
    return (enum sl_output)output;
}

const struct sl_tokenizer *sl_model_tokenizer(const struct sl_model *m)
{
    return m->tokenizer;
}
