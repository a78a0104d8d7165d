/* test_refused_models.c - a job whose model the registry cannot load: it fails, and leaves the
 * store and the label `stable` as they were. */
#include "support/http_client.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <signal.h>

static struct daemon d;
static char spoils[PATH_MAX];

/* A trainer that spoils its model while there is a file of this name. */
static void start(void)
{
    char path[PATH_MAX], text[2 * PATH_MAX], sluice[PATH_MAX];
    daemon_make_store(&d);
    (void)test_path(spoils, d.directory, "trainer.spoils");
    (void)snprintf(text, sizeof text,
                   "#!/bin/sh\n'%s' \"$@\" || exit $?\n"
                   "test \"$1\" = train && test -e \"$0.spoils\" &&\n"
                   "for file in \"$(dirname \"$0\")\"/state/jobs/*/model/1/model.safetensors; do\n"
                   "printf x >>\"$file\"; done\nexit 0\n",
                   program_path(sluice, "sluice"));
    test_write_file(test_path(path, d.directory, "trainer"), text);
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path));
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(refused_models, .init = start, .fini = stop);

static bool is_in(const char *directory, const char *name)
{
    char path[PATH_MAX];
    return access(test_path(path, directory, name), F_OK) == 0;
}

static void make_refused(const char *file, char id[static JOB_ID_MAX])
{
    test_write_file(spoils, "");
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "failed");
    cr_assert_eq(unlink(spoils), 0);
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "model_load_failed");
    json_decref(job);
}

static void expect_version(const char *version)
{
    struct http_response response = http_request(&d, "GET", "/v1/models/mood", NULL);
    json_t *object = json_from_response(&response);
    cr_assert_str_eq(json_string_at(object, "sluice/version"), version);
    json_decref(object);
    http_response_release(&response);
}

Test(refused_models, stable_follows_the_highest_version_again)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    make_refused(file, id);
    cr_assert_not(is_in(d.store, "mood/2"), "the refused version is left");
    cr_assert(is_in(d.directory, "state/jobs") &&
              access(job_path(&d, id, "model/1/manifest.json", path), F_OK) == 0);
    for (int i = 0; access(job_path(&d, id, "trainer.out", path), F_OK) == 0; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 10);
        sleep_ms(10);
    }
    cr_assert_eq(access(job_path(&d, id, "trainer.err", path), F_OK), 0);
    tiny_store_copy(d.store, "mood/1", "mood/2");
    cr_assert_eq(kill(d.pid, SIGHUP), 0);
    metric_wait(&d, "sluice_model_ready{model=\"mood\",version=\"2\"}", 1);
    expect_version("2");
}

/* It was pinned before the job, by somebody else. */
Test(refused_models, stable_that_was_pinned_stays_so)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    struct http_response set =
        http_admin(&d, "PUT", "/v1/models/mood/labels/stable", "{\"version\":1}");
    cr_assert_eq(set.status, 200, "%s", set.body.data);
    http_response_release(&set);
    make_refused(file, id);
    tiny_store_copy(d.store, "mood/1", "mood/2");
    job_daemon_kill(&d);
    job_daemon_restart(&d, NULL);
    expect_version("1");
}

Test(refused_models, the_next_job_takes_the_version)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    make_refused(file, id);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    expect_version("1");
}
