/* model_abilities.c - what a model can be asked for, and how. */
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
};

bool sv_model_can(const struct sl_model_info *info, enum sv_ability ability)
{
    return abilities[ability].has(info);
}

const char *sv_model_use(const struct sl_model_info *info)
{
    for (int i = 0; i < SV_ABILITIES; i++)
        if (abilities[i].has(info))
            return abilities[i].use;
    return "it is for training";
}
