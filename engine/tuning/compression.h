/* compression.h - a smaller encoder that begins as a part of a larger one: some of its layers, and
 * the vectors of some of its pieces. It then learns from the whole (text_distillation.h), and is
 * stored in 8 bits. (DistilBERT, Sanh et al. 2019, section 3.) */
#pragma once

#include "checkpoint/checkpoint.h"
#include "tuning/smaller_vocabulary.h"
#include "tuning/text_distillation.h"

/* from: the checkpoint of a `transformer` that gives embeddings. vocabulary: NULL, its own. depth:
 * layers, as far apart as possible. With gradients; NULL on failure. */
struct sl_model *sl_compression_student(struct sl_engine *engine, const struct sl_checkpoint *from,
                                        const struct sl_smaller_vocabulary *vocabulary, int depth,
                                        struct sl_err *err) SL_MUST_CHECK;

/* What is said of the student in its config.json. */
struct sl_compression_notes {
    const struct sl_tokenizer *tokens; /* its own */
    const char *training;              /* a JSON object */
    struct sl_precision_cost costs[SL_PRECISION_COUNT];
};

/* Writes the student as a checkpoint. from: its teacher's. */
bool sl_compression_publish(const struct sl_model *student, const struct sl_checkpoint *from,
                            const char *directory, const struct sl_compression_notes *notes,
                            struct sl_err *err) SL_MUST_CHECK;
