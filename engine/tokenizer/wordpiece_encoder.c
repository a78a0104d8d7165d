/* wordpiece_encoder.c - the longest piece that begins a word, then the longest of the rest. */
#include "tokenizer/model_encoders.h"

#include "base/utf8.h"

/* The bytes and the id of the longest piece; 0: none. */
static size_t match(const struct sl_token_model *model, uint32_t root, struct sl_piece text,
                    int32_t *id)
{
    size_t longest = 0;
    uint32_t node = root;
    for (size_t i = 0; i < text.bytes; i++) {
        node = sl_byte_trie_next(&model->trie, node, text.text[i]);
        if (node == 0)
            break;
        if (model->trie.ids[node] >= 0) {
            longest = i + 1;
            *id = model->trie.ids[node];
        }
    }
    return longest;
}

static bool cut(const struct sl_token_model *model, const char *word, size_t bytes,
                struct sl_model_scratch *scratch)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t root = at == 0 ? SL_WORDPIECE_BEGIN : SL_WORDPIECE_CONTINUE;
        int32_t id = -1;
        length = match(model, root, (struct sl_piece){word + at, bytes - at}, &id);
        if (length == 0)
            return false;
        sl_model_scratch_add(scratch,
                             (struct sl_model_token){id, (uint32_t)at, (uint32_t)(at + length)});
    }
    return true;
}

bool sl_wordpiece_encode(const struct sl_token_model *model, const char *word, size_t bytes,
                         struct sl_model_scratch *scratch)
{
    size_t max = (size_t)model->word_characters_max;
    bool fits = bytes <= max || sl_utf8_count(word, bytes) <= max;
    if (fits && cut(model, word, bytes, scratch))
        return true;
    scratch->count = 0;
    sl_model_scratch_add(scratch, (struct sl_model_token){model->unknown, 0, (uint32_t)bytes});
    return model->unknown >= 0;
}
