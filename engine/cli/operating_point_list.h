/* operating_point_list.h - the operating points of a model, as text and as JSON. */
#pragma once

#include "model/model.h"

struct json_t;

/* A table with a line of headings. */
void operating_points_print(const struct sl_model *m, const struct sl_operating_point *points,
                            int count);
/* An array; NULL: no memory. */
struct json_t *operating_points_json(const struct sl_model *m,
                                     const struct sl_operating_point *points, int count);
