/* ctl_job_follower.c - prints the events of a training job until it has ended. */
#include "sluicectl/ctl_job_follower.h"
#include "common/sse_parser.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/print_jobs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct follower {
    struct print_follower print;
    struct sse_parser events;
    struct client_error *failure;
    bool done, failed; /* the stream has ended; the failure is set */
};

static bool on_event(void *context, const char *data, size_t count)
{
    struct follower *f = context;
    f->failed = !print_followed(&f->print, data, count, f->failure);
    return !f->failed;
}

/* Prints the events after the last one, until the stream ends. False: see `lost`; *status is 0 if
 * there was no response. */
static bool stream_events(const struct ctl_options *ctl, const char *id, struct follower *f,
                          int *status, struct client_error *lost)
{
    struct client_response response = {0};
    const struct client_request request = {
        .path = f->print.last[0] ? "/v1/fine_tuning/jobs/{}/"
                                   "events?stream=true&after={}"
                                 : "/v1/fine_tuning/jobs/{}/events?stream=true",
        .argument = id,
        .second = f->print.last[0] ? f->print.last : NULL,
        .on_body = sse_parser_feed,
        .context = &f->events,
        .no_retry = true};
    struct client *client = ctl_admin_client(ctl, lost);
    bool good = client && ctl_send(client, &request, &response, lost);
    *status = response.status;
    client_response_release(&response);
    client_destroy(client);
    f->done = f->events.ended;
    sse_parser_release(&f->events);
    f->events = (struct sse_parser){.on_event = on_event, .context = f};
    return good;
}

static bool read_outcome(const struct ctl_options *ctl, const char *id,
                         struct print_outcome *outcome, struct client_error *failure)
{
    struct client_response response = {0};
    const struct client_request request = {.path = "/v1/fine_tuning/jobs/{}", .argument = id};
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && ctl_send(client, &request, &response, failure) &&
                print_outcome(&response.body, outcome, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}

/* Until [DONE] has arrived, or it is in vain: the request is at fault, or the daemon could not even
 * be reached once. */
static void follow_events(const struct ctl_options *ctl, const char *id, struct follower *f)
{
    enum { LOST_MAX = 60 };

    bool was_reached = false;
    for (int lost = 0; !f->done && !f->failed && lost < LOST_MAX; lost++) {
        char before[PRINT_ID_MAX];
        struct client_error error = {0};
        int status;
        if (lost > 0)
            (void)usleep(1000 * 1000);
        memcpy(before, f->print.last, sizeof before);
        bool good = stream_events(ctl, id, f, &status, &error);
        was_reached = was_reached || status == 200;
        if (!good && !f->failed && (!was_reached || error.exit_code == EXIT_BAD_INPUT)) {
            *f->failure = error;
            f->failed = true;
        } else if (!good && !f->failed && lost == 0)
            (void)fprintf(stderr, "sluicectl: %s; trying again for up to %d s\n", error.err.text,
                          LOST_MAX);
        if (strcmp(before, f->print.last) != 0)
            lost = 0;
    }
}

bool ctl_follow_job(const struct ctl_options *ctl, const char *id, struct client_error *failure)
{
    struct follower f = {.print = {.plots = !ctl->json && isatty(STDOUT_FILENO)},
                         .failure = failure};
    struct print_outcome outcome = {0};
    f.events = (struct sse_parser){.on_event = on_event, .context = &f};
    follow_events(ctl, id, &f);
    if (f.failed || !read_outcome(ctl, id, &outcome, failure))
        return false;
    if (outcome.succeeded)
        return true;
    return client_error_set(failure, outcome.is_input_at_fault ? EXIT_BAD_INPUT : EXIT_FAILED,
                            outcome.ended ? "the job ended without a model: %s"
                                          : "the job has not ended: %s",
                            outcome.text);
}
