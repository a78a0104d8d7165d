/* label_response.c - the labels of texts as JSON. */
#include "api/label_response.h"
#include "api/classification_result.h"
#include "api/explain_request.h"
#include "api/model_abilities.h"
#include "api/token_depths.h"

#include <stdlib.h>

/* One text's scores, highest first; that one may be explained, and has the depths of tokens. */
static void add_scores(struct sl_json_writer *json, const struct sv_classification *c, int index,
                       const struct sv_label_format *format, struct sv_score *ranked, float *values)
{
    bool is_limited = format->top_k > 0 && format->top_k < c->classes;
    int count = is_limited ? (int)format->top_k : c->classes;
    if (sv_classification_is_blank(c, index))
        count = 0;
    sv_scores_from_logits(c->ref->model, c->task.items[index].logits, format->function, values);
    sv_scores_rank(values, c->classes, ranked);
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++) {
        sl_json_begin_object(json);
        sv_score_write(&ranked[i], c->labels, json);
        const bool is_first = ranked[i].class == sv_explained_label(c, index);
        if (c->explanations && is_first)
            sv_explain_write(sl_json_key(json, "words"), c, index);
        if (c->input.depths && is_first)
            sv_depths_write(sl_json_key(json, "tokens"), c, index);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}

void sv_labels_add(struct sl_json_writer *json, const struct sv_classification *c,
                   const struct sv_label_format *format, bool nested)
{
    struct sv_score *ranked = calloc((size_t)c->classes, sizeof *ranked);
    float *values = calloc((size_t)c->classes, sizeof *values);
    json->out->failed = json->out->failed || !ranked || !values;
    if (nested)
        sl_json_begin_array(json);
    for (int i = 0; i < c->texts && ranked && values; i++)
        add_scores(json, c, i, format, ranked, values);
    if (nested)
        sl_json_end_array(json);
    free(ranked);
    free(values);
}

/* Explanations and depths are of labels, and of the words and tokens of one text. */
static bool check_extra(const struct sv_classification *c, struct sv_error *error)
{
    const bool oip = c->request->api == SV_API_OIP;
    const char *name = c->input.explain > 0 ? oip ? "parameters.explain" : "sluice.explain"
                       : oip                ? "tokens"
                                            : "sluice.depth";
    if (c->input.explain == 0 && !c->input.depths)
        return true;
    if (!sv_model_can(sl_model_info(c->ref->model), SV_CLASSIFIES))
        return sv_fail(error, SV_INVALID_VALUE, name, "'%s' is for classifiers of texts; %s.", name,
                       sv_model_use(sl_model_info(c->ref->model)));
    return !c->input.texts.pairs ||
           sv_fail(error, SV_INVALID_VALUE, name,
                   "'%s' is for single texts, not for pairs; leave it out.", name);
}

bool sv_labels_check(const struct sv_classification *c, const char *advice, struct sv_error *error)
{
    const struct sv_texts *texts = &c->input.texts;
    char param[SV_PARAM_MAX];
    int i = 0;
    if (!texts->pairs || sl_model_info(c->ref->model)->takes_pairs)
        return check_extra(c, error);
    while (!sv_texts_pair(texts, i))
        i++;
    sv_param_name(c->format->texts_field, texts->is_array, i, param);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' is a pair of texts, and '%s' does not take pairs.%s", param, c->ref->id,
                   advice);
}
