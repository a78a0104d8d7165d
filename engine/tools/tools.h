/* tools.h - the sub-commands of the offline tool. Each takes the words after its name and returns
 * whether it did its work; if not, err holds the reason and main prints it. */
#pragma once

#include "base/option_parser.h"
#include "sluice/engine.h"
#include "sluice/tokens.h"

struct sl_model;

/* A command: its row in the table of sluice.c. */
struct tool {
    const char *name, *operands, *help;
    bool (*run)(int count, char **words, struct sl_err *err);
    void (*options)(const char *operand); /* prints what it accepts after this word, or NULL */
    /* Whether it may be the first word; NULL: any may. */
    bool (*accepts)(const char *operand, struct sl_err *err);
};

extern const struct tool tool_train, tool_init, tool_eval, tool_generate, tool_classify,
    tool_inspect, tool_bench, tool_vocab;

/* The options that every command that computes has. */
#define ENGINE_OPTIONS(type)                                                                       \
    {"threads",                                                                                    \
     "N",                                                                                          \
     "processors to use; 0: as many as affinity and cgroup allow",                                 \
     SL_OPTION_INT,                                                                                \
     offsetof(type, threads),                                                                      \
     0,                                                                                            \
     1024},                                                                                        \
        {"isa",                                                                                    \
         "LEVEL",                                                                                  \
         "ref, blas, avx2, avx512 or amx instead of the fastest",                                  \
         SL_OPTION_STRING,                                                                         \
         offsetof(type, isa),                                                                      \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(type, json), 0, 0                     \
    }

/* Prints a command's --help: its usage and the parser's tables. */
void tool_help(const struct tool *tool, struct sl_option_parser *parser);

/* An engine as the options ask for. */
struct sl_engine *tool_engine(int threads, const char *isa, struct sl_err *err) SL_MUST_CHECK;

/* The model in a directory. */
struct sl_model *tool_model(struct sl_engine *engine, const char *directory, struct sl_err *err)
    SL_MUST_CHECK;

/* Just one of a text and labelled texts is what a command works on. */
bool tool_check_source(const char *corpus, const char *data, struct sl_err *err) SL_MUST_CHECK;

/* The side that --truncate names; NULL: the right one. */
bool tool_truncation(const char *name, enum sl_truncation *side, struct sl_err *err) SL_MUST_CHECK;

/* An option, and whether it is on the line. */
struct tool_given {
    const char *name;
    bool given;
};

/* The first of a list that is on the line; NULL: none. The list ends with a row of zeros. */
const char *tool_first_given(const struct tool_given *options);

/* What is said of an option that only labelled texts have. */
bool tool_refuse_labelled(const char *option, struct sl_err *err);

/* Puts "ok" aside from "wrong usage": how a command says that --help is what the caller needs. */
bool tool_usage(const struct tool *tool, struct sl_err *err);
