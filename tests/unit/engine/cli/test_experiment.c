/* test_experiment.c - files of experiments: what is read, and what is wrong with a file, with its
 * place. */
#include "cli/reproduce/experiment.h"
#include "support/test.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static char directory[PATH_MAX], path[PATH_MAX];
static struct experiment e;

static void setup(void)
{
    char folder[PATH_MAX];
    test_directory_create(directory);
    cr_assert_eq(mkdir(test_path(folder, directory, "paper"), 0700), 0);
    test_path(path, directory, "paper/name.yaml");
}

static void teardown(void)
{
    experiment_close(&e);
    test_directory_remove(directory);
}

TestSuite(experiment, .init = setup, .fini = teardown);

static bool open_text(const char *text, struct sl_err *err)
{
    test_write_file(path, text);
    return experiment_open(&e, path, err);
}

#define TOP                                                                                        \
    "title: T\npaper: P\ndata: [{file: a.txt, origin: here}]\ntrain: --steps 2\nquick: --steps 1\n"
#define ROWS "rows: [{name: r, train: tsa, paper: {loss: 1.5}}]\n"
#define GOOD TOP "eval: --corpus a.txt\nseeds: 1 2\ntolerance: {loss: 0.1}\n" ROWS

Test(experiment, a_file_is_read)
{
    struct sl_err err;
    EXPECT_OK(open_text(GOOD, &err), err);
    cr_expect_str_eq(e.id, "paper/name");
    cr_expect_str_eq(e.title, "T");
    cr_expect_null(e.url);
    cr_expect_str_eq(e.data[0].origin, "here");
    cr_expect_eq(e.seed_count, 2);
    cr_expect_eq(e.seeds[1], 2);
    cr_expect_eq(e.row_count, 1);
    cr_expect_eq(e.rows[0].paper[METRIC_LOSS], 1.5);
    cr_expect(isnan(e.rows[0].paper[METRIC_ACCURACY]));
    cr_expect_eq(e.tolerance[METRIC_LOSS], 0.1);
}

Test(experiment, mistakes_are_named_with_their_place)
{
    static const struct {
        const char *text, *place, *said;
    } cases[] = {
        {"", "name.yaml", "the file is empty"},
        {"- a\n", "name.yaml:1:1", "the file is a list"},
        {"titel: T\n", "name.yaml:1:1", "unknown key 'titel'; did you mean title?"},
        {GOOD "title: U\n", "name.yaml:10:1", "'title' is already set in line 1"},
        {"title: T\n", "name.yaml:1:1", "the file lacks 'paper'"},
        {"title: ''\n", "name.yaml:1:8", "title is empty"},
        {"title: [a]\n", "name.yaml:1:8", "title is a list"},
        {"title: \"a\\0b\"\n", "name.yaml:1:8", "NUL"},
        {"data: a\n", "name.yaml:1:7", "data is a single value"},
        {"data: []\n", "name.yaml:1:7", "data has 0 items: expected 1 to 8"},
        {"data: [{file: a}]\n", "name.yaml:1:8", "data 'a': expected 'origin', or 'generate'"},
        {"data: [{file: ../a, origin: b}]\n", "name.yaml:1:15", "invalid file '../a'"},
        {"data: &a [*a]\n", "name.yaml:1:7", "an item of data is a list"},
        {"data: [{origin: b, size: 3}]\n", "name.yaml:1:20", "unknown key 'size'"},
        {"data: [{file: a, generate: sorted}]\n", "name.yaml:1:28", "did you mean sort?"},
        {"data: [{file: a, generate: sort, lines: 0}]\n", "name.yaml:1:41", "invalid lines '0'"},
        {"data: [{file: a, generate: sort, lines: 2, length: 3}]\n", "name.yaml:1:8", "'seed'"},
        {"data: [{file: a, origin: b, lines: 2}]\n", "name.yaml:1:8", "expected 'origin', or"},
        {GOOD "beside: last row\n", "name.yaml", "invalid beside 'last row'"},
        {"seeds: 1 x\n", "name.yaml:1:8", "invalid seeds"},
        {"seeds: -1\n", "name.yaml:1:8", "invalid seeds"},
        {"seeds: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n", "name.yaml:1:8", "1 to 16"},
        {"seeds: ' '\n", "name.yaml:1:8", "seeds is empty"},
        {"tolerance: {lost: 1}\n", "name.yaml:1:13", "unknown key 'lost'; did you mean loss?"},
        {"tolerance: {loss: -1}\n", "name.yaml:1:19", "invalid loss '-1'"},
        {"tolerance: {loss: nan}\n", "name.yaml:1:19", "invalid loss 'nan'"},
        {"tolerance: 3\n", "name.yaml:1:12", "tolerance is a single value"},
        {"figures: [{name: f, title: t, points: lines, x: step, y: loss}]\n", "name.yaml:1:39",
         "unknown kind of points 'lines'; choose one of: evaluations, rows"},
        {"figures: [{name: f, title: t, points: rows, x: step, y: loss}]\n", "name.yaml:1:11",
         "figure 'f': unknown 'step'"},
        {"figures: [{name: f, title: t, points: evaluations, x: step, y: loss}]\n",
         "name.yaml:1:11", "figure 'f': unknown 'loss'"},
        {"rows: [{name: a b, train: t, paper: {loss: 1}}]\n", "name.yaml:1:15", "invalid name"},
        {"rows: [{name: a, train: t, paper: {loss: 1}}, {name: a, train: t, paper: {loss: 1}}]\n",
         "name.yaml:1:47", "a second row is named 'a'"},
        {TOP "seeds: 1\ntolerance: {accuracy: 0.1}\n" ROWS, "name.yaml",
         "tolerance lacks loss, which row 'r' has"},
        {TOP "seeds: 1\ntolerance: {loss: 0.1}\n" ROWS, "name.yaml", "loss needs 'eval'"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_err err;
        EXPECT_FAIL(open_text(cases[i].text, &err), err, SL_BAD_INPUT, cases[i].place);
        EXPECT_FAIL(open_text(cases[i].text, &err), err, SL_BAD_INPUT, cases[i].said);
    }
}
