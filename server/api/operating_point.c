/* operating_point.c - which operating point of its model a request is computed at. */
#include "api/operating_point.h"

#include "sluice/model.h"

static bool fail_no_points(const struct sl_model_info *info, const char *id, const char *field,
                           const char *param, struct sv_error *error)
{
    return sv_fail(error, SV_UNSUPPORTED_PARAMETER, param,
                   "'%s' needs a model with operating points, and '%s' has none; leave it out%s.",
                   field, id,
                   info->threshold ? ", or measure them with `sluice operating-points`" : "");
}

bool sv_choose_operating_point(const struct sv_request *request, const struct sv_model_ref *ref,
                               const struct sv_budget *budget, struct sv_usage *usage, int *number,
                               struct sv_error *error)
{
    const struct sl_model *model = ref->model;
    const struct sl_model_info *info = sl_model_info(model);
    *number = 0;
    if (!budget || (!budget->is_given && request->budget <= 0))
        return true;
    double value = budget->is_given ? budget->value : request->budget;
    const char *param = budget->is_given ? budget->field : NULL;
    const char *field = param ? param : "X-Sluice-Budget";
    int count = info->operating_point_count;
    if (count == 0)
        return fail_no_points(info, ref->id, field, param, error);
    *number = sl_model_operating_point(model, value);
    if (*number == 0)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "'%s' is %g, and '%s' needs at least %g; %g to 1 are accepted.", field,
                       value, ref->id, info->operating_points[count - 1].budget,
                       info->operating_points[count - 1].budget);
    usage->budget = info->operating_points[*number - 1].budget;
    return true;
}

void sv_add_budget_header(struct sv_request *request, const struct sv_usage *usage)
{
    if (usage->budget > 0)
        sv_request_add_header(request, "x-sluice-budget", "%g", usage->budget);
}
