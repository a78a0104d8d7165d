/* bench_job_beside.c - a training job beside classification: what each costs the other.
 *
 *     bench_job_beside [SECONDS [CONNECTIONS [RATE [OPTION...]]]]
 *
 * Without arguments: 24 s, 64 connections, each sends its next request as soon as it can. With RATE
 * they send so many requests per second together. OPTIONs go to the daemon, such as --job-nice 19.
 *
 * Trains the small encoder of README.md while `sentiment` serves. Three conditions take turns:
 * the load alone, the job alone, and both. A signal stops the trainer where it is not to run. */
#include "base/clock.h"
#include "bench/load.h"
#include "bench/served_daemon.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 6, TEXTS = 4000, OPTIONS_MAX = 16 };

enum condition { LOAD, JOB, BOTH, CONDITIONS };

struct bench {
    struct served_daemon daemon;
    struct load load;
    pid_t trainer;
    double seconds[CONDITIONS], steps[CONDITIONS];
};

/* ---- the job --------------------------------------------------------------------------------- */

static void write_texts(const char *path)
{
    unsigned random = 1;
    struct sl_buffer text = {0};
    FILE *file = fopen(path, "we");
    for (int i = 0; i < TEXTS; i++) {
        sl_buffer_append_string(&text, i % 2 ? "negative\t" : "positive\t");
        load_append_review(&text, &random);
        sl_buffer_append_string(&text, "\n");
    }
    if (!file || text.failed || fwrite(text.data, 1, text.bytes, file) != text.bytes ||
        fclose(file) != 0)
        bench_fail(path);
    sl_buffer_release(&text);
}

/* The daemon's child, of whichever thread; 0: there is none yet. */
static pid_t find_child(pid_t daemon)
{
    char path[PATH_MAX];
    int child = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)daemon);
    DIR *tasks = opendir(path);
    for (const struct dirent *e;
         child == 0 && tasks && (e = readdir(tasks));) { // NOLINT(concurrency-mt-unsafe)
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)daemon, e->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%d", &child) != 1)
            child = 0;
        if (file)
            (void)fclose(file);
    }
    if (tasks)
        (void)closedir(tasks);
    return child;
}

/* Steps that the job has trained. */
static double read_steps(const struct bench *b)
{
    static const char name[] = "\nsluice_train_step{";
    struct sl_buffer text = {0};
    int status = bench_request(b->daemon.admin_port, "GET", "/metrics", "", &text);
    const char *line = status == 200 && !text.failed ? strstr(text.data, name) : NULL;
    const char *value = line ? strchr(line, '}') : NULL;
    double steps = value ? strtod(value + 1, NULL) : -1;
    sl_buffer_release(&text);
    return steps;
}

static void start_job(struct bench *b)
{
    static const char job[] =
        "{\"model\":\"encoder\",\"training_file\":\"local:reviews.tsv\",\"hyperparameters\":{"
        "\"label\":\"1\",\"text\":\"2\",\"n_epochs\":1000,\"batch_size\":8,\"width\":64,"
        "\"depth\":2,\"heads\":4,\"ffn_width\":128,\"context_length\":64,\"learning_rate\":0.002}}";
    struct sl_buffer text = {0};
    if (bench_request(b->daemon.admin_port, "POST", "/v1/fine_tuning/jobs", job, &text) != 200) {
        (void)fprintf(stderr, "%s\n", text.data ? text.data : "no response");
        bench_fail("a job");
    }
    sl_buffer_release(&text);
    for (int i = 0; i < 1000 && read_steps(b) < 1; i++)
        bench_sleep(0.05);
    b->trainer = find_child(b->daemon.pid);
    if (b->trainer == 0 || read_steps(b) < 1)
        bench_fail("the job does not start");
}

/* ---- the conditions -------------------------------------------------------------------------- */

/* What a trainer reports is read every 50 ms. */
static void run_condition(struct bench *b, enum condition condition, double seconds)
{
    enum { SETTLING_MS = 150 };

    load_set_phase(&b->load, condition == JOB ? LOAD_PAUSED : condition == BOTH);
    if (kill(-b->trainer, condition == LOAD ? SIGSTOP : SIGCONT) != 0)
        bench_fail("the trainer");
    bench_sleep(1e-3 * SETTLING_MS);
    int64_t began = sl_now_ns();
    double before = read_steps(b);
    bench_sleep(seconds);
    b->steps[condition] += read_steps(b) - before;
    b->seconds[condition] += 1e-9 * (double)(sl_now_ns() - began);
}

static void print_results(const struct bench *b)
{
    const struct histogram *without = &b->load.phases[0].latency;
    const struct histogram *with = &b->load.phases[1].latency;
    double alone = b->steps[JOB] / b->seconds[JOB], beside = b->steps[BOTH] / b->seconds[BOTH];
    load_print(&b->load, 0, "without the job", b->seconds[LOAD]);
    load_print(&b->load, 1, "with the job", b->seconds[BOTH]);
    printf("ratio            p50 %.2f  p99 %.2f  rate %.2f\n",
           histogram_quantile(with, 0.5) / histogram_quantile(without, 0.5),
           histogram_quantile(with, 0.99) / histogram_quantile(without, 0.99),
           (double)with->count / b->seconds[BOTH] / ((double)without->count / b->seconds[LOAD]));
    printf("job: %.2f steps/s alone, %.2f beside: %.2f of its speed\n", alone, beside,
           beside / alone);
}

static void start_daemon(struct bench *b, int count, char **more)
{
    char state[PATH_MAX], data[PATH_MAX];
    const char *options[OPTIONS_MAX + 5] = {"--state", state, "--data-directory",
                                            b->daemon.directory};
    served_daemon_init(&b->daemon);
    (void)snprintf(state, sizeof state, "%s/state", b->daemon.directory);
    (void)snprintf(data, sizeof data, "%s/reviews.tsv", b->daemon.directory);
    for (int i = 0; i < count && i < OPTIONS_MAX; i++)
        options[4 + i] = more[i];
    write_texts(data);
    served_daemon_start(&b->daemon, SL_SOURCE_DIR "/models", options);
}

int main(int count, char **arguments)
{
    static struct bench b;
    double seconds = count > 1 ? strtod(arguments[1], NULL) : 24;
    int connections = count > 2 ? (int)strtol(arguments[2], NULL, 10) : 64;
    double rate = count > 3 ? strtod(arguments[3], NULL) : 0;
    start_daemon(&b, count > 4 ? count - 4 : 0, arguments + 4);
    start_job(&b);
    const struct load_options options = {
        .port = b.daemon.port, .connections = connections, .texts = 1, .rate = rate};
    load_start(&b.load, &options);
    load_set_phase(&b.load, LOAD_PAUSED);
    bench_sleep(0.5);
    for (int i = 0; i < BLOCKS * CONDITIONS; i++)
        run_condition(&b, (enum condition)(i % CONDITIONS), seconds / BLOCKS);
    load_stop(&b.load);
    print_results(&b);
    (void)kill(-b.trainer, SIGCONT);
    served_daemon_stop(&b.daemon);
    return EXIT_SUCCESS;
}
