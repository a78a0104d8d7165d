/* test_newcomer.c - from somebody's first CSV to a served classifier, a report and a calibrated
 * probability, in three commands; and what they are told of a file that is not in order. */
#include "support/daemon.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"

static struct ctl_target t;
static struct program_result r;
static char csv[PATH_MAX], model[PATH_MAX], report[PATH_MAX];

static void start(void)
{
    char socket[PATH_MAX], url[PATH_MAX + 8];
    (void)alarm(100);
    ctl_serve(&t);
    (void)snprintf(url, sizeof url, "unix:%s", daemon_admin_socket(&t.daemon, socket));
    cr_assert_eq(setenv("SLUICE_ADMIN_URL", url, 1), 0);
    (void)test_path(csv, t.daemon.directory, "tickets.csv");
    (void)test_path(model, t.daemon.store, "tickets/1");
    (void)test_path(report, t.daemon.directory, "report");
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(newcomer, .init = start, .fini = stop);

/* A spreadsheet as people have them: a header, further columns, commas and quotes in the text, line
 * breaks, empty lines, cells without a label. */
static void write_tickets(void)
{
    static const char *const teams[] = {"billing", "technical", "sales"};
    static const char *const texts[][3] = {
        {"\"I was charged twice, please refund me\"", "The invoice has a wrong address",
         "\"My card was declined, why?\""},
        {"\"The app says \"\"out of memory\"\", then it crashes\"", "Login fails after the update",
         "\"Cannot print,\nthe driver is missing\""},
        {"\"How much is it for 20 people, per year?\"", "Do you have a demo for schools",
         "I would like an offer"}};

    FILE *file = fopen(csv, "we");
    cr_assert(file);
    cr_assert_geq(fprintf(file, "id,Subject,Assigned team\n"), 0);
    for (int i = 0; i < 180; i++)
        cr_assert_geq(fprintf(file, "%d,%s,%s\n%s", i, texts[i % 3][i / 3 % 3],
                              i % 30 == 7    ? ""
                              : i % 60 == 23 ? "\"Sales \""
                                             : teams[i % 3],
                              i % 50 == 0 ? "\n" : ""),
                      0);
    cr_assert_eq(fclose(file), 0);
}

Test(newcomer, three_commands)
{
    char page[PATH_MAX], *text = r.out;
    write_tickets();
    sluice_expect_success(&r, ARGS("train", "--data", csv, "--label", "Assigned team", "--text",
                                   "Subject", "--output", model, "--report", report));
    EXPECT_SAID(r.err, "6 records are left out, the first in line 10: 'Assigned team' is empty");
    EXPECT_SAID(r.err, "the labels 'sales' and 'Sales ' (first in line 28) are perhaps one: they "
                       "differ only in case, spaces, invisible characters or how a number is "
                       "written; spell it in one way, or give both one name "
                       "with --labels FILE, a list of all labels");
    EXPECT_SAID(text, "4 labels: 'Sales ' 3, billing 60, sales 57, technical 54");
    EXPECT_SAID(text, "\n'Sales '         3 ");
    EXPECT_SAID(text, "C: the inverse strength of regularization");
    EXPECT_SAID(text, "the chosen recipe is then calibrated fully");
    EXPECT_SAID(text, "calibration error");
    EXPECT_SAID(text, "report: ");
    cr_assert_eq(access(test_path(page, report, "index.html"), R_OK), 0);

    EXPECT_EXIT(CTL(&t, "load", "tickets"), 0);
    EXPECT_EXIT(CTL(&t, "models", "tickets"), 0);
    EXPECT_SAID(t.result.out, "      -     2048\n");
    EXPECT_EXIT(CTL(&t, "classify", "--model", "tickets", "--json",
                    "\"Refund me\", he said, \"I was charged twice\""),
                0);
    json_t *answer = json_from_text(t.result.out);
    cr_assert_str_eq(json_string_at(answer, "labels/0/label"), "billing", "%s", t.result.out);
    double score = json_number_at(answer, "labels/0/score");
    cr_assert(score > 0.3 && score <= 1.0, "%g", score);
    json_decref(answer);
}

/* Each says the line, and what to do. */
Test(newcomer, what_is_wrong_with_a_file)
{
    static const struct {
        const char *text, *label;
        const char *said[3];
    } files[] = {
        {"text,label\n\"no end,good\nfine,good\n", "label", {"line 2", "quote"}},
        {"text,label\nfine,good\nbad\n", "label", {"line 3", "1 field: expected 2"}},
        {"text,label\nfine,good\n",
         "team",
         {"line 1", "'team'", "the columns are 'text', 'label'"}},
        {"text,label\nfine,good\nbetter,good\n", "label", {"label is 'good'", "at least 2"}},
        {"text,label\n,good\nbetter,\n", "label", {"no record has both", "line 2"}},
        {"text,label\nca\xE9,good\nfine,bad\n", "label", {"line 2", "UTF-8"}},
    };

    for (size_t i = 0; i < COUNT(files); i++) {
        test_write_file(csv, files[i].text);
        sluice_run(&r, ARGS("train", "--data", csv, "--label", files[i].label, "--text", "text",
                            "--output", model));
        EXPECT_EXIT(&r, 2);
        for (size_t j = 0; j < COUNT(files[i].said) && files[i].said[j]; j++)
            EXPECT_SAID(r.err, files[i].said[j]);
    }
}
