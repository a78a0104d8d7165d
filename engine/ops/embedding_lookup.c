/* embedding_lookup.c - y_i = dropout(scale (tokens_[token_i] + bigrams_[hash(token_{i-1},
 * token_i)]) + positions_[position_i] + types_[type_i]); the gradient is scattered. */
#include "base/random.h"
#include "ops/ops.h"

#include <string.h>

enum { TOKENS, POSITIONS, BIGRAMS, TYPES, TABLES };

enum { DROPPED_TABLES = 3 }; /* how random numbers are counted */

enum { ROWS = 64, COLUMNS = 64 };

struct lookup {
    float scale, word_dropout;
    int padding_token, position_offset;
    struct sl_dropout dropout;
    uint64_t random_key, token_key;
};

static float *row_of(const struct sl_parameter *table, float *values, int row)
{
    assert(row >= 0);
    assert(row < table->rows);
    return values + (size_t)row * (size_t)table->cols;
}

/* The table row of a bigram. The token before must be in the batch. Checkpoints depend on this
 * function. */
static int bigram_of(const struct sl_node *n, int row)
{
    const struct sl_batch *batch = n->view->batch;
    bool first = n->view->row_position[row] == 0;
    uint64_t before = first ? 0 : 1 + (uint64_t)batch->tokens[row - 1];
    uint64_t bits = sl_random_bits(before, (uint64_t)batch->tokens[row]);
    return (int)(bits % (uint64_t)n->parameter[BIGRAMS]->rows);
}

/* The position's row, and the token type's: a tokenizer may know two where the model has one. */
static int position_of(const struct sl_node *n, int row)
{
    const struct lookup *a = n->args;
    return a->position_offset + n->view->row_position[row];
}

static int type_of(const struct sl_node *n, int row)
{
    const int32_t *types = n->view->batch->types;
    return types && n->parameter[TYPES] && n->parameter[TYPES]->rows > 1 ? types[row] : 0;
}

/* The factor of a row's token or bigram: word dropout. */
static float scale_of(const struct sl_node *n, int table, int row)
{
    const struct lookup *a = n->args;
    const struct sl_batch *batch = n->view->batch;
    if (batch->tokens[row] + 1 == a->padding_token)
        return 0.0f;
    if (a->word_dropout <= 0.0f)
        return a->scale;
    uint64_t place = (uint64_t)(batch->row_base + row) * DROPPED_TABLES + (uint64_t)table;
    bool out = sl_random_uniform(a->token_key, place) < (double)a->word_dropout;
    return out ? 0.0f : a->scale / (1.0f - a->word_dropout);
}

/* Sets bigrams[0] to those of rows first to last - 1, if there is a table of them, and prefetches
 * all rows of both tables: large tables are not in the cache, and so their misses overlap. */
static void find_rows(const struct sl_node *n, int first, int last, int32_t bigrams[ROWS])
{
    const struct sl_parameter *tokens = n->parameter[TOKENS], *table = n->parameter[BIGRAMS];
    assert(last - first <= ROWS);
    for (int r = first; r < last; r++) {
        __builtin_prefetch(row_of(tokens, tokens->data, n->view->batch->tokens[r]));
        if (!table)
            continue;
        bigrams[r - first] = bigram_of(n, r);
        __builtin_prefetch(row_of(table, table->data, bigrams[r - first]));
    }
}

static void add_table_row(const struct sl_node *n, float *y, int table, int row)
{
    const struct sl_parameter *p = n->parameter[table];
    if (p)
        n->tape->kernels->axpy(y, 1.0f, row_of(p, p->data, row), p->cols);
}

static void embedding_lookup_forward_rows(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_tape *t = n->tape;
    const struct lookup *a = n->args;
    const struct sl_parameter *tokens = n->parameter[TOKENS], *bigrams = n->parameter[BIGRAMS];
    int32_t found[ROWS];
    int cols = tokens->cols;
    (void)worker;
    find_rows(n, first, last, found);
    for (int r = first; r < last; r++) {
        float *y = sl_row(n->out, r);
        t->kernels->scale(y, scale_of(n, TOKENS, r),
                          row_of(tokens, tokens->data, n->view->batch->tokens[r]), cols);
        if (bigrams)
            t->kernels->axpy(y, scale_of(n, BIGRAMS, r),
                             row_of(bigrams, bigrams->data, found[r - first]), cols);
        add_table_row(n, y, POSITIONS, position_of(n, r));
        add_table_row(n, y, TYPES, type_of(n, r));
        if (a->dropout.threshold)
            t->kernels->dropout(y, y, a->dropout, sl_dropout_row_key(n->view, a->random_key, r), 0,
                                cols);
    }
}

static void embedding_lookup_forward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->rows, ROWS, embedding_lookup_forward_rows);
}

/* Some columns of a row's gradient. */
struct columns {
    const float *dy;
    int first, count;
};

/* Adds them to that of a table's row; a fixed table has none. */
static void add_gradient(const struct sl_node *n, int table, int row, float scale,
                         const struct columns *c)
{
    const struct sl_parameter *p = n->parameter[table];
    if (p && p->grad)
        n->tape->kernels->axpy(row_of(p, p->grad, row) + c->first, scale, c->dy, c->count);
}

/* Several rows may hold the same token, so threads divide the columns: each sums all rows in
 * order. */
static void backward_columns(void *ctx, int first, int last, int worker)
{
    const struct sl_node *n = ctx;
    const struct sl_tape *t = n->tape;
    const struct lookup *a = n->args;
    float dy[COLUMNS];
    int cols = last - first;
    const struct columns columns = {dy, first, cols};
    (void)worker;
    for (int r = 0; r < n->out->rows; r++) {
        const float *dropped = sl_grad_row(n->out, r) + first;
        if (a->dropout.threshold)
            t->kernels->dropout(dy, dropped, a->dropout,
                                sl_dropout_row_key(n->view, a->random_key, r), first, cols);
        else
            memcpy(dy, dropped, (size_t)cols * sizeof *dy);
        add_gradient(n, TOKENS, n->view->batch->tokens[r], scale_of(n, TOKENS, r), &columns);
        if (n->parameter[BIGRAMS])
            add_gradient(n, BIGRAMS, bigram_of(n, r), scale_of(n, BIGRAMS, r), &columns);
        add_gradient(n, POSITIONS, position_of(n, r), 1.0f, &columns);
        add_gradient(n, TYPES, type_of(n, r), 1.0f, &columns);
    }
}

static void embedding_lookup_backward(const struct sl_node *n)
{
    sl_node_parallel(n, n->out->cols, COLUMNS, backward_columns);
}

static const struct sl_op lookup = {.name = "embedding_lookup",
                                    .forward = embedding_lookup_forward,
                                    .backward = embedding_lookup_backward};

struct sl_tensor *sl_embedding_lookup(struct sl_tape *t, struct sl_embedding_lookup_args args)
{
    assert(!args.positions || args.positions->cols == args.tokens->cols);
    assert(!args.types || args.types->cols == args.tokens->cols);
    assert(!args.bigrams || args.bigrams->cols == args.tokens->cols);
    struct lookup *a = sl_tape_struct(t, 1, sizeof *a);
    a->scale = args.scale;
    a->padding_token = args.padding_token;
    a->position_offset = args.position_offset;
    if (t->training && args.dropout > 0.0f) {
        a->dropout = sl_dropout_of(args.dropout);
        a->random_key = sl_tape_random(t);
    }
    if (t->training && t->word_dropout > 0.0f) {
        a->word_dropout = t->word_dropout;
        a->token_key = sl_tape_random(t);
    }
    return sl_tape_run(
        t, (struct sl_node){.op = &lookup,
                            .out = sl_tensor_take(t, t->view->batch->rows, args.tokens->cols),
                            .parameter = {args.tokens, args.positions, args.bigrams, args.types},
                            .args = a});
}
