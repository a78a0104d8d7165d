/* bert_words.c - a word that cannot be matched completely is one unknown token (Devlin et al. 2018,
 * the released tokenizer). */
#include "tokenizer/bert_words.h"

const char sl_continuation_prefix[] = "##";

bool sl_bert_words_init(struct sl_bert_words *words, const struct sl_tokenizer *tokenizer,
                        bool lower, struct sl_err *err)
{
    sl_normalizer_init(&words->normalizer, lower);
    return sl_trie_fill(&words->trie, tokenizer, sl_continuation_prefix, err) &&
           sl_plain_words_fill(&words->plain, tokenizer, &words->normalizer, sl_continuation_prefix,
                               err);
}

void sl_bert_words_release(struct sl_bert_words *words)
{
    sl_trie_release(&words->trie);
    sl_plain_words_release(&words->plain);
}

/* The byte span of some code points, of which sorted marks may be out of order. */
static struct sl_token_offset place_of(const struct sl_word *word, int from, int count)
{
    struct sl_token_offset place = {.start = word->codepoints[from].start,
                                    .stop = word->codepoints[from].stop};
    for (int i = from + 1; i < from + count; i++) {
        const struct sl_word_codepoint *codepoint = &word->codepoints[i];
        place.start = codepoint->start < place.start ? codepoint->start : place.start;
        place.stop = codepoint->stop > place.stop ? codepoint->stop : place.stop;
    }
    return place;
}

/* The lengths and ids of a word's pieces; returns their number, 0 for an unknown word. */
static int word_cut(const struct sl_bert_words *w, const struct sl_word *word, int *lengths,
                    int32_t *ids)
{
    int count = 0;
    if (word->count > SL_WORD_CODEPOINTS_MAX)
        return 0;
    for (int at = 0; at < word->count; at += lengths[count++]) {
        enum sl_trie_root root = at == 0 ? SL_TRIE_WORD : SL_TRIE_CONTINUATION;
        lengths[count] = sl_trie_match(&w->trie, root, word, at, &ids[count]);
        if (lengths[count] == 0)
            return 0;
    }
    return count;
}

static void word_put(const struct sl_bert_words *w, const struct sl_word *word,
                     struct sl_encoder_output *sink)
{
    int lengths[SL_WORD_CODEPOINTS_MAX], at = 0;
    int32_t ids[SL_WORD_CODEPOINTS_MAX];
    int count = word_cut(w, word, lengths, ids);
    for (int i = 0; i < count; at += lengths[i++])
        sl_encoder_emit(sink, ids[i], place_of(word, at, lengths[i]));
    if (count == 0)
        sl_encoder_emit(sink, w->unknown,
                        (struct sl_token_offset){.start = word->start, .stop = word->stop});
}

void sl_bert_words_encode(const struct sl_bert_words *words, struct sl_encoder_output *output,
                          size_t start, size_t stop)
{
    struct sl_pre_tokenizer pre_tokenizer = {
        .normalizer = &words->normalizer, .text = output->job->text, .bytes = stop, .at = start};
    struct sl_token_offset place;
    struct sl_word word;
    int32_t id;
    for (;;)
        if (sl_plain_words_next(&words->plain, &pre_tokenizer, &id, &place))
            sl_encoder_emit(output, id, place);
        else if (sl_pre_tokenizer_next(&pre_tokenizer, &word))
            word_put(words, &word, output);
        else
            return;
}
