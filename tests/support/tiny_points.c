/* tiny_points.c - operating points for the tiny models. */
#include "support/tiny_points.h"

#include "checkpoint/checkpoint.h"
#include "support/test.h"

#include <math.h>

void tiny_points_add(const char *store, const char *version)
{
    static const struct sl_operating_point points[TINY_POINTS] = {
        {.budget = 1, .threshold = 1, .loss = 1.5, .accuracy = 0.75},
        {.budget = 0.6, .threshold = 0.5, .loss = 1.625, .accuracy = (double)NAN},
        {.budget = 0.3, .threshold = 0.01, .loss = 2, .layer_ops_skipped = 0.5}};
    char directory[PATH_MAX];
    struct sl_err err;
    struct sl_checkpoint checkpoint;
    (void)test_path(directory, store, version);
    EXPECT_OK(sl_checkpoint_open(&checkpoint, directory, &err), err);
    struct sl_model_config config = checkpoint.model_config;
    config.policy = sl_policy_defaults(config.arch);
    config.operating_point_count = TINY_POINTS;
    memcpy(config.operating_points, points, sizeof points);
    EXPECT_OK(sl_checkpoint_copy(&checkpoint, directory, &config, &err), err);
    sl_checkpoint_close(&checkpoint);
}
