/* handle_tei_tokenize.c - texts to tokens and back, and what a model is, as Text Embeddings
 * Inference says it. */
#include "api/handlers.h"
#include "api/model_abilities.h"
#include "api/model_resolver.h"
#include "api/prompt_choice.h"
#include "api/text_to_tokens.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "core/options.h"
#include "params/tokenize_params.h"
#include "serve/classification_executor.h"

#include "sluice/engine.h"
#include "sluice/model.h"
#include "sluice/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- work in slices --------------------------------------------------------------------------
 *
 * An HTTP thread does it, for there is no model to wait for. So that a flood of it keeps no other
 * request waiting for long, bodies are admitted by their bytes before they are parsed, and the work
 * yields between slices. */

struct text_format;

/* One request. */
struct text_work {
    struct sv_request *request;
    const struct text_format *format;
    struct sv_model_ref *ref; /* a reference */
    struct sl_buffer body;
    int64_t admitted; /* bytes, counted in struct sv_server */
    struct sv_json_document *document;

    union {
        struct sv_tokenize_params tokenize;
        struct sv_decode_params decode;
    } params;

    const struct sl_prompt *prompt; /* before each text; NULL: none */
    int count, next;                /* texts, or arrays of ids */
    int room;                       /* tokens that the response may still have */
    struct sl_json_writer json;
};

struct text_format {
    bool (*read)(struct text_work *work, struct sv_error *error); /* sets document and count */
    /* Writes the next element of the response and says how much work that was. */
    bool (*add_next)(struct text_work *work, size_t *bytes, struct sv_error *error);
};

static bool admit(struct text_work *work, struct sv_error *error)
{
    _Atomic int64_t *all = &work->request->server->text_bytes;
    int64_t bytes = (int64_t)work->request->body.bytes;
    int64_t before = atomic_fetch_add(all, bytes);
    work->admitted = bytes;
    return before == 0 || before + bytes <= SV_TEXT_WORK_BYTES_MAX ||
           sv_fail(error, SV_OVERLOADED, NULL, "Too many texts are being tokenized; retry later.");
}

/* At its end, not when the client has read the response. */
static void give_back(struct text_work *work)
{
    atomic_fetch_sub(&work->request->server->text_bytes, work->admitted);
    work->admitted = 0;
    sv_json_document_release(work->document);
    work->document = NULL;
    sv_model_ref_release(work->ref);
    work->ref = NULL;
    sl_buffer_release(&work->body);
}

static void destroy_text_work(void *state)
{
    give_back(state);
    free(state);
}

/* Parses in its first slice. */
static bool do_slice(struct text_work *work, struct sv_error *error)
{
    if (sv_request_must_stop(work->request, sv_request_deadline_ns(work->request), NULL,
                             sl_now_ns(), error))
        return false;
    if (!work->document)
        return work->format->read(work, error);
    for (size_t bytes = 0, done = 0; work->next < work->count && done < SV_TOKENIZE_SLICE_BYTES;
         work->next++, done += bytes)
        if (!work->format->add_next(work, &bytes, error))
            return false;
    return true;
}

static enum sv_progress proceed(struct sv_request *request)
{
    struct text_work *work = request->state;
    struct sv_error error = {0};
    bool ok = do_slice(work, &error);
    if (ok && work->next < work->count)
        return SV_YIELDING;
    give_back(work);
    sl_json_end_array(&work->json);
    return ok ? sv_request_respond(request, 200, "application/json")
              : sv_request_fail(request, &error);
}

static const struct sv_async text_async = {.proceed = proceed, .destroy = destroy_text_work};

/* The first slice comes after other requests had their turn: of many, most are rejected before. */
static enum sv_progress begin_text_work(struct sv_request *request,
                                        const struct text_format *format)
{
    struct sv_error error;
    struct text_work *work = sv_new(sizeof *work, &error);
    if (!work)
        return sv_request_fail(request, &error);
    *work = (struct text_work){.request = request,
                               .format = format,
                               .room = SV_TOKENIZE_TOKENS_MAX,
                               .json.out = &request->response.body};
    request->async = &text_async; /* from here on the request owns the work */
    request->state = work;
    if (sv_request_is_accepted(request, &error) && admit(work, &error))
        work->ref = sv_resolve(request, request->path_params[0], SV_WANTS_ANY, &error);
    if (!work->ref) {
        give_back(work);
        return sv_request_fail(request, &error);
    }
    work->body = request->body;
    request->body = (struct sl_buffer){0};
    sl_json_begin_array(&work->json);
    return SV_YIELDING;
}

/* ---- tokenize -------------------------------------------------------------------------------- */

static void add_special(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                        int32_t id)
{
    size_t bytes = 0;
    const char *piece = sl_tokenizer_piece(tokenizer, id, &bytes);
    sl_json_add(json, "{'id':%d,'text':%.*s,'special':true,'start':null,'stop':null}", id,
                piece ? (int)bytes : 0, piece ? piece : "");
}

/* Offsets count bytes. A token that is part of a character gets the offsets of the whole character,
 * because JSON cannot hold part of one. */
static void add_plain(struct sl_json_writer *json, int32_t id, const struct sv_string *text,
                      const struct sl_token_offset *place)
{
    size_t start = place->start, stop = place->stop;
    sl_utf8_widen(text->data, text->bytes, &start, &stop);
    sl_json_add(json, "{'id':%d,'text':%.*s,'special':false,'start':%zu,'stop':%zu}", id,
                (int)(stop - start), text->data + start, start, stop);
}

static void add_tokens(struct sl_json_writer *json, const struct sl_tokenizer *tokenizer,
                       const struct sv_string *text, const struct sv_tokens *tokens)
{
    sl_json_begin_array(json);
    for (int i = 0; i < tokens->count; i++) {
        const struct sl_token_offset *place = &tokens->places[i];
        if (place->special)
            add_special(json, tokenizer, tokens->ids[i]);
        else
            add_plain(json, tokens->ids[i], text, place);
    }
    sl_json_end_array(json);
}

/* Tokens that the response may still have are in work->room. */
static bool tokenize_text(struct text_work *work, const struct sv_string *text, const char *param,
                          struct sv_error *error)
{
    const struct sv_tokenize_params *params = &work->params.tokenize;
    const struct sv_tokenize_input input = {.text = text,
                                            .param = param,
                                            .unknown = params->unknown,
                                            .adds_special = params->adds_special,
                                            .wants_places = true,
                                            .max = (size_t)work->room + 1};
    struct sv_tokens tokens;
    bool ok = sv_tokenize(work->ref, &input, &tokens, error);
    if (ok && tokens.given > work->room)
        ok = sv_fail(error, SV_INVALID_VALUE, "inputs",
                     "'inputs' has more than %d tokens, the maximum of one response.",
                     SV_TOKENIZE_TOKENS_MAX);
    work->room -= tokens.count;
    if (ok)
        add_tokens(&work->json, sl_model_tokenizer(work->ref->model), text, &tokens);
    sv_tokens_release(&tokens);
    return ok;
}

/* A prompt is part of the text, as in Text Embeddings Inference, which the offsets count. */
static bool tokenize_next(struct text_work *work, size_t *bytes, struct sv_error *error)
{
    const struct sv_tokenize_params *params = &work->params.tokenize;
    const struct sv_string *text = &params->inputs.items[work->next];
    struct sl_buffer joined = {0};
    char param[SV_PARAM_MAX];
    sv_param_name("inputs", params->inputs.is_array, work->next, param);
    sl_buffer_append_string(&joined, work->prompt ? work->prompt->text : "");
    sl_buffer_append(&joined, text->data, text->bytes);
    const struct sv_string whole = {joined.data, joined.bytes};
    bool ok = joined.failed ? sv_fail_no_memory(error) : tokenize_text(work, &whole, param, error);
    sl_buffer_release(&joined);
    *bytes = text->bytes;
    return ok;
}

static bool read_texts(struct text_work *work, struct sv_error *error)
{
    struct sv_tokenize_params *params = &work->params.tokenize;
    work->document = sv_tokenize_params_read(&work->body, params, error);
    work->count = work->document ? params->inputs.count : 0;
    return work->document &&
           sv_request_check_batch_size(work->request, "inputs", work->count, error) &&
           sv_choose_prompt(work->ref, &params->prompt_name, &work->prompt, error);
}

enum sv_progress sv_handle_tokenize(struct sv_request *request)
{
    static const struct text_format tokenize = {.read = read_texts, .add_next = tokenize_next};
    return begin_text_work(request, &tokenize);
}

/* ---- decode ---------------------------------------------------------------------------------- */

static bool check_ids_count(const struct sv_prompts *ids, struct sv_error *error)
{
    int64_t total = 0;
    for (int i = 0; i < ids->count; i++)
        total += ids->items[i].id_count;
    return total <= SV_TOKENIZE_TOKENS_MAX ||
           sv_fail(error, SV_INVALID_VALUE, "ids",
                   "'ids' has %lld token ids; one response has at most %d.", (long long)total,
                   SV_TOKENIZE_TOKENS_MAX);
}

static bool decode_next(struct text_work *work, size_t *bytes, struct sv_error *error)
{
    const struct sv_decode_params *params = &work->params.decode;
    const struct sv_prompt *ids = &params->ids.items[work->next];
    char param[SV_PARAM_MAX];
    sv_param_name("ids", params->ids.is_array, work->next, param);
    *bytes = (size_t)ids->id_count;
    const struct sl_decoding decoding = {
        .ids = ids->ids, .count = ids->id_count, .skip_special = params->skips_special};
    struct sl_err err;
    if (!sv_check_token_ids(work->ref, ids, param, error))
        return false;
    return sv_add_decoded(&work->json, sl_model_tokenizer(work->ref->model), decoding, &err) ||
           sv_fail(error, SV_INTERNAL, NULL, "%s", err.text);
}

static bool read_ids(struct text_work *work, struct sv_error *error)
{
    struct sv_decode_params *params = &work->params.decode;
    work->document = sv_json_read(&work->body, sv_decode_fields, NULL, params, error);
    work->count = work->document ? params->ids.count : 0;
    return work->document &&
           sv_request_check_batch_size(work->request, "ids", work->count, error) &&
           check_ids_count(&params->ids, error);
}

enum sv_progress sv_handle_decode(struct sv_request *request)
{
    static const struct text_format decode_format = {.read = read_ids, .add_next = decode_next};
    return begin_text_work(request, &decode_format);
}

/* ---- info ------------------------------------------------------------------------------------ */

static void add_labels(struct sl_json_writer *json, const struct sl_model_info *info)
{
    char id[16];
    sl_json_add(json, "{'id2label':{");
    for (int i = 0; i < info->classes; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        sl_json_add_string(sl_json_key(json, id), info->labels[i]);
    }
    sl_json_add(json, "},'label2id':{");
    for (int i = 0; i < info->classes; i++)
        sl_json_add_int(sl_json_key(json, info->labels[i]), i);
    sl_json_end_object(json);
    if (info->problem_type)
        sl_json_add(json, "'problem_type':%s", info->problem_type);
    sl_json_end_object(json);
}

static void add_model_type(struct sl_json_writer *json, const struct sl_model_info *info)
{
    const char *labelled = sv_model_can(info, SV_RANKS)               ? "reranker"
                           : sv_model_can(info, SV_CLASSIFIES_TOKENS) ? "token_classifier"
                                                                      : "classifier";
    sl_json_begin_object(json);
    if (info->classes > 0)
        add_labels(sl_json_key(json, labelled), info);
    else if (info->dimensions > 0)
        sl_json_add(json, "'embedding':{'pooling':%s}", info->pooling);
    else
        sl_json_add(json,
                    info->task == SL_TASK_TRANSLATION ? "'translation':{}" : "'completion':{}");
    sl_json_end_object(json);
}

/* The limits of the model's executor, under TEI's names. */
static void add_limits(struct sl_json_writer *json, const struct sv_options *o,
                       const struct sl_model_info *info)
{
    bool classifies = !info->generates; /* or embeds */
    int64_t items = classifies ? o->classify_max_batch_size : o->max_sequences;
    int64_t queue = classifies ? o->classify_max_queue_size : o->max_queue_size;
    int64_t rows = classifies
                       ? sv_classify_batch_tokens(o->classify_max_batch_tokens, info->context)
                       : o->max_batch_tokens;
    int64_t texts = classifies ? o->max_client_batch_size : SV_PROMPTS_MAX;
    int most =
        classifies ? sv_classify_batch_max(sv_classify_outputs(info), info->classes == 0) : 0;
    if (classifies && texts > most)
        texts = most;
    sl_json_add(json,
                "'max_concurrent_requests':%lld,'max_input_length':%d,"
                "'max_batch_tokens':%lld,'max_batch_requests':%lld,"
                "'max_client_batch_size':%lld",
                (long long)items + queue, info->context, (long long)rows, (long long)items,
                (long long)texts);
}

/* The inputs of matrix products, as PyTorch spells them. */
static const char *dtype_of(const struct sl_model_info *info)
{
    const char *precision = info->precision;
    return *precision == 'b' ? "bfloat16" : *precision == 'i' ? "int8" : "float32";
}

static void write_info(struct sl_json_writer *json, const struct sv_request *request,
                       const struct sv_model_ref *ref)
{
    const struct sv_options *options = request->server->options;
    const struct sl_model_info *info = sl_model_info(ref->model);
    sl_json_add(json,
                "{'model_id':%s,'model_sha':%s,'model_dtype':%s,'served_model_name':%s,"
                "'model_type':",
                ref->id, info->sha256, dtype_of(info), ref->name);
    add_model_type(json, info);
    add_limits(json, options, info);
    sl_json_add(json,
                "'auto_truncate':false,'tokenization_workers':%d,'version':%s,'sha':null,"
                "'docker_label':null,'sluice':{'abilities':",
                SV_HTTP_THREADS, sl_version());
    sv_model_write_abilities(json, info);
    sl_json_add(json, "'takes_pairs':%i,'max_body_bytes':%lld}}", info->takes_pairs,
                (long long)options->max_body_bytes);
}

enum sv_progress sv_handle_info(struct sv_request *request)
{
    return sv_respond_about_model(request, SV_WANTS_ANY, write_info);
}
