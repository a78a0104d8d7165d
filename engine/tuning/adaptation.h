/* adaptation.h - gives a transformer routers, and teaches it to skip what it does not need: it
 * learns from itself, on texts without labels. TSA, sections 2.2 to 2.5, with hard gates and the
 * straight-through estimator; knowledge distillation (Hinton et al. 2015).
 *
 * What it learns depends on its task (distillation_target.h). Training closes the gates that
 * serving closes. */
#pragma once

#include "tuning/text_distillation.h"

struct sl_adaptation_options {
    struct sl_engine *engine;
    const char *model;            /* the directory of a `transformer` */
    const struct sl_dataset *set; /* unlabelled, encoded with its tokenizer; borrowed */
    int steps, batch_size;
    float learning_rate, router_learning_rate;
    float compute_weight; /* of the mean gate in the loss; it rises over 30 % of the steps */
    float gate_binarization_weight; /* of gates near one half; likewise */
};

struct sl_adaptation {
    struct sl_adaptation_options options;
    struct sl_text_distillation d;
};

/* Runs the teacher over all texts. */
bool sl_adaptation_open(struct sl_adaptation *a, const struct sl_adaptation_options *options,
                        struct sl_err *err) SL_MUST_CHECK;
void sl_adaptation_close(struct sl_adaptation *a); /* a zeroed one is fine */

/* At a limit. Steps are those of a->d. */
bool sl_adaptation_measure(struct sl_adaptation *a, float gate_limit, struct sl_likeness *likeness,
                           struct sl_err *err) SL_MUST_CHECK;

/* What is said of the model in its config.json. */
struct sl_adaptation_notes {
    const char *training; /* a JSON object */
    const struct sl_operating_point *points;
    int count;
};

/* Writes the model as a checkpoint. */
bool sl_adaptation_publish(const struct sl_adaptation *a, const char *directory,
                           const struct sl_adaptation_notes *notes, struct sl_err *err)
    SL_MUST_CHECK;
