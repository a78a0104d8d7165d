/* label_names.h - the labels of a text as one string: their names with a separator between. */
#pragma once

#include "base/buffer.h"
#include "data/dataset.h"
#include "data/name_list.h"

/* Between labels that are shown, and of models with several labels unless another one is given. */
#define LABEL_SEPARATOR "|"

void label_names_append(struct sl_buffer *out, const struct sl_labels *labels,
                        struct sl_label_list list);
/* Shortened: a wrong --label column can make whole sentences labels. Returns `text`. */
const char *label_names_short(const struct sl_labels *labels, struct sl_label_list list,
                              char text[SL_NAME_SHORT]);
