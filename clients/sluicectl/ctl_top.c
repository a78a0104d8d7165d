/* ctl_top.c - `sluicectl top`: what the daemon does, refreshed in place. */
#include "base/clock.h"
#include "sluicectl/ctl_connection.h"
#include "top/top_screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double interval_standard = 2;

struct arguments {
    struct sl_given_real interval;
    struct sl_given_int count;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    {"interval", "S", "time between two refreshes (seconds) [2]", SL_OPTION_GIVEN_REAL,
     AT(interval), 0.1, 3600},
    {"count", "N", "number of refreshes [until it is interrupted]", SL_OPTION_GIVEN_INT, AT(count),
     1, 1e9},
    {0}};

struct top {
    struct client *client;
    double interval;
    bool json; /* or not to a terminal */
    struct top_snapshot snapshots[2];
};

static bool take(struct top *top, struct top_snapshot *snapshot, struct client_error *failure)
{
    const struct client_request request = {.path = "/metrics", .no_retry = true};
    struct client_response response = {0};
    bool good = ctl_send(top->client, &request, &response, failure);
    sl_buffer_append_string(&response.body, "");
    if (good && !top_snapshot_read(snapshot, response.body.data, sl_now_ns()))
        good = client_error_set(failure, EXIT_FAILED, "the response holds no metrics of sluiced");
    client_response_release(&response);
    return good;
}

/* To the end, although the terminal may be resized meanwhile. */
static void wait(double seconds)
{
    struct timespec left = sl_timespec((int64_t)(seconds * 1e9));
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* Asked anew for each refresh, so a terminal may be resized. */
static struct top_size terminal_size(void)
{
    struct winsize size = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    return known ? (struct top_size){.columns = size.ws_col, .rows = size.ws_row}
                 : (struct top_size){.columns = 80, .rows = 24};
}

/* Line by line over the old text, so that nothing flickers. A line is erased before it is written:
 * after it, the cursor may be on its last character. */
static void show_lines(const char *lines, int most)
{
    int count = 0;
    (void)fputs("\033[H", stdout);
    for (; *lines && count < most; count++) {
        int length = (int)strcspn(lines, "\n");
        (void)printf("%s\033[K%.*s", count > 0 ? "\r\n" : "", length, lines);
        lines += length + (lines[length] == '\n');
    }
    if (count < most)
        (void)fputs("\r\n\033[J", stdout);
}

static bool show(const struct top *top, int latest, struct client_error *failure)
{
    const struct top_snapshot *earlier = &top->snapshots[!latest], *later = &top->snapshots[latest];
    struct sl_buffer text = {0};
    struct top_size size = terminal_size();
    if (top->json)
        top_json_write(&text, earlier, later);
    else
        top_screen_write(&text, earlier, later, &size);
    if (text.failed)
        (void)client_error_no_memory(failure);
    else if (top->json)
        (void)fputs(text.data, stdout);
    else
        show_lines(text.data, size.rows);
    bool good = !text.failed;
    sl_buffer_release(&text);
    return good && (fflush(stdout) == 0 ||
                    client_error_set(failure, EXIT_FAILED, "cannot write to standard output"));
}

/* On a terminal it waits for a daemon that restarts. */
static bool tolerate(const struct top *top, struct client_error *failure)
{
    if (top->json)
        return false;
    show_lines(failure->err.text, terminal_size().rows);
    (void)fflush(stdout);
    *failure = (struct client_error){0};
    return true;
}

static bool refresh(struct top *top, int64_t count, struct client_error *failure)
{
    int latest = 0;
    if (!take(top, &top->snapshots[0], failure))
        return false;
    for (int64_t i = 0; i < count; i++) {
        wait(top->interval);
        bool taken = take(top, &top->snapshots[!latest], failure);
        if (!taken && !tolerate(top, failure))
            return false;
        latest = taken ? !latest : latest;
        if (taken && !show(top, latest, failure))
            return false;
    }
    if (!top->json)
        (void)putchar('\n');
    return true;
}

static bool run_top(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct arguments *arguments = ctl->values;
    struct top *top = calloc(1, sizeof *top);
    if (!top)
        return client_error_no_memory(failure);
    top->json = ctl->json || !isatty(STDOUT_FILENO);
    top->interval = arguments->interval.given ? arguments->interval.value : interval_standard;
    top->client = ctl_client(ctl, failure);
    bool good = top->client &&
                refresh(top, arguments->count.given ? arguments->count.value : INT64_MAX, failure);
    client_destroy(top->client);
    free(top);
    return good;
}

const struct ctl_command ctl_top = {
    .name = "top",
    .help = "show what the daemon does, refreshed in place",
    .example = "--interval 1",
    .notes = "Columns, for each model; a narrow terminal shows the first of them:\n"
             "  RUN, WAIT         texts and generations that are computed, and that wait\n"
             "  REQ/S             requests that ended, per second\n"
             "  P50, P99          latency of requests: median, 99th percentile (ms)\n"
             "  GEN/S, READ/S     tokens generated, and tokens of prompts read, per second\n"
             "  TEXTS/S           texts classified, per second\n"
             "  BATCH             mean number of texts or generations in a batch\n"
             "  SKIP              part of the layer computation that was skipped (%)\n"
             "  QUEUE50, QUEUE99  time in the queue: median, 99th percentile (ms)\n"
             "  REJ/S, FAIL/S     requests that were rejected, and that failed, per second\n"
             "To a file or a pipe each refresh is a line of JSON, as with --json.\n",
    .rows = rows,
    .values_bytes = sizeof(struct arguments),
    .run = run_top};
