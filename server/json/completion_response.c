/* completion_response.c - what completions have in common, and the shape of those of texts. */
#include "json/completion_response.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>

void sv_completion_response_begin(struct sl_json_writer *json,
                                  const struct sv_completion_head *head, bool is_event)
{
    const struct sv_completion_format *format = head->format;
    sl_json_add(json,
                "{'id':%s,'object':%s,'created':%lld,'model':%s,'system_fingerprint':%s,"
                "'choices':[",
                head->id, is_event ? format->stream_object : format->object,
                (long long)head->created, head->model, head->fingerprint);
}

void sv_add_probability(struct sl_json_writer *json, float log_probability)
{
    if (isnan(log_probability))
        sl_json_add_null(json);
    else
        sl_json_printf(json, "%.7g", isinf(log_probability) ? -9999.0 : (double)log_probability);
}

void sv_token_text(struct sl_buffer *text, const struct sl_tokenizer *tokens, int32_t id)
{
    char bytes[256];
    size_t count = sl_tokenizer_decode_next(tokens, id, /* first= */ false, bytes, sizeof bytes);
    const bool fits = count > 0 && count <= sizeof bytes;
    const char *piece = fits ? bytes : sl_tokenizer_piece(tokens, id, &count);
    sl_buffer_clear(text);
    if (piece)
        sl_buffer_append(text, piece, count);
}

void sv_spell_token(struct sl_buffer *text, const struct sl_tokenizer *tokens, int32_t id)
{
    sv_token_text(text, tokens, id);
    if (text->bytes == 0 || sl_utf8_is_valid(text->data, text->bytes))
        return;
    struct sl_buffer raw = *text;
    *text = (struct sl_buffer){0};
    sl_buffer_append_string(text, "bytes:");
    for (size_t i = 0; i < raw.bytes; i++)
        sl_buffer_printf(text, "\\x%02x", (unsigned)(unsigned char)raw.data[i]);
    sl_buffer_release(&raw);
}

/* The member "tokens". */
static void add_tokens(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    struct sl_buffer text = {0}; /* of one token */
    sl_json_add(json, "'tokens':[");
    for (int i = 0; i < piece->record_count; i++) {
        sv_spell_token(&text, piece->tokens, piece->records[i].id);
        sl_json_add_bytes(json, text.data, text.bytes);
    }
    sl_json_end_array(json);
    json->out->failed = json->out->failed || text.failed;
    sl_buffer_release(&text);
}

void sv_add_gates(struct sl_json_writer *json, const float *gates, int count)
{
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++)
        sl_json_printf(json, "%.4g", (double)gates[i]);
    sl_json_end_array(json);
}

/* The member "gates", unless nothing is known of them. */
static void add_gates(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    bool any = false;
    for (int i = 0; i < piece->record_count; i++)
        any = any || piece->records[i].gate_count > 0;
    if (!any)
        return;
    sl_json_add(json, "'gates':[");
    for (int i = 0; i < piece->record_count; i++)
        if (piece->records[i].gate_count == 0)
            sl_json_add_null(json);
        else
            sv_add_gates(json, piece->records[i].gates, piece->records[i].gate_count);
    sl_json_end_array(json);
}

void sv_add_depths(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    if (!piece->facts.depths)
        return;
    sl_json_begin_object(sl_json_key(json, "sluice"));
    add_tokens(json, piece);
    sl_json_add(json, "'depth':[");
    for (int i = 0; i < piece->record_count; i++)
        if (isnan(piece->records[i].log_probability))
            sl_json_add_null(json);
        else
            sl_json_add_int(json, piece->records[i].layers);
    sl_json_end_array(json);
    add_gates(json, piece);
    sl_json_end_object(json);
}

static void add_probabilities(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json, "'token_logprobs':[");
    for (int i = 0; i < piece->record_count; i++)
        sv_add_probability(json, piece->records[i].log_probability);
    sl_json_end_array(json);
}

static void add_top(struct sl_json_writer *json, const struct sv_completion_choice *piece,
                    const struct sl_token_logprob *record, struct sl_buffer *text)
{
    if (record->top_count == 0) {
        sl_json_add_null(json);
        return;
    }
    sl_json_begin_object(json);
    for (int k = 0; k < record->top_count; k++) {
        sv_spell_token(text, piece->tokens, record->top_ids[k]);
        sv_add_probability(sl_json_key_bytes(json, text->data, text->bytes),
                           record->top_log_probabilities[k]);
    }
    sl_json_end_object(json);
}

/* Offsets count characters, as this API does. Bytes inside a character have the offset of its
 * beginning. */
static void add_offsets(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    size_t at = 0, characters = piece->characters_before;
    sl_json_add(json, "'text_offset':[");
    for (int i = 0; i < piece->record_count; i++) {
        size_t to = piece->records[i].text_offset - piece->bytes_before;
        assert(piece->records[i].text_offset >= piece->bytes_before);
        while (at < piece->bytes) {
            size_t step = sl_utf8_step(piece->text + at, piece->bytes - at);
            if (at + step > to)
                break;
            at += step;
            characters++;
        }
        sl_json_add_int(json, (int64_t)characters);
    }
    sl_json_end_array(json);
}

static void add_records(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    struct sl_buffer text = {0}; /* of one token */
    sl_json_begin_object(json);
    add_tokens(json, piece);
    add_probabilities(json, piece);
    sl_json_add(json, "'top_logprobs':[");
    for (int i = 0; i < piece->record_count; i++)
        add_top(json, piece, &piece->records[i], &text);
    sl_json_end_array(json);
    add_offsets(json, piece);
    sl_json_end_object(json);
    json->out->failed = json->out->failed || text.failed;
    sl_buffer_release(&text);
}

const char *sv_finish_name(enum sl_finish finish)
{
    switch (finish) {
    case SL_FINISH_STOP: return "stop";
    case SL_FINISH_LENGTH: return "length";
    case SL_RUNNING:
    case SL_FINISH_ERROR: return NULL;
    }
    return NULL;
}

static void add_choice(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json, "{'index':%d,'text':%.*s,'logprobs':", piece->choice, (int)piece->bytes,
                piece->text);
    if (piece->facts.logprobs)
        add_records(json, piece);
    else
        sl_json_add_null(json);
    sv_add_depths(json, piece);
    sl_json_add(json, "'finish_reason':%s}", sv_finish_name(piece->finish));
}

const struct sv_completion_format sv_text_format = {.id_prefix = "cmpl",
                                                    .object = "text_completion",
                                                    .stream_object = "text_completion",
                                                    .whole = add_choice,
                                                    .piece = add_choice};

static void add_truncations(struct sl_json_writer *json, const struct sv_usage *usage)
{
    if (usage->truncation_count == 0)
        return;
    sl_json_add(json, "'truncated':[");
    for (int i = 0; i < usage->truncation_count; i++) {
        const struct sv_truncation *t = &usage->truncations[i];
        sl_json_add(json, "{'prompt':%d,'prompt_tokens_given':%d,'prompt_tokens_used':%d}",
                    t->prompt, t->given, t->used);
    }
    sl_json_end_array(json);
}

void sv_completion_response_usage(struct sl_json_writer *json, const struct sv_usage *usage)
{
    int64_t total = usage->prompt_tokens + usage->completion_tokens;
    sl_json_add(json,
                "{'prompt_tokens':%lld,'completion_tokens':%lld,'total_tokens':%lld,"
                "'sluice':{",
                (long long)usage->prompt_tokens, (long long)usage->completion_tokens,
                (long long)total);
    sv_usage_add_depth(json, usage);
    add_truncations(json, usage);
    sl_json_add(json, "}}");
}
