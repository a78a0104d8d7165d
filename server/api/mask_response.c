/* mask_response.c - what may stand in place of mask tokens, as JSON. */
#include "api/mask_response.h"
#include "api/text_to_tokens.h"

#include "sluice/logits.h"
#include "sluice/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* ---- targets --------------------------------------------------------------------------------- */

/* The ids of the pieces that the targets are, -1 for others, in one walk over the vocabulary. */
static void find_pieces(const struct sl_tokenizer *tokenizer, const struct sv_texts *targets,
                        int32_t found[SV_TARGETS_MAX])
{
    for (int i = 0; i < targets->count; i++)
        found[i] = -1;
    for (int32_t id = sl_tokenizer_size(tokenizer) - 1; id >= 0 && targets->count > 0; id--) {
        size_t bytes;
        const char *piece = sl_tokenizer_piece(tokenizer, id, &bytes);
        for (int i = 0; i < targets->count; i++)
            if (bytes == targets->items[i].bytes &&
                memcmp(piece, targets->items[i].data, bytes) == 0)
                found[i] = id;
    }
}

/* -1: it has none. */
static int32_t first_token(const struct sv_model_ref *ref, const struct sv_string *text)
{
    struct sv_tokens tokens;
    struct sv_error ignored;
    const struct sv_tokenize_input input = {
        .text = text, .param = "targets", .unknown = SL_UNKNOWN_REPLACE, .max = 1};
    const bool ok = sv_tokenize(ref, &input, &tokens, &ignored);
    const int32_t id = ok && tokens.count > 0 ? tokens.ids[0] : -1;
    sv_tokens_release(&tokens);
    return id;
}

static bool has(const struct sv_mask_targets *ids, int32_t id)
{
    for (int i = 0; i < ids->count; i++)
        if (ids->items[i] == id)
            return true;
    return false;
}

bool sv_mask_targets_find(const struct sv_classification *c, const struct sv_texts *targets,
                          struct sv_mask_targets *ids, struct sv_error *error)
{
    int32_t found[SV_TARGETS_MAX];
    find_pieces(sl_model_tokenizer(c->ref->model), targets, found);
    ids->count = 0;
    for (int i = 0; i < targets->count; i++) {
        const int32_t id = found[i] >= 0 ? found[i] : first_token(c->ref, &targets->items[i]);
        if (id >= 0 && !has(ids, id))
            ids->items[ids->count++] = id;
    }
    return ids->count > 0 || targets->count == 0 ||
           sv_fail(error, SV_INVALID_VALUE, "parameters.targets",
                   "'parameters.targets' has no target that is a token of '%s'.", c->ref->id);
}

/* ---- the most probable ----------------------------------------------------------------------- */

struct fill {
    int32_t token;
    float score;
};

static int choose(const float *scores, int vocab, const struct sv_mask_targets *targets,
                  struct fill *fills, int room)
{
    float of_targets[SV_TARGETS_MAX];
    for (int i = 0; i < targets->count; i++)
        of_targets[i] = scores[targets->items[i]];
    const bool some = targets->count > 0;
    int *best = calloc((size_t)room, sizeof *best);
    const int count =
        !best ? 0
              : sl_largest(some ? of_targets : scores, some ? targets->count : vocab, room, best);
    for (int i = 0; i < count; i++) {
        const int32_t token = some ? targets->items[best[i]] : best[i];
        fills[i] = (struct fill){token, scores[token]};
    }
    free(best);
    return best ? count : -1;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void add_decoded(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                        const int32_t *ids, int count, bool skip_special)
{
    struct sl_err ignored;
    const struct sl_decoding decoding = {.ids = ids, .count = count, .skip_special = skip_special};
    if (!sv_add_decoded(json, tokenizer, decoding, &ignored))
        json->out->failed = true;
}

/* The text with a token at a place, without padding. Where there are other masks, these stay. */
static void add_sequence(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                         const struct sv_classification_item *item, int place, int32_t token)
{
    const int32_t padding = sl_tokenizer_special(tokenizer, SL_SPECIAL_PAD);
    int32_t *ids = calloc((size_t)item->count, sizeof *ids);
    int count = 0;
    json->out->failed = json->out->failed || !ids;
    for (int i = 0; ids && i < item->count; i++) {
        const int32_t id = i == place ? token : item->tokens[i];
        if (id != padding)
            ids[count++] = id;
    }
    if (ids)
        add_decoded(json, tokenizer, ids, count, item->rows == 1);
    free(ids);
}

static void add_fill(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                     const struct sv_classification_item *item, int place, struct fill fill)
{
    sl_json_add(json, "{'score':%f,'token':%d,'token_str':", (double)fill.score, fill.token);
    add_decoded(json, tokenizer, &fill.token, 1, false);
    add_sequence(sl_json_key(json, "sequence"), tokenizer, item, place, fill.token);
    sl_json_end_object(json);
}

bool sv_masks_check(const struct sv_classification *c, const struct sv_mask_targets *targets,
                    int top_k, struct sv_error *error)
{
    enum { TOKENS_MAX = 1 << 21 };

    const int most = targets->count > 0 ? targets->count : c->outputs;
    const int fills = top_k < most ? top_k : most;
    int64_t tokens = 0;
    for (int i = 0; i < c->texts; i++)
        tokens += (int64_t)c->task.items[i].rows * fills * c->task.items[i].count;
    return tokens <= TOKENS_MAX ||
           sv_fail(error, SV_INVALID_VALUE, "parameters.top_k",
                   "%d tokens for each mask make a response with %lld tokens of texts; at most %d "
                   "are written. Lower 'parameters.top_k', or send fewer masks.",
                   fills, (long long)tokens, TOKENS_MAX);
}

void sv_masks_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                  const struct sv_mask_targets *targets, int top_k)
{
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(c->ref->model);
    const int32_t mask = sl_tokenizer_special(tokenizer, SL_SPECIAL_MASK);
    const struct sv_classification_item *item = &c->task.items[index];
    const int room = top_k < c->outputs ? top_k : c->outputs;
    struct fill *fills = calloc((size_t)room, sizeof *fills);
    json->out->failed = json->out->failed || !fills;
    if (item->rows > 1)
        sl_json_begin_array(json);
    for (int i = 0, row = 0; fills && i < item->count; i++) {
        if (item->tokens[i] != mask)
            continue;
        float *scores = item->logits + (size_t)row++ * (size_t)c->outputs;
        sl_softmax(scores, c->outputs, scores);
        const int count = choose(scores, c->outputs, targets, fills, room);
        json->out->failed = json->out->failed || count < 0;
        sl_json_begin_array(json);
        for (int k = 0; k < count; k++)
            add_fill(json, tokenizer, item, i, fills[k]);
        sl_json_end_array(json);
    }
    if (item->rows > 1)
        sl_json_end_array(json);
    free(fills);
}
