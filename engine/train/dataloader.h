/* dataloader.h - training batches and validation data: windows of a text, labelled texts, or
 * corrupted pieces of a text. The contents of a batch depend on (seed, step) alone. */
#pragma once

#include "train/dataloader_kind.h"

/* What will be trained on these sources. */
enum sl_task sl_dataloader_task(const struct sl_data_sources *sources,
                                const struct sl_hyperparameters *hyperparameters);

/* Opens the sources. Sets task, vocab and classes of the config, and the steps of the
 * hyper-parameters if they count epochs. Both must outlive the dataloader. */
bool sl_dataloader_open(struct sl_dataloader *dataloader, const struct sl_data_sources *sources,
                        struct sl_config *config, struct sl_hyperparameters *hyperparameters,
                        struct sl_err *err) SL_MUST_CHECK;
void sl_dataloader_close(struct sl_dataloader *dataloader); /* a zeroed one is fine */

/* Examples first..last of a step's batch, at most micro_batch; valid until the next call. */
struct sl_batch sl_dataloader_batch(struct sl_dataloader *dataloader, int step, int first,
                                    int last);

/* Evaluates a model on the validation data. */
bool sl_dataloader_evaluate(const struct sl_dataloader *dataloader, const struct sl_model *model,
                            const struct sl_policy *policy, struct sl_evaluation *out,
                            struct sl_err *err) SL_MUST_CHECK;

/* A fingerprint of all training data, to recognise it when a run is resumed. */
int64_t sl_dataloader_fingerprint(const struct sl_dataloader *dataloader);

/* The names of the classes, in order; NULL for a text. free() the list, not the names. */
char **sl_dataloader_labels(const struct sl_dataloader *dataloader);
