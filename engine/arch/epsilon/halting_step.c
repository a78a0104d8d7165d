/* halting_step.c - one step of adaptive halting, and its loss. Epsilon, sections 3.4 and 4.2, after
 * Graves 2016. In step t, for every row i that has not halted:
 *
 *     p_i = min(sigmoid(score_i), r_i);   r_i -= p_i;   it halts when it takes all that is left
 *     output += p h of a sequence's first row, or of every row; after the last step also r h
 *     loss += kl_weight sum_i P_i log(P_i / Q),  P = (p of every step, r at the end), Q geometric
 *
 * The paper calls p the halting probability, r is the remainder. If the remainder would be 1e-6 or
 * less, it is added to p; when serving with a halting threshold, if it would be 1 - threshold or
 * less (Graves' epsilon). So the remainder is the weight of the state in which a row halts, or of
 * the last state if it never halts. (The paper's sum ignores the remainder. Its authors' code adds
 * it to the last state that the batch computes, which makes a result depend on the other texts in
 * the batch.) */
#include "arch/epsilon/epsilon.h"
#include "base/int_math.h"

#include <math.h>
#include <string.h>

enum { OUTPUT, STATES, SCORES };

enum { ROWS = 256 };

static const float remainder_min = 1e-6f, probability_min = 1e-9f;

struct halting_step {
    struct sl_halting_step_args args;
    float *probabilities; /* per score: p, kept while training */
};

struct halting_step_ctx {
    const struct sl_node *n;
    double *kl_sums; /* per piece */
};

/* The row of output that this row contributes to, or -1. */
static int output_of(const struct sl_node *n, int row)
{
    const struct halting_step *a = n->args;
    int s = n->view->row_sequence[row];
    if (a->args.every_row)
        return row;
    return n->view->batch->sequences[s].first == row ? s : -1;
}

static bool is_last(const struct halting_step *a)
{
    return a->args.step == a->args.halting->max_steps;
}

/* P log(P / q). */
static double divergence(double p, double log_q)
{
    return p * (log(fmax(p, (double)probability_min)) - log_q);
}

/* Its derivative by P. */
static float divergence_derivative(float p, float log_q)
{
    return logf(fmaxf(p, probability_min)) + (p >= probability_min ? 1.0f : 0.0f) - log_q;
}

/* -- forward ------------------------------------------------------------------------------ */

/* A remainder that a row does not leave for later steps. */
static float remainder_min_of(const struct sl_tape *t, int row)
{
    if (t->training)
        return remainder_min;
    const struct sl_epsilon_policy *policy = sl_policy_own(sl_row_policy(t, row));
    float threshold = policy->halting_threshold;
    return threshold > 0.0f ? fmaxf(1.0f - threshold, remainder_min) : remainder_min;
}

/* The halting probability of a row in this step. */
static float halting_probability(const struct sl_node *n, int row, float score)
{
    const struct halting_step *a = n->args;
    struct sl_halting_state *halting = a->args.halting;
    if (halting->steps[row] != 0 || halting->padding[row])
        return 0.0f;
    float p = 1.0f / (1.0f + expf(-score)), remainder = halting->remainder[row];
    if (p >= remainder - remainder_min_of(n->tape, row)) {
        halting->steps[row] = a->args.step;
        p = remainder;
    }
    halting->remainder[row] = remainder - p;
    return p;
}

/* The index of its state: that of its output, or i when only some rows are present. */
static void add_to_output(const struct sl_node *n, int row, int i, float p)
{
    const struct halting_step *a = n->args;
    const struct sl_kernels *k = n->tape->kernels;
    int s = output_of(n, row), cols = n->out->cols;
    if (s < 0)
        return;
    float *y = sl_row(n->out, s);
    const float *h = sl_row(n->in[STATES], a->args.rows ? i : s);
    if (n->out != n->in[OUTPUT])
        memcpy(y, sl_row(n->in[OUTPUT], s), (size_t)cols * sizeof *y);
    k->axpy(y, p, h, cols);
    if (is_last(a) && a->args.halting->steps[row] == 0)
        k->axpy(y, a->args.halting->remainder[row], h, cols);
}

static void halting_step_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct halting_step_ctx *pass = ctx;
    const struct sl_node *n = pass->n;
    const struct halting_step *a = n->args;
    const struct sl_halting_state *halting = a->args.halting;
    double kl = 0.0;
    (void)worker;
    for (int i = first; i < last; i++) {
        int row = sl_rows_at(a->args.rows, i);
        bool adds_loss =
            a->args.kl_weight > 0.0f && halting->steps[row] == 0 && !halting->padding[row];
        float p = halting_probability(n, row, *sl_row(n->in[SCORES], i));
        if (a->probabilities)
            a->probabilities[i] = p;
        add_to_output(n, row, i, p);
        if (adds_loss)
            kl += divergence((double)p, (double)a->args.log_prior);
        if (adds_loss && is_last(a) && halting->steps[row] == 0)
            kl += divergence((double)halting->remainder[row], (double)a->args.log_prior_remainder);
    }
    pass->kl_sums[first / ROWS] = kl;
}

static int pieces_of(const struct sl_node *n)
{
    return sl_ceil_div(n->in[SCORES]->rows, ROWS);
}

static size_t halting_step_scratch(const struct sl_node *n, bool backward)
{
    return backward ? 0 : (size_t)pieces_of(n) * sizeof(double);
}

static void halting_step_forward(const struct sl_node *n)
{
    const struct halting_step *a = n->args;
    struct halting_step_ctx pass = {.n = n,
                                    .kl_sums = sl_tape_scratch(n, halting_step_scratch(n, false))};
    sl_parallel_for(n->tape->pool, n->in[SCORES]->rows, ROWS, halting_step_forward_rows, &pass);
    double kl = 0.0;
    for (int i = 0; i < pieces_of(n); i++)
        kl += pass.kl_sums[i];
    n->tape->stats.aux_loss += kl * (double)a->args.kl_weight;
}

/* -- backward ----------------------------------------------------------------------------- */

/* With dy the gradient of a row's output (0 if it has none) and k the derivative of the divergence,
 * the gradient of p_t is e_t = dy . h_t + kl_weight k(p_t). What a step takes is missing from the
 * remainder, so the gradient of the remainder is subtracted: that of the step in which the row
 * halts, or of the final remainder. Backward computes it first, into halting->remainder_grad. So
 *     dscore_t = p_t (1 - p_t) (e_t - remainder_grad)    before the row halts, 0 from then on. */
static float backward_score(const struct sl_node *n, int row, float p, float dy_dot_h)
{
    const struct halting_step *a = n->args;
    struct sl_halting_state *halting = a->args.halting;
    int halted = halting->steps[row];
    if (halting->padding[row] || (halted != 0 && halted < a->args.step))
        return 0.0f;
    float kl_weight = a->args.kl_weight;
    float step_grad =
        dy_dot_h +
        (kl_weight > 0.0f ? kl_weight * divergence_derivative(p, a->args.log_prior) : 0.0f);
    if (halted == a->args.step) {
        halting->remainder_grad[row] = step_grad;
        return 0.0f;
    }
    if (halted == 0 && is_last(a)) {
        float rest = halting->remainder[row];
        halting->remainder_grad[row] =
            dy_dot_h + (kl_weight > 0.0f
                            ? kl_weight * divergence_derivative(rest, a->args.log_prior_remainder)
                            : 0.0f);
    }
    return p * (1.0f - p) * (step_grad - halting->remainder_grad[row]);
}

/* dh += p dy, after the last step (p + r) dy. */
static void backward_state(const struct sl_node *n, int row, float p, int s)
{
    const struct halting_step *a = n->args;
    const struct sl_halting_state *halting = a->args.halting;
    const float *dy = sl_grad_row(n->out, s);
    float *dh = sl_grad_row(n->in[STATES], s);
    float weight = is_last(a) && halting->steps[row] == 0 ? p + halting->remainder[row] : p;
    if (n->overwrite[STATES])
        n->tape->kernels->scale(dh, weight, dy, n->out->cols);
    else
        n->tape->kernels->axpy(dh, weight, dy, n->out->cols);
    if (n->in[OUTPUT]->grad != n->out->grad)
        n->tape->kernels->axpy(sl_grad_row(n->in[OUTPUT], s), 1.0f, dy, n->out->cols);
}

static void backward_row(const struct sl_node *n, int i)
{
    const struct halting_step *a = n->args;
    int s = output_of(n, i);
    float p = a->probabilities[i], dy_dot_h = 0.0f;
    if (s >= 0)
        dy_dot_h =
            n->tape->kernels->dot(sl_grad_row(n->out, s), sl_row(n->in[STATES], s), n->out->cols);
    float *dscore = sl_grad_row(n->in[SCORES], i);
    *dscore = backward_score(n, i, p, dy_dot_h) + (n->overwrite[SCORES] ? 0.0f : *dscore);
    if (s >= 0)
        backward_state(n, i, p, s);
}

static void halting_step_backward(const struct sl_node *n)
{
    sl_node_rows(n, n->in[SCORES]->rows, backward_row);
}

static const struct sl_op halting_step = {.name = "halting_step",
                                          .scratch = halting_step_scratch,
                                          .forward = halting_step_forward,
                                          .backward = halting_step_backward,
                                          .passes = 1 + OUTPUT,
                                          .grain = ROWS};

struct sl_tensor *sl_halting_step(struct sl_tape *t, struct sl_tensor *output,
                                  struct sl_tensor *states, struct sl_tensor *scores,
                                  struct sl_halting_step_args args)
{
    assert(scores->cols == 1);
    assert(scores->rows == (args.rows ? args.rows->count : t->view->batch->rows));
    assert(output->rows == (args.every_row ? t->view->batch->rows : t->view->batch->count));
    assert(states->rows == (args.rows ? args.rows->count : output->rows));
    assert(!args.rows || !t->training);
    struct halting_step *a = sl_tape_struct(t, 1, sizeof *a);
    a->args = args;
    if (t->training)
        a->probabilities = sl_tape_take(t, (size_t)scores->rows, sizeof *a->probabilities);
    struct sl_tensor *out = t->training ? sl_tensor_take(t, output->rows, output->cols) : output;
    return sl_tape_run(
        t, (struct sl_node){
               .op = &halting_step, .out = out, .in = {output, states, scores}, .args = a});
}
