/* embedding_response.c - embeddings as JSON. */
#include "api/embedding_response.h"
#include "api/classification_result.h"
#include "params/binary_tensor.h"

#include <math.h>

bool sv_embeddings_check(const struct sv_classification *c, int64_t dimensions, const char *param,
                         struct sv_error *error)
{
    return dimensions <= c->outputs ||
           sv_fail(error, SV_INVALID_VALUE, param, "'%s' is %lld; the embeddings of '%s' have %d.",
                   param, (long long)dimensions, c->ref->id, c->outputs);
}

void sv_embedding_normalize(float *x, int count)
{
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += (double)x[i] * (double)x[i];
    for (int i = 0; i < count && squares > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* RFC 4648, section 4: three bytes are four digits of 6 bits; "=" stands for digits of bytes that
 * are missing. */
static void append_group(struct sl_buffer *out, const unsigned char *bytes, size_t count)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (count > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (count > 2)
        bits |= bytes[2];
    char text[] = {digits[bits >> 18], digits[bits >> 12 & 63], '=', '='};
    if (count > 1)
        text[2] = digits[bits >> 6 & 63];
    if (count > 2)
        text[3] = digits[bits & 63];
    sl_buffer_append(out, text, sizeof text);
}

static void write_base64(const float *x, int count, struct sl_json_writer *json)
{
    struct sl_buffer bytes = {0}, text = {0};
    for (int i = 0; i < count; i++)
        sv_binary_append_float(&bytes, x[i]);
    sl_buffer_append(&text, "\"", 1);
    for (size_t i = 0; i < bytes.bytes; i += 3)
        append_group(&text, (const unsigned char *)bytes.data + i,
                     bytes.bytes - i < 3 ? bytes.bytes - i : 3);
    sl_buffer_append(&text, "\"", 1);
    json->out->failed = json->out->failed || bytes.failed || text.failed;
    if (!json->out->failed)
        sl_json_add_raw(json, text.data, text.bytes);
    sl_buffer_release(&bytes);
    sl_buffer_release(&text);
}

void sv_embedding_add(struct sl_json_writer *json, const struct sv_classification *c, int index,
                      const struct sv_embedding_format *format)
{
    int count = format->count > 0 ? format->count : c->outputs;
    float *x = c->task.items[index].embedding;
    if (format->normalize)
        sv_embedding_normalize(x, count);
    if (format->encoding == SV_ENCODING_BASE64) {
        write_base64(x, count, json);
        return;
    }
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++)
        sl_json_add_float(json, x[i]);
    sl_json_end_array(json);
}

bool sv_embeddings_add_slice(struct sv_classification *c, sv_embedding_adder *add)
{
    for (int numbers = 0;
         c->written < c->texts && numbers < SV_EMBEDDED_SLICE && !c->json.out->failed;) {
        numbers += c->outputs * c->task.items[c->written].rows;
        add(&c->json, c, c->written++);
    }
    return c->written == c->texts || c->json.out->failed;
}

enum sv_progress sv_embeddings_respond(struct sv_request *request, struct sv_classification *c,
                                       sv_embedding_adder *add, bool nested)
{
    if (c->written == 0) {
        c->json.out = &request->response.body;
        if (nested)
            sl_json_begin_array(&c->json);
    }
    if (!sv_embeddings_add_slice(c, add))
        return SV_YIELDING;
    if (nested)
        sl_json_end_array(&c->json);
    return sv_classification_respond(request, c, "application/json");
}
