/* train_automatic.c - see train_automatic.h. */
#include "cli/train_automatic.h"

#include "checkpoint/manifest.h"
#include "cli/automatic_report.h"
#include "cli/command.h"
#include "cli/dataset_summary.h"
#include "cli/model_path.h"
#include "cli/train_arguments.h"
#include "cli/train_automatic_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the base -------------------------------------------------------------------------------- */

/* Where this program's base is: installed, or in the source tree. */
static const char *find_base(char path[SL_PATH_MAX])
{
    static const char *const places[] = {"../share/sluice/models/base/1", "../../models/base/1"};
    char program[SL_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = NULL;
    if (length > 0) {
        program[length] = '\0';
        slash = strrchr(program, '/');
    }
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        int bytes = (int)(slash + 1 - program);
        int needed = snprintf(path, SL_PATH_MAX, "%.*s%s", bytes, program, places[i]);
        if (needed < SL_PATH_MAX && model_path_check_input(path, NULL))
            return path;
    }
    return NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool check(const struct train_automatic_options *a, struct sl_err *err)
{
    if (!a->sources.data)
        return sl_fail(err, SL_BAD_INPUT, "missing --data FILE: labelled texts");
    if (!a->out)
        return sl_fail(
            err, SL_BAD_INPUT,
            "missing --output DIR: where to publish the model, <store>/<model>/<version>");
    if (a->base && (a->sources.tokenizer || a->sources.vocabulary_size || a->sources.cased))
        return sl_fail(err, SL_BAD_INPUT,
                       "--tokenizer, --vocab-size and --cased have no effect with --init-from: the "
                       "vocabulary is that of the model");
    return (!a->base || model_path_check_input(a->base, err)) &&
           model_path_check_output(a->out, NULL, err) &&
           (a->overwrite || model_path_check_new(a->out, "or replace it with --overwrite", err));
}

static bool publish(const struct train_automatic_options *a, const struct sl_linear_training *l,
                    struct sl_err *err)
{
    struct automatic_report report;
    if (!automatic_report_open(&report, l, a->least_precision, err))
        return false;
    char *provenance = automatic_report_provenance(&report, a->sources.data, err);
    bool ok = provenance && sl_linear_training_publish(l, a->out, provenance, err);
    if (ok)
        automatic_report_print(&report, a->out, a->json);
    free(provenance);
    automatic_report_close(&report);
    return ok;
}

static bool train(struct sl_engine *engine, const struct train_automatic_options *a,
                  struct sl_err *err)
{
    static const char no_base[] = "models/base/1 is not where this program is installed or built; "
                                  "--init-from names a model with word vectors";
    char path[SL_PATH_MAX];
    bool learns = a->sources.tokenizer || a->sources.vocabulary_size || a->sources.cased;
    const struct sl_linear_training_options options = {
        .engine = engine,
        .sources = a->sources,
        .base = a->base ? a->base : (learns ? NULL : find_base(path))};
    struct sl_linear_training l;
    bool json = a->json;
    if (!sl_linear_training_open(&l, &options, err))
        return false;
    dataset_summary_warn_skipped("train", l.set.path, l.set.skipped);
    if (!a->sources.labels)
        dataset_summary_warn_rare(&l.set, NULL);
    automatic_report_texts(&l, learns ? "the vocabulary is made from the texts" : no_base, json);
    bool ok = sl_linear_training_run(&l, automatic_report_trial, &json, err) && publish(a, &l, err);
    sl_linear_training_close(&l);
    return ok;
}

/* Lists the options that need none. */
static bool fail_needs_architecture(const char *option, struct sl_err *err)
{
    char list[256];
    train_automatic_options_list(list, sizeof list);
    return sl_fail(
        err, SL_BAD_INPUT,
        "--%s needs an architecture, as in `sluice train tsa --%s ...`; without one, these are the "
        "options: %s",
        option, option, list);
}

bool train_automatic(int count, char **words, struct sl_err *err)
{
    struct train_automatic_options a;
    char unknown[SL_OPTION_NAME_BYTES];
    if (!train_automatic_options_read(&a, count, words, unknown, err))
        return unknown[0] && train_has_option(unknown) ? fail_needs_architecture(unknown, err)
                                                       : false;
    if (!check(&a, err) || !command_truncation(a.truncate, &a.sources.truncation, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    if (!engine)
        return false;
    bool ok = train(engine, &a, err);
    sl_engine_destroy(engine);
    return ok;
}
