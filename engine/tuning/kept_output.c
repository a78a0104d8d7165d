/* kept_output.c - losses towards a teacher, and likeness to it. */
#include "tuning/kept_output.h"

#include "infer/logits.h"
#include "ops/ops.h"

#include <math.h>

static const float *row(const struct sl_text_output *output, int r)
{
    return output->data + (size_t)r * output->stride;
}

/* ---- directions ------------------------------------------------------------------------------ */

static void add_cosine(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher)
{
    static const float weight = 4.0f;
    sl_cosine_loss(t, y, (struct sl_cosine_loss_args){.targets = teacher->data, .weight = weight});
}

static double cosine(const struct sl_text_output *own, const struct sl_text_output *teacher,
                     const int32_t *tokens)
{
    (void)tokens;
    return sl_cosine(own->data, teacher->data, own->cols, 0.0);
}

/* ---- probabilities --------------------------------------------------------------------------- */

static void add_divergence(struct sl_tape *t, struct sl_tensor *y, struct sl_tensor *teacher)
{
    struct sl_distillation *learnt = sl_tape_struct(t, 1, sizeof *learnt);
    *learnt = (struct sl_distillation){teacher, 1.0f};
    int32_t *unused = sl_tape_struct(t, (size_t)y->rows, sizeof *unused);
    sl_distillation_loss(t, y, learnt,
                         (struct sl_cross_entropy_args){.targets = unused, .weight = 1.0f});
}

/* The part of the rows whose label stays. */
static double same_labels(const struct sl_text_output *own, const struct sl_text_output *teacher,
                          const int32_t *tokens)
{
    int same = 0;
    (void)tokens;
    for (int r = 0; r < own->rows; r++)
        same += sl_argmax(row(own, r), own->cols) == sl_argmax(row(teacher, r), own->cols);
    return (double)same / own->rows;
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

/* 1 minus the mean difference of the probabilities. */
static double same_scores(const struct sl_text_output *own, const struct sl_text_output *teacher,
                          const int32_t *tokens)
{
    double sum = 0.0;
    (void)tokens;
    for (int c = 0; c < own->cols; c++)
        sum += fabs(sl_sigmoid((double)own->data[c]) - sl_sigmoid((double)teacher->data[c]));
    return 1.0 - sum / own->cols;
}

/* ---- next tokens ----------------------------------------------------------------------------- */

/* The mean over the tokens but the first. */
static double mean_loss(const struct sl_text_output *y, const int32_t *tokens)
{
    double sum = 0.0;
    for (int r = 0; r + 1 < y->rows; r++) {
        const float *logits = row(y, r);
        sum += sl_log_sum_exp(logits, y->cols) - (double)logits[tokens[r + 1]];
    }
    return y->rows > 1 ? sum / (y->rows - 1) : 0.0;
}

/* The teacher's perplexity divided by the student's. */
static double perplexity_ratio(const struct sl_text_output *own,
                               const struct sl_text_output *teacher, const int32_t *tokens)
{
    return exp(mean_loss(teacher, tokens) - mean_loss(own, tokens));
}

/* ---- by task --------------------------------------------------------------------------------- */

static const struct sl_kept_output directions = {.add_loss = add_cosine, .likeness = cosine},
                                   probabilities = {.add_loss = add_divergence,
                                                    .counts_labels = true,
                                                    .likeness = same_labels},
                                   scores = {.add_loss = add_binary, .likeness = same_scores},
                                   token_labels = {.of_tokens = true,
                                                   .add_loss = add_divergence,
                                                   .counts_labels = true,
                                                   .likeness = same_labels},
                                   next_tokens = {.of_tokens = true,
                                                  .add_loss = add_divergence,
                                                  .likeness = perplexity_ratio};

const struct sl_kept_output *sl_kept_output_of(const struct sl_config *config)
{
    switch (config->task) {
    case SL_TASK_PRETRAINING: return &directions;
    case SL_TASK_CLASSIFICATION:
        return config->multi_label || config->classes == 1 ? &scores : &probabilities;
    case SL_TASK_TOKEN_CLASSIFICATION: return &token_labels;
    case SL_TASK_COMPLETION: return &next_tokens;
    case SL_TASK_TRANSLATION:
    case SL_TASKS: break;
    }
    return NULL;
}
