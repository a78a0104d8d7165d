/* top_screen.h - two snapshots as lines for a terminal, or as a line of JSON. */
#pragma once

#include "base/buffer.h"
#include "top/top_snapshot.h"

/* The size of a terminal; at least one row and one column. */
struct top_size {
    int columns, rows;
};

/* What happened between two snapshots. No line is wider than the terminal and there are at most as
 * many as it has rows: columns that do not fit are left out, then models. */
void top_screen_write(struct sl_buffer *out, const struct top_snapshot *earlier,
                      const struct top_snapshot *later, const struct top_size *size);
/* The same as an object on one line; values that are not known are null. */
void top_json_write(struct sl_buffer *out, const struct top_snapshot *earlier,
                    const struct top_snapshot *later);
