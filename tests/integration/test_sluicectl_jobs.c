/* test_sluicectl_jobs.c - sluicectl's commands for files and training jobs over a daemon: what they
 * print, as text and as JSON, and their exit codes. */
#include "base/model_names.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

static struct daemon d;
static struct program_result result;
static char url[PATH_MAX + 8], reviews[PATH_MAX];

static void start(void)
{
    char socket[PATH_MAX];
    job_daemon_start(&d, NULL);
    (void)snprintf(url, sizeof url, "unix:%s", daemon_admin_socket(&d, socket));
    struct sl_buffer text = {0};
    for (int i = 0; i < 60; i++)
        sl_buffer_printf(&text, "{\"text\":\"a %s film\",\"label\":\"%s\"}\n",
                         i % 2 ? "dull" : "fine", i % 2 ? "bad" : "good");
    test_write_file(test_path(reviews, d.directory, "reviews.jsonl"), text.data);
    sl_buffer_release(&text);
    cr_assert_eq(setenv("SLUICE_ADMIN_URL", url, 1), 0);
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(sluicectl_jobs, .init = start, .fini = stop);

/* Runs sluicectl, which must end with this code. */
#define CTL(code, ...)                                                                             \
    do {                                                                                           \
        program_run(&result, "sluicectl", NULL, ARGS(__VA_ARGS__));                                \
        EXPECT_EXIT(&result, code);                                                                \
    } while (0)

#define SMALL "width=16", "depth=1", "heads=2", "ffn_width=32", "batch_size=8", "context_length=16"

static void without_newline(char id[static JOB_ID_MAX])
{
    (void)snprintf(id, JOB_ID_MAX, "%.*s", (int)strcspn(result.out, "\n"), result.out);
}

/* What was printed is one JSON value. */
static json_t *printed(void)
{
    return json_from_text(result.out);
}

static void expect_member(const char *path, const char *want)
{
    json_t *value = printed();
    cr_assert_str_eq(json_string_at(value, path), want, "%s", result.out);
    json_decref(value);
}

Test(sluicectl_jobs, files)
{
    char id[JOB_ID_MAX];
    CTL(0, "files");
    cr_assert_null(strstr(result.out, "file-"), "%s", result.out);
    CTL(0, "files", "upload", reviews, "--json");
    json_t *file = printed();
    (void)snprintf(id, sizeof id, "%s", json_string_at(file, "id"));
    cr_assert_str_eq(json_string_at(file, "object"), "file");
    json_decref(file);
    CTL(0, "files", "list");
    EXPECT_SAID(result.out, "ID                            BYTES  CREATED");
    EXPECT_SAID(result.out, id);
    EXPECT_SAID(result.out, "reviews.jsonl");
    CTL(0, "files", "list", "--json");
    expect_member("data/0/id", id);
    CTL(0, "files", "show", id);
    EXPECT_SAID(result.out, "reviews.jsonl");
    CTL(0, "files", "download", id);
    char text[1 << 14];
    test_read_file(text, sizeof text, reviews);
    cr_assert_str_eq(result.out, text);
    CTL(0, "files", "delete", id);
    expect_member("id", id);
    CTL(2, "files", "show", id);
    EXPECT_SAID(result.err, "No file has the id 'file-");
    EXPECT_SAID(result.err, "`sluicectl files` list the files.");
    cr_assert_str_eq(result.out, "");
    CTL(2, "files", "delete", id);
    CTL(2, "files", "upload");
    EXPECT_SAID(result.err, "an argument is missing; usage: sluicectl files upload FILE\n");
    CTL(2, "files", "list", "all");
    EXPECT_SAID(result.err, "too many arguments; usage: sluicectl files list\n");
    CTL(2, "files", "upload", d.directory);
    EXPECT_SAID(result.err, "': it is a directory\n");
    CTL(2, "files", "upload", "/nonexistent");
    EXPECT_SAID(result.err, "cannot read '/nonexistent': No such file");
    CTL(2, "files", "rename", id);
    EXPECT_SAID(result.err, "unknown action 'rename'");
}

Test(sluicectl_jobs, train_follows_the_job_to_its_model)
{
    CTL(0, "train", reviews, "--model", "encoder", "--name", "mood", "--seed", "3", "n_epochs=3",
        SMALL);
    EXPECT_SAID(result.out, "Created fine-tuning job");
    EXPECT_SAID(result.out, "\"train_loss\"");
    EXPECT_SAID(result.out, "New model created: mood@1");
    CTL(0, "train", reviews, "--model", "encoder", "--name", "mood", "--json", "--validation",
        reviews, "n_epochs=1", "promotion=if_better", SMALL);
    for (char *line = result.out, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        json_decref(json_from_text(line));
    }
    CTL(0, "jobs");
    EXPECT_SAID(result.out, "ID                       STATUS            MODEL");
    EXPECT_SAID(result.out, "mood@1");
    EXPECT_SAID(result.out, "mood@2");
    CTL(0, "jobs", "--json");
    expect_member("data/1/fine_tuned_model", "mood@1");
}

Test(sluicectl_jobs, train_needs_no_model, TEST_ONE_THREAD)
{
    CTL(0, "train", reviews, "--name", "mood");
    EXPECT_SAID(result.out, "validation accuracy=");
    EXPECT_SAID(result.out, "New model created: mood@1");
}

Test(sluicectl_jobs, a_job_that_fails_has_its_own_exit_code_and_reason)
{
    char bad[PATH_MAX];
    test_write_file(test_path(bad, d.directory, "bad.jsonl"), "{\"text\":\"a\"}\n");
    CTL(2, "train", bad, "--model", "encoder", "--name", "mood", SMALL);
    EXPECT_SAID(result.err, "the job ended without a model: ");
    EXPECT_SAID(result.err, "label");
    CTL(2, "train", reviews, "--model", "gpt-5");
    EXPECT_SAID(result.err, "(404 model_not_found");
    EXPECT_SAID(result.err, "'gpt-5' is neither a loaded model (loaded: ");
    EXPECT_SAID(result.err, ") nor an architecture; choose one of: ");
    CTL(2, "train", reviews, "--model", "encoder", "distillation_weight=0.5");
    EXPECT_SAID(result.err, "a job has no teacher");
    CTL(2, "train", reviews, "--model", "encoder", "learning_rate=.001", "label=2024.10",
        "width=0");
    EXPECT_SAID(result.err, "width");
    CTL(2, "train", reviews, "--model", "encoder", "colour=red");
    EXPECT_SAID(result.err, "unknown hyper-parameter 'colour' of encoder; `sluice train encoder "
                            "--help` lists them");
    CTL(2, "train", reviews, "--model", "encoder", "n_epochs=many");
    EXPECT_SAID(result.err, "sluicectl: invalid n_epochs 'many': expected a whole number");
    CTL(2, "train", reviews, "--model", "encoder", "promotion=maybe");
    EXPECT_SAID(result.err, "invalid promotion 'maybe': expected \"never\", \"if_better\" or "
                            "\"canary\"");
    CTL(2, "train", reviews, "--model", "encoder", "promotion=never", "promotion_margin=2");
    EXPECT_SAID(result.err,
                "'promotion_margin' has an effect only with 'promotion': \"if_better\"");
    CTL(2, "train", reviews, "--model", "encodr");
    EXPECT_SAID(result.err, ") nor an architecture; did you mean encoder?");
    CTL(2, "train", "file-0", "--model", "encoder");
    EXPECT_SAID(result.err, "No file has the id 'file-0'; ");
    CTL(2, "train", reviews);
    EXPECT_SAID(result.err, "missing --name NAME");
    CTL(2, "train", "--model", "encoder");
    EXPECT_SAID(result.err, "missing FILE");
}

/* No daemon is reached, so nothing was uploaded. */
Test(sluicectl_jobs, train_checks_its_arguments_before_it_uploads)
{
    static const struct {
        const char *arguments[4], *said;
    } cases[] = {
        {{"width"}, "invalid hyper-parameter 'width': expected NAME=VALUE"},
        {{"=3"}, "invalid hyper-parameter '=3': expected NAME=VALUE"},
        {{"width=1", "depth=2", "width=3"}, "'width' is given twice"},
        {{"seed=3"}, "give the seed as --seed 3"},
        {{"--name", "my model"}, "invalid --name 'my model': " SL_MODEL_NAME_RULE},
        {{"--validation", "/nonexistent"}, "cannot read '/nonexistent': No such file"},
    };

    cr_assert_eq(setenv("SLUICE_ADMIN_URL", "http://127.0.0.1:1", 1), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const *a = cases[i].arguments;
        CTL(2, "train", reviews, "--model", "encoder", a[0], a[1], a[2]);
        EXPECT_SAID(result.err, cases[i].said);
    }
    CTL(2, "train", "/nonexistent", "--model", "encoder");
    EXPECT_SAID(result.err, "cannot read '/nonexistent': No such file");
    CTL(2, "train", d.directory, "--model", "encoder");
    EXPECT_SAID(result.err, "': it is a directory");
    CTL(1, "train", reviews, "--model", "encoder", "width=16");
}

Test(sluicectl_jobs, a_rejected_job_leaves_no_file_behind)
{
    CTL(2, "train", reviews, "--model", "gpt-5");
    CTL(2, "train", reviews, "--model", "encoder", "--validation", reviews, "width=0");
    CTL(2, "train", reviews, "--model", "encoder", "--validation", "file-0");
    CTL(0, "files");
    cr_assert_null(strstr(result.out, "file-"), "%s", result.out);
    CTL(0, "files", "upload", reviews, "--json");
    json_t *file = printed();
    CTL(2, "train", json_string_at(file, "id"), "--model", "gpt-5");
    CTL(0, "files");
    EXPECT_SAID(result.out, json_string_at(file, "id"));
    json_decref(file);
}

Test(sluicectl_jobs, a_job_is_paused_resumed_and_cancelled)
{
    char id[JOB_ID_MAX];
    CTL(0, "train", reviews, "--model", "encoder", "--name", "mood", "--detach", "steps=1000000",
        SMALL);
    without_newline(id);
    cr_assert_eq(strncmp(id, "ftjob-", 6), 0, "%s", id);
    job_wait_event(&d, id, "started");
    CTL(0, "job", id);
    EXPECT_SAID(result.out, id);
    EXPECT_SAID(result.out, "encoder");
    CTL(0, "job", id, "--json");
    expect_member("id", id);
    CTL(0, "pause", id, "--json");
    expect_member("object", "fine_tuning.job");
    CTL(2, "pause", id);
    EXPECT_SAID(result.err, "(409 conflict");
    EXPECT_SAID(result.err, "is paused already");
    job_wait_event(&d, id, "paused");
    CTL(0, "job", id);
    EXPECT_SAID(result.out, "paused");
    CTL(0, "jobs");
    EXPECT_SAID(result.out, "paused");
    CTL(0, "resume", id);
    CTL(2, "resume", id);
    EXPECT_SAID(result.err, "is not paused");
    CTL(0, "events", id);
    EXPECT_SAID(result.out, "Created fine-tuning job");
    CTL(0, "events", id, "--json");
    json_t *events = printed();
    cr_assert_gt(json_array_size(json_at(events, "data")), 3);
    json_decref(events);
    CTL(0, "cancel", id);
    CTL(2, "cancel", id);
    EXPECT_SAID(result.err, "has ended");
    CTL(1, "events", id, "--follow");
    EXPECT_SAID(result.err, "the job ended without a model");
}

/* Every command that needs an id, without one and with one that does not exist. */
Test(sluicectl_jobs, ids_are_checked)
{
    static const char *const commands[] = {"job", "events", "cancel", "pause", "resume"};
    for (size_t i = 0; i < COUNT(commands); i++) {
        CTL(2, commands[i]);
        EXPECT_SAID(result.err, "missing ID; `sluicectl jobs` lists the jobs");
        CTL(2, commands[i], "ftjob-0");
        EXPECT_SAID(result.err, "No job has the id 'ftjob-0'; ");
        EXPECT_SAID(result.err, "`sluicectl jobs` list the jobs.");
        cr_assert_str_eq(result.out, "");
        CTL(1, commands[i], "ftjob-0", "--admin-url", "http://127.0.0.1:1");
    }
    CTL(2, "events", "ftjob-0", "--follow");
    EXPECT_SAID(result.err, "No job has the id 'ftjob-0'; ");
    CTL(1, "events", "ftjob-0", "--follow", "--admin-url", "http://127.0.0.1:1");
    EXPECT_SAID(result.err, "cannot reach http://127.0.0.1:1: connection refused");
    CTL(1, "jobs", "--admin-url", "http://127.0.0.1:1");
    cr_assert_str_eq(result.out, "");
}
