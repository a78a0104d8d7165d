/* completion_request.c - requests become generations, their text answers. */
#include "api/completion_request.h"
#include "api/generation_options.h"
#include "api/model_abilities.h"
#include "api/model_resolver.h"
#include "api/operating_point.h"
#include "api/text_to_tokens.h"
#include "base/clock.h"
#include "core/options.h"
#include "serve/scheduler.h"
#include "json/json_peek.h"

#include "sluice/generation.h"
#include "sluice/model.h"
#include "sluice/tokenizer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The state of one request. */
struct completion {
    struct sv_request *request;
    const struct sv_completion_api *api;
    struct sv_model_ref *ref;
    int64_t max_tokens; /* of each text */
    struct sv_tokens *prompts;
    int prompt_count;
    struct sv_truncation *truncations;
    struct sv_completion_task task;
    char id[48];
    int64_t created;
    struct sv_token_facts facts;  /* what is requested of each token */
    _Atomic int64_t last_sent_ns; /* when the stream last sent something */
};

static void release_prompts(struct completion *c)
{
    for (int i = 0; c->prompts && i < c->prompt_count; i++)
        sv_tokens_release(&c->prompts[i]);
    free(c->prompts);
    c->prompts = NULL;
}

static void completion_destroy(void *state)
{
    struct completion *c = state;
    for (int i = 0; c->task.sequences && i < c->task.count; i++)
        sl_generation_destroy(c->task.sequences[i].generation);
    free(c->task.sequences);
    release_prompts(c);
    free(c->truncations);
    sv_sse_stream_destroy(c->task.stream);
    sv_model_ref_release(c->ref);
    free(c);
}

static bool translates(const struct completion *c)
{
    return sl_model_info(c->ref->model)->task == SL_TASK_TRANSLATION;
}

/* ---- prompts to tokens ----------------------------------------------------------------------- */

static bool copy_ids(const struct completion *c, const struct sv_prompt *prompt, const char *param,
                     struct sv_tokens *to, struct sv_error *error)
{
    to->given = prompt->id_count;
    to->ids = malloc(((size_t)prompt->id_count + 1) * sizeof *to->ids);
    if (!to->ids)
        return sv_fail_no_memory(error);
    for (int i = 0; i < prompt->id_count; i++)
        to->ids[i] = prompt->ids[i];
    return sv_check_token_ids(c->ref, prompt, param, error);
}

static void record_truncation(struct completion *c, int index, int given, int used)
{
    c->truncations[c->task.usage.truncation_count++] =
        (struct sv_truncation){.prompt = index, .given = given, .used = used};
}

/* A prompt longer than the context is rejected, or truncated if the request allows it. */
static bool fit(const struct sv_completion_params *params, struct completion *c, int index,
                const char *param, struct sv_error *error)
{
    struct sv_tokens *t = &c->prompts[index];
    int context = sl_model_info(c->ref->model)->context;
    t->count = t->given < context ? t->given : context;
    if (t->count == t->given)
        return true;
    if (!params->truncate)
        return c->api->fail_length(c->ref, param, t->given, error);
    record_truncation(c, index, t->given, t->count);
    return true;
}

/* Of a text to translate the beginning is kept, between the tokens that surround texts. */
static bool truncate_source(struct completion *c, struct sv_tokenize_input input, int index,
                            struct sv_error *error)
{
    struct sv_tokens *t = &c->prompts[index];
    const int given = t->given;
    input.truncate_to = sl_model_info(c->ref->model)->context;
    if (given <= input.truncate_to)
        return true;
    sv_tokens_release(t);
    if (!sv_tokenize(c->ref, &input, t, error))
        return false;
    record_truncation(c, index, given, t->count);
    return true;
}

static const struct sv_prompt *prompt_of(const struct sv_completion_params *params, int index)
{
    static const struct sv_prompt nothing; /* "prompt": null */
    return params->prompt.count ? &params->prompt.items[index] : &nothing;
}

static bool read_prompts(const struct sv_completion_params *params, struct completion *c,
                         struct sv_error *error)
{
    c->prompts = calloc((size_t)c->prompt_count, sizeof *c->prompts);
    c->truncations = calloc((size_t)c->prompt_count, sizeof *c->truncations);
    if (!c->prompts || !c->truncations)
        return sv_fail_no_memory(error);
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(c->ref->model);
    for (int i = 0; i < c->prompt_count; i++) {
        char param[SV_PARAM_MAX];
        sv_param_name(c->api->prompt, params->prompt.is_array, i, param);
        const struct sv_prompt *prompt = prompt_of(params, i);
        const struct sv_tokenize_input input = {
            .text = &prompt->text,
            .plain = prompt->plain,
            .plain_count = prompt->plain_count,
            .param = param,
            .adds_special =
                translates(c) || (!c->api->write_prompt && sl_tokenizer_begins_texts(tokenizer)),
            .unknown = params->unknown};
        if (prompt->ids ? !copy_ids(c, prompt, param, &c->prompts[i], error)
                        : !sv_tokenize(c->ref, &input, &c->prompts[i], error))
            return false;
        if (translates(c) && params->truncate && !prompt->ids &&
            !truncate_source(c, input, i, error))
            return false;
        if (!fit(params, c, i, param, error))
            return false;
        c->task.usage.prompt_tokens += c->prompts[i].count;
    }
    return true;
}

/* ---- generations ----------------------------------------------------------------------------- */

/* n samples of every prompt, numbered prompt by prompt. A prompt gives the same text here as
 * alone. */
static bool make_sequences(const struct sv_completion_params *params, struct completion *c,
                           struct sl_generation_options *options, struct sv_error *error)
{
    const struct sl_model *model = c->ref->model;
    struct sl_err err;
    int samples = (int)params->n;
    c->task.sequences = calloc((size_t)c->task.count, sizeof *c->task.sequences);
    if (!c->task.sequences)
        return sv_fail_no_memory(error);
    for (int i = 0; i < c->task.count; i++) {
        const struct sv_tokens *prompt = &c->prompts[i / samples];
        struct sv_sequence *sequence = &c->task.sequences[i];
        options->prompt = prompt->ids + (translates(c) ? 0 : prompt->given - prompt->count);
        options->prompt_count = prompt->count;
        options->choice = i % samples;
        sequence->choice = i;
        sequence->cost = prompt->count + c->max_tokens;
        sequence->generation = sl_generation_create(model, options, &err);
        if (!sequence->generation)
            return sv_fail(error, err.code == SL_BAD_INPUT ? SV_INVALID_VALUE : SV_INTERNAL, NULL,
                           "%s", err.text);
    }
    return true;
}

static void on_stream_space(void *context)
{
    const struct completion *c = context;
    sv_scheduler_wake(c->request->server->scheduler);
}

static bool make_stream(const struct sv_completion_params *params, struct completion *c,
                        struct sv_error *error)
{
    struct sl_err err;
    const struct sv_sse_stream_options options = {
        .head = {.format = c->api->format,
                 .id = c->id,
                 .model = c->ref->id,
                 .fingerprint = c->ref->fingerprint,
                 .created = c->created},
        .choices = c->task.count,
        .tokens = sl_model_tokenizer(c->ref->model),
        .facts = c->facts,
        .include_usage = params->include_usage,
        .on_space = on_stream_space,
        .context = c,
    };
    if (!params->stream)
        return true;
    c->task.stream = sv_sse_stream_create(&options, &err);
    return c->task.stream || sv_fail_no_memory(error);
}

static bool make_task(const struct sv_completion_params *params, struct completion *c,
                      struct sv_error *error)
{
    int vocab = sl_model_info(c->ref->model)->vocab;
    float *bias = NULL;
    uint64_t seed = params->seed_given ? (uint64_t)params->seed : sv_next_id(c->request->server);
    struct sl_generation_options options =
        sv_generation_options(params, c->ref->model, (int)c->max_tokens, seed);
    bool made = sv_expand_logit_bias(&params->bias, vocab, &bias, error);
    options.sampling.bias = bias;
    made = made && make_stream(params, c, error) && make_sequences(params, c, &options, error);
    free(bias); /* each generation has its copy */
    return made;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_headers(struct sv_request *request, const struct completion *c)
{
    const struct sv_completion_task *t = &c->task;
    sv_request_add_header(request, "x-sluice-depth-mean", "%.4f", sv_usage_mean_depth(&t->usage));
    sv_request_add_header(request, "x-sluice-layer-ops-skipped", "%.4f",
                          sv_usage_layer_ops_skipped(&t->usage));
    sv_add_budget_header(request, &t->usage);
    sv_request_add_header(request, "x-queue-time", "%lld", sv_ms(t->started_ns - t->queued_ns));
    sv_request_add_header(request, "x-inference-time", "%lld",
                          sv_ms(t->finished_ns - t->started_ns));
    sv_request_add_header(request, "x-total-time", "%lld",
                          sv_ms(sl_now_ns() - request->received_ns));
    if (t->usage.truncation_count > 0)
        sv_request_add_header(request, "x-sluice-truncated", "%d", t->usage.truncation_count);
}

static void add_choice(struct sl_json_writer *json, const struct completion *c,
                       const struct sv_sequence *sequence)
{
    struct sv_completion_choice piece = {.choice = sequence->choice,
                                         .tokens = sl_model_tokenizer(c->ref->model),
                                         .facts = c->facts,
                                         .finish = sl_generation_finish(sequence->generation)};
    piece.text = sl_generation_text(sequence->generation, &piece.bytes);
    piece.records = sl_generation_logprobs(sequence->generation, &piece.record_count);
    c->api->format->whole(json, &piece);
}

static enum sv_progress respond_complete(struct sv_request *request, const struct completion *c)
{
    struct sl_json_writer json = {.out = &request->response.body};
    const struct sv_completion_head head = {.format = c->api->format,
                                            .id = c->id,
                                            .model = c->ref->id,
                                            .fingerprint = c->ref->fingerprint,
                                            .created = c->created};
    sv_completion_response_begin(&json, &head, /* is_event= */ false);
    for (int i = 0; i < c->task.count; i++)
        add_choice(&json, c, &c->task.sequences[i]);
    sl_json_add(&json, "],'usage':");
    sv_completion_response_usage(&json, &c->task.usage);
    sl_json_end_object(&json);
    add_headers(request, c);
    return sv_request_respond(request, 200, "application/json");
}

static enum sv_progress respond_stream(struct sv_request *request, const struct completion *c)
{
    sv_request_add_header(request, "Cache-Control", "no-cache");
    sv_request_add_header(request, "X-Accel-Buffering", "no");
    sv_add_budget_header(request, &c->task.usage);
    if (c->task.usage.truncation_count > 0)
        sv_request_add_header(request, "x-sluice-truncated", "%d", c->task.usage.truncation_count);
    (void)sv_request_respond(request, 200, "text/event-stream; charset=utf-8");
    return SV_STREAMING;
}

static enum sv_progress proceed(struct sv_request *request)
{
    const struct completion *c = request->state;
    bool finished = atomic_load(&c->task.finished);
    if (c->task.stream && sv_sse_stream_has_begun(c->task.stream))
        return respond_stream(request, c);
    if (!finished)
        return SV_PENDING;
    if (c->task.error.kind != SV_OK)
        return sv_request_fail(request, &c->task.error);
    assert(!c->task.stream); /* a finished stream has begun */
    return respond_complete(request, c);
}

static ssize_t pull(struct sv_request *request, char *bytes, size_t max)
{
    struct completion *c = request->state;
    ssize_t taken = sv_sse_stream_pull(c->task.stream, bytes, max);
    if (taken > 0)
        atomic_store(&c->last_sent_ns, sl_now_ns());
    return taken;
}

static void cancel(struct sv_request *request)
{
    sv_scheduler_sweep(request->server->scheduler);
}

static bool tick(struct sv_request *request, int64_t now_ns)
{
    struct completion *c = request->state;
    int64_t silent = now_ns - atomic_load(&c->last_sent_ns);
    if (!c->task.stream ||
        silent < request->server->options->sse_ping_seconds * INT64_C(1000000000))
        return false;
    atomic_store(&c->last_sent_ns, now_ns);
    sv_sse_stream_ping(c->task.stream);
    return true;
}

static enum sv_error_kind outcome(struct sv_request *request, bool complete)
{
    const struct completion *c = request->state;
    if (atomic_load(&c->task.finished) && c->task.error.kind != SV_OK)
        return c->task.error.kind;
    bool had_all = complete || (c->task.stream && sv_sse_stream_is_delivered(c->task.stream));
    return had_all ? SV_OK : SV_CLIENT_DISCONNECTED;
}

static const struct sv_async async = {.proceed = proceed,
                                      .pull = pull,
                                      .cancel = cancel,
                                      .tick = tick,
                                      .outcome = outcome,
                                      .destroy = completion_destroy};

/* ---- the request ----------------------------------------------------------------------------- */

static struct sv_model_ref *find_model(struct sv_request *request, const char *name,
                                       struct sv_error *error)
{
    struct sv_model_ref *ref = sv_resolve_model(request, name, error);
    if (!ref || sl_model_info(ref->model)->generates)
        return ref;
    (void)sv_fail(error, SV_NOT_A_LANGUAGE_MODEL, "model", "The model '%s' completes no texts; %s.",
                  name, sv_model_use(sl_model_info(ref->model)));
    sv_model_ref_release(ref);
    return NULL;
}

/* At most what the tokenizer can make of a prompt, and what the model reads. */
static int64_t cost_at_most(const struct sv_completion_params *params, const struct completion *c)
{
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(c->ref->model);
    size_t context = (size_t)sl_model_info(c->ref->model)->context;
    const int64_t tokens = params->max_tokens < 0 ? (int64_t)context : params->max_tokens;
    int64_t cost = 0;
    for (int i = 0; i < c->prompt_count; i++) {
        const struct sv_prompt *prompt = prompt_of(params, i);
        size_t max = prompt->ids ? (size_t)prompt->id_count
                                 : sl_tokenizer_max_tokens(tokenizer, prompt->text.bytes);
        cost += params->n * ((int64_t)(max < context ? max : context) + tokens);
    }
    return cost;
}

static int64_t cost_of(const struct sv_completion_params *params, const struct completion *c)
{
    int64_t cost = 0;
    for (int i = 0; i < c->prompt_count; i++)
        cost += params->n * (c->prompts[i].count + c->max_tokens);
    return cost;
}

/* The rest of the context, if the request does not say how many. */
static void set_max_tokens(const struct sv_completion_params *params, struct completion *c)
{
    const int used = translates(c) ? 0 : c->prompts[0].count;
    const int rest = sl_model_info(c->ref->model)->context - used;
    c->max_tokens = params->max_tokens >= 0 ? params->max_tokens : rest > 0 ? rest : 1;
}

/* Admits the request by its bytes, then tokenizes its prompts and makes its generations. */
static bool prepare(struct sv_completion_params *params, struct completion *c,
                    struct sv_error *error)
{
    struct sv_scheduler *scheduler = c->request->server->scheduler;
    int64_t reserved;
    if (translates(c) && !sv_completion_params_for_translation(params, c->ref->id, error))
        return false;
    c->task.usage.depth = sl_model_info(c->ref->model)->depth;
    c->prompt_count = params->prompt.count > 0 ? params->prompt.count : 1;
    c->task.count = c->prompt_count * (int)params->n;
    if (!sv_choose_operating_point(c->request, c->ref, &params->budget, &c->task.usage,
                                   &c->task.operating_point, error))
        return false;
    if (!sv_scheduler_admit(scheduler, c->ref, c->task.count, cost_at_most(params, c), &reserved,
                            error))
        return false;
    if (!read_prompts(params, c, error)) {
        sv_scheduler_withdraw(scheduler, c->ref, c->task.count, reserved);
        return false;
    }
    set_max_tokens(params, c);
    int64_t cost = cost_of(params, c);
    if (!sv_scheduler_settle(scheduler, c->ref, c->task.count, reserved, cost, error))
        return false;
    if (make_task(params, c, error))
        return true;
    sv_scheduler_withdraw(scheduler, c->ref, c->task.count, cost);
    return false;
}

static void submit(struct sv_request *request, struct completion *c)
{
    release_prompts(c); /* the generations have copies */
    c->task.request = request;
    c->task.deadline_ns = sv_request_deadline_ns(request);
    c->task.usage.truncations = c->truncations;
    request->async = &async; /* from here on the request owns c */
    request->state = c;
    sv_scheduler_submit_completion(request->server->scheduler, c->ref, &c->task);
}

static struct completion *completion_create(struct sv_request *request,
                                            const struct sv_completion_api *api,
                                            struct sv_error *error)
{
    struct completion *c = sv_new(sizeof *c, error);
    if (!c)
        return NULL;
    c->request = request;
    c->api = api;
    c->created = time(NULL);
    c->last_sent_ns = request->received_ns;
    (void)snprintf(c->id, sizeof c->id, "%s-%016llx", api->format->id_prefix,
                   (unsigned long long)sv_next_id(request->server));
    return c;
}

/* `ref` is taken; NULL: the model is not known yet. */
static bool begin(struct sv_request *request, const struct sv_completion_api *api,
                  struct sv_completion_params *params, struct sv_model_ref *ref,
                  struct sv_error *error)
{
    struct completion *c = completion_create(request, api, error);
    if (!c) {
        sv_model_ref_release(ref);
        return false;
    }
    c->ref = ref ? ref : find_model(request, params->model.data, error);
    c->facts = (struct sv_token_facts){params->logprobs_given, params->depths};
    if (!c->ref || (api->write_prompt && !api->write_prompt(c->ref, params, error)) ||
        !prepare(params, c, error)) {
        completion_destroy(c);
        return false;
    }
    submit(request, c);
    return true;
}

/* Before the body is parsed: with a full queue that would be wasted. *ref is NULL if the model is
 * not known yet. */
static bool check_queue(struct sv_request *request, struct sv_model_ref **ref,
                        struct sv_error *error)
{
    char name[SV_PATH_MAX];
    *ref = NULL;
    if (!sv_json_peek_string(&request->body, "model", name, sizeof name))
        return true;
    *ref = find_model(request, name, error);
    if (!*ref)
        return false;
    if (sv_scheduler_is_open(request->server->scheduler, *ref, error))
        return true;
    sv_model_ref_release(*ref);
    return false;
}

enum sv_progress sv_complete(struct sv_request *request, const struct sv_completion_api *api)
{
    struct sv_error error;
    struct sv_completion_params params;
    struct sv_model_ref *ref;
    if (!sv_request_is_accepted(request, &error) || !check_queue(request, &ref, &error))
        return sv_request_fail(request, &error);
    struct sv_json_document *document = api->read(&request->body, &params, &error);
    bool started = document && begin(request, api, &params, ref, &error);
    if (document)
        sl_chat_prompt_release(&params.written);
    else
        sv_model_ref_release(ref);
    sv_json_document_release(document);
    return started ? SV_PENDING : sv_request_fail(request, &error);
}
