/* bpe_merges.c - byte pair encoding: merges the most frequent pair of neighbouring pieces,
 * repeatedly.
 *
 * The criterion is the plain count, that of byte pair encoding (Sennrich et al. 2016), and not the
 * count divided by those of the two parts, which papers describe as WordPiece's likelihood. Google
 * never published its trainer; the one in common use, of the Python package `tokenizers`, counts.
 * The quotient favours pairs of rare characters over frequent words. It changes with every count of
 * either part, so it cannot be updated pair by pair.
 *
 * Ties are broken by the smaller id of the left piece, then of the right piece. The word `aaa` has
 * the pair (a, a) twice and is merged from the left.
 *
 * Each pair lists the words that may contain it, so a merge touches only those. The heap has one
 * valid entry per pair, with the count at the time of insertion (`heap_count_at_push`): a pair that
 * has become rarer is reinserted with its new count when it is popped; one that has become more
 * frequent gets a new entry at once. */
#include "tokenizer/bpe_merges.h"

#include "base/dynarray.h"
#include "base/hash_index.h"
#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIR_COUNT_MIN = 2, /* pairs that occur once are noise */
    USES_MAX = 1 << 30,
    PIECES_BETWEEN_REPORTS = 64
};

struct pair {
    int32_t left, right;
    int64_t count, heap_count_at_push;
    int32_t uses; /* list of words that contained it at some time; -1: none */
};

struct use {
    int32_t word, next;
};

struct entry {
    int64_t count;
    uint32_t pair;
};

/* A word: its pieces, fewer after each merge, and its count. */
struct part {
    size_t start;
    int count;
    int64_t times;
};

struct merger {
    struct sl_string_counter *pieces;
    const char *prefix;
    struct part *parts;
    int32_t *ids; /* of the pieces of all words */

    struct sl_hash_index index; /* of the pairs, by their pieces */
    struct pair *pairs;
    size_t pair_capacity;

    struct use *uses;
    size_t use_count, use_capacity;
    int32_t spare; /* free list of uses */

    struct entry *heap;
    size_t heap_count, heap_capacity;
    uint32_t *grown; /* pairs whose count may have grown past `heap_count_at_push` */
    size_t grown_count, grown_capacity;
};

static bool fail_memory(const struct merger *m, struct sl_err *err)
{
    return sl_fail(err, SL_NO_MEMORY, "no memory for the pairs of words, with %d pieces so far",
                   m->pieces->count);
}

static void merger_release(struct merger *m)
{
    free(m->parts);
    free(m->ids);
    free(m->pairs);
    sl_hash_release(&m->index);
    free(m->uses);
    free(m->heap);
    free(m->grown);
}

/* -- pairs by their pieces -------------------------------------------------------------------- */

static uint64_t key_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* The pair, created if new; NULL without memory. */
static struct pair *pair_get(struct merger *m, int32_t left, int32_t right)
{
    const int32_t before = m->index.count, at = sl_hash_add(&m->index, key_of(left, right));
    if (at < 0 || !sl_dynarray_reserve(&m->pairs, &m->pair_capacity, (size_t)m->index.count,
                                       sizeof *m->pairs, NULL))
        return NULL;
    if (at == before)
        m->pairs[at] = (struct pair){.left = left, .right = right, .uses = -1};
    return &m->pairs[at];
}

/* The index of a free use; -1 without memory. */
static int32_t use_new(struct merger *m)
{
    int32_t at = m->spare;
    if (at >= 0) {
        m->spare = m->uses[at].next;
        return at;
    }
    if (m->use_count >= USES_MAX)
        return -1;
    if (!sl_dynarray_reserve(&m->uses, &m->use_capacity, m->use_count + 1, sizeof *m->uses, NULL))
        return -1;
    return (int32_t)m->use_count++;
}

static bool use_add(struct merger *m, struct pair *pair, int32_t word)
{
    assert(pair->uses < 0 || m->uses);
    if (pair->uses >= 0 && m->uses[pair->uses].word == word)
        return true;
    int32_t at = use_new(m);
    if (at < 0)
        return false;
    m->uses[at] = (struct use){.word = word, .next = pair->uses};
    pair->uses = at;
    return true;
}

/* -- the heap --------------------------------------------------------------------------------- */

static bool is_before(const struct merger *m, struct entry a, struct entry b)
{
    const struct pair *x = &m->pairs[a.pair], *y = &m->pairs[b.pair];
    if (a.count != b.count)
        return a.count > b.count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

static bool heap_push(struct merger *m, uint32_t pair)
{
    if (!sl_dynarray_reserve(&m->heap, &m->heap_capacity, m->heap_count + 1, sizeof *m->heap, NULL))
        return false;
    struct entry added = {.count = m->pairs[pair].count, .pair = pair};
    m->pairs[pair].heap_count_at_push = added.count;
    size_t at = m->heap_count++;
    for (; at > 0 && is_before(m, added, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = added;
    return true;
}

static struct entry heap_pop(struct merger *m)
{
    assert(m->heap_count > 0);
    struct entry top = m->heap[0], last = m->heap[--m->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < m->heap_count; at = child) {
        if (child + 1 < m->heap_count && is_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!is_before(m, m->heap[child], last))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = last;
    return top;
}

/* Pops the most frequent pair; false when none is frequent enough. */
static bool pair_next(struct merger *m, uint32_t *pair)
{
    while (m->heap_count > 0) {
        struct entry top = heap_pop(m);
        struct pair *p = &m->pairs[top.pair];
        if (top.count != p->heap_count_at_push)
            continue; /* a later entry is valid */
        *pair = top.pair;
        if (top.count == p->count)
            return true;
        p->heap_count_at_push = 0;
        bool pushed = p->count < PAIR_COUNT_MIN || heap_push(m, top.pair);
        assert(pushed); /* into the room that the pop left */
    }
    return false;
}

static bool grown_push(struct merger *m)
{
    for (size_t i = 0; i < m->grown_count; i++) {
        const struct pair *p = &m->pairs[m->grown[i]];
        if (p->count > p->heap_count_at_push && p->count >= PAIR_COUNT_MIN &&
            !heap_push(m, m->grown[i]))
            return false;
    }
    m->grown_count = 0;
    return true;
}

/* -- words ------------------------------------------------------------------------------------ */

/* Counts the pairs of a word; adds the word to the list of those with the piece `added` (-1: of
 * all). */
static bool pairs_add(struct merger *m, int32_t word, int32_t added)
{
    const struct part *part = &m->parts[word];
    const int32_t *ids = m->ids + part->start;
    for (int i = 0; i + 1 < part->count; i++) {
        struct pair *p = pair_get(m, ids[i], ids[i + 1]);
        if (!p)
            return false;
        p->count += part->times;
        if (added >= 0 && p->left != added && p->right != added)
            continue;
        if (!sl_dynarray_reserve(&m->grown, &m->grown_capacity, m->grown_count + 1,
                                 sizeof *m->grown, NULL) ||
            !use_add(m, p, word))
            return false;
        if (p->count > p->heap_count_at_push && (added >= 0 || p->count == part->times))
            m->grown[m->grown_count++] = (uint32_t)(p - m->pairs);
    }
    return true;
}

static void pairs_subtract(struct merger *m, int32_t word)
{
    const struct part *part = &m->parts[word];
    const int32_t *ids = m->ids + part->start;
    for (int i = 0; i + 1 < part->count; i++)
        m->pairs[sl_hash_find(&m->index, key_of(ids[i], ids[i + 1]))].count -= part->times;
}

/* Merges every left piece with a right piece after it. */
static void word_merge(struct merger *m, int32_t word, struct pair pair, int32_t merged)
{
    struct part *part = &m->parts[word];
    int32_t *ids = m->ids + part->start;
    int out = 0;
    for (int i = 0; i < part->count; i++) {
        bool here = i + 1 < part->count && ids[i] == pair.left && ids[i + 1] == pair.right;
        ids[out++] = here ? merged : ids[i];
        i += here;
    }
    part->count = out;
}

static bool word_has(const struct merger *m, int32_t word, struct pair pair)
{
    const struct part *part = &m->parts[word];
    const int32_t *ids = m->ids + part->start;
    for (int i = 0; i + 1 < part->count; i++)
        if (ids[i] == pair.left && ids[i + 1] == pair.right)
            return true;
    return false;
}

/* Merges a pair in all words that contain it. */
static bool pair_merge(struct merger *m, uint32_t number, int32_t merged)
{
    const struct pair pair = m->pairs[number];
    m->pairs[number].uses = -1;
    for (int32_t at = pair.uses, next; at >= 0; at = next) {
        int32_t word = m->uses[at].word;
        next = m->uses[at].next;
        m->uses[at].next = m->spare;
        m->spare = at;
        if (!word_has(m, word, pair))
            continue;
        pairs_subtract(m, word);
        word_merge(m, word, pair, merged);
        if (!pairs_add(m, word, merged))
            return false;
    }
    return grown_push(m);
}

/* -- beginning -------------------------------------------------------------------------------- */

/* The ids of a word's characters; none if one is not in the alphabet. */
static int word_characters(const struct merger *m, struct sl_piece word, int32_t *ids)
{
    char text[16];
    size_t length = strlen(m->prefix);
    int count = 0;
    memcpy(text, m->prefix, length);
    for (size_t at = 0, from = 0; at < word.bytes; from = at) {
        uint32_t point;
        (void)sl_utf8_next(word.text, word.bytes, &at, &point);
        memcpy(text + length, word.text + from, at - from);
        size_t skip = from == 0 ? length : 0;
        int id = sl_string_counter_find(m->pieces,
                                        (struct sl_piece){text + skip, length + at - from - skip});
        if (id < 0)
            return 0;
        ids[count++] = id;
    }
    return count;
}

static bool merger_init(struct merger *m, const struct sl_string_counter *words)
{
    m->spare = -1;
    m->parts = calloc((size_t)words->count + 1, sizeof *m->parts);
    m->ids = calloc(words->bytes + 1, sizeof *m->ids);
    if (!m->parts || !m->ids)
        return false;
    size_t start = 0;
    for (int32_t word = 0; word < words->count; word++) {
        int count = word_characters(m, sl_string_counter_text(words, word), m->ids + start);
        m->parts[word] =
            (struct part){.start = start, .count = count, .times = words->list[word].times};
        start += (size_t)count;
        if (!pairs_add(m, word, -1))
            return false;
    }
    return grown_push(m);
}

/* The id of the merged piece. It may exist: "a" + "##bc" is the same as "ab" + "##c". */
static bool piece_join(struct merger *m, const struct pair *pair, int *merged, struct sl_err *err)
{
    char text[2 * SL_PIECE_BYTES_MAX];
    struct sl_piece left = sl_string_counter_text(m->pieces, pair->left);
    struct sl_piece right = sl_string_counter_text(m->pieces, pair->right);
    size_t length = strlen(m->prefix);
    assert(right.bytes > length);
    assert(left.bytes + right.bytes <= sizeof text);
    memcpy(text, left.text, left.bytes);
    memcpy(text + left.bytes, right.text + length, right.bytes - length);
    return sl_string_counter_add(
        m->pieces, (struct sl_piece){text, left.bytes + right.bytes - length}, 1, merged, err);
}

static bool pieces_add(struct merger *m, const struct sl_tokenizer_options *options,
                       struct sl_err *err)
{
    while (m->pieces->count < options->size) {
        uint32_t pair;
        int merged;
        if (!pair_next(m, &pair))
            break;
        if (!piece_join(m, &m->pairs[pair], &merged, err))
            return false;
        if (!pair_merge(m, pair, merged))
            return fail_memory(m, err);
        if (options->progress && m->pieces->count % PIECES_BETWEEN_REPORTS == 0)
            options->progress(options->context, m->pieces->count, options->size);
    }
    return true;
}

bool sl_bpe_merges_add(struct sl_string_counter *pieces, const struct sl_string_counter *words,
                       const char *prefix, const struct sl_tokenizer_options *options,
                       struct sl_err *err)
{
    struct merger m = {.pieces = pieces, .prefix = prefix};
    bool ok = merger_init(&m, words) ? pieces_add(&m, options, err) : fail_memory(&m, err);
    merger_release(&m);
    return ok;
}
