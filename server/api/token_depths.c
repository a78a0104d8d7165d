/* token_depths.c - depths and gates of the tokens that are classified. */
#include "api/token_depths.h"
#include "core/limits.h"
#include "json/completion_response.h"

#include <stdlib.h>

static int routes_of(const struct sv_classification *c)
{
    return sl_model_info(c->ref->model)->routes;
}

/* A response has a depth and the gates of each token. */
static bool check_size(const struct sv_classification *c, struct sv_error *error)
{
    int64_t tokens = 0;
    const int numbers = 1 + routes_of(c), most = SV_SCORES_MAX / numbers;
    for (int i = 0; i < c->texts; i++)
        tokens += c->task.items[i].count;
    return tokens <= most ||
           sv_fail(error, SV_INVALID_VALUE, "sluice.depth",
                   "The texts have %lld tokens; with 'sluice.depth' at most %d are accepted in one "
                   "request to '%s'.",
                   (long long)tokens, most, c->ref->id);
}

bool sv_depths_allocate(struct sv_classification *c, struct sv_error *error)
{
    const size_t routes = (size_t)routes_of(c);
    if (!check_size(c, error))
        return false;
    for (int i = 0; i < c->texts; i++) {
        struct sv_classification_item *item = &c->task.items[i];
        const size_t count = (size_t)item->count;
        item->token_layers = calloc(count, sizeof *item->token_layers);
        item->gates = routes > 0 ? calloc(count * routes, sizeof *item->gates) : NULL;
        if (!item->token_layers || (routes > 0 && !item->gates))
            return sv_fail_no_memory(error);
    }
    return true;
}

void sv_depths_release(const struct sv_classification *c)
{
    for (int i = 0; c->input.depths && c->task.items && i < c->texts; i++) {
        free(c->task.items[i].token_layers);
        free(c->task.items[i].gates);
    }
}

void sv_depths_write(struct sl_json_writer *json, const struct sv_classification *c, int index)
{
    const struct sv_classification_item *item = &c->task.items[index];
    const struct sl_token_offset *places = c->places[index];
    const char *text = c->input.texts.items[index].data;
    const int routes = routes_of(c);
    sl_json_begin_array(json);
    for (int i = 0; i < item->count; i++) {
        const struct sl_token_offset place = places[i];
        if (place.special)
            continue;
        sl_json_begin_object(json);
        sl_json_add(json, "'token':%.*s,'start':%zu,'stop':%zu,'depth':%d",
                    (int)(place.stop - place.start), text + place.start, place.start, place.stop,
                    item->token_layers[i]);
        if (routes > 0)
            sv_add_gates(sl_json_key(json, "gates"), item->gates + (size_t)i * (size_t)routes,
                         routes);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
}
