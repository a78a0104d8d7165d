/* completion_json.c - the JSON of a text completion, whole or in pieces. */
#include "json/completion_json.h"
#include "base/json_writer.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>

void sv_completion_json_begin(struct sl_buffer *out, const struct sv_completion_head *head)
{
    sl_buffer_append_string(out, "{\"id\":");
    sl_json_quote(out, head->id);
    sl_buffer_append_string(out, ",\"object\":\"text_completion\",\"created\":");
    sl_buffer_append_int(out, head->created);
    sl_buffer_append_string(out, ",\"model\":");
    sl_json_quote(out, head->model);
    sl_buffer_append_string(out, ",\"system_fingerprint\":");
    sl_json_quote(out, head->fingerprint);
    sl_buffer_append_string(out, ",\"choices\":[");
}

/* JSON has no infinity; this API writes -9999. */
static void add_probability(struct sl_buffer *out, float log_probability)
{
    if (isnan(log_probability))
        sl_buffer_append_string(out, "null");
    else
        sl_buffer_printf(out, "%.7g", isinf(log_probability) ? -9999.0 : (double)log_probability);
}

/* Bytes that are not a character are written as this API does it, "bytes:\xe2\x82". As U+FFFD they
 * would all be the same, and names of an object must differ. */
static void add_token(struct sl_buffer *out, const struct sl_tokenizer *tokens, int32_t id)
{
    size_t bytes = 0;
    const char *text = sl_tokenizer_piece(tokens, id, &bytes);
    if (!text || sl_utf8_is_valid(text, bytes)) {
        sl_json_quote_bytes(out, text ? text : "", bytes);
        return;
    }
    sl_buffer_append_string(out, "\"bytes:");
    for (size_t i = 0; i < bytes; i++)
        sl_buffer_printf(out, "\\\\x%02x", (unsigned)(unsigned char)text[i]);
    sl_buffer_append_string(out, "\"");
}

static void add_tokens(struct sl_buffer *out, const struct sv_completion_choice *piece)
{
    sl_buffer_append_string(out, "{\"tokens\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sl_buffer_append_string(out, i ? "," : "");
        add_token(out, piece->tokens, piece->records[i].id);
    }
    sl_buffer_append_string(out, "],\"token_logprobs\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sl_buffer_append_string(out, i ? "," : "");
        add_probability(out, piece->records[i].log_probability);
    }
}

static void add_top(struct sl_buffer *out, const struct sv_completion_choice *piece,
                    const struct sl_token_logprob *record)
{
    if (record->top_count == 0) {
        sl_buffer_append_string(out, "null");
        return;
    }
    for (int k = 0; k < record->top_count; k++) {
        sl_buffer_append_string(out, k ? "," : "{");
        add_token(out, piece->tokens, record->top_ids[k]);
        sl_buffer_append_string(out, ":");
        add_probability(out, record->top_log_probabilities[k]);
    }
    sl_buffer_append_string(out, "}");
}

/* Offsets count characters, as this API does. Bytes inside a character have the offset of its
 * beginning. */
static void add_offsets(struct sl_buffer *out, const struct sv_completion_choice *piece)
{
    size_t at = 0, characters = piece->characters_before;
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
        sl_buffer_append_string(out, i ? "," : "");
        sl_buffer_append_int(out, (int64_t)characters);
    }
}

static void add_records(struct sl_buffer *out, const struct sv_completion_choice *piece)
{
    add_tokens(out, piece);
    sl_buffer_append_string(out, "],\"top_logprobs\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sl_buffer_append_string(out, i ? "," : "");
        add_top(out, piece, &piece->records[i]);
    }
    sl_buffer_append_string(out, "],\"text_offset\":[");
    add_offsets(out, piece);
    sl_buffer_append_string(out, "]}");
}

static const char *finish_name(enum sl_finish finish)
{
    switch (finish) {
    case SL_FINISH_STOP: return "\"stop\"";
    case SL_FINISH_LENGTH: return "\"length\"";
    case SL_RUNNING:
    case SL_FINISH_ERROR: return "null";
    }
    return "null";
}

void sv_completion_json_choice(struct sl_buffer *out, const struct sv_completion_choice *piece)
{
    sl_buffer_append_string(out, "{\"index\":");
    sl_buffer_append_int(out, piece->choice);
    sl_buffer_append_string(out, ",\"text\":");
    sl_json_quote_bytes(out, piece->text, piece->bytes);
    sl_buffer_append_string(out, ",\"logprobs\":");
    if (piece->tokens)
        add_records(out, piece);
    else
        sl_buffer_append_string(out, "null");
    sl_buffer_append_string(out, ",\"finish_reason\":");
    sl_buffer_append_string(out, finish_name(piece->finish));
    sl_buffer_append_string(out, "}");
}

static void add_truncations(struct sl_buffer *out, const struct sv_usage *usage)
{
    for (int i = 0; i < usage->truncation_count; i++) {
        const struct sv_truncation *t = &usage->truncations[i];
        sl_buffer_printf(out,
                         "%s{\"prompt\":%d,\"prompt_tokens_given\":%d,\"prompt_tokens_used\":%d}",
                         i ? "," : ",\"truncated\":[", t->prompt, t->given, t->used);
    }
    sl_buffer_append_string(out, usage->truncation_count ? "]" : "");
}

void sv_completion_json_usage(struct sl_buffer *out, const struct sv_usage *usage)
{
    int64_t total = usage->prompt_tokens + usage->completion_tokens;
    sl_buffer_printf(out,
                     "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
                     "\"sluice\":{\"depth_mean\":%.4f,\"layer_ops_skipped\":%.4f",
                     (long long)usage->prompt_tokens, (long long)usage->completion_tokens,
                     (long long)total, sv_usage_mean_depth(usage),
                     sv_usage_layer_ops_skipped(usage));
    add_truncations(out, usage);
    sl_buffer_append_string(out, "}}");
}
