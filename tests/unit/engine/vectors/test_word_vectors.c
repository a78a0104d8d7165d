/* test_word_vectors.c - skip-gram vectors: words of the same company end close together; files are
 * read back; bad files are errors. */
#include "autograd/tensor.h"
#include "support/reference_math.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"
#include "vectors/word_vectors.h"

#include <math.h>

enum { WIDTH = 16 };

static char top[PATH_MAX], corpus[PATH_MAX], vectors[PATH_MAX];

static void setup(void)
{
    test_directory_create(top);
    (void)test_path(corpus, top, "corpus.txt");
    (void)test_path(vectors, top, "words.vec");
    FILE *file = fopen(corpus, "we");
    cr_assert(file);
    for (int i = 0; i < 400; i++) {
        const char *animal = i % 2 ? "cat" : "dog", *city = i % 4 < 2 ? "rome" : "paris";
        cr_assert_gt(fprintf(file, "the %s eats and sleeps here\n\ntrains go to %s every day\n\n",
                             animal, city),
                     0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void teardown(void)
{
    test_directory_remove(top);
}

TestSuite(word_vectors, .init = setup, .fini = teardown);

static struct sl_tokenizer *tokens_of_corpus(void)
{
    struct sl_err err;
    static const char words[] =
        "the cat dog eats and sleeps here trains go to rome paris every day";
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("words", words, strlen(words), &err);
    cr_assert(tokens, "%s", err.text);
    return tokens;
}

static const float *vector(const struct sl_tokenizer *tokens, const float *all, const char *word)
{
    struct sl_err err;
    int32_t id;
    cr_assert_eq(sl_tokenizer_encode(tokens, word, strlen(word), SL_UNKNOWN_FAIL, &id, 1, &err), 1);
    return all + id * WIDTH;
}

static double cosine(const float *a, const float *b)
{
    return reference_dot(a, b, WIDTH) /
           sqrt(reference_dot(a, a, WIDTH) * reference_dot(b, b, WIDTH));
}

static float *learn(const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    struct sl_documents documents;
    struct sl_word_vectors_options options;
    const struct sl_word_vectors_report silent = {0};
    sl_params_set_defaults(sl_word_vectors_rows, &options);
    options.width = WIDTH;
    options.epochs = 10;
    options.subsample = 0.0f;
    float *out = calloc((size_t)sl_tokenizer_size(tokens) * WIDTH, sizeof *out);
    cr_assert(out);
    EXPECT_OK(sl_documents_open(&documents, corpus, tokens, &err), err);
    const struct sl_parameter table = {
        .data = out, .rows = sl_tokenizer_size(tokens), .cols = WIDTH};
    EXPECT_OK(sl_word_vectors_train(&documents, &options, sl_kernels_best(), &silent, &table, &err),
              err);
    sl_documents_close(&documents);
    return out;
}

Test(word_vectors, words_of_the_same_company_are_close)
{
    struct sl_tokenizer *tokens = tokens_of_corpus();
    float *all = learn(tokens), *again = learn(tokens);
    size_t bytes = (size_t)sl_tokenizer_size(tokens) * WIDTH * sizeof *all;
    cr_expect_eq(memcmp(all, again, bytes), 0, "not the same bits twice");
    double alike = cosine(vector(tokens, all, "cat"), vector(tokens, all, "dog"));
    double unlike = cosine(vector(tokens, all, "cat"), vector(tokens, all, "rome"));
    cr_expect_gt(alike, unlike + 0.3, "%g and %g", alike, unlike);
    free(all);
    free(again);
    sl_tokenizer_destroy(tokens);
}

Test(word_vectors, vectors_that_are_not_finite_are_an_error)
{
    struct sl_err err;
    const float good[] = {1.0f, -2.0f}, bad[] = {1.0f, -HUGE_VALF};
    EXPECT_OK(sl_word_vectors_check(good, 2, "learning_rate", &err), err);
    cr_expect(!sl_word_vectors_check(bad, 2, "learning_rate", &err));
    cr_expect_eq(err.code, SL_NOT_FINITE);
    cr_expect(strstr(err.text, "lower learning_rate"), "%s", err.text);
}

Test(word_vectors, too_large_a_file_is_refused_before_learning)
{
    struct sl_err err;
    EXPECT_OK(sl_word_vectors_check_size(200000, 2048, &err), err);
    cr_expect(!sl_word_vectors_check_size(200000, 8192, &err));
    cr_expect(strstr(err.text, "200000 vectors of width 8192"), "%s", err.text);
}

/* Vectors are centred and scaled when they are applied: differences keep their direction. */
Test(word_vectors, a_written_file_is_applied_to_a_table)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = tokens_of_corpus();
    float *all = learn(tokens);
    size_t floats = (size_t)sl_tokenizer_size(tokens) * WIDTH;
    struct sl_parameter table = {.rows = sl_tokenizer_size(tokens), .cols = WIDTH};
    table.data = calloc(floats, sizeof *table.data);
    cr_assert(table.data);
    EXPECT_OK(sl_word_vectors_write(vectors, tokens, all, WIDTH, &err), err);
    EXPECT_OK(sl_word_vectors_apply(vectors, tokens, &table, &err), err);
    double squares = 0.0, sum = 0.0;
    for (size_t i = 0; i < floats; i++) {
        squares += (double)table.data[i] * (double)table.data[i];
        sum += (double)table.data[i];
    }
    cr_expect_lt(fabs(sqrt(squares / (double)floats) - 0.1), 1e-3);
    cr_expect_lt(fabs(sum), 1e-3);
    float before[WIDTH], after[WIDTH];
    for (int c = 0; c < WIDTH; c++) {
        before[c] = vector(tokens, all, "cat")[c] - vector(tokens, all, "rome")[c];
        after[c] = vector(tokens, table.data, "cat")[c] - vector(tokens, table.data, "rome")[c];
    }
    cr_expect_gt(cosine(before, after), 0.999);
    free(all);
    free(table.data);
    sl_tokenizer_destroy(tokens);
}

static void expect_refused(const char *content, const char *says)
{
    struct sl_err err;
    float data[64 * WIDTH] = {0};
    struct sl_tokenizer *tokens = tokens_of_corpus();
    struct sl_parameter table = {.rows = sl_tokenizer_size(tokens), .cols = 2, .data = data};
    FILE *file = fopen(vectors, "we");
    cr_assert(file);
    cr_assert_geq(fputs(content, file), 0);
    cr_assert_eq(fclose(file), 0);
    cr_expect(!sl_word_vectors_apply(vectors, tokens, &table, &err));
    cr_expect(strstr(err.text, says), "%s", err.text);
    sl_tokenizer_destroy(tokens);
}

Test(word_vectors, bad_files_are_errors)
{
    expect_refused("", "expected the number of vectors");
    expect_refused("1 3\ncat 1 2 3\n", "the model has width 2");
    expect_refused("2 2\ncat 1 2\ndog 1\n", "line 3");
    expect_refused("1 2\ncat 1 x\n", "line 2");
    expect_refused("2 2\ncat 1 2\ndog 1 nan\n", "line 3");
    expect_refused("1 2\ncat inf 1\n", "expected a token and 2 finite numbers");
    expect_refused("1 2\ncat 1e39 1\n", "line 2");
    expect_refused("1 2\nelephant 1 2\n", "no vector of a token");
}
