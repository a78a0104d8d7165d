/* embedding_response.c - embeddings as JSON. */
#include "api/embedding_response.h"
#include "params/binary_tensor.h"
#include "json/base64.h"

#include <math.h>

void sv_embedding_normalize(float *x, int count)
{
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += (double)x[i] * (double)x[i];
    for (int i = 0; i < count && squares > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
}

static void write_base64(const float *x, int count, struct sl_json_writer *json)
{
    struct sl_buffer bytes = {0}, text = {0};
    for (int i = 0; i < count; i++)
        sv_binary_append_float(&bytes, x[i]);
    sl_buffer_append(&text, "\"", 1);
    sv_base64_append(&text, bytes.data, bytes.bytes);
    sl_buffer_append(&text, "\"", 1);
    json->out->failed = json->out->failed || bytes.failed || text.failed;
    if (!json->out->failed)
        sl_json_add_raw(json, text.data, text.bytes);
    sl_buffer_release(&bytes);
    sl_buffer_release(&text);
}

void sv_embedding_write(const float *x, int count, enum sv_encoding_format encoding,
                        struct sl_json_writer *json)
{
    if (encoding == SV_ENCODING_BASE64) {
        write_base64(x, count, json);
        return;
    }
    sl_json_begin_array(json);
    for (int i = 0; i < count; i++)
        sl_json_add_float(json, x[i]);
    sl_json_end_array(json);
}
