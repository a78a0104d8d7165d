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

/* 2^f = 1 + f (b0 + b1 f + ...) for 0 <= f < 1, relative error 2.9e-6 (a minimax fit), for what
 * becomes bf16. */
enum { SL_EXP2_TERMS = 4 };

static const float sl_exp2_terms[SL_EXP2_TERMS] = {0.69304484129f, 0.241280198097f,
                                                   0.0522424727678f, 0.0134266838431f};

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

/* tanh(x) = x + x^3 (e0 + e1 x^2 + ...) for |x| <= 5/8, relative error 1.7e-8. */
enum { SL_TANH_TERMS = 5 };

static const float sl_tanh_small = 0.625f;
static const float sl_tanh_terms[SL_TANH_TERMS] = {
    -0.333333289441f, 0.13332769737f, -0.0538509095785f, 0.0209971789991f, -0.00609671416591f};

/* 2 sqrt(2 / pi): GELU's tanh is a logistic function of twice its argument. */
static const float sl_gelu_tanh_scale = 1.59576912161f;

/* 1 / sqrt(2 pi) */
static const float sl_density_0 = 0.398942280401f;

/* GELU to be rounded to bf16: x Phi(x) = max(x, 0) + h(|x|), with h in pieces of 1/6 around k / 6:
 *     h(z) = g0[k] + g1[k] z + g2[k] z^2      k = round(6 z), z <= 31/6
 * interpolated at Chebyshev nodes, the first piece with h(0) = 0. Error 1.9e-5, and above x = -2 at
 * most a twentieth of half a unit in the last place of bf16. */
enum { SL_GELU_PIECES = 32 };

static const float sl_gelu_scale = 6.0f, sl_gelu_end = 31.0f / 6.0f;
static const float sl_gelu_terms[3][SL_GELU_PIECES] = {
    {0.0f,
     -0.000123170423f,
     -0.00221754797f,
     -0.0107599841f,
     -0.0311461296f,
     -0.0673991442f,
     -0.120250806f,
     -0.186265215f,
     -0.258280039f,
     -0.326976001f,
     -0.383028567f,
     -0.419164151f,
     -0.431552261f,
     -0.42024222f,
     -0.38867417f,
     -0.342546612f,
     -0.288438141f,
     -0.232555047f,
     -0.179853216f,
     -0.133623481f,
     -0.0954929739f,
     -0.0657136142f,
     -0.0435852744f,
     -0.0278853364f,
     -0.0172214601f,
     -0.0102728438f,
     -0.00592209119f,
     -0.00330090825f,
     -0.00177972531f,
     -0.000928541122f,
     -0.000468952087f,
     -0.000273037265f},
    {-0.49997887f,    -0.497685552f,  -0.481506288f,  -0.440957844f,   -0.371362835f,
     -0.274823487f,   -0.159494668f,  -0.0374862663f, 0.0779504851f,   0.175179586f,
     0.246224776f,    0.287732124f,   0.30082044f,    0.290072113f,    0.26207298f,
     0.223921403f,    0.182026923f,   0.141364589f,   0.105198994f,    0.0751840919f,
     0.0516940393f,   0.034241721f,   0.021875469f,   0.0134910615f,   0.00803814922f,
     0.00462988159f,  0.00257946202f, 0.00139072794f, 0.000725922349f, 0.000366971071f,
     0.000179724462f, 0.000102336126f},
    {0.398259103f,     0.38765052f,      0.356152773f,     0.307880551f,    0.248384222f,
     0.184048876f,     0.121090218f,     0.0646882802f,    0.0184112396f,   -0.0160018653f,
     -0.0385187939f,   -0.0504401736f,   -0.0538972206f,   -0.0513435267f,  -0.0451344363f,
     -0.0372449718f,   -0.029134877f,    -0.0217375085f,   -0.0155326072f,  -0.0106604807f,
     -0.00704256166f,  -0.00448543765f,  -0.0027576664f,   -0.00163821783f, -0.000941113976f,
     -0.000523164868f, -0.000281577464f, -0.000146797873f, -7.41607e-05f,   -3.63166473e-05f,
     -1.72441378e-05f, -9.60182115e-06f},
};
