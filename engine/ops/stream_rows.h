/* stream_rows.h - what ops that update some rows of a stream share: input 0 is the stream before,
 * the output the stream after. */
#pragma once

#include "autograd/tape.h"

/* Forward: the output begins as a copy of the input, unless it is the input itself. */
void sl_stream_copy(const struct sl_node *n);
/* Backward: the input's gradient gets the output's, unless it has taken it over (sl_op.passes). */
void sl_stream_pass_gradient(const struct sl_node *n);
