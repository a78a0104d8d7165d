/* levels.h - what the files of kernels/ share and nobody else needs: how each level fills its
 * table, and attention written once for all levels that compute it row by row in fp32. */
#pragma once

#include "kernels/kernels.h"

/* Each fills what it improves and leaves the rest as it was: inherit, then override. */
void sl_kernels_ref(struct sl_kernels *t);
void sl_kernels_blas(struct sl_kernels *t);
void sl_kernels_avx2(struct sl_kernels *t);
void sl_kernels_avx512(struct sl_kernels *t);
void sl_kernels_amx(struct sl_kernels *t);

/* The steps that attention takes for one query; rows are fp32 and `stride` floats apart. The
 * other steps are slots of the table of `isa`. */
struct sl_row_steps {
    enum sl_isa isa;
    /* out_j = x . row_j */
    void (*dots)(float *out, const float *x, const float *rows, size_t stride, int n, int width);
    /* out = sum_j a_j row_j, added in the order of j */
    void (*mix)(float *out, const float *a, const float *rows, size_t stride, int n, int width);
    /* row_j += a_j x */
    void (*spread)(float *rows, size_t stride, const float *a, const float *x, int n, int width);
};

/* Attention from such steps, of fp32 operands. */
size_t sl_attend_rows_scratch(int keys);
void sl_attend_rows(const struct sl_row_steps *steps, const struct sl_attend *a);
void sl_attend_rows_back(const struct sl_row_steps *steps, const struct sl_attend_back *b);

/* `epilogue` made of the other slots of a level, a stretch at a time. */
void sl_epilogue_by(const struct sl_kernels *t, const struct sl_epilogue *f);

/* mean and 1 / sqrt(var + epsilon) of a row, as every layernorm of AVX-512 and above takes them. */
void sl_avx512_moments(const float *x, int n, float epsilon, float stats[2]);

/* The row slots of a level; its other file has matrix products and attention. */
void sl_avx2_rows(struct sl_kernels *t);
void sl_avx512_rows(struct sl_kernels *t);
