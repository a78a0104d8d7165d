/* translation.h - translates texts by beam search, many at a time.
 *
 * Each step extends the `beam` most probable beginnings of every translation by a token. A finished
 * translation of n tokens counts log P / ((5 + n) / 6)^length_penalty (Wu et al. 2016, section 7);
 * a text is done when no beginning can become better than its best finished one. With a beam of 1,
 * the most probable token is taken at each step.
 *
 * The result of a text depends on the text, the options and the model alone, not on others.
 *
 * A translator belongs to one thread at a time; the model must outlive it. */
#pragma once

#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_translator;

enum { SL_BEAM_MAX = 16 };

#define SL_LENGTH_PENALTY_DEFAULT 0.6 /* of programs */

struct sl_translator_options {
    int texts;            /* at a time; 0: 16 */
    int beam;             /* 1 to SL_BEAM_MAX; 0: 4 */
    float length_penalty; /* 0 to 10 */
    int extra_tokens;     /* that a translation may have more than its text; 0: 50 */
};

SL_PUBLIC struct sl_translator *sl_translator_create(const struct sl_model *model,
                                                     const struct sl_translator_options *options,
                                                     struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_translator_destroy(struct sl_translator *translator); /* NULL is fine */

/* A text and its translation. */
struct sl_translated {
    const int32_t *source; /* ids, with the special tokens around them */
    int source_count;      /* 1 to the model's context */
    /* out */
    int32_t *ids; /* the best translation, without special tokens; until the next run */
    int count;
    double log_probability; /* of all its tokens, the last one included */
};

/* At most as many as `texts`. */
SL_PUBLIC bool sl_translator_run(struct sl_translator *translator, struct sl_translated *texts,
                                 int count, struct sl_err *err) SL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
