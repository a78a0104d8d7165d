/* test_job_storage.c - jobs whose directories cannot be written or read: nothing is forgotten, and
 * one job does not stop the others. */
#include "core/limits.h"
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
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

static const char *job_path(const char *id, const char *name, char path[static PATH_MAX])
{
    char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "state/jobs/%s/%s", id, name);
    return test_path(path, d.directory, file);
}

/* From now on job.json cannot be replaced. */
static void obstruct(const char *id)
{
    char path[PATH_MAX], aside[PATH_MAX];
    (void)job_path(id, "job.json", path);
    cr_assert_eq(rename(path, job_path(id, "aside", aside)), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
}

static void clear(const char *id)
{
    char path[PATH_MAX], aside[PATH_MAX];
    (void)job_path(id, "job.json", path);
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(rename(job_path(id, "aside", aside), path), 0);
}

/* Which phase is on the disk. */
static void expect_saved(const char *id, const char *phase)
{
    char path[PATH_MAX], text[8192], expected[64];
    test_read_file(text, sizeof text, job_path(id, "job.json", path));
    (void)snprintf(expected, sizeof expected, "\"phase\":\"%s\"", phase);
    cr_assert(strstr(text, expected), "%s", text);
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
    expect_saved(id, "cancelled");
}

Test(job_storage, a_job_waits_for_the_disk_before_it_is_published)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":400", id);
    job_wait_event(&d, id, "Step");
    obstruct(id);
    job_wait_event(&d, id, "Training has finished");
    sleep_ms(200);
    cr_assert_neq(access(test_path(path, d.store, "mood"), F_OK), 0,
                  "a crash would publish it once more");
    clear(id);
    job_wait(&d, id, "succeeded");
    expect_saved(id, "succeeded");
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
    expect_saved(id, "failed");
}

Test(job_storage, a_job_that_cannot_be_taken_up_fails_alone)
{
    char file[JOB_ID_MAX], bad[JOB_ID_MAX], good[JOB_ID_MAX], path[PATH_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "bad", JOB_LONG, bad);
    job_create(&d, file, "good", JOB_TINY ",\"n_epochs\":2", good);
    job_wait(&d, bad, "running");
    job_daemon_kill(&d);
    cr_assert_eq(unlink(job_path(bad, "events.jsonl", path)), 0);
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
    FILE *file = fopen(job_path(id, "events.jsonl", path), "ae");
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
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":100", id);
    cr_assert_eq(job_act(&d, id, "pause"), 200);
    job_wait(&d, id, "queued");
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

/* ---- a full disk ----------------------------------------------------------------------------- */

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
    job_wait_event(&d, id, "mend that, then resume the job");
    job_wait(&d, id, "queued");
    expect_saved(id, "waiting");
}

/* A limit of the size of files is a full disk for one process. */
static void start_with_limited_trainer(void)
{
    start_with_trainer("test -e \"$0.free\" || ulimit -f 4");
}

Test(job_storage, a_job_whose_trainer_finds_the_disk_full_is_paused,
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
Test(job_storage, a_pause_is_reported_once_there_is_room, .init = start_with_counting_trainer)
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

Test(job_storage, a_job_whose_model_has_no_room_in_the_store_is_paused,
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

/* What is wrong is not the file. */
Test(job_storage, a_file_that_cannot_be_converted_leaves_nothing)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    struct sl_buffer text = {0};
    for (int i = 0; i < 6000; i++)
        sl_buffer_printf(&text, "{\"prompt\":\"film %01000d\",\"completion\":\"%d\"}\n", i, i % 2);
    file_upload_text(&d, "pairs.jsonl", text.data, file);
    sl_buffer_release(&text);
    limit_files(INDEX_BYTES);
    job_create(&d, file, "mood", JOB_TINY, id);
    job_wait(&d, id, "failed");
    limit_files(RLIM_INFINITY);
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "internal");
    EXPECT_SAID(json_string_at(job, "error/message"), "could not be converted: File too large");
    json_decref(job);
    cr_assert_neq(access(job_path(id, "data.jsonl.tmp", path), F_OK), 0);
}

Test(job_storage, a_job_whose_model_the_store_refuses_is_paused)
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

Test(job_storage, on_a_full_disk_jobs_are_refused_and_files_can_be_deleted)
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
Test(job_storage, the_daemon_starts_on_a_full_disk)
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
    cr_assert_eq(unlink(job_path(stuck, "events.jsonl", path)), 0);
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
