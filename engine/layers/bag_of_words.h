/* bag_of_words.h - a linear model of a text as a bag of words: averaged word vectors and TF-IDF
 * n-grams. */
#pragma once

#include "base/hash_index.h"
#include "layers/layers.h"

#include <math.h>

enum {
    SL_BAG_TOKENS_MAX = 8192, /* the longest context */
    SL_BAG_VIEWS = 2, /* pooled vectors of a text: means with different weights of frequent words */
    SL_NGRAM_ORDER_MAX = 3,
    SL_SPELLING_CHARACTERS = 12, /* characters of a token that count; of a longer one the first */
    SL_SPELLING_FLOATS = SL_SPELLING_CHARACTERS / 2
};

/* What a token of the vocabulary is to n-grams. */
enum sl_token_role {
    SL_TOKEN_SKIPPED,  /* punctuation and special tokens: no part of any n-gram */
    SL_TOKEN_WORD,     /* begins a word */
    SL_TOKEN_CONTINUES /* continues the word before it, as "##ing" does */
};

static inline enum sl_token_role sl_token_role(const struct sl_parameter *roles, int32_t token)
{
    float role = roles->data[token];
    if (role < 0.5f)
        return SL_TOKEN_SKIPPED;
    return role < 1.5f ? SL_TOKEN_WORD : SL_TOKEN_CONTINUES;
}

/* A word of a text: its tokens from `first` to before `end`. */
struct sl_word {
    int first, end;
};

/* Moves to the next word, the first one if both are 0; false: there is none. */
static inline bool sl_next_word(const struct sl_parameter *roles, const int32_t *tokens, int count,
                                struct sl_word *word)
{
    int at = word->end;
    while (at < count && sl_token_role(roles, tokens[at]) == SL_TOKEN_SKIPPED)
        at++;
    *word = (struct sl_word){at, at + 1};
    while (word->end < count && sl_token_role(roles, tokens[word->end]) == SL_TOKEN_CONTINUES)
        word->end++;
    return at < count;
}

/* The parameters and buffers, for what fits them. */
struct sl_bag_of_words {
    struct sl_parameter *vectors;       /* vocab x width; NULL: no vectors */
    struct sl_parameter *token_weights; /* views x vocab, in the means */
    struct sl_parameter *roles;         /* 1 x vocab: enum sl_token_role */
    struct sl_parameter *spellings; /* 1 x (vocab SL_SPELLING_FLOATS); NULL: no character n-grams */
    struct sl_parameter *keys;      /* 1 x rows: which n-gram a row belongs to, 0: any; or NULL */
    struct sl_parameter *idf;       /* 1 x rows; 0: the n-gram is not counted */
    struct sl_parameter *ngram_weights; /* rows x classes */
    struct sl_parameter *bias;          /* 1 x classes */
    struct sl_linear_layer classify;    /* of the pooled vectors */
    int embedding_width;                /* of a base: so many numbers are the embedding of a text */
    int order;
    float score_exponent; /* of softplus; 0: the scores are logits */
};

/* The n-grams of a model: how many words the longest has, rows of its table, and whether those of
 * characters are among them. */
struct sl_ngram_shape {
    int vocab, classes, order, rows;
    bool characters;
};

/* Adds the table, and what is known of tokens except their roles, which are there. */
void sl_ngrams_build(struct sl_builder *b, struct sl_bag_of_words *m, struct sl_ngram_shape shape);
void sl_token_roles_build(struct sl_builder *b, struct sl_bag_of_words *m, int vocab);

static inline float sl_token_weight(const struct sl_bag_of_words *m, int view, int32_t token)
{
    const struct sl_parameter *weights = m->token_weights;
    return weights->data[(size_t)view * (size_t)weights->cols + (size_t)token];
}

/* -- scores ----------------------------------------------------------------------------------- */

/* log(log(1 + exp(x))), which is x where exp(x) is small. */
static inline double sl_log_softplus(double x)
{
    if (x < -30.0)
        return x;
    return log(x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)));
}

/* -- n-grams ---------------------------------------------------------------------------------- */

/* The n-grams of a text as hashes, shorter ones first: all words, then all bigrams, and so on.
 * hashes: room for order times `count`. Returns how many there are; words: how many of them are
 * words. Checkpoints depend on these hashes. */
int sl_ngram_hashes(const struct sl_parameter *roles, int order, const int32_t *tokens, int count,
                    uint64_t *hashes, int *words);

/* The same for sequences of 4 characters within words, whose ends count as a character.
 * hashes: room for SL_SPELLING_CHARACTERS times `count`. */
int sl_character_hashes(const struct sl_bag_of_words *m, const int32_t *tokens, int count,
                        uint64_t *hashes);
/* Sets a character of a token's spelling, which is zeroed before. */
void sl_spelling_set(float spelling[SL_SPELLING_FLOATS], int at, uint32_t code_point);

/* The row of an n-gram; -1: it has none. A table without keys gives every n-gram its hashed row. */
int sl_ngram_row(const struct sl_parameter *keys, uint64_t hash);
/* Gives the n-gram a row of its own; -1: there is none left for it. */
int sl_ngram_insert(struct sl_parameter *keys, uint64_t hash);

/* -- TF-IDF ----------------------------------------------------------------------------------- */

/* u_f of an n-gram that occurs so many times. */
static inline float sl_tfidf(float times, float idf)
{
    return (1.0f + logf(times)) * idf;
}

/* v = u / |u|, 0 where u is. */
void sl_tfidf_normalize(float *values, int64_t count);

/* Counts an occurrence of a token or a row: times has the counts, by number. */
static inline void sl_count(struct sl_hash_index *counted, int32_t what, float *times)
{
    const int before = counted->count, at = sl_hash_add(counted, (uint64_t)what);
    times[at] = at < before ? times[at] + 1.0f : 1.0f;
}

/* Counts the n-grams of one kind of a text by their rows, and sets v of each; those without a row,
 * or whose idf is 0, do not count. rows: empty, with room for all; its keys may be in the place of
 * the hashes. times and values, which may be the same array, are by the numbers of the rows. */
void sl_ngram_values(const struct sl_bag_of_words *m, const uint64_t *hashes, int count,
                     struct sl_hash_index *rows, float *times, float *values);

/* -- explanations ------------------------------------------------------------------------------ */

struct sl_bag_text {
    const int32_t *tokens;
    int count;
    const float *weights; /* of each class's score, in the sum that is explained */
};

/* What each token adds to the sum over the classes of weight times score, without the bias. out:
 * `count` floats. False: no memory. */
bool sl_bag_contributions(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                          const struct sl_bag_text *text, float *out);

/* -- ops -------------------------------------------------------------------------------------- */

/* A row of numbers for a text of `count` tokens. */
typedef void sl_pool_function(const struct sl_kernels *k, const struct sl_bag_of_words *m,
                              const int32_t *tokens, int count, float *out);

/* The views of a text side by side, each v / |v| with v = sum over the different tokens of weight_t
 * vector_t; 0 where v is. out: views x width floats. */
sl_pool_function sl_pool_tokens;
/* The embedding of a text, of a base: the mean of its word vectors by inverse frequency. out:
 * embedding_width floats. */
sl_pool_function sl_embed_tokens;
/* One of these, of each sequence. Has no gradient. Result: sequences x width. */
struct sl_tensor *sl_text_vectors(struct sl_tape *t, const struct sl_bag_of_words *m,
                                  sl_pool_function *pool, int width);

/* y_s = x_s + bias + sum over the n-grams f of sequence s: v_f weights_f, with v = u / |u| and
 * u_f = (1 + log(occurrences of f)) idf_f. Character n-grams have a v of their own. x: a row for
 * each sequence, or NULL for 0. */
struct sl_tensor *sl_add_tfidf_logits(struct sl_tape *t, struct sl_tensor *x,
                                      const struct sl_bag_of_words *m);
