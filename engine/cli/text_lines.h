/* text_lines.h - lines of files, or columns of records, go through a model in batches, for `sluice
 * classify` and `sluice embed`. */
#pragma once

#include "sluice/classifier.h"
#include "sluice/tokenizer.h"

enum { TEXT_LINES_BATCH = 64 };

/* A tokenized text of the next batch. */
struct text_line {
    char *text;
    size_t bytes, text_capacity;
    int32_t *ids;
    struct sl_token_offset *offsets; /* if it is explained */
    size_t ids_capacity, offsets_capacity;
    int count;
    bool truncated;
    int64_t number; /* its line */
};

struct sl_line_reader;
struct sl_record_options;

struct text_lines {
    const char *command, *done; /* for messages: "classify", "classified" */
    const struct sl_model *m;
    enum sl_truncation truncation;
    bool explains; /* `print` needs offsets, and runs the classifier */
    /* Prints a text and its result. */
    bool (*print)(struct text_lines *lines, struct text_line *line,
                  const struct sl_classifier_item *item, struct sl_err *err);
    void *context;                           /* of `print` */
    const struct sl_record_options *columns; /* NULL: each line is a text */

    struct sl_classifier *classifier;
    const struct sl_line_reader *lines; /* where the waiting are from */
    struct text_line waiting[TEXT_LINES_BATCH];
    float *results;    /* a copy of the batch's, if texts are explained */
    int count, tokens; /* that wait */
    int64_t texts, truncated, skipped;
    double begun, shown;
};

/* Options of both commands, the first member of their arguments. */
struct text_arguments {
    const char *isa, *precision;
    const char *truncate;
    const char *columns, *format;
    bool json;
    int threads;
};

#define TEXT_FILE_OPTIONS                                                                          \
    {"text",                                                                                       \
     "COLUMNS",                                                                                    \
     "read this column of CSV, TSV or JSON Lines: a name, or a number from 1; joined if several, " \
     "as in title,body [each line is a text]",                                                     \
     SL_OPTION_STRING,                                                                             \
     offsetof(struct text_arguments, columns),                                                     \
     0,                                                                                            \
     0},                                                                                           \
        {"format",                                                                                 \
         "NAME",                                                                                   \
         "with --text: tsv, csv or jsonl [from the file name]",                                    \
         SL_OPTION_STRING,                                                                         \
         offsetof(struct text_arguments, format),                                                  \
         0,                                                                                        \
         0},                                                                                       \
        TRUNCATE_OPTION(struct text_arguments)

struct command;
struct sl_option;

/* Parses MODEL-DIR and text files into `arguments`, opens the model and works on the files. `rows`
 * are those of `arguments`, which begin with struct text_arguments. */
bool text_lines_command(const struct command *command, const struct sl_option *rows,
                        void *arguments,
                        bool (*work)(struct text_lines *lines, void *arguments,
                                     const char *const *files, int count, struct sl_err *err),
                        int count, char **words, struct sl_err *err);

/* `lines` has its first members set, and zeros. "-" is standard input. */
bool text_lines_run(struct text_lines *lines, const char *const *files, int count,
                    struct sl_err *err);
