/* text_lines.h - lines of files, or columns of records, go through a model in batches, for `sluice
 * classify`, `embed`, `fill-mask` and `rerank`. */
#pragma once

#include "base/buffer.h"
#include "data/record_reader.h"
#include "sluice/classifier.h"
#include "sluice/tokenizer.h"

enum { TEXT_LINES_BATCH = 64 };

/* A tokenized text of the next batch. Its memory is used again by the next batch. */
struct text_line {
    char *text; /* not NUL-terminated */
    size_t bytes, text_capacity;
    int32_t *ids;                    /* `count` tokens */
    int32_t *types;                  /* of each; NULL unless there is a query */
    struct sl_token_offset *offsets; /* likewise; NULL unless `places` */
    size_t ids_capacity, types_capacity, offsets_capacity;
    int count;
    bool truncated;
    int64_t number; /* of its line in the file, from 1 */
};

struct text_lines {
    /* Set by text_lines_command. */
    const struct sl_model *m;
    enum sl_truncation truncation;
    struct sl_record_options columns; /* without `text`, each line is a text */
    const char *command;              /* for messages: "classify", */
    const char *const *files;         /* "-" is standard input */
    int file_count;

    /* Set by its `work`, which then calls text_lines_run. */
    const char *done;               /* and "classified" */
    enum sl_output output;          /* the model's main one, unless it is changed */
    const struct sl_prompt *prompt; /* before each text; NULL: none */
    const char *query;              /* the first text of a pair with each; NULL: none */
    bool places;                    /* `print` needs offsets; */
    bool explains;                  /* and runs the classifier */
    /* Prints a text and its result, which are valid until it returns. */
    bool (*print)(struct text_lines *lines, struct text_line *line,
                  const struct sl_classifier_item *item, struct sl_err *err);
    void *context; /* of `print` */

    /* Set by text_lines_run; `print` may use the classifier. */
    struct sl_classifier *classifier;
    const struct sl_line_reader *lines;         /* of the present file, to name it in errors */
    struct text_line waiting[TEXT_LINES_BATCH]; /* the next batch, */
    int count, tokens;                          /* so many texts with so many tokens */
    int most;                                   /* texts of a batch */
    float *results; /* the batch's logits, copied, if texts are explained: that runs others */
    int64_t texts, truncated, skipped; /* so far */
    double begun, shown;               /* seconds of sl_now_seconds; progress was shown last */
};

/* Options of these commands, the first member of their arguments. */
struct text_arguments {
    const char *isa, *precision;
    const char *truncate;
    const char *columns, *format;
    bool json;
    int threads;
};

#define TEXT_FILE_OPTIONS                                                                          \
    SL_OPTION_ROW(                                                                                 \
        "text", "COLUMNS",                                                                         \
        "read this column of CSV, TSV or JSON Lines: a name, or a number from 1; joined if "       \
        "several, as in title,body [each line is a text]",                                         \
        SL_OPTION_STRING, offsetof(struct text_arguments, columns), 0, 0),                         \
        SL_OPTION_ROW("format", "NAME",                                                            \
                      "with --text: the file format, as of `sluice train` [from it]",              \
                      SL_OPTION_STRING, offsetof(struct text_arguments, format), 0, 0),            \
        TRUNCATE_OPTION(struct text_arguments)

struct command;

/* Parses MODEL-DIR and text files into `arguments`, opens the model, and calls `work`, which sets
 * the rest of `lines` and calls text_lines_run. The command's rows are those of `arguments`, which
 * begin with struct text_arguments. */
bool text_lines_command(const struct command *command, void *arguments,
                        bool (*work)(struct text_lines *lines, void *arguments, struct sl_err *err),
                        int count, char **words, struct sl_err *err);

/* Prints the result of every text. False also if some texts could not be read or computed: they are
 * reported on standard error, and the others go on. */
bool text_lines_run(struct text_lines *lines, struct sl_err *err);

/* Prints the JSON of a text as a line, and releases it. Fails if there was no memory for it. */
bool text_lines_print_json(struct sl_buffer *json, struct sl_err *err);
