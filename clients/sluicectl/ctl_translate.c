/* ctl_translate.c - `sluicectl translate`: texts or lines by a model that translates. */
#include "sluicectl/ctl_model_choice.h"
#include "sluicectl/ctl_texts.h"

#include <string.h>

static const struct sl_option rows[] = {
    CTL_TEXT_ROWS("model to use [the only one that translates]"),
    {0}};

static const char notes[] =
    "Prints a line for each text, its translation. With --json, prints an object for each text\n"
    "with \"text\" and \"translation\".\n"
    "Skips empty lines. Reports texts that are rejected on standard error, such as one that is\n"
    "too long, and goes on with the others; the exit code is then 2.\n";

static bool check(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure)
{
    const char *side = job->arguments->truncate;
    if (side && strcmp(side, "left") == 0)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "invalid --truncate 'left': translations begin where the text "
                                "does; expected right or " CTL_MODEL_SIDE);
    return info->translates ||
           client_error_set(failure, EXIT_BAD_INPUT, "'%s' does not translate", info->model);
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    struct ctl_texts job = {.ctl = ctl,
                            .arguments = ctl->values,
                            .choose = ctl_translator,
                            .check = check,
                            .request = CTL_TRANSLATE,
                            .print = print_translations};
    return ctl_texts_run(&job, failure);
}

const struct ctl_command ctl_translate = {.name = "translate",
                                          .operand = "[TEXT...]",
                                          .help = "translate TEXTs, or lines of standard input (-)",
                                          .example = "\"a dog runs\"",
                                          .notes = notes,
                                          .takes_many = true,
                                          .rows = rows,
                                          .values_bytes = sizeof(struct ctl_text_arguments),
                                          .run = run};
