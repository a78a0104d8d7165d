/* operating_point_list.h - the operating points of a model, as text and as JSON. */
#pragma once

#include "base/json_writer.h"
#include "model/model.h"

/* A table with a line of headings. */
void operating_points_print(const struct sl_model *m, const struct sl_operating_point *points,
                            int count);
/* An array. */
void operating_points_write(struct sl_json_writer *json, const struct sl_model *m,
                            const struct sl_operating_point *points, int count);
