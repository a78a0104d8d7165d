/* test_tool_places.c - where the offline tool writes: what it does not write over, what it does not
 * leave behind, and that a run is of one process at a time. */
#include "support/tool.h"

TestSuite(tool_places, .init = setup, .fini = teardown);

/* A small training: `more` follows; valid until the next call. */
static const char *const *small_and(const char *directory, const char *model,
                                    const char *const *more)
{
    static const char *words[32];
    static const char *const sizes[] = {"--threads", "1",       "--width", "16",        "--heads",
                                        "2",         "--depth", "1",       "--context", "8",
                                        "--batch",   "2",       "--json",  NULL};
    size_t count = 0;
    words[count++] = "train";
    words[count++] = "vanilla";
    words[count++] = "--run";
    words[count++] = directory;
    words[count++] = "--out";
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
    static struct result r;
    run(&r, words);
    cr_expect(r.status == 1 || r.status == 2, "status %d: %s", r.status, r.err);
    cr_expect(strstr(r.err, named), "'%s' is not in: %s", named, r.err);
    cr_expect(strstr(r.err, accepted), "'%s' is not in: %s", accepted, r.err);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];
    return access(test_path(path, top, name), F_OK) == 0;
}

/* -- what may be there ------------------------------------------------------------------------ */

Test(tool_places, what_is_not_ours_is_not_written_over)
{
    static struct result r;
    char inside[PATH_MAX], mine[PATH_MAX], file[PATH_MAX];
    struct stat status;
    const struct mistake mistakes[] = {
        {{"init", "vanilla", "--corpus", corpus, "--out", mine}, 2, "diary.txt", "written by"},
        {{"train", "vanilla", "--corpus", corpus, "--run", run_path, "--out", mine},
         2,
         "diary.txt",
         "written by"},
        {{"train", "vanilla", "--corpus", corpus, "--run", run_path, "--out", inside},
         2,
         "lies in --run",
         "another place"},
        {{"train", "vanilla", "--corpus", corpus, "--run", run_path, "--out", run_path},
         2,
         "lies in --run",
         "another place"},
        {{"vocab", "words", "--out", "/dev/null", corpus}, 2, "/dev/null", "not a plain file"},
    };
    cr_assert_eq(mkdir(test_path(mine, top, "mine"), S_IRWXU), 0);
    cr_assert_eq(mkdir(test_path(mine, top, "mine/1"), S_IRWXU), 0);
    test_write_file(test_path(file, mine, "diary.txt"), "Dear diary");
    (void)test_path(inside, run_path, "state/1");
    expect_messages(mistakes, COUNT(mistakes));
    cr_expect_eq(access(file, F_OK), 0);
    cr_expect(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
    cr_assert_eq(unlink(file), 0);
    expect_success(&r, WORDS("init", "vanilla", "--corpus", corpus, "--out", mine, "--width", "8",
                             "--heads", "1"));
    cr_expect(strstr(r.out, "parameters, as drawn"), "%s", r.out);
    expect_refused(WORDS("init", "vanilla", "--corpus", corpus, "--out", mine), mine,
                   "there is a model");
}

/* A model with a run in it could be loaded by nobody. */
Test(tool_places, a_run_takes_no_directory_of_something_else)
{
    static struct result r;
    char other[PATH_MAX], store[PATH_MAX], below[PATH_MAX];
    (void)test_path(below, out, "runs/mine");
    (void)test_path(other, top, "models/mine/1");
    (void)test_path(store, top, "store");
    make_model();
    expect_refused(small_and(out, other, WORDS("--corpus", corpus, "--steps", "2")), out,
                   "no part of a run");
    expect_refused(small_and(store, other, WORDS("--corpus", corpus, "--steps", "2")),
                   "no part of a run", "is empty or holds a run");
    expect_refused(small_and(below, other, WORDS("--corpus", corpus, "--steps", "2")), below,
                   "has a model in it");
    expect_success(&r, WORDS("inspect", out));
    cr_expect_not(is_there("store/state"));
}

Test(tool_places, a_model_goes_where_it_is_served)
{
    char flat[PATH_MAX], zero[PATH_MAX], third[PATH_MAX], below[PATH_MAX];
    make_model();
    (void)test_path(flat, top, "models/flat");
    (void)test_path(zero, top, "models/flat/0");
    (void)test_path(third, top, "models/flat/v3/");
    (void)test_path(below, out, "1");
    expect_refused(small_and(run_path, flat, WORDS("--corpus", corpus)), "models/flat'",
                   "a number from 1: ");
    expect_refused(small_and(run_path, zero, WORDS("--corpus", corpus)), "the version",
                   "models/flat/1\n");
    expect_refused(small_and(run_path, third, WORDS("--corpus", corpus)), "the version",
                   "models/flat/3\n");
    expect_refused(small_and(run_path, below, WORDS("--corpus", corpus)), out, "a model itself");
    (void)test_path(below, out, "deep/below/1");
    expect_refused(small_and(run_path, below, WORDS("--corpus", corpus)), out, "a model itself");
    expect_refused(WORDS("init", "vanilla", "--corpus", corpus, "--out", flat), "the version",
                   "models/flat/1");
    cr_expect_not(is_there("models"));
    cr_expect_not(is_there("run"));
}

Test(tool_places, a_store_may_be_new_and_its_name_short)
{
    static struct result r;
    cr_assert_eq(chdir(top), 0);
    expect_success(&r, WORDS("init", "vanilla", "--corpus", corpus, "--out", "m/bottles/1",
                             "--width", "8", "--heads", "1"));
    cr_expect(is_there("m/bottles/1/manifest.json"));
}

Test(tool_places, a_model_that_is_not_there_is_told_with_what_is)
{
    char entry[PATH_MAX], other[PATH_MAX], version[PATH_MAX + 16];
    make_model();
    (void)test_path(entry, top, "store/bottles");
    (void)test_path(other, top, "store/bottles/9");
    (void)snprintf(version, sizeof version, "there is %s", out);
    const struct mistake mistakes[] = {
        {{"generate", entry, "--prompt", "1"}, 1, "no model in", version},
        {{"inspect", entry}, 1, "no model in", version},
        {{"eval", entry, "--corpus", corpus}, 1, "no model in", version},
        {{"classify", entry, corpus}, 1, "no model in", version},
        {{"train", "tsa", "--from", entry}, 1, "no model in", version},
        {{"inspect", other}, 1, "No such file or directory; ", version},
        {{"inspect", "/nowhere"}, 1, "no model in '/nowhere'", "No such file"},
    };
    expect_messages(mistakes, COUNT(mistakes));
}

/* -- what is left behind ---------------------------------------------------------------------- */

Test(tool_places, a_refused_training_leaves_nothing)
{
    char latin[PATH_MAX], data[PATH_MAX], deep[PATH_MAX], model[PATH_MAX];
    test_write_file(test_path(latin, top, "latin1.txt"),
                    "caf\xe9, and more of it than a context has");
    test_write_file(test_path(data, top, "data.tsv"), "good\tfine\nbad\tnot fine\n");
    (void)test_path(deep, top, "runs/of/mine");
    (void)test_path(model, top, "models/mine/1");
    expect_refused(small_and(deep, model, WORDS("--corpus", latin)), "latin1.txt", "UTF-8");
    expect_refused(small_and(deep, model, WORDS("--corpus", corpus, "--resume")),
                   "there is no run in", "leave out --resume");
    expect_refused(small_and(deep, model, WORDS("--data", data, "--label", "7", "--text", "2")),
                   "column", "7");
    cr_expect_not(is_there("runs"));
    cr_expect_not(is_there("models"));
}

static void wait_for_line(struct child *c)
{
    char line[2048];
    cr_assert(fgets(line, sizeof line, c->out), "it said nothing");
}

Test(tool_places, a_training_that_is_stopped_leaves_its_run_alone)
{
    char model[PATH_MAX];
    (void)test_path(model, top, "models/mine/1");
    struct child c =
        start(small_and(run_path, model, WORDS("--corpus", corpus, "--steps", "100000000")));
    wait_for_line(&c);
    cr_assert_eq(kill(c.pid, SIGINT), 0);
    while (fgetc(c.out) != EOF)
        continue;
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_eq(status_of(c.pid), 0);
    cr_expect(is_there("run/state"));
    cr_expect_not(is_there("models"));
}

/* -- one at a time ---------------------------------------------------------------------------- */

Test(tool_places, a_run_is_of_one_process_at_a_time)
{
    static struct result r;
    char other[PATH_MAX];
    (void)test_path(other, top, "store/bottles/2");
    struct child c = start(small_and(run_path, out, WORDS("--corpus", corpus, "--steps", "2000")));
    wait_for_line(&c);
    cr_assert_eq(kill(c.pid, SIGSTOP), 0); /* so that it does not end before the others come */
    expect_refused(small_and(run_path, other, WORDS("--corpus", corpus, "--resume")),
                   "another process is training in", run_path);
    expect_refused(small_and(run_path, other, WORDS("--corpus", corpus)),
                   "another process is training in", run_path);
    cr_assert_eq(kill(c.pid, SIGKILL), 0);
    cr_expect_eq(status_of(c.pid), -1);
    cr_assert_eq(fclose(c.out), 0);
    expect_success(
        &r, small_and(run_path, out, WORDS("--corpus", corpus, "--steps", "2000", "--resume")));
    cr_expect(is_there("store/bottles/1/manifest.json"));
}

/* -- names ------------------------------------------------------------------------------------ */

/* JSON is UTF-8, names of files are any bytes: what is said of them is there all the same. */
Test(tool_places, names_that_are_not_utf8_are_told_as_far_as_they_go)
{
    static struct result r;
    char text[PATH_MAX], model[PATH_MAX], path[PATH_MAX];
    cr_assert_eq(rename(corpus, test_path(text, top, "caf\xE9.txt")), 0);
    (void)test_path(model, top, "mod\xE8le/1");
    expect_success(&r, small_and(run_path, model, WORDS("--corpus", text, "--steps", "2")));
    cr_expect(strstr(r.out, "mod\uFFFDle/1\""), "%s", r.out);
    read_text(r.out, sizeof r.out, fopen(test_path(path, model, "config.json"), "re"));
    cr_expect(strstr(r.out, "\"corpus\": \"caf\uFFFD.txt\""), "%s", r.out);
    expect_success(&r, WORDS("init", "vanilla", "--corpus", text, "--width", "16", "--json",
                             "--out", test_path(model, top, "mod\xE8le/2")));
    cr_expect(strstr(r.out, "mod\uFFFDle/2\""), "%s", r.out);
}
