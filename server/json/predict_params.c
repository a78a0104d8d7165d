/* predict_params.c - what POST /predict and POST /hf/{name} can be asked. */
#include "json/predict_params.h"

#include "sluice/model.h"

#include <string.h>

#define AT(member) offsetof(struct sv_predict_request, member)

static const struct sv_field predict_fields[] = {
    {.name = "inputs",
     .kind = SV_FIELD_READ,
     .read = sv_read_sequences,
     .offset = AT(inputs),
     .least = 1,
     .most = INT32_MAX,
     .required = true},
    {.name = "raw_scores", .kind = SV_FIELD_BOOL, .offset = AT(raw_scores)},
    SV_READING_FIELDS(sv_predict_request, reading),
    {.name = "model", .kind = SV_FIELD_REFUSED, .accepted = sv_naming},
    {.kind = SV_FIELD_END},
};

static const struct sv_field hf_parameters[] = {
    {.name = "top_k",
     .kind = SV_FIELD_INT,
     .offset = AT(top_k),
     .least = 1,
     .most = SL_CLASSES_MAX},
    {.name = "function_to_apply",
     .kind = SV_FIELD_STRING,
     .offset = AT(function),
     .most = SV_WORD_BYTES_MAX},
    SV_READING_FIELDS(sv_predict_request, reading),
    {.kind = SV_FIELD_END},
};

static const struct sv_field hf_fields[] = {
    {.name = "inputs",
     .kind = SV_FIELD_READ,
     .read = sv_read_texts,
     .offset = AT(inputs),
     .least = 1,
     .most = INT32_MAX,
     .required = true},
    {.name = "parameters", .kind = SV_FIELD_READ, .read = sv_read_object, .inner = hf_parameters},
    {.kind = SV_FIELD_END},
};

static bool check_function(struct sv_predict_request *request, struct sv_problem *problem)
{
    static const char *const names[] = {
        [SV_SOFTMAX] = "softmax", [SV_SIGMOID] = "sigmoid", [SV_RAW] = "none"};
    const char *name = request->function.data;
    for (int i = 0; name && i < (int)(sizeof names / sizeof names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            request->squash = (enum sv_squash)i;
            return true;
        }
    return !name || sv_refuse(problem, SV_BAD_VALUE, "parameters.function_to_apply",
                              "'parameters.function_to_apply' must be \"softmax\", \"sigmoid\" or "
                              "\"none\", not \"%s\".",
                              name);
}

static bool check(void *to, struct sv_problem *problem)
{
    struct sv_predict_request *request = to;
    return sv_reading_check(&request->reading, problem) && check_function(request, problem);
}

static struct sv_document *read_by(const struct sv_field *fields, const struct sv_text *body,
                                   struct sv_predict_request *request, struct sv_problem *problem)
{
    *request = (struct sv_predict_request){.reading = {.in_parameters = fields == hf_fields},
                                           .top_k = SL_CLASSES_MAX,
                                           .squash = SV_SOFTMAX};
    return sv_wire_read(body, fields, check, request, problem);
}

struct sv_document *sv_predict_request_read(const struct sv_text *body,
                                            struct sv_predict_request *request,
                                            struct sv_problem *problem)
{
    struct sv_document *document = read_by(predict_fields, body, request, problem);
    if (request->raw_scores)
        request->squash = SV_RAW;
    return document;
}

struct sv_document *sv_hf_request_read(const struct sv_text *body,
                                       struct sv_predict_request *request,
                                       struct sv_problem *problem)
{
    return read_by(hf_fields, body, request, problem);
}
