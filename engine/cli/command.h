/* command.h - the commands of `sluice`. Each takes the arguments after its name. It returns false
 * and sets err when it fails; main prints the error. */
#pragma once

#include "base/json_writer.h"
#include "base/option_parser.h"
#include "sluice/engine.h"
#include "sluice/model.h"
#include "sluice/tokenizer.h"

struct sl_model;

/* A command. sluice.c lists all of them. */
struct command {
    const char *name, *operands, *help;
    bool (*run)(int count, char **words, struct sl_err *err);
    /* --help prints the rows and the notes, which may be NULL; or what print_help, if that is not
     * NULL, prints. operand: the first one, or NULL. */
    const struct sl_option *rows;
    const char *notes;
    void (*print_help)(const char *operand);
    /* Checks the first operand; NULL: it is not checked. */
    bool (*check_operand)(const char *operand, struct sl_err *err);
    bool is_for_tests; /* `sluice --help` does not list it */
};

extern const struct command command_train, command_init, command_eval, command_generate,
    command_classify, command_embed, command_inspect, command_vocab, command_vectors,
    command_operating_points, command_import, command_fill_mask, command_rerank, command_reproduce,
    command_translate, command_adapt, command_distill, command_check;

#define THREADS_OPTION(type)                                                                       \
    SL_OPTION_ROW("threads", "N",                                                                  \
                  "compute threads; 0: one for each CPU that this process may use [0]",            \
                  SL_OPTION_INT, offsetof(type, threads), 0, 256)
#define ISA_OPTION(type)                                                                           \
    SL_OPTION_ROW(                                                                                 \
        "isa", "LEVEL",                                                                            \
        "instruction set: ref, portable, avx2, avx512 or amx [the fastest that the CPU has]",      \
        SL_OPTION_STRING, offsetof(type, isa), 0, 0)
#define PRECISION_OPTION(type)                                                                     \
    SL_OPTION_ROW(                                                                                 \
        "precision", "TYPE",                                                                       \
        "inputs of matrix products: fp32, bf16 or, not in training, int8 [bf16 with AMX; "         \
        "int8 with VNNI, or bf16 with AMD's AVX512-BF16, for models that they are known to "       \
        "change by at most 0.1 %; else fp32]",                                                     \
        SL_OPTION_STRING, offsetof(type, precision), 0, 0)
#define TRUNCATE_OPTION(type)                                                                      \
    SL_OPTION_ROW("truncate", "SIDE",                                                              \
                  "cut texts that are too long at this end: left or right [the model's]",          \
                  SL_OPTION_STRING, offsetof(type, truncate), 0, 0)

/* Options of every command that runs a model. */
#define ENGINE_OPTIONS(type) ENGINE_OPTIONS_JSON(type, "print JSON")
#define ENGINE_OPTIONS_JSON(type, json_help)                                                       \
    THREADS_OPTION(type), ISA_OPTION(type), PRECISION_OPTION(type),                                \
        SL_OPTION_ROW("json", NULL, json_help, SL_OPTION_FLAG, offsetof(type, json), 0, 0)

/* Prints --help; operand: the first one, or NULL. */
void command_print_help(const struct command *command, const char *operand);
/* Prints the usage and the options of a command. */
void command_help(const struct command *command, const struct sl_option_parser *parser);

/* Prints JSON that a writer wrote, as a line, and releases it. */
void command_print_json(struct sl_buffer *json);

/* Creates the engine that --threads, --isa and --precision ask for. */
struct sl_engine *command_engine(int threads, const char *isa, const char *precision,
                                 struct sl_err *err) SL_MUST_CHECK;

/* The same for training, which int8 is not for. */
struct sl_engine *command_training_engine(int threads, const char *isa, const char *precision,
                                          struct sl_err *err) SL_MUST_CHECK;

/* Opens the model in a directory. */
struct sl_model *command_model(struct sl_engine *engine, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;

/* Exactly one of --corpus and --data must be given. */
bool command_check_source(const char *corpus, const char *data, struct sl_err *err) SL_MUST_CHECK;

/* Parses the value of --truncate; NULL means the model's. */
bool command_truncation(const char *name, enum sl_truncation *side, struct sl_err *err)
    SL_MUST_CHECK;

/* Fails because the model is for another task than the command's. */
bool fail_task(enum sl_task task, struct sl_err *err);

/* Fails because the option needs --data. */
bool fail_needs_data(const char *option, struct sl_err *err);

/* Fails because something is missing, such as "--output FILE"; the error ends with the usage. */
bool fail_missing(const struct command *command, const char *what, struct sl_err *err);
