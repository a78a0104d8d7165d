/* infer_params.c - the fields of POST /v2/models/{name}/infer. */
#include "params/infer_params.h"
#include "params/binary_tensor.h"
#include "json/json_field_reader.h"

#include "sluice/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sv_input_name[] = "text";

const char *const sv_output_names[] = {
    [SV_OUTPUT_LABEL] = "label",         [SV_OUTPUT_PROBS] = "probs",
    [SV_OUTPUT_LOGITS] = "logits",       [SV_OUTPUT_EMBEDDING] = "embedding",
    [SV_OUTPUT_ENTITIES] = "entities",   [SV_OUTPUT_DEPTH] = "depth",
    [SV_OUTPUT_TRUNCATED] = "truncated", [SV_OUTPUT_WORDS] = "words",
    [SV_OUTPUT_TOKENS] = "tokens",       NULL};

const struct sv_output_row sv_output_rows[SV_OUTPUTS] = {
    [SV_OUTPUT_LABEL] = {.datatype = "BYTES",
                         .models = SV_OF_CLASSIFIERS,
                         .has_class_values = true},
    [SV_OUTPUT_PROBS] = {.datatype = "FP32",
                         .models = SV_OF_CLASSIFIERS,
                         .has_class_values = true,
                         .has_columns = true},
    [SV_OUTPUT_LOGITS] = {.datatype = "FP32",
                          .models = SV_OF_CLASSIFIERS,
                          .has_class_values = true,
                          .has_columns = true},
    [SV_OUTPUT_EMBEDDING] = {.datatype = "FP32", .models = SV_OF_EMBEDDERS, .has_columns = true},
    [SV_OUTPUT_ENTITIES] = {.datatype = "BYTES", .models = SV_OF_TOKEN_CLASSIFIERS},
    [SV_OUTPUT_WORDS] = {.datatype = "BYTES", .models = SV_OF_CLASSIFIERS, .is_extra = true},
    [SV_OUTPUT_TOKENS] = {.datatype = "BYTES", .models = SV_OF_CLASSIFIERS, .is_extra = true},
    [SV_OUTPUT_DEPTH] = {.datatype = "FP32"},
    [SV_OUTPUT_TRUNCATED] = {.datatype = "INT32"},
};

bool sv_output_is_of(enum sv_output_kind kind, const struct sl_model_info *info)
{
    static const enum sv_output_models models[SL_TASKS] = {
        [SL_TASK_CLASSIFICATION] = SV_OF_CLASSIFIERS,
        [SL_TASK_TOKEN_CLASSIFICATION] = SV_OF_TOKEN_CLASSIFIERS,
        [SL_TASK_PRETRAINING] = SV_OF_EMBEDDERS,
    };
    enum sv_output_models of = sv_output_rows[kind].models;
    return of == SV_OF_ALL_MODELS || of == models[info->task];
}

/* MLServer's content types under which texts are plain JSON strings, not base64. */
static const char *const plain_types[] = {"str", "np", NULL};

/* MLServer's types add these parameters everywhere. */
#define MLSERVER_FIELDS                                                                            \
    SV_KEYWORD_FIELD("content_type", plain_types, .help = "content type of MLServer; ignored"),    \
        SV_UNSUPPORTED_FIELD("headers", "Send them as headers of the request.")

static const struct sv_field tensor_parameters[] = {
    MLSERVER_FIELDS,
    SV_FIELD("binary_data_size", INT, offsetof(struct sv_tensor, binary_bytes), 0,
             SV_TEXT_BYTES_MAX, .default_json = "0",
             .presence_offset = offsetof(struct sv_tensor, is_binary),
             .help = "size in bytes of the input after the JSON, instead of data"),
    {.kind = SV_FIELD_END},
};

static const char *const input_names[] = {sv_input_name, NULL};
static const char *const input_datatypes[] = {"BYTES", NULL};

static const struct sv_field tensor_fields[] = {
    SV_KEYWORD_FIELD("name", input_names, .required = true, .help = "name of the only input"),
    SV_KEYWORD_FIELD("datatype", input_datatypes, .required = true, .help = "datatype of texts"),
    SV_CUSTOM_FIELD("shape", sv_type_shape, offsetof(struct sv_tensor, shape), 1, SV_SHAPE_MAX,
                    .required = true,
                    .help = "[n] or [n, 1] for n texts, [n, 2] for n pairs of texts"),
    SV_OBJECT_FIELD("parameters", tensor_parameters,
                    .help = "parameters of the protocol and its extensions"),
    SV_CUSTOM_FIELD("data", sv_type_tensor_data, offsetof(struct sv_tensor, data), 1, INT32_MAX,
                    .presence_offset = offsetof(struct sv_tensor, is_data_given),
                    .help = "texts, in one array or in rows"),
    {.kind = SV_FIELD_END},
};

static const struct sv_field output_parameters[] = {
    SV_FIELD("classification", INT, offsetof(struct sv_output, classification), 1, SL_CLASSES_MAX,
             .help = "return this many classes of the highest values, as strings; if absent, all "
                     "values"),
    MLSERVER_FIELDS,
    SV_FIELD("binary_data", BOOL, offsetof(struct sv_output, wants_binary), 0, 1,
             .default_json = "false",
             .presence_offset = offsetof(struct sv_output, is_binary_given),
             .help = "return the output as a binary tensor"),
    {.kind = SV_FIELD_END},
};

static const struct sv_field output_fields[] = {
    SV_ENUM_FIELD("name", offsetof(struct sv_output, kind), SV_OUTPUT_LABEL, sv_output_names,
                  .required = true, .help = "name of the output"),
    SV_OBJECT_FIELD("parameters", output_parameters,
                    .help = "parameters of the protocol and its extensions"),
    {.kind = SV_FIELD_END},
};

#define AT(member) offsetof(struct sv_infer_params, member)

static const struct sv_field parameters[] = {
    SV_FIELD("timeout", INT, AT(timeout_us), 0, (double)INT32_MAX * 1000, .default_json = "0",
             .help = "deadline of the request in microseconds; 0 for none"),
    SV_TOKENIZE_FIELDS(sv_infer_params, tokenize),
    SV_BLANK_TEXTS_FIELD(AT(tokenize.blanks)),
    SV_EXPLAIN_FIELD(AT(explain)),
    SV_ENTITY_FIELDS(sv_infer_params, entities),
    SV_FIELD("normalize", BOOL, AT(normalize), 0, 1, .default_json = "true",
             .help = "return embeddings of length 1"),
    SV_PROMPT_NAME_FIELD(AT(tokenize.prompt_name)),
    SV_BUDGET_FIELD(sv_infer_params, budget),
    MLSERVER_FIELDS,
    SV_FIELD("binary_data_output", BOOL, AT(wants_binary), 0, 1, .default_json = "false",
             .help = "return outputs as binary tensors, unless an output has binary_data"),
    SV_FIELD("priority", INT, AT(priority), 0, INT32_MAX, .default_json = "0",
             .help = "ignored: requests are served in order of arrival"),
    SV_UNSUPPORTED_FIELD("sequence_id", "Sequences of requests are not supported."),
    {.kind = SV_FIELD_END},
};

const struct sv_field sv_infer_fields[] = {
    SV_FIELD("id", STRING, AT(id), 0, SV_NAME_BYTES_MAX, .help = "id to repeat in the response"),
    SV_OBJECT_FIELD("parameters", parameters,
                    .help = "parameters of the protocol and its extensions"),
    SV_LIST_FIELD("inputs", AT(inputs), 1, 1, tensor_fields, struct sv_tensor, .required = true,
                  .help = "the one input, \"text\""),
    SV_LIST_FIELD("outputs", AT(outputs), 0, SV_OUTPUTS_MAX, output_fields, struct sv_output,
                  .help = "outputs to return; all if absent or empty"),
    /* KServe's client sends these too; the path decides. */
    SV_IGNORED_FIELD("model_name", SV_NAME_BYTES_MAX),
    SV_IGNORED_FIELD("model_version", SV_NAME_BYTES_MAX),
    {.kind = SV_FIELD_END},
};

static bool check_shape(const struct sv_shape *shape, struct sv_error *error)
{
    const int64_t columns = shape->count == 2 ? shape->sizes[1] : 1;
    return (shape->count <= 2 && (columns == 1 || columns == 2)) ||
           sv_fail(error, SV_INVALID_VALUE, "inputs[0].shape",
                   "'inputs[0].shape' must be [n] or [n, 1], for n texts, or [n, 2], for n pairs.");
}

static bool has_pairs(const struct sv_shape *shape)
{
    return shape->count == 2 && shape->sizes[1] == 2;
}

/* How many strings the shape says. */
static int64_t strings_of(const struct sv_shape *shape)
{
    const int64_t rows = shape->sizes[0];
    return has_pairs(shape) && rows <= INT64_MAX / 2 ? 2 * rows : rows;
}

/* n texts, one per row, or n pairs. */
static bool check_data(const struct sv_tensor *input, struct sv_error *error)
{
    const struct sv_shape *shape = &input->shape;
    if (input->data.columns > 1 && !(has_pairs(shape) && input->data.columns == 2))
        return sv_fail(error, SV_INVALID_VALUE, "inputs[0].data",
                       "'inputs[0].data' has rows of %zu strings; expected one per row, as in "
                       "'shape'.",
                       input->data.columns);
    return strings_of(shape) == input->data.count ||
           sv_fail(error, SV_INVALID_VALUE, "inputs[0].data",
                   "The number of texts in 'inputs[0].data' is %d, but 'shape' says %lld.",
                   input->data.count, (long long)strings_of(shape));
}

static bool check_input(struct sv_tensor *input, struct sv_error *error)
{
    input->data.is_array = true;
    return check_shape(&input->shape, error);
}

/* Only outputs with classes can be ranked. */
static bool check_output(const struct sv_output *output, int index, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    if (output->classification == 0 || sv_output_rows[output->kind].has_class_values)
        return true;
    (void)snprintf(param, sizeof param, "outputs[%d].name", index);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' is '%s', which has no classes; leave out 'classification'.", param,
                   sv_output_names[output->kind]);
}

/* Clients look an output up by its name and find the first, so each may occur once. */
static bool check_once(const struct sv_output *outputs, int index, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    int first = 0;
    while (outputs[first].kind != outputs[index].kind)
        first++;
    if (first == index)
        return true;
    (void)snprintf(param, sizeof param, "outputs[%d].name", index);
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' is '%s', which outputs[%d] already names.",
                   param, sv_output_names[outputs[index].kind], first);
}

/* An output without binary_data follows the request's binary_data_output. */
static void set_format(const struct sv_infer_params *params, struct sv_output *output)
{
    if (!output->is_binary_given)
        output->wants_binary = params->wants_binary;
}

static bool check_outputs(const struct sv_infer_params *params, struct sv_error *error)
{
    struct sv_output *outputs = params->outputs.items;
    for (int i = 0; i < params->outputs.count; i++) {
        if (!check_output(&outputs[i], i, error) || !check_once(outputs, i, error))
            return false;
        set_format(params, &outputs[i]);
    }
    return true;
}

/* ---- binary input ---------------------------------------------------------------------------- */

bool sv_infer_json_bytes(const char *header, size_t bytes, size_t *json_bytes,
                         struct sv_error *error)
{
    char *end = NULL;
    *json_bytes = bytes;
    if (!header)
        return true;
    bool is_number = header[0] && header[strspn(header, "0123456789")] == '\0';
    unsigned long long value = is_number ? strtoull(header, &end, 10) : 0;
    if (!is_number || value > bytes)
        return sv_fail(error, SV_INVALID_VALUE, NULL,
                       "The header Inference-Header-Content-Length is \"%.32s\"; expected a number "
                       "from 0 to %zu, the length of the body.",
                       header, bytes);
    *json_bytes = (size_t)value;
    return true;
}

/* The bytes after the JSON must be those of the input, which has its texts there or in `data`. */
static bool check_source(const struct sv_tensor *input, size_t binary_bytes, struct sv_error *error)
{
    static const char size_param[] = "inputs[0].parameters.binary_data_size";
    if (!input->is_binary && !input->is_data_given)
        return sv_fail(error, SV_MISSING_PARAMETER, "inputs[0].data",
                       "'inputs[0].data' is required.");
    if (input->is_binary && input->is_data_given)
        return sv_fail(error, SV_INVALID_VALUE, size_param,
                       "'inputs[0]' has both 'data' and 'binary_data_size'; expected one of them.");
    if (!input->is_binary)
        return binary_bytes == 0 ||
               sv_fail(error, SV_INVALID_VALUE, size_param,
                       "%zu bytes follow the JSON, but no input has 'binary_data_size'.",
                       binary_bytes);
    return (uint64_t)input->binary_bytes == binary_bytes ||
           sv_fail(error, SV_INVALID_VALUE, size_param,
                   "'%s' is %lld, but %zu bytes follow the JSON, whose length is in the header "
                   "Inference-Header-Content-Length.",
                   size_param, (long long)input->binary_bytes, binary_bytes);
}

/* Reads the texts after the JSON; the shape says how many. */
static bool read_binary(struct sv_infer_params *params, struct sv_json_document *document,
                        const char *bytes, size_t size, struct sv_error *error)
{
    const struct sv_reader reader = {.document = document, .to = params, .error = error};
    struct sv_tensor *input = params->inputs.items;
    if (!check_source(input, size, error))
        return false;
    int64_t count = strings_of(&input->shape);
    return !input->is_binary ||
           sv_binary_read_texts(&reader, "inputs[0].data", bytes, size, count, &input->data);
}

/* Two strings in a row are a text and the second of its pair. */
static bool make_pairs(const struct sv_reader *r, struct sv_tensor *input)
{
    struct sv_texts *texts = &input->data;
    if (!has_pairs(&input->shape))
        return true;
    const struct sv_string *strings = texts->items;
    texts->count /= 2;
    texts->items = sv_reader_alloc(r, (size_t)texts->count, sizeof *texts->items);
    texts->pairs = sv_reader_alloc(r, (size_t)texts->count, sizeof *texts->pairs);
    for (int i = 0; texts->items && texts->pairs && i < texts->count; i++) {
        texts->items[i] = strings[2 * (size_t)i];
        texts->pairs[i] = strings[2 * (size_t)i + 1];
    }
    return texts->items && texts->pairs;
}

struct sv_json_document *sv_infer_params_read(const struct sl_buffer *body, size_t json_bytes,
                                              struct sv_infer_params *params,
                                              struct sv_error *error)
{
    const struct sl_buffer json = {.data = body->data, .bytes = json_bytes};
    *params = (struct sv_infer_params){.tokenize = {.in_parameters = true},
                                       .budget = {.field = "parameters.budget"},
                                       .normalize = true};
    struct sv_json_document *document = sv_json_read(&json, sv_infer_fields, NULL, params, error);
    if (!document)
        return NULL;
    const char *rest = body->data ? body->data + json_bytes : "";
    if (check_outputs(params, error) && check_input(params->inputs.items, error) &&
        read_binary(params, document, rest, body->bytes - json_bytes, error) &&
        check_data(params->inputs.items, error) &&
        make_pairs(&(struct sv_reader){.document = document, .to = params, .error = error},
                   params->inputs.items))
        return document;
    sv_json_document_release(document);
    return NULL;
}
