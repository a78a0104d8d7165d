/* print.h - the output of sluicectl, as text and as JSON, and the JSON of responses. */
#pragma once

#include "bench/bench.h"
#include "bench/load_curve.h"
#include "common/client.h"

struct json_t; /* jansson's */

/* Prints a response that was parsed. */
typedef void print_function(const struct json_t *response);
/* A list of models, or one. */
print_function print_models;
/* A list of versions; what a load or an unload did; where a label is now; what was removed. */
print_function print_versions, print_loaded, print_label, print_deleted;

/* The functions below fail when a response is malformed. */

/* Parses a response and prints it. NULL: as compact JSON, on one line. */
bool print_response(const struct sl_buffer *body, print_function *print,
                    struct client_error *failure) SL_MUST_CHECK;
/* Copies the ids of the models of this task, at most `max`, each to be freed and NULL when out of
 * memory; returns how many there are. */
int print_model_ids(const struct sl_buffer *body, const char *task, char **ids, int max,
                    struct client_error *failure) SL_MUST_CHECK;

/* What is printed of completions. */
struct text_style {
    bool usage;  /* token counts, to standard error */
    bool depths; /* tokens as print_depths does it */
};

/* The texts of a completion, or of one event of a stream. An error inside an event becomes the
 * failure. */
bool print_texts(const char *json, size_t count, struct text_style style,
                 struct client_error *failure) SL_MUST_CHECK;
/* The tokens of a choice: in the color of the number of layers that computed each, if the output
 * has colors; else this number and the token on a line of their own. */
void print_depths(const struct json_t *choice);
/* A text on one line, with its tokens (an array of objects with start, stop and depth) in these
 * colors; and token:depth of each, separated by spaces. */
void print_text_in_depths(const char *text, const struct json_t *tokens);
void print_depth_words(const char *text, const struct json_t *tokens);
/* Which color means how many layers, if the output has colors. */
void print_depth_legend(void);
/* An event of a stream unchanged, on one line. An error inside it becomes the failure. */
bool print_event(const char *json, size_t count, struct client_error *failure) SL_MUST_CHECK;

/* From /info: a model, and the daemon's limits for one request. */
struct print_info {
    char *model; /* name@version */
    bool classifies, embeds, translates;
    bool tags;        /* it classifies tokens */
    bool reranks;     /* a classifier of pairs that ranks texts by a query */
    bool multi_label; /* a classifier that gives a text several labels, or none */
    int64_t texts_max, bytes_max;
};

bool print_info(struct print_info *info, const struct sl_buffer *body, struct client_error *failure)
    SL_MUST_CHECK;
void print_info_release(struct print_info *info);

enum print_format {
    PRINT_TABLE,  /* aligned, with a line of headings */
    PRINT_ROWS,   /* separated by tabs, as in `sluice classify` */
    PRINT_OBJECTS /* JSON, one per line */
};

struct ranked_text {
    double score;
    int64_t number; /* in the order of arrival */
    char *text;
};

/* The output of classifications, embeddings or ranks, one response after another. */
struct class_printer {
    enum print_format format;
    double score_min;           /* only labels with this score or more; 0: all */
    int64_t texts, truncated;   /* so far */
    struct ranked_text *ranked; /* so far, of as many texts; print_ranks frees it */
};

/* Prints the most likely classes of the texts of one request (without a label, where the score of
 * all is too low, the highest score); with PRINT_TABLE and PRINT_OBJECTS
 * also their depth and whether they were truncated. */
bool print_classes(struct class_printer *printer, const struct sl_buffer *body,
                   const char *const *texts, int count, struct client_error *failure) SL_MUST_CHECK;

/* The same for the entities of token classifiers; a text without any has no row. */
bool print_entities(struct class_printer *printer, const struct sl_buffer *body,
                    const char *const *texts, int count, struct client_error *failure)
    SL_MUST_CHECK;

/* The translations of the texts of one request. */
bool print_translations(struct class_printer *printer, const struct sl_buffer *body,
                        const char *const *texts, int count, struct client_error *failure)
    SL_MUST_CHECK;

/* The same for embeddings: of each the first numbers, all separated by spaces, or an array. */
bool print_embeddings(struct class_printer *printer, const struct sl_buffer *body,
                      const char *const *texts, int count, struct client_error *failure)
    SL_MUST_CHECK;

/* The same for sparse embeddings, pairs of a token's id and its weight, and for the tokens that may
 * stand in place of the masks of one text. */
bool print_sparse(struct class_printer *printer, const struct sl_buffer *body,
                  const char *const *texts, int count, struct client_error *failure) SL_MUST_CHECK;
bool print_fills(struct class_printer *printer, const struct sl_buffer *body,
                 const char *const *texts, int count, struct client_error *failure) SL_MUST_CHECK;

/* Keeps the texts and their scores, until print_ranks prints them all, the highest score first. */
bool print_collect_ranks(struct class_printer *printer, const struct sl_buffer *body,
                         const char *const *texts, int count, struct client_error *failure)
    SL_MUST_CHECK;
void print_ranks(struct class_printer *printer);

/* The data of an output of that name in a response of the Open Inference Protocol; or NULL. */
const struct json_t *print_output(const struct json_t *response, const char *name);
/* A cell of a row, as sl_print_text does it; `end` follows. */
void print_cell(const char *text, char end);

/* The samples whose name begins with `prefix`, as JSON or unchanged. */
bool print_metrics(const struct sl_buffer *body, const char *prefix, bool json,
                   struct client_error *failure) SL_MUST_CHECK;

struct print_health {
    bool live, ready;
    char reason[SL_ERR_TEXT_MAX]; /* the daemon's message when it is not ready */
};

void print_health(const struct print_health *health, const char *url, bool json);

/* The results of a load test. */
void print_bench(const struct bench_plan *plan, const struct bench_result *result,
                 const char *model, bool json);

/* A table of load tests with open loops, a row per rate, and what follows from it. */
void print_load_head(const struct bench_plan *plan, const char *model);
void print_load_row(const struct bench_plan *plan, const struct bench_result *result);
bool print_load_curve(const struct load_curve *curve, struct client_error *failure) SL_MUST_CHECK;
