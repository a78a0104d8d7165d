/* ctl_embed.c - `sluicectl embed`: embeddings of texts or lines. */
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/ctl_texts.h"

static const struct sl_option rows[] = {
    CTL_TEXT_ROWS("model to use [the only one that gives embeddings]"),
    {"prompt-name", "NAME",
     "put this prompt of the model before each text [its default prompt, if it has one]",
     SL_OPTION_STRING, CTL_TEXT_AT(prompt_name), 0, 0},
    {"sparse", NULL,
     "of masked language models, such as SPLADE: print the weights of the vocabulary's tokens",
     SL_OPTION_FLAG, CTL_TEXT_AT(sparse), 0, 0},
    CTL_BUDGET_ROW(CTL_TEXT_AT(budget)),
    {0}};

static const char notes[] =
    "Prints the first numbers of each embedding on a terminal. Elsewhere, prints a row for each\n"
    "text: the numbers, separated by spaces, then a tab and the text. With --json, prints an\n"
    "object for each text.\n"
    "Embeddings have length 1: their dot product is the cosine of the angle between them.\n"
    "With --sparse, a text has pairs of a token's id and its weight, as in 36:1.07.\n"
    "Skips empty lines. Reports texts that are rejected on standard error, and goes on with the\n"
    "others; the exit code is then 2.\n";

static void add_outputs(const struct ctl_texts *job, struct sl_json_writer *json)
{
    (void)job;
    sl_json_add(json, "{'name':'embedding'},{'name':'truncated'}");
}

static bool check(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure)
{
    (void)job;
    return info->embeds ||
           client_error_set(failure, EXIT_BAD_INPUT, "'%s' gives no embeddings: use `sluicectl %s`",
                            info->model, info->classifies || info->tags ? "classify" : "complete");
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    struct ctl_texts job = {.ctl = ctl,
                            .arguments = ctl->values,
                            .choose = ctl_embedder,
                            .check = check,
                            .add_outputs = add_outputs,
                            .print = print_embeddings};
    if (job.arguments->sparse) {
        job.request = CTL_EMBED_SPARSE;
        job.print = print_sparse;
    }
    return ctl_texts_run(&job, failure);
}

const struct ctl_command ctl_embed = {.name = "embed",
                                      .operand = "[TEXT...]",
                                      .help = "embed TEXTs, or lines of standard input (-)",
                                      .example = "--json \"What a lovely day.\"",
                                      .notes = notes,
                                      .takes_many = true,
                                      .rows = rows,
                                      .values_bytes = sizeof(struct ctl_text_arguments),
                                      .run = run};
