/* gradient_check.c - slopes by finite differences, and how they must agree with gradients. */
#include "support/gradient_check.h"

#include "support/model_fixture.h"

#include <math.h>

struct gradient_line {
    struct sl_model *m;
    struct sl_tape *t;
    const struct sl_batch *batch;
    struct sl_parameter *p;
    float *from, *direction;
};

/* Where the slope is measured: around the place, or on one side of it. */
enum gradient_side { GRADIENT_AROUND, GRADIENT_BEFORE, GRADIENT_AFTER, GRADIENT_SIDES };

/* A direction for one parameter: random, plus the computed gradient itself scaled to the same
 * length, so that there is a slope to measure. */
static float *direction_of(const struct sl_parameter *p)
{
    int count = p->rows * p->cols;
    uint64_t key = sl_random_key(test_seed(), p->name);
    float *direction = malloc((size_t)count * sizeof *direction);
    cr_assert(direction);
    double squares = 1e-30;
    for (int j = 0; j < count; j++)
        squares += (double)p->grad[j] * (double)p->grad[j];
    for (int j = 0; j < count; j++)
        direction[j] = (float)(sl_random_normal(key, (uint64_t)j) +
                               (double)p->grad[j] * sqrt(count / squares));
    return direction;
}

static double loss_at(const struct gradient_line *l, double step)
{
    for (int j = 0; j < l->p->rows * l->p->cols; j++)
        l->p->data[j] = l->from[j] + (float)(step * (double)l->direction[j]);
    sl_model_pack(l->m);
    return fixture_loss(l->m, l->t, l->batch);
}

/* The slope between two places. */
static double slope(const struct gradient_line *l, double from, double to)
{
    return (loss_at(l, to) - loss_at(l, from)) / (to - from);
}

/* Two steps and Richardson extrapolation: one step's own error would hide a wrong gradient. */
static double measured_slope(const struct gradient_line *l, double step, enum gradient_side side)
{
    if (side == GRADIENT_AROUND)
        return (4.0 * slope(l, -step, step) - slope(l, -2.0 * step, 2.0 * step)) / 3.0;
    double way = side == GRADIENT_AFTER ? step : -step;
    return 2.0 * slope(l, 0.0, way) - slope(l, 0.0, 2.0 * way);
}

/* The line of least squares through many places far apart: where a slope is small, rounding comes
 * in steps that a short line does not average out. */
static double fitted_slope(const struct gradient_line *l, double reach)
{
    enum { PLACES = 64 };

    double products = 0.0, squares = 0.0, centre = loss_at(l, 0.0);
    for (int i = 0; i < PLACES; i++) {
        double place = reach * (2.0 * i / (PLACES - 1) - 1.0);
        products += place * (loss_at(l, place) - centre);
        squares += place * place;
    }
    return products / squares;
}

static double computed_slope(const struct gradient_line *l)
{
    double sum = 0.0;
    for (int j = 0; j < l->p->rows * l->p->cols; j++)
        sum += (double)l->p->grad[j] * (double)l->direction[j];
    return sum;
}

/* The forward is fp32: a loss of about 3 carries 3e-7, a thousandth of what it moves by; a real
 * error is of the size of the slope. */
static double disagreement(double want, double have)
{
    return fabs(want - have) / (fabs(want) + fabs(have) + 0.005);
}

/* TransEvolve's counts of parameters are the published ones, with those that cancel. */
static bool is_nil(const struct sl_parameter *p)
{
    return strstr(p->name, ".time_projection.key");
}

/* A ReLU that changes sides spoils long steps; one that does so close by spoils the slope around
 * it, not that on its own side; rounding spoils short steps. One of them must agree. */
static void check_parameter(struct sl_model *m, struct sl_tape *t, const struct sl_batch *batch,
                            struct sl_parameter *p)
{
    size_t bytes = (size_t)p->rows * (size_t)p->cols * sizeof(float);
    struct gradient_line l = {m, t, batch, p, malloc(bytes), direction_of(p)};
    cr_assert(l.from);
    memcpy(l.from, p->data, bytes);
    double have = computed_slope(&l), step = fmin(0.01, 0.0005 / fabs(have));
    const double steps[] = {step, 0.002, 0.0005, 0.00025, 0.00005, step / 4.0};
    double want = 0.0;
    for (int i = 0; i < 6 * GRADIENT_SIDES; i++) {
        want = measured_slope(&l, steps[i % 6], (enum gradient_side)(i / 6));
        if (disagreement(want, have) < 5e-3)
            break;
    }
    if (disagreement(want, have) >= 5e-3)
        want = fitted_slope(&l, 0.016);
    (void)loss_at(&l, 0.0);
    cr_expect(fabs(have) >= 1e-4 || is_nil(p), "%s %s: too small a slope, %g, to be tested",
              m->arch->name, p->name, have);
    cr_expect_lt(disagreement(want, have), 5e-3, "%s %s: measured %g, computed %g (seed %llu)",
                 m->arch->name, p->name, want, have, (unsigned long long)test_seed());
    free(l.from);
    free(l.direction);
}

/* Each forward shows a sanitizer the same, and the gradients of the reference level, which is slow,
 * are compared with those of faster ones: there, a part of the parameters is enough. */
static int stride_of(const struct sl_model *m)
{
    enum { PART = 7 };

    bool is_reference = strcmp(m->engine->kernels->name, "ref") == 0;
    return TEST_SANITIZED || is_reference ? PART : 1;
}

void gradient_check_model(struct sl_model *m, const int *lengths)
{
    struct fixture_batch f;
    struct sl_tape t;
    fixture_batch_init(&f, lengths, 3);
    fixture_set_task(&f, m->config.task);
    fixture_tape_init(&t, m, &f.batch, true);
    sl_model_zero_gradients(m);
    (void)fixture_loss(m, &t, &f.batch);
    sl_tape_backward(&t);
    sl_model_backprop_buffers(m);
    for (int i = 0; i < m->builder.count; i += stride_of(m))
        check_parameter(m, &t, &f.batch, &m->builder.parameters[i]);
    sl_tape_release(&t);
}
