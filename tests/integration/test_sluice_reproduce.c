/* test_sluice_reproduce.c - `sluice reproduce`: lists experiments, names missing data, runs, is
 * interrupted and resumes. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <glob.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct workspace dirs;
static struct program_result r;
static char file[PATH_MAX], data[PATH_MAX], output[PATH_MAX], results[PATH_MAX];

#define HEAD                                                                                       \
    "title: Bottles\npaper: On Bottles, table 1\nurl: https://example.org\n"                       \
    "data:\n  - {file: corpus.txt, origin: https://example.org/bottles, about: As it is.}\n"
#define SIZES                                                                                      \
    "--context-length 16 --width 16 --heads 2 --depth 2 --ffn-width 24 --batch-size 2 "            \
    "--evaluate-every 10 --validation-fraction 0.02 --threads 1"
#define TAIL                                                                                       \
    "seeds: 1 2\ntolerance: {loss: 10, gate_mean: 1}\nrows:\n"                                     \
    "  - {name: dense, train: vanilla, paper: {loss: 2}}\n"                                        \
    "  - name: sparse\n    train: tsa --compute-weight 0.01\n"                                     \
    "    paper: {loss: 2, gate_mean: 0.5}\n"

/* train, then eval and what else the file says */
#define EXPERIMENT(steps)                                                                          \
    HEAD "train: --corpus corpus.txt --steps " steps " " SIZES                                     \
         "\neval: --corpus corpus.txt --validation-fraction 0.02\nquick: --steps 7\n" TAIL

static void write_experiment(const char *text)
{
    test_write_file(file, text);
}

static void setup(void)
{
    char directory[PATH_MAX];
    sluice_setup(&dirs);
    cr_assert_eq(mkdir(test_path(directory, dirs.top, "x"), 0700), 0);
    cr_assert_eq(mkdir(test_path(directory, dirs.top, "x/glass"), 0700), 0);
    test_path(file, dirs.top, "x/glass/bottles.yaml");
    test_path(data, dirs.top, ".");
    test_path(output, dirs.top, "reproduced");
    test_path(results, output, "glass/bottles.json");
    write_experiment(EXPERIMENT("20"));
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_reproduce, .init = setup, .fini = teardown);

/* Valid until the next call. */
static const char *const *words(const char *const *more)
{
    static const char *all[16];
    static char directory[PATH_MAX];
    size_t count = 0;
    all[count++] = "reproduce";
    all[count++] = "--experiments";
    all[count++] = test_path(directory, dirs.top, "x");
    for (; *more; more++)
        all[count++] = *more;
    all[count] = NULL;
    return all;
}

#define RUN(...) words(ARGS("glass", "bottles", "--data", data, "--output", output, __VA_ARGS__))

static json_t *read_results(const char *path)
{
    json_error_t error;
    json_t *o = json_load_file(path, 0, &error);
    cr_assert(o, "%s: %s", path, error.text);
    return o;
}

/* Every file of Sluice's own is read, and names where its data is. */
Test(sluice_reproduce, bundled_experiments_are_listed)
{
    static const char *const ids[] = {"eam/imdb",         "epsilon/imdb",    "transevolve/ag-news",
                                      "transevolve/imdb", "tsa/shakespeare", "tsa/compute-weights"};
    glob_t found;
    sluice_expect_success(&r, ARGS("reproduce"));
    for (size_t i = 0; i < COUNT(ids); i++)
        EXPECT_SAID(r.out, ids[i]);
    EXPECT_SAID(r.out, "data: input.txt, https://github.com/karpathy/char-rnn");
    sluice_expect_success(&r, ARGS("reproduce", "--json"));
    size_t lines = 0;
    for (const char *at = r.out; (at = strchr(at, '\n')); at++)
        lines++;
    cr_assert_eq(glob(SL_SOURCE_DIR "/experiments/*/*.yaml", 0, NULL, &found), 0);
    cr_expect_eq(lines, found.gl_pathc);
    globfree(&found);
}

Test(sluice_reproduce, missing_data_is_named_with_its_origin)
{
    sluice_run(&r, words(ARGS("glass", "--data", output)));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.out, "glass/bottles needs");
    EXPECT_SAID(r.out, "corpus.txt, published at https://example.org/bottles\n    As it is.\n");
    EXPECT_SAID(r.err, "glass/bottles: missing data in '");
    EXPECT_SAID(r.err, "1 of 1 files, such as 'corpus.txt', published at");
    cr_expect_neq(access(output, F_OK), 0);
}

Test(sluice_reproduce, unknown_experiments_are_refused)
{
    sluice_run(&r, words(ARGS("glass", "jars")));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "no experiment 'glass/jars' in");
    sluice_run(&r, words(ARGS("*", "bottles")));
    EXPECT_EXIT(&r, 2);
    sluice_run(&r, ARGS("reproduce", "--experiments", output));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "--experiments: no directory");
}

static void expect_run(const json_t *run, const char *row, int seed)
{
    static const char *const texts[] = {"cpu", "isa", "date"};
    cr_expect_str_eq(json_string_value(json_object_get(run, "row")), row);
    cr_expect_eq(json_integer_value(json_object_get(run, "seed")), seed);
    for (size_t i = 0; i < COUNT(texts); i++)
        cr_expect(json_is_string(json_object_get(run, texts[i])), "%s", texts[i]);
    cr_expect_eq(json_integer_value(json_object_get(run, "threads")), 1);
    cr_expect_gt(json_number_value(json_object_get(run, "wall_seconds")), 0.0);
    cr_expect(json_is_array(json_object_get(run, "train")));
    cr_expect(json_is_array(json_object_get(run, "eval")));
}

static double value_of(const json_t *o, size_t run, const char *metric)
{
    const json_t *one = json_array_get(json_object_get(o, "runs"), run);
    const json_t *value = json_object_get(json_object_get(one, "values"), metric);
    cr_assert(json_is_number(value), "run %zu has no %s", run, metric);
    return json_number_value(value);
}

/* A row is the mean of its seeds beside the paper's value. */
Test(sluice_reproduce, a_table_is_printed_kept_and_not_run_again)
{
    sluice_expect_success(&r, RUN(NULL));
    EXPECT_SAID(r.out, "glass/bottles, sparse, seed 2: training\n");
    EXPECT_SAID(r.out, "On Bottles, table 1");
    json_t *o = read_results(results);
    const json_t *runs = json_object_get(o, "runs"), *rows = json_object_get(o, "rows");
    cr_assert_eq(json_array_size(runs), 4);
    expect_run(json_array_get(runs, 0), "dense", 1);
    expect_run(json_array_get(runs, 3), "sparse", 2);
    cr_assert_eq(json_array_size(rows), 3);
    const json_t *row = json_array_get(rows, 1);
    double mean = (value_of(o, 2, "loss") + value_of(o, 3, "loss")) / 2.0;
    cr_expect_float_eq(json_number_value(json_object_get(row, "ours")), mean, 1e-9);
    cr_expect_float_eq(json_number_value(json_object_get(row, "difference")), mean - 2.0, 1e-9);
    cr_expect_float_eq(json_number_value(json_object_get(row, "paper")), 2.0, 1e-9);
    cr_expect(json_is_true(json_object_get(row, "within")));
    cr_expect_str_eq(json_string_value(json_object_get(json_array_get(rows, 2), "metric")),
                     "gate_mean");
    sluice_expect_success(&r, RUN(NULL));
    EXPECT_SAID(r.out, "glass/bottles, sparse, seed 2: done before\n");
    EXPECT_SAID(r.out, "gate_mean");
    cr_expect_not(strstr(r.out, "training"), "%s", r.out);
    sluice_expect_success(&r, ARGS("reproduce", "--page", results));
    EXPECT_SAID(
        r.out,
        "## Bottles\n\nOn Bottles, table 1:\n\n    sluice reproduce glass bottles\n\n| row | ");
    EXPECT_SAID(r.out, "| dense | loss | 2.0000 |");
    EXPECT_SAID(
        r.out,
        "\n| row | seed | machine | date | wall time |\n|---|---|---|---|---|\n| dense | 1 | ");
    json_decref(o);
}

static const char *read_figure(const char *name)
{
    static char text[1 << 16], path[PATH_MAX];
    test_read_file(text, sizeof text, test_path(path, output, name));
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

/* Lines of evaluations, and points of rows. A row of which the paper says nothing is one, too. */
Test(sluice_reproduce, figures_are_drawn)
{
    write_experiment(
        HEAD "train: --corpus corpus.txt --steps 30 " SIZES
             "\neval: --corpus corpus.txt --validation-fraction 0.02\nquick: --steps 2\nseeds: 1\n"
             "tolerance: {loss: 9, gate_mean: 1}\nfigures:\n"
             "  - {name: curve, title: A < B, about: figure 1, points: evaluations, x: step, "
             "y: validation_loss}\n"
             "  - {name: work, title: W, points: evaluations, x: active_tokens, y: train_loss}\n"
             "  - {name: trade, title: T, points: rows, x: gate_mean, y: loss}\nrows:\n"
             "  - {name: a&b, train: tsa --router-bias -3, paper: {}}\n"
             "  - {name: c, train: tsa --router-bias 1, paper: {loss: 2}}\n");
    sluice_expect_success(&r, RUN(NULL));
    json_t *o = read_results(results);
    const json_t *curve = json_object_get(json_array_get(json_object_get(o, "runs"), 0), "curve");
    const json_t *row = json_array_get(json_object_get(o, "rows"), 0), *last = NULL;
    cr_assert_eq(json_array_size(curve), 3);
    last = json_array_get(curve, 2);
    cr_expect_float_eq(json_number_at(last, "step"), 30.0, 0.0);
    cr_expect_lt(json_number_at(last, "active_tokens"), json_number_at(last, "trained_tokens"));
    cr_expect(json_is_null(json_object_get(row, "paper")));
    cr_expect(json_is_null(json_object_get(row, "within")));
    cr_expect_eq(json_array_size(json_object_get(o, "rows")), 4);
    json_decref(o);
    const char *figure = read_figure("glass/bottles-curve.svg");
    EXPECT_SAID(figure, ">A &lt; B</text>");
    EXPECT_SAID(figure, ">a&amp;b</text>");
    cr_expect_eq(count_of(figure, "<polyline"), 2);
    cr_expect_eq(count_of(read_figure("glass/bottles-work.svg"), "<polyline"), 2);
    figure = read_figure("glass/bottles-trade.svg");
    cr_expect_eq(count_of(figure, "<circle"), 2);
    sluice_expect_success(&r, ARGS("reproduce", "--page", results));
    EXPECT_SAID(r.out, "| a&b | loss |  | ");
    EXPECT_SAID(r.out, "bottles-curve.svg)\n\nThe paper's figure 1.\n");
}

/* Rows of one training differ in how its model is evaluated. */
Test(sluice_reproduce, rows_share_a_training)
{
#define SHARED(last)                                                                               \
    HEAD "train: --corpus corpus.txt --steps 3 " SIZES                                             \
         "\neval: --corpus corpus.txt --validation-fraction 0.02\nquick: --steps 2\nseeds: 1\n"    \
         "tolerance: {loss: 9, layer_ops_skipped: 1}\nrows:\n"                                     \
         "  - {name: all, train: tsa, eval: --gate soft, paper: {loss: 2}}\n"                      \
         "  - {name: last, train: tsa, eval: --gate " last ", paper: {}}\n"
    write_experiment(SHARED("mixed --gate-limit 1"));
    sluice_expect_success(&r, RUN(NULL));
    cr_expect_eq(count_of(r.out, ": training"), 1);
    json_t *o = read_results(results);
    cr_expect_eq(json_array_size(json_object_get(o, "rows")), 4);
    cr_expect_float_eq(value_of(o, 0, "loss"), value_of(o, 1, "loss"), 1e-6);
    json_decref(o);
    write_experiment(SHARED("mixed --gate-limit 0"));
    sluice_expect_success(&r, RUN(NULL));
    EXPECT_SAID(r.out, "all, seed 1: done before");
    o = read_results(results);
    cr_expect_gt(value_of(o, 1, "layer_ops_skipped"), 0.4);
    json_decref(o);
}

/* A difference beyond the tolerance is no failure, but it is said. */
Test(sluice_reproduce, a_row_beyond_the_tolerance_says_no)
{
    write_experiment(HEAD "train: --corpus corpus.txt --steps 3 " SIZES
                          "\neval: --corpus corpus.txt --validation-fraction 0.02\n"
                          "quick: --steps 2\nseeds: 3\ntolerance: {loss: 0.5}\nrows:\n"
                          "  - {name: dense, train: vanilla, paper: {loss: 20}}\n");
    sluice_expect_success(&r, RUN("--json"));
    EXPECT_SAID(r.out, "{\"event\":\"started\"");
    EXPECT_SAID(r.out, "{\"event\":\"result\",\"experiment\":\"glass/bottles\",\"row\":\"dense\"");
    EXPECT_SAID(r.out, "\"within\":false");
}

/* Of other data than the paper's: what lies between rows counts, not what each one gets. */
Test(sluice_reproduce, rows_are_compared_by_their_difference_to_the_first)
{
    write_experiment(HEAD "train: --corpus corpus.txt --steps 3 " SIZES
                          "\neval: --corpus corpus.txt --validation-fraction 0.02\n"
                          "quick: --steps 2\nseeds: 3\ntolerance: {loss: 3}\nbeside: first row\n"
                          "rows:\n  - {name: first, train: vanilla, paper: {loss: 20}}\n"
                          "  - {name: like, train: vanilla, paper: {loss: 20.5}}\n"
                          "  - {name: unlike, train: vanilla, paper: {loss: 24}}\n");
    sluice_expect_success(&r, RUN("--json"));
    json_t *o = read_results(results);
    const json_t *rows = json_object_get(o, "rows");
    cr_expect(json_is_null(json_at(json_array_get(rows, 0), "within")));
    cr_expect(json_is_true(json_at(json_array_get(rows, 1), "within")));
    cr_expect(json_is_false(json_at(json_array_get(rows, 2), "within")));
    cr_expect_float_eq(json_number_at(json_array_get(rows, 1), "difference"), -0.5, 1e-6);
    cr_expect_float_eq(json_number_at(json_array_get(rows, 2), "difference"), -4.0, 1e-6);
    json_decref(o);
}

Test(sluice_reproduce, a_quick_run_is_kept_apart_and_not_compared)
{
    char quick[PATH_MAX];
    sluice_expect_success(&r, RUN("--quick", "--threads", "1"));
    EXPECT_SAID(r.out, "A quick run shows the direction only");
    json_t *o = read_results(test_path(quick, output, "glass/bottles-quick.json"));
    cr_expect(json_is_true(json_object_get(o, "quick")));
    cr_expect(
        json_is_null(json_object_get(json_array_get(json_object_get(o, "rows"), 0), "within")));
    cr_expect_neq(access(results, F_OK), 0);
    json_decref(o);
}

/* Waits until a line of the output has this. */
static void wait_for(FILE *out, const char *part)
{
    char line[8192];
    while (fgets(line, sizeof line, out))
        if (strstr(line, part))
            return;
    cr_assert_fail("no %s", part);
}

/* Interrupted in the middle of a training, the same command gives the same values. */
Test(sluice_reproduce, an_interrupted_training_is_resumed)
{
    FILE *out;
    static char interrupted[PATH_MAX];
    test_path(interrupted, dirs.top, "interrupted");
    write_experiment(EXPERIMENT("600"));
    sluice_expect_success(&r, RUN(NULL));
    json_t *whole = read_results(results);
    memcpy(output, interrupted, sizeof output);
    test_path(results, output, "glass/bottles.json");
    pid_t pid = sluice_start(RUN("--json"), &out);
    wait_for(out, "\"event\":\"evaluated\"");
    cr_assert_eq(kill(pid, SIGINT), 0);
    while (fgetc(out) != EOF) {
    }
    (void)fclose(out);
    cr_expect_eq(program_wait(pid), 1);
    sluice_expect_success(&r, RUN(NULL));
    EXPECT_SAID(r.out, "glass/bottles, dense, seed 1: resuming\n");
    json_t *resumed = read_results(results);
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(value_of(whole, i, "loss"), value_of(resumed, i, "loss"), "run %zu", i);
    json_decref(whole);
    json_decref(resumed);
}

/* Made data needs no --data, and completions have an accuracy. */
Test(sluice_reproduce, data_of_synthetic_tasks_is_made)
{
    char made[PATH_MAX], text[4096];
    write_experiment("title: Order\npaper: On Order\ndata:\n"
                     "  - {file: o.txt, generate: sort, lines: 200, length: 4, seed: 5}\n"
                     "train: --corpus o.txt --prompt-separator | --steps 8 " SIZES "\n"
                     "eval: --corpus o.txt --prompt-separator |\nquick: --steps 2\nseeds: 1\n"
                     "tolerance: {accuracy: 1}\nrows:\n"
                     "  - {name: a, train: vanilla, paper: {accuracy: 1}}\n");
    sluice_expect_success(&r, words(ARGS("glass", "bottles", "--output", output)));
    test_read_file(text, sizeof text, test_path(made, output, "glass/bottles/o.txt"));
    cr_assert_eq(strlen(text), 200 * 10);
    for (const char *line = text; *line; line += 10) {
        cr_assert(line[4] == '|' && line[9] == '\n', "%.10s", line);
        for (int i = 0; i < 4; i++) {
            cr_assert(memchr(line, line[5 + i], 4), "%.10s", line);
            cr_assert(i == 0 || line[4 + i] <= line[5 + i], "%.10s", line);
        }
    }
    json_t *o = read_results(results);
    double accuracy = value_of(o, 0, "accuracy");
    cr_expect(accuracy >= 0.0 && accuracy <= 1.0);
    json_decref(o);
}

Test(sluice_reproduce, a_training_that_fails_says_why)
{
    write_experiment(HEAD "train: --corpus corpus.txt --stepz 3\nquick: --steps 2\nseeds: 1\n"
                          "tolerance: {best_accuracy: 1}\nrows:\n"
                          "  - {name: a, train: vanilla, paper: {best_accuracy: 1}}\n");
    sluice_run(&r, RUN(NULL));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "sluice train: unknown option --stepz");
    EXPECT_SAID(r.err, "sluice reproduce: `sluice train` failed with exit code 2");
}

Test(sluice_reproduce, damaged_results_are_refused)
{
    sluice_expect_success(&r, RUN("--quick"));
    static char quick[PATH_MAX];
    test_write_file(test_path(quick, output, "glass/bottles-quick.json"), "[]");
    sluice_run(&r, RUN("--quick"));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "bottles-quick.json");
    test_write_file(quick, "{}");
    sluice_run(&r, RUN("--quick"));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "has no results");
}
