/* fuzz_safetensors.c - any bytes, as a safetensors file. */
#include "formats/safetensors.h"
#include "support/fuzz_target.h"

#include <stdlib.h>

static void numbers_read(const struct sl_safetensor *tensor)
{
    float *numbers = calloc(tensor->count + 1, sizeof *numbers);
    if (numbers)
        sl_safetensor_read(tensor, numbers);
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_safetensors file;
    struct sl_err err;
    if (!sl_safetensors_parse(&file, data, size, &err))
        return 0;
    for (int i = 0; i < file.count; i++) {
        char shape[SL_SHAPE_TEXT];
        sl_safetensor_shape(&file.tensors[i], shape);
        if (file.tensors[i].dtype < SL_DTYPES_READ)
            numbers_read(&file.tensors[i]);
        if (sl_safetensors_find(&file, file.tensors[i].name) != &file.tensors[i])
            abort();
    }
    (void)sl_safetensors_metadata(&file, "format");
    sl_safetensors_close(&file);
    return 0;
}
