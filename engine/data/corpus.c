/* corpus.c - encodes a file as one array of token ids, and splits it. */
#include "data/corpus.h"

#include "data/compressed_file.h"
#include "tokenizer/tokenizer_trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static bool text_open(struct sl_decompressed_file *file, const char *path, struct sl_err *err)
{
    if (!sl_decompressed_file_open(file, path, err))
        return false;
    if (file->size > 0)
        return true;
    sl_decompressed_file_close(file);
    return sl_fail(err, SL_BAD_INPUT, "the file is empty") || sl_wrap_file(err, path, 0);
}

struct sl_tokenizer *sl_corpus_train_tokenizer(const char *path,
                                               const struct sl_tokenizer_options *how,
                                               struct sl_err *err)
{
    struct sl_decompressed_file file = {0};
    if (!text_open(&file, path, err))
        return NULL;
    struct sl_tokenizer *tokens = sl_tokenizer_train(how, file.data, file.size, err);
    if (!tokens)
        sl_wrap_file(err, path, 0);
    sl_decompressed_file_close(&file);
    return tokens;
}

/* Two passes: the first counts the tokens. */
static bool corpus_encode(struct sl_corpus *corpus, const struct sl_decompressed_file *file,
                          const struct sl_tokenizer *tokens, struct sl_err *err)
{
    long count = sl_tokenizer_encode(tokens, file->data, file->size, SL_UNKNOWN_FAIL, NULL, 0, err);
    if (count < 0)
        return false;
    int32_t *ids = malloc((size_t)count * sizeof *ids);
    if (!ids)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %ld tokens", count);
    long again =
        sl_tokenizer_encode(tokens, file->data, file->size, SL_UNKNOWN_FAIL, ids, count, err);
    if (again != count) {
        free(ids);
        return again >= 0 ? sl_fail(err, SL_IO, "the file changed while it was read") : false;
    }
    *corpus = (struct sl_corpus){.ids = ids, .count = count};
    return true;
}

bool sl_corpus_open(struct sl_corpus *corpus, const char *path, const struct sl_tokenizer *tokens,
                    struct sl_err *err)
{
    struct sl_decompressed_file file = {0};
    if (!text_open(&file, path, err))
        return false;
    bool ok = corpus_encode(corpus, &file, tokens, err);
    sl_decompressed_file_close(&file);
    return ok || sl_wrap_file(err, path, 0);
}

void sl_corpus_close(struct sl_corpus *corpus)
{
    free(corpus->ids);
    *corpus = (struct sl_corpus){0};
}

/* floor(fraction n), where 0.29 of 100 must give 29 although 0.29 * 100 < 29 in binary. */
static int64_t fraction_of(double share, int64_t n)
{
    return (int64_t)floor(share * (double)n + 1e-6);
}

static bool fractions_check(struct sl_split_fractions s, struct sl_err *err)
{
    /* Written so that NaN fails. */
    bool fine = s.train > 0 && s.validation >= 0 && s.train + s.validation <= 1 + 1e-6; /* floats */
    return fine || sl_fail(err, SL_BAD_INPUT,
                           "invalid fractions train %g and validation %g: expected train above 0, "
                           "validation 0 or more, and a sum of at most 1",
                           s.train, s.validation);
}

bool sl_corpus_split(const struct sl_corpus *corpus, struct sl_split_fractions fractions,
                     int context, struct sl_span splits[SL_SPLITS], struct sl_err *err)
{
    assert(context > 0);
    if (!fractions_check(fractions, err))
        return false;
    int64_t train = fraction_of(fractions.train, corpus->count);
    int64_t validation = fraction_of(fractions.validation, corpus->count);
    if (validation > corpus->count - train)
        validation = corpus->count - train;

    if (train < (int64_t)context + 2)
        return sl_fail(err, SL_BAD_INPUT,
                       "the training part, %.3g %% of the text, has %lld tokens, too few for a "
                       "context length of %d; give a longer text, or a model with a "
                       "smaller context length",
                       100.0 * fractions.train, (long long)train, context);
    if (fractions.validation > 0 && validation < 2)
        return sl_fail(
            err, SL_BAD_INPUT,
            "the validation part, %.3g %% of the text, is too short (tokens: %lld); give a "
            "longer text or a larger validation_fraction",
            100.0 * fractions.validation, (long long)validation);

    const int32_t *ids = corpus->ids;
    splits[SL_TRAIN] = (struct sl_span){ids, train};
    splits[SL_VALIDATION] = (struct sl_span){ids + train, validation};
    splits[SL_TEST] =
        (struct sl_span){ids + train + validation, corpus->count - train - validation};
    return true;
}
