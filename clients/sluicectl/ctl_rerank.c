/* ctl_rerank.c - `sluicectl rerank`: lines by how well they answer a query. */
#include "sluicectl/ctl_texts.h"

#include <errno.h>
#include <string.h>

static const struct sl_option rows[] = {CTL_TEXT_ROWS("model that ranks texts"), {0}};

static const char notes[] =
    "Prints the lines of FILE, or of standard input (-), the highest score first: a table on a\n"
    "terminal, elsewhere rows of a score (at most 0.999999) and a text, separated by a tab. With\n"
    "--json, prints an object for each line. --truncate cuts QUERY and a line that are together\n"
    "too long, the longer of them first.\n"
    "Skips empty lines. Reports lines that are rejected on standard error, and ranks the others;\n"
    "the exit code is then 2.\n";

static bool check_model(struct ctl_texts *job, const struct print_info *info,
                        struct client_error *failure)
{
    (void)job;
    const char *other = info->classifies || info->tags ? "classify"
                        : info->embeds                 ? "embed"
                                                       : "complete";
    return info->reranks ||
           client_error_set(failure, EXIT_BAD_INPUT, "'%s' is not a reranker: use `sluicectl %s`",
                            info->model, other);
}

static bool check_arguments(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct ctl_text_arguments *arguments = ctl->values;
    if (!ctl_check_operands(ctl, 2, 2, "rerank --model NAME QUERY FILE", failure))
        return false;
    return arguments->model || client_error_set(failure, EXIT_BAD_INPUT,
                                                "missing --model: name the model that ranks texts");
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    if (!check_arguments(ctl, failure))
        return false;
    const char *path = ctl->operands[1];
    const bool reads_input = strcmp(path, "-") == 0;
    if (!reads_input && !ctl_check_file(path, failure))
        return false;
    FILE *file = reads_input ? stdin : fopen(path, "re");
    if (!file)
        return client_error_set(failure, EXIT_BAD_INPUT, "cannot read '%s': %s", path,
                                strerrordesc_np(errno));
    struct ctl_texts job = {.ctl = ctl,
                            .arguments = ctl->values,
                            .lines = file,
                            .request = CTL_RANK,
                            .query = ctl->operands[0],
                            .check = check_model,
                            .print = print_collect_ranks};
    bool good = ctl_texts_run(&job, failure);
    if (!reads_input)
        (void)fclose(file);
    return good;
}

const struct ctl_command ctl_rerank = {.name = "rerank",
                                       .operand = "QUERY FILE",
                                       .help = "rank lines of FILE (-: standard input) by QUERY",
                                       .example = "--model ranker \"Who won?\" answers.txt",
                                       .notes = notes,
                                       .takes_many = true,
                                       .rows = rows,
                                       .values_bytes = sizeof(struct ctl_text_arguments),
                                       .run = run};
