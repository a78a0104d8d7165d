/* test_document_vectors.c - words of the same documents end close together, even if they never
 * stand near one another; the same bits with any number of threads. */
#include "support/model_fixture.h"
#include "support/reference_math.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"
#include "vectors/document_vectors.h"

#include <math.h>

enum { WIDTH = 16, WORDS = 12, DOCUMENTS = 60, PART = 30 };

static char top[PATH_MAX], corpus[PATH_MAX];

/* A document's beginning has words a0 to a5 or b0 to b5, its end c0 to c5 or d0 to d5. */
static void write_part(FILE *file, char topic, int document)
{
    for (int i = 0; i < PART; i++)
        cr_assert_gt(fprintf(file, "%c%c ", topic, 'a' + (document * 7 + i * i) % (WORDS / 2)), 0);
}

static void setup(void)
{
    test_directory_create(top);
    FILE *file = fopen(test_path(corpus, top, "corpus.txt"), "we");
    cr_assert(file);
    for (int i = 0; i < DOCUMENTS; i++) {
        write_part(file, i % 2 ? 'a' : 'b', i / 2);
        write_part(file, i % 2 ? 'c' : 'd', i / 2);
        cr_assert_gt(fprintf(file, "\n\n"), 0);
    }
    cr_assert_eq(fclose(file), 0);
}

static void teardown(void)
{
    test_directory_remove(top);
}

TestSuite(document_vectors, .init = setup, .fini = teardown);

static struct sl_tokenizer *tokens_of_corpus(struct sl_documents *documents)
{
    struct sl_err err;
    char words[4 * 6 * 3 + 1] = "";
    for (int i = 0; i < 4 * 6; i++)
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%c%c ", 'a' + i / 6,
                       'a' + i % 6);
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("words", words, strlen(words), &err);
    cr_assert(tokens, "%s", err.text);
    EXPECT_OK(sl_documents_open(documents, corpus, tokens, &err), err);
    return tokens;
}

static struct sl_word_vectors_options options_of(int steps)
{
    struct sl_word_vectors_options options;
    sl_params_set_defaults(sl_word_vectors_rows, &options);
    options.width = WIDTH;
    options.document_steps = steps;
    options.document_batch = 20;
    return options;
}

/* Begins with vectors that say nothing. */
static void learn(const struct sl_tokenizer *tokens, const struct sl_documents *documents,
                  int threads, const struct sl_word_vectors_options *options, float *out)
{
    struct sl_err err;
    const int vocab = sl_tokenizer_size(tokens);
    const struct sl_word_vectors_report silent = {0};
    const struct sl_parameter table = {.data = out, .rows = vocab, .cols = WIDTH};
    struct sl_engine *engine = fixture_engine(NULL, threads);
    cr_assert_leq(vocab, 64);
    for (int i = 0; i < vocab * WIDTH; i++)
        out[i] = (float)((i * 31 + i / WIDTH * 17) % 13 - 6) / 60.0f;
    EXPECT_OK(sl_document_vectors_train(documents, options, engine, &silent, &table, &err), err);
    sl_engine_destroy(engine);
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

Test(document_vectors, words_of_the_same_documents_are_close)
{
    struct sl_documents documents;
    struct sl_tokenizer *tokens = tokens_of_corpus(&documents);
    float all[64 * WIDTH];
    const struct sl_word_vectors_options options = options_of(300);
    learn(tokens, &documents, 1, &options, all);
    double alike = cosine(vector(tokens, all, "aa"), vector(tokens, all, "cb"));
    double unlike = cosine(vector(tokens, all, "aa"), vector(tokens, all, "db"));
    cr_expect_gt(alike, unlike + 0.5, "%g and %g", alike, unlike);
    sl_documents_close(&documents);
    sl_tokenizer_destroy(tokens);
}

Test(document_vectors, threads_do_not_change_the_bits)
{
    struct sl_documents documents;
    struct sl_tokenizer *tokens = tokens_of_corpus(&documents);
    float all[2][64 * WIDTH];
    size_t bytes = (size_t)sl_tokenizer_size(tokens) * WIDTH * sizeof(float);
    const struct sl_word_vectors_options options = options_of(20);
    learn(tokens, &documents, 1, &options, all[0]);
    learn(tokens, &documents, 3, &options, all[1]);
    cr_expect_eq(memcmp(all[0], all[1], bytes), 0);
    sl_documents_close(&documents);
    sl_tokenizer_destroy(tokens);
}

/* exp(-1 / temperature) is 0 in single precision. */
Test(document_vectors, the_lowest_temperature_gives_finite_vectors)
{
    struct sl_documents documents;
    struct sl_tokenizer *tokens = tokens_of_corpus(&documents);
    float all[64 * WIDTH];
    struct sl_word_vectors_options options = options_of(20);
    options.temperature = 0.001f;
    learn(tokens, &documents, 1, &options, all);
    for (int i = 0; i < sl_tokenizer_size(tokens) * WIDTH; i++)
        cr_assert(isfinite(all[i]), "number %d", i);
    sl_documents_close(&documents);
    sl_tokenizer_destroy(tokens);
}

Test(document_vectors, short_documents_are_an_error)
{
    struct sl_err err = {0};
    struct sl_documents documents;
    struct sl_tokenizer *tokens = tokens_of_corpus(&documents);
    FILE *file = fopen(corpus, "we");
    cr_assert(file);
    cr_assert_gt(fprintf(file, "aa ab ac\n\nba bb\n"), 0);
    cr_assert_eq(fclose(file), 0);
    sl_documents_close(&documents);
    EXPECT_OK(sl_documents_open(&documents, corpus, tokens, &err), err);
    const struct sl_word_vectors_options options = options_of(1);
    const struct sl_word_vectors_report silent = {0};
    float all[64 * WIDTH] = {0};
    const struct sl_parameter table = {
        .data = all, .rows = sl_tokenizer_size(tokens), .cols = WIDTH};
    struct sl_engine *engine = fixture_engine(NULL, 1);
    cr_expect(!sl_document_vectors_train(&documents, &options, engine, &silent, &table, &err));
    cr_expect(strstr(err.text, "24 tokens"), "%s", err.text);
    sl_engine_destroy(engine);
    sl_documents_close(&documents);
    sl_tokenizer_destroy(tokens);
}
