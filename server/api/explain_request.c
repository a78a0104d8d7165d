/* explain_request.c - explanations of a classification request's results. */
#include "api/explain_request.h"

#include "sluice/explanation.h"
#include "sluice/logits.h"

#include <stdlib.h>

static bool is_exact(const struct sv_classification *c)
{
    return sl_model_info(c->ref->model)->explains;
}

int sv_explain_items(const struct sv_classification *c)
{
    return c->input.explain > 0 && !is_exact(c) ? 1 + SL_OCCLUSIONS_MAX : 1;
}

/* An exact explanation takes about as long as the text itself. */
int sv_explain_token_factor(const struct sv_classification *c)
{
    if (c->input.explain == 0)
        return 1;
    return is_exact(c) ? 2 : c->items_per_text;
}

/* The text without one of its words. One of a single word has no tokens left, and no item. */
static bool add_occlusion(struct sv_classification *c, int index, int word, struct sv_error *error)
{
    const struct sv_explanation *e = &c->explanations[index];
    const struct sv_classification_item *whole = &c->task.items[index];
    int32_t *ids = malloc((size_t)whole->count * sizeof *ids);
    if (!ids)
        return sv_fail_no_memory(error);
    free(c->token_ids[c->items]); /* of a text that had no tokens left */
    int at = c->items,
        count = sl_tokens_without(whole->tokens, e->word_of, whole->count, word, ids);
    c->token_ids[at] = ids;
    c->task.items[at] = (struct sv_classification_item){
        .tokens = ids, .count = count, .cost = count, .rows = 1, .text = index};
    c->items += count > 0;
    return true;
}

bool sv_explain_text(struct sv_classification *c, int index, const struct sv_tokens *tokens,
                     struct sv_error *error)
{
    struct sv_explanation *e = &c->explanations[index];
    const struct sv_string *text = &c->input.texts.items[index];
    const struct sl_tokenized_text tokenized = {.text = text->data,
                                                .bytes = text->bytes,
                                                .offsets = tokens->places,
                                                .count = tokens->count};
    size_t count = (size_t)tokens->count;
    bool exact = is_exact(c), ok = true;
    e->words = calloc(count, sizeof *e->words);
    e->word_of = calloc(count, sizeof *e->word_of);
    e->contributions = exact ? calloc(count, sizeof *e->contributions) : NULL;
    if (!e->words || !e->word_of || (exact && !e->contributions))
        return sv_fail_no_memory(error);
    e->count =
        sl_text_words(&tokenized, exact ? tokens->count : SL_OCCLUSIONS_MAX, e->words, e->word_of);
    e->first_item = c->items;
    c->task.both_parts = true;
    c->task.items[index].contributions = e->contributions;
    if (exact)
        c->task.items[index].cost += tokens->count;
    for (int word = 0; word < e->count && !exact && ok; word++)
        ok = add_occlusion(c, index, word, error);
    return ok;
}

void sv_explain_release(const struct sv_classification *c)
{
    for (int i = 0; c->explanations && i < c->texts; i++) {
        free(c->explanations[i].words);
        free(c->explanations[i].word_of);
        free(c->explanations[i].contributions);
    }
    free(c->explanations);
}

/* ---- the response ---------------------------------------------------------------------------- */

int sv_explained_label(const struct sv_classification *c, int index)
{
    return sl_argmax(c->task.items[index].logits, c->classes);
}

static void set_contributions(const struct sv_classification *c, int index)
{
    struct sv_explanation *e = &c->explanations[index];
    const struct sv_classification_item *whole = &c->task.items[index];
    const int label = sv_explained_label(c, index);
    const struct sl_model *model = c->ref->model;
    const double margin = sl_margin(model, whole->logits, label);
    for (int word = 0; word < e->count; word++)
        e->words[word].contribution = 0.0f;
    if (e->contributions) {
        for (int i = 0; i < whole->count; i++)
            if (e->word_of[i] >= 0)
                e->words[e->word_of[i]].contribution += e->contributions[i];
        return;
    }
    for (int word = 0; word < e->count; word++) {
        int at = e->first_item + word;
        bool has_item = at < c->items && c->task.items[at].text == index;
        double without = has_item ? sl_margin(model, c->task.items[at].logits, label) : 0.0;
        e->words[word].contribution = (float)(margin - without);
    }
}

static void rank(const struct sv_classification *c, int index)
{
    struct sv_explanation *e = &c->explanations[index];
    if (!e->is_ranked) {
        set_contributions(c, index);
        sl_text_words_rank(e->words, e->count);
    }
    e->is_ranked = true;
}

void sv_explain_write(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_explanation *e = &c->explanations[index];
    const char *text = c->input.texts.items[index].data;
    rank(c, index);
    sl_json_begin_array(json);
    for (int i = 0; i < e->count && i < c->input.explain; i++) {
        const struct sl_text_word *word = &e->words[i];
        sl_json_add(json, "{'word':%.*s,'start':%zu,'stop':%zu,'contribution':%f}",
                    (int)(word->stop - word->start), text + word->start, word->start, word->stop,
                    (double)word->contribution);
    }
    sl_json_end_array(json);
}
