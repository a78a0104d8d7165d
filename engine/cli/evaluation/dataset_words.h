/* dataset_words.h - the facts of a data set in words: the terminal, the events of a training run,
 * which become those of a job, and reports all say these. */
#pragma once

#include "base/buffer.h"
#include "cli/evaluation/dataset_facts.h"

/* What the set holds, a line for each fact. context: the length that texts are truncated to. */
void dataset_words_describe(const struct dataset_facts *facts, int context, struct sl_buffer *out);
/* On standard output: its labels, and pairs of texts that contradict each other. */
void dataset_words_print_labels(const struct dataset_facts *facts);
void dataset_words_print_conflicts(const struct dataset_facts *facts);

/* What may be wrong. */
struct dataset_warning {
    const char *code;
    bool is_note;     /* nothing is wrong: what was assumed */
    char text[640];   /* what, and where */
    char advice[192]; /* what to do, in words of the command line; or "" */
    char setting[96]; /* the same for a job, which has settings instead of options */
};

enum { DATASET_WARNINGS_MAX = 10 + SL_NOTES_MAX };

struct dataset_warnings {
    int count;
    struct dataset_warning list[DATASET_WARNINGS_MAX];
};

void dataset_words_warn(const struct dataset_facts *facts, struct dataset_warnings *warnings);
/* Appends texts that repeat earlier ones, unless all of them are contradictions. Training does not
 * warn of them, but counts them. */
void dataset_warnings_repeats(struct dataset_warnings *warnings, const struct dataset_facts *facts);
/* On standard error. */
void dataset_warnings_print(const struct dataset_warnings *warnings, const char *command);
/* As "warnings" of a JSON object, in words of a job. */
void dataset_warnings_add(const struct dataset_warnings *warnings, struct json_t *object);

/* Appends what had to be assumed to read the file. */
void dataset_warnings_notes(struct dataset_warnings *warnings, const struct sl_notes *notes);
/* Records that are left out, and why the first. Appends nothing if there are none. */
void dataset_warnings_skipped(struct dataset_warnings *warnings, const char *of,
                              struct sl_skipped skipped);
