/* report_words.h - texts in a report, with the words that moved a score marked. */
#pragma once

#include "base/buffer.h"
#include "model/model.h"
#include "sluice/tokenizer.h"

struct report_words;

/* Both must outlive it. */
struct report_words *report_words_open(const struct sl_model *model,
                                       const struct sl_tokenizer *tokens, struct sl_err *err)
    SL_MUST_CHECK;
void report_words_close(struct report_words *words); /* NULL is fine */

/* Appends the beginning of a text. Of its words, those that moved the label's score most are
 * marked. */
bool report_words_write(struct report_words *words, const char *text, size_t bytes, int label,
                        struct sl_buffer *out, struct sl_err *err) SL_MUST_CHECK;
