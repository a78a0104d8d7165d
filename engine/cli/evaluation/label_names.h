/* label_names.h - the labels of a text as one string: their names with a separator between. */
#pragma once

#include "base/buffer.h"
#include "data/dataset.h"
#include "data/name_list.h"
#include "sluice/model.h"

/* Between labels that are shown, and of models with several labels unless another one is given. */
#define LABEL_SEPARATOR "|"

enum { LABEL_QUOTED = SL_LABEL_BYTES_MAX + sizeof "''" };

/* A label as tables show it: in quotes if it begins or ends with white space, which is often a
 * mistake and could not be seen. Returns it or `text`. */
const char *label_quoted(const char *label, char text[LABEL_QUOTED]);

void label_names_append(struct sl_buffer *out, const struct sl_labels *labels,
                        struct sl_label_list list);
/* Shortened: a wrong --label column can make whole sentences labels. Returns `text`. */
const char *label_names_short(const struct sl_labels *labels, struct sl_label_list list,
                              char text[SL_NAME_SHORT]);
