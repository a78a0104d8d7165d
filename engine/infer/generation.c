/* generation.c - one text being completed: prompt chunks, sampling, stop strings, sliding
 * window. */
#include "sluice/generation.h"
#include "base/allocate.h"

#include "base/dynarray.h"
#include "base/int_math.h"
#include "base/random.h"
#include "base/utf8.h"
#include "model/model.h"
#include "tokenizer/detokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stop {
    char text[SL_STOP_BYTES_MAX];
    size_t bytes;
};

struct sl_generation {
    const struct sl_model *model;
    struct sl_generation_options options; /* its pointers are not used after creation */
    struct stop stops[SL_STOPS_MAX];
    float *bias;

    int32_t *source; /* of a translation: the prompt; else NULL */
    /* Every token so far. It begins with a line break if the prompt was empty, and in a translation
     * with the token that begins each. */
    int32_t *history;
    int history_count, history_start; /* history_start: where the prompt begins */
    int fed; /* how many tokens of the history the slot has seen, also before the window slid */

    char *text;
    size_t text_bytes, text_room, stable;
    size_t echoed; /* bytes of the echoed prompt, in which stop strings are ignored */
    struct sl_token_logprob *records;
    size_t records_room;
    int records_count, records_stable;

    int32_t *counts; /* how often each token of the vocabulary was generated */
    void *scratch;
    float *log_probabilities;
    uint64_t key;
    struct sl_generation_usage usage;
    enum sl_finish finish;
};

static bool translates(const struct sl_model *m)
{
    return m->config.task == SL_TASK_TRANSLATION;
}

static int vocab_of(const struct sl_generation *g)
{
    return g->model->config.vocab;
}

/* -- creation ------------------------------------------------------------------------------- */

/* The token that stands for an empty prompt: a line break, or the vocabulary's first entry. */
static int32_t beginning(const struct sl_tokenizer *tokens)
{
    int32_t id = 0;
    struct sl_err ignored;
    long count = sl_tokenizer_encode(tokens, "\n", 1, SL_UNKNOWN_FAIL, &id, 1, &ignored);
    return count == 1 ? id : 0;
}

static bool copy_stops(struct sl_generation *g, const struct sl_generation_options *o,
                       struct sl_err *err)
{
    if (o->stop_count < 0 || o->stop_count > SL_STOPS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "%d stop strings: expected at most %d", o->stop_count,
                       SL_STOPS_MAX);
    for (int i = 0; i < o->stop_count; i++) {
        size_t bytes = strlen(o->stops[i]);
        if (bytes == 0 || bytes > SL_STOP_BYTES_MAX)
            return sl_fail(err, SL_BAD_INPUT, "stop string %d has %zu bytes: expected 1 to %d", i,
                           bytes, SL_STOP_BYTES_MAX);
        memcpy(g->stops[i].text, o->stops[i], bytes);
        g->stops[i].bytes = bytes;
    }
    return true;
}

static bool check_prompt(const struct sl_model *m, const struct sl_generation_options *o,
                         struct sl_err *err)
{
    enum { TOKENS_MOST = 1 << 24 };

    if (!sl_task_generates(m->config.task))
        return sl_fail(err, SL_BAD_INPUT, "the model is for %s", sl_task_name(m->config.task));
    if (o->prompt_count < 0 || o->prompt_count > m->config.context_length)
        return sl_fail(err, SL_BAD_INPUT,
                       "the prompt has %d tokens: expected at most %d, the context length",
                       o->prompt_count, m->config.context_length);
    if (o->max_tokens < 0 || o->max_tokens > TOKENS_MOST)
        return sl_fail(err, SL_BAD_INPUT, "invalid max_tokens %d: expected 0 to %d", o->max_tokens,
                       TOKENS_MOST);
    if (o->top_logprobs < 0 || o->top_logprobs > SL_LOGPROBS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "invalid top_logprobs %d: expected 0 to %d",
                       o->top_logprobs, SL_LOGPROBS_MAX);
    if (translates(m) && (o->echo || o->logprobs))
        return sl_fail(err, SL_BAD_INPUT, "translations have neither echo nor logprobs");
    for (int i = 0; i < o->prompt_count; i++)
        if (o->prompt[i] < 0 || o->prompt[i] >= m->config.vocab)
            return sl_fail(err, SL_BAD_INPUT,
                           "token %d of the prompt: invalid id %d: expected 0 to %d", i,
                           o->prompt[i], m->config.vocab - 1);
    return true;
}

static bool allocate(struct sl_generation *g, struct sl_err *err)
{
    size_t vocab = (size_t)vocab_of(g);
    size_t tokens = (size_t)g->options.prompt_count + (size_t)g->options.max_tokens + 1;
    g->history = calloc(tokens, sizeof *g->history);
    g->source = translates(g->model) ? calloc(tokens, sizeof *g->source) : NULL;
    g->counts = calloc(vocab, sizeof *g->counts);
    g->scratch = calloc(vocab, SL_SAMPLE_BYTES);
    g->log_probabilities = g->options.logprobs ? calloc(vocab, sizeof(float)) : NULL;
    g->bias = g->options.sampling.bias ? calloc(vocab, sizeof *g->bias) : NULL;
    bool ok = g->history && (g->source || !translates(g->model)) && g->counts && g->scratch &&
              (g->log_probabilities || !g->options.logprobs) &&
              (g->bias || !g->options.sampling.bias);
    return ok || sl_fail(err, SL_NO_MEMORY, "no memory for a text of %zu tokens", tokens);
}

/* A text without words is translated by none. */
static void begin_translation(struct sl_generation *g, const struct sl_generation_options *o)
{
    const struct sl_tokenizer *tokenizer = g->model->tokenizer;
    memcpy(g->source, o->prompt, (size_t)o->prompt_count * sizeof *g->source);
    g->history[0] = sl_tokenizer_special(tokenizer, SL_SPECIAL_BEGIN);
    g->history_count = g->history_start = 1;
    g->options.max_tokens = sl_min(o->max_tokens, g->model->config.context_length);
    if (!sl_tokenizer_has_text(tokenizer, g->source, o->prompt_count))
        g->finish = SL_FINISH_STOP;
}

static void begin_completion(struct sl_generation *g, const struct sl_generation_options *o)
{
    if (o->prompt_count == 0) {
        g->history[g->history_count++] = beginning(g->model->tokenizer);
        g->history_start = 1;
    }
    memcpy(g->history + g->history_count, o->prompt, (size_t)o->prompt_count * sizeof *g->history);
    g->history_count += o->prompt_count;
}

/* What a token was chosen from: the logits after the token before it, and how many layers that one
 * took. The first token of a prompt has none. */
struct prediction {
    const float *logits, *gates;
    int layers;
};

/* What follows this token of a chunk; its logits are the row of these. */
static struct prediction prediction_at(const struct sl_generation *g, const struct sl_chunk *chunk,
                                       int token, int row)
{
    const size_t routes = (size_t)g->model->info.routes;
    return (struct prediction){chunk->logits + (size_t)row * (size_t)vocab_of(g),
                               chunk->gates ? chunk->gates + (size_t)token * routes : NULL,
                               chunk->token_layers[token]};
}

/* The first token of a text that echoes its prompt loses a blank that only its tokenizer added. */
static void append_token(struct sl_generation *g, int32_t id, struct prediction from);
static void settle(struct sl_generation *g);

struct sl_generation *sl_generation_create(const struct sl_model *model,
                                           const struct sl_generation_options *options,
                                           struct sl_err *err)
{
    if (!check_prompt(model, options, err))
        return NULL;
    struct sl_generation *g = sl_new(sizeof *g, "a text", err);
    if (!g)
        return NULL;
    g->model = model;
    g->options = *options;
    if (!allocate(g, err) || !copy_stops(g, options, err)) {
        sl_generation_destroy(g);
        return NULL;
    }
    if (g->bias) {
        memcpy(g->bias, options->sampling.bias, (size_t)vocab_of(g) * sizeof *g->bias);
        g->options.sampling.bias = g->bias;
    }
    g->key = sl_random_bits(sl_random_key(options->seed, "sample"), (uint64_t)options->choice);
    if (translates(model))
        begin_translation(g, options);
    else
        begin_completion(g, options);
    g->usage.prompt_tokens = options->prompt_count;
    /* Without log probabilities an echoed prompt is part of the text from the start. */
    for (int i = g->history_start; options->echo && !options->logprobs && i < g->history_count; i++)
        append_token(g, g->history[i], (struct prediction){0});
    g->echoed = g->text_bytes;
    settle(g);
    return g;
}

void sl_generation_destroy(struct sl_generation *g)
{
    if (!g)
        return;
    free(g->bias);
    free(g->history);
    free(g->source);
    free(g->text);
    free(g->records);
    free(g->counts);
    free(g->scratch);
    free(g->log_probabilities);
    free(g);
}

/* -- the text --------------------------------------------------------------------------------- */

static void top_tokens(const struct sl_generation *g, struct sl_token_logprob *record)
{
    const float *lp = g->log_probabilities;
    float *best = record->top_log_probabilities;
    for (int32_t id = 0; id < vocab_of(g) && g->options.top_logprobs > 0; id++) {
        int at = record->top_count;
        if (at == g->options.top_logprobs && !(lp[id] > best[at - 1]))
            continue;
        if (at < g->options.top_logprobs)
            record->top_count++;
        else
            at--;
        for (; at > 0 && lp[id] > best[at - 1]; at--) {
            best[at] = best[at - 1];
            record->top_ids[at] = record->top_ids[at - 1];
        }
        best[at] = lp[id];
        record->top_ids[at] = id;
    }
}

static bool append_record(struct sl_generation *g, int32_t id, struct prediction from)
{
    size_t want = (size_t)g->records_count + 1;
    if (!sl_dynarray_reserve(&g->records, &g->records_room, want, sizeof *g->records, NULL))
        return false;
    struct sl_token_logprob *record = &g->records[g->records_count++];
    *record = (struct sl_token_logprob){
        .id = id, .log_probability = NAN, .text_offset = g->text_bytes, .layers = from.layers};
    if (from.gates && g->model->info.routes <= SL_GATES_MAX) {
        record->gate_count = g->model->info.routes;
        memcpy(record->gates, from.gates, (size_t)record->gate_count * sizeof *record->gates);
    }
    if (!from.logits)
        return true;
    sl_log_softmax(from.logits, vocab_of(g), g->log_probabilities);
    record->log_probability = g->log_probabilities[id];
    top_tokens(g, record);
    return true;
}

/* Whether a blank stands before a mark depends on what follows it: all is written anew. */
static void rewrite_translation(struct sl_generation *g)
{
    struct sl_buffer text = {0};
    sl_detokenize(&text, g->model->tokenizer, g->history + 1, g->history_count - 1);
    if (text.failed || !sl_dynarray_reserve(&g->text, &g->text_room, text.bytes + 1, 1, NULL))
        g->finish = SL_FINISH_ERROR;
    else if (text.bytes > 0)
        memcpy(g->text, text.data, text.bytes);
    g->text_bytes = g->finish == SL_FINISH_ERROR ? 0 : text.bytes;
    sl_buffer_release(&text);
}

static void append_token(struct sl_generation *g, int32_t id, struct prediction from)
{
    if (translates(g->model)) {
        rewrite_translation(g);
        return;
    }
    const struct sl_tokenizer *tokenizer = g->model->tokenizer;
    bool first = g->options.echo && g->text_bytes == 0;
    size_t bytes = sl_tokenizer_decode_next(tokenizer, id, first, NULL, 0);
    if (!sl_dynarray_reserve(&g->text, &g->text_room, g->text_bytes + bytes + 1, 1, NULL) ||
        (g->options.logprobs && !append_record(g, id, from))) {
        g->finish = SL_FINISH_ERROR;
        return;
    }
    (void)sl_tokenizer_decode_next(tokenizer, id, first, g->text + g->text_bytes, bytes);
    g->text_bytes += bytes;
}

/* The offset of the first stop string at or after `from`; text_bytes when there is none. */
static size_t find_stop(const struct sl_generation *g, size_t from)
{
    size_t best = g->text_bytes;
    for (int i = 0; i < g->options.stop_count; i++) {
        const char *at = g->text_bytes > from ? memmem(g->text + from, g->text_bytes - from,
                                                       g->stops[i].text, g->stops[i].bytes)
                                              : NULL;
        if (at && (size_t)(at - g->text) < best)
            best = (size_t)(at - g->text);
    }
    return best;
}

/* How many bytes at the end of the text may be the beginning of a stop string. */
static size_t doubtful(const struct sl_generation *g)
{
    size_t max = 0;
    for (int i = 0; i < g->options.stop_count; i++) {
        size_t own = g->text_bytes - g->echoed;
        size_t length = g->stops[i].bytes - 1 < own ? g->stops[i].bytes - 1 : own;
        for (; length > max; length--)
            if (memcmp(g->text + g->text_bytes - length, g->stops[i].text, length) == 0)
                max = length;
    }
    return max;
}

static size_t record_end(const struct sl_generation *g, int record)
{
    bool last = record + 1 == g->records_count;
    return last ? g->text_bytes : g->records[record + 1].text_offset;
}

/* Updates how much of the text is final. */
static void settle(struct sl_generation *g)
{
    size_t certain = g->text_bytes;
    if (g->finish == SL_RUNNING && translates(g->model))
        certain = 0;
    else if (g->finish == SL_RUNNING) {
        certain -= doubtful(g);
        certain -= sl_utf8_incomplete(g->text, certain);
    }
    g->stable = certain > g->stable ? certain : g->stable;
    while (g->records_stable < g->records_count &&
           (g->finish != SL_RUNNING || record_end(g, g->records_stable) <= g->stable))
        g->records_stable++;
}

/* -- running ---------------------------------------------------------------------------------- */

static bool prompt_is_needed(const struct sl_generation *g)
{
    return g->options.max_tokens > 0 || (g->options.echo && g->options.logprobs);
}

void sl_generation_next_chunk(struct sl_generation *g, struct sl_session *session, int tokens_max,
                              struct sl_chunk *chunk)
{
    assert(tokens_max > 0);
    assert(!sl_generation_finished(g));
    int context = g->model->config.context_length;
    chunk->wants_gates = g->options.gates;
    if (translates(g->model) && g->fed == 0) {
        chunk->source = g->source;
        chunk->source_count = g->options.prompt_count;
        chunk->tokens = g->history;
        chunk->count = chunk->source_count < tokens_max ? 1 : 0;
        return;
    }
    if (sl_session_length(session, chunk->slot) == context) {
        /* Keeps the second half of the window; positions count from its beginning. */
        sl_session_clear(session, chunk->slot);
        int kept = context / 2 > 1 ? context / 2 : 1;
        g->fed = g->history_count - kept;
    }
    int count = g->history_count - g->fed;
    int room = context - sl_session_length(session, chunk->slot);
    count = sl_min(count, room);
    chunk->tokens = g->history + g->fed;
    chunk->count = sl_min(count, tokens_max);
    chunk->all_logits = g->options.echo && g->options.logprobs && g->usage.completion_tokens == 0;
}

/* The echoed prompt's log probabilities come from the logits of the token before each. */
static void echo(struct sl_generation *g, const struct sl_chunk *chunk)
{
    int first = (int)(chunk->tokens - g->history);
    if (first == 0 && g->history_start == 0)
        append_token(g, g->history[0], (struct prediction){0});
    for (int i = 0; i < chunk->count; i++) {
        int next = first + i + 1;
        if (next < g->history_start + g->options.prompt_count)
            append_token(g, g->history[next], prediction_at(g, chunk, i, i));
    }
    g->echoed = g->text_bytes;
}

static bool ends(const struct sl_generation *g, int32_t id)
{
    return translates(g->model) ? id == sl_tokenizer_special(g->model->tokenizer, SL_SPECIAL_END)
                                : sl_chat_facts_ends(&g->model->chat, id);
}

static void choose(struct sl_generation *g, struct prediction from)
{
    const struct sl_sampling *s = &g->options.sampling;
    bool penalised = s->presence_penalty != 0.0f || s->frequency_penalty != 0.0f;
    struct sl_sample_params choice = {.logits = from.logits,
                                      .vocab = vocab_of(g),
                                      .sampling = s,
                                      .counts = penalised ? g->counts : NULL,
                                      .key = g->key,
                                      .index = (uint64_t)g->usage.completion_tokens,
                                      .scratch = g->scratch};
    int32_t id = sl_sample(&choice);
    size_t text_bytes = g->text_bytes;
    g->counts[id]++;
    g->history[g->history_count++] = id;
    g->usage.completion_tokens++;
    if (ends(g, id)) {
        g->finish = SL_FINISH_STOP;
        return;
    }
    append_token(g, id, from);
    size_t reach = SL_STOP_BYTES_MAX, first = g->echoed;
    if (translates(g->model))
        first = 0;
    else if (text_bytes > g->echoed + reach)
        first = text_bytes - reach;
    size_t stop = find_stop(g, first);
    if (stop < g->text_bytes) {
        g->text_bytes = stop;
        while (g->records_count > 0 && g->records[g->records_count - 1].text_offset >= stop)
            g->records_count--;
        g->finish = SL_FINISH_STOP;
    } else if (g->usage.completion_tokens >= g->options.max_tokens && g->finish == SL_RUNNING) {
        g->finish = SL_FINISH_LENGTH;
    }
}

void sl_generation_accept(struct sl_generation *g, const struct sl_chunk *chunk)
{
    g->usage.layers_used += chunk->layers_used;
    g->usage.layers_full += chunk->layers_full;
    g->fed += chunk->count;
    if (!chunk->finite) {
        g->finish = SL_FINISH_ERROR;
        settle(g);
        return;
    }
    if (chunk->all_logits)
        echo(g, chunk);
    bool caught_up = g->fed == g->history_count;
    const int last = chunk->count - 1;
    if (caught_up && g->options.max_tokens > 0)
        choose(g, prediction_at(g, chunk, last, chunk->all_logits ? last : 0));
    else if (caught_up)
        g->finish = SL_FINISH_LENGTH;
    settle(g);
}

enum sl_finish sl_generation_finish(const struct sl_generation *g)
{
    return g->finish == SL_RUNNING && !prompt_is_needed(g) ? SL_FINISH_LENGTH : g->finish;
}

bool sl_generation_finished(const struct sl_generation *g)
{
    return sl_generation_finish(g) != SL_RUNNING;
}

const char *sl_generation_text(const struct sl_generation *g, size_t *bytes)
{
    *bytes = g->stable;
    return g->text ? g->text : "";
}

const struct sl_token_logprob *sl_generation_logprobs(const struct sl_generation *g, int *count)
{
    *count = g->records_stable;
    return g->records;
}

struct sl_generation_usage sl_generation_usage(const struct sl_generation *g)
{
    return g->usage;
}
