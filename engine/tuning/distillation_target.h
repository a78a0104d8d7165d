/* distillation_target.h - what a student learns of its teacher's output, by their task: the loss of
 * a micro-batch, and how similar both outputs for a text are.
 *
 *     an encoder            the directions of embeddings
 *     a classifier          probabilities (Hinton et al. 2015, section 2, with temperature 1), or
 *                           those of each label, if they are independent or there is only one
 *     a token classifier    the probabilities of each token
 *     a text generator      those of each next token */
#pragma once

#include "arch/arch.h"

/* What a model gives for one text. */
struct sl_text_output {
    const float *data;
    size_t stride;
    int rows, cols;
};

struct sl_distillation_target {
    bool of_tokens;    /* a row for each token, else for each text */
    bool is_agreement; /* the similarity is the fraction of labels that are the same */
    /* Adds the loss; teacher: fp32, of y's shape; without data in a dry run. */
    void (*add_loss)(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher);
    /* Of one text: at most 1, if both are the same. scratch: 2 cols floats. */
    double (*similarity)(const struct sl_kernels *kernels, const struct sl_text_output *own,
                         const struct sl_text_output *teacher, float *scratch);
};

/* NULL: of a model that translates. */
const struct sl_distillation_target *sl_distillation_target_of(const struct sl_config *config);
