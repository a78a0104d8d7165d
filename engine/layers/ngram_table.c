/* ngram_table.c - the n-grams of a text as hashes, the table that gives them rows, and their TF-IDF
 * values. */
#include "base/random.h"
#include "layers/bag_of_words.h"

enum {
    PROBES = 32,   /* rows that an n-gram may have, from its hashed one on */
    KEY_BITS = 22, /* of a key: fp32 tells keys apart from those one half larger or smaller */
    /* Of character n-grams. fp32 holds two characters: ASCII as it is, others as a hash. */
    GRAM = 4,
    CHARACTER_BITS = 12,
    CHARACTERS = 1 << CHARACTER_BITS,
    ASCII = 128,
    CHARACTER_GRAMS = 1 /* words have 0: the hashes of both differ */
};

/* A word is the hash of its pieces. */
static int word_hashes(const struct sl_parameter *roles, const int32_t *tokens, int count,
                       uint64_t *hashes)
{
    int words = 0;
    for (struct sl_word w = {0}; sl_next_word(roles, tokens, count, &w); words++) {
        hashes[words] = 0;
        for (int i = w.first; i < w.end; i++)
            hashes[words] = sl_random_bits(hashes[words], (uint64_t)tokens[i]);
    }
    return words;
}

int sl_ngram_hashes(const struct sl_parameter *roles, int order, const int32_t *tokens, int count,
                    uint64_t *hashes, int *words)
{
    *words = word_hashes(roles, tokens, count, hashes);
    int total = *words;
    const uint64_t *shorter = hashes;
    for (int n = 2; n <= order && *words >= n; n++) {
        const uint64_t *next = hashes + total;
        for (int i = 0; i + n <= *words; i++)
            hashes[total++] = sl_random_bits(shorter[i], hashes[i + n - 1]);
        shorter = next;
    }
    return total;
}

/* ---- characters ------------------------------------------------------------------------------ */

void sl_spelling_set(float spelling[SL_SPELLING_FLOATS], int at, uint32_t code_point)
{
    const uint32_t others = CHARACTERS - ASCII;
    uint32_t code = code_point < ASCII ? code_point
                                       : ASCII + (uint32_t)(sl_random_bits(0, code_point) % others);
    spelling[at / 2] += (float)(at % 2 ? code * CHARACTERS : code);
}

/* The character; 0 after the last. */
static uint32_t spelling_get(const float *spelling, int at)
{
    uint32_t both = (uint32_t)spelling[at / 2];
    return at % 2 ? both / CHARACTERS : both % CHARACTERS;
}

/* The last characters of a word so far. */
struct window {
    uint64_t last;
    int length;
    uint64_t *hashes;
    int count;
};

static void push(struct window *w, uint32_t character)
{
    const uint64_t mask = ((uint64_t)1 << (CHARACTER_BITS * GRAM)) - 1;
    w->last = (w->last << CHARACTER_BITS | character) & mask;
    if (++w->length >= GRAM)
        w->hashes[w->count++] = sl_random_bits(CHARACTER_GRAMS, w->last);
}

int sl_character_hashes(const struct sl_bag_of_words *m, const int32_t *tokens, int count,
                        uint64_t *hashes) // NOLINT(readability-non-const-parameter): w has them
{
    struct window w = {.hashes = hashes};
    for (struct sl_word word = {0}; sl_next_word(m->roles, tokens, count, &word);) {
        w.length = 0;
        push(&w, ' ');
        for (int i = word.first; i < word.end; i++) {
            const float *spelling = m->spellings->data + (size_t)tokens[i] * SL_SPELLING_FLOATS;
            for (int at = 0; at < SL_SPELLING_CHARACTERS && spelling_get(spelling, at); at++)
                push(&w, spelling_get(spelling, at));
        }
        push(&w, ' ');
    }
    return w.count;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static float key_of(uint64_t hash)
{
    return (float)(1 + (hash >> 32) % ((1u << KEY_BITS) - 1));
}

/* The first row that is empty or the n-gram's own; -1: none of those that it may have. */
int sl_ngram_row(const struct sl_parameter *keys, uint64_t hash)
{
    const uint32_t rows = (uint32_t)keys->cols;
    const float key = key_of(hash);
    uint32_t row = (uint32_t)hash % rows;
    for (int probe = 0; probe < PROBES; probe++) {
        float has = keys->data[row];
        if (has < 0.5f || (has > key - 0.5f && has < key + 0.5f))
            return (int)row;
        row = row + 1 < rows ? row + 1 : 0;
    }
    return -1;
}

int sl_ngram_insert(struct sl_parameter *keys, uint64_t hash)
{
    int row = sl_ngram_row(keys, hash);
    if (row >= 0)
        keys->data[row] = key_of(hash);
    return row;
}

/* ---- TF-IDF ---------------------------------------------------------------------------------- */

void sl_tfidf_normalize(float *values, int64_t count)
{
    double squares = 0.0;
    for (int64_t i = 0; i < count; i++)
        squares += (double)values[i] * (double)values[i];
    const float by = squares > 0.0 ? (float)(1.0 / sqrt(squares)) : 0.0f;
    for (int64_t i = 0; i < count; i++)
        values[i] *= by;
}

void sl_ngram_values(const struct sl_bag_of_words *m, const uint64_t *hashes, int count,
                     struct sl_hash_index *rows, float *times, float *values)
{
    for (int i = 0; i < count; i++) {
        const int row = sl_ngram_row(m->keys, hashes[i]);
        if (row >= 0 && m->idf->data[row] > 0.0f)
            sl_count(rows, row, times);
    }
    for (int i = 0; i < rows->count; i++)
        values[i] = sl_tfidf(times[i], m->idf->data[rows->keys[i]]);
    sl_tfidf_normalize(values, rows->count);
}

/* ---- build ----------------------------------------------------------------------------------- */

static struct sl_parameter *saved(struct sl_builder *b, const char *name, int cols, float value)
{
    return sl_buffer_add(
        b, name,
        (struct sl_buffer_shape){
            .kind = SL_BUFFER_SAVED, .rows = 1, .cols = cols, .init = sl_constant(value)});
}

void sl_token_roles_build(struct sl_builder *b, struct sl_bag_of_words *m, int vocab)
{
    m->roles = saved(b, "token_roles", vocab, SL_TOKEN_WORD);
}

void sl_ngrams_build(struct sl_builder *b, struct sl_bag_of_words *m, struct sl_ngram_shape shape)
{
    m->order = shape.order;
    m->keys = saved(b, "ngrams.keys", shape.rows, 0.0f);
    m->idf = saved(b, "ngrams.idf", shape.rows, 1.0f);
    if (shape.characters)
        m->spellings = saved(b, "token_spellings", shape.vocab * SL_SPELLING_FLOATS, 0.0f);
    m->ngram_weights = sl_parameter_add(b, "ngrams.weight", SL_ROLE_TABLE, shape.rows,
                                        shape.classes, sl_constant(0.0f));
}
