/* tiny_points.h - operating points for the tiny models. */
#pragma once

enum { TINY_POINTS = 3 };

/* Gives a model of the store, such as "mood/4", operating points with the budgets 1, 0.6 and 0.3,
 * and the policy of its architecture. */
void tiny_points_add(const char *store, const char *version);
