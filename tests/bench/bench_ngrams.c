/* bench_ngrams.c - a peer of classifiers: logistic regression on the tokens and n-grams of a text,
 * each scaled by its log-count ratio between the classes. Wang & Manning 2012, "Baselines and
 * Bigrams".
 *
 *     bench_ngrams N VOCAB TRAIN TEST          accuracy after each pass, as JSON lines
 *     bench_ngrams N VOCAB TRAIN TEST TEXTS    and then "label TAB text" for each line of TEXTS
 *                                              whose log odds are 1 or more: pseudo-labels to
 *                                              train a classifier on
 *
 * N is 2 for bigrams, or 3 for trigrams and skip-grams (the pairs around a token), too. VOCAB is a
 * WordPiece vocabulary; TRAIN and TEST have lines "0 or 1 TAB text". A text is the set of its
 * hashed features. With r = log((of class 1 + 1) / (of class 0 + 1)), each over its sum,
 * the odds are exp(b + sum of w r); w learns by steps along each text's gradient. */
#include "base/dynarray.h"
#include "base/random.h"
#include "data/dataset.h"
#include "formats/vocabulary.h"
#include "sluice/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 1 << 25, TOKENS_MAX = 8192, EACH = 4, PASSES = 5 };

static const double rate = 0.01, decay = 1e-4, sure = 1.0;

/* The features of one text, each once, in order. */
struct bag {
    uint32_t list[EACH * TOKENS_MAX];
    int count;
    bool threes; /* N is 3 */
};

struct regression {
    float *r, *w;
    double b;
};

static void need(bool ok, const struct sl_err *err)
{
    if (ok)
        return;
    (void)fprintf(stderr, "bench_ngrams: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Adds the n-gram of a token, by what stands before it: a number for each kind and content. */
static void add(struct bag *bag, int *count, uint64_t before, int32_t token)
{
    bag->list[(*count)++] = (uint32_t)(sl_random_bits(before, (uint64_t)token) % FEATURES);
}

static void fill(struct bag *bag, const int32_t *ids, int count)
{
    enum { TOKENS = 1 << 20 }; /* more than vocabularies have */

    int all = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        add(bag, &all, 0, ids[i]);
        uint64_t last = i > 0 ? 1 + (uint64_t)ids[i - 1] : 0;
        add(bag, &all, 1 + last, ids[i]);
        if (!bag->threes || i < 2)
            continue;
        uint64_t around = TOKENS * (1 + (uint64_t)ids[i - 2]);
        add(bag, &all, around, ids[i]);
        add(bag, &all, around + last, ids[i]);
    }
    qsort(bag->list, (size_t)all, sizeof *bag->list, compare);
    for (int i = 0; i < all; i++)
        if (i == 0 || bag->list[i] != bag->list[kept - 1])
            bag->list[kept++] = bag->list[i];
    bag->count = kept;
}

static void fill_from(struct bag *bag, const struct sl_dataset *set, int example)
{
    int count;
    const int32_t *ids = sl_dataset_ids(set, example, &count);
    fill(bag, ids, count);
}

static void weigh(struct regression *m, const struct sl_dataset *set, struct bag *bag)
{
    double sums[2] = {FEATURES, FEATURES};
    float *counts[2] = {m->w, m->r}; /* until there is better use for them */
    for (int i = 0; i < set->count; i++) {
        int label = sl_label_only(&set->label_lists, i);
        fill_from(bag, set, i);
        for (int f = 0; f < bag->count; f++)
            counts[label][bag->list[f]] += 1.0f;
        sums[label] += bag->count;
    }
    for (int f = 0; f < FEATURES; f++) {
        m->r[f] = logf((m->r[f] + 1.0f) / (m->w[f] + 1.0f)) + (float)log(sums[0] / sums[1]);
        m->w[f] = 0.0f;
    }
}

static double score(const struct regression *m, const struct bag *bag)
{
    double z = m->b;
    for (int f = 0; f < bag->count; f++)
        z += (double)m->w[bag->list[f]] * (double)m->r[bag->list[f]];
    return z;
}

static void pass(struct regression *m, const struct sl_dataset *set, int number, struct bag *bag,
                 int32_t *order)
{
    double step = rate * (1.0 - (double)number / PASSES);
    sl_dataset_order(1, (uint64_t)number, set->count, order);
    for (int i = 0; i < set->count; i++) {
        fill_from(bag, set, order[i]);
        double slope =
            1.0 / (1.0 + exp(-score(m, bag))) - sl_label_only(&set->label_lists, order[i]);
        m->b -= step * slope;
        for (int f = 0; f < bag->count; f++) {
            float *w = &m->w[bag->list[f]];
            *w -= (float)(step * (slope * (double)m->r[bag->list[f]] + decay * (double)*w));
        }
    }
}

static double accuracy(const struct regression *m, const struct sl_dataset *set, struct bag *bag)
{
    int right = 0;
    for (int i = 0; i < set->count; i++) {
        fill_from(bag, set, i);
        right += (score(m, bag) > 0.0) == (sl_label_only(&set->label_lists, i) == 1);
    }
    return (double)right / set->count;
}

static void open_set(struct sl_dataset *set, const char *path, const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    const struct sl_record_options columns = {.label = "1", .text = "2"};
    const struct sl_dataset_encoding encoding = {.context = TOKENS_MAX,
                                                 .unknown = SL_UNKNOWN_REPLACE};
    need(sl_dataset_open(set, path, &columns, NULL, &err), &err);
    need(set->labels.count == 2 || sl_fail(&err, SL_BAD_INPUT, "%s: labels are not two", path),
         &err);
    need(sl_dataset_encode(set, tokens, &encoding, &err), &err);
}

static void label_lines(const struct regression *m, const struct sl_tokenizer *tokens,
                        const char *path, struct bag *bag)
{
    struct sl_err err;
    char *line = NULL;
    size_t room = 0;
    static int32_t ids[TOKENS_MAX];
    FILE *file = fopen(path, "re");
    need(file || sl_fail(&err, SL_NOT_FOUND, "cannot read %s", path), &err);
    for (ssize_t bytes; (bytes = getline(&line, &room, file)) > 0;) {
        bytes -= line[bytes - 1] == '\n';
        const struct sl_encoding job = {.text = line,
                                        .bytes = (size_t)bytes,
                                        .unknown = SL_UNKNOWN_REPLACE,
                                        .special = true,
                                        .ids = ids,
                                        .capacity = TOKENS_MAX};
        long count = sl_tokenizer_tokenize(tokens, &job, &err);
        need(count >= 0, &err);
        fill(bag, ids, (int)(count < TOKENS_MAX ? count : TOKENS_MAX));
        double z = score(m, bag);
        if (fabs(z) >= sure)
            printf("%d\t%.*s\n", z > 0.0, (int)bytes, line);
    }
    free(line);
    (void)fclose(file);
}

int main(int count, char **words)
{
    bool threes = count > 1 && strcmp(words[1], "3") == 0;
    bool known = threes || (count > 1 && strcmp(words[1], "2") == 0);
    if (!known || (count != 5 && count != 6)) {
        printf("bench_ngrams: wants 2 or 3, VOCAB TRAIN TEST [TEXTS]; nothing was measured\n");
        return EXIT_SUCCESS;
    }
    struct sl_err err;
    struct sl_dataset train = {0}, test = {0};
    struct sl_tokenizer *tokens = sl_vocabulary_open("wordpiece", true, words[2], &err);
    need(tokens != NULL, &err);
    open_set(&train, words[3], tokens);
    open_set(&test, words[4], tokens);
    struct regression m = {.r = calloc(FEATURES, sizeof *m.r), .w = calloc(FEATURES, sizeof *m.w)};
    struct bag *bag = calloc(1, sizeof *bag);
    int32_t *order = calloc((size_t)train.count, sizeof *order);
    (void)sl_fail(&err, SL_NO_MEMORY, "no memory");
    need(m.r && m.w && bag && order, &err);
    bag->threes = threes;
    weigh(&m, &train, bag);
    for (int i = 0; i < PASSES; i++) {
        pass(&m, &train, i, bag, order);
        (void)fprintf(stderr, "{\"pass\":%d,\"accuracy\":%.5f}\n", i + 1, accuracy(&m, &test, bag));
    }
    if (count == 6)
        label_lines(&m, tokens, words[5], bag);
    free(order);
    free(bag);
    free(m.r);
    free(m.w);
    sl_dataset_close(&train);
    sl_dataset_close(&test);
    sl_tokenizer_destroy(tokens);
    return EXIT_SUCCESS;
}
