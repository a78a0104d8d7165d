/* teacher.h - distillation: a finished model predicts each training batch, and the model that is
 * trained learns from its probabilities, too (Hinton et al. 2015). */
#pragma once

#include "model/model.h"

struct sl_teacher {
    struct sl_model *model; /* owned; NULL: there is no teacher */
    struct sl_policy policy;
    struct sl_tape tape;
    struct sl_distillation distillation; /* of the present batch */
};

/* What a teacher must suit. */
struct sl_student {
    const struct sl_model *model;
    const struct sl_tokenizer *tokens;
    char *const *labels;
    struct sl_batch largest; /* the batch that takes the most memory */
};

/* Opens a teacher that answers as it was trained, skipping nothing. It must have the student's
 * task, labels and vocabulary, and take texts as long as the student's. */
bool sl_teacher_open(struct sl_teacher *teacher, const char *directory,
                     const struct sl_student *student, struct sl_err *err) SL_MUST_CHECK;
void sl_teacher_close(struct sl_teacher *teacher); /* a zeroed one is fine */

/* Adds the teacher's predictions to a batch; valid until the next call. Without a teacher, does
 * nothing. */
void sl_teacher_predict(struct sl_teacher *teacher, struct sl_batch *batch);
