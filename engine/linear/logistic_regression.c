/* logistic_regression.c - L-BFGS on the coefficients of the texts.
 *
 * With K = C_s S S^T + C_d D D^T + C_b, the logits of the texts are Z = K A, the objective is
 *     F(A) = sum_i -log softmax(Z_i)_label + <A, Z> / 2,   its gradient in the metric of K is
 *     G = softmax(Z) - onehot(labels) + A
 * (with other losses, the loss of F, and Z - targets or sigmoid(Z) - targets in G)
 * and inner products are <U, V>_K = <U, K V>. Each vector is kept with its product by K, so an
 * iteration takes one product, and a line search none. */
#include "linear/logistic_regression.h"

#include "infer/logits.h"
#include "linear/sparse_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY = 6, ITERATIONS_MAX = 300, LINE_STEPS = 8, PATIENCE = 3, REFRESH = 12 };

/* Pairs of L-BFGS, and room for one that is perhaps not kept. */
enum { SLOTS = HISTORY + 1 };

/* A vector of the solver, count x classes, and its product by K. */
struct vector {
    float *a, *z;
};

struct solver {
    const struct sl_logistic_problem *p;
    struct sl_logistic_weights *w; /* dense and bias: scratch of the product */
    struct sl_sparse_columns columns;
    size_t size; /* count x classes */
    struct vector x, gradient, direction, change[SLOTS], slope[SLOTS];
    double curvature[SLOTS];
    int pairs; /* number of pairs kept; the last HISTORY of them count */
    float *memory;
};

/* ---- weights --------------------------------------------------------------------------------- */

bool sl_logistic_weights_open(struct sl_logistic_weights *w, const struct sl_logistic_problem *p,
                              struct sl_err *err)
{
    size_t classes = (size_t)p->classes;
    w->sparse = calloc((size_t)p->x->sparse_cols * classes + 1, sizeof *w->sparse);
    w->dense = calloc((size_t)p->x->dense_cols * classes + 1, sizeof *w->dense);
    w->bias = calloc(classes, sizeof *w->bias);
    if (w->sparse && w->dense && w->bias)
        return true;
    sl_logistic_weights_close(w);
    return sl_fail(err, SL_NO_MEMORY, "no memory for the weights of %d n-grams and %d classes",
                   p->x->sparse_cols, p->classes);
}

void sl_logistic_weights_close(struct sl_logistic_weights *w)
{
    free(w->sparse);
    free(w->dense);
    free(w->bias);
    *w = (struct sl_logistic_weights){0};
}

/* As strong as the larger of the two others. */
static float bias_c(const struct sl_logistic_problem *p)
{
    return fmaxf(p->sparse_c, p->dense_c);
}

/* Adds coefficients times the dense features of a text. */
static void add_dense(const struct sl_logistic_problem *p, struct sl_logistic_weights *w, int text,
                      const float *a)
{
    const struct sl_text_matrix *x = p->x;
    const float *dense = x->dense + (size_t)text * (size_t)x->dense_cols;
    for (int c = 0; p->dense_c > 0.0f && c < p->classes; c++)
        p->kernels->axpy(w->dense + (size_t)c * (size_t)x->dense_cols, p->dense_c * a[c], dense,
                         x->dense_cols);
    for (int c = 0; c < p->classes; c++)
        w->bias[c] += bias_c(p) * a[c];
}

/* The dense weights and the bias that coefficients stand for. */
static void dense_weights_of(const struct sl_logistic_problem *p, const float *a,
                             struct sl_logistic_weights *w)
{
    const size_t classes = (size_t)p->classes;
    memset(w->dense, 0, (size_t)p->x->dense_cols * classes * sizeof *w->dense);
    memset(w->bias, 0, classes * sizeof *w->bias);
    for (int i = 0; i < p->count; i++)
        add_dense(p, w, p->rows[i], a + (size_t)i * classes);
}

static void sparse_weights_of(const struct sl_logistic_problem *p, const float *a,
                              struct sl_logistic_weights *w)
{
    const struct sl_text_matrix *x = p->x;
    const size_t classes = (size_t)p->classes, size = (size_t)x->sparse_cols * classes;
    memset(w->sparse, 0, size * sizeof *w->sparse);
    for (int r = 0; p->sparse_c > 0.0f && r < p->count; r++)
        for (int64_t i = x->first[p->rows[r]]; i < x->first[p->rows[r] + 1]; i++) {
            float *row = w->sparse + (size_t)x->index[i] * classes;
            const float value = p->sparse_c * x->value[i];
            for (size_t c = 0; c < classes; c++)
                row[c] += value * a[(size_t)r * classes + c];
        }
    for (size_t i = 0; p->sparse_factors && i < size; i++)
        w->sparse[i] *= p->sparse_factors[i];
}

static void add_dense_logits(const struct sl_logistic_problem *p,
                             const struct sl_logistic_weights *w, int text, float *logits)
{
    const struct sl_text_matrix *x = p->x;
    const float *dense = x->dense + (size_t)text * (size_t)x->dense_cols;
    for (int c = 0; c < p->classes; c++)
        logits[c] += w->bias[c];
    for (int c = 0; p->dense_c > 0.0f && c < p->classes; c++)
        logits[c] +=
            p->kernels->dot(w->dense + (size_t)c * (size_t)x->dense_cols, dense, x->dense_cols);
}

void sl_logistic_logits(const struct sl_logistic_problem *p, const struct sl_logistic_weights *w,
                        int text, float *logits)
{
    const struct sl_text_matrix *x = p->x;
    const int classes = p->classes;
    memset(logits, 0, (size_t)classes * sizeof *logits);
    for (int64_t i = x->first[text]; p->sparse_c > 0.0f && i < x->first[text + 1]; i++) {
        const float *row = w->sparse + (size_t)x->index[i] * (size_t)classes;
        for (int c = 0; c < classes; c++)
            logits[c] += x->value[i] * row[c];
    }
    add_dense_logits(p, w, text, logits);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static double inner(const float *x, const float *y, size_t size)
{
    double sum = 0.0;
    for (size_t i = 0; i < size; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static void add_scaled(struct vector *y, double by, const struct vector *x, size_t size)
{
    const float scale = (float)by;
    for (size_t i = 0; i < size; i++) {
        y->a[i] += scale * x->a[i];
        y->z[i] += scale * x->z[i];
    }
}

static void multiply(struct solver *s, struct vector *v)
{
    const struct sl_logistic_problem *p = s->p;
    dense_weights_of(p, v->a, s->w);
    sl_sparse_columns_multiply(&s->columns, p, v->a, v->z);
    for (int i = 0; i < p->count; i++)
        add_dense_logits(p, s->w, p->rows[i], v->z + (size_t)i * (size_t)p->classes);
}

static bool solver_open(struct solver *s, const struct sl_logistic_problem *p,
                        struct sl_logistic_weights *w, struct sl_err *err)
{
    *s = (struct solver){.p = p, .w = w, .size = (size_t)p->count * (size_t)p->classes};
    struct vector *all[3 + 2 * SLOTS] = {&s->x, &s->gradient, &s->direction};
    const int count = 3 + 2 * SLOTS;
    for (int i = 0; i < SLOTS; i++) {
        all[3 + i] = &s->change[i];
        all[3 + SLOTS + i] = &s->slope[i];
    }
    const size_t size = s->size;
    s->memory = calloc(2 * (size_t)count * size, sizeof *s->memory);
    if (!s->memory)
        return sl_fail(err, SL_NO_MEMORY, "no memory to fit %d texts of %d classes", p->count,
                       p->classes);
    for (int i = 0; i < count; i++)
        *all[i] = (struct vector){s->memory + 2 * (size_t)i * size,
                                  s->memory + (2 * (size_t)i + 1) * size};
    if (sl_sparse_columns_open(&s->columns, p, err))
        return true;
    free(s->memory);
    return false;
}

/* ---- the objective --------------------------------------------------------------------------- */

/* The loss of a text at z + step d. Adds to curve[0] its first and to curve[1] its second
 * derivative by the step. */
typedef double text_loss(const float *z, const float *d, double step, struct sl_label_list labels,
                         int classes, double curve[2]);

static double logistic_loss(const float *z, const float *d, double step,
                            struct sl_label_list labels, int classes, double curve[2])
{
    double top = -HUGE_VAL, total = 0.0, mean = 0.0, square = 0.0;
    const int label = labels.ids[0];
    for (int c = 0; c < classes; c++) {
        const double score = (double)z[c] + step * (double)d[c];
        top = score > top ? score : top; /* not fmax: gcc 12 for ARM cannot compile its loop */
    }
    for (int c = 0; c < classes; c++) {
        double e = exp((double)z[c] + step * (double)d[c] - top);
        total += e;
        mean += e * (double)d[c];
        square += e * (double)d[c] * (double)d[c];
    }
    mean /= total;
    curve[0] += mean - (double)d[label];
    curve[1] += square / total - mean * mean;
    // cppcheck-suppress invalidFunctionArg ; there are at least two classes
    return top + log(total) - (double)z[label] - step * (double)d[label];
}

static double squared_loss(const float *z, const float *d, double step, struct sl_label_list labels,
                           int classes, double curve[2])
{
    double squares = 0.0;
    for (int c = 0, at = 0; c < classes; c++) {
        const double target = sl_label_list_next(labels, &at, c) ? 1.0 : -1.0;
        double difference = (double)z[c] + step * (double)d[c] - target;
        squares += difference * difference;
        curve[0] += difference * (double)d[c];
        curve[1] += (double)d[c] * (double)d[c];
    }
    return 0.5 * squares;
}

static double binary_loss(const float *z, const float *d, double step, struct sl_label_list labels,
                          int classes, double curve[2])
{
    double loss = 0.0;
    for (int c = 0, at = 0; c < classes; c++) {
        const double score = (double)z[c] + step * (double)d[c], p = sl_sigmoid(score);
        const bool has = sl_label_list_next(labels, &at, c);
        loss += sl_softplus(has ? -score : score);
        curve[0] += (p - (has ? 1.0 : 0.0)) * (double)d[c];
        curve[1] += p * (1.0 - p) * (double)d[c] * (double)d[c];
    }
    return loss;
}

/* F at x + step direction, and its two derivatives by the step. */
static double objective(const struct solver *s, double step, double curve[2])
{
    const struct sl_logistic_problem *p = s->p;
    static text_loss *const losses[] = {[SL_LOSS_LOGISTIC] = logistic_loss,
                                        [SL_LOSS_SQUARED] = squared_loss,
                                        [SL_LOSS_BINARY] = binary_loss};
    double loss = 0.0, xx = inner(s->x.a, s->x.z, s->size),
           xd = inner(s->x.a, s->direction.z, s->size),
           dd = inner(s->direction.a, s->direction.z, s->size);
    curve[0] = curve[1] = 0.0;
    for (int i = 0; i < p->count; i++) {
        size_t at = (size_t)i * (size_t)p->classes;
        loss += losses[p->loss](s->x.z + at, s->direction.z + at, step,
                                sl_label_list(p->labels, p->rows[i]), p->classes, curve);
    }
    curve[0] += xd + step * dd;
    curve[1] += dd;
    return loss + 0.5 * (xx + 2.0 * step * xd + step * step * dd);
}

/* The gradient of the loss by the logits, z before. */
static void loss_gradient(const struct sl_logistic_problem *p, struct sl_label_list labels,
                          float *z)
{
    if (p->loss == SL_LOSS_LOGISTIC) {
        p->kernels->softmax(z, p->classes, NULL);
        z[labels.ids[0]] -= 1.0f;
        return;
    }
    for (int c = 0, at = 0; c < p->classes; c++) {
        const bool has = sl_label_list_next(labels, &at, c);
        if (p->loss == SL_LOSS_SQUARED)
            z[c] -= has ? 1.0f : -1.0f;
        else
            z[c] = (float)(sl_sigmoid((double)z[c]) - (has ? 1.0 : 0.0));
    }
}

static void set_gradient(struct solver *s)
{
    const struct sl_logistic_problem *p = s->p;
    const int classes = p->classes;
    for (int i = 0; i < p->count; i++) {
        const float *z = s->x.z + (size_t)i * (size_t)classes;
        float *g = s->gradient.a + (size_t)i * (size_t)classes;
        memcpy(g, z, (size_t)classes * sizeof *g);
        loss_gradient(p, sl_label_list(p->labels, p->rows[i]), g);
        p->kernels->axpy(g, 1.0f, s->x.a + (size_t)i * (size_t)classes, classes);
    }
    multiply(s, &s->gradient);
}

/* ---- L-BFGS ---------------------------------------------------------------------------------- */

/* The two loops (Nocedal & Wright 2006, algorithm 7.4): direction = -H gradient. */
static void set_direction(struct solver *s)
{
    const size_t size = s->size;
    const int known = s->pairs < HISTORY ? s->pairs : HISTORY;
    double alpha[SLOTS];
    memset(s->direction.a, 0, size * sizeof(float));
    memset(s->direction.z, 0, size * sizeof(float));
    add_scaled(&s->direction, -1.0, &s->gradient, size);
    for (int k = 1; k <= known; k++) {
        int i = (s->pairs - k) % SLOTS;
        alpha[i] = inner(s->change[i].a, s->direction.z, size) / s->curvature[i];
        add_scaled(&s->direction, -alpha[i], &s->slope[i], size);
    }
    if (known > 0) {
        int last = (s->pairs - 1) % SLOTS;
        double scale = s->curvature[last] / inner(s->slope[last].a, s->slope[last].z, size);
        add_scaled(&s->direction, scale - 1.0, &s->direction, size);
    }
    for (int k = known; k >= 1; k--) {
        int i = (s->pairs - k) % SLOTS;
        double beta = inner(s->slope[i].a, s->direction.z, size) / s->curvature[i];
        add_scaled(&s->direction, alpha[i] - beta, &s->change[i], size);
    }
}

/* Newton's method on the convex function of the step. Sets F at the new place; returns the step, 0
 * if none is better. */
static double search_line(const struct solver *s, double *value)
{
    double curve[2], start = objective(s, 0.0, curve), step = 0.0, best = 0.0;
    *value = start;
    for (int i = 0; i < LINE_STEPS && curve[1] > 0.0; i++) {
        double move = -curve[0] / curve[1];
        step += move;
        double now = objective(s, step, curve);
        if (now < *value) {
            *value = now;
            best = step;
        } else {
            step = best + 0.5 * (step - best);
            (void)objective(s, step, curve);
        }
        if (fabs(move) < 1e-3 * fabs(step))
            break;
    }
    return best;
}

/* Goes the step, and keeps the pair of changes of place and gradient if its curvature is positive,
 * which rounding may prevent near the optimum. */
static void advance(struct solver *s, double step)
{
    int i = s->pairs % SLOTS;
    struct vector *change = &s->change[i], *slope = &s->slope[i];
    size_t bytes = s->size * sizeof(float);
    memset(change->a, 0, bytes);
    memset(change->z, 0, bytes);
    memset(slope->a, 0, bytes);
    memset(slope->z, 0, bytes);
    add_scaled(change, step, &s->direction, s->size);
    add_scaled(slope, -1.0, &s->gradient, s->size);
    add_scaled(&s->x, 1.0, change, s->size);
    set_gradient(s);
    add_scaled(slope, 1.0, &s->gradient, s->size);
    s->curvature[i] = inner(change->a, slope->z, s->size);
    s->pairs += s->curvature[i] > 0.0;
}

/* The direction of the bias has a far larger curvature than others, so that good and bad iterations
 * alternate: only several together show that the end is near. Products that are summed up drift
 * away from those of the sums, so that they are computed anew from time to time. */
static void minimize(struct solver *s)
{
    double past[PATIENCE];
    set_gradient(s);
    for (int i = 0; i < ITERATIONS_MAX; i++) {
        double value;
        set_direction(s);
        double step = search_line(s, &value);
        if (!(step > 0.0))
            return;
        advance(s, step);
        if (i % REFRESH >= PATIENCE && past[i % PATIENCE] - value < s->p->tolerance * value)
            return;
        past[i % PATIENCE] = value;
        if (i % REFRESH == REFRESH - 1) {
            multiply(s, &s->x);
            set_gradient(s);
        }
    }
}

bool sl_logistic_fit(const struct sl_logistic_problem *p, struct sl_logistic_weights *w,
                     struct sl_err *err)
{
    struct solver s;
    if (!solver_open(&s, p, w, err))
        return false;
    minimize(&s);
    dense_weights_of(p, s.x.a, w);
    sparse_weights_of(p, s.x.a, w);
    sl_sparse_columns_close(&s.columns);
    free(s.memory);
    return true;
}
