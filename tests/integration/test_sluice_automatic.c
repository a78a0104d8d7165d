/* test_sluice_automatic.c - `sluice train --data` without an architecture, from the shell. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

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

enum { TEXTS = 200, TEXTS_FEW = 40 };

/* Every fourth text has a word for both labels, and cannot be told. */
static void write_texts(char path[static PATH_MAX], const char *header, int texts)
{
    FILE *file = fopen(test_path(path, dirs.top, "data.tsv"), "we");
    cr_assert(file);
    cr_assert_geq(fprintf(file, "%s", header), 0);
    for (int i = 0; i < texts; i++)
        cr_assert_geq(fprintf(file, "%s\t%s number %d\n", i % 2 ? "good" : "bad",
                              i % 8 < 2 ? "neither" : (i % 2 ? "lovely" : "dreadful"), i),
                      0);
    cr_assert_eq(fclose(file), 0);
}

static void write_data(char path[static PATH_MAX], const char *header)
{
    write_texts(path, header, TEXTS);
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
                                   "--output", dirs.output, "--min-precision", "0.95", "--json"));
    json_t *o = result();
    double accuracy = json_real_value(json_at(o, "accuracy"));
    double score = json_real_value(json_at(o, "confident/minimum_score"));
    long long texts = json_integer_value(json_at(o, "confident/texts"));
    cr_expect(accuracy > 0.7 && accuracy < 0.95, "%g", accuracy);
    cr_expect(score > 0.5 && score <= 1.0, "%g", score);
    cr_expect_float_eq(score * 1e4, round(score * 1e4), 1e-6, "more digits than are printed: %.9g",
                       score);
    cr_expect(texts >= TEXTS / 2 && texts <= TEXTS * 4 / 5, "%lld of %d", texts, TEXTS);
    cr_expect_geq(json_integer_at(o, "confident/right"), texts * 95 / 100);
    cr_expect_geq(json_number_at(o, "confident/precision_interval/0"), 0.95);
    json_decref(o);
}

/* Not even 200 right predictions of 200 show that 99 % are right. */
Test(sluice_automatic, promises_no_score_that_too_few_texts_support)
{
    char data[PATH_MAX];
    write_data(data, "");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--output", dirs.output, "--min-precision", "0.99"));
    EXPECT_SAID(r.out, "There are too few texts to say from which score on 99 % are right: even "
                       "without a mistake that takes 381 predictions, and there are 200.");
    sluice_expect_success(&r,
                          ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output",
                               dirs.output, "--overwrite", "--min-precision", "0.5"));
    EXPECT_SAID(r.out, "All predictions together are ");
    EXPECT_SAID(r.out, ": no threshold is needed for 50 %.");
}

Test(sluice_automatic, says_whether_more_texts_would_help)
{
    char data[PATH_MAX];
    write_data(data, "");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--output", dirs.output, "--json"));
    json_t *o = result();
    const json_t *curve = json_at(o, "learning_curve");
    cr_assert_eq(json_array_size(curve), 4);
    cr_expect_eq(json_integer_at(o, "learning_curve/0/texts"), TEXTS * 4 / 5 / 8);
    cr_expect_eq(json_integer_at(o, "learning_curve/3/texts"), TEXTS * 4 / 5);
    cr_expect_float_eq(json_number_at(o, "learning_curve/3/accuracy"),
                       json_number_at(o, "accuracy"), 1e-5);
    /* It is flat: the accuracy with half of the texts is the same. */
    cr_expect(!strstr(json_string_at(o, "more_texts"), "More texts would help"), "%s",
              json_string_at(o, "more_texts"));
    EXPECT_SAID(json_string_at(o, "more_texts"), "the last doubling of their number changed");
    json_decref(o);
}

Test(sluice_automatic, uses_the_time_that_it_is_given)
{
    char data[PATH_MAX];
    write_data(data, "");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--output", dirs.output, "--json"));
    json_t *o = result();
    long long usual = json_integer_at(o, "recipes_tried");
    json_decref(o);
    sluice_expect_success(&r,
                          ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output",
                               dirs.output, "--overwrite", "--json", "--time", "1m"));
    o = result();
    cr_expect_gt(json_integer_at(o, "recipes_tried"), usual + 3);
    cr_expect_eq(json_integer_at(o, "folds"), 10);
    cr_expect_eq(json_integer_at(o, "recipe/folds"), 10);
    json_decref(o);
    sluice_run(&r, ARGS("train", "--data", data, "--output", "x/y/1", "--time", "soon"));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "invalid --time 'soon': expected 1s to 24h, as in 90s, 10m or 2h");
}

Test(sluice_automatic, names_the_lines_of_contradictions_and_of_leaks)
{
    char data[PATH_MAX], validation[PATH_MAX];
    write_data(data, "good\tOnce more\nbad\tonce more\n");
    test_write_file(test_path(validation, dirs.top, "validation.tsv"),
                    "bad\ta dreadful film\nbad\tneither number 0\n");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--validation", validation, "--output", dirs.output));
    EXPECT_SAID(r.out, "1 text repeats an earlier one\n");
    EXPECT_SAID(r.out, "texts with two labels:\n"
                       "  line 1 'good', line 2 'bad': Once more\n");
    EXPECT_SAID(r.err, "1 text repeats an earlier one with another label: line 1 has 'good', line "
                       "2 'bad'; correct the wrong one");
    EXPECT_SAID(r.err, "1 of 2 validation texts is in the training texts, too, the first in line 2 "
                       "(there line 3); results on them are too good");
    EXPECT_SAID(r.out, "On the 2 texts of the validation file: accuracy ");
}

Test(sluice_automatic, a_header_that_became_a_text_is_suspected)
{
    char data[PATH_MAX];
    write_data(data, "label\ttext\n");
    sluice_expect_success(
        &r, ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output", dirs.output));
    EXPECT_SAID(r.err, "the label 'label' occurs only once, in line 1");
    EXPECT_SAID(r.err, "a typing error, or a header; correct it, choose columns by name");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "label", "--text", "text",
                                   "--output", dirs.output, "--overwrite"));
    cr_expect_str_empty(r.err);
}

Test(sluice_automatic, labels_of_the_list_that_no_text_has_are_named)
{
    char data[PATH_MAX], labels[PATH_MAX];
    write_texts(data, "", TEXTS_FEW);
    test_write_file(test_path(labels, dirs.top, "labels.txt"), "label\ngood\nbad\nfair\n");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--labels", labels, "--output", dirs.output));
    EXPECT_SAID(r.err, "warning: no training text has the label 'label', and none has 1 other of "
                       "the list; remove it from the file of --labels if it is a header line");
    test_write_file(labels, "good\nbad\n");
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--labels", labels, "--output", dirs.output, "--overwrite"));
    cr_expect_str_empty(r.err);
}

Test(sluice_automatic, a_full_disk_is_an_error_that_leaves_no_file)
{
    char data[PATH_MAX], sluice[PATH_MAX], unfinished[PATH_MAX + 16];
    write_texts(data, "", TEXTS_FEW);
    (void)snprintf(unfinished, sizeof unfinished, "%s.sluice-tmp", dirs.output);
    program_run(&r, "/bin/sh", NULL,
                ARGS("-c", "ulimit -f 1; exec \"$0\" \"$@\" >/dev/null",
                     program_path(sluice, "sluice"), "train", "--data", data, "--label", "1",
                     "--text", "2", "--output", dirs.output));
    EXPECT_EXIT(&r, 3);
    cr_expect_neq(access(unfinished, F_OK), 0);
}

/* Punctuation is tokens, but no n-grams. */
Test(sluice_automatic, texts_of_punctuation_are_an_error)
{
    char data[PATH_MAX];
    test_write_file(test_path(data, dirs.top, "data.tsv"), "a\t!!!\nb\t!!!\na\t!!!\nb\t!!!\n");
    sluice_run(
        &r, ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output", dirs.output));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "data.tsv': the texts have no words that distinguish the labels");
}

/* What was found is not lost with its page. */
Test(sluice_automatic, a_report_that_fails_leaves_the_model)
{
    char data[PATH_MAX], report[PATH_MAX], page[PATH_MAX], run[PATH_MAX], log[PATH_MAX];
    char text[1 << 16];
    write_texts(data, "", TEXTS_FEW);
    cr_assert_eq(mkdir(test_path(report, dirs.top, "report"), 0700), 0);
    cr_assert_eq(mkdir(test_path(page, report, "index.html"), 0700), 0);
    sluice_run(&r,
               ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output", dirs.output,
                    "--report", report, "--run-dir", test_path(run, dirs.top, "log")));
    cr_assert_neq(r.exit_code, 0);
    EXPECT_SAID(r.err, "but without its report");
    EXPECT_SAID(r.err, "index.html");
    test_read_file(text, sizeof text, test_path(log, run, "log.jsonl"));
    EXPECT_SAID(text, "\"published\"");
    cr_expect(!strstr(text, "\"failed\""));
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
}

/* `training` of a model's config.json. */
static json_t *provenance(void)
{
    char path[PATH_MAX];
    json_t *config = json_load_file(test_path(path, dirs.output, "config.json"), 0, NULL);
    cr_assert(config, "%s", path);
    json_t *training = json_incref(json_object_get(config, "training"));
    cr_assert(training);
    json_decref(config);
    return training;
}

/* No word of these is in the vocabulary of a base of English. */
Test(sluice_automatic, a_base_of_another_language_is_named)
{
    char data[PATH_MAX], base[PATH_MAX], vocab[PATH_MAX], vectors[PATH_MAX];
    sluice_expect_success(&r, ARGS("vocab", "wordpiece", "--output",
                                   test_path(vocab, dirs.top, "vocab.txt"), "--vocab-size", "60",
                                   dirs.corpus));
    sluice_expect_success(&r, ARGS("vectors", "--corpus", dirs.corpus, "--vocab-file", vocab,
                                   "--width", "8", "--epochs", "1", "--output",
                                   test_path(vectors, dirs.top, "words.vec"), "--base",
                                   test_path(base, dirs.top, "7")));
    write_texts(data, "bad\t\xd0\xbf\xd0\xbb\xd0\xbe\xd1\x85\xd0\xbe\n", TEXTS_FEW);
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--output", dirs.output, "--init-from", base, "--json"));
    EXPECT_SAID(r.err, "--init-from");
    EXPECT_SAID(r.err, " is not used: it lacks ");
    json_t *o = result(), *training = provenance();
    cr_expect(json_is_true(json_at(o, "data/foreign_base")));
    cr_expect(json_is_true(json_at(training, "validation/data/foreign_base")));
    cr_expect_str_eq(json_string_at(training, "data"), "data.tsv");
    json_decref(o);
    json_decref(training);
}
