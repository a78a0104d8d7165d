/* training_log.c - progress of a training run: live line, JSON lines, log.jsonl. */
#include "cli/training/training_log.h"

#include "base/allocate.h"
#include "base/clock.h"
#include "base/int_math.h"
#include "cli/failure_event.h"
#include "cli/training/dataset_summary.h"
#include "cli/training/event_log.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A line every 50 steps; short runs have about a hundred lines. */
enum { STEPS_BETWEEN_LINES = 50, LINES_OF_SHORT_RUN = 100 };

struct training_log {
    struct event_log events;
    bool terminal, line_open;
    double drawn; /* when the live line was last drawn */
    struct sl_train_progress last;
};

static json_t *number(double x)
{
    return isfinite(x) ? sl_json_float((float)x) : json_null();
}

static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

/* Only classifiers have an accuracy. */
static void put_accuracy(json_t *object, const struct sl_train_progress *s)
{
    if (!isfinite(s->validation_accuracy))
        return;
    put(object, "train_accuracy", number(s->train_accuracy));
    put(object, "validation_accuracy", number(s->validation_accuracy));
    put(object, "best_accuracy", number(s->best_accuracy));
}

/* Peak resident memory of the process [bytes]. */
static json_int_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (json_int_t)usage.ru_maxrss * 1024 : 0;
}

static json_t *event_object(const struct training_log *t)
{
    const struct sl_train_progress *s = &t->last;
    static const char *const names[] = {"step", "evaluated", "saved"};
    json_t *o = json_object();
    put(o, "event", json_string(names[s->event]));
    put(o, "train_loss", number(s->loss));
    put(o, "gate_mean", number(s->gate_mean));
    put(o, "learning_rate", number(s->learning_rate));
    put(o, "grad_norm", number(s->grad_norm));
    put(o, "trained_tokens", json_integer((json_int_t)s->all_tokens));
    put(o, "tokens_per_second", number(s->tokens_per_second));
    put(o, "seconds", number(s->seconds));
    put(o, "seconds_left", number(s->seconds_left));
    if (s->event == SL_TRAIN_EVALUATED) {
        put(o, "validation_loss", number(s->validation_loss));
        put(o, "validation_gate_mean", number(s->validation_gate));
        put_accuracy(o, s);
        put(o, "validation_depth", number(s->validation_depth));
        if (isfinite(s->validation_depth_first))
            put(o, "validation_depth_first", number(s->validation_depth_first));
        put(o, "best_loss", number(s->best_loss));
        put(o, "best_step", json_integer(s->best_step));
        put(o, "peak_memory_bytes", json_integer(peak_memory()));
    }
    return o;
}

/* Also on standard output, unless that is a terminal. */
static void write_line(struct training_log *t, json_t *event)
{
    t->events.step = t->last.step;
    t->events.steps = t->last.steps;
    event_log_write(&t->events, event, t->terminal ? NULL : stdout);
}

static void end_live_line(struct training_log *t)
{
    if (t->line_open)
        (void)printf("\n");
    t->line_open = false;
}

static void draw_live_line(struct training_log *t, const struct sl_train_progress *s)
{
    enum { WIDTH = 24 };

    char bar[WIDTH + 1], gate[32] = "";
    int filled = (int)((double)s->step / s->steps * WIDTH), left = (int)s->seconds_left;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[WIDTH] = '\0';
    if (isfinite(s->gate_mean))
        (void)snprintf(gate, sizeof gate, "  gate mean %.3f", s->gate_mean);
    (void)printf("\r[%s] %d/%d  loss %.4f%s  %.0f tokens/s  %d:%02d:%02d left ", bar, s->step,
                 s->steps, s->loss, gate, s->tokens_per_second, left / 3600, left / 60 % 60,
                 left % 60);
    (void)fflush(stdout);
    t->line_open = true;
}

static void on_terminal(struct training_log *t, const struct sl_train_progress *s)
{
    double at = sl_now_seconds();
    if (s->event == SL_TRAIN_STEPPED && (at - t->drawn > 0.1 || s->step == s->steps)) {
        draw_live_line(t, s);
        t->drawn = at;
    } else if (s->event == SL_TRAIN_EVALUATED) {
        end_live_line(t);
        (void)printf("step %d: validation loss %.4f", s->step, s->validation_loss);
        if (isfinite(s->validation_accuracy))
            (void)printf(", accuracy %.2f %% (best %.2f %% at step %d)\n",
                         100.0 * s->validation_accuracy, 100.0 * s->best_accuracy, s->best_step);
        else
            (void)printf(" (best %.4f at step %d)\n", s->best_loss, s->best_step);
    }
}

void training_log_event(void *training_log, const struct sl_train_progress *s)
{
    struct training_log *t = training_log;
    int between = s->steps < LINES_OF_SHORT_RUN
                      ? 1
                      : sl_min(STEPS_BETWEEN_LINES, s->steps / LINES_OF_SHORT_RUN);
    t->last = *s;
    if (t->terminal)
        on_terminal(t, s);
    if (s->event != SL_TRAIN_STEPPED || s->step % between == 0)
        write_line(t, event_object(t));
}

static void write_begin(struct training_log *t, const struct sl_trainer *trainer,
                        const struct dataset_facts *facts)
{
    const struct sl_model *m = sl_trainer_model(trainer);
    json_t *o = json_object();
    put(o, "event", json_string("started"));
    put(o, "architecture", json_string(m->arch->name));
    put(o, "parameters", json_integer((json_int_t)sl_model_parameter_count(m)));
    put(o, "isa", json_string(sl_engine_isa(m->engine)));
    put(o, "threads", json_integer(sl_engine_threads(m->engine)));
    dataset_summary_add(trainer, facts, o);
    write_line(t, o);
}

static void print_begin(const struct sl_trainer *trainer, const struct dataset_facts *facts)
{
    const struct sl_model *m = sl_trainer_model(trainer);
    int threads = sl_engine_threads(m->engine);
    (void)printf("%s, %lld parameters, %s, %d thread%s\n", m->arch->name,
                 (long long)sl_model_parameter_count(m), sl_engine_isa(m->engine), threads,
                 threads == 1 ? "" : "s");
    dataset_summary_print_run(trainer, facts);
}

struct training_log *training_log_open(const struct sl_trainer *trainer, const char *run, bool json,
                                       struct sl_err *err)
{
    struct dataset_facts facts;
    struct training_log *t = sl_new(sizeof *t, "a report", err);
    if (!t)
        return NULL;
    if (!dataset_summary_open(&facts, trainer, err) || !event_log_open(&t->events, run, err)) {
        dataset_facts_close(&facts);
        free(t);
        return NULL;
    }
    t->terminal = !json && isatty(STDOUT_FILENO);
    t->last = *sl_trainer_progress(trainer);
    write_begin(t, trainer, &facts);
    if (t->terminal)
        print_begin(trainer, &facts);
    dataset_summary_warn(&facts);
    dataset_facts_close(&facts);
    return t;
}

/* -- the end ---------------------------------------------------------------------------------- */

enum ending { STOPPED, UNPUBLISHED, PUBLISHED }; /* STOPPED: before the last step */

static enum ending ending_of(const struct training_log *t, const char *published)
{
    if (t->last.step < t->last.steps)
        return STOPPED;
    return published ? PUBLISHED : UNPUBLISHED;
}

static json_t *end_object(enum ending ending, const char *published)
{
    static const char *const events[] = {"ended", "ended", "published"};
    static const char *const next[] = {
        "repeat the command with --resume to continue",
        "no model was published; repeat the command with --resume --output DIR to publish it",
        NULL};
    json_t *o = json_object();
    put(o, "event", json_string(events[ending]));
    put(o, "directory", published ? sl_json_string(published) : json_null());
    if (next[ending])
        put(o, "next", json_string(next[ending]));
    return o;
}

static void print_end(const struct training_log *t, enum ending ending, const char *published)
{
    const char *done = ending == PUBLISHED ? "published" : "saved";
    (void)printf("%s at step %d of %d: ", done, t->last.step, t->last.steps);
    if (ending == PUBLISHED)
        (void)printf("%s\nA running daemon serves it after `sluicectl load MODEL`.\n", published);
    else if (ending == UNPUBLISHED)
        (void)printf("no model was published; to publish it, repeat with --resume --output DIR\n");
    else if (published)
        (void)printf(
            "the best model so far is in %s; to continue, repeat the command with --resume\n",
            published);
    else
        (void)printf("no model was published; to continue, repeat the command with --resume\n");
}

void training_log_close(struct training_log *t, const struct sl_err *failure, const char *published)
{
    enum ending ending = ending_of(t, published);
    end_live_line(t);
    if (failure) /* into the log alone: the program prints it */
        event_log_write(&t->events, failure_event(failure), NULL);
    else
        write_line(t, end_object(ending, published));
    if (t->terminal && !failure)
        print_end(t, ending, published);
    event_log_close(&t->events);
    free(t);
}

/* -- provenance, stored with the model -------------------------------------------------------- */

static void put_file(json_t *object, const char *key, const char *path)
{
    if (path)
        put(object, key, sl_json_file_name(path));
}

char *training_log_provenance(const struct sl_trainer *trainer, struct sl_err *err)
{
    const struct sl_train_options *t = sl_trainer_options(trainer);
    const struct sl_train_progress *s = sl_trainer_progress(trainer);
    json_t *o = json_object();
    put_file(o, "corpus", t->sources.corpus);
    put_file(o, "data", t->sources.data);
    put_file(o, "validation", t->sources.validation);
    put_file(o, "vocabulary", t->sources.vocabulary);
    if (sl_trainer_teacher(trainer))
        put(o, "teacher_sha256", sl_json_string(sl_trainer_teacher(trainer)->sha256));
    put(o, "steps", json_integer(s->step));
    put(o, "validation_loss", number(s->validation_loss));
    put(o, "validation_gate_mean", number(s->validation_gate));
    put_accuracy(o, s);
    put(o, "best_loss", number(s->best_loss));
    put(o, "best_step", json_integer(s->best_step));
    put(o, "seconds", number(s->seconds));
    put(o, "finished", json_integer((json_int_t)time(NULL)));
    put(o, "hyperparameters", sl_json_numbers(sl_hyperparameter_rows, &t->hyperparameters, 0));
    char *text = json_dumps(o, JSON_REAL_PRECISION(SL_JSON_SHORT));
    json_decref(o);
    if (!text)
        sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model");
    return text;
}
