/* automatic_log.c - writes the events of a search as lines of JSON. */
#include "cli/training/automatic_log.h"

#include "base/clock.h"
#include "cli/evaluation/dataset_words.h"
#include "cli/failure_event.h"
#include "formats/json_io.h"

#include <jansson.h>

bool automatic_log_open(struct automatic_log *log, const char *directory, struct sl_err *err)
{
    *log = (struct automatic_log){.begun = sl_now_seconds()};
    return !directory || (sl_run_dir_open(&log->run_dir, directory, false, err) &&
                          event_log_open(&log->events, directory, err));
}

static json_t *event(const char *name)
{
    return json_pack("{s:s}", "event", name);
}

static void write_line(const struct automatic_log *log, json_t *o)
{
    event_log_write(&log->events, o, NULL);
}

static void write_started(struct automatic_log *log, const struct dataset_facts *facts)
{
    json_t *o = event("started");
    struct dataset_warnings warnings;
    (void)json_object_set_new(o, "architecture", json_string("linear"));
    dataset_facts_add(facts, o);
    dataset_words_warn(facts, &warnings);
    dataset_warnings_add(&warnings, o);
    write_line(log, o);
    for (int i = 0; i < facts->set->count; i++)
        log->tokens += facts->set->examples[i].tokens;
}

/* What a step measured. */
static void add_measures(const struct automatic_log *log, json_t *o, double accuracy, double loss)
{
    const double seconds = sl_now_seconds() - log->begun;
    (void)json_object_set_new(o, "validation_loss", json_real(loss));
    (void)json_object_set_new(o, "validation_accuracy", json_real(accuracy));
    (void)json_object_set_new(o, "trained_tokens", json_integer(log->tokens * log->events.step));
    (void)json_object_set_new(o, "seconds", json_real(seconds));
    if (log->slower_follow)
        return;
    (void)json_object_set_new(
        o, "seconds_left",
        json_real(seconds / log->events.step * (log->events.steps - log->events.step)));
}

void automatic_log_search(struct automatic_log *log, const struct sl_linear_search *search,
                          const struct dataset_facts *facts, bool has_encoder)
{
    char text[RECIPE_TEXT];
    if (!log->events.file)
        return;
    log->events.step = search->count;
    log->events.steps = (search->planned > search->count ? search->planned : search->count) + 1;
    if (log->events.step == 0) {
        write_started(log, facts);
        return;
    }
    const struct sl_linear_trial *trial = &search->trials[search->count - 1];
    log->slower_follow = has_encoder && sl_linear_trial_is_linear(trial);
    json_t *o = event("step");
    add_measures(log, o, trial->accuracy, trial->loss);
    (void)json_object_set_new(o, "recipe", json_string(automatic_results_recipe(trial, text)));
    write_line(log, o);
}

void automatic_log_published(struct automatic_log *log, const struct automatic_results *report,
                             const char *directory)
{
    if (!log->events.file)
        return;
    log->events.step = log->events.steps;
    log->slower_follow = false;
    json_t *o = event("evaluated");
    add_measures(log, o, automatic_results_accuracy(report), automatic_results_loss(report));
    write_line(log, o);
    o = event("saved");
    (void)json_object_set_new(o, "trained_tokens", json_integer(log->tokens * log->events.step));
    write_line(log, o);
    o = event("published");
    (void)json_object_set_new(o, "directory", sl_json_string(directory));
    write_line(log, o);
}

void automatic_log_close(struct automatic_log *log, const struct sl_err *failure)
{
    if (log->events.file && failure)
        write_line(log, failure_event(failure));
    event_log_close(&log->events);
    sl_run_dir_close(&log->run_dir);
    *log = (struct automatic_log){0};
}
