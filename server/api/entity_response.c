/* entity_response.c - what a token classifier found, as JSON. */
#include "api/entity_response.h"
#include "api/classification_result.h"

#include <stdlib.h>

/* Ends with NULL; NULL: no memory. */
static const char **ignored_labels(const struct sv_entity_options *options)
{
    const int count = options->has_ignored ? options->ignored.count : 1;
    const char **labels = calloc((size_t)count + 1, sizeof *labels);
    for (int i = 0; labels && i < count; i++)
        labels[i] = options->has_ignored ? options->ignored.items[i].data : "O";
    return labels;
}

static void add_entity(struct sl_json_writer *json, const struct sl_entity *e, bool is_token)
{
    sl_json_begin_object(json);
    sl_json_add_string(sl_json_key(json, is_token ? "entity" : "entity_group"), e->label);
    sl_json_add(json, "'score':%f", (double)e->score);
    if (is_token)
        sl_json_add(json, "'index':%d", e->token);
    sl_json_add_bytes(sl_json_key(json, "word"), e->word.text, e->word.bytes);
    sl_json_add(json, "'start':%zu,'end':%zu}", e->start, e->stop);
}

void sv_entities_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                     const struct sv_entity_options *options)
{
    struct sl_err err;
    struct sl_entities found = {0};
    const struct sv_classification_item *item = &c->task.items[index];
    const struct sv_string *text = &c->input.texts.items[index];
    const struct sl_classified_tokens tokens = {
        .text = text->data,
        .bytes = text->bytes,
        .ids = item->tokens,
        .offsets = c->places[index],
        .logits = item->logits,
        .count = sv_classification_is_blank(c, index) ? 0 : item->count};
    const char **ignored = ignored_labels(options);
    if (!ignored ||
        !sl_entities_find(c->ref->model, &tokens, options->aggregation, ignored, &found, &err))
        json->out->failed = true;
    sl_json_begin_array(json);
    for (int i = 0; i < found.count; i++)
        add_entity(json, &found.items[i], options->aggregation == SL_AGGREGATE_NONE);
    sl_json_end_array(json);
    sl_entities_release(&found);
    free(ignored);
}
