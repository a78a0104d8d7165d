/* operating_point_list.c - the operating points of a model, as text and as JSON. */
#include "cli/operating_point_list.h"

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

void operating_points_write(struct sl_json_writer *json, const struct sl_model *m,
                            const struct sl_operating_point *points, int count)
{
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++) {
        const struct sl_operating_point *point = &points[i];
        sl_json_add(json, "{'budget':%f,%s:%f,'loss':%f,'accuracy':%f,'layer_ops_skipped':%f}",
                    point->budget, m->arch->threshold, point->threshold, point->loss,
                    point->accuracy, point->layer_ops_skipped);
    }
    sl_json_end_array(json);
}
