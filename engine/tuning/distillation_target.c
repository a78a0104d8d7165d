/* distillation_target.c - losses towards a teacher, and similarity to it. */
#include "tuning/distillation_target.h"

#include "infer/logits.h"
#include "ops/ops.h"

#include <math.h>

static const float *row_of(const struct sl_text_output *output, int row)
{
    return output->data + (size_t)row * output->stride;
}

/* ---- directions ------------------------------------------------------------------------------ */

static void add_cosine(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher)
{
    static const float weight = 4.0f;
    sl_cosine_loss(t, y, (struct sl_cosine_loss_args){.targets = teacher->data, .weight = weight});
}

static double cosine(const struct sl_kernels *kernels, const struct sl_text_output *own,
                     const struct sl_text_output *teacher, float *scratch)
{
    (void)kernels;
    (void)scratch;
    return sl_cosine(own->data, teacher->data, own->cols, 0.0);
}

/* ---- probabilities --------------------------------------------------------------------------- */

static void add_divergence(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher)
{
    sl_divergence_loss(t, y, teacher, 1.0f);
}

static double agreement(const struct sl_kernels *kernels, const struct sl_text_output *own,
                        const struct sl_text_output *teacher, float *scratch)
{
    int same = 0;
    (void)kernels;
    (void)scratch;
    for (int r = 0; r < own->rows; r++)
        same += sl_argmax(row_of(own, r), own->cols) == sl_argmax(row_of(teacher, r), own->cols);
    return (double)same / own->rows;
}

/* By how much less likely what the teacher would say is to the student: e to the power of minus the
 * mean divergence, which is the ratio of their perplexities on the teacher's own texts. */
static double likelihood(const struct sl_kernels *kernels, const struct sl_text_output *own,
                         const struct sl_text_output *teacher, float *scratch)
{
    double sum = 0.0;
    for (int r = 0; r < own->rows; r++)
        sum +=
            (double)sl_divergence(kernels, row_of(teacher, r), row_of(own, r), own->cols, scratch);
    return exp(-fmax(0.0, sum / own->rows));
}

/* ---- independent probabilities --------------------------------------------------------------- */

static void add_binary(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher)
{
    const size_t each = (size_t)y->cols;
    float *targets = sl_tape_struct(t, (size_t)y->rows * each, sizeof *targets);
    for (int r = 0; teacher->data && r < y->rows; r++)
        sl_sigmoids(sl_row(teacher, r), y->cols, targets + (size_t)r * each);
    sl_binary_cross_entropy(
        t, y, (struct sl_binary_cross_entropy_args){.targets = targets, .weight = 1.0f});
}

/* Few of many labels apply to a text, so the largest difference counts, not the mean. */
static double largest_difference(const struct sl_kernels *kernels, const struct sl_text_output *own,
                                 const struct sl_text_output *teacher, float *scratch)
{
    double largest = 0.0;
    (void)kernels;
    (void)scratch;
    for (int c = 0; c < own->cols; c++)
        largest = fmax(
            largest, fabs(sl_sigmoid((double)own->data[c]) - sl_sigmoid((double)teacher->data[c])));
    return 1.0 - largest;
}

/* ---- by task --------------------------------------------------------------------------------- */

static const struct sl_distillation_target
    direction = {.add_loss = add_cosine, .similarity = cosine},
    label = {.is_agreement = true, .add_loss = add_divergence, .similarity = agreement},
    labels = {.add_loss = add_binary, .similarity = largest_difference},
    token_labels = {.of_tokens = true,
                    .is_agreement = true,
                    .add_loss = add_divergence,
                    .similarity = agreement},
    next_tokens = {.of_tokens = true, .add_loss = add_divergence, .similarity = likelihood};

const struct sl_distillation_target *sl_distillation_target_of(const struct sl_config *config)
{
    switch (config->task) {
    case SL_TASK_PRETRAINING: return &direction;
    case SL_TASK_CLASSIFICATION:
        return config->multi_label || config->classes == 1 ? &labels : &label;
    case SL_TASK_TOKEN_CLASSIFICATION: return &token_labels;
    case SL_TASK_COMPLETION: return &next_tokens;
    case SL_TASK_TRANSLATION:
    case SL_TASKS: break;
    }
    return NULL;
}
