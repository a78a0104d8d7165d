/* test_version_swaps.c - versions replaced under load: no request fails, each answer is that of the
 * version that it names, and memory does not grow.
 *
 *     SLUICE_SWAPS=1000 build/release/tests/test_version_swaps      the long run, with latencies */
#include "base/file.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/slope.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum {
    SWAPS = TEST_SANITIZED ? 12 : 40,
    CONNECTIONS = TEST_SANITIZED ? 12 : 32,
    LONG_CONNECTIONS = 128,
    QUESTIONS = 16,
    TEXTS = 4,   /* of one question */
    KEPT = 4,    /* versions that stay in the store */
    FIRST = 4,   /* the version that is served at the start */
    BLOCKS = 20, /* of swaps, and as many without: what else the machine does is in both */
    CALM_REQUESTS = TEST_SANITIZED ? 10 : 100,
    LONG_CALM_REQUESTS = 6000, /* of one block without swaps */
    LATENCIES_MAX = 1 << 22
};

/* How often, and with how many connections. */
static int swaps = SWAPS, connections = CONNECTIONS, calm_requests = CALM_REQUESTS;

static struct daemon d;
static char questions[QUESTIONS][256];
/* What the two kinds of versions answer: even numbers and odd ones have other weights. */
static char *answers[2][QUESTIONS];

/* ---- known answers --------------------------------------------------------------------------- */

static void make_questions(void)
{
    for (int i = 0; i < QUESTIONS; i++) {
        int length = snprintf(questions[i], sizeof questions[i], "{\"inputs\":[");
        for (int j = 0; j < TEXTS; j++)
            length += snprintf(questions[i] + length, sizeof questions[i] - (size_t)length,
                               "%s[\"text %c of question %c\"]", j ? "," : "", 'a' + j, 'a' + i);
        (void)snprintf(questions[i] + length, sizeof questions[i] - (size_t)length, "]}");
    }
}

/* By the version that is served now, one request at a time. */
static void learn_answers(int kind)
{
    for (int i = 0; i < QUESTIONS; i++) {
        struct http_response answer =
            http_request(&d, "POST", "/models/" MOOD "/predict", questions[i]);
        cr_assert_eq(answer.status, 200, "%s", answer.body.data);
        answers[kind][i] = strdup(answer.body.data);
        cr_assert(answers[kind][i]);
        http_response_release(&answer);
    }
}

/* ---- traffic --------------------------------------------------------------------------------- */

struct connection {
    CURL *curl;
    struct sl_buffer head, body;
    int question;
    int64_t began_ns;
};

/* One thread sends all requests. What it finds wrong is told when it has ended. */
static struct {
    pthread_t thread;
    struct connection connections[LONG_CONNECTIONS];
    char url[64];
    atomic_bool stop, swapping;
    atomic_long finished, failed;
    char first_failure[512];
    atomic_uint kinds;      /* a bit for each kind of version that answered */
    uint32_t *latencies[2]; /* in microseconds: without swaps, and with them */
    int latency_counts[2];
} traffic;

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void begin(CURLM *multi, struct connection *c, int question)
{
    c->question = question;
    sl_buffer_clear(&c->head);
    sl_buffer_clear(&c->body);
    sl_buffer_append_string(&c->head, "");
    sl_buffer_append_string(&c->body, "");
    c->began_ns = now_ns();
    (void)curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, questions[question]);
    cr_assert_eq(curl_multi_add_handle(multi, c->curl), CURLM_OK);
}

static void record_failure(const struct connection *c, const char *what, long status)
{
    if (atomic_fetch_add(&traffic.failed, 1) == 0)
        (void)snprintf(traffic.first_failure, sizeof traffic.first_failure,
                       "%s: status %ld, question %d: %.100s %.200s", what, status, c->question,
                       c->body.data, strstr(c->head.data, "x-sluice"));
}

static void check(const struct connection *c, CURLcode code)
{
    static const char header[] = "x-sluice-model: " MOOD "@";
    long status = 0;
    (void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    const char *version = strstr(c->head.data, header);
    if (code != CURLE_OK || status != 200 || !version) {
        record_failure(c, curl_easy_strerror(code), status);
        return;
    }
    int kind = (int)(strtol(version + sizeof header - 1, NULL, 10) % 2);
    (void)atomic_fetch_or(&traffic.kinds, 1U << kind);
    if (strcmp(c->body.data, answers[kind][c->question]) != 0)
        record_failure(c, "not the answer of this version", status);
    int phase = atomic_load(&traffic.swapping);
    if (traffic.latency_counts[phase] < LATENCIES_MAX)
        traffic.latencies[phase][traffic.latency_counts[phase]++] =
            (uint32_t)((now_ns() - c->began_ns) / 1000);
    (void)atomic_fetch_add(&traffic.finished, 1);
}

static void open_connection(struct connection *c, struct curl_slist *headers)
{
    c->curl = curl_easy_init();
    cr_assert(c->curl);
    (void)curl_easy_setopt(c->curl, CURLOPT_URL, traffic.url);
    (void)curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, http_append);
    (void)curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->body);
    (void)curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, http_append);
    (void)curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, &c->head);
    (void)curl_easy_setopt(c->curl, CURLOPT_PRIVATE, c);
}

static void *send_all(void *unused)
{
    (void)unused;
    CURLM *multi = curl_multi_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    int running = connections, next = 0, left;
    cr_assert(multi);
    (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 2L * connections);
    for (int i = 0; i < connections; i++) {
        open_connection(&traffic.connections[i], headers);
        begin(multi, &traffic.connections[i], next++ % QUESTIONS);
    }
    while (running > 0) {
        (void)curl_multi_perform(multi, &left);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            struct connection *c;
            (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&c);
            check(c, message->data.result);
            (void)curl_multi_remove_handle(multi, c->curl);
            if (atomic_load(&traffic.stop))
                running--;
            else
                begin(multi, c, next++ % QUESTIONS);
        }
        (void)curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    for (int i = 0; i < connections; i++) {
        curl_easy_cleanup(traffic.connections[i].curl);
        sl_buffer_release(&traffic.connections[i].head);
        sl_buffer_release(&traffic.connections[i].body);
    }
    (void)curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    return NULL;
}

static void begin_traffic(void)
{
    (void)snprintf(traffic.url, sizeof traffic.url, "http://127.0.0.1:%d/models/" MOOD "/predict",
                   d.port);
    for (int i = 0; i < 2; i++)
        cr_assert(traffic.latencies[i] = calloc(LATENCIES_MAX, sizeof *traffic.latencies[i]));
    cr_assert_eq(pthread_create(&traffic.thread, NULL, send_all, NULL), 0);
}

static void wait_for_requests(long more)
{
    long until = atomic_load(&traffic.finished) + more;
    while (atomic_load(&traffic.finished) < until && atomic_load(&traffic.failed) == 0)
        sleep_ms(1);
}

static void end_traffic(void)
{
    atomic_store(&traffic.stop, true);
    (void)pthread_join(traffic.thread, NULL);
}

/* ---- swaps ----------------------------------------------------------------------------------- */

static void publish(int version)
{
    char directory[32];
    (void)snprintf(directory, sizeof directory, MOOD "/%d", version);
    tiny_store_copy(d.store, version % 2 ? ".odd/4" : ".even/4", directory);
}

static void remove_version(int version)
{
    struct sl_err err;
    char directory[32], path[PATH_MAX];
    (void)snprintf(directory, sizeof directory, MOOD "/%d", version);
    EXPECT_OK(sl_directory_remove(test_path(path, d.store, directory), &err), err);
}

/* From here on every new request gets this version. */
static void load(int version)
{
    char wanted[64];
    struct http_response answer =
        http_admin(&d, "POST", "/v2/repository/models/" MOOD "/load", "{}");
    (void)snprintf(wanted, sizeof wanted, "\"version\":\"%d\"", version);
    cr_assert_eq(answer.status, 200, "%s", answer.body.data);
    cr_assert(strstr(answer.body.data, wanted), "%s", answer.body.data);
    http_response_release(&answer);
}

static void swap(int version)
{
    publish(version);
    load(version);
    if (version - KEPT > FIRST)
        remove_version(version - KEPT);
    wait_for_requests(connections); /* so that every version is used */
}

/* ---- memory ---------------------------------------------------------------------------------- */

static double resident_kib(void)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)d.pid);
    test_read_file(text, sizeof text, path);
    const char *line = strstr(text, "VmRSS:");
    cr_assert(line);
    return strtod(line + strlen("VmRSS:"), NULL);
}

/* ---- the test -------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_latencies(int phase, const char *name)
{
    int count = traffic.latency_counts[phase];
    uint32_t *all = traffic.latencies[phase];
    qsort(all, (size_t)count, sizeof *all, compare);
    const uint32_t median = all[count / 2];
    (void)printf("%s: %d requests, p50 %.2f ms, p99 %.2f ms, max %.2f ms\n", name, count,
                 1e-3 * median, 1e-3 * all[(int)(0.99 * count)], 1e-3 * all[count - 1]);
}

static void start(void)
{
    const char *wanted = getenv("SLUICE_SWAPS");
    if (wanted) {
        swaps = (int)strtol(wanted, NULL, 10);
        connections = LONG_CONNECTIONS;
        calm_requests = LONG_CALM_REQUESTS;
    }
    daemon_make_store(&d);
    tiny_seeded_make(d.store, ".even", 1);
    tiny_seeded_make(d.store, ".odd", 2);
    publish(FIRST);
    daemon_serve(&d, (const char *const[]){"--log-level", "warn", NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

/* Some requests without swaps, to compare with. */
static void stay_calm(int swapped)
{
    atomic_store(&traffic.swapping, false);
    wait_for_requests(calm_requests);
    atomic_store(&traffic.swapping, true);
    if (swaps > SWAPS)
        (void)printf("after %d swaps: %.0f KiB resident\n", swapped, resident_kib());
}

/* A version that stayed in memory would take megabytes. What is smaller shows in the long run only:
 * versions come and go, and the heap breathes. */
static void expect_flat(const double *kib)
{
    enum { SETTLING = 10, MANY = 500 }; /* swaps until the heap has its size, and until it shows */

    double slope = slope_of(kib + SETTLING, swaps - SETTLING);
    (void)printf("%d swaps under %d connections; resident %.0f KiB after %d swaps, %.0f KiB after "
                 "all, %.2f KiB per swap\n",
                 swaps, connections, kib[SETTLING], SETTLING, kib[swaps - 1], slope);
    if (!TEST_SANITIZED)
        cr_assert_lt(slope, swaps < MANY ? 512.0 : 4.0, "memory grows");
}

Test(swaps, no_request_fails_and_no_answer_mixes_versions, .init = start, .fini = stop,
     .timeout = 3600)
{
    double *kib = calloc((size_t)swaps + 1, sizeof *kib);
    cr_assert(kib);
    make_questions();
    learn_answers(FIRST % 2);
    publish(FIRST + 1);
    load(FIRST + 1);
    learn_answers((FIRST + 1) % 2);
    begin_traffic();
    for (int i = 0; i < swaps && atomic_load(&traffic.failed) == 0; i++) {
        if (i % (swaps / BLOCKS + 1) == 0)
            stay_calm(i);
        swap(FIRST + 2 + i);
        kib[i] = resident_kib();
    }
    end_traffic();
    cr_assert_eq(atomic_load(&traffic.failed), 0, "%ld failed, the first: %s",
                 atomic_load(&traffic.failed), traffic.first_failure);
    cr_assert_eq(atomic_load(&traffic.kinds), 3, "both kinds of versions have answered");
    expect_flat(kib);
    print_latencies(0, "without swaps");
    print_latencies(1, "with swaps");
    free(kib);
}
