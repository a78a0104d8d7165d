/* test_sluice_automatic.c - `sluice train --data` without an architecture, from the shell. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <jansson.h>

static struct workspace dirs;
static struct program_result r;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_automatic, .init = setup, .fini = teardown);

enum { TEXTS = 200 };

/* Every fourth text has a word for both labels, and cannot be told. */
static const char *write_data(char path[static PATH_MAX], const char *header)
{
    FILE *file = fopen(test_path(path, dirs.top, "data.tsv"), "we");
    cr_assert(file);
    cr_assert_geq(fprintf(file, "%s", header), 0);
    for (int i = 0; i < TEXTS; i++)
        cr_assert_geq(fprintf(file, "%s\t%s number %d\n", i % 2 ? "good" : "bad",
                              i % 8 < 2 ? "neither" : (i % 2 ? "lovely" : "dreadful"), i),
                      0);
    cr_assert_eq(fclose(file), 0);
    return path;
}

/* The last line of the output. */
static json_t *result(void)
{
    char *end = r.out + strlen(r.out);
    cr_assert_gt(end, r.out);
    end[-1] = '\0';
    char *line = strrchr(r.out, '\n');
    json_t *o = json_loads(line ? line + 1 : r.out, 0, NULL);
    cr_assert(o, "%s", r.out);
    return o;
}

Test(sluice_automatic, says_which_score_to_trust)
{
    char data[PATH_MAX];
    write_data(data, "");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--output", dirs.output, "--least-precision", "0.99", "--json"));
    json_t *o = result();
    double accuracy = json_real_value(json_at(o, "accuracy"));
    double score = json_real_value(json_at(o, "confident/least_score"));
    long long texts = json_integer_value(json_at(o, "confident/texts"));
    cr_expect(accuracy > 0.7 && accuracy < 0.95, "%g", accuracy);
    cr_expect(score > 0.5 && score <= 1.0, "%g", score);
    cr_expect(texts >= TEXTS / 2 && texts <= TEXTS * 4 / 5, "%lld of %d", texts, TEXTS);
    json_decref(o);
}

Test(sluice_automatic, a_header_that_became_a_text_is_suspected)
{
    char data[PATH_MAX];
    write_data(data, "label\ttext\n");
    sluice_expect_success(
        &r, ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output", dirs.output));
    EXPECT_SAID(r.err, "the label 'label' occurs only once, in line 1");
    EXPECT_SAID(r.err, "Or a header: then choose columns by name.");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "label", "--text", "text",
                                   "--output", dirs.output, "--overwrite"));
    cr_expect_str_empty(r.err);
}
