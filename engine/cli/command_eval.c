/* command_eval.c - `sluice eval`: loss or accuracy of a model, and how much of it was computed. */
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/eval_source.h"
#include "cli/evaluation/label_metrics.h"
#include "cli/evaluation/translation_quality.h"
#include "cli/policy_options.h"
#include "cli/report/report_evaluation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *model, *report, *isa, *precision;
    bool dense, json;
    int threads;
};

static const struct sl_option rows[] = {
    {"report", "DIR",
     "write a report on the texts of --data and the predictions to DIR/index.html, a web page "
     "without other files",
     SL_OPTION_STRING, offsetof(struct arguments, report), 0, 0},
    {"dense", NULL, "for checks: compute skipped layers, too, and multiply their results by zero",
     SL_OPTION_FLAG, offsetof(struct arguments, dense), 0, 0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

/* Options of the command, and what they set; without values for help. */
static struct sl_option_parser parser_of(struct eval_source_options *from, struct arguments *a,
                                         struct policy_options *policy)
{
    struct sl_option_parser parser = {
        .tables = {{.rows = eval_source_rows, .values = from}, {.rows = rows, .values = a}}};
    policy_options_add(policy, &parser, 2);
    return parser;
}

static void options(const char *operand)
{
    (void)operand;
    struct policy_options policy = {0};
    struct sl_option_parser parser = parser_of(NULL, NULL, &policy);
    command_help(&command_eval, &parser);
}

static double bits_of(const struct sl_evaluation *e)
{
    return e->loss / log(2.0);
}

/* Fraction of token-layer operations that did not run; 0 for a model without layers. */
static double skipped_of(const struct sl_model *m, const struct sl_evaluation *e)
{
    return m->config.depth > 0 ? 1.0 - e->layers_mean / m->config.depth : 0.0;
}

static void print_depth(const struct sl_model *m, const struct sl_evaluation *e, bool all_tokens)
{
    if (m->config.depth == 0)
        return;
    printf("depth %.3f of %d, %.1f %% of token-layer operations skipped\n", e->layers_mean,
           m->config.depth, 100.0 * skipped_of(m, e));
    if (isfinite(e->gate_mean))
        printf("gate mean %.4f, open %.4f\n", e->gate_mean, e->gate_open_mean);
    else if (isfinite(e->gate_open_mean))
        printf("fraction of blocks after the first that ran: %.4f\n", e->gate_open_mean);
    if (isfinite(e->halting_depth) && all_tokens)
        printf("halting depth %.3f steps, of first tokens %.3f\n", e->halting_depth,
               e->halting_depth_first);
    else if (isfinite(e->halting_depth))
        printf("halting depth of first tokens %.3f steps; --dense measures all tokens\n",
               e->halting_depth_first);
}

/* v: of a language model, only `e` is set. */
static void print_text(const struct sl_model *m, const struct label_evaluation *v, bool dense)
{
    const struct sl_evaluation *e = &v->e;
    const struct prediction_quality *q = &v->quality;
    bool classifier = m->config.task == SL_TASK_CLASSIFICATION;
    if (m->config.multi_label)
        printf("micro F1 %.4f, macro F1 %.4f, subset ", q->micro_f1, q->macro_f1);
    if (classifier)
        printf("accuracy %.2f %%, loss %.4f nats over %lld texts (%lld tokens) in %.1f s\n",
               100.0 * e->accuracy, e->loss, (long long)e->examples, (long long)e->tokens,
               e->seconds);
    else if (isfinite(e->accuracy))
        printf("accuracy %.2f %% of tokens, loss %.4f nats over %lld tokens of completions in "
               "%.1f s\n",
               100.0 * e->accuracy, e->loss, (long long)e->examples, e->seconds);
    else
        printf("loss %.4f nats, %.4f bits per token over %lld tokens in %.1f s\n", e->loss,
               bits_of(e), (long long)e->tokens, e->seconds);
    if (m->config.multi_label)
        printf("95 %% interval %.2f to %.2f %%, calibration error %.4f\n", 100.0 * q->low,
               100.0 * q->high, q->calibration);
    else if (classifier)
        printf("95 %% interval %.2f to %.2f %%, macro F1 %.4f, calibration error %.4f\n",
               100.0 * q->low, 100.0 * q->high, q->macro_f1, q->calibration);
    print_depth(m, e, dense || !classifier);
    if (v->labels)
        label_metrics_print(m, v->labels);
}

static void write_quality(struct sl_json_writer *json, const struct sl_model *m,
                          const struct label_evaluation *v)
{
    const struct prediction_quality *q = &v->quality;
    sl_json_add(json, "'accuracy_interval':[%f,%f]", q->low, q->high);
    if (m->config.multi_label)
        sl_json_add(json, "'micro_f1':%f", q->micro_f1);
    sl_json_add(json, "'macro_f1':%f,'calibration_error':%f", q->macro_f1, q->calibration);
    label_metrics_write(sl_json_key(json, "labels"), m, v->labels);
    label_confusion_write(sl_json_key(json, "confusion_matrix"), &v->predictions);
}

static void print_json(const struct sl_model *m, const struct label_evaluation *v)
{
    const struct sl_evaluation *e = &v->e;
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    sl_json_add(&json,
                "{'accuracy':%f,'examples':%lld,'loss':%f,'bits_per_token':%f,'tokens':%lld,"
                "'depth_mean':%f,'layer_ops_skipped':%f,'gate_mean':%f,'gate_open_mean':%f,"
                "'halting_depth':%f,'halting_depth_first':%f,'seconds':%f",
                e->accuracy, (long long)e->examples, e->loss, bits_of(e), (long long)e->tokens,
                e->layers_mean, skipped_of(m, e), e->gate_mean, e->gate_open_mean, e->halting_depth,
                e->halting_depth_first, e->seconds);
    if (v->labels)
        write_quality(&json, m, v);
    sl_json_end_object(&json);
    command_print_json(&text);
}

static bool report(const struct sl_model *m, const struct arguments *a,
                   const struct sl_dataset *set, const struct label_evaluation *v,
                   struct sl_err *err)
{
    struct dataset_facts facts;
    const struct report_evaluation report = {.title = report_title(NULL, a->model),
                                             .what = "evaluated on",
                                             .how = "On all texts of the file.",
                                             .facts = &facts,
                                             .of = m,
                                             .evaluation = v};
    bool ok = dataset_facts_open(&facts, set, NULL, LABELS_OF_MODEL, m->tokenizer, err) &&
              report_evaluation_write(&report, a->report, err);
    dataset_facts_close(&facts);
    return ok;
}

static bool classify(const struct eval_source *source, const struct arguments *a,
                     const struct sl_policy *policy, struct label_evaluation *v, struct sl_err *err)
{
    const struct sl_model *m = source->model;
    const struct sl_dataset *set = &source->set;
    if (!label_evaluation_open(v, m, set, policy, err) || (a->report && !report(m, a, set, v, err)))
        return false;
    if (set->truncated > 0 && !a->json)
        printf("%d of %d texts were truncated to %d tokens\n", set->truncated, set->count,
               m->config.context_length);
    return true;
}

/* Under its own policy, as `sluice translate` does. */
static bool translate(const struct eval_source *source, const struct arguments *a,
                      const struct sl_policy *policy, struct sl_err *err)
{
    const struct sl_translator_options options = {.length_penalty =
                                                      (float)SL_LENGTH_PENALTY_DEFAULT};
    struct sl_evaluation e;
    struct translation_quality q;
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    if (a->report)
        return sl_fail(err, SL_BAD_INPUT, "--report is for classifiers");
    if (!eval_source_run(source, policy, &e, err) ||
        !translation_quality_measure(source->model, &source->set, &source->translations, options,
                                     &q, err))
        return false;
    if (!a->json) {
        printf("BLEU %.2f, chrF %.2f of %d texts (%lld tokens) in %.1f s\n", q.bleu, q.chrf,
               source->set.count, (long long)q.tokens, q.seconds);
        printf("loss %.4f nats, perplexity %.2f per token over %lld tokens in %.1f s\n", e.loss,
               exp(e.loss), (long long)e.examples, e.seconds);
        return true;
    }
    sl_json_add(&json,
                "{'bleu':%f,'chrf':%f,'loss':%f,'texts':%d,'tokens':%lld,'depth_mean':%f,"
                "'seconds':%f}",
                q.bleu, q.chrf, e.loss, source->set.count, (long long)q.tokens, e.layers_mean,
                q.seconds);
    command_print_json(&text);
    return true;
}

static bool evaluate(const struct eval_source *source, const struct arguments *a,
                     const struct sl_policy *policy, struct sl_err *err)
{
    const struct sl_model *m = source->model;
    struct label_evaluation v = {0};
    if (m->config.task == SL_TASK_TRANSLATION)
        return translate(source, a, policy, err);
    bool ok = m->config.task == SL_TASK_CLASSIFICATION ? classify(source, a, policy, &v, err)
                                                       : eval_source_run(source, policy, &v.e, err);
    if (ok && a->json)
        print_json(m, &v);
    else if (ok)
        print_text(m, &v, a->dense);
    label_evaluation_close(&v);
    return ok;
}

static bool check_report(const struct arguments *a, struct eval_source_options *from,
                         struct sl_err *err)
{
    from->keep_text = a->report != NULL;
    if (a->report && from->corpus && !from->data)
        return fail_needs_data("report", err);
    return eval_source_check(from, err) && report_prepare(a->report, NULL, err);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    struct eval_source_options from = {.columns.skip_incomplete = true};
    struct eval_source source = {0};
    struct sl_policy policy = {0};
    struct policy_options policy_options = {0};
    struct sl_option_parser parser = parser_of(&from, &a, &policy_options);
    parser.operands = &a.model;
    parser.operands_max = 1;
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!a.model)
        return fail_missing(&command_eval, "MODEL-DIR", err);
    if (!check_report(&a, &from, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    struct sl_model *m = engine ? command_model(engine, a.model, err) : NULL;
    if (m)
        policy = m->policy;
    policy.dense = a.dense;
    bool ok = m && policy_options_apply(&policy_options, m->arch, &policy, err) &&
              eval_source_open(&source, &from, m, "eval", err) &&
              evaluate(&source, &a, &policy, err);
    eval_source_close(&source);
    sl_model_close(m);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_eval = {
    .name = "eval",
    .operands = "MODEL-DIR (--corpus | --data) FILE",
    .help = "evaluate a model on a text or on labelled texts",
    .run = run,
    .print_help = options,
};
