/* test_sluice_operating_points.c - `sluice operating-points`: what it measures, writes and
 * rejects. */
#include "arch/arch.h"
#include "support/file_sha256.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

static struct workspace dirs;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_operating_points, .init = setup, .fini = teardown);

/* So deep and wide that nearly all of the time is in the layers that the routers can skip. */
static void make_deep_model(struct program_result *r)
{
    sluice_expect_success(r, ARGS("init", "tsa", "--corpus", dirs.corpus, "--output", dirs.output,
                                  "--width", "64", "--heads", "2", "--depth", "12", "--ffn-width",
                                  "512", "--context-length", "64"));
}

static void expect_config_has(const char *model, const char *key, double value)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/config.json", model);
    json_t *config = json_load_file(path, 0, NULL);
    cr_assert(config, "%s", path);
    cr_assert_float_eq(json_number_at(config, key), value, 1e-6);
    json_decref(config);
}

/* Layers whose skip probability reaches 0 are skipped: all but the first. */
Test(sluice_operating_points, a_copy_of_the_model_gets_the_points)
{
    static struct program_result r;
    char copy[PATH_MAX + 8], before[65], after[65];
    make_deep_model(&r);
    (void)snprintf(copy, sizeof copy, "%s/../2", dirs.output);
    json_t *o = sluice_expect_json(
        &r, ARGS("operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds", "0.9,0",
                 "--max-loss-increase", "100", "--rounds", "5", "--output", copy, "--json"));
    const json_t *points = json_object_get(o, "operating_points");
    size_t count = json_array_size(points);
    cr_assert_geq(count, 2, "%s", r.out);
    cr_assert_eq(json_number_at(points, "0/budget"), 1);
    cr_assert_eq(json_number_at(points, "0/gate_limit"), 1);
    cr_assert_eq(json_number_at(points, "0/layer_ops_skipped"), 0);
    const json_t *last = json_array_get(points, count - 1);
    cr_assert_eq(json_number_at(last, "gate_limit"), 0);
    cr_assert_lt(json_number_at(last, "budget"), 1);
    cr_assert_float_eq(json_number_at(last, "layer_ops_skipped"), 11.0 / 12, 1e-6);
    const double int8_loss = json_number_at(o, "int8_loss_increase");
    cr_assert_neq(int8_loss, 0);
    cr_assert_lt(fabs(int8_loss), 0.1);
    json_decref(o);

    expect_config_has(copy, "int8_loss_increase", int8_loss);
    sluice_expect_success(&r, ARGS("inspect", copy));
    EXPECT_SAID(r.out, "operating points\ngate_limit         budget  loss, nats");
    file_sha256(before, dirs.output, "model.safetensors");
    file_sha256(after, copy, "model.safetensors");
    cr_assert_str_eq(before, after);
    sluice_run(&r, ARGS("operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds",
                        "0", "--max-loss-increase", "100", "--output", copy));
    cr_assert_eq(r.exit_code, 2);
    EXPECT_SAID(r.err, "or replace it with --overwrite");
    sluice_expect_success(&r, ARGS("operating-points", dirs.output, "--corpus", dirs.corpus,
                                   "--thresholds", "0", "--max-loss-increase", "100", "--output",
                                   dirs.output, "--overwrite"));
    EXPECT_SAID(r.out, "gate_limit         budget  loss, nats  layer ops skipped\n1 ");
}

/* Each architecture's, of which no other file has a list. */
Test(sluice_operating_points, help_has_every_serving_option)
{
    static struct program_result r;
    char option[64];
    sluice_expect_success(&r, ARGS("eval", "--help"));
    for (int i = 0; sl_arch_at(i); i++)
        for (const struct sl_param *row = sl_policy_rows(sl_arch_at(i)); row->name; row++) {
            (void)snprintf(option, sizeof option, "--%s", row->name);
            for (char *c = option; *c; c++)
                if (*c == '_')
                    *c = '-';
            EXPECT_SAID(r.out, option);
        }
    sluice_expect_success(&r, ARGS("operating-points", "--help"));
    for (int i = 0; sl_arch_at(i); i++)
        if (sl_arch_at(i)->threshold)
            EXPECT_SAID(r.out, sl_arch_at(i)->threshold);
}

Test(sluice_operating_points, mistakes_are_named)
{
    static struct program_result r;
    char plain[PATH_MAX + 8];
    (void)snprintf(plain, sizeof plain, "%s/../3", dirs.output);
    sluice_make_model(&dirs);
    sluice_expect_success(&r, ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", plain,
                                   "--width", "16", "--heads", "2", "--depth", "1"));
    const struct usage_error errors[] = {
        {{"operating-points"}, 2, "usage", "MODEL-DIR"},
        {{"operating-points", dirs.output}, 2, "missing input", "--corpus FILE"},
        {{"operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds", "0.9,x"},
         2,
         "'x'",
         "expected numbers from 0 to 1, separated by commas"},
        {{"operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds", "0.5,0.9"},
         2,
         "0.9 follows 0.5",
         "less than the one before"},
        {{"operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds", "1"},
         2,
         "1 follows 1",
         "the first less than 1"},
        {{"operating-points", dirs.output, "--corpus", dirs.corpus, "--thresholds", "1.5"},
         2,
         "'1.5'",
         "expected numbers from 0 to 1"},
        {{"operating-points", plain, "--corpus", dirs.corpus},
         2,
         "vanilla models compute all of every token",
         "a threshold: gate_limit (tsa), exit_threshold (early_exit), gate_limit ("},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--halting-threshold", "0.5"},
         2,
         "--halting-threshold has no effect on tsa models",
         ""},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--exit-oracle"},
         2,
         "--exit-oracle needs a value",
         "true or false"}};
    sluice_expect_usage_errors(errors, sizeof errors / sizeof errors[0]);
}
