/* model_abilities.c - what a model can be requested for, and how. */
#include "api/model_abilities.h"

static bool completes(const struct sl_model_info *info)
{
    return info->task == SL_TASK_COMPLETION;
}

static bool ranks(const struct sl_model_info *info)
{
    return info->takes_pairs && info->classes == 1;
}

static bool classifies(const struct sl_model_info *info)
{
    return info->task == SL_TASK_CLASSIFICATION;
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

static const struct {
    bool (*has)(const struct sl_model_info *info);
    const char *use;
} abilities[SV_ABILITIES] = {
    [SV_COMPLETES] = {completes, "it completes texts: use /v1/completions or `sluicectl complete`"},
    [SV_RANKS] = {ranks, "it ranks texts by a query: use /rerank or `sluicectl rerank`"},
    [SV_CLASSIFIES] = {classifies, "it classifies texts: use /predict or `sluicectl classify`"},
    [SV_CLASSIFIES_TOKENS] = {classifies_tokens,
                              "it classifies tokens: use /hf/{name} or `sluicectl classify`"},
    [SV_EMBEDS] = {embeds, "it gives embeddings: use /v1/embeddings or `sluicectl embed`"},
    [SV_FILLS_MASKS] = {fills_masks, "it predicts masked tokens: use /hf/{name}"},
    [SV_EMBEDS_SPARSELY] = {embeds_sparsely, "it gives sparse embeddings: use /embed_sparse"},
};

bool sv_model_can(const struct sl_model_info *info, enum sv_ability ability)
{
    return abilities[ability].has(info);
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
