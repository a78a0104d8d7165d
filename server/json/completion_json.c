/* completion_json.c - the JSON of a text completion, whole or in pieces. */
#include "json/completion_json.h"

#include <assert.h>
#include <math.h>

void sv_completion_json_begin(struct sv_text *out, const struct sv_completion_head *head)
{
    sv_text_adds(out, "{\"id\":");
    sv_text_jsons(out, head->id);
    sv_text_adds(out, ",\"object\":\"text_completion\",\"created\":");
    sv_text_int(out, head->created);
    sv_text_adds(out, ",\"model\":");
    sv_text_jsons(out, head->model);
    sv_text_adds(out, ",\"system_fingerprint\":");
    sv_text_jsons(out, head->fingerprint);
    sv_text_adds(out, ",\"choices\":[");
}

/* JSON has no infinities; -9999 is what this API shows for "never". */
static void add_probability(struct sv_text *out, float log_probability)
{
    if (isnan(log_probability))
        sv_text_adds(out, "null");
    else
        sv_text_print(out, "%.7g", isinf(log_probability) ? -9999.0 : (double)log_probability);
}

/* Bytes that are no characters are named as this API does it, "bytes:\xe2\x82": as U+FFFD one could
 * not be told from another, and names of an object must differ. */
static void add_token(struct sv_text *out, const struct sl_tokenizer *tokens, int32_t id)
{
    size_t bytes = 0;
    const char *text = sl_tokenizer_piece(tokens, id, &bytes);
    if (!text || sv_utf8_is_valid(text, bytes)) {
        sv_text_json(out, text ? text : "", bytes);
        return;
    }
    sv_text_adds(out, "\"bytes:");
    for (size_t i = 0; i < bytes; i++)
        sv_text_print(out, "\\\\x%02x", (unsigned)(unsigned char)text[i]);
    sv_text_adds(out, "\"");
}

static void add_tokens(struct sv_text *out, const struct sv_completion_choice *piece)
{
    sv_text_adds(out, "{\"tokens\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sv_text_adds(out, i ? "," : "");
        add_token(out, piece->tokens, piece->records[i].id);
    }
    sv_text_adds(out, "],\"token_logprobs\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sv_text_adds(out, i ? "," : "");
        add_probability(out, piece->records[i].log_probability);
    }
}

static void add_top(struct sv_text *out, const struct sv_completion_choice *piece,
                    const struct sl_token_record *record)
{
    if (record->top_count == 0) {
        sv_text_adds(out, "null");
        return;
    }
    for (int k = 0; k < record->top_count; k++) {
        sv_text_adds(out, k ? "," : "{");
        add_token(out, piece->tokens, record->top_ids[k]);
        sv_text_adds(out, ":");
        add_probability(out, record->top_log_probabilities[k]);
    }
    sv_text_adds(out, "}");
}

/* Offsets count characters, as the clients of this API do. Bytes in the middle of a character are
 * where it begins. */
static void add_offsets(struct sv_text *out, const struct sv_completion_choice *piece)
{
    size_t at = 0, characters = piece->characters_before;
    for (int i = 0; i < piece->record_count; i++) {
        size_t to = piece->records[i].text_offset - piece->bytes_before;
        assert(piece->records[i].text_offset >= piece->bytes_before);
        while (at < piece->bytes) {
            size_t step = sv_utf8_step(piece->text + at, piece->bytes - at);
            if (at + step > to)
                break;
            at += step;
            characters++;
        }
        sv_text_adds(out, i ? "," : "");
        sv_text_int(out, (int64_t)characters);
    }
}

static void add_records(struct sv_text *out, const struct sv_completion_choice *piece)
{
    add_tokens(out, piece);
    sv_text_adds(out, "],\"top_logprobs\":[");
    for (int i = 0; i < piece->record_count; i++) {
        sv_text_adds(out, i ? "," : "");
        add_top(out, piece, &piece->records[i]);
    }
    sv_text_adds(out, "],\"text_offset\":[");
    add_offsets(out, piece);
    sv_text_adds(out, "]}");
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

void sv_completion_json_choice(struct sv_text *out, const struct sv_completion_choice *piece)
{
    sv_text_adds(out, "{\"index\":");
    sv_text_int(out, piece->choice);
    sv_text_adds(out, ",\"text\":");
    sv_text_json(out, piece->text, piece->bytes);
    sv_text_adds(out, ",\"logprobs\":");
    if (piece->tokens)
        add_records(out, piece);
    else
        sv_text_adds(out, "null");
    sv_text_adds(out, ",\"finish_reason\":");
    sv_text_adds(out, finish_name(piece->finish));
    sv_text_adds(out, "}");
}

static void add_truncations(struct sv_text *out, const struct sv_usage *usage)
{
    for (int i = 0; i < usage->truncation_count; i++) {
        const struct sv_truncation *t = &usage->truncations[i];
        sv_text_print(out, "%s{\"prompt\":%d,\"prompt_tokens_given\":%d,\"prompt_tokens_used\":%d}",
                      i ? "," : ",\"truncated\":[", t->prompt, t->given, t->used);
    }
    sv_text_adds(out, usage->truncation_count ? "]" : "");
}

void sv_completion_json_usage(struct sv_text *out, const struct sv_usage *usage)
{
    int64_t total = usage->prompt_tokens + usage->completion_tokens;
    sv_text_print(out,
                  "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
                  "\"sluice\":{\"depth_mean\":%.4f,\"layer_ops_saved\":%.4f",
                  (long long)usage->prompt_tokens, (long long)usage->completion_tokens,
                  (long long)total, sv_usage_mean_depth(usage), sv_usage_layer_ops_skipped(usage));
    add_truncations(out, usage);
    sv_text_adds(out, "}}");
}
