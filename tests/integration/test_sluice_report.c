/* test_sluice_report.c - the HTML reports of `sluice train` and `sluice eval`. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

static struct workspace dirs;
static struct program_result r;
static char data[PATH_MAX], report[PATH_MAX], page[PROGRAM_OUTPUT_MAX];

static void setup(void)
{
    sluice_setup(&dirs);
    (void)test_path(report, dirs.top, "report");
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_report, .init = setup, .fini = teardown);

enum { TEXTS = 160 };

/* Two labels, of which one is markup. Every eighth text has a word of the other label, so that
 * there are mistakes; text 3 is repeated with the other label. */
static void write_data(const char *name, int first, int last)
{
    FILE *file = fopen(test_path(data, dirs.top, name), "we");
    cr_assert(file);
    cr_assert_geq(fprintf(file, "label\ttext\n"), 0);
    for (int i = first; i < last; i++)
        cr_assert_geq(fprintf(file, "%s\t<script>alert(\"%d\")</script> %s & 'so' on\n",
                              i % 2 ? "<b>\"good\"</b>" : "bad", i % 80,
                              (i % 2 != 0) != (i % 8 == 3) ? "lovely" : "dreadful"),
                      0);
    cr_assert_eq(fclose(file), 0);
}

static void read_page(void)
{
    char path[PATH_MAX];
    test_read_file(page, sizeof page, test_path(path, report, "index.html"));
}

/* A line for each text, with what was predicted, also where that is wrong. */
static void expect_predictions(int texts, bool has_mistakes)
{
    char path[PATH_MAX], line[1024];
    int lines = 0, wrong = 0;
    FILE *file = fopen(test_path(path, report, "predictions.jsonl"), "re");
    cr_assert(file);
    for (; fgets(line, sizeof line, file); lines++) {
        json_t *one = json_from_text(line);
        cr_assert_eq(json_integer_at(one, "line"), lines + 2);
        wrong += strcmp(json_string_at(one, "label"), json_string_at(one, "predicted")) != 0;
        cr_assert(json_number_at(one, "score") > 0.0);
        EXPECT_SAID(json_string_at(one, "text"), "<script>alert(");
        json_decref(one);
    }
    (void)fclose(file);
    cr_assert_eq(lines, texts);
    cr_assert_eq(wrong > 0, has_mistakes, "%d mistakes", wrong);
}

/* Everything of the data is text, and nothing is loaded. */
static void expect_harmless(void)
{
    static const char *const banned[] = {
        "<script", "<b>\"", "http:", "https:", "src=", "url(", "<img", "<link"};
    for (size_t i = 0; i < COUNT(banned); i++)
        cr_assert_not(strstr(page, banned[i]), "the page has %s", banned[i]);
    EXPECT_SAID(page, "&lt;b&gt;&quot;good&quot;&lt;/b&gt;");
    EXPECT_SAID(page, "default-src 'none'");
    EXPECT_SAID(page, "</html>");
}

static void expect_sections(const char *const *titles)
{
    char heading[128];
    const char *at = page;
    for (; *titles; titles++) {
        (void)snprintf(heading, sizeof heading, "<h2>%s</h2>", *titles);
        at = strstr(at, heading);
        cr_assert(at, "no section '%s', or not in its place", *titles);
    }
}

#define EXPECT_SECTIONS(...) expect_sections((const char *const[]){__VA_ARGS__, NULL})

Test(sluice_report, of_a_training_without_an_architecture)
{
    write_data("<i>\xFF.tsv", 0, TEXTS);
    sluice_expect_success(&r, ARGS("train", "--data", data, "--output", dirs.output, "--report",
                                   report, "--min-precision", "0.8"));
    EXPECT_SAID(r.out, "report: ");
    read_page();
    expect_harmless();
    EXPECT_SAID(page, "<h1>bottles/1</h1>");
    EXPECT_SECTIONS("The data", "What was tried", "Would more texts help?", "Labels", "Confusion",
                    "Calibration", "The most confident mistakes");
    EXPECT_SAID(page, "&lt;i&gt;\xEF\xBF\xBD.tsv");
    EXPECT_SAID(page, "(&quot;");
    EXPECT_SAID(page, "80 texts repeat an earlier one");
    EXPECT_SAID(page, "No record was left out");
    EXPECT_SAID(page, "are right");
    EXPECT_SAID(page, "The scores are those of models that had not learnt the text");
    EXPECT_SAID(page, "C: the inverse strength of regularization");
    EXPECT_SAID(page, "<mark class=\"up\" title=\"+");
    expect_predictions(TEXTS, true);
}

Test(sluice_report, of_a_training_of_an_architecture)
{
    char validation[PATH_MAX];
    write_data("validation.tsv", 100, 200);
    memcpy(validation, data, sizeof validation);
    write_data("data.tsv", 0, 70);
    sluice_expect_success(&r,
                          ARGS("train", "tsa", "--data", data, "--validation", validation,
                               "--run-dir", dirs.run, "--output", dirs.output, "--report", report,
                               "--report-title", "moods <3", "--width", "16", "--depth", "2",
                               "--heads", "2", "--ffn-width", "16", "--context-length", "16",
                               "--epochs", "4", "--batch-size", "8", "--evaluate-every", "9"));
    read_page();
    expect_harmless();
    EXPECT_SECTIONS("Training", "The data", "Labels", "Confusion", "Calibration",
                    "The most confident mistakes");
    EXPECT_SAID(page, "<title>moods &lt;3</title>");
    EXPECT_SAID(page, "Loss by step");
    EXPECT_SAID(page, "Accuracy by step");
    EXPECT_SAID(page, "Layers skipped");
    EXPECT_SAID(page, "90 of 100 validation texts are in the training texts, too");
    EXPECT_SAID(r.err, "90 of 100 validation texts are in the training texts, too");
}

Test(sluice_report, of_an_evaluation)
{
    write_data("data.tsv", 0, TEXTS);
    sluice_expect_success(&r, ARGS("train", "--data", data, "--output", dirs.output));
    sluice_expect_success(&r, ARGS("eval", dirs.output, "--data", data, "--report", report));
    read_page();
    expect_harmless();
    EXPECT_SECTIONS("The data", "Labels", "Confusion", "Calibration",
                    "The most confident mistakes");
    EXPECT_SAID(page, "evaluated on data.tsv");
    EXPECT_SAID(r.out, "95 % interval ");
    EXPECT_SAID(r.out, ", macro F1 ");
    EXPECT_SAID(r.out, ", calibration error 0.");
    expect_predictions(TEXTS, false); /* it has learnt from them */
}

Test(sluice_report, what_is_wrong_with_the_options)
{
    static const struct usage_error errors[] = {
        {{"train", "vanilla", "--corpus", "x", "--run-dir", "y", "--output", "models/z/1",
          "--report", "p"},
         2,
         "--report",
         "--data"},
        {{"train", "encoder", "--data", "x", "--run-dir", "y", "--report", "p"},
         2,
         "missing --output DIR",
         "--report is about its model"},
        {{"eval", "models/z/1", "--corpus", "x", "--report", "p"}, 2, "--report", "--data"},
    };

    sluice_expect_usage_errors(errors, COUNT(errors));
}
