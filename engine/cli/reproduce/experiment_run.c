/* experiment_run.c - runs the trainings of an experiment. */
#include "cli/reproduce/experiment_run.h"

#include "cli/reproduce/child_command.h"
#include "cli/reproduce/experiment_results.h"
#include "cli/training/event_log.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVAL_BYTES_MAX = 1 << 24 };

/* A row with a seed, and the row whose training it has: itself or an earlier one. */
struct trial {
    struct experiment_run *run;
    const struct experiment_row *row, *trained;
    int seed;
    char directory[SL_PATH_MAX], state[SL_PATH_MAX], model[SL_PATH_MAX];
};

/* ---- data ------------------------------------------------------------------------------------ */

static void print_missing(const struct experiment_run *run, const struct experiment_data *data,
                          const char *path)
{
    if (run->json)
        return;
    (void)printf("%s needs %s, published at %s\n", run->experiment->id, path, data->origin);
    if (data->about)
        (void)printf("    %s\n", data->about);
}

/* In --data; of a file that is made, beside the trainings. */
static bool data_path(const struct experiment_run *run, const struct experiment_data *d,
                      char path[static SL_PATH_MAX], struct sl_err *err)
{
    char directory[SL_PATH_MAX];
    if (!d->task.name)
        return sl_path_join(path, run->data, d->file, err);
    return experiment_results_path(run, "", directory, err) &&
           sl_path_join(path, directory, d->file, err);
}

static bool make_data(const struct experiment_run *run, struct sl_err *err)
{
    const struct experiment *e = run->experiment;
    char directory[SL_PATH_MAX], path[SL_PATH_MAX];
    for (const struct experiment_data *d = e->data; d < e->data + e->data_count; d++)
        if (d->task.name && (!experiment_results_path(run, "", directory, err) ||
                             !sl_directory_make(directory, err) || !data_path(run, d, path, err) ||
                             !synthetic_task_write(&d->task, path, err)))
            return false;
    return true;
}

bool experiment_run_check_data(const struct experiment_run *run, struct sl_err *err)
{
    const struct experiment *e = run->experiment;
    const struct experiment_data *first = NULL;
    char path[SL_PATH_MAX];
    int missing = 0;
    for (const struct experiment_data *d = e->data; d < e->data + e->data_count; d++) {
        if (!data_path(run, d, path, err))
            return false;
        if (d->task.name || access(path, R_OK) == 0)
            continue;
        print_missing(run, d, path);
        first = first ? first : d;
        missing++;
    }
    return !first ||
           sl_fail(err, SL_NOT_FOUND,
                   "%s: missing data in '%s': %d of %d files, such as '%s', published at %s; put "
                   "them there, or name another directory with --data",
                   e->id, run->data, missing, e->data_count, first->file, first->origin);
}

/* ---- paths and commands ---------------------------------------------------------------------- */

static bool set_directory(const struct trial *t, const struct experiment_row *row,
                          char path[static SL_PATH_MAX], struct sl_err *err)
{
    char name[320];
    (void)snprintf(name, sizeof name, "/%s-seed%d", row->name, t->seed);
    return experiment_results_path(t->run, name, path, err);
}

static bool set_paths(struct trial *t, struct sl_err *err)
{
    char trained[SL_PATH_MAX], state[SL_PATH_MAX];
    t->trained = t->run->experiment->rows;
    while (strcmp(t->trained->train, t->row->train) != 0)
        t->trained++;
    return set_directory(t, t->row, t->directory, err) &&
           set_directory(t, t->trained, trained, err) &&
           sl_path_join(t->state, trained, "run", err) &&
           sl_path_join(state, t->state, "state", err) &&
           sl_path_join(t->model, trained, "model/1", err);
}

/* Adds the words of a text; a data file's name becomes its path. */
static bool add_words(const struct trial *t, json_t *words, const char *text, struct sl_err *err)
{
    const struct experiment *e = t->run->experiment;
    while (text && *(text += strspn(text, " \n"))) {
        size_t bytes = strcspn(text, " \n");
        char path[SL_PATH_MAX];
        int i = 0;
        while (i < e->data_count &&
               (strlen(e->data[i].file) != bytes || strncmp(e->data[i].file, text, bytes) != 0))
            i++;
        if (i < e->data_count && !data_path(t->run, &e->data[i], path, err))
            return false;
        json_t *word = i < e->data_count ? json_string(path) : json_stringn(text, bytes);
        if (json_array_append_new(words, word) != 0)
            return sl_fail(err, SL_BAD_INPUT, "%s: a word of a command is not UTF-8", e->id);
        text += bytes;
    }
    return true;
}

static void add_number(json_t *words, const char *option, int value)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", value);
    (void)json_array_append_new(words, json_string(option));
    (void)json_array_append_new(words, json_string(text));
}

static void add_text(json_t *words, const char *option, const char *value)
{
    (void)json_array_append_new(words, json_string(option));
    (void)json_array_append_new(words, sl_json_string(value));
}

static void add_threads(const struct trial *t, json_t *words)
{
    if (t->run->threads > 0)
        add_number(words, "--threads", t->run->threads);
}

/* The architecture is the first word of the row. What --quick adds comes last, because the last of
 * equal options counts. NULL: an error. */
static json_t *train_words(const struct trial *t, struct sl_err *err)
{
    const struct experiment *e = t->run->experiment;
    json_t *words = json_pack("[s]", "train");
    bool ok = add_words(t, words, t->row->train, err) && add_words(t, words, e->train, err) &&
              (!t->run->quick || add_words(t, words, e->quick, err));
    add_number(words, "--seed", t->seed);
    add_threads(t, words);
    add_text(words, "--run-dir", t->state);
    add_text(words, "--output", t->model);
    if (ok)
        return words;
    json_decref(words);
    return NULL;
}

static json_t *eval_words(const struct trial *t, struct sl_err *err)
{
    json_t *words = json_pack("[s]", "eval");
    (void)json_array_append_new(words, sl_json_string(t->model));
    if (add_words(t, words, t->run->experiment->eval, err) &&
        add_words(t, words, t->row->eval, err)) {
        add_threads(t, words);
        (void)json_array_append_new(words, json_string("--json"));
        return words;
    }
    json_decref(words);
    return NULL;
}

/* ---- training -------------------------------------------------------------------------------- */

static void announce(const struct trial *t, const char *what)
{
    if (t->run->json)
        return;
    (void)printf("%s, %s, seed %d: %s\n", t->run->experiment->id, t->row->name, t->seed, what);
    (void)fflush(stdout);
}

static bool is_started(const struct trial *t)
{
    char state[SL_PATH_MAX];
    return sl_path_find(state, t->state, "state");
}

/* Its progress goes to a terminal, or with --json to standard output. */
static bool train(const struct trial *t, const json_t *words, struct sl_err *err)
{
    if (t->trained != t->row) {
        announce(t, "evaluating");
        return sl_directory_make(t->directory, err);
    }
    bool resumes = is_started(t), shows = t->run->json || isatty(STDOUT_FILENO);
    json_t *all = json_copy((json_t *)(uintptr_t)words); /* jansson has no const for it */
    if (resumes)
        (void)json_array_append_new(all, json_string("--resume"));
    if (t->run->json)
        (void)json_array_append_new(all, json_string("--json"));
    announce(t, resumes ? "resuming" : "training");
    bool ok = sl_directory_make(t->directory, err) &&
              child_command_run(all, shows ? NULL : "/dev/null", err);
    json_decref(all);
    return ok;
}

/* What the log of a training says. */
struct log {
    char isa[32];
    int threads;
    double seconds, latest; /* of all processes that trained: before the present one, and its own */
    bool is_published;
    double values[METRICS]; /* of the last evaluation; NAN: none */
    json_t *curve;          /* a point for each evaluation */
};

/* A run that continues from an earlier state repeats the steps since. */
static void go_back_to(json_t *curve, double step)
{
    size_t count = json_array_size(curve);
    while (count > 0 && sl_json_number(json_array_get(curve, count - 1), "step") > step)
        (void)json_array_remove(curve, --count);
}

/* Tokens since the evaluation before count by the mean gate of this one, if there are gates. */
static double active_tokens(const json_t *curve, const json_t *event)
{
    const size_t count = json_array_size(curve);
    const json_t *before = count > 0 ? json_array_get(curve, count - 1) : NULL;
    const double gate = sl_json_number(event, "validation_gate_mean");
    const double now = sl_json_number(event, "trained_tokens");
    if (!before)
        return now * (isnan(gate) ? 1.0 : gate);
    return sl_json_number(before, "active_tokens") +
           (now - sl_json_number(before, "trained_tokens")) * (isnan(gate) ? 1.0 : gate);
}

static void add_point(json_t *curve, const json_t *event)
{
    json_t *point = json_object();
    for (const char *const *column = experiment_curve_columns; *column; column++) {
        const double value = strcmp(*column, "active_tokens") == 0 ? active_tokens(curve, event)
                                                                   : sl_json_number(event, *column);
        if (isfinite(value))
            (void)json_object_set_new(point, *column, json_real(value));
    }
    (void)json_array_append_new(curve, point);
}

static bool read_event(void *context, const json_t *event, struct sl_err *err)
{
    struct log *log = context;
    (void)err;
    const char *name = json_string_value(json_object_get(event, "event"));
    const json_t *number = json_object_get(event, "seconds");
    if (name && strcmp(name, "started") == 0) {
        const char *isa = json_string_value(json_object_get(event, "isa"));
        (void)snprintf(log->isa, sizeof log->isa, "%s", isa ? isa : "");
        log->threads = (int)json_integer_value(json_object_get(event, "threads"));
        log->seconds += log->latest;
        log->latest = 0.0;
        go_back_to(log->curve, sl_json_number(event, "step"));
    }
    if (json_is_number(number))
        log->latest = json_number_value(number);
    log->is_published = name && strcmp(name, "published") == 0;
    if (!name || strcmp(name, "evaluated") != 0)
        return true;
    add_point(log->curve, event);
    for (int m = 0; m < METRICS; m++) {
        const json_t *value = json_object_get(event, metrics[m].name);
        if (metrics[m].is_logged && json_is_number(value))
            log->values[m] = json_number_value(value);
    }
    return true;
}

static bool read_log(const struct trial *t, struct log *log, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    *log = (struct log){.curve = json_array()};
    for (int m = 0; m < METRICS; m++)
        log->values[m] = (double)NAN;
    if (!sl_path_join(path, t->state, "log.jsonl", err) ||
        !event_log_read(path, read_event, log, err))
        return false;
    log->seconds += log->latest;
    return log->is_published ||
           sl_fail(err, SL_BUSY,
                   "'%s' stopped before its last step; repeat the command to continue",
                   t->directory);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* The values of `sluice eval`; none if the row needs none. */
static bool evaluate(const struct trial *t, const json_t *words, double values[METRICS],
                     struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!words)
        return true;
    if (!sl_path_join(path, t->directory, "eval.json", err) || !child_command_run(words, path, err))
        return false;
    json_t *object = sl_json_open(path, EVAL_BYTES_MAX, err);
    for (int m = 0; object && m < METRICS; m++) {
        const json_t *value = json_object_get(object, metrics[m].name);
        if (!metrics[m].is_logged && json_is_number(value))
            values[m] = json_number_value(value);
    }
    json_decref(object);
    return object != NULL;
}

/* What the paper has must be there. */
static bool check_values(const struct trial *t, const double values[METRICS], struct sl_err *err)
{
    for (int m = 0; m < METRICS; m++)
        if (!isnan(t->row->paper[m]) && isnan(values[m]))
            return sl_fail(err, SL_BAD_INPUT, "%s, row %s: the model has no %s",
                           t->run->experiment->id, t->row->name, metrics[m].name);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool finish(struct trial *t, json_t *train_command, json_t *eval_command, struct sl_err *err)
{
    struct log log;
    bool ok = read_log(t, &log, err) && evaluate(t, eval_command, log.values, err) &&
              check_values(t, log.values, err);
    const struct experiment_result result = {.row = t->row,
                                             .seed = t->seed,
                                             .train = train_command,
                                             .eval = eval_command,
                                             .isa = log.isa,
                                             .threads = log.threads,
                                             .seconds = log.seconds,
                                             .values = log.values,
                                             .curve = log.curve};
    ok = ok && experiment_results_add(t->run, &result, err);
    json_decref(log.curve);
    return ok;
}

static bool needs_eval(const struct experiment *e)
{
    for (int m = 0; m < METRICS; m++)
        if (!metrics[m].is_logged && !isnan(e->tolerance[m]))
            return true;
    return false;
}

static bool run_trial(struct trial *t, struct sl_err *err)
{
    if (!set_paths(t, err))
        return false;
    bool evaluates = needs_eval(t->run->experiment);
    json_t *train_command = train_words(t, err);
    json_t *eval_command = train_command && evaluates ? eval_words(t, err) : NULL;
    bool ok = train_command && (eval_command || !evaluates);
    if (ok && experiment_results_have(t->run, t->row->name, t->seed, train_command, eval_command))
        announce(t, "done before");
    else
        ok = ok && train(t, train_command, err) && finish(t, train_command, eval_command, err);
    json_decref(train_command);
    json_decref(eval_command);
    return ok;
}

bool experiment_run_all(struct experiment_run *run, struct sl_err *err)
{
    const struct experiment *e = run->experiment;
    if (!make_data(run, err))
        return false;
    for (const struct experiment_row *row = e->rows; row < e->rows + e->row_count; row++)
        for (int i = 0; i < e->seed_count; i++) {
            struct trial t = {.run = run, .row = row, .seed = e->seeds[i]};
            if (!run_trial(&t, err))
                return false;
        }
    return true;
}
