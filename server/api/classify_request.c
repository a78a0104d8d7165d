/* classify_request.c - the life of a request for classes or embeddings. */
#include "api/classify_request.h"
#include "api/classification_result.h"
#include "api/explain_request.h"
#include "api/model_resolver.h"
#include "api/prompt_choice.h"
#include "api/token_depths.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "serve/scheduler.h"
#include "json/json_peek.h"

#include "sluice/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- making and unmaking --------------------------------------------------------------------- */

static struct sv_classification *create(struct sv_request *request,
                                        const struct sv_classify_format *format,
                                        struct sv_error *error)
{
    struct sv_classification *c = sv_new(sizeof *c, error);
    if (!c)
        return NULL;
    c->request = request;
    c->format = format;
    return c;
}

/* Gives back what the task does not own yet. */
static void withdraw(struct sv_classification *c)
{
    if (c->is_admitted && !c->is_submitted)
        sv_scheduler_withdraw(c->request->server->scheduler, c->ref, c->items_admitted,
                              c->reserved);
    c->is_admitted = false;
}

static void destroy(void *state)
{
    struct sv_classification *c = state;
    withdraw(c);
    for (int i = 0; c->token_ids && i < c->texts * c->items_per_text; i++)
        free(c->token_ids[i]);
    for (int i = 0; c->token_types && i < c->texts; i++)
        free(c->token_types[i]);
    for (int i = 0; c->places && i < c->texts; i++)
        free(c->places[i]);
    sv_explain_release(c);
    sv_depths_release(c);
    free(c->token_ids);
    free(c->token_types);
    free(c->places);
    free(c->task.items);
    free(c->tokens_before_truncation);
    free(c->results);
    free(c->params);
    sv_json_document_release(c->document);
    sv_model_ref_release(c->ref);
    free(c);
}

static bool find_model(struct sv_classification *c, const char *name, struct sv_error *error)
{
    c->ref = sv_resolve(c->request, name, c->format->wants, error);
    if (!c->ref)
        return false;
    const struct sl_model_info *info = sl_model_info(c->ref->model);
    if (c->format->of_model)
        c->format = c->format->of_model(info);
    c->usage.depth = info->depth;
    c->classes = info->classes;
    c->labels = info->labels;
    sv_classification_set_output(c, info->output_size[c->format->output] > 0
                                        ? c->format->output
                                        : sl_model_main_output(info));
    return true;
}

void sv_classification_set_output(struct sv_classification *c, enum sl_output output)
{
    c->task.output = output;
    c->outputs = sl_model_info(c->ref->model)->output_size[output];
}

/* A response tells of entities, or of tokens, by where they are. */
static bool keeps_places(const struct sv_classification *c)
{
    return c->input.depths || (c->task.output == SL_OUTPUT_TOKENS && c->classes > 0);
}

/* ---- texts to tokens ------------------------------------------------------------------------- */

static bool allocate(struct sv_classification *c, int count)
{
    size_t texts = (size_t)count, items = texts * (size_t)c->items_per_text;
    c->token_ids = calloc(items, sizeof(int32_t *));
    c->token_types = calloc(texts, sizeof(int32_t *));
    c->places = calloc(texts, sizeof(struct sl_token_offset *));
    c->task.items = calloc(items, sizeof *c->task.items);
    if (c->input.explain > 0)
        c->explanations = calloc(texts, sizeof *c->explanations);
    c->tokens_before_truncation = calloc(texts, sizeof *c->tokens_before_truncation);
    return (c->explanations || c->input.explain == 0) && c->token_ids && c->token_types &&
           c->places && c->task.items && c->tokens_before_truncation;
}

static int64_t characters(const struct sv_string *text)
{
    return (int64_t)sl_utf8_count(text->data, text->bytes);
}

static int32_t mask_of(const struct sv_classification *c)
{
    return sl_tokenizer_special(sl_model_tokenizer(c->ref->model), SL_SPECIAL_MASK);
}

/* Rows of a text's result. */
static int rows_of(const struct sv_classification *c, const struct sv_tokens *tokens)
{
    int masks = 0;
    if (c->task.output == SL_OUTPUT_TOKENS)
        return tokens->count;
    if (c->task.output != SL_OUTPUT_MASKED)
        return 1;
    for (int i = 0; i < tokens->count; i++)
        masks += tokens->ids[i] == mask_of(c);
    return masks;
}

static bool check_masks(const struct sv_classification *c, const char *param, int rows,
                        struct sv_error *error)
{
    size_t bytes;
    return rows > 0 ||
           sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' has no mask token; write %s where '%s' shall predict a token.", param,
                   sl_tokenizer_piece(sl_model_tokenizer(c->ref->model), mask_of(c), &bytes),
                   c->ref->id);
}

static struct sv_tokenize_input text_at(const struct sv_classification *c, int index)
{
    const struct sv_texts *texts = &c->input.texts;
    return (struct sv_tokenize_input){.text = &texts->items[index],
                                      .pair = sv_texts_pair(texts, index),
                                      .prompt = c->prompt,
                                      .wants_places = c->input.explain > 0 || keeps_places(c)};
}

static bool tokenize_text(const struct sv_classification *c, const char *param, int index,
                          struct sv_tokens *tokens, struct sv_error *error)
{
    const struct sv_classify_input *input = &c->input;
    struct sv_tokenize_input text = text_at(c, index);
    text.param = param;
    return input->ids ? sv_take_token_ids(c->ref, input->tokenize, &input->ids[index], param,
                                          tokens, error)
                      : sv_tokenize_for_classifier(c->ref, input->tokenize, text, tokens, error);
}

static void count_characters(struct sv_classification *c, int index)
{
    const struct sv_tokenize_input text = text_at(c, index);
    if (!c->input.ids)
        c->characters += characters(text.text) + (text.pair ? characters(text.pair) : 0);
}

static bool add_item(struct sv_classification *c, const char *param, int index,
                     const struct sv_tokens *tokens, struct sv_error *error)
{
    struct sv_classification_item *item = &c->task.items[index];
    *item = (struct sv_classification_item){.tokens = tokens->ids,
                                            .types = tokens->types,
                                            .count = tokens->count,
                                            .cost = tokens->count,
                                            .rows = rows_of(c, tokens),
                                            .text = index};
    c->usage.prompt_tokens += tokens->given > 0 ? tokens->count : 0;
    c->tokens_before_truncation[index] = tokens->given;
    c->truncated_count += tokens->given > tokens->count;
    count_characters(c, index);
    return check_masks(c, param, item->rows, error) &&
           (!c->explanations || tokens->given == 0 || sv_explain_text(c, index, tokens, error));
}

static bool encode(struct sv_classification *c, const char *param, int index,
                   struct sv_error *error)
{
    struct sv_tokens tokens;
    bool ok = tokenize_text(c, param, index, &tokens, error);
    c->token_ids[index] = tokens.ids;
    c->token_types[index] = tokens.types;
    ok = ok && add_item(c, param, index, &tokens, error);
    if (ok && keeps_places(c))
        c->places[index] = tokens.places;
    else
        free(tokens.places);
    return ok;
}

static bool is_sliced(const struct sv_classification *c)
{
    return c->classes == 0 && c->format->slices_embeddings;
}

static bool check_outputs(const struct sv_classification *c, int texts, struct sv_error *error)
{
    int max = sv_classify_batch_max(c->outputs, is_sliced(c)) / c->items_per_text;
    const char *outputs = c->classes > 0 ? "labels"
                          : c->task.output == SL_OUTPUT_MASKED || c->task.output == SL_OUTPUT_SPARSE
                              ? "tokens in its vocabulary"
                              : "dimensions";
    if (max == 0)
        return sv_fail(error, SV_INVALID_VALUE, NULL,
                       "'%s' has %d labels, too many for explanations: at most %d.", c->ref->id,
                       c->outputs, sv_classify_batch_max(1, is_sliced(c)) / c->items_per_text);
    return texts <= max ||
           sv_fail(error, SV_INVALID_VALUE, c->format->texts_field,
                   "'%s' holds %d texts and '%s' has %d %s; at most %d texts with so many %s are "
                   "accepted in one request.",
                   c->format->texts_field, texts, c->ref->id, c->outputs, outputs, max, outputs);
}

/* At most what the tokenizer can make of them, and what the model reads. */
static int64_t count_tokens_at_most(const struct sv_classification *c)
{
    const struct sv_texts *texts = &c->input.texts;
    size_t context = (size_t)sl_model_info(c->ref->model)->context;
    int64_t tokens = 0;
    for (int i = 0; i < texts->count; i++) {
        const struct sv_tokenize_input text = text_at(c, i);
        size_t max = c->input.ids ? (size_t)c->input.ids[i].id_count : sv_tokens_max(c->ref, &text);
        tokens += (int64_t)(max < context ? max : context);
    }
    return tokens * sv_explain_token_factor(c);
}

/* Before anything is tokenized. */
static bool admit(struct sv_classification *c, struct sv_error *error)
{
    int texts = c->input.texts.count;
    c->items_per_text = sv_explain_items(c);
    if (!sv_request_check_batch_size(c->request, c->format->texts_field, texts, error) ||
        !check_outputs(c, texts, error))
        return false;
    c->texts = c->items = texts;
    c->items_admitted = texts * c->items_per_text;
    c->is_admitted = sv_scheduler_admit(c->request->server->scheduler, c->ref, c->items_admitted,
                                        count_tokens_at_most(c), &c->reserved, error);
    return c->is_admitted && (allocate(c, texts) || sv_fail_no_memory(error));
}

/* Tokenizes as many texts as others can wait for. */
static bool encode_some(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_texts *texts = &c->input.texts;
    int64_t began = sl_now_ns();
    char name[SV_PARAM_MAX];
    for (size_t bytes = 0; c->encoded < texts->count && bytes < SV_TOKENIZE_SLICE_BYTES;
         c->encoded++) {
        const int input =
            c->encoded / (c->input.texts_per_input > 0 ? c->input.texts_per_input : 1);
        sv_param_name(c->format->texts_field, texts->is_array, input, name);
        if (!encode(c, name, c->encoded, error)) {
            error->index = texts->is_array ? input : -1;
            return false;
        }
        const struct sv_string *pair = sv_texts_pair(texts, c->encoded);
        bytes += c->input.ids ? (size_t)c->input.ids[c->encoded].id_count * sizeof(int32_t)
                              : texts->items[c->encoded].bytes;
        bytes += pair ? pair->bytes : 0;
    }
    c->task.encoded_ns += sl_now_ns() - began;
    return true;
}

/* ---- through the scheduler ------------------------------------------------------------------- */

/* What was computed for a blank text is no result. */
static void clear_blanks(struct sv_classification *c)
{
    for (int i = 0; i < c->texts; i++) {
        struct sv_classification_item *item = &c->task.items[i];
        if (!sv_classification_is_blank(c, i))
            continue;
        memset(item->logits, 0, (size_t)item->rows * (size_t)c->outputs * sizeof *item->logits);
        item->layers_used = item->layers_full = 0;
    }
}

static void sum_layers(struct sv_classification *c)
{
    if (c->usage.layers_full > 0)
        return; /* already done */
    for (int i = 0; i < c->texts; i++) {
        c->usage.layers_used += c->task.items[i].layers_used;
        c->usage.layers_full += c->task.items[i].layers_full;
    }
}

/* What the items give back when they end. */
static int64_t cost_of_items(const struct sv_classification *c)
{
    int64_t cost = 0;
    for (int i = 0; i < c->items; i++)
        cost += c->task.items[i].cost;
    return cost;
}

/* Now it is known how many rows there will be. */
static bool allocate_results(struct sv_classification *c, struct sv_error *error)
{
    const int most = sv_classify_batch_max(c->outputs, is_sliced(c));
    int64_t rows = 0, row = 0;
    for (int i = 0; i < c->items; i++)
        rows += c->task.items[i].rows;
    if (rows > most)
        return sv_fail(error, SV_INVALID_VALUE, c->format->texts_field,
                       "'%s' has %lld %s; at most %d are accepted in one request to '%s', with %d "
                       "numbers each.",
                       c->format->texts_field, (long long)rows,
                       c->task.output == SL_OUTPUT_TOKENS ? "tokens" : "mask tokens", most,
                       c->ref->id, c->outputs);
    c->results = calloc((size_t)rows * (size_t)c->outputs, sizeof *c->results);
    if (!c->results)
        return sv_fail_no_memory(error);
    for (int i = 0; i < c->items; i++) {
        c->task.items[i].logits = c->results + (size_t)row * (size_t)c->outputs;
        row += c->task.items[i].rows;
    }
    return true;
}

/* Everything is tokenized. */
static bool submit(struct sv_classification *c, struct sv_error *error)
{
    struct sv_scheduler *scheduler = c->request->server->scheduler;
    assert(c->items > 0);
    if (!allocate_results(c, error) || (c->input.depths && !sv_depths_allocate(c, error)))
        return false;
    if (c->items < c->items_admitted) /* fewer words than there may be */
        sv_scheduler_withdraw(scheduler, c->ref, c->items_admitted - c->items, 0);
    c->items_admitted = c->task.count = c->items;
    c->is_admitted =
        sv_scheduler_settle(scheduler, c->ref, c->items, c->reserved, cost_of_items(c), error);
    if (!c->is_admitted)
        return false;
    c->task.request = c->request;
    c->is_submitted = true;
    sv_scheduler_submit_classification(scheduler, c->ref, &c->task);
    return true;
}

static enum sv_progress tokenize(struct sv_classification *c)
{
    struct sv_error error = {0};
    bool ok = !sv_request_must_stop(c->request, c->task.deadline_ns, NULL, sl_now_ns(), &error) &&
              encode_some(c, &error);
    if (ok && c->encoded < c->texts)
        return SV_YIELDING;
    if (ok && submit(c, &error))
        return SV_PENDING;
    withdraw(c);
    return sv_request_fail(c->request, &error);
}

static enum sv_progress proceed(struct sv_request *request)
{
    struct sv_classification *c = request->state;
    if (!c->is_submitted)
        return tokenize(c);
    bool finished = atomic_load(&c->task.finished);
    struct sv_error late = {0};
    if (finished && c->task.error.kind != SV_OK)
        return sv_request_fail(request, &c->task.error);
    /* The executor holds the task and the request until its batch is finished. */
    if (!atomic_load(&request->cancelled) &&
        sv_request_must_stop(request, c->task.deadline_ns, NULL, sl_now_ns(), &late))
        return sv_request_fail(request, &late);
    if (!finished)
        return SV_PENDING;
    clear_blanks(c);
    sum_layers(c);
    return c->format->respond(request, c);
}

static void cancel(struct sv_request *request)
{
    sv_scheduler_sweep(request->server->scheduler);
}

static bool tick(struct sv_request *request, int64_t now_ns)
{
    const struct sv_classification *c = request->state;
    /* A batch may run past the deadline; the error need not wait for it. */
    return now_ns > c->task.deadline_ns;
}

static enum sv_error_kind outcome(struct sv_request *request, bool complete)
{
    const struct sv_classification *c = request->state;
    if (atomic_load(&c->task.finished) && c->task.error.kind != SV_OK)
        return c->task.error.kind;
    return complete ? SV_OK : SV_CLIENT_DISCONNECTED;
}

static const struct sv_async async = {.proceed = proceed,
                                      .cancel = cancel,
                                      .tick = tick,
                                      .outcome = outcome,
                                      .destroy = destroy};

/* The model's name, as far as it is known before the body is parsed. */
static bool peek_model(const struct sv_classification *c, char name[static SV_PATH_MAX])
{
    if (c->format->body_names_model)
        return sv_json_peek_string(&c->request->body, "model", name, SV_PATH_MAX);
    (void)sv_path_model_id(c->request, name);
    return true;
}

/* Of embeddings only; token ids are taken as they are. */
static bool choose_prompt(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_string *name = &c->input.tokenize->prompt_name;
    const bool takes = c->task.output != SL_OUTPUT_MASKED && !c->input.ids;
    if (name->data && !takes)
        return sv_fail(error, SV_INVALID_VALUE, "prompt_name",
                       "'prompt_name' is for embeddings of texts, not %s. Leave it out.",
                       c->input.ids ? "of token ids" : "for masked tokens");
    return !takes || sv_choose_prompt(c->ref, name, &c->prompt, error);
}

static bool begin(struct sv_classification *c, struct sv_error *error)
{
    char name[SV_PATH_MAX];
    /* An unknown model takes precedence over errors in the body, and a full queue too. */
    if (peek_model(c, name)) {
        if (!find_model(c, name, error) ||
            !sv_scheduler_is_open(c->request->server->scheduler, c->ref, error))
            return false;
    }
    const struct sv_classify_format *format = c->format;
    c->params = sv_new(format->params_size, error);
    c->document =
        c->params ? format->read(c->request, format->fields, c->params, &c->input, error) : NULL;
    if (!c->document)
        return false;
    if (!c->ref && !find_model(c, c->input.model, error))
        return false;
    if (!sv_choose_operating_point(c->request, c->ref, c->input.budget, &c->usage,
                                   &c->task.operating_point, error))
        return false;
    if (format->prepare && !format->prepare(c, error))
        return false;
    return choose_prompt(c, error) && admit(c, error);
}

enum sv_progress sv_classify(struct sv_request *request, const struct sv_classify_format *format)
{
    struct sv_error error;
    if (!sv_request_is_accepted(request, &error))
        return sv_request_fail(request, &error);
    struct sv_classification *c = create(request, format, &error);
    if (!c)
        return sv_request_fail(request, &error);
    if (!begin(c, &error)) {
        destroy(c);
        return sv_request_fail(request, &error);
    }
    c->task.deadline_ns = sv_request_deadline_ns(request);
    request->async = &async; /* from here on the request owns c */
    request->state = c;
    return proceed(request);
}
