/* test_sluice_paths.c - where the sluice program writes: what it does not write over or leave
 * behind, and that a run is of one process at a time. */
#include "base/model_names.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <errno.h>
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

TestSuite(sluice_paths, .init = setup, .fini = teardown);

/* A small training: `more` follows; valid until the next call. */
static const char *const *small_and(const char *directory, const char *model,
                                    const char *const *more)
{
    static const char *words[32];
    static const char *const sizes[] = {
        "--threads",        "1", "--width",      "16", "--heads", "2", "--depth", "1",
        "--context-length", "8", "--batch-size", "2",  "--json",  NULL};
    size_t count = 0;
    words[count++] = "train";
    words[count++] = "vanilla";
    words[count++] = "--run-dir";
    words[count++] = directory;
    words[count++] = "--output";
    words[count++] = model;
    for (size_t i = 0; sizes[i]; i++)
        words[count++] = sizes[i];
    for (; *more; more++) {
        cr_assert_lt(count, COUNT(words) - 1);
        words[count++] = *more;
    }
    words[count] = NULL;
    return words;
}

static void expect_refused(const char *const *words, const char *named, const char *accepted)
{
    static struct program_result r;
    sluice_run(&r, words);
    cr_expect(r.exit_code == 1 || r.exit_code == 2, "status %d: %s", r.exit_code, r.err);
    cr_expect(strstr(r.err, named), "'%s' is not in: %s", named, r.err);
    cr_expect(strstr(r.err, accepted), "'%s' is not in: %s", accepted, r.err);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];
    return access(test_path(path, dirs.top, name), F_OK) == 0;
}

/* -- what may be there ------------------------------------------------------------------------ */

Test(sluice_paths, what_is_not_ours_is_not_written_over)
{
    static struct program_result r;
    char inside[PATH_MAX], mine[PATH_MAX], file[PATH_MAX];
    struct stat status;
    const struct usage_error mistakes[] = {
        {{"init", "vanilla", "--corpus", dirs.corpus, "--output", mine},
         2,
         "diary.txt",
         "written by"},
        {{"train", "vanilla", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--output", mine},
         2,
         "diary.txt",
         "written by"},
        {{"train", "vanilla", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--output", inside},
         2,
         "is inside --run-dir",
         "another directory"},
        {{"train", "vanilla", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--output", dirs.run},
         2,
         "is inside --run-dir",
         "another directory"},
        {{"vocab", "words", "--output", "/dev/null", dirs.corpus},
         2,
         "/dev/null",
         "not a regular file"},
    };
    cr_assert_eq(mkdir(test_path(mine, dirs.top, "mine"), S_IRWXU), 0);
    cr_assert_eq(mkdir(test_path(mine, dirs.top, "mine/1"), S_IRWXU), 0);
    test_write_file(test_path(file, mine, "diary.txt"), "Dear diary");
    (void)test_path(inside, dirs.run, "state/1");
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
    cr_expect_eq(access(file, F_OK), 0);
    cr_expect(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
    cr_assert_eq(unlink(file), 0);
    sluice_expect_success(&r, ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", mine,
                                   "--width", "8", "--heads", "1"));
    cr_expect(strstr(r.out, "parameters, untrained"), "%s", r.out);
    expect_refused(ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", mine), mine,
                   "already has a model");
}

/* Known before the training, not after it. */
Test(sluice_paths, an_output_below_a_file_or_a_link_to_nothing_is_refused)
{
    char file[PATH_MAX], link[PATH_MAX], below_file[PATH_MAX], below_link[PATH_MAX];
    test_write_file(test_path(file, dirs.top, "file"), "mine");
    cr_assert_eq(symlink("/nowhere/at/all", test_path(link, dirs.top, "link")), 0);
    const char *const data = dirs.corpus; /* is not read */
    const struct usage_error mistakes[] = {
        {{"train", "--data", data, "--output", test_path(below_file, file, "1")},
         2,
         "--output: '",
         "file' is a file: expected a directory"},
        {{"train", "--data", data, "--output", test_path(below_link, link, "mood/1")},
         1,
         "--output: cannot write to '",
         "link': No such file or directory"},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* A model directory with a run in it could not be loaded. */
Test(sluice_paths, a_run_takes_no_directory_of_something_else)
{
    static struct program_result r;
    char other[PATH_MAX], store[PATH_MAX], below[PATH_MAX];
    (void)test_path(below, dirs.output, "runs/mine");
    (void)test_path(other, dirs.top, "models/mine/1");
    (void)test_path(store, dirs.top, "store");
    sluice_make_model(&dirs);
    expect_refused(small_and(dirs.output, other, ARGS("--corpus", dirs.corpus, "--steps", "2")),
                   dirs.output, "does not belong to a run");
    expect_refused(small_and(store, other, ARGS("--corpus", dirs.corpus, "--steps", "2")),
                   "does not belong to a run", "empty or holds a run");
    expect_refused(small_and(below, other, ARGS("--corpus", dirs.corpus, "--steps", "2")), below,
                   "holds a model");
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
    cr_expect_not(is_there("store/state"));
}

Test(sluice_paths, a_model_goes_where_it_is_served)
{
    char flat[PATH_MAX], zero[PATH_MAX], third[PATH_MAX], below[PATH_MAX], padded[PATH_MAX];
    sluice_make_model(&dirs);
    (void)test_path(flat, dirs.top, "models/flat");
    (void)test_path(zero, dirs.top, "models/flat/0");
    (void)test_path(third, dirs.top, "models/flat/v3/");
    (void)test_path(below, dirs.output, "1");
    (void)test_path(padded, dirs.top, "models/flat/01");
    expect_refused(small_and(dirs.run, padded, ARGS("--corpus", dirs.corpus)),
                   "without leading zeros; try ", "models/flat/1\n");
    expect_refused(small_and(dirs.run, flat, ARGS("--corpus", dirs.corpus)), "models/flat'",
                   "must be a version, a whole number from 1 to ");
    expect_refused(small_and(dirs.run, zero, ARGS("--corpus", dirs.corpus)), "must be a version",
                   "models/flat/1\n");
    expect_refused(small_and(dirs.run, third, ARGS("--corpus", dirs.corpus)), "must be a version",
                   "models/flat/3\n");
    expect_refused(small_and(dirs.run, below, ARGS("--corpus", dirs.corpus)), dirs.output,
                   "holds a model");
    (void)test_path(below, dirs.output, "deep/below/1");
    expect_refused(small_and(dirs.run, below, ARGS("--corpus", dirs.corpus)), dirs.output,
                   "holds a model");
    expect_refused(ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", flat),
                   "must be a version", "models/flat/1");
    cr_expect_not(is_there("models"));
    cr_expect_not(is_there("run"));
}

/* By the rule of the daemon, before the training: what it would not serve is not written. */
Test(sluice_paths, a_model_has_a_name_that_the_daemon_serves)
{
    static const char *const bad[] = {"my model", "\xC3\xBCn\xC3\xAF", "a:b2", "-x", "_x"};
    static struct program_result r;
    char path[PATH_MAX + 32];
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)snprintf(path, sizeof path, "%s/store/%s/1", dirs.top, bad[i]);
        expect_refused(small_and(dirs.run, path, ARGS("--corpus", dirs.corpus)),
                       "cannot be the model's name: " SL_MODEL_NAME_RULE, bad[i]);
    }
    cr_expect_not(is_there("store"));
    (void)test_path(path, dirs.top, "store/at/1795775185");
    sluice_expect_success(&r, ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", path,
                                   "--width", "8", "--heads", "1"));
    expect_refused(ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output", path),
                   "already has a model", "store/at/1795775186");
}

Test(sluice_paths, a_store_may_be_new_and_its_name_short)
{
    static struct program_result r;
    cr_assert_eq(chdir(dirs.top), 0);
    sluice_expect_success(&r, ARGS("init", "vanilla", "--corpus", dirs.corpus, "--output",
                                   "m/bottles/1", "--width", "8", "--heads", "1"));
    cr_expect(is_there("m/bottles/1/manifest.json"));
}

Test(sluice_paths, a_missing_model_is_reported_with_a_suggestion)
{
    char entry[PATH_MAX], other[PATH_MAX], version[PATH_MAX + 16];
    sluice_make_model(&dirs);
    (void)test_path(entry, dirs.top, "store/bottles");
    (void)test_path(other, dirs.top, "store/bottles/9");
    (void)snprintf(version, sizeof version, "did you mean %s?", dirs.output);
    const struct usage_error mistakes[] = {
        {{"generate", entry, "--prompt", "1"}, 2, "no model in", version},
        {{"inspect", entry}, 2, "no model in", version},
        {{"eval", entry, "--corpus", dirs.corpus}, 2, "no model in", version},
        {{"classify", entry, dirs.corpus}, 2, "no model in", version},
        {{"train", "tsa", "--init-from", entry}, 2, "no model in", version},
        {{"train", "tsa", "--corpus", dirs.corpus, "--teacher", entry},
         2,
         "--teacher: no model in",
         version},
        {{"inspect", other}, 2, strerrordesc_np(ENOENT), version},
        {{"inspect", "/nowhere"}, 2, "no model in '/nowhere'", strerrordesc_np(ENOENT)},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* -- what is left behind ---------------------------------------------------------------------- */

Test(sluice_paths, a_rejected_run_leaves_nothing)
{
    char latin[PATH_MAX], data[PATH_MAX], deep[PATH_MAX], model[PATH_MAX];
    test_write_file(test_path(latin, dirs.top, "latin1.txt"),
                    "caf\xe9, and more of it than a context has");
    test_write_file(test_path(data, dirs.top, "data.tsv"), "good\tfine\nbad\tnot fine\n");
    (void)test_path(deep, dirs.top, "runs/of/mine");
    (void)test_path(model, dirs.top, "models/mine/1");
    expect_refused(small_and(deep, model, ARGS("--corpus", latin)), "latin1.txt", "UTF-8");
    expect_refused(small_and(deep, model, ARGS("--corpus", dirs.corpus, "--resume")),
                   "nothing to resume in", "leave out --resume");
    expect_refused(small_and(deep, model, ARGS("--data", data, "--label", "7", "--text", "2")),
                   "column", "7");
    cr_expect_not(is_there("runs"));
    cr_expect_not(is_there("models"));
}

static void wait_for_line(FILE *out)
{
    char line[2048];
    cr_assert(fgets(line, sizeof line, out), "it said nothing");
}

Test(sluice_paths, a_training_that_is_stopped_leaves_its_run_alone)
{
    char model[PATH_MAX];
    (void)test_path(model, dirs.top, "models/mine/1");
    FILE *out;
    pid_t pid = sluice_start(
        small_and(dirs.run, model, ARGS("--corpus", dirs.corpus, "--steps", "100000000")), &out);
    wait_for_line(out);
    cr_assert_eq(kill(pid, SIGINT), 0);
    while (fgetc(out) != EOF)
        continue;
    cr_assert_eq(fclose(out), 0);
    cr_expect_eq(program_wait(pid), 0);
    cr_expect(is_there("run/state"));
    cr_expect_not(is_there("models"));
}

/* -- one at a time ---------------------------------------------------------------------------- */

Test(sluice_paths, a_run_is_of_one_process_at_a_time)
{
    static struct program_result r;
    char other[PATH_MAX];
    (void)test_path(other, dirs.top, "store/bottles/2");
    FILE *out;
    pid_t pid = sluice_start(
        small_and(dirs.run, dirs.output, ARGS("--corpus", dirs.corpus, "--steps", "2000")), &out);
    wait_for_line(out);
    cr_assert_eq(kill(pid, SIGSTOP), 0); /* so that it does not end before the others come */
    expect_refused(small_and(dirs.run, other, ARGS("--corpus", dirs.corpus, "--resume")),
                   "another process is training in", dirs.run);
    expect_refused(small_and(dirs.run, other, ARGS("--corpus", dirs.corpus)),
                   "another process is training in", dirs.run);
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_expect_eq(program_wait(pid), -1);
    cr_assert_eq(fclose(out), 0);
    sluice_expect_success(&r,
                          small_and(dirs.run, dirs.output,
                                    ARGS("--corpus", dirs.corpus, "--steps", "2000", "--resume")));
    cr_expect(is_there("store/bottles/1/manifest.json"));
}

/* Each has a run of its own. */
Test(sluice_paths, an_output_is_of_one_training_at_a_time)
{
    static struct program_result r;
    char other[PATH_MAX], data[PATH_MAX];
    (void)test_path(other, dirs.top, "other-run");
    test_write_file(test_path(data, dirs.top, "data.tsv"),
                    "label\ttext\na\tone\na\ttwo\nb\tthree\nb\tfour\n");
    FILE *out;
    pid_t pid = sluice_start(
        small_and(dirs.run, dirs.output, ARGS("--corpus", dirs.corpus, "--steps", "2000")), &out);
    wait_for_line(out);
    cr_assert_eq(kill(pid, SIGSTOP), 0); /* so that it does not end before the others come */
    expect_refused(small_and(other, dirs.output, ARGS("--corpus", dirs.corpus)),
                   "another process is writing", dirs.output);
    expect_refused(ARGS("train", "--data", data, "--output", dirs.output),
                   "another process is writing", dirs.output);
    cr_expect_not(is_there("other-run"));
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_expect_eq(program_wait(pid), -1);
    cr_assert_eq(fclose(out), 0);
    sluice_expect_success(&r, ARGS("train", "--data", data, "--output", dirs.output));
    expect_refused(small_and(other, dirs.output, ARGS("--corpus", dirs.corpus)),
                   "already has a model", "--overwrite");
}

/* -- names ------------------------------------------------------------------------------------ */

/* JSON is UTF-8, names of files are any bytes: what is said of them is there all the same. */
Test(sluice_paths, names_that_are_not_utf8_are_reported)
{
    static struct program_result r;
    char text[PATH_MAX], model[PATH_MAX], path[PATH_MAX];
    cr_assert_eq(rename(dirs.corpus, test_path(text, dirs.top, "caf\xE9.txt")), 0);
    (void)test_path(model, dirs.top, "mod\xE8le/m/1");
    sluice_expect_success(&r, small_and(dirs.run, model, ARGS("--corpus", text, "--steps", "2")));
    cr_expect(strstr(r.out, "mod\uFFFDle/m/1\""), "%s", r.out);
    test_read_file(r.out, sizeof r.out, test_path(path, model, "config.json"));
    cr_expect(strstr(r.out, "\"corpus\": \"caf\uFFFD.txt\""), "%s", r.out);
    sluice_expect_success(&r, ARGS("init", "vanilla", "--corpus", text, "--width", "16", "--json",
                                   "--output", test_path(model, dirs.top, "mod\xE8le/m/2")));
    cr_expect(strstr(r.out, "mod\uFFFDle/m/2\""), "%s", r.out);
}
