/* vec_neon.h - 4 floats, with NEON, which every 64-bit ARM processor has; vec.h says what each
 * function does. */
#pragma once

#include <arm_neon.h>
#include <stdint.h>

/* A tile of a product keeps VEC_TILE_ROWS x VEC_TILE_VECTORS sums in registers. */
enum { LANES = 4, VEC_REGISTERS = 32, VEC_TILE_ROWS = 5, VEC_TILE_VECTORS = 4 };

typedef float32x4_t vec;
typedef uint32_t uvec __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(16)));

struct vec_pair {
    vec low, high;
};

/* All bits set in the first n lanes. */
static inline uint32x4_t vec_mask(int n)
{
    const int32x4_t lanes = {0, 1, 2, 3};
    return vcgtq_s32(vdupq_n_s32(n), lanes);
}

static inline vec vec_set(float a)
{
    return vdupq_n_f32(a);
}

static inline vec vec_load_or(vec other, const float *x, int n)
{
    if (n >= LANES)
        return vld1q_f32(x);
    if (n > 0)
        other = vld1q_lane_f32(x, other, 0);
    if (n > 1)
        other = vld1q_lane_f32(x + 1, other, 1);
    if (n > 2)
        other = vld1q_lane_f32(x + 2, other, 2);
    return other;
}

static inline vec vec_load(const float *x, int n)
{
    return vec_load_or(vdupq_n_f32(0.0f), x, n);
}

static inline void vec_store(float *y, int n, vec v)
{
    if (n >= LANES) {
        vst1q_f32(y, v);
        return;
    }
    if (n > 0)
        vst1q_lane_f32(y, v, 0);
    if (n > 1)
        vst1q_lane_f32(y + 1, v, 1);
    if (n > 2)
        vst1q_lane_f32(y + 2, v, 2);
}

static inline vec vec_first(vec v, int n)
{
    return vbslq_f32(vec_mask(n), v, vdupq_n_f32(0.0f));
}

static inline vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

static inline vec vec_fnma(vec a, vec b, vec c)
{
    return vfmsq_f32(c, a, b);
}

/* FMIN and FMAX give NaN when either is one. */
static inline vec vec_min(vec a, vec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

static inline vec vec_sqrt(vec v)
{
    return vsqrtq_f32(v);
}

static inline vec vec_if_positive(vec x, vec a, vec b)
{
    return vbslq_f32(vcgtzq_f32(x), a, b);
}

static inline vec vec_round(vec v)
{
    return vrndnq_f32(v);
}

static inline float vec_sum(vec v)
{
    const float32x2_t halves = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(halves, 0) + vget_lane_f32(halves, 1);
}

static inline float vec_highest(vec v)
{
    const vec halves = vec_max(v, vextq_f32(v, v, 2));
    return vgetq_lane_f32(vec_max(halves, vextq_f32(halves, halves, 1)), 0);
}

/* Swaps within pairs of rows, then pairs of pairs. */
static inline void vec_transpose(vec rows[LANES])
{
    const float32x4x2_t a = vtrnq_f32(rows[0], rows[1]), b = vtrnq_f32(rows[2], rows[3]);
    for (int i = 0; i < 2; i++) {
        rows[i] = vcombine_f32(vget_low_f32(a.val[i]), vget_low_f32(b.val[i]));
        rows[i + 2] = vcombine_f32(vget_high_f32(a.val[i]), vget_high_f32(b.val[i]));
    }
}

static inline vec vec_fold(const vec rows[LANES])
{
    vec r[LANES] = {rows[0], rows[1], rows[2], rows[3]};
    vec_transpose(r);
    return (r[0] + r[2]) + (r[1] + r[3]);
}

static inline struct vec_pair vec_drop(struct vec_pair v, uvec words, uint32_t threshold)
{
    const uint16x8_t least = vdupq_n_u16((uint16_t)threshold);
    const int16x8_t kept =
        vreinterpretq_s16_u16(vcgeq_u16(vreinterpretq_u16_u32((uint32x4_t)words), least));
    const uint32x4_t low = vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(kept)));
    const uint32x4_t high = vreinterpretq_u32_s32(vmovl_high_s16(kept));
    return (struct vec_pair){vbslq_f32(low, v.low, vdupq_n_f32(0.0f)),
                             vbslq_f32(high, v.high, vdupq_n_f32(0.0f))};
}
