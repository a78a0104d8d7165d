/* test_sluice_multi_label.c - texts with several labels, or none, from the shell: train, eval,
 * classify. */
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/test.h"
#include "support/topic_texts.h"

static struct workspace dirs;
static struct program_result r;
static char data[PATH_MAX], base[PATH_MAX], html[1 << 17];

static void setup(void)
{
    sluice_setup(&dirs);
    topic_texts_write(test_path(data, dirs.top, "topics.tsv"));
    topic_texts_make_base(dirs.top, base);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_multi_label, .init = setup, .fini = teardown);

#define COLUMNS "--label", "1", "--text", "2"
#define SEVERAL COLUMNS, "--label-separator", "|"
#define BASE    "--init-from", base

static void train(void)
{
    sluice_expect_success(
        &r, ARGS("train", "--data", data, SEVERAL, BASE, "--output", dirs.output, "--overwrite"));
}

/* ---- train ----------------------------------------------------------------------------------- */

Test(sluice_multi_label, training_says_what_it_found)
{
    char report[PATH_MAX], page[PATH_MAX];
    sluice_expect_success(&r, ARGS("train", "--data", data, SEVERAL, BASE, "--output", dirs.output,
                                   "--report", test_path(report, dirs.top, "report"),
                                   "--min-precision", "0.9"));
    EXPECT_SAID(r.out, "1.50 labels per text, at most 3; 20 texts have no label\n"
                       "3 labels: money 80, politics 80, sport 80\n");
    EXPECT_SAID(r.out, "micro F1    loss  tried, by cross-validation\n");
    EXPECT_SAID(r.out, "\nmicro F1 ");
    EXPECT_SAID(r.out, ", subset accuracy ");
    EXPECT_SAID(r.out, "All predictions together are ");
    EXPECT_SAID(r.out, "      recall   precision\n");
    cr_expect(!strstr(r.out, "More texts") && !strstr(r.out, "confused"), "%s", r.out);
    test_read_file(html, sizeof html, test_path(page, report, "index.html"));
    EXPECT_SAID(html, "Subset accuracy");
    EXPECT_SAID(html, "1.50 labels per text, at most 3; 20 texts have no label");
    cr_expect(!strstr(html, "Confusion") && !strstr(html, "Would more texts help"));
}

/* Without the option a combination of labels is a label of its own, which is rarely meant. */
Test(sluice_multi_label, a_forgotten_separator_is_suspected)
{
    sluice_expect_success(
        &r, ARGS("train", "--data", data, COLUMNS, BASE, "--output", dirs.output, "--overwrite"));
    EXPECT_SAID(r.err, "others seem to join several; if a text may have several, give "
                       "--label-separator '|'\n");
    cr_expect(!strstr(r.err, "occurs only once"), "%s", r.err);
    train();
    cr_expect_str_empty(r.err);
}

/* A list in JSON Lines needs no option, and gives the same model. */
Test(sluice_multi_label, lists_in_json_lines_are_the_same)
{
    char json[PATH_MAX];
    topic_texts_write_json(test_path(json, dirs.top, "topics.jsonl"));
    train();
    json_t *tsv =
        sluice_expect_json(&r, ARGS("eval", dirs.output, "--data", data, COLUMNS, "--json"));
    sluice_expect_success(
        &r, ARGS("train", "--data", json, BASE, "--output", dirs.output, "--overwrite"));
    json_t *lists = sluice_expect_json(&r, ARGS("eval", dirs.output, "--data", json, "--json"));
    cr_expect_eq(json_number_at(tsv, "loss"), json_number_at(lists, "loss"));
    cr_expect_gt(json_number_at(tsv, "micro_f1"), 0.98);
    json_decref(tsv);
    json_decref(lists);
}

/* ---- eval ------------------------------------------------------------------------------------ */

/* Every figure follows from these four texts: of the five labels money of the first and politics of
 * the second are missed, and sport of the last is not there. */
Test(sluice_multi_label, evaluation_counts_labels)
{
    char test[PATH_MAX];
    train();
    test_write_file(test_path(test, dirs.top, "test.tsv"), "money|sport\ttoday goal 1\n"
                                                           "politics|sport\ttoday goal 2\n"
                                                           "money\ttoday stock 3\n"
                                                           "\ttoday goal 4\n");
    json_t *o =
        sluice_expect_json(&r, ARGS("eval", dirs.output, "--data", test, COLUMNS, "--json"));
    cr_expect_float_eq(json_number_at(o, "accuracy"), 1.0 / 4.0, 1e-6);
    cr_expect_float_eq(json_number_at(o, "micro_f1"), 2.0 * 3.0 / (5.0 + 4.0), 1e-6);
    cr_expect_float_eq(json_number_at(o, "macro_f1"), (2.0 / 3.0 + 0.0 + 4.0 / 5.0) / 3.0, 1e-6);
    cr_expect_eq(json_integer_at(o, "labels/2/texts"), 2);
    cr_expect_float_eq(json_number_at(o, "labels/2/recall"), 1.0, 1e-6);
    cr_expect_float_eq(json_number_at(o, "labels/2/precision"), 2.0 / 3.0, 1e-6);
    cr_expect(!json_at(o, "labels/2/confused"));
    json_decref(o);
    sluice_expect_success(&r, ARGS("eval", dirs.output, "--data", test, COLUMNS));
    EXPECT_SAID(r.out, "micro F1 0.6667, macro F1 0.4889, subset accuracy 25.00 %, loss ");
}

/* The separator of the data may be another one. */
Test(sluice_multi_label, evaluation_may_have_another_separator)
{
    char test[PATH_MAX];
    train();
    test_write_file(test_path(test, dirs.top, "test.tsv"), "money;sport\ttoday stock goal 1\n");
    sluice_expect_success(
        &r, ARGS("eval", dirs.output, "--data", test, COLUMNS, "--label-separator", ";"));
    EXPECT_SAID(r.out, "micro F1 1.0000");
    sluice_run(&r, ARGS("eval", dirs.output, "--data", test, COLUMNS));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "unknown label 'money;sport'");
}

Test(sluice_multi_label, no_character_separates_labels_in_json_lines)
{
    char json[PATH_MAX];
    FILE *file = fopen(test_path(json, dirs.top, "languages.jsonl"), "we");
    cr_assert(file);
    for (int i = 0; i < 20; i++)
        cr_assert_gt(fprintf(file,
                             "{\"label\": \"C|C++\", \"text\": \"pointers %d\"}\n"
                             "{\"label\": [\"Lua\", \"Perl\"], \"text\": \"tables %d\"}\n",
                             i, i),
                     0);
    cr_assert_eq(fclose(file), 0);
    sluice_expect_success(&r, ARGS("train", "--data", json, BASE, "--output", dirs.output));
    json_t *o = sluice_expect_json(&r, ARGS("eval", dirs.output, "--data", json, "--json"));
    cr_expect_eq(json_integer_at(o, "labels/0/texts"), 20);
    json_decref(o);
}

/* ---- classify -------------------------------------------------------------------------------- */

Test(sluice_multi_label, classify_prints_every_label)
{
    char lines[PATH_MAX];
    train();
    test_write_file(test_path(lines, dirs.top, "lines.txt"),
                    "today stock goal 7\nyesterday vote 8\nperhaps again\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    EXPECT_SAID(r.out, "money|sport\t0.");
    EXPECT_SAID(r.out, "\npolitics\t0.");
    EXPECT_SAID(r.out, "\n\t0.");
    EXPECT_SAID(r.out, "\tperhaps again\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--label-separator", ", "));
    EXPECT_SAID(r.out, "money, sport\t0.");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--min-score", "1"));
    cr_expect_str_eq(r.out, "");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--explain", "1"));
    EXPECT_SAID(r.out, "money\t0.");
    EXPECT_SAID(r.out, "\tstock:+");
    EXPECT_SAID(r.out, "\nsport\t0.");
    EXPECT_SAID(r.out, "\tgoal:+");
}

Test(sluice_multi_label, classify_prints_lists_as_json)
{
    char lines[PATH_MAX];
    train();
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "today stock goal 7\n");
    json_t *o =
        sluice_expect_json(&r, ARGS("classify", dirs.output, lines, "--json", "--explain", "1"));
    cr_expect_str_eq(json_string_at(o, "label/0"), "money");
    cr_expect_str_eq(json_string_at(o, "label/1"), "sport");
    cr_expect_eq(json_array_size(json_at(o, "label")), 2);
    cr_expect_geq(json_number_at(o, "scores/1"), 0.5);
    cr_expect_leq(json_number_at(o, "score"), json_number_at(o, "scores/0") + 1e-6);
    cr_expect_str_eq(json_string_at(o, "words/0/0/word"), "stock");
    cr_expect_str_eq(json_string_at(o, "words/1/0/word"), "goal");
    json_decref(o);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refused(const char *const *args, const char *part)
{
    sluice_run(&r, args);
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, part);
}

Test(sluice_multi_label, wrong_labels_and_options_are_errors)
{
    char bad[PATH_MAX];
    test_write_file(test_path(bad, dirs.top, "bad.tsv"), "a|b\tx\na||b\ty\n");
    expect_refused(ARGS("train", "--data", bad, SEVERAL, "--output", dirs.output),
                   "bad.tsv' line 2: column '1': 'a||b' has an empty label: expected labels with "
                   "one '|' between them");
    expect_refused(ARGS("train", "--data", data, COLUMNS, "--label-separator", "123456789",
                        "--output", dirs.output),
                   "invalid label separator '123456789': expected 1 to 8 bytes");
    expect_refused(ARGS("train", "tsa", "--data", data, SEVERAL, "--run-dir", dirs.run),
                   "texts with several labels are for the linear model, which training without an "
                   "architecture makes");
}

/* A model with one label per text cannot be measured on several. */
Test(sluice_multi_label, data_with_several_labels_needs_a_model_with_several)
{
    char one[PATH_MAX];
    FILE *file = fopen(test_path(one, dirs.top, "one.tsv"), "we");
    cr_assert(file);
    for (int i = 0; i < 40; i++)
        (void)fprintf(file, "%s %d\n", i % 2 ? "money\tstock" : "sport\tgoal", i);
    cr_assert_eq(fclose(file), 0);
    sluice_expect_success(&r, ARGS("train", "--data", one, COLUMNS, BASE, "--output", dirs.output));
    test_write_file(one, "money|sport\tstock goal\n");
    expect_refused(ARGS("eval", dirs.output, "--data", one, SEVERAL),
                   "its texts may have several labels, and those that the model is trained on have "
                   "one each");
}
