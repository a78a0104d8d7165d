/* ctl_classify.c - `sluicectl classify`: classifies texts or lines. */
#include "sluicectl/ctl_texts.h"

enum { LABELS_MAX = 4096 };

static const struct sl_option rows[] = {
    CTL_TEXT_ROWS("model to use [the daemon's default classifier]"),
    {"top", "N",
     "number of most likely labels to print for each text [1; of a model that gives texts several "
     "labels, those with a score of 0.5 or more]",
     SL_OPTION_GIVEN_INT, CTL_TEXT_AT(top), 1, LABELS_MAX},
    {"explain", "N", "also print the N words that moved the score of the first label most",
     SL_OPTION_GIVEN_INT, CTL_TEXT_AT(explain), 1, 64},
    {"depth", NULL, "also print how many layers computed each token", SL_OPTION_FLAG,
     CTL_TEXT_AT(depth), 0, 0},
    {"aggregation", "HOW",
     "of models that classify tokens: how these become entities: none, simple, first, average or "
     "max [simple]",
     SL_OPTION_STRING, CTL_TEXT_AT(aggregation), 0, 0},
    CTL_BUDGET_ROW(CTL_TEXT_AT(budget)),
    {0}};

static const char notes[] =
    "Prints a table on a terminal. Elsewhere, prints a row for each label: label, score (at\n"
    "most 0.999999) and text, separated by tabs, as `sluice classify` does. With --json,\n"
    "prints an object for each text.\n"
    "With --explain, a terminal shows words that raised the score in green and others in red;\n"
    "rows have one more cell, with what each word added to the label's logit less the mean of\n"
    "the others. Where a text may have several labels, a text that has none is printed with\n"
    "the highest score and without a label.\n"
    "With --depth, a terminal colors each token by the number of layers that computed it; rows\n"
    "have one more cell, with token:layers of each.\n"
    "A model that classifies tokens has a row for each entity: label, score, entity and text.\n"
    "Skips empty lines. Reports texts that cannot be classified on standard error, and\n"
    "classifies the others; the exit code is then 2, as that of `sluice classify`.\n";

/* The most likely labels as value:class:label, the depth of each text, and how many tokens were
 * cut, and the words of explanations. */
static void add_outputs(const struct ctl_texts *job, struct sl_json_writer *json)
{
    if (job->tags) {
        sl_json_add(json, "{'name':'entities'},{'name':'truncated'}");
        return;
    }
    const struct sl_given_int *top = &job->arguments->top;
    const int usual = job->multi_label ? LABELS_MAX : 1;
    sl_json_add(json, "{'name':'probs','parameters':{'classification':%lld}}",
                (long long)(top->given ? top->value : usual));
    sl_json_add(json, "{'name':'depth'},{'name':'truncated'}");
    if (job->arguments->explain.given)
        sl_json_add(json, "{'name':'words'}");
    if (job->arguments->depth)
        sl_json_add(json, "{'name':'tokens'}");
}

static bool check(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure)
{
    if (info->multi_label && !job->arguments->top.given)
        job->printer.score_min = 0.5;
    if (info->tags)
        job->print = print_entities;
    return !info->embeds ||
           client_error_set(failure, EXIT_BAD_INPUT, "'%s' gives embeddings: use `sluicectl embed`",
                            info->model);
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    struct ctl_texts job = {.ctl = ctl,
                            .arguments = ctl->values,
                            .check = check,
                            .add_outputs = add_outputs,
                            .print = print_classes};
    return ctl_texts_run(&job, failure);
}

const struct ctl_command ctl_classify = {.name = "classify",
                                         .operand = "[TEXT...]",
                                         .help = "classify TEXTs, or lines of standard input (-)",
                                         .example = "--top 2 \"What a lovely day.\"",
                                         .notes = notes,
                                         .takes_many = true,
                                         .rows = rows,
                                         .values_bytes = sizeof(struct ctl_text_arguments),
                                         .run = run};
