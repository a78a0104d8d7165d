/* ctl_texts.h - the texts of `sluicectl classify`, `embed`, `fill-mask`, `rerank` and `translate`:
 * operands, or lines of standard input or of a file. They are sent in requests of as many as the
 * daemon takes; one that it rejects is reported, and the others are sent without it. */
#pragma once

#include "base/json_writer.h"
#include "sluicectl/ctl_command.h"
#include "sluicectl/print.h"

#include <stdio.h>

#define CTL_MODEL_SIDE "model"

enum { CTL_TEXTS_MAX = 64, CTL_PATH_BYTES = 512 };

/* What texts are sent to. */
enum ctl_request {
    CTL_INFER,
    CTL_RANK,
    CTL_EMBED_SPARSE,
    CTL_FILL_MASK,
    CTL_TRANSLATE,
    CTL_REQUESTS
};

/* The options of these commands. */
struct ctl_text_arguments {
    const char *model;
    struct sl_given_int top, explain; /* classify: labels of each text, words of explanations */
    struct sl_given_real budget;      /* of classify */
    bool depth;                       /* likewise */
    const char *truncate;
    const char *aggregation; /* of classify */
    const char *prompt_name; /* of embed */
    bool sparse;             /* likewise */
    bool replace;
};

#define CTL_TEXT_AT(member) offsetof(struct ctl_text_arguments, member)
#define CTL_TEXT_ROWS(model_help)                                                                  \
    {"model", "NAME", model_help, SL_OPTION_STRING, CTL_TEXT_AT(model), 0, 0},                     \
        {"truncate",                                                                               \
         "SIDE",                                                                                   \
         "cut texts that are too long, from this side: left, right, or model for the side that "   \
         "the model was trained with [reject them]",                                               \
         SL_OPTION_STRING,                                                                         \
         CTL_TEXT_AT(truncate),                                                                    \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "replace", NULL, "replace characters that the model does not know", SL_OPTION_FLAG,        \
            CTL_TEXT_AT(replace), 0, 0                                                             \
    }

/* The state of one command, over all its requests. */
struct ctl_texts {
    const struct ctl_options *ctl;
    const struct ctl_text_arguments *arguments;
    struct client *client;
    FILE *lines; /* their file; NULL: operands, or standard input */
    /* Chooses the model if no option names one; NULL: the daemon's default. */
    char *(*choose)(struct client *client, const char *name, struct client_error *failure);
    /* Fails if the model is not for the command. */
    bool (*check)(struct ctl_texts *job, const struct print_info *info,
                  struct client_error *failure);
    enum ctl_request request;
    /* Adds the outputs to CTL_INFER. */
    void (*add_outputs)(const struct ctl_texts *job, struct sl_json_writer *json);
    const char *query; /* of CTL_RANK */
    /* Prints the response to a request for the first `count` texts. */
    bool (*print)(struct class_printer *printer, const struct sl_buffer *body,
                  const char *const *texts, int count, struct client_error *failure);
    struct class_printer printer;
    bool multi_label; /* of the model: a text may have several labels; */
    bool tags;        /* it classifies tokens */

    const char *model;                /* name@version; */
    char path[CTL_PATH_BYTES];        /* of the endpoint */
    int texts_max;                    /* per request; halved when the daemon cannot hold so many */
    size_t bytes_max;                 /* per request, of its texts as JSON */
    bool has_skipped;                 /* some text was rejected */
    char code[CLIENT_ERROR_CODE_MAX]; /* the daemon's error code for the last of them */
    const char *what;                 /* "text" or "line", for messages */

    char *texts[CTL_TEXTS_MAX];     /* not sent yet */
    int64_t numbers[CTL_TEXTS_MAX]; /* their positions in the input, from 1 */
    int count;
    size_t bytes; /* of the texts as JSON, with commas */
};

/* Sends all texts and prints the responses, and how many texts were truncated, which rows do not
 * show. `job` has its options and functions. False, without a message, if some texts were
 * rejected. */
bool ctl_texts_run(struct ctl_texts *job, struct client_error *failure) SL_MUST_CHECK;
