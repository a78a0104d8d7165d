/* test_linear.c - the linear classifier: its n-grams, the optimum of its fit, that what is served
 * is what was fitted, and that folds keep equal texts together. */
#include "base/random.h"
#include "linear/linear_training.h"
#include "linear/linear_trials.h"
#include "linear/log_count_ratios.h"
#include "sluice/classifier.h"
#include "support/file_sha256.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/workspace.h"
#include "train/evaluate.h"

#include <math.h>

/* ---- n-grams --------------------------------------------------------------------------------- */

enum { COMMA, GOOD, PLAY, ING, FILM, TOKENS };

static float roles_data[TOKENS] = {[COMMA] = SL_TOKEN_SKIPPED,
                                   [GOOD] = SL_TOKEN_WORD,
                                   [PLAY] = SL_TOKEN_WORD,
                                   [ING] = SL_TOKEN_CONTINUES,
                                   [FILM] = SL_TOKEN_WORD};
static const struct sl_parameter roles = {.data = roles_data, .rows = 1, .cols = TOKENS};

Test(linear, ngrams_are_of_words_without_punctuation)
{
    static const int32_t text[] = {GOOD, COMMA, PLAY, ING, FILM}, pair[] = {PLAY, ING, FILM},
                         other[] = {PLAY, FILM};
    uint64_t hashes[3 * 5], of_pair[3 * 3], of_other[3 * 2];
    int words;
    cr_expect_eq(sl_ngram_hashes(&roles, 3, text, 5, hashes, &words), 3 + 2 + 1);
    cr_expect_eq(words, 3);
    cr_expect_eq(sl_ngram_hashes(&roles, 2, pair, 3, of_pair, &words), 2 + 1);
    cr_expect_eq(sl_ngram_hashes(&roles, 2, other, 2, of_other, &words), 2 + 1);
    cr_expect_eq(of_pair[0], hashes[1]);
    cr_expect_eq(of_pair[2], hashes[4], "the bigram 'playing film'");
    cr_expect_neq(of_other[0], of_pair[0]);
    cr_expect_neq(of_other[2], of_pair[2]);
}

/* "playing" is one token or two; "play" is spelt with the boundary of its token only at its end. */
Test(linear, characters_are_of_words_however_they_are_cut)
{
    static const char *const spelt[] = {
        [COMMA] = ",", [GOOD] = "good", [PLAY] = "play", [ING] = "ing", [FILM] = "playing"};
    static const int32_t cut[] = {PLAY, ING}, whole[] = {FILM}, both[] = {GOOD, COMMA, PLAY, ING},
                         short_one[] = {PLAY};
    float data[TOKENS * SL_SPELLING_FLOATS] = {0};
    struct sl_parameter spellings = {.data = data, .rows = 1, .cols = TOKENS * SL_SPELLING_FLOATS};
    struct sl_parameter read_only = roles;
    const struct sl_bag_of_words m = {.roles = &read_only, .spellings = &spellings};
    uint64_t of_cut[64], of_whole[64], of_both[64], of_short[64];
    for (int i = 0; i < TOKENS; i++)
        for (int at = 0; spelt[i][at]; at++)
            sl_spelling_set(data + i * SL_SPELLING_FLOATS, at, (uint32_t)spelt[i][at]);
    cr_assert_eq(sl_character_hashes(&m, cut, 2, of_cut), 6, "_pla play layi ayin ying ing_");
    cr_assert_eq(sl_character_hashes(&m, whole, 1, of_whole), 6);
    cr_expect_arr_eq(of_cut, of_whole, 6 * sizeof of_cut[0]);
    cr_assert_eq(sl_character_hashes(&m, both, 4, of_both), 3 + 6);
    cr_expect_arr_eq(of_both + 3, of_whole, 6 * sizeof of_cut[0]);
    cr_assert_eq(sl_character_hashes(&m, short_one, 1, of_short), 3, "_pla play lay_");
    cr_expect_eq(of_short[1], of_whole[1]);
    cr_expect_neq(of_short[2], of_whole[2]);
}

Test(linear, a_word_counts_once_in_pooled_vectors)
{
    static const int32_t once[] = {GOOD, FILM}, often[] = {GOOD, FILM, GOOD, GOOD, FILM};
    float vectors_data[TOKENS * 2] = {[2 * GOOD] = 3.0f, [2 * FILM + 1] = 4.0f};
    float weights_data[SL_BAG_VIEWS * TOKENS], pooled[2][SL_BAG_VIEWS * 2];
    struct sl_parameter vectors = {.data = vectors_data, .rows = TOKENS, .cols = 2};
    struct sl_parameter weights = {.data = weights_data, .rows = SL_BAG_VIEWS, .cols = TOKENS};
    const struct sl_bag_of_words m = {.vectors = &vectors, .token_weights = &weights};
    for (int i = 0; i < SL_BAG_VIEWS * TOKENS; i++)
        weights_data[i] = i < TOKENS ? 1.0f : 0.5f;
    sl_pool_tokens(sl_kernels_best(), &m, once, 2, pooled[0]);
    sl_pool_tokens(sl_kernels_best(), &m, often, 5, pooled[1]);
    cr_expect_arr_eq(pooled[0], pooled[1], sizeof pooled[0]);
    cr_expect_float_eq(pooled[0][0], 0.6f, 1e-6f);
    cr_expect_float_eq(pooled[0][3], 0.8f, 1e-6f);
}

Test(linear, ngrams_have_rows_of_their_own_until_none_is_left)
{
    enum { ROWS = 64 };

    float data[ROWS] = {0};
    struct sl_parameter keys = {.data = data, .rows = 1, .cols = ROWS};
    bool taken[ROWS] = {false};
    for (uint64_t i = 0; i < ROWS / 2; i++) {
        uint64_t hash = sl_random_bits(1, i);
        int row = sl_ngram_insert(&keys, hash);
        cr_assert(row >= 0 && row < ROWS);
        cr_expect(!taken[row], "n-gram %llu", (unsigned long long)i);
        taken[row] = true;
    }
    for (uint64_t i = 0; i < ROWS / 2; i++) {
        int row = sl_ngram_row(&keys, sl_random_bits(1, i));
        cr_assert(row >= 0);
        cr_expect(taken[row]);
    }
    int unknown = sl_ngram_row(&keys, sl_random_bits(2, 0));
    cr_expect(unknown < 0 || !taken[unknown], "an unknown n-gram has the row of another");
    for (uint64_t i = 0; i < 20 * ROWS; i++)
        (void)sl_ngram_insert(&keys, sl_random_bits(3, i));
    cr_expect_lt(sl_ngram_row(&keys, sl_random_bits(4, 0)), 0, "the table is full");
}

/* ---- the fit --------------------------------------------------------------------------------- */

enum { TEXTS = 40, CLASSES = 3, SPARSE = 40, DENSE = 5 }; /* some n-grams are of one text */

struct problem {
    int64_t first[TEXTS + 1];
    int32_t index[2 * TEXTS], rows[TEXTS];
    struct sl_label_lists labels;
    float value[2 * TEXTS], dense[TEXTS * DENSE];
    struct sl_text_matrix x;
    struct sl_logistic_problem p;
};

/* One label each; for independent labels, any of them. */
static void draw_labels(struct problem *q, uint64_t key, int text, bool several)
{
    struct sl_err err;
    int32_t ids[CLASSES];
    int count = several ? 0 : 1;
    ids[0] = (int32_t)sl_random_below(key, (uint64_t)text, CLASSES);
    for (int32_t c = 0; several && c < CLASSES; c++)
        if (sl_random_below(key, 4000 + (uint64_t)(text * CLASSES + c), 2))
            ids[count++] = c;
    EXPECT_OK(sl_label_lists_add(&q->labels, ids, count, &err), err);
}

static void problem_init(struct problem *q, const struct sl_kernels *kernels, bool several)
{
    uint64_t key = sl_random_key(5, "problem");
    q->labels = (struct sl_label_lists){0};
    for (int i = 0; i < TEXTS; i++) {
        q->first[i + 1] = 2 * (int64_t)(i + 1);
        q->rows[i] = i;
        draw_labels(q, key, i, several);
        for (int j = 2 * i; j < 2 * i + 2; j++) {
            q->index[j] = (int32_t)sl_random_below(key, 1000 + (uint64_t)j, SPARSE);
            q->value[j] = (float)sl_random_uniform(key, 2000 + (uint64_t)j);
        }
    }
    for (int i = 0; i < TEXTS * DENSE; i++)
        q->dense[i] = (float)sl_random_normal(key, 3000 + (uint64_t)i);
    q->first[0] = 0;
    q->x = (struct sl_text_matrix){TEXTS, q->first, q->index, q->value, q->dense, SPARSE, DENSE};
    q->p = (struct sl_logistic_problem){.kernels = kernels,
                                        .x = &q->x,
                                        .labels = &q->labels,
                                        .rows = q->rows,
                                        .count = TEXTS,
                                        .classes = CLASSES,
                                        .sparse_c = 5.0f,
                                        .dense_c = 0.5f,
                                        .tolerance = 1e-12};
}

static bool has_label(const struct problem *q, int text, int label)
{
    const struct sl_label_list list = sl_label_list(&q->labels, text);
    bool has = false;
    for (int i = 0; i < list.count; i++)
        has = has || list.ids[i] == label;
    return has;
}

static double loss_of(const struct problem *q, const double *z, int text)
{
    double sum = 0.0, total = 0.0;
    for (int c = 0; c < CLASSES; c++) {
        const double sign = has_label(q, text, c) ? 1.0 : -1.0;
        total += exp(z[c]);
        sum += q->p.loss == SL_LOSS_SQUARED ? pow(z[c] - sign, 2.0) / 2.0
                                            : log(1.0 + exp(-sign * z[c]));
    }
    return q->p.loss == SL_LOSS_LOGISTIC ? log(total) - z[sl_label_only(&q->labels, text)] : sum;
}

/* From the definition. */
static double objective(const struct problem *q, const struct sl_logistic_weights *w)
{
    double sum = 0.0;
    for (int i = 0; i < TEXTS; i++) {
        double z[CLASSES];
        for (int c = 0; c < CLASSES; c++) {
            z[c] = (double)w->bias[c];
            for (int j = 2 * i; j < 2 * i + 2; j++)
                z[c] += (double)q->value[j] * (double)w->sparse[q->index[j] * CLASSES + c];
            for (int d = 0; d < DENSE; d++)
                z[c] += (double)q->dense[i * DENSE + d] * (double)w->dense[c * DENSE + d];
        }
        sum += loss_of(q, z, i);
    }
    for (int i = 0; i < SPARSE * CLASSES; i++)
        sum += pow((double)w->sparse[i], 2.0) /
               (2.0 * (double)q->p.sparse_c *
                (q->p.sparse_factors ? (double)q->p.sparse_factors[i] : 1.0));
    for (int i = 0; i < DENSE * CLASSES; i++)
        sum += pow((double)w->dense[i], 2.0) / (2.0 * (double)q->p.dense_c);
    for (int c = 0; c < CLASSES; c++)
        sum += pow((double)w->bias[c], 2.0) / (2.0 * (double)q->p.sparse_c);
    return sum;
}

static void expect_flat(const struct problem *q, const struct sl_logistic_weights *w, float *weight,
                        const char *name)
{
    const float step = 0.01f, at = *weight;
    *weight = at + step;
    double above = objective(q, w);
    *weight = at - step;
    double below = objective(q, w);
    *weight = at;
    cr_expect_lt(fabs(above - below) / (2.0 * (double)step), 0.01, "slope by %s: %g", name,
                 (above - below) / (2.0 * (double)step));
    cr_expect_gt(above + below, 2.0 * objective(q, w));
}

static void expect_optimum(enum sl_linear_loss loss, bool several, const float *factors)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct problem q;
    struct sl_logistic_weights w;
    problem_init(&q, engine->kernels, several);
    q.p.loss = loss;
    q.p.sparse_factors = factors;
    EXPECT_OK(sl_logistic_weights_open(&w, &q.p, &err), err);
    EXPECT_OK(sl_logistic_fit(&q.p, &w, &err), err);
    for (int i = 0; i < SPARSE * CLASSES; i++)
        expect_flat(&q, &w, &w.sparse[i], "n-gram weights");
    for (int i = 0; i < DENSE * CLASSES; i++)
        expect_flat(&q, &w, &w.dense[i], "vector weights");
    for (int c = 0; c < CLASSES; c++)
        expect_flat(&q, &w, &w.bias[c], "bias");
    sl_logistic_weights_close(&w);
    sl_label_lists_release(&q.labels);
    sl_engine_destroy(engine);
}

Test(linear, the_fit_is_the_optimum)
{
    float factors[SPARSE * CLASSES];
    for (int i = 0; i < SPARSE * CLASSES; i++)
        factors[i] = 0.2f + 0.1f * (float)(i % 11);
    expect_optimum(SL_LOSS_LOGISTIC, false, NULL);
    expect_optimum(SL_LOSS_SQUARED, false, NULL);
    expect_optimum(SL_LOSS_LOGISTIC, false, factors);
    expect_optimum(SL_LOSS_SQUARED, false, factors);
    expect_optimum(SL_LOSS_SQUARED, true, NULL);
    expect_optimum(SL_LOSS_BINARY, true, NULL);
    expect_optimum(SL_LOSS_BINARY, true, factors);
}

/* Two labels, three texts of n-grams 0 to 2: n-gram 0 is the first label's, 1 is of both, and no
 * text that is fitted to has n-gram 3. */
Test(linear, log_count_ratios_follow_their_definition)
{
    static const int64_t first[] = {0, 2, 4, 5, 6};
    static const int32_t index[] = {0, 1, 0, 2, 1, 3}, rows[] = {0, 1, 2};
    static int64_t first_label[] = {0, 1, 2, 3, 4};
    static int32_t ids[] = {0, 0, 1, 1};
    static const struct sl_label_lists labels = {.first = first_label, .ids = ids, .count = 4};
    static const float value[] = {0.6f, 0.8f, 0.6f, 0.8f, 1.0f, 1.0f};
    const struct sl_text_matrix x = {
        .texts = 4, .first = first, .index = index, .value = value, .sparse_cols = 4};
    const struct sl_logistic_problem p = {.kernels = sl_kernels_best(),
                                          .x = &x,
                                          .labels = &labels,
                                          .rows = rows,
                                          .count = 3,
                                          .classes = 2,
                                          .sparse_c = 1.0f};
    /* (n + 1) / sum: the first label has 3 / 7, 2 / 7, 2 / 7, the second 1 / 4, 2 / 4, 1 / 4 */
    const double ratios[] = {log(12.0 / 7.0), log(7.0 / 4.0), log(8.0 / 7.0)};
    const double mean =
        (0.72 * ratios[0] + 1.64 * ratios[1] + 0.64 * ratios[2]) / (0.72 + 1.64 + 0.64);
    float factors[4 * 2];
    struct sl_err err;
    EXPECT_OK(sl_log_count_ratios(&p, factors, &err), err);
    for (int f = 0; f < 3; f++) {
        cr_expect_float_eq((double)factors[2 * f], ratios[f] / mean, 1e-5, "n-gram %d", f);
        cr_expect_float_eq(factors[2 * f + 1], factors[2 * f], 1e-5f, "of two labels");
    }
    cr_expect_eq(factors[2 * 3], 0.0f);
}

/* ---- from texts to a model ------------------------------------------------------------------- */

static struct workspace dirs;

/* "not" turns the label around, so bigrams know more than words. Every tenth text repeats. */
static void write_texts(void)
{
    static const char *const words[] = {"good", "bad"}, *const others[] = {"the", "film", "plot",
                                                                           "was", "cast"};
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t n = i % 10 == 9 ? i - 1 : i, key = sl_random_key(n, "texts");
        int word = (int)sl_random_below(key, 0, 2), negated = (int)sl_random_below(key, 1, 2);
        cr_assert_gt(fprintf(file, "%s\t%s %s %s%s %s\n", word == negated ? "bad" : "good",
                             others[sl_random_below(key, 2, 5)], others[sl_random_below(key, 3, 5)],
                             negated ? "not " : "", words[word],
                             others[sl_random_below(key, 4, 5)]),
                     0);
    }
    cr_assert_eq(fclose(file), 0);
}

/* Very many texts: only three words together tell the label. */
static void write_triples(void)
{
    enum { COUNT = 8100, FILLERS = 90 };

    static const char *const words[][2] = {{"red", "blue"}, {"cat", "dog"}, {"runs", "sleeps"}};
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t key = sl_random_key(i, "triples");
        int bits[3], odd = 0;
        for (int b = 0; b < 3; b++)
            odd ^= bits[b] = (int)sl_random_below(key, (uint64_t)b, 2);
        cr_assert_gt(fprintf(file, "%s\tx%d %s %s %s y%d\n", odd ? "odd" : "even", (int)i % FILLERS,
                             words[0][bits[0]], words[1][bits[1]], words[2][bits[2]],
                             (int)i / FILLERS),
                     0);
    }
    cr_assert_eq(fclose(file), 0);
}

/* No word occurs twice: only their stems tell the labels. */
static void write_stems(int times)
{
    static const char *const stems[] = {"wonder", "dread"};
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (uint64_t i = 0; i < 120 * (uint64_t)times; i++)
        cr_assert_gt(fprintf(file, "%s\t%s%llu film\n", i % 2 ? "bad" : "good", stems[i % 2],
                             (unsigned long long)(i % 120)),
                     0);
    cr_assert_eq(fclose(file), 0);
}

/* Eight labels with words of their own: some texts have several of them, others only one and
 * several of another label. Scores of the squared loss are then no logits. */
static void write_noise(void)
{
    enum { LABELS = 8, WORDS = 6 };

    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (uint64_t i = 0; i < 400; i++) {
        uint64_t key = sl_random_key(i, "noise");
        int label = (int)(i % LABELS), other = (int)sl_random_below(key, 0, LABELS);
        int own = (int)sl_random_below(key, 1, WORDS);
        cr_assert_gt(fprintf(file, "label%d\t", label), 0);
        for (int w = 0; w < WORDS; w++)
            cr_assert_gt(fprintf(file, "w%d%c ", w <= own ? label : other,
                                 'a' + (int)sl_random_below(key, (uint64_t)w + 2, 9)),
                         0);
        cr_assert_gt(fprintf(file, "\n"), 0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void setup(void)
{
    workspace_create(&dirs, "models/mine/1");
    write_texts();
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(linear_training, .init = setup, .fini = teardown);

static struct sl_linear_training_options options_of(struct sl_engine *engine)
{
    return (struct sl_linear_training_options){
        .engine = engine,
        .sources = {.data = dirs.corpus, .columns = {.label = "1", .text = "2", .format = "tsv"}}};
}

static void train(struct sl_linear_training *l, struct sl_engine *engine)
{
    struct sl_err err;
    const struct sl_linear_training_options options = options_of(engine);
    EXPECT_OK(sl_linear_training_open(l, &options, &err), err);
    EXPECT_OK(sl_linear_training_run(l, NULL, NULL, &err), err);
}

Test(linear_training, finds_that_bigrams_are_needed)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    train(&l, engine);
    const struct sl_linear_trial *best = &l.search.trials[l.search.best];
    cr_expect_eq(best->recipe.ngrams.order, 2);
    cr_expect_gt(best->accuracy, 0.95);
    cr_expect_lt(l.search.trials[0].accuracy, 0.9, "words alone");
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

Test(linear_training, equal_texts_are_in_the_same_fold)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    train(&l, engine);
    for (int i = 9; i < l.set.count; i += 10)
        cr_expect_eq(l.search.fold[i], l.search.fold[i - 1], "text %d", i);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* The second half of the texts repeats the first one, with the other label. */
Test(linear_training, equal_texts_with_other_labels_are_in_the_same_fold)
{
    enum { HALF = 51, FOLDS = 5 };

    struct sl_err err;
    struct sl_linear_training l;
    int32_t fold[2 * HALF];
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_linear_training_options options = options_of(engine);
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (int i = 0; i < 2 * HALF; i++)
        cr_assert_gt(fprintf(file, "%s\tfilm %d\n", i % 2 ? "good" : "bad", i % HALF), 0);
    cr_assert_eq(fclose(file), 0);
    EXPECT_OK(sl_linear_training_open(&l, &options, &err), err);
    EXPECT_OK(sl_linear_folds(&l.set, FOLDS, fold, &err), err);
    for (int i = 0; i < HALF; i++)
        cr_expect_eq(fold[i], fold[HALF + i], "text %d", i);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

static void write_many(int texts, int labels, int words)
{
    FILE *file = fopen(dirs.corpus, "we");
    cr_assert(file);
    for (int i = 0; i < texts; i++) {
        cr_assert_gt(fprintf(file, "label%d\t", i % labels), 0);
        for (int w = 0; w < words; w++)
            cr_assert_gt(fprintf(file, "w%d ", (words * i + w) % (words * texts / 2)), 0);
        cr_assert_gt(fprintf(file, "\n"), 0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void expect_side(struct sl_engine *engine, enum sl_truncation asked, enum sl_truncation want)
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_linear_training_options options = options_of(engine);
    options.sources.truncation = asked;
    EXPECT_OK(sl_linear_training_open(&l, &options, &err), err);
    cr_expect_eq(sl_tokenizer_truncation_side(l.tokens), want, "asked for %d", (int)asked);
    sl_linear_training_close(&l);
}

Test(linear_training, long_texts_keep_their_end_unless_asked)
{
    struct sl_engine *engine = fixture_engine(NULL, 1);
    write_many(10, 2, 3);
    expect_side(engine, SL_TRUNCATE_DEFAULT, SL_TRUNCATE_LEFT);
    expect_side(engine, SL_TRUNCATE_LEFT, SL_TRUNCATE_LEFT);
    expect_side(engine, SL_TRUNCATE_RIGHT, SL_TRUNCATE_RIGHT);
    sl_engine_destroy(engine);
}

Test(linear_training, many_labels_leave_room_for_fewer_ngrams)
{
    enum { LABELS = 1000, NGRAMS_MAX = 10000 };

    struct sl_err err;
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_linear_training_options options = options_of(engine);
    write_many(2 * LABELS, LABELS, 8);
    EXPECT_OK(sl_linear_training_open(&l, &options, &err), err);
    EXPECT_OK(sl_text_features_open(&l.features, engine, &l.parts,
                                    (struct sl_ngram_limits){2, SL_NGRAMS_MAX}, &l.set, &err),
              err);
    cr_expect_gt(l.features.ngrams, 0);
    cr_expect_leq(l.features.ngrams, NGRAMS_MAX);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

Test(linear_training, too_many_texts_and_labels_are_refused_at_once)
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_linear_training_options options = options_of(engine);
    write_many(50001, 2000, 1);
    EXPECT_FAIL(sl_linear_training_open(&l, &options, &err), err, SL_BAD_INPUT,
                "has 50001 texts and 2000 labels");
    sl_engine_destroy(engine);
}

/* Copies of a text follow the first of them, and are not counted when folds are cut. */
Test(linear_training, a_file_that_is_there_twice_has_folds_of_one_size)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    int texts[5] = {0};
    write_stems(2);
    train(&l, engine);
    for (int i = 0; i < l.set.count; i++)
        texts[l.search.fold[i]]++;
    for (int fold = 0; fold < 5; fold++)
        cr_expect_eq(texts[fold], 48, "fold %d: %d texts", fold, texts[fold]);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* What is served is calibrated as the predictions were: the scores of the weights alone, which the
 * model gives without its exponent, become the same probabilities. */
Test(linear_training, the_published_model_is_calibrated, TEST_ONE_THREAD)
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_evaluation calibrated, plain;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    write_noise();
    train(&l, engine);
    cr_assert_gt(l.search.calibration.exponent, 0.0);
    struct sl_bag_of_words *m = l.model->self;
    cr_expect_float_eq((double)m->score_exponent, l.search.calibration.exponent, 1e-5);
    EXPECT_OK(sl_evaluate_labelled(l.model, &l.set, NULL, &calibrated, NULL, &err), err);
    m->score_exponent = 0.0f;
    for (int c = 0; c < l.set.labels.count; c++)
        m->bias->data[c] -= (float)l.search.calibration.shift;
    EXPECT_OK(sl_evaluate_labelled(l.model, &l.set, NULL, &plain, NULL, &err), err);
    cr_expect_eq(calibrated.accuracy, plain.accuracy);
    cr_expect_lt(calibrated.loss, plain.loss - 0.001, "%g, with a temperature alone %g",
                 calibrated.loss, plain.loss);
    cr_expect_lt(l.search.loss, l.search.trials[l.search.best].loss);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* So that no text is predicted by one of its neighbours in the file. */
Test(linear_training, a_fold_is_a_part_of_the_file)
{
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    int last[2] = {4, 4};
    write_stems(1);
    train(&l, engine);
    for (int i = 0; i < l.set.count; i++) {
        int *fold = &last[sl_label_only(&l.set.label_lists, i)];
        cr_expect_leq(l.search.fold[i], *fold, "text %d", i);
        *fold = l.search.fold[i];
    }
    cr_expect_eq(last[0] + last[1], 0, "the last part is the first that is predicted");
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
}

/* The published model, served, gives the probabilities that the fit has: its loss on the texts of
 * the fit is at most that of the predictions without them. Returns the recipe. */
static struct sl_linear_recipe expect_published_as_fitted(void)
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, 2);
    struct sl_evaluation fitted, served;
    train(&l, engine);
    const struct sl_linear_trial best = l.search.trials[l.search.best];
    cr_expect_gt(best.accuracy, 0.95);
    EXPECT_OK(sl_linear_training_publish(&l, dirs.output,
                                         &(struct sl_publication){.training = "{}"}, &err),
              err);
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    EXPECT_OK(sl_evaluate_labelled(l.model, &l.set, NULL, &fitted, NULL, &err), err);
    EXPECT_OK(sl_evaluate_labelled(m, &l.set, NULL, &served, NULL, &err), err);
    cr_expect_float_eq(fitted.loss, served.loss, 0.01, "%g, published %g", fitted.loss,
                       served.loss);
    cr_expect_gt(served.accuracy, 0.99);
    cr_expect_leq(served.loss, l.search.loss + 0.01);
    sl_model_close(m);
    sl_linear_training_close(&l);
    sl_engine_destroy(engine);
    return best.recipe;
}

Test(linear_training, the_published_model_is_the_fitted_one)
{
    cr_expect_not(expect_published_as_fitted().ngrams.characters);
}

Test(linear_training, very_many_texts_have_trigrams)
{
    if (TEST_SANITIZED)
        cr_skip_test("so many texts take too long here");
    write_triples();
    cr_expect_eq(expect_published_as_fitted().ngrams.order, 3);
}

Test(linear_training, characters_are_published_as_they_were_fitted)
{
    write_stems(1);
    cr_expect(expect_published_as_fitted().ngrams.characters);
}

static void published_digest(int threads, char digest[65])
{
    struct sl_err err;
    struct sl_linear_training l;
    struct sl_engine *engine = fixture_engine(NULL, threads);
    train(&l, engine);
    EXPECT_OK(sl_linear_training_publish(&l, dirs.output,
                                         &(struct sl_publication){.training = "{}"}, &err),
              err);
    sl_linear_training_close(&l);
    struct sl_model *m = sl_model_open(engine, dirs.output, &err);
    cr_assert(m, "%s", err.text);
    (void)snprintf(digest, 65, "%s", sl_model_info(m)->sha256);
    sl_model_close(m);
    sl_engine_destroy(engine);
}

Test(linear_training, gives_the_same_bits_with_any_number_of_threads)
{
    char one[65], three[65];
    published_digest(1, one);
    published_digest(3, three);
    cr_expect_str_eq(one, three);
}
