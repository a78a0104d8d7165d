/* linear_explanation.c - what each token adds to a label's margin, y_l - mean of the other y_k.
 *
 * Each score z_k is a sum over the tokens and the bias b_k. The logits are y_k = f(z_k), so each
 * contribution to z_k counts with the slope of the secant, (f(z_k) - f(b_k)) / (z_k - b_k): the sum
 * of all contributions is then exactly the margin less that of a text without words. With
 * independent labels the margin is y_l alone. */
#include "arch/arch.h"
#include "arch/linear/linear_classifier.h"

#include <math.h>
#include <stdlib.h>

static double logit(double z, float exponent)
{
    return exponent > 0.0f ? (double)exponent * sl_log_softplus(z) : z;
}

static double slope(const struct sl_bag_of_words *m, double y, double bias)
{
    static const double step = 1e-3; /* secants of less are dominated by rounding */
    double z = sl_calibrated_score(y, m->score_exponent);
    if (!(fabs(z - bias) > step))
        z = bias + step;
    return (logit(z, m->score_exponent) - logit(bias, m->score_exponent)) / (z - bias);
}

bool sl_linear_explain(const void *self, const struct sl_kernels *kernels,
                       const struct sl_explained_text *text, float *contributions)
{
    const struct sl_bag_of_words *m = self;
    float *weights = calloc((size_t)text->classes, sizeof *weights);
    const struct sl_bag_text bag = {text->tokens, text->count, weights};
    for (int c = 0; weights && c < text->classes; c++) {
        double share = c == text->label    ? 1.0
                       : text->multi_label ? 0.0
                                           : -1.0 / (text->classes - 1);
        weights[c] = (float)(share * slope(m, (double)text->logits[c], (double)m->bias->data[c]));
    }
    bool ok = weights && sl_bag_contributions(kernels, m, &bag, contributions);
    free(weights);
    return ok;
}
