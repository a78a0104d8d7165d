/* chat_response.c - the shape of completions of conversations. */
#include "base/utf8.h"
#include "json/completion_response.h"

/* -- log probabilities ------------------------------------------------------------------------ */

/* The members of a token's object. Its bytes are there because it may be no whole character. */
static void add_token(struct sl_json_writer *json, const struct sl_tokenizer *tokens, int32_t id,
                      float log_probability)
{
    struct sl_buffer text = {0};
    sv_spell_token(&text, tokens, id);
    sl_json_add_bytes(sl_json_key(json, "token"), text.data, text.bytes);
    sv_add_probability(sl_json_key(json, "logprob"), log_probability);
    sv_token_text(&text, tokens, id);
    sl_json_begin_array(sl_json_key(json, "bytes"));
    for (size_t i = 0; i < text.bytes; i++)
        sl_json_add_int(json, (unsigned char)text.data[i]);
    sl_json_end_array(json);
    json->out->failed = json->out->failed || text.failed;
    sl_buffer_release(&text);
}

static void add_record(struct sl_json_writer *json, const struct sl_tokenizer *tokens,
                       const struct sl_token_logprob *record)
{
    sl_json_begin_object(json);
    add_token(json, tokens, record->id, record->log_probability);
    sl_json_begin_array(sl_json_key(json, "top_logprobs"));
    for (int i = 0; i < record->top_count; i++) {
        sl_json_begin_object(json);
        add_token(json, tokens, record->top_ids[i], record->top_log_probabilities[i]);
        sl_json_end_object(json);
    }
    sl_json_end_array(json);
    sl_json_end_object(json);
}

static void add_logprobs(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    if (!piece->facts.logprobs) {
        sl_json_add(json, "'logprobs':null");
        return;
    }
    sl_json_add(json, "'logprobs':{'content':[");
    for (int i = 0; i < piece->record_count; i++)
        add_record(json, piece->tokens, &piece->records[i]);
    sl_json_add(json, "],'refusal':null}");
}

/* -- choices ---------------------------------------------------------------------------------- */

static void add_whole(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json, "{'index':%d,'message':{'role':'assistant','content':%.*s,'refusal':null}",
                piece->choice, (int)piece->bytes, piece->text);
    add_logprobs(json, piece);
    sv_add_depths(json, piece);
    sl_json_add(json, "'finish_reason':%s}", sv_finish_name(piece->finish));
}

static void add_opening(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json,
                "{'index':%d,'delta':{'role':'assistant','content':'','refusal':null},"
                "'logprobs':null,'finish_reason':null}",
                piece->choice);
}

static void add_piece(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json, "{'index':%d,'delta':{'content':%.*s}", piece->choice, (int)piece->bytes,
                piece->text);
    add_logprobs(json, piece);
    sv_add_depths(json, piece);
    sl_json_add(json, "'finish_reason':null}");
}

static void add_closing(struct sl_json_writer *json, const struct sv_completion_choice *piece)
{
    sl_json_add(json, "{'index':%d,'delta':{},'logprobs':null,'finish_reason':%s}", piece->choice,
                sv_finish_name(piece->finish));
}

const struct sv_completion_format sv_chat_format = {.id_prefix = "chatcmpl",
                                                    .object = "chat.completion",
                                                    .stream_object = "chat.completion.chunk",
                                                    .whole = add_whole,
                                                    .piece = add_piece,
                                                    .opening = add_opening,
                                                    .closing = add_closing};
