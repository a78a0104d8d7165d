/* point_policies.c - policies of a model that differ in their threshold, and the choice of one. */
#include "model/model.h"

#include <assert.h>

bool sl_threshold_at(int index, struct sl_threshold *threshold)
{
    for (int i = 0; sl_arch_at(i); i++) {
        const struct sl_arch *arch = sl_arch_at(i);
        *threshold = (struct sl_threshold){arch->name, arch->threshold};
        if (arch->threshold && index-- == 0)
            return true;
    }
    return false;
}

struct sl_policy sl_model_policy_at(const struct sl_model *m, double threshold)
{
    struct sl_policy policy = m->policy;
    const struct sl_param *row = sl_policy_threshold(m->arch);
    assert(row);
    bool is_set = sl_param_set(row, policy.own, threshold, NULL);
    assert(is_set);
    (void)is_set;
    return policy;
}

void sl_model_set_operating_points(struct sl_model *m, const struct sl_operating_point *points,
                                   int count)
{
    assert(count <= SL_OPERATING_POINTS_MAX);
    m->operating_point_count = count;
    for (int i = 0; i < count; i++) {
        m->operating_points[i] = points[i];
        m->point_policies[i] = sl_model_policy_at(m, points[i].threshold);
    }
}

const struct sl_policy *sl_model_point_policy(const struct sl_model *m, int number)
{
    assert(number >= 0);
    assert(number <= m->operating_point_count);
    return number > 0 ? &m->point_policies[number - 1] : NULL;
}

int sl_model_operating_point(const struct sl_model *model, double budget)
{
    for (int i = 0; i < model->operating_point_count; i++)
        if (model->operating_points[i].budget <= budget)
            return i + 1;
    return 0;
}
