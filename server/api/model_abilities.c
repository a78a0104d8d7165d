/* model_abilities.c - what a model can be requested for, and how. */
#include "api/model_abilities.h"

#include <string.h>
#include <strings.h>

static bool completes(const struct sl_model_info *info)
{
    return info->task == SL_TASK_COMPLETION;
}

static bool translates(const struct sl_model_info *info)
{
    return info->task == SL_TASK_TRANSLATION;
}

static bool ranks(const struct sl_model_info *info)
{
    return info->takes_pairs && info->classes == 1;
}

static bool classifies(const struct sl_model_info *info)
{
    return info->task == SL_TASK_CLASSIFICATION;
}

int sv_entailment_label(const struct sl_model_info *info)
{
    static const char begin[] = "entail";
    for (int i = 0; i < info->classes; i++)
        if (strncasecmp(info->labels[i], begin, strlen(begin)) == 0)
            return i;
    return -1;
}

static bool entails(const struct sl_model_info *info)
{
    return info->takes_pairs && sv_entailment_label(info) >= 0;
}

static bool classifies_tokens(const struct sl_model_info *info)
{
    return info->task == SL_TASK_TOKEN_CLASSIFICATION;
}

static bool embeds(const struct sl_model_info *info)
{
    return info->dimensions > 0;
}

static bool fills_masks(const struct sl_model_info *info)
{
    return info->output_size[SL_OUTPUT_MASKED] > 0;
}

static bool embeds_sparsely(const struct sl_model_info *info)
{
    return info->output_size[SL_OUTPUT_SPARSE] > 0;
}

static bool embeds_tokens(const struct sl_model_info *info)
{
    return embeds(info) && info->output_size[SL_OUTPUT_TOKENS] > 0;
}

static const struct {
    const char *name;
    bool (*has)(const struct sl_model_info *info);
    const char *use;
} abilities[SV_ABILITIES] = {
    [SV_COMPLETES] = {"completion", completes,
                      "it completes texts: use /v1/completions or `sluicectl complete`"},
    [SV_TRANSLATES] = {"translation", translates,
                       "it translates texts: use /v1/completions or `sluicectl translate`"},
    [SV_RANKS] = {"reranking", ranks,
                  "it ranks texts by a query: use /rerank or `sluicectl rerank`"},
    [SV_CLASSIFIES] = {"classification", classifies,
                       "it classifies texts: use /predict or `sluicectl classify`"},
    [SV_ENTAILS] = {"zero_shot_classification", entails,
                    "it classifies by entailment: use /hf/{name}"},
    [SV_CLASSIFIES_TOKENS] = {"token_classification", classifies_tokens,
                              "it classifies tokens: use /hf/{name} or `sluicectl classify`"},
    [SV_EMBEDS] = {"embedding", embeds,
                   "it gives embeddings: use /v1/embeddings or `sluicectl embed`"},
    [SV_FILLS_MASKS] = {"fill_mask", fills_masks,
                        "it predicts masked tokens: use /hf/{name} or `sluicectl fill-mask`"},
    [SV_EMBEDS_SPARSELY] =
        {"sparse_embedding", embeds_sparsely,
         "it gives sparse embeddings: use /embed_sparse or `sluicectl embed --sparse`"},
    [SV_EMBEDS_TOKENS] = {"token_embedding", embeds_tokens,
                          "it gives embeddings of tokens: use /embed_all"},
};

bool sv_model_can(const struct sl_model_info *info, enum sv_ability ability)
{
    return abilities[ability].has(info);
}

void sv_model_write_abilities(struct sl_json_writer *json, const struct sl_model_info *info)
{
    sl_json_begin_array(json);
    for (int i = 0; i < SV_ABILITIES; i++)
        if (abilities[i].has(info))
            sl_json_add_string(json, abilities[i].name);
    sl_json_end_array(json);
}

enum sv_ability sv_model_main_ability(const struct sl_model_info *info)
{
    int ability = 0;
    while (ability < SV_ABILITIES && !abilities[ability].has(info))
        ability++;
    return (enum sv_ability)ability;
}

const char *sv_model_use(const struct sl_model_info *info)
{
    const enum sv_ability main = sv_model_main_ability(info);
    return main < SV_ABILITIES ? abilities[main].use : "it is for training";
}
