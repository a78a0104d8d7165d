/* automatic_log.c - see automatic_log.h. */
#include "cli/training/automatic_log.h"

#include "base/clock.h"
#include "base/file.h"
#include "checkpoint/json_io.h"
#include "cli/evaluation/dataset_words.h"
#include "cli/failure_event.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool automatic_log_open(struct automatic_log *log, const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    *log = (struct automatic_log){.begun = sl_now_seconds()};
    if (!directory)
        return true;
    if (!sl_run_dir_open(&log->run_dir, directory, false, err) ||
        !sl_path_join(path, directory, "log.jsonl", err))
        return false;
    log->file = fopen(path, "ae");
    return log->file || sl_fail(err, sl_file_error_code(errno), "cannot append to '%s': %s", path,
                                strerrordesc_np(errno));
}

static json_t *event(const char *name)
{
    return json_pack("{s:s}", "event", name);
}

static void write_line(const struct automatic_log *log, json_t *object)
{
    (void)json_object_set_new(object, "time", json_integer((json_int_t)time(NULL)));
    (void)json_object_set_new(object, "step", json_integer(log->step));
    (void)json_object_set_new(object, "steps", json_integer(log->steps));
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(SL_JSON_SHORT));
    if (text) {
        (void)fprintf(log->file, "%s\n", text);
        (void)fflush(log->file);
    }
    free(text);
    json_decref(object);
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
    (void)json_object_set_new(o, "trained_tokens", json_integer(log->tokens * log->step));
    (void)json_object_set_new(o, "seconds", json_real(seconds));
    (void)json_object_set_new(o, "seconds_left",
                              json_real(seconds / log->step * (log->steps - log->step)));
}

void automatic_log_search(struct automatic_log *log, const struct sl_linear_search *search,
                          const struct dataset_facts *facts)
{
    char text[RECIPE_TEXT];
    if (!log->file)
        return;
    log->step = search->count;
    log->steps = (search->planned > search->count ? search->planned : search->count) + 1;
    if (log->step == 0) {
        write_started(log, facts);
        return;
    }
    const struct sl_linear_trial *trial = &search->trials[search->count - 1];
    json_t *o = event("step");
    add_measures(log, o, trial->accuracy, trial->loss);
    (void)json_object_set_new(o, "recipe",
                              json_string(automatic_results_recipe(&trial->recipe, text)));
    write_line(log, o);
}

void automatic_log_published(struct automatic_log *log, const struct automatic_results *report,
                             const char *directory)
{
    if (!log->file)
        return;
    log->step = log->steps;
    json_t *o = event("evaluated");
    add_measures(log, o, automatic_results_accuracy(report), automatic_results_loss(report));
    write_line(log, o);
    o = event("saved");
    (void)json_object_set_new(o, "trained_tokens", json_integer(log->tokens * log->step));
    write_line(log, o);
    o = event("published");
    (void)json_object_set_new(o, "directory", sl_json_string(directory));
    write_line(log, o);
}

void automatic_log_close(struct automatic_log *log, const struct sl_err *failure)
{
    if (log->file && failure)
        write_line(log, failure_event(failure));
    if (log->file)
        (void)fclose(log->file);
    sl_run_dir_close(&log->run_dir);
    *log = (struct automatic_log){0};
}
