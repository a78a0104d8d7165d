/* trainer_log_line.h - the JSON lines that `sluice train` and `sluice eval` write. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sv_trainer_event {
    SV_TRAINER_STARTED,
    SV_TRAINER_STEP,
    SV_TRAINER_EVALUATED,
    SV_TRAINER_SAVED,
    SV_TRAINER_PUBLISHED,
    SV_TRAINER_ENDED,  /* before its last step, or without a model */
    SV_TRAINER_FAILED, /* see trainer_failure.h */
    SV_TRAINER_EVENTS
};

enum { SV_TRAINER_REASON_MAX = 512, SV_TRAINER_RECIPE_MAX = 128, SV_TRAINER_REMARKS_MAX = 12 };

/* Numbers that a line does not have are -1, or NAN. */
struct sv_trainer_log_line {
    enum sv_trainer_event event;
    int64_t step, steps;
    int64_t time;           /* seconds since 1970 */
    int64_t trained_tokens; /* in all steps so far */
    double train_loss, train_accuracy, validation_loss, validation_accuracy;
    double tokens_per_second, seconds_left;
    char recipe[SV_TRAINER_RECIPE_MAX]; /* that a step tried, or "" */
    int remark_count;                   /* on the data */

    struct sv_trainer_remark {
        bool is_warning; /* something may be wrong; else what was assumed */
        char text[SV_TRAINER_REASON_MAX];
    } remarks[SV_TRAINER_REMARKS_MAX];
};

/* False: the text is not such a line. */
bool sv_trainer_log_line_read(const char *text, size_t bytes, struct sv_trainer_log_line *line);

/* What `sluice eval --json` writes. False: the text is not that. accuracy: NAN for a text. */
bool sv_evaluation_read(const char *text, size_t bytes, double *loss, double *accuracy);
