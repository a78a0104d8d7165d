/* print_jobs.c - files, training jobs and their events, as text; and a plot of the loss. */
#include "sluicectl/print_jobs.h"
#include "sluicectl/response_json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_time(const json_t *object, const char *name)
{
    char text[32] = "";
    struct tm parts;
    time_t seconds = (time_t)response_int(object, name);
    if (seconds > 0 && localtime_r(&seconds, &parts))
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    (void)printf("%-19s", text);
}

static void print_file(const json_t *file)
{
    (void)printf("%-22s  %11lld  ", response_text(file, "id"),
                 (long long)response_int(file, "bytes"));
    print_time(file, "created_at");
    (void)printf("  %s\n", response_text(file, "filename"));
}

/* OpenAI, whose statuses the daemon has, calls a paused job queued. */
static const char *status_of(const json_t *job)
{
    return json_is_true(json_object_get(job, "paused")) ? "paused" : response_text(job, "status");
}

static void print_job(const json_t *job)
{
    (void)printf("%-23s  %-16s  %-20s  %-20s  ", response_text(job, "id"), status_of(job),
                 response_text(job, "model"), response_text(job, "fine_tuned_model"));
    print_time(job, "created_at");
    (void)printf("  %s\n", response_text(json_object_get(job, "error"), "message"));
}

static void print_event_line(const json_t *event)
{
    print_time(event, "created_at");
    (void)printf("  %-5s  %s\n", response_text(event, "level"), response_text(event, "message"));
}

/* A list, or one object. */
static void print_each(const json_t *response, const char *heading, void (*print)(const json_t *))
{
    const json_t *list = json_object_get(response, "data");
    (void)printf("%s\n", heading);
    if (!json_is_array(list))
        print(response);
    for (size_t i = 0; i < json_array_size(list); i++)
        print(json_array_get(list, i));
}

void print_files(const json_t *response)
{
    print_each(response, "ID                            BYTES  CREATED              NAME",
               print_file);
}

void print_jobs(const json_t *response)
{
    print_each(response,
               "ID                       STATUS            MODEL                 PUBLISHED"
               "             CREATED              ERROR",
               print_job);
}

void print_events(const json_t *response)
{
    const json_t *list = json_object_get(response, "data");
    for (size_t i = json_array_size(list); i > 0; i--)
        print_event_line(json_array_get(list, i - 1));
}

bool print_id(const struct sl_buffer *body, char id[static PRINT_ID_MAX],
              struct client_error *failure)
{
    json_t *object = response_parse(body->data, body->bytes, failure);
    if (!object)
        return false;
    (void)snprintf(id, PRINT_ID_MAX, "%s", response_text(object, "id"));
    json_decref(object);
    return true;
}

bool print_outcome(const struct sl_buffer *body, struct print_outcome *outcome,
                   struct client_error *failure)
{
    json_t *job = response_parse(body->data, body->bytes, failure);
    const char *status = response_text(job, "status"), *why;
    if (!job)
        return false;
    outcome->succeeded = strcmp(status, "succeeded") == 0;
    outcome->ended =
        outcome->succeeded || strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0;
    const json_t *error = json_object_get(job, "error");
    outcome->is_input_at_fault = response_text(error, "param")[0] != '\0';
    why = response_text(error, "message");
    (void)snprintf(outcome->text, sizeof outcome->text, "%s",
                   outcome->succeeded ? response_text(job, "fine_tuned_model")
                   : why[0]           ? why
                                      : status);
    json_decref(job);
    return true;
}

/* ---- the plot -------------------------------------------------------------------------------- */

enum { PLOT_WIDTH = 60, PLOT_HEIGHT = 6, LEVELS = 8 };

/* Keeps every second loss when there is no room, so that the plot has the whole run. */
static void add_loss(struct print_follower *f, double loss)
{
    f->every = f->every > 0 ? f->every : 1;
    if (!isfinite(loss) || ++f->skipped < f->every)
        return;
    f->skipped = 0;
    if (f->count == PRINT_LOSSES_MAX) {
        for (size_t i = 0; i < PRINT_LOSSES_MAX / 2; i++)
            f->losses[i] = f->losses[2 * i];
        f->count = PRINT_LOSSES_MAX / 2;
        f->every *= 2;
    }
    f->losses[f->count++] = (float)loss;
}

/* The mean loss of each column; returns the number of columns. */
static int average(const struct print_follower *f, double column[static PLOT_WIDTH], double *max)
{
    int columns = f->count < PLOT_WIDTH ? f->count : PLOT_WIDTH;
    *max = 0;
    for (int c = 0; c < columns; c++) {
        int first = (int)((long long)c * f->count / columns);
        int last = (int)((long long)(c + 1) * f->count / columns);
        column[c] = 0;
        for (int i = first; i < last; i++)
            column[c] += (double)f->losses[i] / (last - first);
        *max = column[c] > *max ? column[c] : *max;
    }
    return columns;
}

static void erase(struct print_follower *f)
{
    if (f->drawn > 0)
        (void)printf("\033[%dA\033[J", f->drawn);
    f->drawn = 0;
}

static void draw(struct print_follower *f)
{
    static const char *const blocks[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double column[PLOT_WIDTH], max;
    int columns = average(f, column, &max);
    for (int row = PLOT_HEIGHT - 1; row >= 0; row--) {
        if (row == PLOT_HEIGHT - 1)
            (void)printf("%8.4f ", max);
        else
            (void)printf("%8s ", row == 0 ? "0" : "");
        for (int c = 0; c < columns; c++) {
            double height = max > 0 ? column[c] / max * PLOT_HEIGHT * LEVELS : 0;
            int level = (int)ceil(height) - row * LEVELS;
            (void)fputs(blocks[level < 0 ? 0 : level > LEVELS ? LEVELS : level], stdout);
        }
        (void)putchar('\n');
    }
    (void)printf("%s\n", f->message);
    f->drawn = PLOT_HEIGHT + 1;
}

bool print_followed(struct print_follower *f, const char *event, size_t bytes,
                    struct client_error *failure)
{
    json_t *object = response_parse(event, bytes, failure);
    if (!object)
        return false;
    const json_t *data = json_object_get(object, "data");
    const json_t *loss = json_object_get(data, "train_loss");
    (void)snprintf(f->last, sizeof f->last, "%s", response_text(object, "id"));
    if (!f->plots)
        (void)printf("%.*s\n", (int)bytes, event);
    else if (json_is_number(loss)) {
        add_loss(f, json_number_value(loss));
        (void)snprintf(f->message, sizeof f->message, "%s", response_text(object, "message"));
        erase(f);
        draw(f);
    } else {
        erase(f);
        print_event_line(object);
        if (f->count > 0)
            draw(f);
    }
    (void)fflush(stdout);
    json_decref(object);
    return true;
}
