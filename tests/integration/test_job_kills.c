/* test_job_kills.c - jobs whose trainer, or daemon, is killed at any moment: they end with the bits
 * of an uninterrupted run. SLUICE_KILLS sets how often; SLUICE_SEED when. */
#include "base/random.h"
#include "support/daemon.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

#include <pthread.h>
#include <signal.h>

enum { KILLS = TEST_SANITIZED ? 4 : 8, KILL_WITHIN_MS = 400, CHANGE_WITHIN_MS = 8 };

static const char *const settings =
    TEST_SANITIZED ? JOB_TINY ",\"n_epochs\":40" : JOB_TINY ",\"n_epochs\":100";

static struct daemon d;

static void start(void)
{
    job_daemon_start(&d, NULL);
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(job_kills, .init = start, .fini = stop, .timeout = 3600);

static void digest(const char *model, char hex[static 65])
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/models/%s", model);
    struct http_response response = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *object = json_from_response(&response);
    (void)snprintf(hex, 65, "%s", json_string_at(object, "sluice/sha256"));
    json_decref(object);
    http_response_release(&response);
}

static void expect_same_bits(const char *one, const char *other)
{
    char a[65], b[65];
    digest(one, a);
    digest(other, b);
    cr_assert_str_eq(a, b, "%s and %s differ", one, other);
}

static void kill_trainer(void)
{
    pid_t pid = job_wait_trainer(&d);
    cr_assert(kill(pid, SIGKILL) == 0 || job_trainer(&d) != pid);
}

static void kill_daemon(void)
{
    job_daemon_kill(&d);
    job_daemon_restart(&d, NULL);
}

/* The daemon checks the index at each start, and sets a damaged one aside. */
static void expect_whole_index(void)
{
    char path[PATH_MAX];
    cr_assert_neq(access(test_path(path, d.directory, "state/sluice.db.broken"), F_OK), 0);
}

/* Steps of metrics events grow: none is reported twice. */
static void expect_steps_once(const char *id)
{
    json_t *page = job_get(&d, id, "events?order=asc&limit=1000");
    const json_t *events = json_at(page, "data"), *event;
    int64_t step = 0;
    size_t i;
    json_array_foreach (events, i, event) {
        if (!json_at(event, "data/step") || json_at(event, "data/valid_loss"))
            continue;
        cr_assert_gt(json_integer_at(event, "data/step"), step, "a step was reported twice");
        step = json_integer_at(event, "data/step");
    }
    json_decref(page);
}

Test(job_kills, killed_jobs_end_with_the_same_bits)
{
    char file[JOB_ID_MAX], whole[JOB_ID_MAX], killed[JOB_ID_MAX];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "whole", settings, whole);
    job_create(&d, file, "killed", settings, killed);
    job_wait(&d, whole, "succeeded");
    job_wait_event(&d, killed, "New checkpoint saved at step 40");
    kill_trainer();
    job_wait_event(&d, killed, "killed by signal 9");
    job_wait_event(&d, killed, "New checkpoint saved at step 200");
    kill_daemon();
    job_wait(&d, killed, "succeeded");
    cr_assert(job_has_event(&d, killed, "The daemon has started again"));
    expect_same_bits("whole", "killed");
    expect_steps_once(killed);
    json_t *job = job_get(&d, killed, ""), *other = job_get(&d, whole, "");
    cr_assert_eq(json_integer_at(job, "trained_tokens"), json_integer_at(other, "trained_tokens"));
    json_decref(job);
    json_decref(other);
}

Test(job_kills, a_stopped_daemon_saves_and_continues)
{
    char file[JOB_ID_MAX], whole[JOB_ID_MAX], stopped[JOB_ID_MAX];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "whole", settings, whole);
    job_wait(&d, whole, "succeeded");
    job_create(&d, file, "stopped", settings, stopped);
    job_wait_event(&d, stopped, "New checkpoint saved at step 40");
    cr_assert_eq(kill(d.pid, SIGTERM), 0);
    cr_assert_eq(program_wait(d.pid), 0);
    job_daemon_restart(&d, NULL);
    job_wait(&d, stopped, "succeeded");
    cr_assert(job_has_event(&d, stopped, "Training continues from step"));
    expect_same_bits("whole", "stopped");
}

/* A version in the store is whole: it loads. */
static void load_version(int version)
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v2/repository/models/model/versions/%d/load", version);
    struct http_response response = http_admin(&d, "POST", path, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
}

/* Moves `stable` to a version. The daemon may be killed before it answers. */
static void *move_label(void *version)
{
    char body[64];
    (void)snprintf(body, sizeof body, "{\"version\":%d}", *(const int *)version);
    struct http_response response = http_admin(&d, "PUT", "/v1/models/model/labels/stable", body);
    http_response_release(&response);
    return NULL;
}

static void kill_daemon_amid_change(int version, int ms)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, move_label, &version), 0);
    sleep_ms(ms);
    job_daemon_kill(&d);
    (void)pthread_join(thread, NULL);
    job_daemon_restart(&d, NULL);
    struct http_response response = http_admin(&d, "GET", "/v1/models/model", NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
}

static int below(int bound)
{
    static uint64_t drawn;
    return (int)sl_random_below(sl_random_key(test_seed(), "kills"), drawn++, (uint64_t)bound);
}

/* Kills until the job has succeeded, or often enough; returns how often. A trainer that is killed
 * three times without progress is given up, so at most two in a row. */
static int kill_amid_job(const char *id, int made, int kills)
{
    for (int i = 0, trainers = 0;; i++) {
        sleep_ms(below(KILL_WITHIN_MS));
        json_t *object = job_get(&d, id, "");
        bool ended = strcmp(json_string_at(object, "status"), "succeeded") == 0;
        json_decref(object);
        if (ended || i == kills)
            return i;
        pid_t trainer = job_trainer(&d);
        int choice = below(3);
        bool hits_trainer = choice == 0 && trainer > 0 && trainers < 2;
        if (hits_trainer)
            (void)kill(trainer, SIGKILL);
        else if (choice == 1)
            kill_daemon_amid_change(1 + below(made), below(CHANGE_WITHIN_MS));
        else
            kill_daemon();
        trainers = hits_trainer ? trainers + 1 : 0;
        expect_whole_index();
    }
}

/* Every kill hits a moment of training, publishing, loading or moving a label. */
Test(job_kills, kills_at_random_moments_do_no_harm)
{
    const char *given = getenv("SLUICE_KILLS");
    int kills = given ? (int)strtol(given, NULL, 10) : KILLS, made = 1;
    char file[JOB_ID_MAX], id[JOB_ID_MAX], name[32];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "model", settings, id);
    job_wait(&d, id, "succeeded");
    for (int i = 0; i < kills;) {
        job_create(&d, file, "model", settings, id);
        i += kill_amid_job(id, made, kills - i);
        job_wait(&d, id, "succeeded");
        made++;
        (void)snprintf(name, sizeof name, "model@%d", made);
        load_version(1);
        load_version(made);
        expect_same_bits("model@1", name);
        json_t *object = job_get(&d, id, "");
        cr_assert_str_eq(json_string_at(object, "fine_tuned_model"), name, "a version was lost");
        json_decref(object);
    }
    char versions[PATH_MAX];
    (void)test_path(versions, d.store, "model");
    cr_assert_leq(test_count_entries(versions), made + 1,
                  "something is left over"); /* labels.json */
}

/* It would hang for ever. */
Test(job_kills, a_trainer_that_a_signal_stops_is_started_again)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "mood", JOB_LONG, id);
    job_wait_event(&d, id, "New checkpoint saved");
    const pid_t stopped = job_wait_trainer(&d);
    cr_assert_eq(kill(stopped, SIGSTOP), 0);
    job_wait_event(&d, id, "The trainer was stopped by a signal");
    job_wait_event(&d, id, "killed by signal 9 (Killed); it continues from the last checkpoint");
    job_wait_event(&d, id, "Training continues from step");
    cr_assert_neq(job_wait_trainer(&d), stopped);
    cr_assert_eq(kill(job_wait_trainer(&d), SIGSTOP), 0);
    cr_assert_eq(job_act(&d, id, "pause"), 200);
    job_wait_event(&d, id, "Job paused at step");
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    cr_assert_eq(kill(job_wait_trainer(&d), SIGSTOP), 0);
    cr_assert_eq(job_act(&d, id, "cancel"), 200);
    for (int i = 0; job_trainer(&d) > 0; i++, sleep_ms(5))
        cr_assert_lt(i, DAEMON_WAIT_MS / 5, "the trainer of a cancelled job is left");
}
