/* tile_attention.c - attention forward in bf16 tiles.
 *
 * A block is 32 queries and all the keys that any of them sees: scores (fp32) in tiles, softmax row
 * by row, then probabilities (bf16, not yet divided by their sum) times values in tiles. A single
 * query of a KV cache is computed by tile_attention_decode.c. Both add the same products in the
 * same order, key after key in steps of 32, and share the softmax, so the bits of a query do not
 * depend on its block. Probabilities of unseen keys are exact zeros, and so are the values of keys
 * that nobody sees. Heads that do not fill tiles are filled up with zeros.
 *
 * A tile load stalls on data that is still in the store buffer, and so does a vector load of what a
 * tile has just stored. So blocks pass through a pipeline of four stages: scores, softmax, products
 * with V, results. Buffers between two stages exist twice. */
#include "kernels/tiles/tile_attention.h"
#include "kernels/tiles/tile_softmax.h"
#include "kernels/tiles/tiles.h"

#include <assert.h>

enum { BLOCK = 32, STAGES = 4 };

/* Scores lie in groups of 16 keys, each with a row per query. 33 rows, not 32, so that the
 * groups of one query do not fall into the same few sets of the L1 cache. */
enum { SCORE_PITCH = BLOCK + 1 };

/* The state of a call. */
struct attention_ctx {
    const struct sl_attention *a;
    int max_keys;      /* keys that some query sees */
    int steps;         /* of TILE_K dims */
    int key_groups;    /* of 32 keys: how many `max_keys` needs */
    uint16_t *q;       /* the last few queries and zeros: [BLOCK][steps][TILE_K] */
    uint16_t *own_k;   /* [groups of 16 keys][steps][TILE_PAIRS of dims][16 keys][2] */
    const uint16_t *k; /* that, or the same in the cache */
    uint16_t *own_v;   /* [pairs of keys][steps][TILE_K of dims][2] */
    const uint16_t *v; /* that, or the same in the cache */
    size_t v_stride;   /* elements from one pair to the next */
    float *scores[2];  /* [groups of 16 keys][SCORE_PITCH][16] */
    uint16_t *p[2];    /* [groups of 32 keys][BLOCK][32] */
    float *sums[2];    /* [steps][2][BLOCK][16]: probabilities times values */
};

/* A block of up to 32 queries in the pipeline. */
struct block {
    int first, count;
    struct sl_key_groups groups; /* that its queries see */
    float shift[BLOCK];          /* of a query's scores, in units of ln 2 */
    float total[BLOCK];          /* of its 2^(score - shift) */
};

static size_t lay_out(struct attention_ctx *r, void *scratch, int keys, int head_dim)
{
    const size_t t = sl_round_up((size_t)keys, 32), d = sl_round_up((size_t)head_dim, TILE_K);
    size_t used = 0;
    r->q = sl_take(scratch, &used, BLOCK * d * sizeof *r->q);
    r->own_k = sl_take(scratch, &used, t * d * sizeof *r->own_k);
    r->own_v = sl_take(scratch, &used, t * d * sizeof *r->own_v);
    for (int i = 0; i < 2; i++) {
        r->scores[i] = sl_take(scratch, &used, t * SCORE_PITCH * sizeof(float));
        r->p[i] = sl_take(scratch, &used, BLOCK * t * sizeof(uint16_t));
        r->sums[i] = sl_take(scratch, &used, BLOCK * d * sizeof(float));
    }
    return used;
}

size_t SL_LEVEL(attention_scratch)(int keys, int head_dim)
{
    struct attention_ctx unused;
    const size_t blocks = lay_out(&unused, NULL, keys, head_dim);
    const size_t single = SL_LEVEL(attention_decode_scratch)(keys, head_dim);
    return blocks > single ? blocks : single;
}

static bool fills_tiles(const struct sl_attention *a)
{
    return a->head_dim % TILE_K == 0;
}

static struct attention_ctx ctx_of(const struct sl_attention *a)
{
    struct attention_ctx r = {.a = a, .steps = sl_ceil_div(a->head_dim, TILE_K)};
    for (int i = 0; i < a->queries; i++) {
        assert(a->visible[i] >= 0);
        assert(a->visible[i] <= a->keys);
        r.max_keys = a->visible[i] > r.max_keys ? a->visible[i] : r.max_keys;
    }
    r.key_groups = sl_ceil_div(r.max_keys, 32);
    (void)lay_out(&r, a->scratch, a->keys, a->head_dim);
    const bool in_place = a->cached && fills_tiles(a);
    r.k = in_place && KEYS_IN_PAIRS ? a->k : r.own_k;
    r.v = in_place ? a->v : r.own_v;
    r.v_stride = 2 * (size_t)r.steps * TILE_K;
    return r;
}

static struct sl_bf16_rows kv_rows(const struct attention_ctx *r, const void *data)
{
    return (struct sl_bf16_rows){data, r->a->kv_stride, r->max_keys, r->a->head_dim};
}

/* Pairs of a cache have twice as many columns as its rows. */
static void copy_pairs(const struct attention_ctx *r)
{
    const struct sl_bf16_rows pairs = {r->a->v, 2 * (size_t)r->a->head_dim, 16 * r->key_groups,
                                       2 * r->a->head_dim};
    uint16_t *to = r->own_v;
    for (int pair = 0; pair < pairs.rows; pair++)
        for (int col = 0; col < 2 * r->steps; col++, to += TILE_K)
            _mm512_storeu_si512(to, sl_tile_row(&pairs, pair, col * TILE_K));
}

static void pack_values(const struct attention_ctx *r)
{
    const struct sl_bf16_rows v = kv_rows(r, r->a->v);
    uint16_t *to = r->own_v;
    for (int row = 0; row < 32 * r->key_groups; row += 2)
        for (int step = 0; step < r->steps; step++, to += 2 * TILE_K)
            sl_pair_rows(sl_tile_row(&v, row, step * TILE_K),
                         sl_tile_row(&v, row + 1, step * TILE_K), to, to + TILE_K);
}

/* From the first step of a group of 16 keys to that of the next. */
static size_t k_group(const struct attention_ctx *r)
{
    return (size_t)r->steps * TILE_ELEMENTS;
}

static void pack_keys(const struct attention_ctx *r)
{
    const struct sl_bf16_rows k = kv_rows(r, r->a->k);
    uint16_t *tile = r->own_k;
    for (int group = 0; group < 2 * r->key_groups; group++)
        for (int step = 0; step < r->steps; step++, tile += TILE_ELEMENTS) {
            __m512i rows[TILE_ROWS];
            for (int j = 0; j < TILE_ROWS; j++)
                rows[j] = sl_tile_row(&k, group * TILE_ROWS + j, step * TILE_K);
            vec_transpose_words(rows);
            for (int i = 0; i < TILE_PAIRS; i++)
                _mm512_storeu_si512(tile + i * TILE_K, rows[i]);
        }
}

/* ---------------------------------------------------------------------------------- results */

static void write_lse(const struct attention_ctx *r, const struct block *b)
{
    for (int i = 0; i < b->count; i += 16) {
        const __m512 lse = sl_lse16(_mm512_loadu_ps(b->shift + i), _mm512_loadu_ps(b->total + i));
        _mm512_mask_storeu_ps(r->a->lse + b->first + i, vec_mask(b->count - i), lse);
    }
}

static void write_block(const struct attention_ctx *r, const struct block *b, const float *sums)
{
    const struct sl_attention *a = r->a;
    for (int i = 0; i < b->count; i++)
        sl_attention_row(a, (uint16_t *)a->out + (size_t)(b->first + i) * a->out_stride,
                         sums + i * 16, BLOCK * 16, b->total[i]);
    if (a->lse)
        write_lse(r, b);
}

/* ---------------------------------------------------------------------------------- stages */

static void block_init(const struct attention_ctx *r, struct block *b, int first)
{
    int end = 0, from = r->max_keys;
    b->first = first;
    b->count = sl_min(r->a->queries - first, BLOCK);
    for (int i = first; i < first + b->count; i++) {
        end = r->a->visible[i] > end ? r->a->visible[i] : end;
        from = sl_min(from, sl_attention_from(r->a, i));
    }
    b->groups.first = from / 32;
    b->groups.count = end > 0 ? sl_ceil_div(end, 32) - b->groups.first : 0;
}

/* 32 rows of q; those that do not fill tiles are copied, with zeros. */
static struct sl_tile_pair query_rows(const struct attention_ctx *r, const struct block *b)
{
    const struct sl_attention *a = r->a;
    const struct sl_bf16_rows q = {(const uint16_t *)a->q + (size_t)b->first * a->q_stride,
                                   a->q_stride, b->count, a->head_dim};
    if (b->count == BLOCK && fills_tiles(a))
        return (struct sl_tile_pair){q.data, q.data + TILE_ROWS * q.stride,
                                     q.stride * sizeof *q.data};
    const size_t stride = (size_t)r->steps * TILE_K;
    for (int i = 0; i < BLOCK; i++)
        for (int c = 0; c < r->steps * TILE_K; c += TILE_K)
            _mm512_storeu_si512(r->q + (size_t)i * stride + c, sl_tile_row(&q, i, c));
    return (struct sl_tile_pair){r->q, r->q + TILE_ROWS * stride, stride * sizeof *r->q};
}

/* Scores of 32 queries, 32 keys at a time. */
static void score_block(const struct attention_ctx *r, const struct block *b, float *scores)
{
    const struct sl_tile_pair rows = query_rows(r, b);
    sl_tiles_fence();
    for (int i = 0; i < b->groups.count; i++, scores += 2 * SCORE_PITCH * 16) {
        struct sl_tile_pair q = rows;
        sl_tiles_zero();
        const uint16_t *k = r->k + (size_t)(2 * (b->groups.first + i)) * k_group(r);
        for (int step = 0; step < r->steps; step++, k += TILE_ELEMENTS) {
            sl_tiles_multiply(q, (struct sl_tile_pair){k, k + k_group(r), TILE_BYTES});
            q.first += TILE_K;
            q.second += TILE_K;
        }
        sl_tiles_store(scores, SCORE_PITCH * 16, 16 * 16, TILE_BYTES);
    }
    sl_tiles_fence();
}

static struct sl_score_row row_of(const float *scores, uint16_t *p, int i)
{
    return (struct sl_score_row){.scores = scores + i * 16,
                                 .p = p + i * 32,
                                 .score_pitch = SCORE_PITCH * 16,
                                 .p_pitch = BLOCK * 32};
}

/* Those of 16 queries in `which`: their probabilities, and partial sums of their totals. */
static void softmax_some(const struct attention_ctx *r, struct block *b, int first, __mmask16 which,
                         bool shifts, const float *scores, uint16_t *p, __m512 totals[16])
{
    const struct sl_attention *a = r->a;
    for (int i = 0; i < 16; i++) {
        const int at = first + i, query = b->first + at;
        if (!(which >> i & 1))
            continue;
        const struct sl_score_row row = row_of(scores, p, at);
        b->shift[at] = shifts ? sl_max_shift(a, &row, query, b->groups.first) : 0.0f;
        totals[i] = sl_softmax_tile(a, &row, query, b->groups, b->shift[at]);
        if (i % 8 == 7)
            sl_tiles_stay_awake();
    }
}

/* 16 queries at a time. */
static void softmax_block(const struct attention_ctx *r, struct block *b, const float *scores,
                          uint16_t *p)
{
    for (int first = 0; first < b->count; first += 16) {
        const __mmask16 all = vec_mask(b->count - first);
        __m512 totals[16] = {0};
        softmax_some(r, b, first, all, r->a->lse, scores, p, totals);
        const __mmask16 bad = all & sl_out_of_range(vec_fold(totals));
        if (bad && !r->a->lse)
            softmax_some(r, b, first, bad, true, scores, p, totals);
        _mm512_storeu_ps(b->total + first, vec_fold(totals));
    }
}

/* Probabilities times values. Rows of p past the last query hold old data; the rows of
 * sums computed from them are never read. */
static void pv_matmul_block(const struct attention_ctx *r, const struct block *b, const uint16_t *p,
                            float *sums)
{
    const uint16_t *v = r->v + (size_t)(b->groups.first * TILE_PAIRS) * r->v_stride;
    sl_tiles_fence();
    for (int step = 0; step < r->steps; step++, v += 2 * TILE_K, sums += 2 * BLOCK * 16) {
        sl_tiles_zero();
        for (int group = 0; group < b->groups.count; group++) {
            const uint16_t *left = p + (size_t)group * BLOCK * 32;
            const uint16_t *right = v + (size_t)(group * TILE_PAIRS) * r->v_stride;
            sl_tiles_multiply(
                (struct sl_tile_pair){left, left + TILE_ELEMENTS, TILE_BYTES},
                (struct sl_tile_pair){right, right + TILE_K, r->v_stride * sizeof *v});
        }
        sl_tiles_store(sums, BLOCK * 16, 16 * 16, TILE_BYTES);
    }
    sl_tiles_fence();
}

static void attention_blocks(const struct attention_ctx *r)
{
    struct block blocks[STAGES];
    const int count = sl_ceil_div(r->a->queries, BLOCK);
    for (int i = 0; i < count + STAGES - 1; i++) {
        struct block *overwrite = &blocks[i % STAGES], *scored = &blocks[(i + 3) % STAGES];
        struct block *softened = &blocks[(i + 2) % STAGES], *multiplied = &blocks[(i + 1) % STAGES];
        if (i < count) {
            block_init(r, overwrite, i * BLOCK);
            score_block(r, overwrite, r->scores[i % 2]);
        }
        if (i >= 1 && i - 1 < count)
            softmax_block(r, scored, r->scores[(i + 1) % 2], r->p[(i + 1) % 2]);
        if (i >= 2 && i - 2 < count)
            pv_matmul_block(r, softened, r->p[i % 2], r->sums[i % 2]);
        if (i >= 3)
            write_block(r, multiplied, r->sums[(i + 1) % 2]);
    }
}

static void attend_head(const struct sl_attention *a)
{
    const struct attention_ctx r = ctx_of(a);
    sl_tiles_configure(sl_min(a->queries, TILE_ROWS), sl_min(a->queries - TILE_ROWS, TILE_ROWS));
    sl_tiles_stay_awake();
    if (a->cached && !fills_tiles(a))
        copy_pairs(&r);
    else if (!a->cached)
        pack_values(&r);
    sl_tiles_stay_awake();
    if (r.k == r.own_k)
        pack_keys(&r);
    attention_blocks(&r);
    sl_tiles_release();
}

void SL_LEVEL(attention)(const struct sl_kernels *kernels, const struct sl_attention *a)
{
    assert(a->scratch);
    assert(a->scale > 0.0f); /* so that the largest score stays the largest */
    if (a->queries == 1 && a->cached && fills_tiles(a)) {
        SL_LEVEL(attention_decode)(kernels, a);
        return;
    }
    for (int head = 0; head < a->heads; head++) {
        const struct sl_attention one = sl_attention_head(kernels, a, head);
        attend_head(&one);
    }
}
