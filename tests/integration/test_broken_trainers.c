/* test_broken_trainers.c - trainers that crash, run out of memory or write nonsense: the job fails
 * with a reason, and the daemon does not notice. */
#include "support/http_client.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

static struct daemon d;

/* Serves with a shell script as the trainer; $SLUICE is the real one. */
static void start_with(const char *script)
{
    char path[PATH_MAX], text[PATH_MAX + 512], sluice[PATH_MAX];
    daemon_make_store(&d);
    (void)snprintf(text, sizeof text, "#!/bin/sh\nSLUICE='%s'\n%s\n",
                   program_path(sluice, "sluice"), script);
    test_write_file(test_path(path, d.directory, "trainer"), text);
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path));
}

static void expect_served(void)
{
    struct http_response response =
        http_complete(&d, "{\"model\":\"" TINY_MODEL "\",\"prompt\":\"a\",\"max_tokens\":2}");
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
}

/* The job fails for this reason, and the next one of the queue has its turn. */
static void expect_failure(const char *script, const char *reason)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], next[JOB_ID_MAX];
    start_with(script);
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", next);
    job_wait(&d, id, "failed");
    expect_served();
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "training_failed");
    EXPECT_SAID(json_string_at(job, "error/message"), reason);
    cr_assert(json_is_null(json_at(job, "fine_tuned_model")));
    json_decref(job);
    cr_assert(job_has_event(&d, id, "Training was interrupted at step 0"), "it was tried again");
    job_wait(&d, next, "failed");
    char versions[PATH_MAX];
    cr_assert_neq(access(test_path(versions, d.store, "mood"), F_OK), 0, "nothing was published");
    expect_served();
    daemon_stop(&d);
}

Test(broken_trainers, a_segmentation_fault)
{
    expect_failure("kill -SEGV $$", "killed by signal 11 (Segmentation fault)");
}

Test(broken_trainers, out_of_memory)
{
    expect_failure("ulimit -v 60000; exec \"$SLUICE\" \"$@\" --width 512 --ffn-width 4096", "");
}

Test(broken_trainers, the_kernel_kills_it_for_its_memory)
{
    expect_failure("kill -KILL $$", "killed by signal 9 (Killed)");
}

Test(broken_trainers, an_exit_code_without_a_reason)
{
    expect_failure("exit 4", "the trainer ended without a model, with exit code 4");
}

Test(broken_trainers, success_without_a_model)
{
    expect_failure("exit 0", "the trainer ended without a model, with exit code 0");
}

Test(broken_trainers, nonsense_as_output)
{
    expect_failure("head -c 100000 /dev/urandom; echo '{\"step\":1}'; exit 1",
                   "the trainer ended without a model, with exit code 1");
}

/* What it writes there is for administrators. */
Test(broken_trainers, nonsense_as_errors)
{
    expect_failure("printf 'a\\377\\001b\\n' >&2; head -c 100000 /dev/zero | tr '\\0' x >&2; "
                   "exit 2",
                   "the trainer ended without a model, with exit code 2");
}

Test(broken_trainers, a_report_that_is_none)
{
    expect_failure("echo '{\"event\":\"failed\",\"code\":7,\"line\":\"x\"'; exit 2",
                   "the trainer ended without a model, with exit code 2");
    expect_failure("echo '{\"event\":\"failed\",\"code\":7,\"line\":\"x\",\"reason\":\"odd\"}'; "
                   "exit 1",
                   "odd");
}

/* A fault that is in no file of the client's is not put down to one, and shows no path. */
Test(broken_trainers, a_report_of_a_file_of_this_machine)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    start_with("printf '{\"event\":\"failed\",\"code\":\"corrupt\",\"path\":\"%s/base/1\",'"
               "'\"message\":\"m\",\"reason\":\"odd\"}\\n' /etc; exit 2");
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "failed");
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "training_failed");
    cr_assert_str_eq(json_string_at(job, "error/message"), "odd");
    cr_assert(json_is_null(json_at(job, "error/param")));
    json_decref(job);
    daemon_stop(&d);
}

Test(broken_trainers, nonsense_in_its_log)
{
    expect_failure("for job in \"$(dirname \"$0\")\"/state/jobs/*/; do mkdir -p \"$job/run\"; "
                   "head -c 5000 /dev/urandom >>\"$job/run/log.jsonl\"; done; exit 4",
                   "with exit code 4");
}

Test(broken_trainers, it_cannot_be_started)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    daemon_make_store(&d);
    job_daemon_restart(&d, ARGS("--trainer", "/nonexistent/sluice"));
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "failed");
    json_t *job = job_get(&d, id, "");
    EXPECT_SAID(json_string_at(job, "error/message"), "/nonexistent/sluice");
    json_decref(job);
    expect_served();
    daemon_stop(&d);
}

/* It goes on from what was saved, however it ended. */
Test(broken_trainers, one_crash_does_no_harm)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    start_with("[ -e \"$0.crashed\" ] || { touch \"$0.crashed\"; kill -SEGV $$; }\n"
               "exec \"$SLUICE\" \"$@\"");
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    cr_assert(job_has_event(&d, id, "killed by signal 11"));
    daemon_stop(&d);
}

static void wait_for_file(const char *path)
{
    for (int i = 0; access(path, F_OK) != 0; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 5, "there is no '%s'", path);
        sleep_ms(5);
    }
}

/* Such as one that is just finishing: its model is published, and clients see no pause. The trainer
 * of the second job waits to be asked, and its evaluation for the test. */
Test(broken_trainers, a_pause_that_comes_too_late)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], body[JOB_BODY_MAX], path[PATH_MAX], held[PATH_MAX];
    start_with("trap ': >\"$0.$1.asked\"' TERM\n"
               "while test -e \"$0.$1\" && ! test -e \"$0.$1.asked\"; do\n"
               ": >\"$0.$1.waits\"; sleep 0.05; done\n"
               "exec \"$SLUICE\" \"$@\"");
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    test_write_file(test_path(held, d.directory, "trainer.train"), "");
    test_write_file(test_path(held, d.directory, "trainer.eval"), "");
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"encoder\",\"training_file\":\"%s\",\"validation_file\":\"%s\","
                   "\"suffix\":\"mood\",\"hyperparameters\":{" JOB_TINY
                   ",\"n_epochs\":2,\"promotion\":\"if_better\"}}",
                   file, file);
    job_submit(&d, body, id);
    wait_for_file(test_path(path, d.directory, "trainer.train.waits"));
    cr_assert_eq(job_act(&d, id, "pause"), 200);
    wait_for_file(test_path(path, d.directory, "trainer.train.asked"));
    job_wait_event(&d, id, "New model created");
    job_wait(&d, id, "running");
    json_t *job = job_get(&d, id, "");
    cr_assert(json_is_false(json_at(job, "paused")));
    json_decref(job);
    cr_assert_eq(unlink(held), 0);
    job_wait(&d, id, "succeeded");
    daemon_stop(&d);
}
