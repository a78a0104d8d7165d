/* test_sluicectl.c - sluicectl as a process: with a real daemon, and with one that misbehaves. */
#include "bench/latency_histogram.h"
#include "common/sse_parser.h"

#include "sluice/engine.h"
#include "support/daemon.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

/* ---- the command line ------------------------------------------------------------------------ */

/* The result of the last run. */
static const struct program_result *run(const char *const *args)
{
    static struct program_result result;
    program_run(&result, "sluicectl", NULL, args);
    return &result;
}

Test(sluicectl, explains_itself)
{
    static const char *const commands[] = {"complete", "classify", "models",
                                           "health",   "metrics",  "bench"};
    const struct program_result *r = run(ARGS("--help"));
    EXPECT_EXIT(r, 0);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        EXPECT_SAID(r->out, commands[i]);
    EXPECT_SAID(r->out, "--timeout");
    EXPECT_SAID(r->out, "--version ");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        r = run(ARGS(commands[i], "--help"));
        EXPECT_EXIT(r, 0);
        EXPECT_SAID(r->out, commands[i]);
        EXPECT_SAID(r->out, "--url=URL");
    }
    r = run(ARGS("complete", "--help"));
    EXPECT_SAID(r->out, "--max-tokens=N");
    EXPECT_SAID(r->out, "--stop=TEXT");
    EXPECT_SAID(r->out, "--replace ");
    r = run(ARGS("classify", "--help"));
    EXPECT_SAID(r->out, "the exit code is then 2");
    r = run(ARGS("--version"));
    EXPECT_EXIT(r, 0);
    cr_assert_eq(strncmp(r->out, "sluicectl ", 10), 0, "%s", r->out);
    cr_assert_eq(strcspn(r->out + 10, "\n"), strlen(sl_version()));
    EXPECT_SAID(r->out, sl_version());
}

Test(sluicectl, help_has_an_example)
{
    static const char *const commands[] = {"complete", "classify", "bench"};
    char begin[64];
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const struct program_result *r = run(ARGS(commands[i], "--help"));
        (void)snprintf(begin, sizeof begin, "\nExample: sluicectl %s ", commands[i]);
        EXPECT_SAID(r->out, begin);
    }
}

Test(sluicectl, says_what_it_does_not_understand)
{
    static const struct {
        const char *args[8], *said;
    } cases[] = {
        {{NULL}, "missing command; choose one of: complete"},
        {{"compleat"}, "unknown command 'compleat'; did you mean complete?"},
        {{"frobnicate"}, "unknown command 'frobnicate'; choose one of: complete, classify"},
        {{"models", "--jason"}, "unknown option --jason; did you mean --json?"},
        {{"models", "-j"}, "unknown option -j; options begin with two dashes"},
        {{"bench", "--t", "1"}, "--t is ambiguous"},
        {{"label", "mood", "canary", "1", "--remove"}, "--remove takes no version"},
        {{"health", "now"}, "unexpected argument 'now'"},
        {{"complete", "a", "b"}, "unexpected argument 'b'"},
        {{"complete", "--seed"}, "--seed needs a value"},
        {{"complete", "--stream=maybe", "a"}, "expected true or false"},
        {{"complete", "--stream", "--no-stream", "a"}, "exclude each other"},
        {{"complete", "--temperature", "3", "a"}, "a number from 0 to 2"},
        {{"complete", "--max-tokens", "1e7", "a"}, "a whole number from 0 to 1000000"},
        {{"bench", "--connections=0"}, "a whole number from 1 to 4096"},
        {{"--url", "ftp://127.0.0.1", "models"}, "invalid URL"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct program_result *r = run(cases[i].args);
        EXPECT_EXIT(r, 2);
        EXPECT_SAID(r->err, cases[i].said);
        cr_assert_str_eq(r->out, "");
    }
}

Test(sluicectl, takes_the_url_from_the_environment)
{
    cr_assert_eq(setenv("SLUICE_URL", "http://127.0.0.1:2/", 1), 0);
    const struct program_result *r = run(ARGS("health"));
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "cannot reach http://127.0.0.1:2/:");
}

/* ---- with a daemon --------------------------------------------------------------------------- */

Test(sluicectl, tells_the_daemons_own_sentences)
{
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "complete", "--model", "huge", "abc");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'huge'");
    EXPECT_SAID(r->err, "'huge' does not exist; loaded models: tiny. (404 model_not_found, ");
    r = CTL(&d, "complete", "--model", "tiny:blue", "abc");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "The model 'tiny:blue' does not exist: 'tiny' has no such label.");
    r = CTL(&d, "complete", "five \xE2\x82\xAC %");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'%'");
    EXPECT_SAID(r->err, "unknown_characters");
    EXPECT_SAID(r->err, ")\nsluicectl: use --replace to replace unknown characters\n");
    cr_assert(!strstr(r->err, "Set \""), "%s", r->err);
    static const char prompt[] = "a prompt with more characters than the four and sixty that this "
                                 "model can see at once";
    r = CTL(&d, "complete", prompt, "--max-tokens", "3");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "context_length_exceeded");
    EXPECT_SAID(r->err, ")\nsluicectl: use --truncate=SIDE to cut texts that are too long\n");
    cr_assert(!strstr(r->err, "Set \""), "%s", r->err);
    r = CTL(&d, "complete", prompt, "--max-tokens", "3", "--truncate=left", "--usage");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->err, "[64 prompt tokens, 3 completion tokens");
    r = CTL(&d, "complete", prompt, "--truncate=right");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "invalid --truncate 'right': expected left");
    r = CTL(&d, "complete", "not \xff UTF-8");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "not UTF-8");
    r = CTL(&d, "complete", "a", "--max-tokens", "1000000", "--timeout", "0.2");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "(504 deadline_exceeded, ");
    daemon_stop(&d.daemon);
}

Test(sluicectl, lists_models)
{
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "models");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "MODEL");
    EXPECT_SAID(r->out, "\ntiny ");
    EXPECT_SAID(r->out, " tsa ");
    EXPECT_SAID(r->out, " TASK ");
    EXPECT_SAID(r->out, " completion ");
    r = CTL(&d, "models", "--json");
    json_t *answer = json_from_text(r->out);
    cr_assert_eq(json_array_size(json_object_get(answer, "data")), 1);
    json_decref(answer);
    r = CTL(&d, "models", "tiny", "--json");
    EXPECT_EXIT(r, 0);
    answer = json_from_text(r->out);
    cr_assert_eq(json_integer_at(answer, "max_model_len"), TINY_CONTEXT);
    json_decref(answer);
    r = CTL(&d, "models", "a/b c?d");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "'a/b c?d'");
    daemon_stop(&d.daemon);
}

Test(sluicectl, prints_health_and_metrics)
{
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "health");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "is ready\n");
    r = CTL(&d, "health", "--json");
    json_t *answer = json_from_text(r->out);
    cr_assert(json_is_true(json_object_get(answer, "live")));
    cr_assert(json_is_true(json_object_get(answer, "ready")));
    json_decref(answer);
    r = CTL(&d, "metrics", "sluice_model_ready");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\nsluice_model_ready{model=\"tiny\",version=\"1\"} 1\n");
    cr_assert(!strstr(r->out, "process_"), "only what begins with the prefix: %s", r->out);
    r = CTL(&d, "metrics", "nosuch_");
    EXPECT_EXIT(r, 2);
    cr_assert_str_eq(r->out, "");
    EXPECT_SAID(r->err, "no metric's name begins with 'nosuch_'; the names begin with: ");
    EXPECT_SAID(r->err, ", sluice_model, ");
    EXPECT_SAID(r->err, ", process_start\n");
    EXPECT_EXIT(CTL(&d, "metrics", "nosuch_", "--json"), 2);
    r = CTL(&d, "metrics", "--json");
    EXPECT_EXIT(r, 0);
    answer = json_from_text(r->out);
    cr_assert_gt(json_array_size(answer), 50);
    json_decref(answer);
    r = CTL(&d, "metrics", "sluice_model_ready", "--json");
    answer = json_from_text(r->out);
    const json_t *sample = json_array_get(answer, 0);
    cr_assert_eq(json_array_size(answer), 1);
    cr_assert_str_eq(json_string_value(json_object_get(json_object_get(sample, "labels"), "model")),
                     "tiny");
    cr_assert_eq((int)json_number_at(sample, "value"), 1);
    json_decref(answer);
    daemon_stop(&d.daemon);
}

static void check_percentiles(const json_t *report, const char *name)
{
    const json_t *of = json_object_get(report, name);
    cr_assert_gt(json_number_at(of, "p50"), 0, "%s", name);
    cr_assert_geq(json_number_at(of, "p90"), json_number_at(of, "p50"), "%s", name);
    cr_assert_geq(json_number_at(of, "p99"), json_number_at(of, "p90"), "%s", name);
}

Test(sluicectl, benchmarks)
{
    static const char *const names[] = {"stream_tokens_per_second", "first_token_ms",
                                        "inter_token_ms", "latency_ms"};
    static struct ctl_target d;
    ctl_serve(&d);
    const struct program_result *r = CTL(&d, "bench", "--connections", "3", "--tokens", "40",
                                         "--requests", "7", "--prompt", "abc", "--json");
    EXPECT_EXIT(r, 0);
    json_t *report = json_from_text(r->out);
    cr_assert_eq(json_integer_at(report, "requests"), 7);
    cr_assert_eq(json_integer_at(report, "failed"), 0);
    cr_assert_eq(json_integer_at(report, "tokens"), 280);
    cr_assert_eq(json_integer_at(report, "prompt_tokens"), 21);
    cr_assert_gt(json_number_at(report, "tokens_per_second"), 0);
    cr_assert_geq(json_number_at(report, "tokens_per_chunk"), 1);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_percentiles(report, names[i]);
    json_decref(report);

    r = CTL(&d, "bench", "--connections=2", "--tokens=9", "--requests=4", "--warm-up=0",
            "--prompt=a", "--no-stream", "--json");
    EXPECT_EXIT(r, 0);
    report = json_from_text(r->out);
    cr_assert_eq(json_integer_at(report, "tokens"), 36);
    cr_assert(json_is_null(json_object_get(json_object_get(report, "first_token_ms"), "p50")));
    json_decref(report);

    r = CTL(&d, "bench", "--connections=2", "--tokens=5", "--requests=2", "--prompt=a");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "tiny, 2 streams: ");
    EXPECT_SAID(r->out, "2 requests with 10 tokens");
    r = CTL(&d, "bench", "--seconds=1", "--tokens=5");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "--seconds needs --classify");
    r = CTL(&d, "bench", "--classify=texts.txt", "--prompt=a");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "--prompt has no effect with --classify");
    r = CTL(&d, "bench", "--model=huge", "--tokens=5");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "(404 model_not_found");
    EXPECT_SAID(r->err, "sluicectl: The model 'huge' does not exist; loaded models: tiny.");
    r = CTL(&d, "bench", "--tokens=5", "--prompt",
            "a prompt with more characters than the four and sixty that this model can see");
    EXPECT_SAID(r->err, "context_length_exceeded");
    cr_assert_not(strstr(r->err, "--truncate"), "it has no such option: %s", r->err);
    cr_assert_str_eq(r->out, "");
    daemon_stop(&d.daemon);
}

/* ---- a daemon that misbehaves ---------------------------------------------------------------- */

/* Gives the answers of a script, one per connection, the last again and again. */
struct actor {
    const char *const *script; /* NULL at the end */
    int socket, asked;
    long timeout_ms[8]; /* that the first requests came with */
    char url[64];
    pthread_t thread;
    const char *input; /* none */
    struct program_result result;
};

/* A request's head, and with it as much of its body as came along. */
static void read_request(int fd, char text[static 8192])
{
    size_t used = 0;
    ssize_t count;
    while (used < 8191 && (count = read(fd, text + used, 8191 - used)) > 0) {
        used += (size_t)count;
        text[used] = '\0';
        if (strstr(text, "\r\n\r\n") && (strncmp(text, "GET", 3) == 0 || strstr(text, "}")))
            return;
    }
}

static void *act(void *context)
{
    struct actor *a = context;
    for (int fd; (fd = accept(a->socket, NULL, NULL)) >= 0; a->asked++) {
        const char *answer = a->script[0];
        char request[8192] = "";
        read_request(fd, request);
        const char *timeout = strcasestr(request, "X-Request-Timeout-Ms: ");
        if (timeout && a->asked < 8)
            a->timeout_ms[a->asked] = strtol(timeout + 22, NULL, 10);
        if (a->script[1])
            a->script++;
        (void)send(fd, answer, strlen(answer), MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

static void actor_start(struct actor *a, const char *const *script)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    *a = (struct actor){.script = script, .socket = socket(AF_INET, SOCK_STREAM, 0)};
    cr_assert_eq(bind(a->socket, (struct sockaddr *)&address, length), 0);
    cr_assert_eq(listen(a->socket, 16), 0);
    cr_assert_eq(getsockname(a->socket, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(a->url, sizeof a->url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&a->thread, NULL, act, a), 0);
}

/* Returns how many requests there were. */
static int actor_stop(struct actor *a)
{
    (void)shutdown(a->socket, SHUT_RDWR);
    cr_assert_eq(pthread_join(a->thread, NULL), 0);
    (void)close(a->socket);
    return a->asked;
}

#define HEAD(status) "HTTP/1.1 " status " X\r\nConnection: close\r\n"

#define REFUSAL "\r\n{\"error\":{\"message\":\"Full.\",\"code\":\"server_overloaded\"}}"

#define ANSWER HEAD("200") "\r\n{\"choices\":[{\"index\":0,\"text\":\"fine\"}]}"

#define STREAM HEAD("200") "Content-Type: text/event-stream\r\n\r\n"

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

Test(sluicectl, retries_when_the_daemon_asks_for_it)
{
    static const char *const script[] = {
        HEAD("429") "retry-after-ms: 150\r\nRetry-After: 9\r\n" REFUSAL,
        HEAD("503") "retry-after-ms: 150\r\n" REFUSAL, ANSWER, NULL};
    static struct actor a;
    actor_start(&a, script);
    double begun = seconds();
    const struct program_result *r = CTL(&a, "complete", "--model", "m", "x", "--timeout", "20");
    double took = seconds() - begun;
    EXPECT_EXIT(r, 0);
    cr_assert_str_eq(r->out, "fine");
    cr_assert_geq(took, 0.3, "asked again after %.3f s", took);
    cr_assert_lt(took, 9.0, "waited for the wrong header: %.3f s", took);
    cr_assert_eq(actor_stop(&a), 3);
    cr_assert_leq(a.timeout_ms[0], 20000);
    for (int i = 1; i < 3; i++) /* what is left of the time, for the daemon works no longer */
        cr_assert_leq(a.timeout_ms[i], a.timeout_ms[i - 1] - 150, "%ld then %ld",
                      a.timeout_ms[i - 1], a.timeout_ms[i]);
    cr_assert_gt(a.timeout_ms[2], 10000);
}

Test(sluicectl, asks_again_only_so_often)
{
    static const char *const script[] = {HEAD("429") "retry-after-ms: 1\r\n" REFUSAL, NULL};
    static struct actor a;
    actor_start(&a, script);
    const struct program_result *r = CTL(&a, "complete", "--model", "m", "x");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "Full. (429 server_overloaded)");
    cr_assert_eq(actor_stop(&a), 5);
}

Test(sluicectl, does_not_wait_past_its_deadline)
{
    static const char *const script[] = {HEAD("503") "Retry-After: 30\r\n" REFUSAL, NULL};
    static struct actor a;
    actor_start(&a, script);
    double begun = seconds();
    const struct program_result *r = CTL(&a, "complete", "--model", "m", "x", "--timeout", "20");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "Full. (503 ");
    cr_assert_lt(seconds() - begun, 15);
    cr_assert_eq(actor_stop(&a), 1);
}

Test(sluicectl, does_not_repeat_other_failures)
{
    static const char *const script[] = {HEAD("500") "retry-after-ms: 1\r\n" REFUSAL, ANSWER, NULL};
    static struct actor a;
    actor_start(&a, script);
    EXPECT_EXIT(CTL(&a, "complete", "--model", "m", "x"), 1);
    cr_assert_eq(actor_stop(&a), 1);
}

Test(sluicectl, benchmarks_report_failures_by_kind)
{
    static const char *const refusals[] = {HEAD("500") "\r\n{\"error\":\"Ill.\"}", NULL};
    static struct actor a;
    actor_start(&a, refusals);
    const struct program_result *r =
        CTL(&a, "bench", "--model=m", "--connections=2", "--requests=9", "--warm-up=3");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "sluicectl: 3 of 3 requests of the warm-up failed; the first: Ill. (500)");
    r = CTL(&a, "bench", "--model=m", "--connections=2", "--requests=9", "--warm-up=0");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "sluicectl: 9 of 9 requests failed; the first: Ill. (500)");
    (void)actor_stop(&a);
}

Test(sluicectl, tells_what_to_do_when_no_model_is_served)
{
    static const char *const script[] = {HEAD("200") "\r\n{\"data\":[]}", NULL};
    static struct actor a;
    actor_start(&a, script);
    const struct program_result *r = CTL(&a, "complete", "x");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "the daemon has no language model loaded; train one with `sluice train`");
    cr_assert_eq(actor_stop(&a), 1);
}

Test(sluicectl, asks_the_only_model_that_completes)
{
    static struct ctl_target d;
    ctl_serve_classifiers(&d);
    const struct program_result *r = CTL(&d, "complete", "ab", "--max-tokens", "3", "--json");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "\"model\":\"tiny@1\"");
    daemon_stop(&d.daemon);
}

Test(sluicectl, knows_what_is_no_daemon)
{
    static const char *const script[] = {"SSH-2.0-server\r\n", NULL};
    static struct actor a;
    actor_start(&a, script);
    const struct program_result *r = CTL(&a, "models");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, ": the server does not speak HTTP; start sluiced, or give its address");
    (void)actor_stop(&a);
}

Test(sluicectl, health_is_what_it_is_now)
{
    static const char *const script[] = {
        HEAD("503") "Retry-After: 1\r\n\r\n{\"error\":\"Not yet.\"}",
        HEAD("200") "\r\n{\"live\":true}", NULL};
    static struct actor a;
    actor_start(&a, script);
    const struct program_result *r = CTL(&a, "health");
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->out, "is alive but not ready: Not yet. (503)");
    cr_assert_str_eq(r->err, "");
    cr_assert_eq(actor_stop(&a), 2);
}

Test(sluicectl, nearly_sure_is_not_printed_as_sure)
{
    static const char *const script[] = {
        HEAD("200") "\r\n{\"model_id\":\"m@1\",\"max_client_batch_size\":4,"
                    "\"sluice\":{\"max_body_bytes\":9999}}",
        HEAD("200") "\r\n{\"outputs\":[{\"name\":\"probs\",\"data\":[\"0.9999998:1:yes\","
                    "\"3.5481293e-10:0:no\"]},{\"name\":\"depth\",\"data\":[1]},"
                    "{\"name\":\"truncated\",\"data\":[0]}]}",
        NULL};
    static struct actor a;
    actor_start(&a, script);
    const struct program_result *r = CTL(&a, "classify", "--top", "2", "x");
    EXPECT_EXIT(r, 0);
    cr_assert_str_eq(r->out, "yes\t0.999999\tx\nno\t3.54813e-10\tx\n");
    cr_assert_eq(actor_stop(&a), 2);
}

Test(sluicectl, knows_a_broken_stream)
{
    static const struct {
        const char *answer, *out, *err, *bench;
        int exit_code;
    } cases[] = {
        {STREAM "data: {\"choices\":[{\"text\":\"so f\"}],\"usage\":{\"completion_tokens\":4}}\n\n",
         "so f", "the stream ended early", "the first: the stream ended early", 1},
        {STREAM
         "data: {\"choices\":[{\"text\":\"so f\"}]}\n\n"
         "data: {\"error\":{\"message\":\"Too slow.\",\"code\":\"late\"}}\n\ndata: [DONE]\n\n",
         "so f", "Too slow. (late)", "the first: Too slow. (late)", 1},
        {STREAM "data: {\"choi\n\ndata: [DONE]\n\n", "", "is not JSON", "no token counts", 1},
        {HEAD("200") "Content-Length: 999\r\n\r\ndata: {\"choices\":[]}\n\n", "", "cut short",
         "1 of 1 requests failed", 1},
        {HEAD("404") "\r\n<html>", "", "the response is not sluiced's; check the address (404)",
         "<html>", 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *script[] = {cases[i].answer, NULL};
        static struct actor a;
        actor_start(&a, script);
        const struct program_result *r = CTL(&a, "complete", "--model", "m", "x", "--stream");
        EXPECT_EXIT(r, cases[i].exit_code);
        EXPECT_SAID(r->err, cases[i].err);
        cr_assert_str_eq(r->out, cases[i].out, "case %zu", i);
        r = CTL(&a, "bench", "--model", "m", "--connections=1", "--requests=1", "--warm-up=0");
        EXPECT_EXIT(r, 1);
        EXPECT_SAID(r->err, cases[i].bench);
        (void)actor_stop(&a);
    }
}

/* ---- the parts ------------------------------------------------------------------------------- */

/* Events, written one behind the other. */
struct heard {
    char text[256];
    int count;
};

static bool hear(void *context, const char *data, size_t count)
{
    struct heard *h = context;
    size_t used = strlen(h->text);
    (void)snprintf(h->text + used, sizeof h->text - used, "<%.*s>", (int)count, data);
    return ++h->count < 5;
}

Test(sluicectl, events_come_in_any_pieces)
{
    static const char stream[] = "data: one\n\n: ping\n\ndata:two\r\n\r\nevent: x\ndata: \xc3\xa9 "
                                 "three\n\ndata:\n\ndata: [DONE]\n\nlef";
    for (size_t piece = 1; piece <= sizeof stream - 1; piece++) {
        struct heard h = {0};
        struct sse_parser e = {.on_event = hear, .context = &h};
        for (size_t at = 0; at < sizeof stream - 1; at += piece) {
            size_t left = sizeof stream - 1 - at;
            cr_assert(sse_parser_feed(&e, stream + at, left < piece ? left : piece));
        }
        cr_assert_str_eq(h.text, "<one><two><\xc3\xa9 three><>", "pieces of %zu: %s", piece,
                         h.text);
        cr_assert(e.ended, "[DONE] is the end and no event");
        cr_assert_not(sse_parser_feed(&e, "\ndata: five\n", 12), "five events were enough");
        sse_parser_release(&e);
    }
}

Test(sluicectl, percentiles_are_close)
{
    static struct histogram h; /* too large for a stack */
    cr_assert_eq(histogram_quantile(&h, 0.5), 0);
    for (int64_t i = 1; i <= 100000; i++)
        histogram_add(&h, i * 977);
    for (int percent = 1; percent < 100; percent++) {
        double want = percent * 977000.0, got = histogram_quantile(&h, percent / 100.0);
        cr_assert(got > 0.98 * want && got < 1.02 * want, "at %d %%: %.0f, not %.0f", percent, got,
                  want);
    }
    histogram_add(&h, INT64_MAX);
    histogram_add(&h, -1);
    cr_assert_eq(h.max, INT64_MAX);
    cr_assert_eq(histogram_quantile(&h, 0), 0);
}

/* ---- versions of models ---------------------------------------------------------------------- */

/* tiny 1 is served; 2 and 3 are in the store. */
static void serve_three_versions(struct ctl_target *t)
{
    char admin[64];
    DAEMON_START(&t->daemon, "--admin-listen", "127.0.0.1:0");
    ctl_reach(t);
    (void)snprintf(admin, sizeof admin, "http://127.0.0.1:%d", t->daemon.admin_port);
    cr_assert_eq(setenv("SLUICE_ADMIN_URL", admin, 1), 0);
    tiny_store_copy(t->daemon.store, "tiny/1", "tiny/2");
    tiny_store_copy(t->daemon.store, "tiny/1", "tiny/3");
}

static void expect_output(const struct program_result *r, const char *out)
{
    EXPECT_EXIT(r, 0);
    cr_assert_str_eq(r->out, out);
}

Test(sluicectl, loads_labels_and_rolls_back)
{
    static struct ctl_target t;
    serve_three_versions(&t);
    expect_output(CTL(&t, "load", "tiny@2"), "tiny@2 is ready\n");
    expect_output(CTL(&t, "label", "tiny", "canary", "2", "--weight", "10"),
                  "tiny:canary is version 2, with 10 % of the requests\n");
    expect_output(CTL(&t, "load", "tiny"), "tiny@3 is ready\n");
    expect_output(CTL(&t, "rollback", "tiny"), "tiny:stable is version 1, was 3\n");
    const struct program_result *r = CTL(&t, "versions", "tiny");
    EXPECT_EXIT(r, 0);
    EXPECT_SAID(r->out, "VERSION  STATE     LABELS                    REASON\n");
    EXPECT_SAID(r->out, "      1  ready     stable (pinned) ");
    EXPECT_SAID(r->out, "      2  ready     canary 10 % ");
    r = CTL(&t, "--json", "versions", "tiny");
    json_t *root = json_from_text(r->out);
    cr_assert_str_eq(json_string_at(root, "data/0/labels/0"), "stable");
    json_decref(root);
    expect_output(CTL(&t, "label", "tiny", "stable"),
                  "tiny:stable is version 1 as before, and pinned to it\n");
    expect_output(CTL(&t, "label", "tiny", "canary", "--remove"), "canary is removed\n");
    expect_output(CTL(&t, "label", "tiny", "canary", "3"),
                  "tiny:canary is version 3, with 0 % of the requests\n");
    expect_output(CTL(&t, "load", "tiny"),
                  "tiny@3 is ready; the label canary, with its percentage, was on this version and "
                  "is removed\n");
    EXPECT_SAID(CTL(&t, "versions", "tiny")->out, "      3  ready     stable  ");
    expect_output(CTL(&t, "label", "tiny", "canary", "2"),
                  "tiny:canary is version 2, with 0 % of the requests\n");
    expect_output(CTL(&t, "label", "tiny", "stable", "2"),
                  "tiny:stable is version 2, was 3; the label canary, with its percentage, was on "
                  "this version and is removed\n");
    expect_output(CTL(&t, "--json", "label", "tiny", "blue", "3"),
                  "{\"object\":\"model.label\",\"model\":\"tiny\",\"label\":\"blue\","
                  "\"version\":3,\"previous_version\":null}\n");
    expect_output(CTL(&t, "unload", "tiny"), "tiny is unloaded\n");
    daemon_stop(&t.daemon);
}

Test(sluicectl, reports_changes_that_are_rejected)
{
    static const char *const changes[] = {"load", "unload", "rollback"};
    static struct ctl_target t;
    serve_three_versions(&t);
    const struct program_result *r = CTL(&t, "load", "tiny@9");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "The model 'tiny' has no version 9 in the store; its versions: 1, 2, 3.");
    r = CTL(&t, "load", "tiny@blue");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "no version or label 'blue'; `sluicectl versions tiny` lists both.");
    for (size_t i = 0; i < COUNT(changes); i++) {
        r = CTL(&t, changes[i], "huge");
        EXPECT_EXIT(r, 2);
        EXPECT_SAID(r->err, "The model 'huge' is not in the store '");
        EXPECT_SAID(r->err, "'; the models there: tiny.");
    }
    r = CTL(&t, "versions", "huge");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "The model 'huge' does not exist; the models in the store: tiny.");
    r = CTL(&t, "label", "tiny", "blue", "--remove");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "The model 'tiny' has no label 'blue'; its labels: stable.");
    r = CTL(&t, "label", "tiny", "blue");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "The model 'tiny' has no label 'blue' yet; give a version to put it on.");
    r = CTL(&t, "rollback", "tiny");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "no earlier version to go back to");
    r = CTL(&t, "unload", "tiny@1");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "has a label");
    r = CTL(&t, "label", "tiny");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "an argument is missing; usage: sluicectl label MODEL LABEL [VERSION]");
    r = CTL(&t, "label", "tiny", "blue", "x");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "invalid version 'x'");
    r = CTL(&t, "label", "tiny", "blue", "--remove", "--weight", "1");
    EXPECT_EXIT(r, 2);
    r = CTL(&t, "load");
    EXPECT_EXIT(r, 2);
    EXPECT_SAID(r->err, "an argument is missing; usage: sluicectl load MODEL[@VERSION]");
    daemon_stop(&t.daemon);
}

/* What the daemon advises an HTTP client is not for the user of a command line. */
Test(sluicectl, errors_are_for_its_users)
{
    static const struct {
        const char *args[6], *said;
    } cases[] = {
        {{"load", "tiny"}, "--url is the address of the inference listener, --admin-url that of "},
        {{"files"}, "sluicectl: --url is the address of the inference listener, "},
        {{"classify", "a", "--model", "tiny"},
         "The model 'tiny@1' is not a classifier; it completes texts: use /v1/completions or "
         "`sluicectl complete`."},
    };

    static struct ctl_target d;
    char url[80];
    ctl_serve(&d);
    cr_assert_eq(setenv("SLUICE_ADMIN_URL", d.url, 1), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const *a = cases[i].args;
        const struct program_result *r = CTL(&d, a[0], a[1], a[2], a[3], a[4]);
        EXPECT_EXIT(r, 2);
        EXPECT_SAID(r->err, cases[i].said);
        cr_assert_null(strstr(r->err, "GET "), "%s", r->err);
        cr_assert_null(strstr(r->err, "POST "), "%s", r->err);
    }
    (void)snprintf(url, sizeof url, "%s/v1", d.url);
    const struct program_result *r = ctl_run(&d.result, url, NULL, "models", NULL);
    EXPECT_EXIT(r, 2);
    cr_assert_str_eq(r->err, "sluicectl: no such endpoint; give an address without a path, as in "
                             "http://HOST:PORT\n");
    char socket[PATH_MAX], admin[PATH_MAX + 8];
    (void)snprintf(admin, sizeof admin, "unix:%s", daemon_admin_socket(&d.daemon, socket));
    r = CTL(&d, "files", "--admin-url", admin);
    EXPECT_EXIT(r, 1);
    EXPECT_SAID(r->err, "Files and jobs are off: the daemon has no directory for them; start it "
                        "with --state DIRECTORY.");
    daemon_stop(&d.daemon);
}
