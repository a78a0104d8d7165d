/* dataloader_labelled.c - labelled texts, each once per epoch, shuffled anew for every epoch. */
#include "base/int_math.h"
#include "base/random.h"
#include "tokenizer/tokenizer.h"
#include "train/dataloader_kind.h"

#include <stdlib.h>
#include <string.h>

/* Architectures are trained with a softmax, which has one label. */
static bool check_labels(const struct sl_dataset *set, struct sl_err *err)
{
    return !set->multi_label ||
           sl_fail(err, SL_BAD_INPUT,
                   "texts with several labels are for the linear model, which training without an "
                   "architecture makes") ||
           sl_wrap_file(err, set->path, 0);
}

static bool split(struct sl_dataloader *d, const struct sl_data_sources *s, struct sl_err *err)
{
    struct sl_labels listed = {0};
    bool ok = (!s->labels || sl_labels_read(&listed, s->labels, err)) &&
              sl_dataset_open(&d->train, s->data, &s->columns, s->labels ? &listed : NULL, err);
    sl_labels_release(&listed);
    if (!ok || !check_labels(&d->train, err) || !sl_dataset_check_labels(&d->train, err))
        return false;
    if (s->validation)
        return sl_dataset_open(&d->validation, s->validation, &s->columns, &d->train.labels, err) &&
               check_labels(&d->validation, err);
    return sl_dataset_split(&d->train, (double)d->hyperparameters->validation_fraction,
                            (uint64_t)d->hyperparameters->seed, &d->validation, err);
}

/* The vocabulary is learnt from the training texts only: validation texts may have unseen words. */
static bool find_tokens(struct sl_dataloader *d, const struct sl_data_sources *s,
                        struct sl_err *err)
{
    struct sl_tokenizer_options how;
    if (!sl_dataloader_vocabulary(d, s, "words", &how, err))
        return false;
    if (!d->tokens)
        d->tokens = sl_tokenizer_train(&how, d->train.text, d->train.text_bytes, err);
    if (d->tokens)
        sl_tokenizer_set_truncation(d->tokens, s->truncation);
    return d->tokens;
}

/* Every text, and the crops of each. */
static int epoch_examples(const struct sl_dataloader *d)
{
    return d->train.count * (1 + d->hyperparameters->random_crops);
}

static bool order_open(struct sl_dataloader *d, struct sl_err *err)
{
    int crops = d->hyperparameters->random_crops;
    if (d->train.count > INT32_MAX / (1 + crops))
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid random_crops '%d' for %d texts: expected at most %d", crops,
                       d->train.count, INT32_MAX / d->train.count - 1);
    d->order = malloc((size_t)epoch_examples(d) * sizeof *d->order);
    d->crop = malloc((size_t)d->context * sizeof *d->crop);
    return (d->order && d->crop) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for %d examples", epoch_examples(d));
}

/* Texts over classes, over the texts of this class: on average 1. */
static bool balance_labels(struct sl_dataloader *d, struct sl_err *err)
{
    int classes = d->train.labels.count;
    if (!d->hyperparameters->balance_labels)
        return true;
    d->label_weights = calloc((size_t)classes, sizeof *d->label_weights);
    if (!d->label_weights)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the weights of %d labels", classes);
    for (int i = 0; i < d->train.count; i++)
        d->label_weights[sl_label_only(&d->train.label_lists, i)] += 1.0f;
    for (int i = 0; i < classes; i++)
        if (d->label_weights[i] > 0.0f)
            d->label_weights[i] = (float)d->train.count / ((float)classes * d->label_weights[i]);
    return true;
}

static bool labelled_open(struct sl_dataloader *d, const struct sl_data_sources *s,
                          struct sl_config *config, struct sl_err *err)
{
    struct sl_dataset_encoding encoding = {.context = config->context_length,
                                           .truncation = s->truncation,
                                           .unknown = SL_UNKNOWN_REPLACE};
    if (!split(d, s, err) || !find_tokens(d, s, err) ||
        !sl_dataset_encode(&d->train, d->tokens, &encoding, err))
        return false;
    encoding.keep_text = s->keep_validation;
    if (!sl_dataset_encode(&d->validation, d->tokens, &encoding, err))
        return false;
    config->classes = d->train.labels.count;
    return balance_labels(d, err) && order_open(d, err);
}

/* Examples of an epoch are the texts, then the first crop of each, and so on. */
static int text_of(const struct sl_dataloader *d, int number)
{
    return number % d->train.count;
}

/* The first crop of the first text comes after all texts. */
static bool is_crop(const struct sl_dataloader *d, int number)
{
    return number >= d->train.count;
}

/* Some of a text's tokens. */
struct span {
    int first, count;
};

/* All tokens except those that mark begin and end, which not every tokenizer adds. */
static struct span words_of(const struct sl_dataloader *d, int number)
{
    int count;
    const int32_t *ids = sl_dataset_ids(&d->train, text_of(d, number), &count);
    struct span span = {.first = ids[0] == sl_tokenizer_special(d->tokens, SL_SPECIAL_BEGIN)};
    span.count = count - span.first;
    span.count -=
        span.count > 0 && ids[count - 1] == sl_tokenizer_special(d->tokens, SL_SPECIAL_END);
    return span;
}

/* Chooses a crop: 4 to 127 tokens at a uniform position; the length is log-uniform. */
static struct span draw_span(const struct sl_dataloader *d, int number)
{
    enum { LEAST = 4, DOUBLINGS = 5 };

    uint64_t key = sl_random_key((uint64_t)d->hyperparameters->seed, "crops");
    uint64_t crop = sl_random_bits(key, (uint64_t)(d->epoch * epoch_examples(d) + number));
    const struct span words = words_of(d, number);
    int length = LEAST << sl_random_below(crop, 0, DOUBLINGS);
    length += (int)sl_random_below(crop, 1, (uint64_t)length);
    struct span span = {.first = words.first, .count = sl_min(words.count, length)};
    span.first += (int)sl_random_below(crop, 2, (uint64_t)(words.count - span.count) + 1);
    return span;
}

static int tokens_of(const struct sl_dataloader *d, int number)
{
    int tokens = d->train.examples[text_of(d, number)].tokens;
    return is_crop(d, number) ? tokens - words_of(d, number).count + draw_span(d, number).count
                              : tokens;
}

/* A crop has the begin and end tokens of its text. */
static const int32_t *cut_crop(struct sl_dataloader *d, int number, int *count)
{
    const int32_t *ids = sl_dataset_ids(&d->train, text_of(d, number), count);
    if (!is_crop(d, number))
        return ids;
    const struct span words = words_of(d, number), span = draw_span(d, number);
    const int end = words.first + words.count;
    int32_t *crop = d->crop;
    memcpy(crop, ids, (size_t)words.first * sizeof *ids);
    memcpy(crop + words.first, ids + span.first, (size_t)span.count * sizeof *ids);
    memcpy(crop + words.first + span.count, ids + end, (size_t)(*count - end) * sizeof *ids);
    *count -= words.count - span.count;
    return crop;
}

/* Rows of the first examples of an order, so many. */
static int rows_until(const struct sl_dataloader *d, const int32_t *order, int last)
{
    int rows = 0;
    for (int i = 0; i < last; i++)
        rows += tokens_of(d, order[i]);
    return rows;
}

static void labelled_fill(struct sl_dataloader *d, struct sl_batch *batch, int step, int first,
                          int last)
{
    const int32_t *order = sl_dataloader_order(d, step);
    int examples = sl_dataloader_examples(d, step);
    batch->targets = NULL;
    batch->label_weights = d->label_weights;
    batch->row_base = rows_until(d, order, first);
    batch->loss_scale = 1.0f / (float)examples;
    batch->row_scale = 1.0f / (float)rows_until(d, order, examples);
    for (int i = first; i < last; i++) {
        int number = order[i], count;
        const int32_t *ids = cut_crop(d, number, &count);
        d->labels[batch->count] = sl_label_only(&d->train.label_lists, text_of(d, number));
        sl_dataloader_append(d, batch, ids, count);
    }
}

static bool labelled_evaluate(const struct sl_dataloader *d, const struct sl_model *model,
                              const struct sl_policy *policy, struct sl_evaluation *out,
                              struct sl_err *err)
{
    return sl_evaluate_labelled(model, &d->validation, policy, out, NULL, err);
}

/* FNV-1a (Fowler, Noll, Vo), of whole numbers instead of bytes. */
static void mix(uint64_t *mark, int64_t x)
{
    *mark = (*mark ^ (uint64_t)x) * 0x100000001b3u;
}

/* Of tokens, of where texts end and of their labels. */
static void mix_set(uint64_t *mark, const struct sl_dataset *set)
{
    mix(mark, sl_fingerprint(set->ids, set->ids_count * sizeof *set->ids));
    for (int i = 0; i < set->count; i++) {
        mix(mark, set->examples[i].tokens);
        mix(mark, sl_label_only(&set->label_lists, i));
    }
}

static int64_t labelled_mark(const struct sl_dataloader *d)
{
    const struct sl_labels *labels = &d->train.labels;
    uint64_t mark = 0xcbf29ce484222325u;
    mix_set(&mark, &d->train);
    mix_set(&mark, &d->validation);
    for (int i = 0; i < labels->count; i++)
        mix(&mark, sl_fingerprint(labels->list[i].name, strlen(labels->list[i].name)));
    return (int64_t)(mark >> 4); /* as many bits as one of a text has */
}

const struct sl_dataloader_kind sl_dataloader_labelled = {.task = SL_TASK_CLASSIFICATION,
                                                          .open = labelled_open,
                                                          .epoch_examples = epoch_examples,
                                                          .fill = labelled_fill,
                                                          .evaluate = labelled_evaluate,
                                                          .fingerprint = labelled_mark};
