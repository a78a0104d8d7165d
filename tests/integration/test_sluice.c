/* test_sluice.c - the offline tool as its users meet it: words in, text and exit status out, and
 * signals in the middle. */
#include "support/file_sha256.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"
#include "train/trainer.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

static struct workspace dirs;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

enum { PIPE_BYTES = 4096 }; /* of a slow reader's pipe */

TestSuite(sluice, .init = setup, .fini = teardown);

/* A small training with a line of JSON for every step. */
static const char *const small[] = {"train",     "tsa",
                                    "--corpus",  dirs.corpus,
                                    "--run-dir", dirs.run,
                                    "--output",  dirs.output,
                                    "--json",    "--threads",
                                    "1",         "--width",
                                    "16",        "--heads",
                                    "2",         "--depth",
                                    "2",         "--ffn-width",
                                    "24",        "--context-length",
                                    "16",        "--batch-size",
                                    "2",         "--steps",
                                    "60",        "--save-every",
                                    "7",         "--evaluate-every",
                                    "1",         "--learning-rate",
                                    "0.01",      "--validation-fraction",
                                    "0.02"};

/* `small` and up to three words more; valid until the next call. */
static const char *const *small_and(const char *const *more)
{
    static const char *words[COUNT(small) + 4];
    memcpy(words, small, sizeof small);
    size_t count = COUNT(small);
    for (; *more; more++) {
        cr_assert_lt(count, COUNT(words) - 1);
        words[count++] = *more;
    }
    words[count] = NULL;
    return words;
}

/* The model of a training that nothing interrupts. */
static void digest_undisturbed(char hex[65])
{
    static struct program_result r;
    sluice_expect_success(&r, small_and(ARGS("--seed", "7")));
    file_sha256(hex, dirs.output, "model.safetensors");
    test_directory_remove(dirs.run);
    test_directory_remove(dirs.output);
}

struct child {
    pid_t pid;
    FILE *out;
    int lines, evaluated; /* read so far; the last step whose evaluation was among them, or 0 */
};

static struct child start(const char *const *args)
{
    struct child c = {0};
    c.pid = sluice_start(args, &c.out);
    return c;
}

/* -- lines of JSON ---------------------------------------------------------------------------- */

struct event {
    char name[16], next[128]; /* how to go on, or nothing */
    int step;
};

/* One line, checked: an object with an event and a step, and a loss once steps were made. */
static struct event parse_event(const char *line)
{
    json_error_t error;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    cr_assert(o, "%s in: %s", error.text, line);
    const char *name = json_string_value(json_object_get(o, "event"));
    cr_assert(name, "%s", line);
    cr_assert(json_is_integer(json_object_get(o, "step")), "%s", line);
    struct event e = {.step = (int)json_integer_value(json_object_get(o, "step"))};
    (void)snprintf(e.name, sizeof e.name, "%s", name);
    const char *next = json_string_value(json_object_get(o, "next"));
    (void)snprintf(e.next, sizeof e.next, "%s", next ? next : "");
    bool ended = strcmp(name, "ended") == 0;
    cr_assert_eq(json_is_null(json_object_get(o, "directory")), ended, "%s", line);
    bool measured = strcmp(name, "step") == 0 || strcmp(name, "evaluated") == 0;
    double loss = json_real_value(json_object_get(o, "train_loss"));
    cr_assert(!measured || (loss > 0.0 && loss < 10.0), "%s", line);
    json_int_t peak = json_integer_value(json_object_get(o, "peak_memory_bytes"));
    cr_assert_eq(peak > 1 << 20, strcmp(name, "evaluated") == 0, "%s", line);
    json_decref(o);
    return e;
}

static bool next_line(FILE *file, struct event *e)
{
    char line[2048];
    if (!fgets(line, sizeof line, file))
        return false;
    cr_assert(strchr(line, '\n'), "half a line: %s", line);
    *e = parse_event(line);
    return true;
}

/* The next event; false at the end. No evaluation may be missing between two others. */
static bool next_event(struct child *c, struct event *e)
{
    if (!next_line(c->out, e))
        return false;
    c->lines++;
    if (strcmp(e->name, "evaluated") != 0)
        return true;
    cr_assert(c->evaluated == 0 || e->step == c->evaluated + 1, "step %d after step %d", e->step,
              c->evaluated);
    c->evaluated = e->step;
    return true;
}

static struct event last_event(struct child *c)
{
    struct event e = {.name = "nothing"};
    while (next_event(c, &e))
        continue;
    return e;
}

/* Reads until a step was evaluated. The pipe holds few lines, so the child cannot be far ahead. */
static void wait_for_step(struct child *c, int step)
{
    struct event e = {0};
    while (e.step < step)
        cr_assert(next_event(c, &e), "it ended before step %d", step);
}

static void pause_for(long milliseconds)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
}

/* Waits until the child waits, too: for us, in a write to a pipe that has been full for a while. A
 * save, which takes its time, is nearly always over by then. */
static void wait_until_it_waits(const struct child *c)
{
    enum { LINE_BYTES = 400, POLLS_MAX = 500, POLLS_FULL = 15, POLL_MS = 20 };

    int before = 0, bytes = 0, full = 0;
    for (int i = 0; i < POLLS_MAX && full < POLLS_FULL; i++) {
        cr_assert_eq(ioctl(fileno(c->out), FIONREAD, &bytes), 0);
        full = bytes > PIPE_BYTES - LINE_BYTES && bytes == before ? full + 1 : 0;
        before = bytes;
        pause_for(POLL_MS);
    }
    cr_assert_eq(full, POLLS_FULL, "%d bytes in the pipe", bytes);
}

static struct child start_slowly(const char *const *words)
{
    struct child c = start(words);
    cr_assert_geq(fcntl(fileno(c.out), F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
    return c;
}

/* Goes on from a step (-1: whichever it is) to the end. */
static void expect_resumed(int step, const char *want)
{
    char have[65];
    struct event e;
    struct child c = start(small_and(ARGS("--seed", "7", "--resume")));
    cr_assert(next_event(&c, &e));
    cr_expect(step < 0 || e.step == step, "it goes on from %d, not from %d", e.step, step);
    e = last_event(&c);
    cr_expect_str_eq(e.name, "published");
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_eq(program_wait(c.pid), 0);
    file_sha256(have, dirs.output, "model.safetensors");
    cr_expect_str_eq(have, want, "not the model of an undisturbed run");
}

/* The log of the one process that worked on the run, read to its end. */
static struct child read_log(struct event *last)
{
    char path[PATH_MAX];
    struct child log = {.out = fopen(test_path(path, dirs.run, "log.jsonl"), "re")};
    cr_assert(log.out, "no %s", path);
    *last = last_event(&log);
    cr_assert_eq(fclose(log.out), 0);
    return log;
}

Test(sluice, train_prints_json_lines_and_keeps_them_in_the_log)
{
    struct event e;
    struct child c = start(small_and(ARGS("--seed", "7")));
    cr_assert(next_event(&c, &e));
    cr_expect_str_eq(e.name, "started");
    e = last_event(&c);
    cr_expect_eq(program_wait(c.pid), 0);
    cr_expect_eq(c.evaluated, 60);
    cr_expect_str_eq(e.name, "published");
    cr_expect_eq(e.step, 60);
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_eq(read_log(&e).lines, c.lines);
    cr_expect_str_eq(e.name, "published");
}

Test(sluice, a_run_without_output_is_published_later)
{
    static struct program_result r;
    const char *words[COUNT(small) + 1] = {NULL};
    memcpy(words, small, sizeof small);
    cr_assert_str_eq(words[6], "--output");
    words[6] = "--seed"; /* 1, as it is without a word */
    words[7] = "1";
    struct child c = start(words);
    struct event e = last_event(&c);
    cr_expect_eq(program_wait(c.pid), 0);
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_str_eq(e.name, "ended");
    cr_expect_str_eq(
        e.next,
        "no model was published; repeat the command with --resume --output DIR to publish it");
    sluice_expect_success(&r, small_and(ARGS("--resume")));
    cr_expect(strstr(r.out, "\"event\":\"published\""), "%s", r.out);
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
}

/* -- signals ---------------------------------------------------------------------------------- */

/* The signal arrives while the child waits for us to read: no line may suffer from it. */
static void check_signal(int number)
{
    char want[65];
    digest_undisturbed(want);
    struct child c = start_slowly(small_and(ARGS("--seed", "7")));
    wait_for_step(&c, 10);
    wait_until_it_waits(&c);
    cr_assert_eq(kill(c.pid, number), 0);
    pause_for(100); /* room in the pipe would end the write before the signal does */
    struct event e = last_event(&c);
    cr_expect_str_eq(e.name, "ended", "signal %d: %s", number, e.name);
    cr_expect_str_eq(e.next, "repeat the command with --resume to continue");
    cr_expect_lt(e.step, 60);
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_eq(c.lines, read_log(&e).lines, "signal %d swallowed a line", number);
    cr_expect_eq(program_wait(c.pid), 0, "signal %d", number);
    cr_expect_neq(access(dirs.output, F_OK), 0, "half a training was published");
    expect_resumed(e.step, want);
}

Test(sluice, train_saves_and_leaves_on_sigint)
{
    check_signal(SIGINT);
}

Test(sluice, train_saves_and_leaves_on_sigterm)
{
    check_signal(SIGTERM);
}

/* Killed at moments of its own choosing, between saves and perhaps within one. */
Test(sluice, train_goes_on_after_kill_9)
{
    char want[65];
    digest_undisturbed(want);
    for (int i = 0; i < 5; i++) {
        const char *const *words =
            small_and(i ? ARGS("--seed", "7", "--resume") : ARGS("--seed", "7"));
        struct child c = start_slowly(words);
        wait_for_step(&c, 1 + 8 * i);
        pause_for(i);
        cr_assert_eq(kill(c.pid, SIGKILL), 0);
        cr_expect_eq(program_wait(c.pid), -1);
        cr_assert_eq(fclose(c.out), 0);
    }
    expect_resumed(-1, want);
}

Test(sluice, train_does_not_need_a_reader)
{
    char want[65], have[65];
    digest_undisturbed(want);
    struct child c = start_slowly(small_and(ARGS("--seed", "7")));
    wait_for_step(&c, 3);
    cr_assert_eq(fclose(c.out), 0);
    cr_expect_eq(program_wait(c.pid), 0);
    file_sha256(have, dirs.output, "model.safetensors");
    cr_expect_str_eq(have, want);
}

/* -- on a terminal ---------------------------------------------------------------------------- */

struct terminal {
    pid_t pid;
    int fd;
    size_t used;
    char text[1 << 16];
};

static void terminal_start(struct terminal *t, const char *const *words)
{
    t->used = 0;
    t->pid = forkpty(&t->fd, NULL, NULL, NULL);
    if (t->pid < 0)
        cr_skip_test("no pseudo-terminals here");
    if (t->pid == 0) {
        program_exec("sluice", words);
        _exit(127);
    }
}

/* Reads more of what it shows; false when it is gone. */
static bool terminal_read(struct terminal *t)
{
    cr_assert_lt(t->used, sizeof t->text - 1, "too much output");
    ssize_t bytes = read(t->fd, t->text + t->used, sizeof t->text - 1 - t->used);
    t->used += bytes > 0 ? (size_t)bytes : 0;
    t->text[t->used] = '\0';
    return bytes > 0 || (bytes < 0 && errno == EINTR);
}

/* `small` without its lines of JSON. */
static const char *const *small_on_terminal(const char *steps)
{
    static const char *words[COUNT(small) + 1];
    size_t count = 0;
    for (size_t i = 0; i < COUNT(small); i++)
        if (strcmp(small[i], "--json") != 0)
            words[count++] = strcmp(small[i], "60") == 0 ? steps : small[i];
    words[count] = NULL;
    return words;
}

static double number_of(const char *text)
{
    char *end;
    double x = strtod(text, &end);
    cr_assert(end != text && *end == '\0', "'%s'", text);
    return x;
}

/* [####....] 60/60  loss 2.3  gate mean 0.7  1000 tokens/s  0:00:00 left      the last there is */
static void expect_live_line(const char *text, int steps)
{
    char bar[32], step[16], of[16], loss[16], gate[16], speed[16], left[32];
    const char *at = NULL;
    for (const char *next = text; (next = strstr(next, "\r[")); next++)
        at = next;
    cr_assert(at, "no live line: %s", text);
    int count = sscanf(at,
                       "\r[%31[#.]] %15[0-9]/%15[0-9] loss %15[0-9.] gate mean %15[0-9.] %15[0-9] "
                       "tokens/s %31[0-9:] left",
                       bar, step, of, loss, gate, speed, left);
    cr_assert_eq(count, 7, "%d parts in: %s", count, at);
    cr_expect_eq(number_of(of), steps);
    cr_expect(number_of(step) > 0.0 && number_of(step) <= steps, "step %s", step);
    cr_expect(number_of(loss) > 0.0 && number_of(loss) < 10.0, "loss %s", loss);
    cr_expect(number_of(gate) > 0.0 && number_of(gate) < 1.0, "gate mean %s", gate);
    cr_expect_gt(number_of(speed), 0.0);
}

Test(sluice, train_draws_a_live_line_on_a_terminal)
{
    static struct terminal t;
    terminal_start(&t, small_on_terminal("60"));
    while (terminal_read(&t))
        continue;
    cr_expect_eq(program_wait(t.pid), 0, "%s", t.text);
    expect_live_line(t.text, 60);
    cr_expect(strstr(t.text, "step 60: validation loss "), "%s", t.text);
    cr_expect(strstr(t.text, "published at step 60 of 60: "), "%s", t.text);
    cr_expect(strstr(t.text, "A running daemon serves it after `sluicectl load MODEL`"), "%s",
              t.text);
    cr_expect_not(strstr(t.text, "{\""), "JSON on a terminal: %s", t.text);
    (void)close(t.fd);
}

Test(sluice, train_stops_at_control_c)
{
    static struct terminal t;
    bool pressed = false;
    terminal_start(&t, small_on_terminal("100000000"));
    while (terminal_read(&t))
        if (!pressed && strstr(t.text, "tokens/s"))
            pressed = write(t.fd, "\003", 1) == 1;
    cr_expect(pressed);
    cr_expect_eq(program_wait(t.pid), 0, "%s", t.text);
    expect_live_line(t.text, 100000000);
    cr_expect(
        strstr(t.text, "no model was published; to continue, repeat the command with --resume"),
        "%s", t.text);
    (void)close(t.fd);
}

/* -- help ------------------------------------------------------------------------------------- */

/* As it is written on a command line. */
static bool has_option(const struct program_result *r, const char *name)
{
    char option[80];
    (void)snprintf(option, sizeof option, "--%s", name);
    for (char *at = option; *at; at++)
        if (*at == '_')
            *at = '-';
    for (const char *at = r->out; (at = strstr(at, option)); at++)
        if (strchr("= \n", at[strlen(option)]))
            return true;
    return false;
}

static void expect_option(const struct program_result *r, const char *name)
{
    cr_expect(has_option(r, name), "--help lacks --%s", name);
}

static void expect_rows(const struct program_result *r, const struct sl_param *rows)
{
    for (; rows->name; rows++)
        expect_option(r, rows->name);
}

Test(sluice, every_command_has_help)
{
    static struct program_result all, r;
    int commands = 0;
    sluice_expect_success(&all, ARGS("--help"));
    for (const char *at = all.out; (at = strstr(at, "\n  sluice ")); at++) {
        char name[32];
        cr_assert_eq(sscanf(at, "\n  sluice %31s", name), 1);
        sluice_expect_success(&r, ARGS(name, "--help"));
        cr_expect(strstr(r.out, name), "%s", r.out);
        expect_option(&r, "json");
        commands++;
    }
    cr_expect_geq(commands, 8, "%s", all.out);
}

/* An example of what it can do, none of what it cannot. */
static void expect_example(const struct program_result *r, const char *command,
                           const struct sl_arch *arch, const char *source, bool wanted)
{
    char line[128];
    (void)snprintf(line, sizeof line, "\n  sluice %s %s %s ", command, arch->name, source);
    cr_expect_eq(strstr(r->out, line) != NULL, wanted, "'%s' in: %s", line, r->out);
}

Test(sluice, help_lists_every_row_of_recipe_and_architecture)
{
    static struct program_result r;
    char heading[64];
    for (int a = 0; sl_arch_at(a); a++) {
        const struct sl_arch *arch = sl_arch_at(a);
        sluice_expect_success(&r, ARGS("train", arch->name, "--help"));
        expect_rows(&r, sl_hyperparameter_rows);
        expect_rows(&r, arch->hypers);
        (void)snprintf(heading, sizeof heading, " Hyper-parameters of %s: ", arch->name);
        cr_expect(strstr(r.out, heading), "%s", r.out);
        expect_example(&r, "train", arch, "--corpus my.txt", arch->tasks & SL_COMPLETES);
        expect_example(&r, "train", arch, "--data reviews.tsv", arch->tasks & SL_CLASSIFIES);
        cr_expect_eq(has_option(&r, "bins"), strcmp(arch->name, "epsilon") == 0, "%s", arch->name);
        sluice_expect_success(&r, ARGS("init", arch->name, "--help"));
        expect_rows(&r, arch->hypers);
        expect_example(&r, "init", arch, "--corpus my.txt", arch->tasks & SL_COMPLETES);
    }
}

Test(sluice, help_lists_the_architectures)
{
    static struct program_result r;
    const char *const commands[] = {"train", "init"};
    for (size_t i = 0; i < COUNT(commands); i++) {
        sluice_expect_success(&r, ARGS(commands[i], "--help"));
        for (int a = 0; sl_arch_at(a); a++)
            cr_expect_eq(strstr(r.out, sl_arch_at(a)->summary) != NULL,
                         i == 0 || (sl_arch_at(a)->tasks & SL_COMPLETES) != 0, "%s: %s",
                         commands[i], sl_arch_at(a)->name);
        cr_expect(strstr(r.out, "NAME --help"), "%s", r.out);
        cr_expect_not(has_option(&r, "width"), "%s", r.out);
    }
}

Test(sluice, version_is_the_library_s)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("--version"));
    cr_expect(strstr(r.out, sl_version()), "%s", r.out);
}

/* -- mistakes --------------------------------------------------------------------------------- */

Test(sluice, mistakes_of_training_are_named_with_what_is_accepted)
{
    const struct usage_error mistakes[] = {
        {{"frobnicate"}, 2, "frobnicate", "train, check, eval, operating-points, generate"},
        {{"train"}, 2, "missing", "vanilla, tsa, early_exit"},
        {{"train", "gpt"}, 2, "gpt", "vanilla, tsa, early_exit"},
        {{"train", "gpt", "--help"}, 2, "gpt", "vanilla, tsa, early_exit"},
        {{"train", "tsa"}, 2, "missing input", "give --corpus FILE (plain text) or --data FILE"},
        {{"train", "tsa", "--corpus", "a", "--data", "b"},
         2,
         "give --corpus or --data",
         "not both"},
        {{"train", "tsa", "--corpus", dirs.corpus}, 2, "missing", "--run-dir DIR"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--save-best"},
         2,
         "--output DIR",
         "--save-best"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--epochs", "2"},
         2,
         "invalid epochs '2'",
         "set steps"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--validation",
          dirs.corpus},
         2,
         "--validation has no effect on --corpus",
         "needs --data"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--truncate", "left"},
         2,
         "--truncate has no effect on --corpus",
         "needs --data"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--train-fraction", "0.8",
          "--validation-fraction", "0.3"},
         2,
         "train_fraction and validation_fraction are 0.8 and 0.3",
         "at most 1 together"},
        {{"train", "tsa", "--data", dirs.corpus, "--run-dir", dirs.run, "--train-fraction", "0.8"},
         2,
         "--train-fraction has no effect on --data",
         "--validation-fraction"},
        {{"train", "tsa", "--data", dirs.corpus, "--validation", dirs.corpus,
          "--validation-fraction=0.1"},
         2,
         "give --validation-fraction or --validation",
         "not both"},
        {{"train", "tsa", "--data", dirs.corpus, "--steps", "9", "--epochs", "1"},
         2,
         "give --steps or --epochs",
         "not both"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--random-crops", "1"},
         2,
         "random_crops has no effect",
         "on training a language model"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--vocab-size", "99"},
         2,
         "invalid vocab_size",
         "no effect with the tokenizer 'characters'"},
        {{"train", "tsa", "--widht", "16"}, 2, "unknown option --widht", "did you mean --width?"},
        {{"train", "--dta", "x"}, 2, "unknown option --dta", "did you mean --data?"},
        {{"train", "tsa", "--lable", "1"}, 2, "unknown option --lable", "did you mean --label?"},
        {{"train", "tsa", "--data", "-", "--run-dir", dirs.run}, 2, "'-'", "not from standard"},
        {{"train", "tsa", "--micro-bach-size=1"},
         2,
         "--micro-bach-size;",
         "did you mean --micro-batch-size?"},
        {{"train", "vanilla", "--compute-weight", "0.1"},
         2,
         "--compute-weight is an option of tsa",
         "not of vanilla"},
        {{"train", "tsa", "--save-every", "1e9"},
         2,
         "invalid --save-every '1000000000'",
         "from 0 to 100000000"},
        {{"train", "tsa", "--save-every=x"},
         2,
         "--save-every",
         "expected a whole number from 0 to 100000000"},
        {{"train", "tsa", "--vocab-size", "1"}, 2, "invalid --vocab-size '1'", "from 8 to 2097152"},
        {{"train", "tsa", "--learning-rate", "11"}, 2, "invalid --learning-rate '11'", "to 10"},
        {{"train", "tsa", "--learning-rate=fast"}, 2, "--learning-rate", "expected a number"},
        {{"train", "tsa", "--learning-rate=nan"}, 2, "--learning-rate", "expected a number"},
        {{"train", "tsa", "--gate", "hard"},
         2,
         "--gate is short for --gate-binarization-weight: ",
         "expected a number"},
        {{"train", "eam", "--depth", "3"}, 2, "invalid --depth '3'", "expected 1, the only value"},
        {{"train", "tsa", "--lr", "x"}, 2, "--learning-rate", "expected a number"},
        {{"train", "tsa", "--lr"}, 2, "--learning-rate", "needs a value"},
        {{"train", "tsa", "--steps", "1.5"}, 2, "invalid --steps '1.5'", "whole number"},
        {{"train", "tsa", "--steps", "0"}, 2, "invalid --steps '0'", "from 1 to"},
        {{"train", "tsa", "--steps"}, 2, "--steps", "needs a value"},
        {{"train", "tsa", "--resume=maybe"}, 2, "--resume", "expected true or false"},
        {{"train", "tsa", "--threads", "-1"}, 2, "invalid --threads '-1'", "from 0 to 256"},
        {{"train", "tsa", "more"}, 2, "'more'", "unexpected argument"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--isa", "sse9"},
         2,
         "sse9",
         "avx2"},
        {{"train", "tsa", "--corpus=c", "--run-dir=r", "--precision=int8"}, 2, "int8", "bf16"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--heads", "3"},
         2,
         "heads",
         "width must be a multiple of heads"},
        {{"train", "tsa", "--corpus", "/nowhere/c.txt", "--run-dir", dirs.run},
         2,
         "/nowhere/c.txt",
         strerrordesc_np(ENOENT)},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--resume"},
         2,
         dirs.run,
         "leave out --resume"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.corpus},
         2,
         dirs.corpus,
         strerrordesc_np(ENOTDIR)},
    };
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

Test(sluice, mistakes_of_the_other_commands_are_named_too)
{
    const struct usage_error mistakes[] = {
        {{"init"}, 2, "missing", "vanilla, tsa, early_exit"},
        {{"init", "gpt", "--help"}, 2, "gpt", "vanilla, tsa, early_exit"},
        {{"init", "tsa", "--corpus", dirs.corpus}, 2, "missing", "--output DIR"},
        {{"init", "tsa", "--output", dirs.output}, 2, "missing", "--corpus FILE"},
        {{"init", "tsa", "--learning-rate", "1"},
         2,
         "unknown option --learning-rate",
         "--help lists"},
        {{"init", "tsa", "--router_witdh", "1"}, 2, "--router_witdh", "--router-width?"},
        {{"eval"}, 2, "usage", "MODEL-DIR"},
        {{"eval", dirs.output}, 2, "missing input", "--corpus FILE"},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--split", "all"},
         2,
         "all",
         "validation or test"},
        {{"eval", dirs.output, "--data", dirs.corpus, "--split", "test"},
         2,
         "--split has no effect on --data",
         "--data"},
        {{"eval", dirs.output, "--data", dirs.corpus, "--train-fraction", "0.5"},
         2,
         "--train-fraction has no effect on --data",
         "all texts"},
        {{"eval", dirs.output, "--data", dirs.corpus, "--validation-fraction", "0.2"},
         2,
         "--validation-fraction has no effect on --data",
         "all texts"},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--labels", dirs.corpus},
         2,
         "--labels has no effect on --corpus",
         "needs --data"},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--gate", "shut"},
         2,
         "shut",
         "soft, hard, mixed"},
        {{"eval", dirs.output, "--corpus", dirs.corpus, "--gate-limit", "2"},
         2,
         "invalid --gate-limit '2'",
         "from 0 to 1"},
        {{"eval", dirs.output, "--corpus", "/nowhere/c.txt"},
         2,
         "/nowhere/c.txt",
         strerrordesc_np(ENOENT)},
        {{"eval", "/nowhere/m", "--corpus", dirs.corpus}, 2, "/nowhere/m", strerrordesc_np(ENOENT)},
        {{"generate", dirs.output, "--colour", "red"},
         2,
         "unknown option --colour",
         "--help lists"},
        {{"generate", dirs.output, "--topp", "1"},
         2,
         "unknown option --topp",
         "did you mean --top-p?"},
        {{"generate", dirs.output, "--top-p", "2"}, 2, "invalid --top-p '2'", "from 0 to 1"},
        {{"generate", dirs.output, "Once"}, 2, "unexpected argument 'Once'", "--prompt"},
        {{"generate", dirs.output, "--prompt", "b\xc3\xb6ttles"}, 2, "\xc3\xb6", "vocabulary"},
        {{"generate", dirs.output, "--prompt", "take bottles down, take on"},
         2,
         "26 tokens",
         "more than the model's context of 16"},
        {{"train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--init-from",
          dirs.output, "--cased"},
         2,
         "--cased has no effect with --init-from",
         "--init-from"},
        {{"inspect"}, 2, "usage", "MODEL-DIR"},
        {{"inspect", dirs.output, "again"}, 2, "'again'", "unexpected argument"},
        {{"inspect", dirs.top}, 2, dirs.top, "no manifest.json"},
    };
    sluice_make_model(&dirs);
    sluice_expect_usage_errors(mistakes, COUNT(mistakes));
}

/* -- what was published, used ----------------------------------------------------------------- */

static double eval_loss(struct program_result *r, const char *gate)
{
    json_t *o = sluice_expect_json(
        r, ARGS("eval", dirs.output, "--corpus", dirs.corpus, "--json", "--gate", gate));
    double loss = json_number_at(o, "loss");
    cr_expect_gt(json_number_at(o, "tokens"), 100.0);
    cr_expect_float_eq(json_number_at(o, "bits_per_token"), loss / log(2.0), 1e-6);
    json_decref(o);
    return loss;
}

static void check_inspect(struct program_result *r, const char *architecture)
{
    sluice_expect_success(r, ARGS("inspect", dirs.output));
    cr_expect(strstr(r->out, "layers.0.router.up.weight"), "%s", r->out);
    json_t *o = sluice_expect_json(r, ARGS("inspect", dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "architecture")), architecture);
    cr_expect_gt(json_number_at(o, "parameters"), 1000.0);
    cr_expect_eq(json_array_size(json_object_get(o, "tensors")), 30);
    cr_expect_str_eq(json_string_value(json_object_get(o, "task")), "completion");
    cr_expect_eq(json_number_at(o, "classes"), 0.0);
    json_decref(o);
}

static void check_generate(struct program_result *r)
{
    static struct program_result other;
    const char *prompt = "12 bot";
    sluice_expect_success(r,
                          ARGS("generate", dirs.output, "--prompt", prompt, "--max-tokens", "40"));
    cr_expect_eq(strncmp(r->out, prompt, strlen(prompt)), 0, "%s", r->out);
    cr_expect_eq(strlen(r->out), strlen(prompt) + 40 + 1, "%s", r->out);
    sluice_expect_success(&other, ARGS("generate", dirs.output, "--prompt", prompt, "--max-tokens",
                                       "40", "--seed", "1", "--threads", "2"));
    cr_expect_str_eq(other.out, r->out, "the same seed, another text");
    sluice_expect_success(&other, ARGS("generate", dirs.output, "--prompt", prompt, "--max-tokens",
                                       "40", "--seed", "2"));
    cr_expect_str_neq(other.out, r->out, "another seed, the same text");
}

Test(sluice, what_train_published_is_inspected_measured_and_sampled)
{
    static struct program_result r;
    sluice_expect_success(&r, small_and(ARGS("--seed", "7")));
    check_inspect(&r, "tsa");
    cr_expect_lt(eval_loss(&r, "soft"), 2.7); /* an untrained one: log 24 = 3.2 */
    (void)eval_loss(&r, "hard");
    (void)eval_loss(&r, "mixed");
    check_generate(&r);
}

Test(sluice, options_have_dashes_where_files_have_underscores)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("init", "tsa", "--corpus", dirs.corpus, "--output", dirs.output,
                                   "--width", "16", "--heads", "2", "--router-width", "24",
                                   "--gate-binarization-weight=0.5"));
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
    cr_expect(strstr(r.out, "router_width             24"), "%s", r.out);
    cr_expect(strstr(r.out, "gate_binarization_weight 0.5"), "%s", r.out);
    sluice_expect_success(&r, ARGS("eval", dirs.output, "--corpus", dirs.corpus, "--train-fraction",
                                   "0.7", "--validation-fraction", "0.1"));
}

Test(sluice, what_init_wrote_is_inspected_measured_and_sampled)
{
    static struct program_result r;
    sluice_make_model(&dirs);
    check_inspect(&r, "tsa");
    cr_expect_float_eq(eval_loss(&r, "soft"), log(24.0), 0.1);
    check_generate(&r);
}

Test(sluice, bf16_halves_a_model)
{
    static struct program_result r;
    struct stat whole, half;
    char path[PATH_MAX], other[PATH_MAX];
    sluice_expect_success(&r, ARGS("init", "tsa", "--corpus", dirs.corpus, "--output", dirs.output,
                                   "--width", "64", "--heads", "2", "--depth", "2", "--bf16"));
    cr_assert_eq(stat(test_path(path, dirs.output, "model.safetensors"), &half), 0);
    (void)test_path(other, dirs.top, "store/bottles/2");
    sluice_expect_success(&r, ARGS("init", "tsa", "--corpus", dirs.corpus, "--output", other,
                                   "--width", "64", "--heads", "2", "--depth", "2"));
    cr_assert_eq(stat(test_path(path, other, "model.safetensors"), &whole), 0);
    cr_expect_lt((double)half.st_size, 0.6 * (double)whole.st_size);
    check_generate(&r);
}
