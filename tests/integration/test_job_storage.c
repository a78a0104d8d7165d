/* test_job_storage.c - jobs whose directories cannot be written or read: nothing is forgotten, and
 * one job does not stop the others. */
#include "core/limits.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

TestSuite(job_storage, .init = start, .fini = stop);

/* From now on job.json cannot be replaced. */
static void obstruct(const char *id)
{
    char path[PATH_MAX], aside[PATH_MAX];
    (void)job_path(&d, id, "job.json", path);
    cr_assert_eq(rename(path, job_path(&d, id, "aside", aside)), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void clear(const char *id)
{
    char path[PATH_MAX], aside[PATH_MAX];
    (void)job_path(&d, id, "job.json", path);
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(rename(job_path(&d, id, "aside", aside), path), 0);
}

Test(job_storage, a_cancellation_that_cannot_be_saved_is_saved_later)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_LONG, id);
    job_wait(&d, id, "running");
    obstruct(id);
    cr_assert_eq(job_act(&d, id, "cancel"), 200);
    sleep_ms(200);
    clear(id);
    job_wait(&d, id, "cancelled");
    job_expect_saved(&d, id, "cancelled");
}

/* The trainer ends once the test allows it. */
static void start_with_held_trainer(void)
{
    char path[PATH_MAX], sluice[PATH_MAX];
    struct sl_buffer script = {0};
    daemon_make_store(&d);
    sl_buffer_printf(
        &script, "#!/bin/sh\n'%s' \"$@\" || exit\nwhile ! test -e \"$0.go\"; do sleep 0.05; done\n",
        program_path(sluice, "sluice"));
    test_write_file(test_path(path, d.directory, "trainer"), script.data);
    sl_buffer_release(&script);
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path));
}

Test(job_storage, a_job_waits_for_the_disk_before_it_is_published, .init = start_with_held_trainer)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":400", id);
    job_wait_event(&d, id, "Step");
    obstruct(id);
    test_write_file(test_path(path, d.directory, "trainer.go"), "");
    job_wait_event(&d, id, "Training has finished");
    sleep_ms(200);
    cr_assert_neq(access(test_path(path, d.store, "mood"), F_OK), 0,
                  "a crash would publish it once more");
    clear(id);
    job_wait(&d, id, "succeeded");
    job_expect_saved(&d, id, "succeeded");
}

static void start_with_bad_trainer(void)
{
    char path[PATH_MAX];
    daemon_make_store(&d);
    test_write_file(test_path(path, d.directory, "trainer"),
                    "#!/bin/sh\nwhile ! test -e \"$0.go\"; do sleep 0.05; done\nexit 2\n");
    cr_assert_eq(chmod(path, 0700), 0);
    job_daemon_restart(&d, ARGS("--trainer", path));
}

Test(job_storage, a_failure_that_cannot_be_saved_is_saved_later, .init = start_with_bad_trainer)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_LONG, id);
    (void)job_wait_trainer(&d);
    obstruct(id);
    test_write_file(test_path(path, d.directory, "trainer.go"), "");
    job_wait_event(&d, id, "The job failed");
    sleep_ms(200);
    clear(id);
    job_wait(&d, id, "failed");
    job_expect_saved(&d, id, "failed");
}

Test(job_storage, a_job_that_cannot_be_taken_up_fails_alone)
{
    char file[JOB_ID_MAX], bad[JOB_ID_MAX], good[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "bad", JOB_LONG, bad);
    job_create(&d, file, "good", JOB_TINY ",\"n_epochs\":2", good);
    job_wait(&d, bad, "running");
    job_daemon_kill(&d);
    cr_assert_eq(unlink(job_path(&d, bad, "events.jsonl", path)), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    job_daemon_restart(&d, NULL);
    job_wait(&d, bad, "failed");
    job_wait(&d, good, "succeeded");
    json_t *job = job_get(&d, bad, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "recovery_failed");
    json_decref(job);
}

/* As many as if a client had paused and resumed it all day. */
static void add_messages(const char *id)
{
    char path[PATH_MAX];
    FILE *file = fopen(job_path(&d, id, "events.jsonl", path), "ae");
    cr_assert(file);
    for (int i = 1; i <= SV_JOB_EVENTS_MAX; i++)
        (void)fprintf(file,
                      "{\"offset\":0,\"event\":{\"id\":\"ftevent-%s-%06d\",\"object\":"
                      "\"fine_tuning.job.event\",\"created_at\":1,\"level\":\"info\",\"message\":"
                      "\"Pausing the job\",\"type\":\"message\",\"data\":{}}}\n",
                      id + strlen("ftjob-"), 100 + i);
    cr_assert_eq(fclose(file), 0);
}

Test(job_storage, messages_leave_room_for_metrics_and_for_the_end)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], first[JOB_ID_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "first", JOB_LONG, first); /* the other waits and cannot end too early */
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":100", id);
    cr_assert_eq(job_act(&d, id, "pause"), 200);
    cr_assert_eq(job_act(&d, first, "cancel"), 200);
    job_wait(&d, first, "cancelled");
    job_daemon_kill(&d);
    add_messages(id);
    job_daemon_restart(&d, NULL);
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait(&d, id, "succeeded");
    cr_assert(job_has_event(&d, id, "Step 100/100"), "the metrics are missing");
    cr_assert(job_has_event(&d, id, "successfully completed"), "the end is missing");
    cr_assert_not(job_has_event(&d, id, "Training has finished"), "there is no more room");
}

/* The kernel takes it rather than the daemon when memory runs out. */
Test(job_storage, a_trainer_is_killed_before_the_daemon)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[64], text[32];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_LONG, id);
    job_wait_event(&d, id, "Step");
    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)job_trainer(&d));
    test_read_file(text, sizeof text, path);
    cr_assert_str_eq(text, "1000\n");
}

/* ---- a disk that hangs ----------------------------------------------------------------------- */

struct slow_request {
    pthread_t thread;
    const char *method;
    char path[256];
    long status;
    atomic_bool answered;
};

static void *send_slow(void *context)
{
    struct slow_request *slow = context;
    struct http_response response =
        http_admin(&d, slow->method, slow->path, slow->method[0] == 'P' ? "" : NULL);
    slow->status = response.status;
    http_response_release(&response);
    atomic_store(&slow->answered, true);
    return NULL;
}

static void begin_slow(struct slow_request *slow)
{
    cr_assert_eq(pthread_create(&slow->thread, NULL, send_slow, slow), 0);
}

static void end_slow(struct slow_request *slow)
{
    (void)pthread_join(slow->thread, NULL);
    cr_assert_eq(slow->status, 200, "%s", slow->path);
}

/* The events of the first job go into a pipe that nobody reads. */
Test(job_storage, what_waits_for_the_disk_holds_up_nobody_else)
{
    char file[JOB_ID_MAX], stuck[JOB_ID_MAX], ended[JOB_ID_MAX], path[PATH_MAX];
    struct slow_request pause = {.method = "POST"}, removal = {.method = "DELETE"};
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", ended);
    job_wait(&d, ended, "succeeded");
    job_create(&d, file, "mood", JOB_LONG, stuck);
    job_wait(&d, stuck, "running");
    cr_assert_eq(unlink(job_path(&d, stuck, "events.jsonl", path)), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    (void)snprintf(pause.path, sizeof pause.path, "/v1/fine_tuning/jobs/%s/pause", stuck);
    (void)snprintf(removal.path, sizeof removal.path, "/v1/files/%s", file);
    begin_slow(&pause);
    sleep_ms(100);
    begin_slow(&removal);
    char stream[256];
    (void)snprintf(stream, sizeof stream, "/v1/fine_tuning/jobs/%s/events?stream=true", ended);
    struct http_response response = http_admin(&d, "GET", stream, NULL);
    EXPECT_SAID(response.body.data, "data: [DONE]\n\n");
    http_response_release(&response);
    json_decref(job_get(&d, "", ""));
    sleep_ms(100);
    cr_assert_not(atomic_load(&pause.answered));
    cr_assert_not(atomic_load(&removal.answered), "a thread of the listener waited for the disk");
    int reader = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(reader, 0);
    end_slow(&pause);
    end_slow(&removal);
    cr_assert_eq(job_act(&d, stuck, "cancel"), 200);
    job_wait(&d, stuck, "cancelled");
    (void)close(reader);
}

static void *close_later(void *context)
{
    sleep_ms(200);
    (void)close(*(int *)context);
    return NULL;
}

/* As a child has it that the last daemon was starting when it was killed. */
Test(job_storage, an_admin_socket_that_is_about_to_go_is_waited_for)
{
    char path[PATH_MAX];
    pthread_t thread;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    job_daemon_kill(&d);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s",
                   daemon_admin_socket(&d, path));
    (void)unlink(address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (const void *)&address, sizeof address), 0);
    cr_assert_eq(listen(fd, 8), 0);
    cr_assert_eq(pthread_create(&thread, NULL, close_later, &fd), 0);
    job_daemon_restart(&d, NULL);
    (void)pthread_join(thread, NULL);
    json_decref(job_get(&d, "", ""));
}

/* An address that is taken until *fd is closed. */
static void take_port(int *fd, char address[static 32])
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof in;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(*fd, (const void *)&in, sizeof in), 0);
    cr_assert_eq(listen(*fd, 8), 0);
    cr_assert_eq(getsockname(*fd, (void *)&in, &size), 0);
    (void)snprintf(address, 32, "127.0.0.1:%d", ntohs(in.sin_port));
}

Test(job_storage, ports_that_are_about_to_be_free_are_waited_for)
{
    char address[2][32];
    pthread_t threads[2];
    int fds[2];
    job_daemon_kill(&d);
    for (int i = 0; i < 2; i++) {
        take_port(&fds[i], address[i]);
        cr_assert_eq(pthread_create(&threads[i], NULL, close_later, &fds[i]), 0);
    }
    job_daemon_restart(&d, ARGS("--listen", address[0], "--admin-listen", address[1]));
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    cr_assert_eq(d.port, strtol(strchr(address[0], ':') + 1, NULL, 10));
    cr_assert_eq(d.admin_port, strtol(strchr(address[1], ':') + 1, NULL, 10));
}
