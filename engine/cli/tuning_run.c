/* tuning_run.c - reads texts and trains on them. */
#include "cli/tuning_run.h"

#include "base/clock.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "tuning/tuning_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int tuning_steps(const struct tuning_arguments *a)
{
    enum { STEPS = 2000 };

    return a->steps.given ? (int)a->steps.value : STEPS;
}

int tuning_batch_size(const struct tuning_arguments *a)
{
    enum { TEXTS = 32 };

    return a->batch_size.given ? (int)a->batch_size.value : TEXTS;
}

bool tuning_check(const struct command *command, const char *model,
                  const struct tuning_arguments *a, struct sl_err *err)
{
    if (!model)
        return fail_missing(command, "MODEL-DIR", err);
    if (!a->texts)
        return sl_fail(err, SL_BAD_INPUT,
                       "missing --texts FILE: texts such as the model will read");
    if (!a->out)
        return sl_fail(err, SL_BAD_INPUT,
                       "missing --output DIR: where to publish the model, "
                       "<store>/<model>/<version>");
    if (a->resume && !a->run)
        return sl_fail(err, SL_BAD_INPUT, "--resume needs --run-dir: the run to continue");
    return model_path_check_input(model, err) && model_path_check_output(a->out, a->run, err) &&
           (a->overwrite || model_path_check_new(a->out, "or replace it with --overwrite", err));
}

static bool open_pairs(struct sl_dataset *set, const struct tuning_arguments *a,
                       const struct sl_record_options *columns, const struct sl_tokenizer *tokens,
                       const struct sl_dataset_encoding *how, struct sl_err *err)
{
    struct sl_dataset second = {0};
    const bool ok =
        sl_dataset_open_pairs(set, &second, a->texts, columns,
                              (struct sl_pair_columns){columns->text, a->text_pair}, err) &&
        sl_dataset_encode_pairs(set, &second, tokens, how, err);
    sl_dataset_close(&second);
    return ok;
}

bool tuning_open_texts(struct sl_dataset *set, const struct tuning_arguments *a,
                       const struct sl_tokenizer *tokens, int context, struct sl_err *err)
{
    enum { FEWEST = 100 };

    const bool has_columns = a->text || a->text_pair;
    const struct sl_record_options columns = {.unlabelled = true,
                                              .text = a->text ? a->text : "1",
                                              .format = has_columns ? a->format : "tsv",
                                              .skip_incomplete = !a->text_pair};
    const struct sl_dataset_encoding how = {.context = context, .unknown = SL_UNKNOWN_REPLACE};
    const bool ok = a->text_pair ? open_pairs(set, a, &columns, tokens, &how, err)
                                 : sl_dataset_open(set, a->texts, &columns, NULL, err) &&
                                       sl_dataset_encode(set, tokens, &how, err);
    return ok && (set->count >= FEWEST ||
                  sl_fail(err, SL_BAD_INPUT, "'%s' has %d texts: expected at least %d", a->texts,
                          set->count, FEWEST));
}

/* ---- training -------------------------------------------------------------------------------- */

static void show_json(const struct sl_text_distillation *d, double seconds, double left)
{
    struct sl_buffer line = {0};
    struct sl_json_writer json = {.out = &line};
    sl_json_add(&json, "{'step':%d,'steps':%d,'loss':%f,", d->step, d->options.steps,
                d->tuner.step_loss);
    if (isfinite(d->tuner.gates))
        sl_json_add(&json, "'gate_mean':%f,", d->tuner.gates);
    sl_json_add(&json, "'seconds':%f,'seconds_left':%f}", seconds, left);
    command_print_json(&line);
    (void)fflush(stdout); /* a log is followed line by line */
}

/* When this process began, and at which step. */
struct pace {
    double begun;
    int from;
};

static void show(const struct sl_text_distillation *d, const struct pace *pace, bool json)
{
    const double seconds = sl_now_seconds() - pace->begun;
    const double left = seconds / (d->step - pace->from) * (d->options.steps - d->step);
    char gates[32] = "";
    if (json) {
        show_json(d, seconds, left);
        return;
    }
    if (isfinite(d->tuner.gates))
        (void)snprintf(gates, sizeof gates, ", mean gate %.3f", d->tuner.gates);
    const bool terminal = isatty(STDOUT_FILENO);
    printf("%sstep %d of %d, loss %.4f%s, %.0f s left%s", terminal ? "\r" : "", d->step,
           d->options.steps, d->tuner.step_loss, gates, left, terminal ? "\033[K" : "\n");
    (void)fflush(stdout);
}

static bool take_steps(struct sl_text_distillation *d, const struct sl_run_dir *run, bool json,
                       struct sl_err *err)
{
    static const double show_seconds = 5.0, save_seconds = 300.0;
    struct pace pace = {.begun = sl_now_seconds(), .from = d->step};
    double shown = pace.begun, saved = pace.begun;
    while (d->step < d->options.steps) {
        if (!sl_text_distillation_step(d, err))
            return false;
        const double now = sl_now_seconds();
        const bool is_last = d->step == d->options.steps;
        if (run->lock && (is_last || now - saved >= save_seconds)) {
            if (!sl_tuning_state_save(d, run->state, err))
                return false;
            saved = now;
        }
        if (!is_last && now - shown < show_seconds)
            continue;
        shown = now;
        show(d, &pace, json);
    }
    return true;
}

bool tuning_open_run(struct sl_run_dir *run, const struct tuning_arguments *a, struct sl_err *err)
{
    *run = (struct sl_run_dir){0};
    return !a->run || sl_run_dir_open(run, a->run, a->resume, err);
}

bool tuning_train(struct sl_text_distillation *d, const struct sl_run_dir *run,
                  const struct tuning_arguments *a, bool json, struct sl_err *err)
{
    return (!a->resume || sl_tuning_state_resume(d, run->state, err)) &&
           take_steps(d, run, json, err);
}
