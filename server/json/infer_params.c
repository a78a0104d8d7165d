/* infer_params.c - what POST /v2/models/{name}/infer can be asked. */
#include "json/infer_params.h"
#include "base/list.h"

#include "sluice/model.h"

#include <stdio.h>
#include <string.h>

const char sv_input_name[] = "text";

const struct sv_output_row sv_output_rows[SV_OUTPUTS] = {
    [SV_OUTPUT_LABEL] = {.name = "label", .datatype = "BYTES", .has_class_values = true},
    [SV_OUTPUT_PROBS] = {.name = "probs",
                         .datatype = "FP32",
                         .has_class_values = true,
                         .is_per_class = true},
    [SV_OUTPUT_LOGITS] = {.name = "logits",
                          .datatype = "FP32",
                          .has_class_values = true,
                          .is_per_class = true},
    [SV_OUTPUT_DEPTH] = {.name = "depth", .datatype = "FP32"},
    [SV_OUTPUT_TRUNCATED] = {.name = "truncated", .datatype = "INT32"},
};

/* Under these content types of MLServer data are JSON as it is: texts are texts, not base64. */
static const char *const plain_types[] = {"str", "np", NULL};

/* What MLServer's types write out as parameters of everything. */
#define MLSERVER_FIELDS                                                                            \
    {.name = "content_type", .kind = SV_FIELD_KEYWORD, .keywords = plain_types},                   \
    {                                                                                              \
        .name = "headers", .kind = SV_FIELD_UNSUPPORTED,                                           \
        .advice = "Send them as headers of the request."                                           \
    }

static const struct sv_field tensor_parameters[] = {
    MLSERVER_FIELDS,
    {.name = "binary_data_size",
     .kind = SV_FIELD_UNSUPPORTED,
     .advice = "Tensors are JSON here: send 'data'."},
    {.kind = SV_FIELD_END},
};

static const struct sv_field tensor_fields[] = {
    {.name = "name",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_tensor, name),
     .max = SV_NAME_BYTES_MAX,
     .required = true},
    {.name = "datatype",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_tensor, datatype),
     .max = SV_KEYWORD_BYTES_MAX,
     .required = true},
    {.name = "shape",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_shape,
     .offset = offsetof(struct sv_tensor, shape),
     .min = 1,
     .max = SV_SHAPE_MAX,
     .required = true},
    {.name = "parameters",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_object,
     .inner = tensor_parameters},
    {.name = "data",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_data,
     .offset = offsetof(struct sv_tensor, data),
     .min = 1,
     .max = INT32_MAX,
     .required = true},
    {.kind = SV_FIELD_END},
};

static const struct sv_field output_parameters[] = {
    {.name = "classification",
     .kind = SV_FIELD_INT,
     .offset = offsetof(struct sv_output, classification),
     .min = 1,
     .max = SL_CLASSES_MAX},
    MLSERVER_FIELDS,
    {.name = "binary_data",
     .kind = SV_FIELD_BOOL,
     .offset = offsetof(struct sv_output, wants_binary)},
    {.kind = SV_FIELD_END},
};

static const struct sv_field output_fields[] = {
    {.name = "name",
     .kind = SV_FIELD_STRING,
     .offset = offsetof(struct sv_output, name),
     .max = SV_NAME_BYTES_MAX,
     .required = true},
    {.name = "parameters",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_object,
     .inner = output_parameters},
    {.kind = SV_FIELD_END},
};

#define AT(member) offsetof(struct sv_infer_params, member)

static const struct sv_field parameters[] = {
    {.name = "timeout",
     .kind = SV_FIELD_INT,
     .offset = AT(timeout_us),
     .min = 0,
     .max = (double)INT32_MAX * 1000},
    SV_TOKENIZE_FIELDS(sv_infer_params, tokenize),
    MLSERVER_FIELDS,
    {.name = "binary_data_output", .kind = SV_FIELD_BOOL, .offset = AT(wants_binary)},
    {.name = "priority", /* there is one: texts are taken in the order in which they come */
     .kind = SV_FIELD_INT,
     .offset = AT(priority),
     .min = 0,
     .max = INT32_MAX},
    {.name = "sequence_id", .kind = SV_FIELD_UNSUPPORTED, .advice = "Texts stand alone here."},
    {.kind = SV_FIELD_END},
};

static const struct sv_field fields[] = {
    {.name = "id", .kind = SV_FIELD_STRING, .offset = AT(id), .max = SV_NAME_BYTES_MAX},
    {.name = "parameters", .kind = SV_FIELD_CUSTOM, .read = sv_read_object, .inner = parameters},
    {.name = "inputs",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_list,
     .offset = AT(inputs),
     .min = 1,
     .max = 1,
     .inner = tensor_fields,
     .size = sizeof(struct sv_tensor),
     .required = true},
    {.name = "outputs",
     .kind = SV_FIELD_CUSTOM,
     .read = sv_read_list,
     .offset = AT(outputs),
     .min = 0,
     .max = SV_OUTPUTS_MAX,
     .inner = output_fields,
     .size = sizeof(struct sv_output)},
    /* The client of KServe sends them too; the path decides. */
    {.name = "model_name", .kind = SV_FIELD_IGNORED, .max = SV_NAME_BYTES_MAX},
    {.name = "model_version", .kind = SV_FIELD_IGNORED, .max = SV_NAME_BYTES_MAX},
    {.kind = SV_FIELD_END},
};

static bool check_datatype(const struct sv_tensor *input, struct sv_error *error)
{
    static const char *const known[] = {"BOOL", "UINT8", "UINT16", "UINT32", "UINT64",
                                        "INT8", "INT16", "INT32",  "INT64",  "FP16",
                                        "FP32", "FP64",  "BYTES"};
    const char *datatype = input->datatype.data;
    if (strcmp(datatype, "BYTES") == 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(datatype, known[i]) == 0)
            return sv_fail(error, SV_INVALID_VALUE, "inputs[0].datatype",
                           "The input '%s' has the datatype BYTES, not %s.", sv_input_name,
                           datatype);
    return sv_fail(error, SV_INVALID_VALUE, "inputs[0].datatype",
                   "\"%s\" is no datatype of this protocol; the input '%s' has BYTES.", datatype,
                   sv_input_name);
}

/* [n] or [n, 1], and n texts. */
static bool check_shape(const struct sv_tensor *input, struct sv_error *error)
{
    const struct sv_shape *shape = &input->shape;
    bool is_column = shape->count == 1 || (shape->count == 2 && shape->sizes[1] == 1);
    if (!is_column)
        return sv_fail(error, SV_INVALID_VALUE, "inputs[0].shape",
                       "The input '%s' has the shape [n] or [n, 1].", sv_input_name);
    if (input->data.columns > 1)
        return sv_fail(error, SV_INVALID_VALUE, "inputs[0].data",
                       "The data of '%s' is in rows of %zu, its shape is for rows of one.",
                       sv_input_name, input->data.columns);
    return shape->sizes[0] == input->data.count ||
           sv_fail(error, SV_INVALID_VALUE, "inputs[0].data",
                   "The shape of '%s' is for %lld texts, its data holds %d.", sv_input_name,
                   (long long)shape->sizes[0], input->data.count);
}

static bool check_input(struct sv_tensor *input, struct sv_error *error)
{
    input->data.is_array = true;
    if (strcmp(input->name.data, sv_input_name) != 0)
        return sv_fail(error, SV_INVALID_VALUE, "inputs[0].name",
                       "There is no input '%s'; classifiers here have one, '%s'.", input->name.data,
                       sv_input_name);
    return check_datatype(input, error) && check_shape(input, error);
}

static bool fail_name(const struct sv_output *output, const char *param, struct sv_error *error)
{
    char names[128] = "";
    for (int i = 0; i < SV_OUTPUTS; i++)
        sl_list_add(names, sizeof names, sv_output_rows[i].name);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' is '%s', and there is no such output; classifiers here have %s.", param,
                   output->name.data, names);
}

static bool check_output(struct sv_output *output, int index, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    int kind = 0;
    (void)snprintf(param, sizeof param, "outputs[%d].name", index);
    while (kind < SV_OUTPUTS && strcmp(output->name.data, sv_output_rows[kind].name) != 0)
        kind++;
    if (kind == SV_OUTPUTS)
        return fail_name(output, param, error);
    output->kind = (enum sv_output_kind)kind;
    return output->classification == 0 || sv_output_rows[kind].has_class_values ||
           sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' is '%s', which has no classes: leave out 'classification'.", param,
                   output->name.data);
}

/* Each is in the answer once: clients look for it by its name, and find the first. */
static bool check_once(const struct sv_output *outputs, int index, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    int first = 0;
    while (outputs[first].kind != outputs[index].kind)
        first++;
    if (first == index)
        return true;
    (void)snprintf(param, sizeof param, "outputs[%d].name", index);
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' is '%s', which outputs[%d] names already.",
                   param, outputs[index].name.data, first);
}

static bool check(void *to, struct sv_error *error)
{
    struct sv_infer_params *params = to;
    struct sv_output *outputs = params->outputs.items;
    for (int i = 0; i < params->outputs.count; i++)
        if (!check_output(&outputs[i], i, error) || !check_once(outputs, i, error))
            return false;
    return sv_tokenize_options_check(&params->tokenize, error) &&
           check_input(params->inputs.items, error);
}

struct sv_document *sv_infer_params_read(const struct sl_buffer *body,
                                         struct sv_infer_params *params, struct sv_error *error)
{
    *params = (struct sv_infer_params){.tokenize = {.in_parameters = true}};
    return sv_json_read(body, fields, check, params, error);
}
