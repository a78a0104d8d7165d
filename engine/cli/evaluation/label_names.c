/* label_names.c - joins the names of a text's labels. */
#include "cli/evaluation/label_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *label_quoted(const char *label, char text[LABEL_QUOTED])
{
    const size_t bytes = strlen(label);
    if (bytes == 0 ||
        (!isspace((unsigned char)label[0]) && !isspace((unsigned char)label[bytes - 1])))
        return label;
    (void)snprintf(text, LABEL_QUOTED, "'%s'", label);
    return text;
}

void label_names_append(struct sl_buffer *out, const struct sl_labels *labels,
                        struct sl_label_list list)
{
    for (int i = 0; i < list.count; i++) {
        sl_buffer_append_string(out, i > 0 ? LABEL_SEPARATOR : "");
        sl_buffer_append_string(out, labels->list[list.ids[i]].name);
    }
}

const char *label_names_short(const struct sl_labels *labels, struct sl_label_list list,
                              char text[SL_NAME_SHORT])
{
    struct sl_buffer names = {0};
    label_names_append(&names, labels, list);
    (void)sl_name_shorten(names.data ? names.data : "", names.bytes, text);
    sl_buffer_release(&names);
    return text;
}
