/* polynomials.h - coefficients of exp, log and erf approximations, shared by all vector levels;
 * lowest power first.
 *
 * All were fitted at the Chebyshev nodes of their interval in 40-digit arithmetic; the stated
 * errors are those of the fit; test_kernels measures them with fp32 rounding. */
#pragma once

/* e^r = 1 + r + r^2 (a0 + a1 r + ... ) for |r| <= ln 2 / 2, relative error 8e-9. */
enum { SL_EXP_TERMS = 5 };

static const float sl_exp_terms[SL_EXP_TERMS] = {0.5f, 0.166665770256f, 0.0416665546621f,
                                                 0.00836317307451f, 0.00139261761199f};

/* ln 2 in two parts: the first has 9 significant bits, so n times it is exact for |n| < 2^15. */
static const float sl_ln2_high = 0.693359375f, sl_ln2_low = -2.12194440e-4f;
static const float sl_ln2 = 0.69314718056f, sl_log2_e = 1.44269504089f;

/* Below the first e^x is 0 in fp32, above the second infinite. */
static const float sl_exp_min = -104.0f, sl_exp_max = 89.0f;

/* 2^f = 1 + f (b0 + b1 f + ...) for |f| <= 1/2, relative error 1.6e-7. */
enum { SL_EXP2_TERMS = 5 };

static const float sl_exp2_terms[SL_EXP2_TERMS] = {0.69314718056f, 0.24022349038f, 0.055503810138f,
                                                   0.00966636851539f, 0.00133813025373f};

/* ln(1 + f) = f (d0 + d1 f + ...) for -1/4 <= f <= 1/2, relative error 4e-8. */
enum { SL_LOG_TERMS = 9 };

static const float sl_log_terms[SL_LOG_TERMS] = {
    0.999999997748f,  -0.50000068653f, 0.333335028401f,  -0.249929165551f, 0.199790331267f,
    -0.168356959828f, 0.149728971863f, -0.119568250448f, 0.0529510641108f};

/* The upper tail of the normal distribution for z >= 0, after the form of Abramowitz & Stegun
 * 26.2.17:
 *     1 - Phi(z) = e^(-z^2 / 2) t (c0 + c1 t + ...)      t = 1 / (1 + p z)
 * relative error 5e-8 up to z = 7 and 4e-6 beyond, so erf to 5e-8 absolute. */
enum { SL_TAIL_TERMS = 8 };

static const float sl_tail_p = 0.3f;
static const float sl_tail_terms[SL_TAIL_TERMS] = {
    0.119623153731f,   0.120894009277f, 0.0988452768024f, 0.132532625875f,
    -0.0617942537942f, 0.21565290722f,  -0.162817367286f, 0.0370636684129f};

/* 1 / sqrt(2 pi) */
static const float sl_density_0 = 0.398942280401f;
