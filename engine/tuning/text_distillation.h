/* text_distillation.h - a student learns what a teacher gives for texts without labels
 * (distillation_target.h).
 *
 *     sl_text_distillation_open(&d, &options, student, &err)
 *     sl_text_distillation_step(&d, &err)                     options.steps times
 *     sl_text_distillation_compare(&d, model, &likeness, &err)  on texts that were held out
 *     sl_text_distillation_close(&d)
 *
 * Dropout should be 0, as the teacher has none. */
#pragma once

#include "infer/classifier.h"
#include "train/teacher.h"
#include "tuning/distillation_target.h"
#include "tuning/text_tuner.h"

struct sl_text_distillation_options {
    struct sl_engine *engine;
    const char *teacher; /* the directory of a checkpoint that reads whole texts */
    /* The texts in the teacher's tokens, which are the student's if each token has an output. Read
     * by open alone. */
    const struct sl_dataset *asked;
    const struct sl_dataset *set; /* the same in the student's; borrowed */
    int steps, batch_size;
    float learning_rate, router_learning_rate; /* the second: of a student with routers */
};

struct sl_text_distillation {
    struct sl_text_distillation_options options;
    struct sl_text_tuner tuner;
    struct sl_hyperparameters h;
    char teacher_sha256[65];
    const struct sl_distillation_target *target;
    /* What the teacher gives for each text, `outputs` floats, and that of a micro-batch. */
    float *targets, *batch;
    float *scratch;            /* of a comparison */
    int outputs;               /* of a text, or of each token */
    struct sl_teacher teacher; /* runs in each step, if each token has an output */
    int trained;               /* texts from the beginning of the set; the others are held out */
    int step;
    int32_t *rows;
};

/* Runs the teacher over all texts. student: with gradients; taken over, also on failure. */
bool sl_text_distillation_open(struct sl_text_distillation *d,
                               const struct sl_text_distillation_options *options,
                               struct sl_model *student, struct sl_err *err) SL_MUST_CHECK;
void sl_text_distillation_close(struct sl_text_distillation *d); /* a zeroed one is fine */

/* The next step. d->tuner has what it measured. */
bool sl_text_distillation_step(struct sl_text_distillation *d, struct sl_err *err) SL_MUST_CHECK;

/* Whose numbers are those after so many steps: goes on from there. */
void sl_text_distillation_go_on(struct sl_text_distillation *d, int step);

/* How near a model is to the teacher. */
struct sl_likeness {
    double skipped;    /* fraction of the token-layer operations */
    double similarity; /* the mean of the texts (distillation_target.h) */
    double lowest;     /* what 5 % of the texts are below */
    double seconds;    /* of the model, not of the teacher */
};

/* Of a model that has the student's parameters, on the texts that were held out, one at a time. */
bool sl_text_distillation_compare(struct sl_text_distillation *d, const struct sl_model *model,
                                  struct sl_likeness *likeness, struct sl_err *err) SL_MUST_CHECK;
