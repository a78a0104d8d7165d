/* test_sluice_translate.c - `sluice train --task translation` and `sluice translate`: pairs that
 * were learnt by heart come back, and mistakes are named. */
#include "base/file.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static struct workspace w;
static struct program_result r;
static char pairs[PATH_MAX], texts[PATH_MAX];

static void write_file(const char *path, const char *text)
{
    struct sl_err err;
    EXPECT_OK(sl_file_replace(path, &(struct sl_slice){text, strlen(text)}, 1, &err), err);
}

static void setup(void)
{
    sluice_setup(&w);
    (void)test_path(pairs, w.top, "pairs.tsv");
    (void)test_path(texts, w.top, "texts.txt");
    write_file(pairs, "one dog\tein Hund\none cat\teine Katze\ntwo dogs\tzwei Hunde\n"
                      "two cats\tzwei Katzen\nthree dogs\tdrei Hunde\nthree cats\tdrei Katzen\n");
}

static void teardown(void)
{
    workspace_remove(&w);
}

TestSuite(sluice_translate, .init = setup, .fini = teardown);

#define TRAIN(architecture, ...)                                                                   \
    ARGS("train", architecture, "--task", "translation", "--data", pairs, "--validation", pairs,   \
         "--cased", "--vocab-size", "100", "--width", "32", "--depth", "1", "--heads", "2",        \
         "--ffn-width", "64", "--context-length", "16", "--dropout", "0", "--batch-size", "6",     \
         "--learning-rate", "0.01", "--epochs", "120", "--run-dir", w.run, "--output", w.output,   \
         __VA_ARGS__)

static void expect_learnt(const char *architecture, const char *extra, const char *value)
{
    write_file(texts, "two cats\n\none dog\n");
    sluice_expect_success(&r, TRAIN(architecture, extra, value));
    sluice_expect_success(&r, ARGS("translate", w.output, texts));
    cr_expect_str_eq(r.out, "zwei Katzen\n\nein Hund\n", "%s", architecture);
    sluice_expect_success(&r, ARGS("translate", w.output, texts, "--beam", "1", "--json"));
    cr_expect(strstr(r.out, "{\"line\":1,\"translation\":\"zwei Katzen\",\"log_probability\":-0."),
              "%s", r.out);
    cr_expect(strstr(r.out, "{\"line\":2,\"translation\":\"\","), "%s", r.out);
    sluice_expect_success(&r, ARGS("eval", w.output, "--data", pairs, "--json"));
    cr_expect(strstr(r.out, "{\"bleu\":") && strstr(r.out, ",\"chrf\":100,"), "%s", r.out);
}

Test(sluice_translate, the_transformer_learns_pairs_by_heart)
{
    expect_learnt("vanilla", "--label-smoothing", "0.1");
}

Test(sluice_translate, transevolve_learns_pairs_by_heart)
{
    expect_learnt("transevolve", "--blocks", "1");
}

Test(sluice_translate, columns_are_chosen_by_name)
{
    write_file(pairs, "de,en\nein Hund,one dog\nzwei Hunde,two dogs\n");
    sluice_expect_success(
        &r, TRAIN("vanilla", "--source", "en", "--target", "de", "--format", "csv", "--seed", "3"));
    write_file(texts, "two dogs\n");
    sluice_expect_success(&r, ARGS("translate", w.output, texts));
    cr_expect_str_eq(r.out, "zwei Hunde\n");
}

static void expect_error(const char *const *arguments, const char *why)
{
    sluice_run(&r, arguments);
    cr_expect_neq(r.exit_code, 0);
    cr_expect(strstr(r.err, why), "%s, not %s", r.err, why);
}

Test(sluice_translate, mistakes_are_named)
{
    expect_error(TRAIN("tsa", NULL), "tsa does not translate; these do: vanilla, transevolve");
    expect_error(TRAIN("vanilla", "--tokenizer", "words"), "invalid tokenizer 'words'");
    expect_error(TRAIN("vanilla", "--target", "3"), "pairs.tsv");
    write_file(pairs, "one\teins\ntwo\n");
    expect_error(TRAIN("vanilla", NULL), "line 2");
    expect_error(ARGS("train", "vanilla", "--data", pairs, "--source", "1", "--run-dir", w.run),
                 "--source and --target are for --task translation");
    expect_error(ARGS("train", "vanilla", "--data", pairs, "--task", "poetry", "--run-dir", w.run),
                 "invalid --task 'poetry': expected classification or translation");
    expect_error(ARGS("eval", SL_SOURCE_DIR "/models/shakespeare/1", "--data", pairs),
                 "evaluate it with --corpus");
    expect_error(ARGS("translate", SL_SOURCE_DIR "/models/shakespeare/1", texts),
                 "the model is for completion");
}
