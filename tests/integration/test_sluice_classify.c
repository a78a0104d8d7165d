/* test_sluice_classify.c - the offline tool with classifiers. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static struct workspace dirs;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_classify, .init = setup, .fini = teardown);

/* Which of two letters a text has. */
static void write_data(const char *data)
{
    FILE *file = fopen(data, "we");
    cr_assert(file, "cannot write %s", data);
    for (int i = 0; i < 80; i++)
        cr_assert_geq(
            fprintf(file, "%s\t%d %s\n", i % 2 ? "high" : "low", i / 2, i % 2 ? "h" : "l"), 0);
    cr_assert_eq(fclose(file), 0);
}

/* Learns it from bytes; `more` follows. Valid until the next call. */
static const char *const *learning(const char *data, const char *const *more)
{
    static const char *const usual[] = {
        "--label",      "1",     "--text",         "2", "--width",          "16",
        "--heads",      "2",     "--depth",        "1", "--context-length", "8",
        "--batch-size", "8",     "--warmup-steps", "0", "--learning-rate",  "0.01",
        "--tokenizer",  "bytes", "--threads",      "1"};
    static const char *words[8 + COUNT(usual) + 8];
    size_t count = 0;
    words[count++] = "train";
    words[count++] = "encoder";
    words[count++] = "--data";
    words[count++] = data;
    words[count++] = "--run-dir";
    words[count++] = dirs.run;
    words[count++] = "--output";
    words[count++] = dirs.output;
    memcpy(words + count, usual, sizeof usual);
    for (count += COUNT(usual); *more; more++) {
        cr_assert_lt(count, COUNT(words) - 1);
        words[count++] = *more;
    }
    words[count] = NULL;
    return words;
}

/* The store's model can classify them. */
static void make_classifier(struct program_result *r, const char *data)
{
    write_data(data);
    sluice_expect_success(r, learning(data, ARGS("--epochs", "8")));
}

/* What its file says of the training. */
static void read_card(char *text, size_t bytes)
{
    char path[PATH_MAX];
    test_read_file(text, bytes, test_path(path, dirs.output, "config.json"));
}

static void expect_object(const char *line, const char *label, const char *text)
{
    json_t *o = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
    cr_assert(o, "%s", line);
    cr_expect_str_eq(json_string_value(json_object_get(o, "label")), label);
    cr_expect_str_eq(json_string_value(json_object_get(o, "text")), text);
    cr_expect(json_number_at(o, "score") > 0.5 && json_number_at(o, "score") <= 1.0, "%s", line);
    json_decref(o);
}

/* Each line gets its answer, in order, as text and as JSON; and can be learnt from again. */
Test(sluice_classify, lines_are_classified)
{
    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX], line[64];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "61 h\n\n60 l\n22 l 11 22\t33 44\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--json"));
    const char *second = strchr(r.out, '\n'), *third = second ? strchr(second + 1, '\n') : NULL;
    cr_assert(third, "%s", r.out);
    expect_object(r.out, "high", "61 h");
    expect_object(second + 1, "low", "60 l");
    expect_object(third + 1, "low", "22 l 11 22\t33 44");
    cr_expect(strstr(r.err, "1 of 3 texts were truncated to 8 tokens"), "%s", r.err);
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    cr_expect_eq(sscanf(r.out, "high\t%*f\t%63[^\n]", line), 1, "%s", r.out);
    cr_expect_str_eq(line, "61 h");
    cr_expect(strstr(r.out, "\t22 l 11 22 33 44\n"), "%s", r.out);
    test_write_file(data, r.out);
    sluice_expect_success(&r, ARGS("inspect", dirs.output, "--json"));
    cr_expect(strstr(r.out, "\"task\": \"classification\""), "%s", r.out);
    cr_expect(strstr(r.out, "\"classes\": 2"), "%s", r.out);
    cr_expect(strstr(r.out, "\"labels\": [\n    \"high\",\n    \"low\"\n  ]"), "%s", r.out);
    sluice_expect_success(
        &r, ARGS("eval", dirs.output, "--data", data, "--label", "1", "--text", "3", "--json"));
    cr_expect(strstr(r.out, "\"accuracy\":1,\"examples\":3"), "%s", r.out);
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--min-score", "1"));
    cr_expect_str_eq(r.out, "");
    test_write_file(lines, " \n\n\x01\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    const char *other = strstr(r.out, "\t \n");
    cr_expect(other && strstr(other + 1, "\t \n"), "a line for each: %s", r.out);
}

/* Of a CSV file, which has quotes, line breaks and a record without text. */
Test(sluice_classify, a_column_is_classified)
{
    static struct program_result r;
    char data[PATH_MAX], table[PATH_MAX], named[PATH_MAX];
    static const char content[] =
        "id,text\n1,61 h\n2,\"60 \"\"l\"\"\"\n3,\n4,\"22 l\n11\"\n5,\033[7m60\177\n";
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(test_path(table, dirs.top, "table.csv"), content);
    test_write_file(test_path(named, dirs.top, "table.txt"), content);
    sluice_expect_success(&r, ARGS("classify", dirs.output, table, "--text", "text", "--json"));
    expect_object(r.out, "high", "61 h");
    cr_expect(strstr(r.out, "\"line\":2,\"text\":\"61 h\""), "%s", r.out);
    cr_expect(strstr(r.out, "\"line\":5,\"text\":\"22 l\\n11\""), "%s", r.out);
    cr_expect(strstr(r.out, "\"line\":7,"), "%s", r.out);
    cr_expect(strstr(r.err, "table.csv': 1 record without text was skipped, in line 4"), "%s",
              r.err);
    sluice_expect_success(
        &r, ARGS("classify", dirs.output, named, "--text", "text", "--format", "csv"));
    cr_expect(strstr(r.out, "\t60 \"l\"\nlow\t"), "%s", r.out);
    cr_expect(strstr(r.out, "\t22 l 11\n"), "%s", r.out);
    cr_expect(strstr(r.out, "\t [7m60 \n"), "nothing controls a terminal: %s", r.out);
    sluice_expect_success(&r, ARGS("classify", dirs.output, table));
    cr_expect(strstr(r.err, "table.csv' is taken for a text; to read a column of it, give --text"),
              "%s", r.err);
    const struct usage_error mistakes[] = {
        {{"classify", dirs.output, table, "--text", "txt"}, 2, "no column 'txt'", "'id', 'text'"},
        {{"classify", dirs.output, named, "--text", "text"},
         2,
         "it has commas: the format is csv",
         "give --format csv"},
        {{"classify", dirs.output, table, "--format", "csv"}, 2, "--format", "--text"},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* Before the first step, training reports its data, and what looks like a mistake. */
Test(sluice_classify, the_training_data_is_reported)
{
    static struct program_result r;
    char data[PATH_MAX], names[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    FILE *file = fopen(data, "ae");
    cr_assert(file);
    cr_assert_geq(fprintf(file, "hihg\t1 h, which is longer than the context\n"), 0);
    cr_assert_eq(fclose(file), 0);
    sluice_expect_success(&r, learning(data, ARGS("--steps", "1")));
    cr_expect(
        strstr(r.out,
               "\"texts\":73,\"validation_texts\":8,\"texts_truncated\":1,\"records_skipped\":0,"),
        "%s", r.out);
    cr_expect(strstr(r.out, "\"labels\":{\"high\":36,\"hihg\":1,\"low\":36}"), "%s", r.out);
    cr_expect(strstr(r.err, "the label 'hihg' occurs only once, in line 81: a typing"), "%s",
              r.err);
    test_write_file(test_path(names, dirs.top, "names.txt"), "high\nlow\nhihg\n");
    (void)test_path(dirs.run, dirs.top, "second");
    sluice_expect_success(&r,
                          learning(data, ARGS("--steps", "1", "--overwrite", "--labels", names)));
    cr_expect_str_eq(r.err, "");
}

/* As by the daemon: the answer would be that of any such text. */
Test(sluice_classify, a_text_without_tokens_of_its_own_is_not_measured)
{
    static struct program_result r;
    char data[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, learning(data, ARGS("--epochs", "1", "--tokenizer", "words",
                                                  "--validation-fraction", "0.5")));
    test_write_file(data, "high\t61 h\nlow\t\xCC\x81\n"); /* an accent */
    const struct usage_error mistakes[] = {
        {{"eval", dirs.output, "--data", data, "--label", "1", "--text", "2"},
         2,
         "data.tsv' line 2: ",
         "the text has no tokens"},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* One text says "h" and is called low; nothing is said to be of a third label. */
Test(sluice_classify, each_label_is_measured)
{
    static struct program_result r;
    char data[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(data, "high\t61 h\nlow\t60 l\nlow\t63 h\n");
    sluice_expect_success(
        &r, ARGS("eval", dirs.output, "--data", data, "--label", "1", "--text", "2", "--json"));
    cr_expect(strstr(r.out,
                     "{\"label\":\"high\",\"texts\":1,\"correct\":1,\"predicted\":2,\"recall\":1,"
                     "\"precision\":0.5,\"most_confused_with\":null,\"confused\":0}"),
              "%s", r.out);
    cr_expect(strstr(r.out,
                     "{\"label\":\"low\",\"texts\":2,\"correct\":1,\"predicted\":1,\"recall\":0.5,"
                     "\"precision\":1,\"most_confused_with\":\"high\",\"confused\":1}"),
              "%s", r.out);
    cr_expect(strstr(r.out, ",\"confusion_matrix\":[[1,0"), "%s", r.out);
    sluice_expect_success(&r,
                          ARGS("eval", dirs.output, "--data", data, "--label", "1", "--text", "2"));
    cr_expect(strstr(r.out, "low          2      50.00 %    100.00 %  high (1)\n"), "%s", r.out);
    test_write_file(data, "low\t60 l\n");
    sluice_expect_success(&r,
                          ARGS("eval", dirs.output, "--data", data, "--label", "1", "--text", "2"));
    cr_expect(strstr(r.out, "high         0            -           -\n"), "%s", r.out);
}

/* Each is reported with its line number, and the other lines are classified. */
Test(sluice_classify, a_line_that_cannot_be_classified_leaves_the_others_alone)
{
    enum { LONG = (16 << 20) + 1 };

    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, learning(data, ARGS("--epochs", "1", "--tokenizer", "words",
                                                  "--validation-fraction", "0.5")));
    char *text = malloc(LONG + 64);
    cr_assert(text);
    size_t bytes = (size_t)snprintf(text, 64, "61 h\n \n\xFF\n60 l\n");
    memset(text + bytes, 'x', LONG);
    (void)snprintf(text + bytes + LONG, 32, "\n22 l\n");
    test_write_file(test_path(lines, dirs.top, "lines.txt"), text);
    free(text);
    sluice_run(&r, ARGS("classify", dirs.output, lines));
    cr_expect_eq(r.exit_code, 2, "%d: %s", r.exit_code, r.err);
    const char *first = strstr(r.out, "\t61 h\n"), *second = strstr(r.out, "\t60 l\n");
    const char *third = strstr(r.out, "\t22 l\n");
    cr_expect(first && second > first && third > second, "%s", r.out);
    cr_expect(strstr(r.err, "lines.txt' line 2: the text has no tokens"), "%s", r.err);
    cr_expect(strstr(r.err, "lines.txt' line 3: byte 1 is 0xFF: not UTF-8"), "%s", r.err);
    cr_expect(strstr(r.err, "lines.txt' line 5: longer than the record limit of 16777216 bytes"),
              "%s", r.err);
    cr_expect(strstr(r.err, "3 of 6 texts could not be classified"), "%s", r.err);
}

/* The same when it is the model's numbers that are wrong; and no mean is made of them. */
Test(sluice_classify, nan_and_infinity_are_reported_with_their_line)
{
    static struct program_result r;
    char model[PATH_MAX], lines[PATH_MAX];
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){.threads = 1}, &err);
    cr_assert(engine, "%s", err.text);
    tiny_plain_make(engine, dirs.top);
    sl_engine_destroy(engine);
    (void)test_path(model, dirs.top, PLAIN "/4");
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "good\n\n\xFF\nfine\nbad!\ngood\n");
    sluice_run(&r, ARGS("classify", model, lines));
    cr_expect_eq(r.exit_code, 2, "%d: %s", r.exit_code, r.err);
    const char *second = strstr(r.out, "\tfine\n");
    cr_expect(second && strstr(second, "\tgood\n") && !strstr(r.out, "bad"), "%s", r.out);
    cr_expect(strstr(r.err, "lines.txt' line 5: the model produced NaN or infinity"), "%s", r.err);
    cr_expect(strstr(r.err, "2 of 5 texts could not be classified"), "%s", r.err);
    test_write_file(lines, "true\tgood\nfalse\tbad!\n");
    sluice_run(
        &r, ARGS("eval", model, "--data", lines, "--format", "tsv", "--label", "1", "--text", "2"));
    cr_expect_neq(r.exit_code, 0);
    cr_expect(strstr(r.err, "lines.txt' line 2: the model produced NaN or infinity"), "%s", r.err);
}

/* By a name that users know. Texts that were cut are counted among those that have an answer. */
Test(sluice_classify, standard_input_is_read_and_named)
{
    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(test_path(lines, dirs.top, "lines.txt"),
                    "61 h\n\xFF\n60 and more than there is room\n");
    program_run(&r, "sluice", lines, ARGS("classify", dirs.output, "-"));
    cr_expect_eq(r.exit_code, 2, "%d: %s", r.exit_code, r.err);
    cr_expect(strstr(r.out, "high\t") == r.out && strstr(r.out, "\t61 h\n"), "%s", r.out);
    cr_expect(strstr(r.err, "'standard input' line 2: byte 1 is 0xFF: not UTF-8"), "%s", r.err);
    cr_expect(strstr(r.err, "\n1 of 2 texts were truncated to 8 tokens\n"), "%s", r.err);
    test_write_file(lines, "PK\3\4 and so on");
    program_run(&r, "sluice", lines, ARGS("classify", dirs.output, "-"));
    cr_expect(strstr(r.err, "'standard input': the file is a zip archive, which is not read"), "%s",
              r.err);
    test_write_file(lines, "61 h\r60\r");
    program_run(&r, "sluice", lines, ARGS("classify", dirs.output, "-"));
    EXPECT_SAID(r.err, "'standard input': the file is text with lines that end in CR alone");
}

/* From a pipe, where no file name says the format. */
Test(sluice_classify, records_of_standard_input_are_recognised)
{
    static struct program_result r;
    char data[PATH_MAX], records[PATH_MAX];

    static const struct {
        const char *text, *format;
    } cases[] = {{"id,text\n1,\"61 h\"\n2,\n", NULL},
                 {"\xEF\xBB\xBFid;text\n1;61 h\n2;\n", NULL},
                 {"id\ttext\n1,2\t61 h\n3\t\n", NULL},
                 {"\n{\"text\": \"61 h\"}\n{\"text\": \"\"}\n", NULL},
                 {"{\n\"text\": \"61 h\"}\n{\"text\": \"\"}\n", NULL},
                 {"{\"text\"\tid\ntext\n", "tsv"}};

    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_path(records, dirs.top, "records");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *format = cases[i].format;
        test_write_file(records, cases[i].text);
        program_run(&r, "sluice", records,
                    ARGS("classify", dirs.output, "-", "--text", format ? "id" : "text",
                         format ? "--format" : NULL, format));
        cr_expect_eq(r.exit_code, format ? 2 : 0, "%d: %s", r.exit_code, r.err);
        if (format) {
            EXPECT_SAID(r.err, "'standard input' line 2: 1 field: expected 2 as in line 1");
            continue;
        }
        cr_expect(strncmp(r.out, "high\t", 5) == 0 && strstr(r.out, "\t61 h\n"), "%s", r.out);
        EXPECT_SAID(r.err, "'standard input': 1 record without text was skipped, in line 3");
    }
}

static double accuracy_on(const char *data, const char *keep)
{
    static struct program_result r;
    json_t *o = sluice_expect_json(&r, ARGS("eval", dirs.output, "--data", data, "--label", "1",
                                            "--text", "2", "--json", keep));
    double accuracy = json_number_at(o, "accuracy");
    json_decref(o);
    return accuracy;
}

/* Of texts whose end says otherwise than their beginning. */
Test(sluice_classify, truncate_left_keeps_the_end_of_a_text)
{
    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "61 h 00000000 60 l\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    cr_expect(strncmp(r.out, "high\t", 5) == 0, "%s", r.out);
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--truncate", "left"));
    cr_expect(strncmp(r.out, "low\t", 4) == 0, "%s", r.out);
    test_write_file(data, "high\t61 h 00000000 60 l\nhigh\t22 h 00000000 11 l\n");
    cr_expect_eq(accuracy_on(data, NULL), 1.0);
    cr_expect_eq(accuracy_on(data, "--truncate=left"), 0.0);
    FILE *file = fopen(data, "we");
    cr_assert(file);
    for (int i = 0; i < 80; i++)
        cr_assert_gt(
            fprintf(file, "%s\t%d 00000000 %s\n", i % 2 ? "high" : "low", i / 2, i % 2 ? "h" : "l"),
            0);
    cr_assert_eq(fclose(file), 0);
    test_directory_remove(dirs.run);
    sluice_expect_success(
        &r, learning(data, ARGS("--epochs", "8", "--truncate", "left", "--overwrite")));
    read_card(r.out, sizeof r.out);
    cr_expect(strstr(r.out, "\"validation_accuracy\": 1.0"), "%s", r.out);
    cr_expect(strstr(r.out, "\"truncation_side\": \"left\""), "%s", r.out);
}

/* Unless the command says otherwise, a text loses the side that it lost in training. */
Test(sluice_classify, a_model_keeps_the_side_that_it_was_trained_with)
{
    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, learning(data, ARGS("--epochs", "8", "--truncate", "left")));
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "61 h 00000000 60 l\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    cr_expect(strncmp(r.out, "low\t", 4) == 0, "%s", r.out);
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--truncate", "right"));
    cr_expect(strncmp(r.out, "high\t", 5) == 0, "%s", r.out);
    test_write_file(data, "low\t61 h 00000000 60 l\nlow\t22 h 00000000 11 l\n");
    cr_expect_eq(accuracy_on(data, NULL), 1.0);
    cr_expect_eq(accuracy_on(data, "--truncate=right"), 0.0);
}

Test(sluice_classify, a_model_is_replaced_only_if_asked)
{
    static struct program_result r;
    char data[PATH_MAX], saved[4096], now[4096];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    read_card(saved, sizeof saved);
    test_directory_remove(dirs.run);
    program_run(&r, "sluice", NULL, learning(data, ARGS("--epochs", "1")));
    EXPECT_EXIT(&r, 2);
    cr_expect(strstr(r.err, "already has a model; give the next version, "), "%s", r.err);
    cr_expect(strstr(r.err, "/2, or replace it with --overwrite\n"), "%s", r.err);
    cr_expect_neq(access(dirs.run, F_OK), 0, "nothing has begun");
    read_card(now, sizeof now);
    cr_expect_str_eq(now, saved);
    sluice_expect_success(&r, learning(data, ARGS("--epochs", "1", "--overwrite")));
    read_card(now, sizeof now);
    cr_expect_str_neq(now, saved);
}

/* Memorized, so the probability is closer to 1 than six digits or a float can show. */
Test(sluice_classify, nearly_sure_is_not_printed_as_sure)
{
    static struct program_result r;
    char data[PATH_MAX], lines[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, learning(data, ARGS("--epochs", "60", "--learning-rate", "0.05",
                                                  "--weight-decay", "0")));
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "61 h\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines, "--min-score", "0.999999"));
    cr_expect_str_eq(r.out, "high\t0.999999\t61 h\n");
    json_t *o = sluice_expect_json(&r, ARGS("classify", dirs.output, lines, "--json"));
    cr_expect_gt(json_number_at(o, "score"), 0.999999, "JSON has the number itself");
    json_decref(o);
}

/* The same answers, whether the lines come from a file or through a pipe. */
Test(sluice_classify, standard_input_is_a_file_too)
{
    static struct program_result r, piped;
    char data[PATH_MAX], lines[PATH_MAX], end[32];
    int ends[2];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    test_write_file(test_path(lines, dirs.top, "lines.txt"), "61 h\n\n60 l\n");
    sluice_expect_success(&r, ARGS("classify", dirs.output, lines));
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "61 h\n\n60 l\n", 11), 11);
    cr_assert_eq(close(ends[1]), 0);
    (void)snprintf(end, sizeof end, "/dev/fd/%d", ends[0]);
    program_run(&piped, "sluice", end, ARGS("classify", dirs.output, "-"));
    EXPECT_EXIT(&piped, 0);
    cr_assert_eq(close(ends[0]), 0);
    cr_expect_str_eq(piped.out, r.out);
    cr_expect_str_eq(piped.err, r.err);
    cr_expect(strchr(r.out, '\n'));
}

/* A batch is printed when its last line is read, and is not that line's fault. */
Test(sluice_classify, a_full_disk_is_no_fault_of_a_line)
{
    enum { BATCHES = 10, LINES = 64 * BATCHES, LINE_BYTES = 5 };

    static struct program_result r;
    static char text[LINES * LINE_BYTES + 1];
    char data[PATH_MAX], lines[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    for (int i = 0; i < LINES; i++)
        memcpy(text + i * LINE_BYTES, "61 h\n", LINE_BYTES);
    test_write_file(test_path(lines, dirs.top, "lines.txt"), text);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    FILE *err = tmpfile();
    cr_assert(full >= 0 && err);
    pid_t pid = program_start("sluice", ARGS("classify", dirs.output, lines),
                              (const int[]){-1, full, fileno(err)});
    cr_expect_eq(program_wait(pid), 1);
    rewind(err);
    cr_assert(fgets(r.err, sizeof r.err, err));
    cr_expect_eq(fgetc(err), EOF, "more than one line");
    (void)close(full);
    (void)fclose(err);
    cr_expect_str_eq(r.err, "sluice classify: cannot write to standard output\n");
}

Test(sluice_classify, a_classifier_completes_nothing)
{
    static struct program_result r;
    char data[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
    cr_expect(strstr(r.out, "  pooling                  mean\n"), "%s", r.out);
    read_card(r.out, sizeof r.out);
    cr_expect(strstr(r.out, "\"best_accuracy\"") && strstr(r.out, "\"validation_accuracy\""));
    const struct usage_error mistakes[] = {
        {{"generate", dirs.output, "--prompt", "a"}, 2, "classification", "sluice classify"},
        {{"eval", dirs.output, "--data", data, "--gate", "hard"},
         2,
         "--gate has no effect on encoder",
         "--gate"},
        {{"eval", dirs.output, "--data", data, "--exit-threshold", "0.5"},
         2,
         "has no effect on encoder",
         "--exit-"},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* The steps and epochs that a model says it was trained. */
static void expect_length(double steps, double epochs)
{
    static char text[1 << 16];
    read_card(text, sizeof text);
    json_t *model_config = json_loads(text, 0, NULL);
    const json_t *hyperparameters =
        json_object_get(json_object_get(model_config, "training"), "hyperparameters");
    cr_expect_eq(json_number_at(hyperparameters, "steps"), steps);
    cr_expect_eq(json_number_at(hyperparameters, "epochs"), epochs);
    json_decref(model_config);
}

/* With the steps that came of the epochs, and numbers as they were typed. */
Test(sluice_classify, a_model_records_its_training)
{
    static struct program_result r;
    char data[PATH_MAX];
    make_classifier(&r, test_path(data, dirs.top, "data.tsv"));
    expect_length(72.0, 8.0); /* of 72 texts, 8 at a time */
    read_card(r.out, sizeof r.out);
    cr_expect(strstr(r.out, "\"lr_schedule\": \"cosine\""), "%s", r.out);
    cr_expect(strstr(r.out, "\"learning_rate\": 0.01,"), "%s", r.out);
}

Test(sluice_classify, labelled_texts_are_trained_for_ten_epochs_by_default)
{
    static struct program_result r;
    char data[PATH_MAX];
    write_data(test_path(data, dirs.top, "data.tsv"));
    sluice_expect_success(&r, learning(data, ARGS(NULL)));
    expect_length(90.0, 10.0);
    test_directory_remove(dirs.run);
    sluice_expect_success(&r, learning(data, ARGS("--steps", "3", "--overwrite")));
    expect_length(3.0, 0.0);
    sluice_expect_success(&r, ARGS("train", "encoder", "--help"));
    cr_expect(strstr(r.out, "[with --data: 10]"), "%s", r.out);
}

Test(sluice_classify, a_stopped_run_reports_where_its_best_model_is)
{
    char data[PATH_MAX], line[2048], directory[PATH_MAX + 32];
    write_data(test_path(data, dirs.top, "data.tsv"));
    FILE *out;
    pid_t pid = sluice_start(learning(data, ARGS("--save-best", "--epochs", "100000")), &out);
    while (fgets(line, sizeof line, out) && !strstr(line, "\"evaluated\""))
        continue;
    cr_assert_eq(kill(pid, SIGINT), 0);
    while (fgets(line, sizeof line, out))
        continue;
    cr_expect_eq(program_wait(pid), 0);
    cr_assert_eq(fclose(out), 0);
    (void)snprintf(directory, sizeof directory, "\"directory\":\"%s\"", dirs.output);
    cr_expect(strstr(line, "\"ended\"") && strstr(line, directory), "%s", line);
    cr_expect(strstr(line, "\"next\":\"repeat the command with --resume"), "%s", line);
}

/* Accuracies, what sees both ways, how rows are pooled: a model that completes has none of it. */
Test(sluice_classify, a_model_that_completes_has_nothing_of_a_classifier)
{
    static struct program_result r;
    sluice_expect_success(&r,
                          ARGS("train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run,
                               "--output", dirs.output, "--width", "16", "--heads", "2", "--depth",
                               "2", "--context-length", "16", "--steps", "2", "--batch-size", "2"));
    cr_expect_not(strstr(r.out, "accuracy"), "%s", r.out);
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
    cr_expect(strstr(r.out, "  router_width "), "%s", r.out);
    cr_expect_not(strstr(r.out, "  bidirectional ") || strstr(r.out, "  pooling "), "%s", r.out);
    read_card(r.out, sizeof r.out);
    cr_expect(strstr(r.out, "\"best_loss\""), "%s", r.out);
    cr_expect_not(strstr(r.out, "accuracy"), "%s", r.out);
}

Test(sluice_classify, mistakes_of_classify_are_named)
{
    const struct usage_error mistakes[] = {
        {{"classify", dirs.output}, 2, "usage", "TEXT-FILE"},
        {{"classify", dirs.output, dirs.corpus, "my parcel is late"},
         2,
         strerrordesc_np(ENOENT),
         "one text per line, or - for"},
        {{"classify", dirs.output, dirs.corpus}, 2, "completion", "sluice generate"},
        {{"classify", dirs.output, dirs.corpus, "--min-score", "2"},
         2,
         "invalid --min-score '2'",
         "from 0 to 1"},
    };
    sluice_make_model(&dirs);
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}
