/* dataloader_pretraining.c - pieces of documents in which some tokens are masked or replaced, each
 * piece once per epoch.
 *
 * Masked tokens become [MASK]; the model predicts them. Replaced tokens become one that follows
 * the same token before, or precedes the same token after, somewhere else in the text; the model
 * detects them. How many of a passage is a function of its length, so the losses of a batch are
 * means. */
#include "base/dynarray.h"
#include "base/int_math.h"
#include "base/random.h"
#include "train/dataloader_kind.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALIDATION_PASSAGES_MAX = 512, PASSAGE_MIN = 8 };

/* -- pieces ----------------------------------------------------------------------------------- */

/* Tokens of a passage: a passage has room for special tokens at its ends, too. */
static int passage_tokens(const struct sl_dataloader *m)
{
    return m->context - 2;
}

/* Cuts a document into the fewest pieces, of equal length but for one token. */
static bool cut_document(struct sl_dataloader *m, size_t *room, int64_t first, int64_t last,
                         struct sl_err *err)
{
    int64_t most = passage_tokens(m), count = (last - first + most - 1) / most;
    if (!sl_dynarray_reserve(&m->passages, room, (size_t)(m->passages_count + count),
                             sizeof *m->passages, err))
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = first + (last - first) * i / count;
        int64_t to = first + (last - first) * (i + 1) / count;
        m->passages[m->passages_count++] = (struct sl_passage){from, (int)(to - from)};
    }
    return true;
}

static bool cut_documents(struct sl_dataloader *m, struct sl_err *err)
{
    size_t room = 0;
    const struct sl_documents *d = &m->documents;
    for (int i = 0; i < d->documents; i++)
        if (!cut_document(m, &room, d->starts[i], d->starts[i + 1], err))
            return false;
    double part = (double)m->hyperparameters->validation_fraction * m->passages_count;
    m->validation_passages = (int)fmax(1.0, fmin(part, VALIDATION_PASSAGES_MAX));
    return m->passages_count > m->validation_passages ||
           sl_fail(err, SL_BAD_INPUT,
                   "the text is too short: it has only %d passages of up to %d tokens",
                   m->passages_count, passage_tokens(m));
}

static int train_passages(const struct sl_dataloader *m)
{
    return m->passages_count - m->validation_passages;
}

/* -- opening ---------------------------------------------------------------------------------- */

static bool check(const struct sl_dataloader *m, struct sl_err *err)
{
    const struct sl_hyperparameters *h = m->hyperparameters;
    if (h->mask_fraction + h->replace_fraction > 0.9f)
        return sl_fail(
            err, SL_BAD_INPUT,
            "mask_fraction and replace_fraction are %g and %g: expected at most 0.9 together",
            (double)h->mask_fraction, (double)h->replace_fraction);
    if (m->positions < PASSAGE_MIN)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid context_length '%d': pretraining needs at least %d", m->positions,
                       PASSAGE_MIN);
    return (m->context >= PASSAGE_MIN && m->context <= m->positions) ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid passage_length '%d': expected %d to %d, the context length",
                   h->passage_length, PASSAGE_MIN, m->positions);
}

static bool check_tokens(const struct sl_dataloader *m, struct sl_err *err)
{
    bool masks = m->hyperparameters->mask_fraction > 0.0f;
    if (strcmp(sl_tokenizer_kind(m->tokens), "characters") == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid tokenizer 'characters': pretraining needs wordpiece or words");
    return !masks || sl_tokenizer_special(m->tokens, SL_SPECIAL_MASK) >= 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid mask_fraction: the tokenizer %s has no [MASK] token; use wordpiece",
                   sl_tokenizer_kind(m->tokens));
}

static bool allocate(struct sl_dataloader *m, struct sl_err *err)
{
    size_t rows = (size_t)sl_dataloader_micro_examples(m) * (size_t)m->context;
    m->order = malloc((size_t)m->passages_count * sizeof *m->order);
    m->masked_rows = calloc(rows, sizeof *m->masked_rows);
    m->shuffled = calloc((size_t)m->context, sizeof *m->shuffled);
    m->replaced = calloc(rows, sizeof *m->replaced);
    return (m->order && m->masked_rows && m->shuffled && m->replaced) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for %d pieces of text", m->passages_count);
}

static bool pretraining_open(struct sl_dataloader *m, const struct sl_data_sources *sources,
                             struct sl_config *config, struct sl_err *err)
{
    struct sl_tokenizer_options how;
    m->positions = config->context_length;
    if (m->hyperparameters->passage_length > 0)
        m->context = m->hyperparameters->passage_length;
    if (!check(m, err) || !sl_dataloader_vocabulary(m, sources, "wordpiece", &how, err))
        return false;
    if (!m->tokens)
        m->tokens = sl_corpus_train_tokenizer(sources->corpus, &how, err);
    return m->tokens && check_tokens(m, err) &&
           sl_documents_open(&m->documents, sources->corpus, m->tokens, err) &&
           sl_occurrences_open(&m->occurrences, &m->documents, sl_tokenizer_size(m->tokens), err) &&
           cut_documents(m, err) && allocate(m, err);
}

/* -- batches ---------------------------------------------------------------------------------- */

static int part_of(int count, float fraction)
{
    return (int)lroundf(fraction * (float)count);
}

static int specials_of(const struct sl_dataloader *m)
{
    return (sl_tokenizer_special(m->tokens, SL_SPECIAL_BEGIN) >= 0) +
           (sl_tokenizer_special(m->tokens, SL_SPECIAL_END) >= 0);
}

static void count_passage(const struct sl_dataloader *m, int passage, int *rows, int *masked)
{
    int count = m->passages[passage].count;
    *rows += count + specials_of(m);
    *masked += part_of(count, m->hyperparameters->mask_fraction);
}

/* The weights of a whole batch: of all its pieces, whatever the micro-batch. */
static void weigh(struct sl_dataloader *m, struct sl_batch *batch, int rows, int masked)
{
    const struct sl_hyperparameters *h = m->hyperparameters;
    batch->loss_scale = batch->row_scale = 1.0f / (float)rows;
    batch->corruption = &m->corruption;
    m->masked = (struct sl_rows){.index = m->masked_rows};
    m->corruption = (struct sl_corruption){
        .masked = &m->masked,
        .targets = m->targets,
        .replaced = m->replaced,
        .masked_weight = masked > 0 ? (float)rows / (float)masked : 0.0f,
        .replaced_weight = h->replace_fraction > 0.0f ? h->replace_weight : 0.0f};
}

/* Chooses the first `chosen` of m->shuffled: that many of 0 .. count - 1, each once. */
static void choose(struct sl_dataloader *m, int count, int chosen, uint64_t key)
{
    for (int i = 0; i < count; i++)
        m->shuffled[i] = i;
    for (int i = 0; i < chosen; i++) {
        int j = i + (int)sl_random_below(key, (uint64_t)i, (uint64_t)(count - i));
        int32_t other = m->shuffled[j];
        m->shuffled[j] = m->shuffled[i];
        m->shuffled[i] = other;
    }
}

/* A token in place of the one at `at`: as after the token before it, or before the one after it. */
static int32_t replacement(const struct sl_dataloader *m, const struct sl_passage *passage, int at,
                           uint64_t key)
{
    const int32_t *ids = m->documents.ids + passage->first;
    uint64_t own = sl_random_bits(key, (uint64_t)at);
    bool after = at == 0 || (at + 1 < passage->count && own % 2);
    if (passage->count == 1)
        return sl_occurrences_draw(&m->occurrences, ids[0], 1, own);
    return after ? sl_occurrences_draw(&m->occurrences, ids[at + 1], -1, own)
                 : sl_occurrences_draw(&m->occurrences, ids[at - 1], 1, own);
}

static void corrupt(struct sl_dataloader *m, const struct sl_passage *passage, int32_t *tokens,
                    int row, uint64_t key)
{
    const struct sl_hyperparameters *h = m->hyperparameters;
    int masked = part_of(passage->count, h->mask_fraction);
    int replaced = part_of(passage->count, h->replace_fraction);
    choose(m, passage->count, sl_min(masked + replaced, passage->count), sl_random_bits(key, 0));
    uint64_t draw = sl_random_bits(key, 1);
    for (int i = 0; i < masked; i++)
        m->replaced[row + m->shuffled[i]] = -1;
    for (int i = masked; i < sl_min(masked + replaced, passage->count); i++) {
        int at = m->shuffled[i];
        int32_t real = tokens[at];
        tokens[at] = replacement(m, passage, at, draw);
        m->replaced[row + at] = tokens[at] != real;
    }
    for (int i = 0; i < passage->count; i++) { /* in order: rows ascend */
        if (m->replaced[row + i] >= 0)
            continue;
        m->targets[m->masked.count] = tokens[i];
        m->masked_rows[m->masked.count++] = row + i;
        tokens[i] = sl_tokenizer_special(m->tokens, SL_SPECIAL_MASK);
    }
}

/* Appends a corrupted piece. Its place in the context is random, so every position is trained. */
static void append_passage(struct sl_dataloader *m, struct sl_batch *batch, int number,
                           uint64_t key)
{
    const struct sl_passage *passage = &m->passages[number];
    int32_t begin = sl_tokenizer_special(m->tokens, SL_SPECIAL_BEGIN);
    int32_t end = sl_tokenizer_special(m->tokens, SL_SPECIAL_END);
    int rows = passage->count + specials_of(m), first = batch->rows, text = first + (begin >= 0);
    m->sequences[batch->count++] = (struct sl_sequence){
        .first = first,
        .rows = rows,
        .position = (int)sl_random_below(key, 2, (uint64_t)(m->positions - rows + 1))};
    if (begin >= 0)
        m->ids[first] = begin;
    memcpy(m->ids + text, m->documents.ids + passage->first,
           (size_t)passage->count * sizeof *m->documents.ids);
    memset(m->replaced + text, 0, (size_t)passage->count * sizeof *m->replaced);
    corrupt(m, passage, m->ids + text, text, key);
    if (end >= 0)
        m->ids[first + rows - 1] = end;
    m->replaced[first] = begin >= 0 ? -1 : m->replaced[first];
    m->replaced[first + rows - 1] = end >= 0 ? -1 : m->replaced[first + rows - 1];
    batch->rows += rows;
}

static void pretraining_fill(struct sl_dataloader *m, struct sl_batch *batch, int step, int first,
                             int last)
{
    const int32_t *order = sl_dataloader_order(m, step);
    uint64_t seed = (uint64_t)m->hyperparameters->seed;
    uint64_t key = sl_random_bits(sl_random_key(seed, "corruption"), (uint64_t)step);
    int rows = 0, masked = 0, examples = sl_dataloader_examples(m, step);
    for (int i = 0; i < examples; i++) {
        if (i == first)
            batch->row_base = rows;
        count_passage(m, order[i], &rows, &masked);
    }
    batch->targets = NULL;
    weigh(m, batch, rows, masked);
    for (int i = first; i < last; i++)
        append_passage(m, batch, order[i], sl_random_bits(key, (uint64_t)i));
}

static void pretraining_enlarge(struct sl_dataloader *m, struct sl_batch *batch)
{
    int masked = batch->count * part_of(passage_tokens(m), m->hyperparameters->mask_fraction);
    batch->targets = NULL;
    weigh(m, batch, batch->rows, masked);
    for (int i = 0; i < masked; i++)
        m->masked_rows[i] = i;
    m->masked.count = masked;
}

/* -- evaluation ------------------------------------------------------------------------------- */

/* The same corruption in every evaluation. */
static void evaluate_passages(struct sl_dataloader *m, const struct sl_model *model,
                              struct sl_tape *tape, struct sl_evaluation *out)
{
    struct sl_forward_stats sum = {0};
    int rows = 0, masked = 0;
    for (int i = train_passages(m); i < m->passages_count; i++)
        count_passage(m, i, &rows, &masked);
    uint64_t key = sl_random_key((uint64_t)m->hyperparameters->seed, "validation corruption");
    const int most = sl_dataloader_micro_examples(m);
    for (int first = train_passages(m); first < m->passages_count; first += most) {
        struct sl_batch batch = {.tokens = m->ids, .sequences = m->sequences};
        weigh(m, &batch, rows, masked);
        int last = sl_min(first + most, m->passages_count);
        for (int i = first; i < last; i++)
            append_passage(m, &batch, i, sl_random_bits(key, (uint64_t)i));
        sl_tape_begin(tape, &batch, false);
        (void)sl_model_forward(model, tape);
        sl_forward_stats_add(&sum, &tape->stats);
    }
    *out = (struct sl_evaluation){.loss = sum.loss,
                                  .accuracy = (double)NAN,
                                  .examples = m->validation_passages,
                                  .tokens = rows,
                                  .layers_mean = (double)model->config.depth};
    sl_evaluation_set_means(out, &sum, m->validation_passages);
}

static bool pretraining_evaluate(const struct sl_dataloader *m, const struct sl_model *model,
                                 const struct sl_policy *policy, struct sl_evaluation *out,
                                 struct sl_err *err)
{
    struct sl_dataloader own = *m; /* its batches use the same memory */
    struct sl_tape tape;
    struct sl_batch largest = sl_dataloader_largest_batch(&own);
    if (!sl_model_open_tape(model, policy ? policy : &model->policy, &largest, &tape, err))
        return sl_wrap(err, "evaluate");
    evaluate_passages(&own, model, &tape, out);
    sl_tape_release(&tape);
    return isfinite(out->loss) ||
           sl_fail(err, SL_NOT_FINITE, "evaluate: the model produced NaN or infinity");
}

static int64_t pretraining_mark(const struct sl_dataloader *m)
{
    return sl_fingerprint(m->documents.ids, (size_t)m->documents.count * sizeof *m->documents.ids);
}

const struct sl_dataloader_kind sl_dataloader_pretraining = {.task = SL_TASK_PRETRAINING,
                                                             .open = pretraining_open,
                                                             .epoch_examples = train_passages,
                                                             .fill = pretraining_fill,
                                                             .evaluate = pretraining_evaluate,
                                                             .fingerprint = pretraining_mark,
                                                             .enlarge = pretraining_enlarge};
