/* report_words.c - marks the words that moved a score. */
#include "cli/report/report_words.h"

#include "base/allocate.h"
#include "base/dynarray.h"
#include "base/utf8.h"
#include "cli/evaluation/explain_text.h"
#include "cli/report/report_html.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 8, TEXT_BYTES = 400 };

struct report_words {
    const struct sl_tokenizer *tokens;
    int context;
    int32_t *ids;
    struct sl_token_offset *offsets;
    size_t ids_room, offsets_room;
    float *logits; /* a copy: explaining runs the classifier again */
    struct explainer explainer;
};

struct report_words *report_words_open(const struct sl_model *model,
                                       const struct sl_tokenizer *tokens, struct sl_err *err)
{
    const struct sl_classifier_options options = {.max_batch_size = 1,
                                                  .max_batch_tokens = model->config.context_length};
    struct report_words *w = sl_new(sizeof *w, "explanations", err);
    if (!w)
        return NULL;
    w->tokens = tokens;
    w->context = model->config.context_length;
    w->logits = calloc((size_t)model->config.classes, sizeof *w->logits);
    w->explainer.model = model;
    w->explainer.words_max = WORDS;
    w->explainer.classifier = sl_classifier_create(model, &options, err);
    if (w->logits && w->explainer.classifier)
        return w;
    if (!w->logits)
        sl_fail(err, SL_NO_MEMORY, "no memory for explanations");
    report_words_close(w);
    return NULL;
}

void report_words_close(struct report_words *words)
{
    if (!words)
        return;
    sl_classifier_destroy(words->explainer.classifier);
    free(words->ids);
    free(words->offsets);
    free(words->logits);
    free(words);
}

/* Returns the number of tokens that the model reads; -1: failed. */
static long encode(struct report_words *w, const char *text, size_t bytes, struct sl_err *err)
{
    const size_t most = sl_tokenizer_max_tokens(w->tokens, bytes);
    if (!sl_dynarray_reserve(&w->ids, &w->ids_room, most, sizeof *w->ids, err) ||
        !sl_dynarray_reserve(&w->offsets, &w->offsets_room, most, sizeof *w->offsets, err))
        return -1;
    const struct sl_encoding job = {.text = text,
                                    .bytes = bytes,
                                    .unknown = SL_UNKNOWN_REPLACE,
                                    .special = true,
                                    .ids = w->ids,
                                    .offsets = w->offsets,
                                    .capacity = (long)most};
    long count = sl_tokenizer_tokenize(w->tokens, &job, err);
    return count < 0 ? -1
                     : sl_tokenizer_truncate(w->tokens, SL_TRUNCATE_DEFAULT, w->context, w->ids,
                                             w->offsets, count);
}

static bool explain(struct report_words *w, const char *text, size_t bytes, int label,
                    struct sl_err *err)
{
    const size_t classes = (size_t)w->explainer.model->config.classes;
    const long count = encode(w, text, bytes, err);
    struct sl_classifier_item item = {.tokens = w->ids, .count = (int)count, .both_parts = true};
    const struct sl_tokenized_text tokenized = {
        .text = text, .bytes = bytes, .offsets = w->offsets, .count = (int)count};
    if (count < 0 || !sl_classifier_run(w->explainer.classifier, &item, 1, err))
        return false;
    memcpy(w->logits, item.logits, classes * sizeof *w->logits);
    item.logits = w->logits;
    return explain_text(&w->explainer, &tokenized, &item, label, err);
}

static int compare_starts(const void *a, const void *b)
{
    const struct sl_explained_word *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void mark(struct sl_buffer *out, const char *text, const struct sl_explained_word *word)
{
    sl_buffer_printf(out, "<mark class=\"%s\" title=\"%+.2f\">",
                     word->contribution < 0.0 ? "down" : "up", word->contribution);
    sl_html_append(out, text + word->start, word->stop - word->start);
    sl_buffer_append_string(out, "</mark>");
}

/* The words are in the order of the text. */
static void write_marked(const struct explainer *e, const char *text, size_t shown,
                         struct sl_buffer *out)
{
    size_t at = 0;
    for (int i = 0; i < e->word_count && e->words[i].stop <= shown; i++) {
        sl_html_append(out, text + at, e->words[i].start - at);
        mark(out, text, &e->words[i]);
        at = e->words[i].stop;
    }
    sl_html_append(out, text + at, shown - at);
}

bool report_words_write(struct report_words *words, const char *text, size_t bytes, int label,
                        struct sl_buffer *out, struct sl_err *err)
{
    struct explainer *e = &words->explainer;
    const size_t shown = sl_utf8_fit(text, bytes, TEXT_BYTES);
    if (!explain(words, text, bytes, label, err))
        return false;
    qsort(e->words, (size_t)e->word_count, sizeof *e->words, compare_starts);
    write_marked(e, text, shown, out);
    if (shown < bytes)
        sl_buffer_append_string(out, " \xE2\x80\xA6");
    return true;
}
