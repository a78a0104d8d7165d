/* fuzz_json.c - any bytes, as the body of a request.
 *
 * The first byte says whose: completions, predict, hf, tokenize, decode, infer or a question of
 * decisions ('c', 'p', 'h', 't', 'd', 'i', 'q'). */
#include "support/fuzz_target.h"
#include "json/completion_params.h"
#include "json/decision_params.h"
#include "json/infer_params.h"
#include "json/predict_params.h"
#include "json/token_params.h"

#include <stdlib.h>
#include <string.h>

static void must(bool truth)
{
    if (!truth)
        abort();
}

/* What the wire promises of a string: all of its bytes are there, with an end and no NUL before. */
static void string_check(const struct sv_string *string)
{
    must(string->data ? strlen(string->data) == string->bytes : string->bytes == 0);
}

static void texts_check(const struct sv_texts *texts)
{
    must(texts->count >= 1);
    must(texts->several || texts->count == 1);
    for (int i = 0; i < texts->count; i++) {
        must(texts->items[i].data);
        string_check(&texts->items[i]);
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

static struct sv_document *read_completion(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_completion_request request;
    struct sv_document *document = sv_completion_request_read(body, &request, problem);
    if (!document)
        return NULL;
    string_check(&request.model);
    prompts_check(&request.prompt);
    must(request.prompt.count <= SV_PROMPTS_MAX);
    must(request.max_tokens >= 0 && request.max_tokens <= SV_TOKENS_MAX);
    must(request.n >= 1 && request.n <= SV_SAMPLES_MAX);
    must(request.temperature >= 0 && request.temperature <= 2);
    must(request.bias.count >= 0 && request.bias.count <= SV_BIAS_MAX);
    must(request.stop.count >= 0 && request.stop.count <= SV_STRINGS_MAX);
    for (int i = 0; i < request.bias.count; i++)
        must(request.bias.items[i].id >= 0);
    for (int i = 0; i < request.stop.count; i++)
        string_check(&request.stop.items[i]);
    return document;
}

static struct sv_document *predict_check(struct sv_document *document,
                                         const struct sv_predict_request *request)
{
    if (!document)
        return NULL;
    texts_check(&request->inputs);
    must(request->top_k >= 1);
    return document;
}

static struct sv_document *read_predict(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_predict_request request;
    return predict_check(sv_predict_request_read(body, &request, problem), &request);
}

static struct sv_document *read_hf(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_predict_request request;
    return predict_check(sv_hf_request_read(body, &request, problem), &request);
}

static struct sv_document *read_tokenize(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_tokenize_request request;
    struct sv_document *document = sv_tokenize_request_read(body, &request, problem);
    if (document)
        texts_check(&request.inputs);
    return document;
}

static struct sv_document *read_decode(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_decode_request request;
    struct sv_document *document = sv_decode_request_read(body, &request, problem);
    if (!document)
        return NULL;
    prompts_check(&request.ids);
    must(request.ids.count >= 1);
    for (int i = 0; i < request.ids.count; i++)
        must(request.ids.items[i].ids);
    return document;
}

static struct sv_document *read_infer(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_infer_request request;
    struct sv_document *document = sv_infer_request_read(body, &request, problem);
    if (!document)
        return NULL;
    const struct sv_tensor *input = request.inputs.items;
    const struct sv_output *outputs = request.outputs.items;
    must(request.inputs.count == 1);
    must(input->shape.sizes[0] == input->data.count);
    texts_check(&input->data);
    string_check(&request.id);
    must(request.outputs.count <= SV_OUTPUTS_MAX);
    for (int i = 0; i < request.outputs.count; i++)
        must(strcmp(outputs[i].name.data, sv_output_rows[outputs[i].kind].name) == 0);
    return document;
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

static struct sv_document *read_decision(const struct sv_text *body, struct sv_problem *problem)
{
    struct sv_decision_request request;
    struct sv_document *document = sv_decision_request_read(body, &request, problem);
    if (!document)
        return NULL;
    const struct sv_question *questions = request.questions.items;
    must(request.model.bytes > 0);
    texts_check(&request.input);
    must(request.questions.count >= 1 && request.questions.count <= SV_QUESTIONS_MAX);
    for (int i = 0; i < request.questions.count; i++)
        question_check(&questions[i]);
    return document;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        struct sv_document *(*read)(const struct sv_text *body, struct sv_problem *problem);
    } tables[] = {{'c', read_completion}, {'p', read_predict}, {'h', read_hf},
                  {'t', read_tokenize},   {'d', read_decode},  {'i', read_infer},
                  {'q', read_decision}};

    struct sv_problem problem = {.kind = SV_FINE};
    if (size == 0)
        return 0;
    const struct sv_text body = {.data = (char *)(uintptr_t)(data + 1), .bytes = size - 1};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].letter != (char)data[0])
            continue;
        struct sv_document *document = tables[i].read(&body, &problem);
        must(document ? problem.kind == SV_FINE : problem.kind != SV_FINE && problem.message[0]);
        sv_document_release(document);
    }
    return 0;
}
