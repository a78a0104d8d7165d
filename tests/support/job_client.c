/* job_client.c - training jobs of a test's daemon. */
#include "support/job_client.h"

#include "support/file_upload.h"
#include "support/program.h"
#include "support/test.h"

#include <dirent.h>
#include <signal.h>

enum { WAIT_MS = 60000, POLL_MS = 10 };

static void serve(struct daemon *daemon, const char *const *options)
{
    char state[PATH_MAX];
    const char *all[PROGRAM_ARGS_MAX] = {"--state", test_path(state, daemon->directory, "state")};
    int count = 2;
    for (; options && *options; options++)
        all[count++] = *options;
    daemon_serve(daemon, all);
}

void job_daemon_start(struct daemon *daemon, const char *const *options)
{
    daemon_make_store(daemon);
    serve(daemon, options);
}

void job_daemon_restart(struct daemon *daemon, const char *const *options)
{
    serve(daemon, options);
}

void job_daemon_kill(struct daemon *daemon)
{
    cr_assert_eq(kill(daemon->pid, SIGKILL), 0);
    cr_assert_eq(program_wait(daemon->pid), -1);
}

void job_upload_reviews(const struct daemon *daemon, int count, char id[static JOB_ID_MAX])
{
    static const char *const words[2][4] = {{"lovely", "great", "moving", "bright"},
                                            {"dull", "awful", "weak", "boring"}};
    struct sl_buffer text = {0};
    for (int i = 0; i < count; i++)
        sl_buffer_printf(&text, "{\"text\":\"a %s and %s film %d\",\"label\":\"%s\"}\n",
                         words[i % 2][i / 2 % 4], words[i % 2][i / 8 % 4], i % 7,
                         i % 2 ? "negative" : "positive");
    cr_assert_not(text.failed);
    file_upload_text(daemon, "reviews.jsonl", text.data, id);
    sl_buffer_release(&text);
}

struct http_response job_post(const struct daemon *daemon, const char *body, const char *key)
{
    char line[512];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    (void)snprintf(line, sizeof line, "Idempotency-Key: %s", key ? key : "");
    if (key)
        headers = curl_slist_append(headers, line);
    struct http_response response =
        http_admin_with(daemon, "POST", "/v1/fine_tuning/jobs", body, headers);
    curl_slist_free_all(headers);
    return response;
}

void job_submit(const struct daemon *daemon, const char *body, char id[static JOB_ID_MAX])
{
    struct http_response response = job_post(daemon, body, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *object = json_from_response(&response);
    (void)snprintf(id, JOB_ID_MAX, "%s", json_string_at(object, "id"));
    json_decref(object);
    http_response_release(&response);
}

void job_create(const struct daemon *daemon, const char *file, const char *name,
                const char *settings, char id[static JOB_ID_MAX])
{
    char body[JOB_BODY_MAX];
    (void)snprintf(
        body, sizeof body,
        "{\"model\":\"encoder\",\"training_file\":\"%s\",\"suffix\":\"%s\",\"seed\":7,"
        "\"method\":{\"type\":\"supervised\",\"supervised\":{\"hyperparameters\":{%s}}}}",
        file, name, settings);
    job_submit(daemon, body, id);
}

static void path_of(const char *id, const char *what, char path[static 256])
{
    (void)snprintf(path, 256, "/v1/fine_tuning/jobs%s%s%s%s", id[0] ? "/" : "", id,
                   what[0] ? "/" : "", what);
}

json_t *job_get(const struct daemon *daemon, const char *id, const char *what)
{
    char path[256];
    path_of(id, what, path);
    struct http_response response = http_admin(daemon, "GET", path, NULL);
    cr_assert_eq(response.status, 200, "%s: %s", path, response.body.data);
    json_t *value = json_from_response(&response);
    http_response_release(&response);
    return value;
}

long job_act(const struct daemon *daemon, const char *id, const char *action)
{
    char path[256];
    path_of(id, action, path);
    struct http_response response = http_admin(daemon, "POST", path, "");
    long status = response.status;
    http_response_release(&response);
    return status;
}

void job_wait(const struct daemon *daemon, const char *id, const char *status)
{
    for (int ms = 0;; ms += POLL_MS) {
        json_t *job = job_get(daemon, id, "");
        const char *now = json_string_at(job, "status");
        bool reached = strcmp(now, status) == 0;
        bool ended = strcmp(now, "failed") == 0 || strcmp(now, "cancelled") == 0 ||
                     strcmp(now, "succeeded") == 0;
        char *text = json_dumps(json_at(job, "error"), JSON_ENCODE_ANY);
        cr_assert(reached || (!ended && ms < WAIT_MS), "%s is %s, not %s: %s", id, now, status,
                  text);
        free(text);
        json_decref(job);
        if (reached)
            return;
        sleep_ms(POLL_MS);
    }
}

bool job_has_event(const struct daemon *daemon, const char *id, const char *text)
{
    json_t *page = job_get(daemon, id, "events?limit=1000");
    const json_t *events = json_at(page, "data"), *event;
    bool found = false;
    size_t i;
    json_array_foreach (events, i, event)
        found = found || strstr(json_string_at(event, "message"), text);
    json_decref(page);
    return found;
}

void job_wait_event(const struct daemon *daemon, const char *id, const char *text)
{
    for (int ms = 0; !job_has_event(daemon, id, text); ms += POLL_MS) {
        cr_assert_lt(ms, WAIT_MS, "%s has no event '%s'", id, text);
        sleep_ms(POLL_MS);
    }
}

void job_expect_label(const struct daemon *daemon, const char *model, const char *text,
                      const char *label)
{
    char path[128], body[256];
    (void)snprintf(path, sizeof path, "/models/%s/predict", model);
    (void)snprintf(body, sizeof body, "{\"inputs\":\"%s\"}", text);
    struct http_response response = http_request(daemon, "POST", path, body);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *classes = json_from_response(&response);
    cr_assert_str_eq(json_string_at(classes, "0/label"), label, "%s", response.body.data);
    json_decref(classes);
    http_response_release(&response);
}

const char *job_path(const struct daemon *daemon, const char *id, const char *name,
                     char path[static PATH_MAX])
{
    char file[PATH_MAX];
    (void)snprintf(file, sizeof file, "state/jobs/%s/%s", id, name);
    return test_path(path, daemon->directory, file);
}

void job_expect_saved(const struct daemon *daemon, const char *id, const char *phase)
{
    char path[PATH_MAX], text[8192], expected[64];
    test_read_file(text, sizeof text, job_path(daemon, id, "job.json", path));
    (void)snprintf(expected, sizeof expected, "\"phase\":\"%s\"", phase);
    cr_assert(strstr(text, expected), "%s", text);
}

/* The parent of a process; 0: it is gone. */
static pid_t parent_of(const char *pid)
{
    char path[PATH_MAX], text[512];
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    bool read = file && fgets(text, sizeof text, file);
    if (file)
        (void)fclose(file);
    const char *rest = read ? strrchr(text, ')') : NULL;
    return rest && rest[2] != 'Z' ? (pid_t)strtol(rest + 3, NULL, 10) : 0;
}

pid_t job_trainer(const struct daemon *daemon)
{
    pid_t found = 0;
    DIR *processes = opendir("/proc");
    cr_assert(processes);
    for (const struct dirent *entry; !found && (entry = readdir(processes));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            parent_of(entry->d_name) == daemon->pid)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    (void)closedir(processes);
    return found;
}

pid_t job_wait_trainer(const struct daemon *daemon)
{
    pid_t pid = 0;
    for (int ms = 0; !(pid = job_trainer(daemon)); ms += POLL_MS) {
        cr_assert_lt(ms, WAIT_MS, "no trainer runs");
        sleep_ms(POLL_MS);
    }
    return pid;
}
