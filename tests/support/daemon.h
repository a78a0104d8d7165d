/* daemon.h - a sluiced for a test alone: started on a free port, asked by libcurl or by hand. */
#pragma once

#include "base/buffer.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { DAEMON_WORDS_MAX = 32, DAEMON_WAIT_MS = 30000 };

struct daemon {
    pid_t pid;
    int port;
    char directory[PATH_MAX], store[PATH_MAX];
};

static inline void nap_ms(int ms)
{
    (void)usleep((useconds_t)ms * 1000);
}

/* ---- its life ------------------------------------------------------------------------------- */

/* Starts the program with these words after its name; its output goes nowhere. */
static inline pid_t daemon_spawn(const char *const *words)
{
    const char *arguments[DAEMON_WORDS_MAX + 2] = {program("SLUICED", SL_BUILD_DIR "/sluiced")};
    for (int i = 0; words[i]; i++) {
        cr_assert_lt(i, DAEMON_WORDS_MAX);
        arguments[i + 1] = words[i];
    }
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves no daemon behind */
        if (!getenv("SLUICE_TEST_LOG"))
            (void)!freopen("/dev/null", "w", stderr);
        (void)!freopen("/dev/null", "w", stdout);
        (void)execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    cr_assert_gt(child, 0);
    return child;
}

/* Its exit status; -1 when a signal ended it. */
static inline int daemon_wait(pid_t pid)
{
    int status = 0;
    for (int i = 0; i < DAEMON_WAIT_MS / 10; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        nap_ms(10);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    cr_assert(false, "sluiced did not end");
    return -1;
}

static inline void daemon_wait_for_port(struct daemon *daemon, const char *port_file)
{
    for (int i = 0; i < DAEMON_WAIT_MS / 10; i++) {
        FILE *file = fopen(port_file, "r");
        char line[16] = "";
        if (file && fgets(line, sizeof line, file) && strchr(line, '\n'))
            daemon->port = (int)strtol(line, NULL, 10);
        if (file)
            (void)fclose(file);
        if (daemon->port > 0)
            return;
        cr_assert_eq(waitpid(daemon->pid, NULL, WNOHANG), 0, "sluiced ended at once");
        nap_ms(10);
    }
    cr_assert(false, "sluiced did not come up");
}

/* Serves the directory's store with these options besides, NULL at the end. */
static inline void daemon_serve(struct daemon *daemon, const char *const *options)
{
    char port_file[PATH_MAX];
    const char *words[DAEMON_WORDS_MAX + 1] = {
        "--listen",       "127.0.0.1:0", "--store",
        daemon->store,    "--port-file", test_path(port_file, daemon->directory, "port"),
        "--queue-tokens", "1000000000",  "--log-level",
        "warn",           "--threads",   "1"};
    int count = 12;
    for (int i = 0; options[i]; i++)
        words[count++] = options[i];
    daemon->port = 0;
    daemon->pid = daemon_spawn(words);
    daemon_wait_for_port(daemon, port_file);
}

static inline void daemon_make_store(struct daemon *daemon)
{
    *daemon = (struct daemon){0};
    test_directory_create(daemon->directory);
    (void)test_path(daemon->store, daemon->directory, "store");
    cr_assert_eq(mkdir(daemon->store, 0700), 0);
    tiny_store_make(daemon->store);
}

/* Both, with at least one option. */
#define DAEMON_START(daemon, ...)                                                                  \
    do {                                                                                           \
        daemon_make_store(daemon);                                                                 \
        daemon_serve(daemon, (const char *const[]){__VA_ARGS__, NULL});                            \
    } while (0)

/* Ends it in order; it must have nothing to complain about (sanitizers do, by their status). */
static inline void daemon_stop(struct daemon *daemon)
{
    cr_assert_eq(kill(daemon->pid, SIGTERM), 0);
    cr_assert_eq(daemon_wait(daemon->pid), 0);
    test_directory_remove(daemon->directory);
}

/* ---- by libcurl ----------------------------------------------------------------------------- */

struct answer {
    long status; /* 0: none came */
    CURLcode told;
    struct sl_buffer head, body;
};

static inline size_t answer_take(char *bytes, size_t size, size_t count, void *text)
{
    sl_buffer_append(text, bytes, size * count);
    return size * count;
}

static inline void answer_release(struct answer *answer)
{
    sl_buffer_release(&answer->head);
    sl_buffer_release(&answer->body);
}

/* One request on a connection of its own. body NULL: none. headers NULL, or lines to send
 * besides. */
static inline struct answer ask_with(const struct daemon *daemon, const char *method,
                                     const char *path, const char *body,
                                     const struct curl_slist *headers)
{
    struct answer answer = {0};
    char url[2048];
    CURL *curl = curl_easy_init();
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d%s", daemon->port, path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    struct curl_slist *all =
        body ? curl_slist_append(NULL, "Content-Type: application/json") : NULL;
    for (; headers; headers = headers->next)
        all = curl_slist_append(all, headers->data);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, all);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, answer_take);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer.head);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)DAEMON_WAIT_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    answer.told = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_slist_free_all(all);
    curl_easy_cleanup(curl);
    sl_buffer_append_string(&answer.body, ""); /* an empty body is a string too */
    sl_buffer_append_string(&answer.head, "");
    return answer;
}

static inline struct answer ask(const struct daemon *daemon, const char *method, const char *path,
                                const char *body)
{
    return ask_with(daemon, method, path, body, NULL);
}

static inline struct answer complete(const struct daemon *daemon, const char *body)
{
    return ask(daemon, "POST", "/v1/completions", body);
}

/* The value of a header, or NULL; good until the next call. */
static inline const char *answer_header(const struct answer *answer, const char *name)
{
    static char value[4096];
    size_t length = strlen(name);
    for (const char *line = answer->head.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *start = line + length + 1 + strspn(line + length + 1, " ");
        (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(start, "\r\n"), start);
        return value;
    }
    return NULL;
}

/* The sum of the samples whose line has `begin` before the character `next`, and this part. */
static inline double samples(const struct daemon *daemon, const char *begin, char next,
                             const char *part)
{
    struct answer answer = ask(daemon, "GET", "/metrics", NULL);
    cr_assert_eq(answer.status, 200);
    double sum = 0;
    size_t length = strlen(begin);
    for (const char *line = answer.body.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = line + strcspn(line, "\n"), *found = strstr(line, part);
        if (strncmp(line, begin, length) == 0 && line[length] == next && found && found < end)
            sum += strtod(memrchr(line, ' ', (size_t)(end - line)), NULL);
    }
    answer_release(&answer);
    return sum;
}

/* The value of a series, as written before its number; 0 when it is not there. */
static inline double metric(const struct daemon *daemon, const char *series)
{
    return samples(daemon, series, ' ', "");
}

/* The sum of a metric's series that have these labels, or this part of them. */
static inline double metric_sum(const struct daemon *daemon, const char *name, const char *labels)
{
    return samples(daemon, name, '{', labels);
}

/* Completions of the tiny model so far, by code and reason. */
static inline double calls_ended(const struct daemon *daemon, const char *code, const char *reason)
{
    char series[256];
    (void)snprintf(series, sizeof series,
                   "sluice_requests_total{endpoint=\"/v1/completions\",model=\"" TINY_MODEL
                   "\",version=\"1\",code=\"%s\",reason=\"%s\"}",
                   code, reason);
    return metric(daemon, series);
}

/* Until a series has a value, or fails. */
static inline void wait_for_metric(const struct daemon *daemon, const char *series, double wanted)
{
    double value = -1;
    for (int i = 0; i < DAEMON_WAIT_MS / 20 && (value = metric(daemon, series)) != wanted; i++)
        nap_ms(20);
    cr_assert_eq(value, wanted, "%s is %g, not %g", series, value, wanted);
}

/* ---- by hand -------------------------------------------------------------------------------- */

/* A connection that takes in at most about so many bytes before it is read; 0: as usual. */
static inline int raw_connect_holding(const struct daemon *daemon, int bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)daemon->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cr_assert_geq(fd, 0);
    if (bytes > 0)
        cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static inline int raw_connect(const struct daemon *daemon)
{
    return raw_connect_holding(daemon, 0);
}

static inline void raw_send(int fd, const char *bytes)
{
    cr_assert_eq(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), (ssize_t)strlen(bytes));
}

/* A completion request with this JSON, sent but not read. */
static inline void raw_send_completion(int fd, const char *json)
{
    struct sl_buffer request = {0};
    sl_buffer_printf(
        &request,
        "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        strlen(json), json);
    raw_send(fd, request.data);
    sl_buffer_release(&request);
}

static inline int raw_complete(const struct daemon *daemon, const char *json)
{
    int fd = raw_connect(daemon);
    raw_send_completion(fd, json);
    return fd;
}

/* Reads until the text is there; false when the other end closed before, or time is over. */
static inline bool raw_read_until(int fd, struct sl_buffer *got, const char *text)
{
    char bytes[4096];
    while (!got->data || !strstr(got->data, text)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t count = poll(&ready, 1, DAEMON_WAIT_MS) == 1 ? read(fd, bytes, sizeof bytes) : -1;
        if (count <= 0)
            return false;
        sl_buffer_append(got, bytes, (size_t)count);
    }
    return true;
}

/* The same, without keeping what was read. */
static inline void raw_expect(int fd, const char *text)
{
    struct sl_buffer got = {0};
    cr_assert(raw_read_until(fd, &got, text), "'%s' did not come, but: %s", text,
              got.data ? got.data : "nothing");
    sl_buffer_release(&got);
}
