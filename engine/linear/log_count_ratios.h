/* log_count_ratios.h - how much more often texts of a label have an n-gram than others: a weight
 * that may be large where this says much, and is held near 0 where it says little. Wang & Manning
 * 2012, "Baselines and Bigrams". */
#pragma once

#include "linear/logistic_problem.h"

/* Sets factors of C_s for the n-grams of a problem, sparse_cols x classes: proportional to
 *     |log((n_fc + 1) / sum_g (n_gc + 1)) - log((m_fc + 1) / sum_g (m_gc + 1))|
 * where n_fc of the problem's texts with label c have n-gram f, and m_fc of the others; 0 where
 * none has it. Their scale is such that the texts' kernel keeps its mean diagonal. */
bool sl_log_count_ratios(const struct sl_logistic_problem *p, float *factors, struct sl_err *err)
    SL_MUST_CHECK;
