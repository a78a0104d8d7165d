/* fuzz_json.c - any bytes, as the body of a request.
 *
 * The first byte is the endpoint: completions, predict, hf, tokenize, decode, infer, infer with
 * binary tensors, a question of decisions, embed, or OpenAI's embeddings ('c', 'p', 'h', 't', 'd',
 * 'i', 'b', 'q', 'e', 'v'). */
#include "params/completion_params.h"
#include "params/decision_params.h"
#include "params/embed_params.h"
#include "params/hf_params.h"
#include "params/infer_params.h"
#include "params/predict_params.h"
#include "params/rerank_params.h"
#include "params/tokenize_params.h"
#include "support/fuzz_target.h"
#include "json/json_peek.h"

#include <stdlib.h>
#include <string.h>

/* What the wire promises of a string: all of its bytes are there, with an end and no NUL before. */
static void string_check(const struct sv_string *string)
{
    must(string->data ? strlen(string->data) == string->bytes : string->bytes == 0);
}

static void texts_check(const struct sv_texts *texts)
{
    must(texts->count >= 1);
    must(texts->is_array || texts->count == 1);
    for (int i = 0; i < texts->count; i++) {
        must(texts->items[i].data);
        string_check(&texts->items[i]);
        if (sv_texts_pair(texts, i))
            string_check(sv_texts_pair(texts, i));
    }
}

static void prompts_check(const struct sv_prompts *prompts)
{
    must(prompts->count >= 0);
    for (int i = 0; i < prompts->count; i++) {
        const struct sv_prompt *prompt = &prompts->items[i];
        must(prompt->ids || prompt->text.data);
        string_check(&prompt->text);
        for (int k = 0; prompt->ids && k < prompt->id_count; k++)
            must(prompt->ids[k] >= 0);
    }
}

/* What is found without parsing is what is parsed. */
static void peek_check(const struct sl_buffer *body, const struct sv_string *model)
{
    char found[SV_PATH_MAX];
    must(!sv_json_peek_string(body, "model", found, sizeof found) ||
         strcmp(found, model->data) == 0);
}

static struct sv_json_document *read_completion(const struct sl_buffer *body,
                                                struct sv_error *error)
{
    struct sv_completion_params params;
    struct sv_json_document *document = sv_completion_params_read(body, &params, error);
    if (!document)
        return NULL;
    string_check(&params.model);
    peek_check(body, &params.model);
    prompts_check(&params.prompt);
    must(params.prompt.count <= SV_PROMPTS_MAX);
    must(params.max_tokens >= 0 && params.max_tokens <= SV_TOKENS_MAX);
    must(params.n >= 1 && params.n <= SV_N_MAX);
    must(params.temperature >= 0 && params.temperature <= 2);
    must(params.bias.count >= 0 && params.bias.count <= SV_BIAS_MAX);
    must(params.stop.count >= 0 && params.stop.count <= SV_STRINGS_MAX);
    for (int i = 0; i < params.bias.count; i++)
        must(params.bias.items[i].id >= 0);
    for (int i = 0; i < params.stop.count; i++)
        string_check(&params.stop.items[i]);
    return document;
}

static struct sv_json_document *read_predict(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_predict_params params;
    struct sv_json_document *document = sv_predict_params_read(body, &params, error);
    if (document)
        texts_check(&params.inputs);
    return document;
}

static struct sv_json_document *read_hf(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_hf_params params;
    struct sv_json_document *document = sv_hf_params_read(body, sv_hf_fields, &params, error);
    if (!document)
        return NULL;
    texts_check(&params.inputs);
    for (int i = 0; i < params.entities.ignored.count; i++)
        string_check(&params.entities.ignored.items[i]);
    must(params.labels.top_k >= 0); /* 0: all */
    return document;
}

static struct sv_json_document *read_tokenize(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_tokenize_params params;
    struct sv_json_document *document = sv_tokenize_params_read(body, &params, error);
    if (document)
        texts_check(&params.inputs);
    return document;
}

static struct sv_json_document *read_decode(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_decode_params params = {0};
    struct sv_json_document *document = sv_json_read(body, sv_decode_fields, NULL, &params, error);
    if (!document)
        return NULL;
    prompts_check(&params.ids);
    must(params.ids.count >= 1);
    for (int i = 0; i < params.ids.count; i++)
        must(params.ids.items[i].ids);
    return document;
}

static struct sv_json_document *check_infer(const struct sl_buffer *body, size_t json_bytes,
                                            struct sv_error *error)
{
    struct sv_infer_params params;
    struct sv_json_document *document = sv_infer_params_read(body, json_bytes, &params, error);
    if (!document)
        return NULL;
    const struct sv_tensor *input = params.inputs.items;
    const struct sv_output *outputs = params.outputs.items;
    must(params.inputs.count == 1);
    must(input->shape.sizes[0] == input->data.count);
    texts_check(&input->data);
    string_check(&params.id);
    must(params.outputs.count <= SV_OUTPUTS_MAX);
    for (int i = 0; i < params.outputs.count; i++)
        must((int)outputs[i].kind >= 0 && outputs[i].kind < SV_OUTPUTS);
    return document;
}

static struct sv_json_document *read_infer(const struct sl_buffer *body, struct sv_error *error)
{
    return check_infer(body, body->bytes, error);
}

/* The first line is JSON, the rest a binary tensor. */
static struct sv_json_document *read_binary(const struct sl_buffer *body, struct sv_error *error)
{
    const char *end = body->bytes > 0 ? memchr(body->data, '\n', body->bytes) : NULL;
    return check_infer(body, end ? (size_t)(end + 1 - body->data) : body->bytes, error);
}

static void question_check(const struct sv_question *question)
{
    const struct sv_choice *choices = question->choices.items;
    const struct sv_level *levels = question->levels.items;
    string_check(&question->name);
    string_check(&question->instructions);
    must((question->choices.count > 0) == (question->type == SV_CHOICE));
    must((question->levels.count > 0) == (question->type == SV_SCORE));
    for (int i = 0; i < question->choices.count; i++)
        string_check(&choices[i].value.text);
    for (int i = 0; i < question->levels.count; i++)
        string_check(&levels[i].label);
}

static struct sv_json_document *read_decision(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_decision_params params;
    struct sv_json_document *document = sv_decision_params_read(body, &params, error);
    if (!document)
        return NULL;
    const struct sv_question *questions = params.questions.items;
    must(params.model.bytes > 0);
    peek_check(body, &params.model);
    texts_check(&params.input);
    must(params.questions.count >= 1 && params.questions.count <= SV_QUESTIONS_MAX);
    for (int i = 0; i < params.questions.count; i++)
        question_check(&questions[i]);
    return document;
}

static struct sv_json_document *embed_check(struct sv_json_document *document,
                                            const struct sv_embed_params *params)
{
    if (!document)
        return NULL;
    prompts_check(&params->inputs);
    if (params->inputs.count == 0) /* OpenAI's are texts alone */
        texts_check(&params->texts);
    must(params->texts.count >= 1);
    must(params->inputs.count == 0 || params->texts.count == params->inputs.count);
    must(params->dimensions >= 0); /* 0: all */
    for (int i = 1; i < params->inputs.count; i++)
        must(!params->inputs.items[i].ids == !params->inputs.items[0].ids);
    return document;
}

static struct sv_json_document *read_embed(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_embed_params params;
    return embed_check(sv_embed_params_read(body, sv_embed_fields, &params, error), &params);
}

static struct sv_json_document *read_embedding(const struct sl_buffer *body, struct sv_error *error)
{
    struct sv_embed_params params;
    struct sv_json_document *document =
        sv_embed_params_read(body, sv_embedding_fields, &params, error);
    if (document)
        peek_check(body, &params.model);
    return embed_check(document, &params);
}

/* By the fields of all three endpoints. */
static struct sv_json_document *read_rerank(const struct sl_buffer *body, struct sv_error *error)
{
    static const struct sv_field *const tables[] = {sv_rerank_fields, sv_cohere_rerank_fields,
                                                    sv_jina_rerank_fields};
    struct sv_json_document *document = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct sv_rerank_params params;
        sv_json_document_release(document);
        *error = (struct sv_error){.kind = SV_OK};
        document = sv_rerank_params_read(body, tables[i], &params, error);
        if (!document)
            continue;
        must(params.query.bytes > 0);
        texts_check(&params.texts);
        for (int j = 0; j < params.texts.count; j++)
            must(sv_texts_pair(&params.texts, j));
    }
    return document;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        struct sv_json_document *(*read)(const struct sl_buffer *body, struct sv_error *error);
    } tables[] = {{'c', read_completion}, {'p', read_predict},  {'h', read_hf},
                  {'t', read_tokenize},   {'d', read_decode},   {'i', read_infer},
                  {'b', read_binary},     {'q', read_decision}, {'e', read_embed},
                  {'v', read_embedding},  {'r', read_rerank}};

    struct sv_error error = {.kind = SV_OK};
    char found[8];
    if (size == 0)
        return 0;
    const struct sl_buffer body = {.data = (char *)(uintptr_t)(data + 1), .bytes = size - 1};
    (void)sv_json_peek_string(&body, "model", found, sizeof found); /* of what is no JSON, too */
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].letter != (char)data[0])
            continue;
        struct sv_json_document *document = tables[i].read(&body, &error);
        must(document ? error.kind == SV_OK : error.kind != SV_OK && error.message[0]);
        sv_json_document_release(document);
    }
    return 0;
}
