/* kept_output.h - what a student keeps of its teacher's output: the loss of a micro-batch, and how
 * alike both outputs for a text are.
 *
 *     an encoder            the directions of embeddings
 *     a classifier          probabilities (Hinton et al. 2015, section 2, with temperature 1), or
 *                           those of each label, if they are independent or there is only one
 *     a token classifier    the same of each token
 *     a text generator      the probabilities of each next token */
#pragma once

#include "arch/arch.h"

/* What a model gives for one text. */
struct sl_text_output {
    const float *data;
    size_t stride;
    int rows, cols;
};

struct sl_kept_output {
    bool of_tokens;     /* a row for each token, else for each text */
    bool counts_labels; /* the likeness is the part of the labels that stay */
    /* Adds the loss; teacher: fp32, of y's shape; without data in a dry run. */
    void (*add_loss)(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher);
    /* 1: the same. tokens: of the text. */
    double (*likeness)(const struct sl_text_output *own, const struct sl_text_output *teacher,
                       const int32_t *tokens);
};

/* NULL: of a model that translates. */
const struct sl_kept_output *sl_kept_output_of(const struct sl_config *config);
