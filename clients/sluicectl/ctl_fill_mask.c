/* ctl_fill_mask.c - `sluicectl fill-mask`: which tokens may stand in place of masks. */
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/ctl_texts.h"

enum { TOP_MAX = 4096 };

static const struct sl_option rows[] = {
    CTL_TEXT_ROWS("model to use [the only one that gives embeddings]"),
    {"top", "N", "number of tokens to print for each mask [5]", SL_OPTION_GIVEN_INT,
     CTL_TEXT_AT(top), 1, TOP_MAX},
    {0}};

static const char notes[] =
    "A text has masks as the model writes them, [MASK] or <mask>. Prints a table on a terminal.\n"
    "Elsewhere, prints a row for each of the most probable tokens of each mask: token, score (at\n"
    "most 0.999999) and the text with it, separated by tabs. With --json, prints an object for\n"
    "each text, whose \"masks\" is a list for each mask.\n"
    "Skips empty lines. Reports texts that are rejected on standard error, such as one without a\n"
    "mask, and goes on with the others; the exit code is then 2.\n";

static bool check(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure)
{
    (void)job;
    return info->embeds ||
           client_error_set(failure, EXIT_BAD_INPUT,
                            "'%s' predicts no masked tokens: use `sluicectl %s`", info->model,
                            info->classifies || info->tags ? "classify" : "complete");
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    struct ctl_texts job = {.ctl = ctl,
                            .arguments = ctl->values,
                            .choose = ctl_embedder,
                            .check = check,
                            .request = CTL_FILL_MASK,
                            .print = print_fills};
    return ctl_texts_run(&job, failure);
}

const struct ctl_command ctl_fill_mask = {.name = "fill-mask",
                                          .operand = "[TEXT...]",
                                          .help = "predict masked tokens in TEXTs, or in lines of "
                                                  "standard input (-)",
                                          .example = "\"Paris is the [MASK] of France.\"",
                                          .notes = notes,
                                          .takes_many = true,
                                          .rows = rows,
                                          .values_bytes = sizeof(struct ctl_text_arguments),
                                          .run = run};
