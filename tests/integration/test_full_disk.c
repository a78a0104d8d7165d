/* test_full_disk.c - a full disk, or a store that may not be written: jobs are paused, files can be
 * deleted, the daemon starts. A limit of the size of files is a full disk for one process. */
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct daemon d;

static void start(void)
{
    job_daemon_start(&d, NULL);
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(full_disk, .init = start, .fini = stop);

/* The real trainer, behind lines of a shell script. */
static void start_with_trainer(const char *lines)
{
    char path[PATH_MAX], text[PATH_MAX + 512], sluice[PATH_MAX];
    daemon_make_store(&d);
    (void)snprintf(text, sizeof text, "#!/bin/sh\n%s\nexec '%s' \"$@\"\n", lines,
                   program_path(sluice, "sluice"));
    test_write_file(test_path(path, d.directory, "trainer"), text);
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path));
}

static void expect_paused(const char *id)
{
    job_wait_event(&d, id, "correct that, then resume the job");
    job_wait(&d, id, "queued");
    job_expect_saved(&d, id, "waiting");
}

static void start_with_limited_trainer(void)
{
    start_with_trainer("test -e \"$0.free\" || ulimit -f 4");
}

Test(full_disk, a_job_whose_trainer_finds_the_disk_full_is_paused,
     .init = start_with_limited_trainer)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":40", id);
    expect_paused(id);
    cr_assert(job_has_event(&d, id, "Training was interrupted at step 0"), "it was tried again");
    cr_assert_not(job_has_event(&d, id, d.directory), "clients see paths of the daemon");
    test_write_file(test_path(path, d.directory, "trainer.free"), "");
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
}

enum { INDEX_BYTES = 5 << 20 }; /* no file of the index is larger */

static int count_lines(const char *path)
{
    char text[64];
    if (access(path, F_OK) != 0)
        return 0;
    test_read_file(text, sizeof text, path);
    return (int)strlen(text);
}

static void start_with_counting_trainer(void)
{
    start_with_trainer("echo >>\"$0.count\"; while ! test -e \"$0.go\"; do sleep 0.05; done; "
                       "test -e \"$0.free\" || ulimit -f 4");
}

/* Of the daemon, and of the trainers that it starts from now on. */
static void limit_files(rlim_t bytes)
{
    const struct rlimit limit = {.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(prlimit(d.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

/* While there is no room for its event either. */
Test(full_disk, a_pause_is_reported_once_there_is_room, .init = start_with_counting_trainer)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":40", id);
    (void)job_wait_trainer(&d);
    limit_files(64);
    test_write_file(test_path(path, d.directory, "trainer.go"), "");
    while (count_lines(test_path(path, d.directory, "trainer.count")) < 3 || job_trainer(&d))
        sleep_ms(10);
    sleep_ms(200); /* the daemon notices, and cannot say so */
    limit_files(RLIM_INFINITY);
    expect_paused(id);
    test_write_file(test_path(path, d.directory, "trainer.free"), "");
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
}

static void start_with_waiting_trainer(void)
{
    start_with_trainer("while ! test -e \"$0.go\"; do sleep 0.05; done");
}

Test(full_disk, a_job_whose_model_has_no_room_in_the_store_is_paused,
     .init = start_with_waiting_trainer)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood",
               "\"width\":256,\"ffn_width\":2048,\"depth\":2,\"heads\":2,\"context_length\":16,"
               "\"batch_size\":8,\"steps\":2",
               id);
    (void)job_wait_trainer(&d);
    limit_files(INDEX_BYTES);
    test_write_file(test_path(path, d.directory, "trainer.go"), "");
    expect_paused(id);
    cr_assert_eq(test_count_entries(test_path(path, d.store, "mood")), 0, "a part is left");
    limit_files(RLIM_INFINITY);
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
}

/* Else the daemon would serve the new version when it starts again. */
Test(full_disk, a_model_is_not_published_before_stable_is_pinned)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
    cr_assert_eq(mkdir(test_path(path, d.store, "mood/labels.json"), 0700), 0);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    expect_paused(id);
    cr_assert(job_has_event(&d, id, "The labels of 'mood' could not be saved"));
    cr_assert_eq(rmdir(path), 0);
    cr_assert_neq(access(test_path(path, d.store, "mood/2"), F_OK), 0);
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
    cr_assert_eq(access(path, F_OK), 0);
}

Test(full_disk, a_job_whose_model_the_store_refuses_is_paused)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    test_write_file(test_path(path, d.store, "mood"), "in the way");
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    expect_paused(id);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
}

Test(full_disk, on_a_full_disk_jobs_are_refused_and_files_can_be_deleted)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], other[JOB_ID_MAX], path[256], body[256];
    job_upload_reviews(&d, 40, file);
    job_upload_reviews(&d, 40, other);
    limit_files(64);
    (void)snprintf(body, sizeof body, "{\"model\":\"encoder\",\"training_file\":\"%s\"}", file);
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, 507, "%s", response.body.data);
    EXPECT_SAID(response.body.data, "storage_full");
    http_response_release(&response);
    (void)snprintf(path, sizeof path, "/v1/files/%s", other);
    response = http_admin(&d, "DELETE", path, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
    limit_files(RLIM_INFINITY);
    response = http_admin(&d, "DELETE", path, NULL);
    cr_assert_eq(response.status, 404, "%s", response.body.data);
    http_response_release(&response);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
}

/* The daemon has the limit of the process that starts it. */
Test(full_disk, the_daemon_starts_on_a_full_disk)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    struct rlimit limit;
    job_upload_reviews(&d, 40, file);
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(d.pid), 0);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 64, .rlim_max = limit.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    job_daemon_restart(&d, NULL);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    limit_files(RLIM_INFINITY);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", id);
    job_wait(&d, id, "succeeded");
}
