/* fuzz_gguf.c - any bytes, as a GGUF file. */
#include "pretrained/gguf_file.h"
#include "support/fuzz_target.h"

#include <stdlib.h>

static void read_tensor(const struct sl_weight *w)
{
    float *numbers = calloc(w->count + 1, sizeof *numbers);
    if (numbers)
        sl_numbers_read(w->type, w->data, w->count, numbers);
    free(numbers);
}

static size_t read_strings(const struct sl_gguf_array *array)
{
    size_t at = 0, bytes, total = 0;
    for (size_t i = 0; array->type == SL_GGUF_STRING && i < array->count; i++)
        if (sl_gguf_string_at(array, &at, &bytes))
            total += bytes;
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_gguf file;
    struct sl_err err;
    size_t total = 0;
    if (!sl_gguf_parse(&file, data, size, &err))
        return 0;
    for (size_t i = 0; i < file.weights.count; i++) {
        struct sl_weight *w = &file.weights.list[i];
        read_tensor(w);
        if (sl_weights_find(&file.weights, w->name) != w)
            abort();
    }
    for (size_t i = 0; i < file.array_count; i++)
        total += read_strings(&file.arrays[i]);
    if (total > size)
        abort();
    sl_gguf_close(&file);
    return 0;
}
