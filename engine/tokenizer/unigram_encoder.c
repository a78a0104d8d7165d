/* unigram_encoder.c - the pieces with the greatest sum of log probabilities, by Viterbi's algorithm
 * (Kudo 2018). A character that is no piece costs more than any piece. */
#include "tokenizer/model_encoders.h"

#include "base/dynarray.h"
#include "tokenizer/unicode.h"

static const double unknown_penalty = 10.0;

static void reach(struct sl_unigram_node *to, double score, int32_t id, size_t start)
{
    if (to->start != UINT32_MAX && score <= to->score)
        return;
    to->score = score;
    to->id = id;
    to->start = (uint32_t)start;
}

/* Follows all pieces that begin at `at`; whether one is a single character. */
static bool reach_pieces(const struct sl_token_model *model, struct sl_piece word, size_t at,
                         struct sl_unigram_node *nodes)
{
    size_t character = at + sl_char_bytes(word.text[at]);
    bool single = false;
    uint32_t node = 0;
    for (size_t i = at; i < word.bytes; i++) {
        if ((node = sl_byte_trie_next(&model->trie, node, word.text[i])) == 0)
            break;
        int32_t id = model->trie.ids[node];
        if (id < 0)
            continue;
        reach(&nodes[i + 1], nodes[at].score + model->scores[id], id, at);
        single = single || i + 1 == character;
    }
    return single;
}

/* The best way to each place; false: an unknown character. */
static bool forward(const struct sl_token_model *model, struct sl_piece word,
                    struct sl_unigram_node *nodes)
{
    for (size_t i = 0; i <= word.bytes; i++)
        nodes[i] = (struct sl_unigram_node){.start = UINT32_MAX};
    for (size_t at = 0; at < word.bytes; at += sl_char_bytes(word.text[at])) {
        if (reach_pieces(model, word, at, nodes))
            continue;
        struct sl_unigram_node *to = &nodes[at + sl_char_bytes(word.text[at])];
        double score = nodes[at].score + (model->score_min - unknown_penalty);
        if (to->start != UINT32_MAX && score <= to->score)
            continue;
        if (model->unknown < 0)
            return false;
        reach(to, score, model->unknown, at);
    }
    return true;
}

static void link_back(struct sl_unigram_node *nodes, size_t end)
{
    while (end > 0) {
        size_t start = nodes[end].start;
        nodes[start].next = (uint32_t)end;
        end = start;
    }
}

/* Unknown text: it may be a piece after all, or become a piece per byte. */
static void unknown_add(const struct sl_token_model *model, struct sl_piece word,
                        struct sl_model_token token, struct sl_model_scratch *scratch)
{
    const char *text = word.text + token.start;
    size_t bytes = token.stop - token.start;
    int32_t id = sl_piece_table_find(&model->table, text, bytes);
    bool falls_back = id < 0 && model->byte_fallback;
    for (size_t i = 0; i < bytes && falls_back; i++)
        falls_back = model->bytes[(unsigned char)text[i]] >= 0;
    if (id >= 0)
        token.id = id;
    if (!falls_back) {
        sl_model_scratch_add(scratch, token);
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        token.id = model->bytes[(unsigned char)text[i]];
        sl_model_scratch_add(scratch, token);
    }
}

bool sl_unigram_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                       struct sl_model_scratch *scratch)
{
    struct sl_piece text = {word, bytes};
    if (!sl_dynarray_reserve(&scratch->nodes, &scratch->nodes_capacity, bytes + 1,
                             sizeof *scratch->nodes, NULL)) {
        scratch->failed = true;
        return true;
    }
    struct sl_unigram_node *nodes = scratch->nodes;
    if (!forward(model, text, nodes))
        return false;
    link_back(nodes, bytes);
    for (size_t at = 0, end; at < bytes; at = end) {
        end = nodes[at].next;
        int32_t id = nodes[end].id;
        while (id == model->unknown && end < bytes && nodes[nodes[end].next].id == id)
            end = nodes[end].next;
        struct sl_model_token token = {id, (uint32_t)at, (uint32_t)end};
        if (id == model->unknown)
            unknown_add(model, text, token, scratch);
        else
            sl_model_scratch_add(scratch, token);
    }
    return true;
}
