/* operating_point_list.c - the operating points of a model, as text and as JSON. */
#include "cli/operating_point_list.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

void operating_points_print(const struct sl_model *m, const struct sl_operating_point *points,
                            int count)
{
    bool classifier = m->config.task == SL_TASK_CLASSIFICATION;
    printf("%-17s  budget  loss, nats%s  layer ops skipped\n", m->arch->threshold,
           classifier ? "  accuracy" : "");
    for (int i = 0; i < count; i++) {
        printf("%-17g  %6.2f  %10.4f", points[i].threshold, points[i].budget, points[i].loss);
        if (classifier)
            printf("  %6.2f %%", 100 * points[i].accuracy);
        printf("  %15.1f %%\n", 100 * points[i].layer_ops_skipped);
    }
}

json_t *operating_points_json(const struct sl_model *m, const struct sl_operating_point *points,
                              int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        bool known = isfinite(points[i].accuracy);
        (void)json_array_append_new(
            list, json_pack("{s:f, s:f, s:f, s:o, s:f}", "budget", points[i].budget,
                            m->arch->threshold, points[i].threshold, "loss", points[i].loss,
                            "accuracy", known ? json_real(points[i].accuracy) : json_null(),
                            "layer_ops_skipped", points[i].layer_ops_skipped));
    }
    return list;
}
