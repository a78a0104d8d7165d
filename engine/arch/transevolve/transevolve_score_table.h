/* transevolve_score_table.h - the result of sl_transevolve_scores for sl_transevolve_attention;
 * shared by transevolve_scores.c, transevolve_attention.c and transevolve_attention_cached.c.
 *
 * A head block is one head of some queries of one sequence. The table has a row for every query and
 * head, in the order sequence, head, query; column j belongs to the j-th key of the sequence.
 * Without caches a row is softmax_j(scale q_i . k_j), as operands, shared by all depths. With
 * caches it is scale q_i . k_j in fp32. Either way its gradient is that of the scores. */
#pragma once

#include "layers/layers.h"

struct sl_head_block {
    const struct sl_sequence *sequence; /* of the queries */
    int head;
    int first, count;           /* queries, within the sequence */
    int keys_first, keys_count; /* rows of what they attend to; if it is cached, of what is new */
    int keys_cached;
};

struct sl_transevolve_score_table {
    int heads;
    bool bidirectional;
    int cache_keys, cache_bias;   /* their columns in a cache */
    const struct sl_view *source; /* of the keys, if they are those of other texts; else NULL */
    const int32_t *source_of;     /* as in struct sl_attention_args */
    float scale;
    bool cached;
    struct sl_tensor *query, *key, *bias;
    struct sl_tensor *table;
    struct sl_tensor
        *transposed; /* each square of the table transposed, while training; else NULL */
    struct sl_head_block
        *blocks; /* queries of one sequence that are computed together; of all heads */
    int block_count;
    struct sl_head_block *whole; /* all queries of each sequence */
    int max_keys, max_queries;   /* of any sequence */
};

static inline struct sl_head_block sl_head_block_at(const struct sl_transevolve_score_table *m,
                                                    int piece)
{
    struct sl_head_block u = m->blocks[piece / m->heads];
    u.head = piece % m->heads;
    return u;
}

/* The table's row of query i of the block's sequence. */
static inline int sl_head_block_row(const struct sl_transevolve_score_table *m,
                                    const struct sl_head_block *u, int i)
{
    return u->sequence->first * m->heads + u->head * u->sequence->rows + i;
}

/* Keys that query i of the block's sequence sees. */
static inline int sl_head_block_visible(const struct sl_transevolve_score_table *m,
                                        const struct sl_head_block *u, int i)
{
    if (m->bidirectional || m->source)
        return u->keys_cached + u->keys_count;
    return (m->cached ? u->sequence->position : 0) + i + 1;
}

/* The transposed table's row of key j. */
static inline int sl_head_block_key_row(const struct sl_transevolve_score_table *m,
                                        const struct sl_head_block *u, int j)
{
    return u->keys_first * m->heads + u->head * u->keys_count + j;
}

/* The columns of one head in some rows. */
struct sl_head_rows {
    const struct sl_tensor *x;
    int row, rows, column, columns;
};

/* A head's part of all keys of the block's sequence, or of their values. */
static inline struct sl_head_rows sl_head_keys_of(const struct sl_transevolve_score_table *m,
                                                  const struct sl_tensor *x,
                                                  const struct sl_head_block *u)
{
    const int columns = x->cols / m->heads;
    return (struct sl_head_rows){.x = x,
                                 .row = u->keys_first,
                                 .rows = u->keys_count,
                                 .column = u->head * columns,
                                 .columns = columns};
}

/* A head's part of some queries. */
static inline struct sl_head_rows sl_head_rows_of(const struct sl_transevolve_score_table *m,
                                                  const struct sl_tensor *x,
                                                  const struct sl_head_block *u, int first,
                                                  int rows)
{
    const int columns = x->cols / m->heads;
    return (struct sl_head_rows){.x = x,
                                 .row = u->sequence->first + first,
                                 .rows = rows,
                                 .column = u->head * columns,
                                 .columns = columns};
}

static inline void *sl_head_row(const struct sl_head_rows *p, int i)
{
    return sl_columns(p->x, p->row + i, p->column);
}

/* Prepares a part of an operand as the left side of a product. Copies it to spare if the product
 * would read columns of another head. */
size_t sl_head_rows_bytes(const struct sl_kernels *k, int rows, int columns);
void sl_head_rows_as_left_operand(const struct sl_kernels *k, const struct sl_head_rows *p,
                                  void *spare, struct sl_gemm *g);
/* Writes one row of a part; spare: sl_head_rows_bytes of one row. */
void sl_head_row_write(const struct sl_kernels *k, const struct sl_head_rows *p, int i,
                       const float *y, void *spare);

/* Hands out a worker's memory piece by piece; without memory it only counts. */
struct sl_scratch {
    char *base;
    size_t used;
};

void *sl_scratch_take(struct sl_scratch *scratch, size_t bytes);

/* For sequences with caches: forward only. The bits do not depend on how a text is divided into
 * chunks. */
void sl_transevolve_scores_cached(struct sl_tape *t, struct sl_transevolve_score_table *m);
struct sl_tensor *sl_transevolve_attention_cached(struct sl_tape *t,
                                                  const struct sl_transevolve_score_table *m,
                                                  struct sl_tensor *value, int depth,
                                                  int cache_values);
