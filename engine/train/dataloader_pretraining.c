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
static int passage_tokens(const struct sl_dataloader *d)
{
    return d->context - 2;
}

/* Cuts a document into the fewest pieces, of equal length but for one token. */
static bool cut_document(struct sl_dataloader *d, size_t *room, int64_t first, int64_t last,
                         struct sl_err *err)
{
    int64_t most = passage_tokens(d), count = (last - first + most - 1) / most;
    if (!sl_dynarray_reserve(&d->passages, room, (size_t)(d->passages_count + count),
                             sizeof *d->passages, err))
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = first + (last - first) * i / count;
        int64_t to = first + (last - first) * (i + 1) / count;
        d->passages[d->passages_count++] = (struct sl_passage){from, (int)(to - from)};
    }
    return true;
}

static bool cut_documents(struct sl_dataloader *d, struct sl_err *err)
{
    size_t room = 0;
    const struct sl_documents *all = &d->documents;
    for (int i = 0; i < all->documents; i++)
        if (!cut_document(d, &room, all->starts[i], all->starts[i + 1], err))
            return false;
    double part = (double)d->hyperparameters->validation_fraction * d->passages_count;
    d->validation_passages = (int)fmax(1.0, fmin(part, VALIDATION_PASSAGES_MAX));
    return d->passages_count > d->validation_passages ||
           sl_fail(err, SL_BAD_INPUT,
                   "the text is too short: it has only %d passages of up to %d tokens",
                   d->passages_count, passage_tokens(d));
}

static int train_passages(const struct sl_dataloader *d)
{
    return d->passages_count - d->validation_passages;
}

/* -- opening ---------------------------------------------------------------------------------- */

static bool check(const struct sl_dataloader *d, struct sl_err *err)
{
    const struct sl_hyperparameters *h = d->hyperparameters;
    if (h->mask_fraction + h->replace_fraction > 0.9f)
        return sl_fail(
            err, SL_BAD_INPUT,
            "mask_fraction and replace_fraction are %g and %g: expected at most 0.9 together",
            (double)h->mask_fraction, (double)h->replace_fraction);
    if (d->positions < PASSAGE_MIN)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid context_length '%d': pretraining needs at least %d", d->positions,
                       PASSAGE_MIN);
    return (d->context >= PASSAGE_MIN && d->context <= d->positions) ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid passage_length '%d': expected %d to %d, the context length",
                   h->passage_length, PASSAGE_MIN, d->positions);
}

static bool check_tokens(const struct sl_dataloader *d, struct sl_err *err)
{
    bool masks = d->hyperparameters->mask_fraction > 0.0f;
    if (strcmp(sl_tokenizer_kind(d->tokens), "characters") == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid tokenizer 'characters': pretraining needs wordpiece or words");
    return !masks || sl_tokenizer_special(d->tokens, SL_SPECIAL_MASK) >= 0 ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid mask_fraction: the tokenizer %s has no [MASK] token; use wordpiece",
                   sl_tokenizer_kind(d->tokens));
}

static bool allocate(struct sl_dataloader *d, struct sl_err *err)
{
    size_t rows = (size_t)sl_dataloader_micro_examples(d) * (size_t)d->context;
    d->order = malloc((size_t)d->passages_count * sizeof *d->order);
    d->masked_rows = calloc(rows, sizeof *d->masked_rows);
    d->shuffled = calloc((size_t)d->context, sizeof *d->shuffled);
    d->replaced = calloc(rows, sizeof *d->replaced);
    return (d->order && d->masked_rows && d->shuffled && d->replaced) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for %d pieces of text", d->passages_count);
}

static bool pretraining_open(struct sl_dataloader *d, const struct sl_data_sources *sources,
                             struct sl_config *config, struct sl_err *err)
{
    struct sl_tokenizer_options how;
    d->positions = config->context_length;
    if (d->hyperparameters->passage_length > 0)
        d->context = d->hyperparameters->passage_length;
    if (!check(d, err) || !sl_dataloader_vocabulary(d, sources, "wordpiece", &how, err))
        return false;
    if (!d->tokens)
        d->tokens = sl_corpus_train_tokenizer(sources->corpus, &how, err);
    return d->tokens && check_tokens(d, err) &&
           sl_documents_open(&d->documents, sources->corpus, d->tokens, err) &&
           sl_occurrences_open(&d->occurrences, &d->documents, sl_tokenizer_size(d->tokens), err) &&
           cut_documents(d, err) && allocate(d, err);
}

/* -- batches ---------------------------------------------------------------------------------- */

static int part_of(int count, float fraction)
{
    return (int)lroundf(fraction * (float)count);
}

static int specials_of(const struct sl_dataloader *d)
{
    return (sl_tokenizer_special(d->tokens, SL_SPECIAL_BEGIN) >= 0) +
           (sl_tokenizer_special(d->tokens, SL_SPECIAL_END) >= 0);
}

static void count_passage(const struct sl_dataloader *d, int passage, int *rows, int *masked)
{
    int count = d->passages[passage].count;
    *rows += count + specials_of(d);
    *masked += part_of(count, d->hyperparameters->mask_fraction);
}

/* The weights of a whole batch: of all its pieces, whatever the micro-batch. */
static void weigh(struct sl_dataloader *d, struct sl_batch *batch, int rows, int masked)
{
    const struct sl_hyperparameters *h = d->hyperparameters;
    batch->loss_scale = batch->row_scale = 1.0f / (float)rows;
    batch->corruption = &d->corruption;
    d->masked = (struct sl_rows){.index = d->masked_rows};
    d->corruption = (struct sl_corruption){
        .masked = &d->masked,
        .targets = d->targets,
        .replaced = d->replaced,
        .masked_weight = masked > 0 ? (float)rows / (float)masked : 0.0f,
        .replaced_weight = h->replace_fraction > 0.0f ? h->replace_weight : 0.0f};
}

/* Chooses the first `chosen` of d->shuffled: that many of 0 .. count - 1, each once. */
static void choose(struct sl_dataloader *d, int count, int chosen, uint64_t key)
{
    for (int i = 0; i < count; i++)
        d->shuffled[i] = i;
    for (int i = 0; i < chosen; i++) {
        int j = i + (int)sl_random_below(key, (uint64_t)i, (uint64_t)(count - i));
        int32_t other = d->shuffled[j];
        d->shuffled[j] = d->shuffled[i];
        d->shuffled[i] = other;
    }
}

/* A token in place of the one at `at`: as after the token before it, or before the one after it. */
static int32_t replacement(const struct sl_dataloader *d, const struct sl_passage *passage, int at,
                           uint64_t key)
{
    const int32_t *ids = d->documents.ids + passage->first;
    uint64_t own = sl_random_bits(key, (uint64_t)at);
    bool after = at == 0 || (at + 1 < passage->count && own % 2);
    if (passage->count == 1)
        return sl_occurrences_draw(&d->occurrences, ids[0], 1, own);
    return after ? sl_occurrences_draw(&d->occurrences, ids[at + 1], -1, own)
                 : sl_occurrences_draw(&d->occurrences, ids[at - 1], 1, own);
}

static void corrupt(struct sl_dataloader *d, const struct sl_passage *passage, int32_t *tokens,
                    int row, uint64_t key)
{
    const struct sl_hyperparameters *h = d->hyperparameters;
    int masked = part_of(passage->count, h->mask_fraction);
    int replaced = part_of(passage->count, h->replace_fraction);
    choose(d, passage->count, sl_min(masked + replaced, passage->count), sl_random_bits(key, 0));
    uint64_t draw = sl_random_bits(key, 1);
    for (int i = 0; i < masked; i++)
        d->replaced[row + d->shuffled[i]] = -1;
    for (int i = masked; i < sl_min(masked + replaced, passage->count); i++) {
        int at = d->shuffled[i];
        int32_t real = tokens[at];
        tokens[at] = replacement(d, passage, at, draw);
        d->replaced[row + at] = tokens[at] != real;
    }
    for (int i = 0; i < passage->count; i++) { /* in order: rows ascend */
        if (d->replaced[row + i] >= 0)
            continue;
        d->targets[d->masked.count] = tokens[i];
        d->masked_rows[d->masked.count++] = row + i;
        tokens[i] = sl_tokenizer_special(d->tokens, SL_SPECIAL_MASK);
    }
}

/* Appends a corrupted piece. Its place in the context is random, so every position is trained. */
static void append_passage(struct sl_dataloader *d, struct sl_batch *batch, int number,
                           uint64_t key)
{
    const struct sl_passage *passage = &d->passages[number];
    int32_t begin = sl_tokenizer_special(d->tokens, SL_SPECIAL_BEGIN);
    int32_t end = sl_tokenizer_special(d->tokens, SL_SPECIAL_END);
    int rows = passage->count + specials_of(d), first = batch->rows, text = first + (begin >= 0);
    d->sequences[batch->count++] = (struct sl_sequence){
        .first = first,
        .rows = rows,
        .position = (int)sl_random_below(key, 2, (uint64_t)d->positions - (uint64_t)rows + 1)};
    if (begin >= 0)
        d->ids[first] = begin;
    memcpy(d->ids + text, d->documents.ids + passage->first,
           (size_t)passage->count * sizeof *d->documents.ids);
    memset(d->replaced + text, 0, (size_t)passage->count * sizeof *d->replaced);
    corrupt(d, passage, d->ids + text, text, key);
    if (end >= 0)
        d->ids[first + rows - 1] = end;
    d->replaced[first] = begin >= 0 ? -1 : d->replaced[first];
    d->replaced[first + rows - 1] = end >= 0 ? -1 : d->replaced[first + rows - 1];
    batch->rows += rows;
}

static void pretraining_fill(struct sl_dataloader *d, struct sl_batch *batch, int step, int first,
                             int last)
{
    const int32_t *order = sl_dataloader_order(d, step);
    uint64_t seed = (uint64_t)d->hyperparameters->seed;
    uint64_t key = sl_random_bits(sl_random_key(seed, "corruption"), (uint64_t)step);
    int rows = 0, masked = 0, examples = sl_dataloader_examples(d, step);
    for (int i = 0; i < examples; i++) {
        if (i == first)
            batch->row_base = rows;
        count_passage(d, order[i], &rows, &masked);
    }
    batch->targets = NULL;
    weigh(d, batch, rows, masked);
    for (int i = first; i < last; i++)
        append_passage(d, batch, order[i], sl_random_bits(key, (uint64_t)i));
}

static void pretraining_enlarge(struct sl_dataloader *d, struct sl_batch *batch)
{
    int masked = batch->count * part_of(passage_tokens(d), d->hyperparameters->mask_fraction);
    batch->targets = NULL;
    weigh(d, batch, batch->rows, masked);
    for (int i = 0; i < masked; i++)
        d->masked_rows[i] = i;
    d->masked.count = masked;
}

/* -- evaluation ------------------------------------------------------------------------------- */

/* The same corruption in every evaluation. */
static void evaluate_passages(struct sl_dataloader *d, const struct sl_model *model,
                              struct sl_tape *tape, struct sl_evaluation *out)
{
    struct sl_forward_stats sum = {0};
    int rows = 0, masked = 0;
    for (int i = train_passages(d); i < d->passages_count; i++)
        count_passage(d, i, &rows, &masked);
    uint64_t key = sl_random_key((uint64_t)d->hyperparameters->seed, "validation corruption");
    const int most = sl_dataloader_micro_examples(d);
    for (int first = train_passages(d); first < d->passages_count; first += most) {
        struct sl_batch batch = {.tokens = d->ids, .sequences = d->sequences};
        weigh(d, &batch, rows, masked);
        int last = sl_min(first + most, d->passages_count);
        for (int i = first; i < last; i++)
            append_passage(d, &batch, i, sl_random_bits(key, (uint64_t)i));
        sl_tape_begin(tape, &batch, false);
        (void)sl_model_forward(model, tape);
        sl_forward_stats_add(&sum, &tape->stats);
    }
    *out = (struct sl_evaluation){.loss = sum.loss,
                                  .accuracy = (double)NAN,
                                  .examples = d->validation_passages,
                                  .tokens = rows,
                                  .layers_mean = (double)model->config.depth};
    sl_evaluation_set_means(out, &sum, d->validation_passages);
}

static bool pretraining_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                                 const struct sl_policy *policy, struct sl_evaluation *out,
                                 struct sl_err *err)
{
    struct sl_dataloader own = *d; /* its batches use the same memory */
    struct sl_tape tape;
    struct sl_batch largest = sl_dataloader_largest_batch(&own);
    if (!sl_model_open_tape(model, policy ? policy : &model->policy, &largest, &tape, err))
        return sl_wrap(err, "evaluate");
    evaluate_passages(&own, model, &tape, out);
    sl_tape_release(&tape);
    return isfinite(out->loss) ||
           sl_fail(err, SL_NOT_FINITE, "evaluate: the model produced NaN or infinity");
}

static int64_t pretraining_mark(const struct sl_dataloader *d)
{
    return sl_fingerprint(d->documents.ids, (size_t)d->documents.count * sizeof *d->documents.ids);
}

const struct sl_dataloader_kind sl_dataloader_pretraining = {.task = SL_TASK_PRETRAINING,
                                                             .open = pretraining_open,
                                                             .epoch_examples = train_passages,
                                                             .fill = pretraining_fill,
                                                             .evaluate = pretraining_evaluate,
                                                             .fingerprint = pretraining_mark,
                                                             .enlarge = pretraining_enlarge};
