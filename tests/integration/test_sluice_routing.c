/* test_sluice_routing.c - `sluice inspect --routing`: tables, JSON and the page. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static struct workspace w;
static struct program_result r;
static char model[PATH_MAX], text[PATH_MAX], page[PATH_MAX];

static const char words[] = "Ten green bottles\nhanging on the wall\n";

static void setup(void)
{
    sluice_setup(&w);
    test_write_file(w.corpus, words);
    sluice_expect_success(&r, (const char *const[]){"init", "tsa", "--corpus", w.corpus, "--output",
                                                    w.output, "--context-length", "16", "--width",
                                                    "16", "--heads", "2", "--depth", "3",
                                                    "--ffn-width", "24", NULL});
    (void)snprintf(model, sizeof model, "%s", w.output);
    test_path(text, w.top, "text");
    test_write_file(text, words);
}

static void teardown(void)
{
    workspace_remove(&w);
}

TestSuite(sluice_routing, .init = setup, .fini = teardown);

/* The group of that name; a borrowed reference. */
static json_t *group_of(json_t *routing, const char *name)
{
    size_t i;
    json_t *group, *found = NULL;
    json_array_foreach (json_object_get(routing, "groups"), i, group)
        if (strcmp(json_string_value(json_object_get(group, "group")), name) == 0)
            found = group;
    cr_assert(found, "no group %s", name);
    return found;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

Test(sluice_routing, groups_add_up)
{
    json_t *routing =
        sluice_expect_json(&r, (const char *const[]){"inspect", model, "--routing", text, "--gate",
                                                     "soft", "--json", NULL});
    json_t *all = group_of(routing, "all tokens");
    static const char *const classes[] = {"letters", "white space"};
    double tokens = 0.0;
    for (size_t i = 0; i < 2; i++)
        tokens += number_of(group_of(routing, classes[i]), "tokens");
    cr_expect_str_eq(json_string_value(json_object_get(routing, "routes_to")), "block");
    cr_expect_eq(number_of(routing, "tokens"), 38.0);
    cr_expect_eq(number_of(all, "tokens"), 38.0);
    cr_expect_eq(tokens, 38.0);
    cr_expect_eq(number_of(all, "run"), 3.0); /* soft gates skip nothing */
    const json_t *weights = json_object_get(all, "weight_by_part");
    cr_assert_eq(json_array_size(weights), 3);
    double sum = 0.0;
    for (size_t p = 0; p < 3; p++)
        sum += json_number_value(json_array_get(weights, p));
    cr_expect_eq(json_number_value(json_array_get(weights, 0)), 1.0); /* always in full */
    cr_expect(sum > 1.0 && sum < 3.0);
    cr_expect(fabs(sum - number_of(all, "weight")) < 1e-4);
    cr_assert_eq(json_array_size(json_object_get(routing, "most_frequent")), 16);
    json_decref(routing);
}

Test(sluice_routing, thresholds_change_it)
{
    json_t *routing =
        sluice_expect_json(&r, (const char *const[]){"inspect", model, "--routing", text,
                                                     "--gate-limit", "0", "--json", NULL});
    cr_expect_eq(number_of(group_of(routing, "all tokens"), "run"), 1.0);
    json_decref(routing);
}

Test(sluice_routing, table_and_page_show_the_text)
{
    static char html[1 << 16];
    test_path(page, w.top, "page");
    sluice_expect_success(
        &r, (const char *const[]){"inspect", model, "--routing", text, "--report", page, NULL});
    cr_expect(strstr(r.out, "all tokens"), "%s", r.out);
    cr_expect(strstr(r.out, "block 1"), "%s", r.out);
    test_path(page, w.top, "page/index.html");
    test_read_file(html, sizeof html, page);
    cr_expect(strstr(html, "<svg"));
    cr_expect(strstr(html, ">T</span>"));
}

Test(sluice_routing, wrong_use_is_refused)
{
    const struct usage_error errors[] = {
        {{"inspect", model, "--report", page}, 2, "--report", "--routing FILE"},
        {{"inspect", model, "--gate", "soft"}, 2, "gate", "--routing FILE"},
        {{"inspect", model, "--routing", "/nowhere"}, 2, "/nowhere", ""},
        {{"inspect", model, "--routing", text, "--exit-threshold", "0.5"}, 2, "exit", "tsa"},
    };
    sluice_expect_usage_errors(errors, sizeof errors / sizeof *errors);
}
