/* handle_completions.c - POST /v1/completions: requests become generations, their text answers. */
#include "api/handlers.h"
#include "api/model_resolver.h"
#include "api/text_to_tokens.h"
#include "core/options.h"
#include "serve/scheduler.h"
#include "json/completion_params.h"

#include "sluice/generate.h"
#include "sluice/model.h"
#include "sluice/tokens.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What a call is about, from the first look at its body to its end. */
struct completion {
    struct sv_call *call;
    struct sv_served *served;
    struct sv_tokens *prompts;
    int prompt_count;
    struct sv_truncation *truncations;
    struct sv_task task;
    char id[32];
    int64_t created;
    bool with_tokens;          /* log probabilities were asked for */
    _Atomic int64_t spoken_ns; /* when the stream last said something */
};

static const int64_t ns_per_second = 1000000000;

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
    sv_stream_destroy(c->task.stream);
    sv_served_release(c->served);
    free(c);
}

/* ---- prompts to tokens ----------------------------------------------------------------------- */

static bool copy_ids(const struct completion *c, const struct sv_prompt *prompt, const char *param,
                     struct sv_tokens *to, struct sv_problem *problem)
{
    to->given = prompt->id_count;
    to->ids = malloc(((size_t)prompt->id_count + 1) * sizeof *to->ids);
    if (!to->ids)
        return sv_out_of_memory(problem);
    for (int i = 0; i < prompt->id_count; i++)
        to->ids[i] = prompt->ids[i];
    return sv_check_ids(c->served, prompt, param, problem);
}

/* A prompt longer than the context is refused, or its end is kept when the request says so. */
static bool fit(const struct sv_completion_request *request, struct completion *c, int index,
                const char *param, struct sv_problem *problem)
{
    struct sv_tokens *t = &c->prompts[index];
    int context = sl_model_facts(sv_served_model(c->served)).context;
    t->count = t->given < context ? t->given : context;
    if (t->count == t->given)
        return true;
    if (!request->truncate)
        return sv_refuse(problem, SV_CONTEXT_LENGTH, param,
                         "'%s' has %d tokens, the context of '%s' has %d. With \"truncate\": "
                         "true the last %d are used.",
                         param, t->given, sv_served_id(c->served), context, context);
    c->truncations[c->task.usage.truncation_count++] =
        (struct sv_truncation){.prompt = index, .given = t->given, .used = t->count};
    return true;
}

static bool read_prompts(const struct sv_completion_request *request, struct completion *c,
                         struct sv_problem *problem)
{
    static const struct sv_prompt nothing = {{0}, NULL, 0}; /* "prompt": null */
    int count = request->prompt.count > 0 ? request->prompt.count : 1;
    c->prompts = calloc((size_t)count, sizeof *c->prompts);
    c->truncations = calloc((size_t)count, sizeof *c->truncations);
    c->prompt_count = count;
    if (!c->prompts || !c->truncations)
        return sv_out_of_memory(problem);
    for (int i = 0; i < count; i++) {
        char param[SV_PARAM_MAX];
        sv_param("prompt", request->prompt.several, i, param);
        const struct sv_prompt *prompt =
            request->prompt.count ? &request->prompt.items[i] : &nothing;
        const struct sv_matter matter = {
            .text = &prompt->text, .param = param, .replaces_unknown = request->replaces_unknown};
        if (prompt->ids ? !copy_ids(c, prompt, param, &c->prompts[i], problem)
                        : !sv_tokenize(c->served, &matter, &c->prompts[i], problem))
            return false;
        if (!fit(request, c, i, param, problem))
            return false;
        c->task.usage.prompt_tokens += c->prompts[i].count;
    }
    return true;
}

/* ---- generations ----------------------------------------------------------------------------- */

/* The bias as the sampler wants it, a number per id of the vocabulary; NULL when there is none. */
static bool spread_bias(const struct sv_biases *biases, int vocab, float **out,
                        struct sv_problem *problem)
{
    *out = NULL;
    if (biases->count == 0)
        return true;
    *out = calloc((size_t)vocab, sizeof **out);
    if (!*out)
        return sv_out_of_memory(problem);
    for (int i = 0; i < biases->count; i++) {
        if (biases->items[i].id >= vocab)
            return sv_refuse(problem, SV_BAD_VALUE, "logit_bias",
                             "'logit_bias' names the token id %d, the vocabulary has 0 to %d.",
                             (int)biases->items[i].id, vocab - 1);
        (*out)[biases->items[i].id] = biases->items[i].value;
    }
    return true;
}

static struct sl_generation_options plan(const struct sv_completion_request *request, int vocab,
                                         uint64_t seed)
{
    struct sl_generation_options options = {
        .max_tokens = (int)request->max_tokens,
        .sampling = {.temperature = (float)request->temperature,
                     .top_k = request->top_k < vocab ? (int)request->top_k : 0,
                     .top_p = (float)request->top_p,
                     .presence_penalty = (float)request->presence_penalty,
                     .frequency_penalty = (float)request->frequency_penalty},
        .seed = seed,
        .stop_count = request->stop.count,
        .logprobs = request->logprobs_given,
        .top_logprobs = (int)request->logprobs,
        .echo = request->echo,
    };
    for (int i = 0; i < request->stop.count; i++)
        options.stops[i] = request->stop.items[i].data;
    return options;
}

/* n samples of every prompt, numbered prompt by prompt. A prompt gives the same text here as
 * alone. */
static bool make_sequences(const struct sv_completion_request *request, struct completion *c,
                           struct sl_generation_options *options, struct sv_problem *problem)
{
    const struct sl_model *model = sv_served_model(c->served);
    struct sl_err err;
    int samples = (int)request->n;
    c->task.sequences = calloc((size_t)c->task.count, sizeof *c->task.sequences);
    if (!c->task.sequences)
        return sv_out_of_memory(problem);
    for (int i = 0; i < c->task.count; i++) {
        const struct sv_tokens *prompt = &c->prompts[i / samples];
        struct sv_sequence *sequence = &c->task.sequences[i];
        options->prompt = prompt->ids + (prompt->given - prompt->count);
        options->prompt_count = prompt->count;
        options->choice = i % samples;
        sequence->choice = i;
        sequence->cost = prompt->count + request->max_tokens;
        sequence->generation = sl_generation_create(model, options, &err);
        if (!sequence->generation)
            return sv_refuse(problem, err.code == SL_BAD_INPUT ? SV_BAD_VALUE : SV_INTERNAL, NULL,
                             "%s", err.text);
    }
    return true;
}

static void make_room(void *context)
{
    const struct completion *c = context;
    sv_batcher_poke(c->call->server->batcher);
}

static bool make_stream(const struct sv_completion_request *request, struct completion *c,
                        struct sv_problem *problem)
{
    struct sl_err err;
    const struct sv_stream_options options = {
        .head = {.id = c->id,
                 .model = sv_served_id(c->served),
                 .fingerprint = sv_served_fingerprint(c->served),
                 .created = c->created},
        .choices = c->task.count,
        .tokens = c->with_tokens ? sl_model_tokenizer(sv_served_model(c->served)) : NULL,
        .include_usage = request->include_usage,
        .room = make_room,
        .context = c,
    };
    if (!request->stream)
        return true;
    c->task.stream = sv_stream_create(&options, &err);
    return c->task.stream || sv_out_of_memory(problem);
}

static bool make_task(const struct sv_completion_request *request, struct completion *c,
                      struct sv_problem *problem)
{
    int vocab = sl_model_facts(sv_served_model(c->served)).vocab;
    float *bias = NULL;
    uint64_t seed = request->seed_given ? (uint64_t)request->seed : sv_draw(c->call->server);
    struct sl_generation_options options = plan(request, vocab, seed);
    bool made = spread_bias(&request->bias, vocab, &bias, problem);
    options.sampling.bias = bias;
    made =
        made && make_stream(request, c, problem) && make_sequences(request, c, &options, problem);
    free(bias); /* each generation has its copy */
    return made;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_headers(struct sv_call *call, const struct completion *c)
{
    const struct sv_task *t = &c->task;
    sv_call_header(call, "x-sluice-depth-mean", "%.4f", sv_usage_depth_mean(&t->usage));
    sv_call_header(call, "x-sluice-layer-ops-saved", "%.4f", sv_usage_saved(&t->usage));
    sv_call_header(call, "x-queue-time", "%lld", sv_ms(t->started_ns - t->queued_ns));
    sv_call_header(call, "x-inference-time", "%lld", sv_ms(t->finished_ns - t->started_ns));
    sv_call_header(call, "x-total-time", "%lld", sv_ms(sv_now_ns() - call->received_ns));
    if (t->usage.truncation_count > 0)
        sv_call_header(call, "x-sluice-truncated", "%d", t->usage.truncation_count);
}

static void add_choice(struct sv_text *out, const struct completion *c,
                       const struct sv_sequence *sequence)
{
    struct sv_piece piece = {.choice = sequence->choice,
                             .finish = sl_generation_finish(sequence->generation)};
    piece.text = sl_generation_text(sequence->generation, &piece.bytes);
    if (c->with_tokens) {
        piece.tokens = sl_model_tokenizer(sv_served_model(c->served));
        piece.records = sl_generation_records(sequence->generation, &piece.record_count);
    }
    sv_answer_piece(out, &piece);
}

static enum sv_next answer_whole(struct sv_call *call, const struct completion *c)
{
    struct sv_text *body = &call->reply.body;
    const struct sv_answer_head head = {.id = c->id,
                                        .model = sv_served_id(c->served),
                                        .fingerprint = sv_served_fingerprint(c->served),
                                        .created = c->created};
    sv_answer_begin(body, &head);
    for (int i = 0; i < c->task.count; i++) {
        sv_text_adds(body, i ? "," : "");
        add_choice(body, c, &c->task.sequences[i]);
    }
    sv_text_adds(body, "],\"usage\":");
    sv_answer_usage(body, &c->task.usage);
    sv_text_adds(body, "}");
    add_headers(call, c);
    return sv_call_answer(call, 200, "application/json");
}

static enum sv_next answer_stream(struct sv_call *call, const struct completion *c)
{
    sv_call_header(call, "Cache-Control", "no-cache");
    sv_call_header(call, "X-Accel-Buffering", "no");
    if (c->task.usage.truncation_count > 0)
        sv_call_header(call, "x-sluice-truncated", "%d", c->task.usage.truncation_count);
    (void)sv_call_answer(call, 200, "text/event-stream; charset=utf-8");
    return SV_STREAMING;
}

static enum sv_next proceed(struct sv_call *call)
{
    const struct completion *c = call->state;
    bool finished = atomic_load(&c->task.finished);
    if (c->task.stream && sv_stream_has_begun(c->task.stream))
        return answer_stream(call, c);
    if (!finished)
        return SV_WAITING;
    if (c->task.problem.kind != SV_FINE)
        return sv_call_refuse(call, &c->task.problem);
    assert(!c->task.stream); /* one that finished well has begun */
    return answer_whole(call, c);
}

static ssize_t pull(struct sv_call *call, char *bytes, size_t most)
{
    struct completion *c = call->state;
    ssize_t taken = sv_stream_pull(c->task.stream, bytes, most);
    if (taken > 0)
        atomic_store(&c->spoken_ns, sv_now_ns());
    return taken;
}

static void cancel(struct sv_call *call)
{
    sv_batcher_sweep(call->server->batcher);
}

static bool tick(struct sv_call *call, int64_t now_ns)
{
    struct completion *c = call->state;
    int64_t silent = now_ns - atomic_load(&c->spoken_ns);
    if (!c->task.stream || silent < call->server->options->keepalive_seconds * ns_per_second)
        return false;
    atomic_store(&c->spoken_ns, now_ns);
    sv_stream_ping(c->task.stream);
    return true;
}

static enum sv_problem_kind outcome(struct sv_call *call, bool complete)
{
    const struct completion *c = call->state;
    if (atomic_load(&c->task.finished) && c->task.problem.kind != SV_FINE)
        return c->task.problem.kind;
    bool had_all = complete || (c->task.stream && sv_stream_is_delivered(c->task.stream));
    return had_all ? SV_FINE : SV_CLIENT_LEFT;
}

static const struct sv_work work = {.proceed = proceed,
                                    .pull = pull,
                                    .cancel = cancel,
                                    .tick = tick,
                                    .outcome = outcome,
                                    .destroy = completion_destroy};

/* ---- the call -------------------------------------------------------------------------------- */

static bool find_model(const struct sv_completion_request *request, struct completion *c,
                       struct sv_problem *problem)
{
    c->served = sv_select(c->call, request->model.data, problem);
    if (!c->served)
        return false;
    struct sl_model_facts facts = sl_model_facts(sv_served_model(c->served));
    c->task.usage.depth = facts.depth;
    if (facts.task != SL_TASK_COMPLETION)
        return sv_refuse(problem, SV_BAD_VALUE, "model",
                         "The model '%s' classifies texts, it does not complete them: ask POST "
                         "/v1/decisions or /models/%s/predict.",
                         request->model.data, sv_served_name(c->served));
    return true;
}

/* Admits the whole request, makes what it needs, and hands it over. */
static bool submit(struct sv_call *call, const struct sv_completion_request *request,
                   struct completion *c, struct sv_problem *problem)
{
    struct sv_batcher *batcher = call->server->batcher;
    int64_t cost = 0;
    for (int i = 0; i < c->prompt_count; i++)
        cost += request->n * (c->prompts[i].count + request->max_tokens);
    c->task.count = c->prompt_count * (int)request->n;
    if (!sv_batcher_admit(batcher, c->served, c->task.count, cost, problem))
        return false;
    if (!make_task(request, c, problem)) {
        sv_batcher_dismiss(batcher, c->served, c->task.count, cost);
        return false;
    }
    release_prompts(c); /* generations have copies, cut to the context */
    c->task.call = call;
    c->task.deadline_ns = sv_call_deadline_ns(call);
    c->task.usage.truncations = c->truncations;
    call->work = &work; /* from here on the call owns c */
    call->state = c;
    sv_batcher_submit(batcher, c->served, &c->task);
    return true;
}

static struct completion *completion_create(struct sv_call *call)
{
    struct completion *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->call = call;
    c->created = time(NULL);
    c->spoken_ns = call->received_ns;
    (void)snprintf(c->id, sizeof c->id, "cmpl-%016llx", (unsigned long long)sv_draw(call->server));
    return c;
}

static bool begin(struct sv_call *call, const struct sv_completion_request *request,
                  struct sv_problem *problem)
{
    struct completion *c = completion_create(call);
    if (!c)
        return sv_out_of_memory(problem);
    c->with_tokens = request->logprobs_given;
    bool begun = find_model(request, c, problem) && read_prompts(request, c, problem) &&
                 submit(call, request, c, problem);
    if (!begun)
        completion_destroy(c);
    return begun;
}

enum sv_next sv_handle_completions(struct sv_call *call)
{
    struct sv_problem problem;
    struct sv_completion_request request;
    if (!sv_call_is_welcome(call, &problem))
        return sv_call_refuse(call, &problem);
    struct sv_document *document = sv_completion_request_read(&call->body, &request, &problem);
    bool begun = document && begin(call, &request, &problem);
    sv_document_release(document);
    return begun ? SV_WAITING : sv_call_refuse(call, &problem);
}
