/* rotary_table.c - cosines and sines of rotary positions: a function of position and feature. */
#include "layers/layers.h"

#include <math.h>

/* Rounded to fp32 at the same places as Hugging Face's models do, since far positions turn by many
 * times 2 pi: the inverse frequency, and its product with the position. */
static double wave(const struct sl_init *init, uint64_t key, int row, int col, int cols)
{
    const int half = cols / 2, at = col % half;
    const float power = powf(init->value, (float)(2 * at) / (float)cols);
    const float angle = (float)row * (1.0f / power);
    (void)key;
    return col < half ? cos((double)angle) : sin((double)angle);
}

struct sl_parameter *sl_rotary_table(struct sl_builder *b, const char *name,
                                     struct sl_rotary_shape shape)
{
    return sl_buffer_add(b, name,
                         (struct sl_buffer_shape){.kind = SL_BUFFER_FIXED,
                                                  .rows = shape.context_length,
                                                  .cols = shape.dims,
                                                  .init = {.element = wave, .value = shape.base}});
}
