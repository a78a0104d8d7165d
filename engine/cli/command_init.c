/* command_init.c - `sluice init`: writes an untrained language model. */
#include "checkpoint/checkpoint.h"
#include "cli/model_path.h"
#include "cli/training/train_arguments.h"
#include "data/corpus.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>

static void print_untrained(const struct train_arguments *a, int64_t parameters)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    if (!a->json) {
        printf("%s: %s, %" PRId64 " parameters, untrained\n", a->out, a->training.arch->name,
               parameters);
        return;
    }
    sl_json_add(&json, "{'directory':%s,'architecture':%s,'parameters':%lld}", a->out,
                a->training.arch->name, (long long)parameters);
    command_print_json(&text);
}

static bool write_untrained(struct sl_engine *engine, const struct train_arguments *a,
                            const struct sl_tokenizer *tokens, struct sl_err *err)
{
    struct sl_config config = a->training.config;
    config.vocab = sl_tokenizer_size(tokens);
    if (!sl_config_check(a->training.arch, &config, err))
        return false;
    struct sl_model *model = sl_model_create(engine, a->training.arch, &config, err);
    if (!model)
        return false;
    sl_model_initialize(model, (uint64_t)a->seed);
    char none[] = "{}";
    struct sl_model_config model_config = {.arch = a->training.arch,
                                           .hyper = config,
                                           .policy = sl_policy_defaults(a->training.arch),
                                           .tokenizer = sl_tokenizer_kind(tokens),
                                           .training = none};
    struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                        .tokens = tokens,
                                        .parameters = model->state_dict,
                                        .count = model->state_dict_count,
                                        .matrices = a->bf16 ? SL_DTYPE_BF16 : SL_DTYPE_F32};
    bool ok = sl_checkpoint_write(a->out, &parts, err);
    if (ok)
        print_untrained(a, sl_model_parameter_count(model));
    sl_model_close(model);
    return ok;
}

static bool run_init(int count, char **words, struct sl_err *err)
{
    struct train_arguments a = {0};
    char list[SL_ARCH_LIST];
    if (!train_arguments_read(&a, init_rows, count, words, err))
        return false;
    if (!(a.training.arch->tasks & SL_COMPLETES))
        return sl_fail(
            err, SL_BAD_INPUT,
            "%s only classifies, and `sluice init` writes language models; use one of: %s",
            a.training.arch->name, sl_arch_list(SL_COMPLETES, list));
    if (!a.corpus || !a.out)
        return sl_fail(err, SL_BAD_INPUT, "missing %s",
                       a.corpus ? "--output DIR: the directory to create"
                                : "--corpus FILE: a text whose characters become the vocabulary");
    if (!model_path_check_output(a.out, NULL, err) || !model_path_check_new(a.out, NULL, err))
        return false;
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    const struct sl_tokenizer_options how = {.kind = "characters"};
    struct sl_tokenizer *tokens = engine ? sl_corpus_train_tokenizer(a.corpus, &how, err) : NULL;
    bool ok = tokens && write_untrained(engine, &a, tokens, err);
    sl_tokenizer_destroy(tokens);
    sl_engine_destroy(engine);
    return ok;
}

static void print_help(const char *architecture)
{
    init_help(&command_init, architecture);
}

const struct command command_init = {
    .name = "init",
    .operands = "ARCHITECTURE --corpus FILE --output DIR",
    .help = "write an untrained language model, for tests",
    .run = run_init,
    .print_help = print_help,
    .check_operand = train_check_architecture,
    .is_for_tests = true,
};
