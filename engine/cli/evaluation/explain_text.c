/* explain_text.c - the words of a text that moved its label's score. */
#include "cli/evaluation/explain_text.h"

#include <stdlib.h>

/* Memory for one text. */
struct work {
    struct sl_text_word *words;
    int *word_of;
    int count;
    float *contributions; /* of tokens */
    int32_t *ids;
};

static bool add_exact(const struct explainer *e, const struct sl_classifier_item *item, int label,
                      const struct work *w, struct sl_err *err)
{
    if (!sl_classifier_explain(e->classifier, item, label, w->contributions, err))
        return false;
    for (int i = 0; i < item->count; i++)
        if (w->word_of[i] >= 0)
            w->words[w->word_of[i]].contribution += w->contributions[i];
    return true;
}

/* One word after another is left out. */
static bool add_occlusions(const struct explainer *e, const struct sl_classifier_item *item,
                           int label, const struct work *w, struct sl_err *err)
{
    const double margin = sl_margin(e->model, item->logits, label);
    for (int word = 0; word < w->count; word++) {
        struct sl_classifier_item without = {
            .tokens = w->ids,
            .both_parts = true,
            .count = sl_tokens_without(item->tokens, w->word_of, item->count, word, w->ids)};
        double other = 0.0;
        if (without.count > 0) {
            if (!sl_classifier_run(e->classifier, &without, 1, err))
                return false;
            other = sl_margin(e->model, without.logits, label);
        }
        w->words[word].contribution = (float)(margin - other);
    }
    return true;
}

static bool explain(struct explainer *e, const struct sl_tokenized_text *text,
                    const struct sl_classifier_item *item, int label, struct work *w,
                    struct sl_err *err)
{
    bool exact = sl_model_info(e->model)->explains;
    w->count = sl_text_words(text, exact ? text->count : SL_OCCLUSIONS_MAX, w->words, w->word_of);
    if (!(exact ? add_exact(e, item, label, w, err) : add_occlusions(e, item, label, w, err)))
        return false;
    sl_text_words_rank(w->words, w->count);
    for (e->word_count = 0; e->word_count < w->count && e->word_count < e->words_max;
         e->word_count++) {
        const struct sl_text_word *word = &w->words[e->word_count];
        e->words[e->word_count] = (struct sl_explained_word){
            .start = word->start, .stop = word->stop, .contribution = (double)word->contribution};
    }
    return true;
}

bool explain_text(struct explainer *e, const struct sl_tokenized_text *text,
                  const struct sl_classifier_item *item, int label, struct sl_err *err)
{
    size_t count = (size_t)text->count;
    struct work w = {.words = calloc(count, sizeof *w.words),
                     .word_of = calloc(count, sizeof *w.word_of),
                     .contributions = calloc(count, sizeof *w.contributions),
                     .ids = calloc(count, sizeof *w.ids)};
    bool ok = (w.words && w.word_of && w.contributions && w.ids) ||
              sl_fail(err, SL_NO_MEMORY, "no memory to explain a text of %zu tokens", count);
    ok = ok && explain(e, text, item, label, &w, err);
    free(w.words);
    free(w.word_of);
    free(w.contributions);
    free(w.ids);
    return ok;
}
