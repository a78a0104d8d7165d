/* handle_tei_root.c - what the model is for, without naming it in the path, as Text Embeddings
 * Inference has it at /. */
#include "api/classify_request.h"
#include "api/handlers.h"
#include "api/model_abilities.h"
#include "api/tei_formats.h"

static const struct sv_classify_format *format_of(const struct sl_model_info *info)
{
    return sv_model_can(info, SV_RANKS)        ? &sv_tei_rerank
           : sv_model_can(info, SV_CLASSIFIES) ? &sv_tei_predict
                                               : &sv_tei_embed;
}

enum sv_progress sv_handle_tei_root(struct sv_request *request)
{
    static const struct sv_classify_format root = {.wants = SV_WANTS_TEI_MODEL,
                                                   .of_model = format_of};
    return sv_classify(request, &root);
}
