/* kernels.h - arithmetic on plain pointers: one table of functions per instruction-set level.
 *
 * Kernels start no threads, allocate nothing and know nothing of tensors. `ref` defines the meaning
 * of every slot; each faster table inherits the slots it does not replace. Unless a comment says
 * otherwise, n > 0, vectors are fp32 and need no alignment, and inputs and outputs do not overlap.
 *
 * Two contracts hold for every slot of every table:
 *
 *   Row independence. Row i of a result depends only on row i of the input and on the weights, with
 *   an order of additions fixed by the inner dimension. It does not depend on the number of rows,
 *   the position of the row, column limits or other rows. So results are the same for a text alone
 *   and in a batch of 256.
 *
 *   Tails. Any n, any number of rows, any inner dimension. Nothing past the last element is
 *   written except the padding of operand rows, and nothing past it is read into the result.
 *
 * Operands. Matrix products read their inputs in the table's operand type, bf16 or fp32. Rows of
 * operands are sl_operand_stride() elements apart; in bf16, those past `cols` up to a multiple of
 * 32 are zero; the function that writes a row writes them, too.
 * Sums are always fp32. */
#pragma once

#include "base/cpu.h"
#include "base/int_math.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sl_type { SL_F32, SL_BF16 };

/* Inputs of matrix products. Sums are fp32, those of int8 are exact. */
enum sl_precision {
    SL_PRECISION_ANY,
    SL_PRECISION_FP32,
    SL_PRECISION_BF16,
    SL_PRECISION_INT8,
    SL_PRECISION_COUNT
};

/* The column granularity of packed matrices and of column ranges given to gemm. */
enum { SL_PANEL = 32 };

enum sl_activation {
    SL_LINEAR,
    SL_RELU,
    SL_GELU,      /* x Phi(x), the exact erf form: Hendrycks & Gimpel 2016 */
    SL_GELU_TANH, /* its approximation there: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
    SL_SILU,      /* x / (1 + e^-x) */
    SL_TANH
};

/* What a product is turned into before it is written: v = f(products + bias), as by `epilogue`. */
struct sl_gemm_epilogue {
    const float *bias; /* n, or NULL */
    enum sl_activation activation;
    void *out; /* v as operands, rows out_stride elements apart, instead of y; or NULL */
    size_t out_stride;
    /* When accumulating: row rows[i] of y += scale gates[i] v_i, as by `axpy`. */
    const int32_t *rows; /* NULL: i */
    const float *gates;  /* NULL: 1 */
    float scale;
};

/* y (m x n) = or += x (m x k) B (k x n), with B packed by the same table. */
struct sl_gemm {
    const void *x;      /* operand rows of k columns, x_stride elements apart */
    const void *packed; /* B */
    float *y;           /* rows y_stride floats apart */
    size_t x_stride, y_stride;
    int m, n, k;
    bool accumulate; /* add to y instead of replacing it */
    bool compact;    /* B is compact, see below */
    bool is_far;     /* a hint: B is probably not in the cache */
    /* Or NULL, as it must be unless the table `fuses_epilogue`, or int8_fuses_epilogue */
    const struct sl_gemm_epilogue *epilogue;
    /* Of products of int8, see below. Groups of x, those of one row after another, or NULL */
    const struct sl_int8_group *int8_groups;
    int int8_group; /* columns of x in a group */
};

/* Products of int8, for serving: y (m x n) = x (m x k) W^T, with W (n x k) packed by sl_int8_pack
 * of the same table, and x from quantize, rows x_stride bytes apart. Only with the epilogue may
 * they accumulate.
 *
 * Each group of columns of a row, of x and of W, is divided by its scale, highest magnitude / 127,
 * and rounded to whole numbers, nearest even, from -127 to 127. With these,
 *     y_ij = sum_g (sum_l x_il W_jl) * scale of group g of x_i * scale of group g of W_j,
 * with l over the columns of a group. The inner sums are int32, exact whatever their order, and
 * then rounded to fp32; the products of groups are rounded and added one after another. So all
 * levels give the same bits for the same groups. The scale of a group with NaN or infinity is NaN,
 * and so are the row's results. Groups whose magnitudes are all below 2^-100 count as zeros.
 *
 * Groups keep a few large columns from making all others coarse. */
struct sl_int8_group {
    float scale;
    int32_t sum; /* of the group's int8 */
};

/* Rows of int8 end in zeros up to a multiple of this. More than SL_INT8_DEPTH_MAX products might
 * exceed an int32. */
enum { SL_INT8_STEP = 64, SL_INT8_DEPTH_MAX = 1 << 17 };

/* y (m x n) = or += x (m x k) b (k x n), all fp32 and unpacked, for matrices too small to be worth
 * packing. x_ij is x[i * x_row + j * x_col], so x may be transposed. Every element is one
 * chain of multiply-adds in the order of k, which begins at y when accumulating. They are fused
 * wherever the processor can: then the bits are the same at every level. */
struct sl_small_gemm {
    const float *x, *b;
    float *y;
    size_t x_row, x_col, b_row, y_row; /* floats from one row, or column, to the next */
    int m, n, k;
    bool accumulate;
};

/* Dropout as a pure function of row key and column (Srivastava et al. 2014, inverted): element c of
 * a row is kept when 16 bits derived from (row key, c) are at least `threshold`, and then scaled by
 * `scale` = 65536 / (65536 - threshold).
 *     word = hash32(row_key ^ (c / 2) * 0x9E3779B9)   16 bits = c odd ? word >> 16 : word & 0xffff
 * with hash32 the 32-bit finaliser of MurmurHash3 (Appleby). threshold 0 keeps everything. */
struct sl_dropout {
    uint32_t threshold;
    float scale;
};

/* Post-processing of one row of a matrix product:
 * y = dropout(f(products + bias)), in fp32; f only as exact as bf16 needs it if y is written so. */
struct sl_epilogue {
    float *products;   /* n; y is written over them unless out is set */
    void *out;         /* y as operands, padded with zeros to a multiple of 32; or NULL */
    void *slope;       /* dy / dproducts as operands, padded likewise; or NULL */
    const float *bias; /* or NULL */
    enum sl_activation activation;
    struct sl_dropout dropout;
    uint32_t row_key;
    int first, n; /* the column of products[0] within its row, even; how many */
};

/* Scaled dot-product attention of one sequence (Vaswani et al. 2017, eq. 1):
 *     out_i = sum_{from_i <= j < visible_i} dropout(softmax_j(scale q_i . k_j)) v_j
 * Keys are visited in an order fixed by their index. A query that sees no key gives 0. In bf16,
 * results with lse, for training, are rounded differently from those without.
 *
 * k and v may be those of a KV cache (`cached`). Then fp32 keys are the columns of a packed matrix
 * of head_dim x keys, and bf16 values are pairs of rows, element by element: value 2 i + b of
 * column c is element 2 c + b of pair i; values past the last up to a multiple of 32 are 0. If
 * sl_keys_in_pairs, bf16 keys are groups of 16, column by column: element 2 i + b of key j of a
 * group is element 2 (16 i + j) + b of that group. With operands of fp32, keys of bf16 are the
 * columns of a compact matrix, and values are rows.
 *
 * Several heads at once, without dropout and lse: the columns of a head follow those of the one
 * before in q and out; its k and v are kv_head elements further on: 0 for heads that share them. */
struct sl_attention {
    const void *q;     /* queries x head_dim, operand type */
    const void *k, *v; /* keys x head_dim, operand type; finite wherever visible */
    bool cached;
    bool bf16_cache; /* k and v are of bf16, and the operands of fp32 */
    void *out;       /* queries x head_dim, operand type, without row padding */
    size_t q_stride, kv_stride, out_stride, kv_head;
    int queries, keys, head_dim, heads;
    const int32_t *visible; /* per query: the end of the keys that it sees, 0 .. keys, */
    const int32_t *from;    /* and the first of them, at most the end; NULL: 0 */
    float scale;
    struct sl_dropout dropout;
    const uint32_t *row_keys; /* per query, for dropout; unused when threshold is 0 */
    float *lse;               /* per query: max + log(sum exp), for backward; or NULL */
    void *scratch;            /* attention_scratch() bytes, 64-byte aligned */
};

static inline int sl_attention_from(const struct sl_attention *a, int query)
{
    return a->from ? a->from[query] : 0;
}

/* Gradients of the above, probabilities recomputed from lse. dq, dk, dv are fp32 and replaced. */
struct sl_attention_backward {
    struct sl_attention forward; /* as in the forward call; out holds its result; lse its lse */
    const float *dout;
    float *dq, *dk, *dv;
    size_t dout_stride, dq_stride, dkv_stride;
};

/* Backward of one query's softmax in attention whose probabilities are p_j = rate w_j e_j:
 *     s_j = p_j (dp_j - mean);   ds_j += s_j, or ds_j = s_j when overwrite;   db_j += s_j
 * All levels do these operations in this order, without FMA. */
struct sl_softmax_backward {
    const void *e; /* n operands */
    const float *w, *dp;
    float *ds, *db;
    float rate, mean;
    bool overwrite;
    int n;
};

/* Selects n rows of a matrix, `width` elements of each. Row j of the selection is row indices[j],
 * or j when indices is NULL. Rows are `stride` elements apart. */
struct sl_row_list {
    const int32_t *indices;
    size_t stride;
    int n, width;
};

static inline size_t sl_row_offset(const struct sl_row_list *l, int j)
{
    return (size_t)(l->indices ? l->indices[j] : j) * l->stride;
}

/* Normalises a row of n floats:
 *     y = (x - mean) / sqrt(var + epsilon) * weight + bias
 * with var over n, not n - 1 (Ba et al. 2016, eq. 4); with `rms`, 0 instead of the mean (Zhang &
 * Sennrich 2019, eq. 4), so that var is the mean of the squares. */
struct sl_norm_row {
    const float *weight, *bias; /* bias NULL: 0 */
    float epsilon;
    bool rms;
    int n;
};

/* Its gradient: dx += it, or dx = it when overwrite; dweight += dy xhat; dbias += dy. */
struct sl_norm_gradient {
    const float *dy, *x, *stats;
    float *dx, *dweight, *dbias; /* dbias NULL: there is no bias */
    bool overwrite;
};

/* Rotates vectors, one after another, by rotary positions (Su et al. 2021, with halves instead of
 * pairs). Of each, the first 2 half elements become
 *     y_j = x_j cos_j - x_{j + half} sin_j        y_{j + half} = x_{j + half} cos_j + x_j sin_j
 * and the others stay. back: by the negative angles. */
struct sl_rotation {
    const float *waves; /* `half` cosines, then as many sines */
    int half, head_dim, heads;
    bool back;
};

/* AdamW (Loshchilov & Hutter 2019, algorithm 2) for n parameters:
 *     m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2      with g = grad * grad_scale
 *     w = w (1 - decay) - rate * m / (sqrt(v / correction2) + epsilon)
 * decay is lr * wd; rate is lr / (1 - b1^t) and correction2 is 1 - b2^t, or lr and 1 without
 * bias correction. */
struct sl_adamw {
    float grad_scale, b1, b2, rate, decay, correction2, epsilon;
};

struct sl_kernels {
    const char *name;
    enum sl_isa isa;
    enum sl_type operand;
    bool fuses_epilogue, int8_fuses_epilogue; /* whether products may have an `epilogue` */
    unsigned int8_bias; /* what packed int8 are higher by: 128 where they must be unsigned */
    int int8_group;     /* columns of a group that its int8 products take; a multiple of a step */
    bool pairs_keys;    /* see sl_keys_in_pairs */

    /* -- matrix products ------------------------------------------------------------------ */

    /* Bytes of a packed B of k x n. Packed panels of SL_PANEL columns lie one after another. */
    size_t (*pack_bytes)(int k, int n);
    /* Packs columns n_first..n_last (multiples of SL_PANEL, but n_last may be n) of B.
     * `type` is that of src. B(i, j) = src[i * stride + j], or src[j * stride + i] when
     * transposed. */
    void (*pack)(void *packed, const void *src, enum sl_type type, size_t stride, bool transposed,
                 int k, int n, int n_first, int n_last);
    /* Rewrites a packed B of fp32 in half the size, if bf16 holds every element exactly, so that
     * products have the same bits: sl_compact_at. False: unchanged, as where operands are bf16. */
    bool (*compact)(void *packed, int k, int n);
    int compact_lanes;
    void (*gemm)(const struct sl_gemm *g);
    /* out (cols x rows) = x^T of operand rows x (rows x cols). When pad is true (the last of
     * several row blocks), columns of out past `rows` become 0 up to a multiple of 32. */
    void (*transpose)(void *out, size_t out_stride, const void *x, size_t x_stride, int rows,
                      int cols, bool pad);
    void (*small_gemm)(const struct sl_small_gemm *p);
    /* n floats, or operands of bf16, to a row of int8 in groups of `group` columns, a multiple of
     * SL_INT8_STEP; padded to such a multiple. */
    void (*quantize)(int8_t *out, struct sl_int8_group *groups, const void *x, enum sl_type type,
                     int n, int group);
    void (*int8_gemm)(const struct sl_gemm *g);

    /* -- conversions ---------------------------------------------------------------------- */

    /* n floats to one operand row, padded with zeros to a multiple of 32. bf16: nearest even. */
    void (*to_operands)(void *out, const float *x, int n);
    void (*from_operands)(float *out, const void *operands, int n);
    /* out = x by, an operand row; `by` are operands. */
    void (*multiply_to_operands)(void *out, const float *x, const void *by, int n);

    /* -- rows ------------------------------------------------------------------------------ */

    float (*dot)(const float *x, const float *y, int n);
    float (*sum)(const float *x, int n);
    void (*axpy)(float *y, float a, const float *x, int n);  /* y += a x */
    void (*scale)(float *y, float a, const float *x, int n); /* y = a x; y may be x */
    /* y_c = keep(row_key, first + c) ? scale x_c : 0; y may be x; first is even. */
    void (*dropout)(float *y, const float *x, struct sl_dropout d, uint32_t row_key, int first,
                    int n);
    /* y = f(x), y may be x; slope = f'(x), which the backward pass multiplies by. ReLU'(0) = 0. */
    void (*activate_with_slope)(float *y, float *slope, const float *x, enum sl_activation f,
                                int n);
    void (*epilogue)(const struct sl_epilogue *f);
    void (*sigmoid)(float *y, const float *x, int n); /* y may be x */
    /* x becomes softmax(x). log_sum: NULL, or max + log(sum exp(x - max)). */
    void (*softmax)(float *x, int n, float *log_sum);
    /* The same for `rows` rows, `stride` floats apart, with the same bits; faster if n is small. */
    void (*softmax_rows)(float *x, size_t stride, int rows, int n);
    /* y as an operand row; stats gets the mean (or 0) and 1 / sqrt(var + epsilon). */
    void (*normalize)(void *y, const float *x, const struct sl_norm_row *norm, float stats[2]);
    /* The same as fp32; y may be x. */
    void (*normalize_f32)(float *y, const float *x, const struct sl_norm_row *norm, float stats[2]);
    /* y = weight (scale (x - mean)) + bias, written as an operand row; no FMA. Epsilon, section
     * 3.2. */
    void (*centernorm)(void *y, const float *x, const float *weight, const float *bias, float scale,
                       int n);
    void (*normalize_backward)(const struct sl_norm_row *norm, const struct sl_norm_gradient *g);

    void (*rotate)(float *y, const float *x, const struct sl_rotation *r); /* y may be x */

    /* -- selected rows of a matrix, in the order of the list --------------------------------- */

    /* out_j = a x . row_j, of operand rows */
    void (*gather_dot)(float *out, float a, const float *x, const void *rows,
                       const struct sl_row_list *l);
    /* out = sum_j a_j row_j, of operand rows; of rows of bf16 */
    void (*gather_sum)(float *out, const float *a, const void *rows, const struct sl_row_list *l);
    void (*gather_sum_bf16)(float *out, const float *a, const void *rows,
                            const struct sl_row_list *l);
    /* row_j += a_j x, of fp32 rows */
    void (*scatter_axpy)(float *rows, const float *a, const float *x, const struct sl_row_list *l);

    /* -- attention -------------------------------------------------------------------------- */

    size_t (*attention_scratch)(int queries, int keys, int head_dim); /* forward and backward */
    /* `kernels`: the table whose slots are used by levels that have no attention of their own */
    void (*attention)(const struct sl_kernels *kernels, const struct sl_attention *a);
    void (*attention_backward)(const struct sl_kernels *kernels,
                               const struct sl_attention_backward *b);
    void (*softmax_backward)(const struct sl_softmax_backward *s);

    /* -- the optimiser ---------------------------------------------------------------------- */

    void (*adamw)(float *w, float *m, float *v, const float *g, const struct sl_adamw *a, int n);
};

/* The table of a level this machine has, or NULL. */
const struct sl_kernels *sl_kernels_for(enum sl_isa isa);
/* The fastest usable level, or the one SLUICE_ISA names; NULL when it names an unknown or
 * unusable one. */
const struct sl_kernels *sl_kernels_best(void);
/* The level for a precision: the one that it selects beside `most`, else `most`, else the fastest
 * below it that computes with it; NULL: none does. */
const struct sl_kernels *sl_kernels_with(const struct sl_kernels *most,
                                         enum sl_precision precision);
/* These kernels, or the level below them whose products of int8 have a scale for each SL_INT8_GROUP
 * inputs, where these have one for a whole row. */
const struct sl_kernels *sl_kernels_in_groups(const struct sl_kernels *kernels);
/* "ref", "portable", "avx2", "avx2vnni", "avx512", "avx512vnni", "avx512bf16", "amx". */
const char *sl_isa_name(enum sl_isa isa);
/* Whether a level is only used for some precisions. */
bool sl_isa_needs_precision(enum sl_isa isa);

/* Groups of a row of k columns. */
static inline int sl_int8_groups(int k, int group)
{
    return (int)(((unsigned)k + (unsigned)group - 1) / (unsigned)group);
}

/* Bytes of a W of n x k packed as int8. Panels of SL_PANEL rows of W lie one after another. */
static inline size_t sl_int8_bytes(int k, int n, int group)
{
    const size_t scales = (size_t)sl_int8_groups(k, group) * sizeof(float);
    const size_t row = scales + sl_round_up((size_t)k, SL_INT8_STEP);
    return row * sl_round_up((size_t)n, SL_PANEL);
}

/* Packs rows n_first..n_last (multiples of SL_PANEL, but n_last may be n) of W, `stride` floats
 * apart. */
void sl_int8_pack(const struct sl_kernels *kernels, void *packed, const float *w, size_t stride,
                  int k, int n, int n_first, int n_last);

/* Where a column is in a row of a compact panel, an array of bf16: columns `compact_lanes` apart
 * share a word. */
static inline int sl_compact_at(const struct sl_kernels *k, int column)
{
    const int lanes = k->compact_lanes, in_both = column % (2 * lanes);
    return column - in_both + in_both % lanes * 2 + in_both / lanes;
}

/* Whether cached keys of bf16 lie in groups of 16 (struct sl_attention); else they are rows. */
static inline bool sl_keys_in_pairs(const struct sl_kernels *k, int head_dim)
{
    return k->pairs_keys && head_dim % 32 == 0;
}

static inline size_t sl_type_bytes(enum sl_type type)
{
    return type == SL_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Elements from one operand row to the next: whole AMX tile rows in bf16, none wasted in fp32.
 * Rows a multiple of 1 KiB apart would share a few sets of the first-level cache, and the 32 rows
 * that a product reads at once would push each other out: those get one tile row more. */
static inline size_t sl_operand_stride(const struct sl_kernels *k, int cols)
{
    size_t padded = sl_round_up((size_t)cols, 32);
    if (k->operand == SL_F32)
        return (size_t)cols;
    return padded % 512 == 0 ? padded + 32 : padded;
}
