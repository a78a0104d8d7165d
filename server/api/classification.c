/* classification.c - one call's texts on their way through a classifier. */
#include "api/classification.h"
#include "api/model_resolver.h"
#include "serve/scheduler.h"

#include "sluice/model.h"

#include <assert.h>
#include <stdlib.h>

/* ---- making and unmaking --------------------------------------------------------------------- */

static struct sv_classification *create(struct sv_call *call, const struct sv_manner *manner,
                                        struct sv_problem *problem)
{
    struct sv_classification *c = calloc(1, sizeof *c);
    void *request = calloc(1, manner->request_bytes);
    if (!c || !request) {
        free(c);
        free(request);
        (void)sv_out_of_memory(problem);
        return NULL;
    }
    c->call = call;
    c->manner = manner;
    c->request = request;
    return c;
}

static void destroy(void *state)
{
    struct sv_classification *c = state;
    for (int i = 0; c->ids && i < c->task.count; i++)
        free(c->ids[i]);
    free(c->ids);
    free(c->task.items);
    free(c->given);
    free(c->logits);
    free(c->request);
    sv_document_release(c->document);
    sv_served_release(c->served);
    free(c);
}

static bool find_model(struct sv_classification *c, const char *name, struct sv_problem *problem)
{
    c->served = sv_select_classifier(c->call, name, problem);
    if (!c->served)
        return false;
    struct sl_model_facts facts = sl_model_facts(sv_served_model(c->served));
    c->usage.depth = facts.depth;
    c->classes = facts.classes;
    c->labels = facts.labels;
    return true;
}

/* ---- texts to tokens ------------------------------------------------------------------------- */

static bool allocate(struct sv_classification *c, int count)
{
    size_t texts = (size_t)count;
    c->ids = calloc(texts, sizeof(int32_t *));
    c->task.items = calloc(texts, sizeof *c->task.items);
    c->given = calloc(texts, sizeof *c->given);
    c->logits = calloc(texts * (size_t)c->classes, sizeof *c->logits);
    c->task.count = count;
    return c->ids && c->task.items && c->given && c->logits;
}

static bool encode(struct sv_classification *c, const struct sv_reading *reading,
                   const struct sv_string *text, const char *param, int index,
                   struct sv_problem *problem)
{
    struct sv_tokens tokens = {0};
    bool encoded = sv_encode(c->served, reading, text, param, &tokens, problem);
    c->ids[index] = tokens.ids;
    if (!encoded)
        return false;
    c->task.items[index] =
        (struct sv_item){.tokens = tokens.ids,
                         .count = tokens.count,
                         .logits = c->logits + (size_t)index * (size_t)c->classes};
    c->usage.prompt_tokens += tokens.count;
    c->characters += (int64_t)sv_utf8_count(text->data, text->bytes);
    c->given[index] = tokens.given;
    c->cut_count += tokens.given > tokens.count;
    return true;
}

static bool check_scores(const struct sv_classification *c, int texts, struct sv_problem *problem)
{
    int most = sv_classify_texts(c->classes);
    return texts <= most ||
           sv_refuse(problem, SV_BAD_VALUE, c->manner->param,
                     "'%s' holds %d texts, '%s' has %d labels for each: at most %d such texts are "
                     "accepted in one request.",
                     c->manner->param, texts, sv_served_id(c->served), c->classes, most);
}

static bool encode_all(struct sv_classification *c, const struct sv_asked *asked,
                       struct sv_problem *problem)
{
    const struct sv_texts *texts = &asked->texts;
    const char *param = c->manner->param;
    int64_t began = sv_now_ns();
    char name[SV_PARAM_MAX];
    if (!sv_call_takes(c->call, param, texts->count, problem) ||
        !check_scores(c, texts->count, problem))
        return false;
    /* An overloaded server does not read what it will refuse. */
    if (!sv_batcher_has_room(c->call->server->batcher, c->served, texts->count, problem))
        return false;
    if (!allocate(c, texts->count))
        return sv_out_of_memory(problem);
    for (int i = 0; i < texts->count; i++) {
        sv_param(param, texts->several, i, name);
        if (!encode(c, asked->reading, &texts->items[i], name, i, problem))
            return false;
    }
    c->task.encoded_ns = sv_now_ns() - began;
    return true;
}

/* ---- through the batcher --------------------------------------------------------------------- */

static void add_up(struct sv_classification *c)
{
    if (c->usage.layers_full > 0)
        return; /* done before */
    for (int i = 0; i < c->task.count; i++) {
        c->usage.layers_used += c->task.items[i].layers_used;
        c->usage.layers_full += c->task.items[i].layers_full;
    }
}

static enum sv_next proceed(struct sv_call *call)
{
    struct sv_classification *c = call->state;
    bool finished = atomic_load(&c->task.finished);
    struct sv_problem late = {0};
    if (finished && c->task.problem.kind != SV_FINE)
        return sv_call_refuse(call, &c->task.problem);
    /* The lane keeps the task, and with it the call, until the batch that it is in is over. */
    if (!atomic_load(&call->cancelled) &&
        sv_call_must_end(call, c->task.deadline_ns, NULL, sv_now_ns(), &late))
        return sv_call_refuse(call, &late);
    if (!finished)
        return SV_WAITING;
    add_up(c);
    return c->manner->answer(call, c);
}

static void cancel(struct sv_call *call)
{
    sv_batcher_sweep(call->server->batcher);
}

static bool tick(struct sv_call *call, int64_t now_ns)
{
    const struct sv_classification *c = call->state;
    return now_ns > c->task.deadline_ns; /* a batch may run for longer: the refusal need not wait */
}

static enum sv_problem_kind outcome(struct sv_call *call, bool complete)
{
    const struct sv_classification *c = call->state;
    if (atomic_load(&c->task.finished) && c->task.problem.kind != SV_FINE)
        return c->task.problem.kind;
    return complete ? SV_FINE : SV_CLIENT_LEFT;
}

static const struct sv_work work = {.proceed = proceed,
                                    .cancel = cancel,
                                    .tick = tick,
                                    .outcome = outcome,
                                    .destroy = destroy};

static bool submit(struct sv_classification *c, struct sv_problem *problem)
{
    struct sv_call *call = c->call;
    struct sv_batcher *batcher = call->server->batcher;
    assert(c->task.count > 0);
    if (!sv_batcher_admit(batcher, c->served, c->task.count, c->usage.prompt_tokens, problem))
        return false;
    c->task.call = call;
    c->task.deadline_ns = sv_call_deadline_ns(call);
    call->work = &work; /* from here on the call owns c */
    call->state = c;
    sv_batcher_classify(batcher, c->served, &c->task);
    return true;
}

static bool begin(struct sv_classification *c, struct sv_problem *problem)
{
    const struct sv_manner *manner = c->manner;
    struct sv_asked asked = {0};
    char name[SV_PATH_MAX];
    /* That a model is not there is worth more than what is wrong with the body. */
    if (!manner->body_names_model && !find_model(c, sv_versioned_name(c->call, name), problem))
        return false;
    c->document = manner->read(c->call, c->request, &asked, problem);
    return c->document && (c->served || find_model(c, asked.model, problem)) &&
           (!manner->prepare || manner->prepare(c, problem)) && encode_all(c, &asked, problem) &&
           submit(c, problem);
}

enum sv_next sv_classify(struct sv_call *call, const struct sv_manner *manner)
{
    struct sv_problem problem;
    if (!sv_call_is_welcome(call, &problem))
        return sv_call_refuse(call, &problem);
    struct sv_classification *c = create(call, manner, &problem);
    if (c && begin(c, &problem))
        return SV_WAITING;
    if (c)
        destroy(c);
    return sv_call_refuse(call, &problem);
}

/* ---- the answer ------------------------------------------------------------------------------ */

double sv_classification_depth(const struct sv_classification *c, int index)
{
    const struct sv_item *item = &c->task.items[index];
    return sv_depth_mean(c->usage.depth, item->layers_used, item->layers_full);
}

static void add_depths(struct sv_call *call, const struct sv_classification *c)
{
    if (c->task.count > SV_TOLD_MAX)
        return;
    struct sv_text *out = sv_call_long_header(call, "x-sluice-depth");
    for (int i = 0; i < c->task.count; i++)
        sv_text_print(out, "%s%.2f", i ? "," : "", sv_classification_depth(c, i));
}

int64_t sv_classification_tokens_given(const struct sv_classification *c)
{
    int64_t given = 0;
    for (int i = 0; i < c->task.count; i++)
        given += c->given[i];
    return given;
}

/* How many texts were cut, and how many tokens each had before. */
static void add_truncation(struct sv_call *call, const struct sv_classification *c)
{
    if (c->cut_count == 0)
        return;
    sv_call_header(call, "x-sluice-truncated", "%d", c->cut_count);
    if (c->task.count > SV_TOLD_MAX)
        return;
    struct sv_text *out = sv_call_long_header(call, "x-sluice-tokens-given");
    for (int i = 0; i < c->task.count; i++)
        sv_text_print(out, "%s%d", i ? "," : "", c->given[i]);
}

void sv_classification_headers(struct sv_call *call, const struct sv_classification *c)
{
    const struct sv_classify_task *t = &c->task;
    long long total = sv_ms(sv_now_ns() - call->received_ns);
    sv_call_header(call, "x-compute-type", "cpu");
    sv_call_header(call, "x-compute-time", "%lld", total);
    sv_call_header(call, "x-compute-characters", "%lld", (long long)c->characters);
    sv_call_header(call, "x-compute-tokens", "%lld", (long long)c->usage.prompt_tokens);
    sv_call_header(call, "x-total-time", "%lld", total);
    sv_call_header(call, "x-tokenization-time", "%lld", sv_ms(t->encoded_ns));
    sv_call_header(call, "x-queue-time", "%lld", sv_ms(t->started_ns - t->queued_ns));
    sv_call_header(call, "x-inference-time", "%lld", sv_ms(t->finished_ns - t->started_ns));
    sv_call_header(call, "x-sluice-depth-mean", "%.4f", sv_usage_depth_mean(&c->usage));
    sv_call_header(call, "x-sluice-layer-ops-saved", "%.4f", sv_usage_saved(&c->usage));
    sv_call_header(call, "x-sluice-model", "%s", sv_served_id(c->served));
    add_depths(call, c);
    add_truncation(call, c);
}
