/* command.c - what the commands of `sluice` share: engines, models, errors. */
#include "cli/command.h"
#include "arch/arch.h"
#include "cli/model_path.h"

#include <stdio.h>
#include <string.h>

struct sl_engine *command_engine(int threads, const char *isa, const char *precision,
                                 struct sl_err *err)
{
    struct sl_engine_options options = {.threads = threads, .isa = isa, .precision = precision};
    struct sl_engine *engine = sl_engine_create(&options, err);
    if (!engine && strcmp(err->field, "isa") == 0)
        (void)sl_err_spell_field(err, "--isa");
    if (!engine && strcmp(err->field, "precision") == 0)
        (void)sl_err_spell_field(err, "--precision");
    return engine;
}

struct sl_engine *command_training_engine(int threads, const char *isa, const char *precision,
                                          struct sl_err *err)
{
    if (!precision || strcmp(precision, "int8") != 0)
        return command_engine(threads, isa, precision, err);
    (void)sl_fail_value(err, "--precision", precision, "training computes in fp32 or bf16");
    return NULL;
}

struct sl_model *command_model(struct sl_engine *engine, const char *directory, struct sl_err *err)
{
    return model_path_check_input(directory, err) ? sl_model_open(engine, directory, err) : NULL;
}

bool command_check_source(const char *corpus, const char *data, struct sl_err *err)
{
    if (corpus && data)
        return sl_fail(err, SL_BAD_INPUT, "give --corpus or --data, not both");
    return corpus || data ||
           sl_fail(
               err, SL_BAD_INPUT,
               "missing input: give --corpus FILE (plain text) or --data FILE (labelled texts)");
}

bool command_truncation(const char *name, enum sl_truncation *side, struct sl_err *err)
{
    *side = SL_TRUNCATE_DEFAULT;
    if (name && strcmp(name, "left") == 0)
        *side = SL_TRUNCATE_LEFT;
    if (name && strcmp(name, "right") == 0)
        *side = SL_TRUNCATE_RIGHT;
    return !name || *side != SL_TRUNCATE_DEFAULT ||
           sl_fail(err, SL_BAD_INPUT, "invalid --truncate '%s': expected left or right", name);
}

bool fail_task(enum sl_task task, struct sl_err *err)
{
    if (task == SL_TASK_PRETRAINING)
        return sl_fail(
            err, SL_BAD_INPUT,
            "the model was only pretrained: use `sluice embed`, or make a classifier of it with "
            "`sluice train --init-from`");
    return sl_fail(err, SL_BAD_INPUT, "the model is for %s; use `sluice %s`", sl_task_name(task),
                   task == SL_TASK_COMPLETION ? "generate" : "classify");
}

bool fail_needs_data(const char *option, struct sl_err *err)
{
    return sl_fail(err, SL_BAD_INPUT, "--%s has no effect on --corpus; it needs --data", option);
}

void command_help(const struct command *command, const struct sl_option_parser *parser)
{
    char program[32];
    struct sl_option_parser titled = *parser;
    (void)snprintf(program, sizeof program, "sluice %s", command->name);
    titled.program = program;
    titled.usage = command->operands;
    titled.about = command->help;
    sl_options_help(&titled, stdout);
}

void command_print_help(const struct command *command, const char *operand)
{
    struct sl_option_parser parser = {.tables = {{.rows = command->rows}}};
    if (command->print_help) {
        command->print_help(operand);
        return;
    }
    command_help(command, &parser);
    (void)fputs(command->notes ? command->notes : "", stdout);
}

void command_print_json(struct sl_buffer *json)
{
    (void)puts(json->failed ? "null" : json->data);
    sl_buffer_release(json);
}

bool fail_missing(const struct command *command, const char *what, struct sl_err *err)
{
    const char *other = strchr(command->operands, '\n');
    int bytes = (int)strcspn(command->operands, "\n");
    if (!other)
        return sl_fail(err, SL_BAD_INPUT, "missing %s; usage: sluice %s %s", what, command->name,
                       command->operands);
    return sl_fail(err, SL_BAD_INPUT, "missing %s; usage: sluice %s %.*s, or: sluice %s %s", what,
                   command->name, bytes, command->operands, command->name, other + 1);
}
