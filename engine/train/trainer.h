/* trainer.h - the inside of sluice/trainer.h: completes options, and what the commands read.
 *
 * A run keeps its latest complete state in <run_dir>/state. Windows, dropout and initial values are
 * functions of (seed, step), and no sum depends on which thread computed it. */
#pragma once

#include "sluice/trainer.h"
#include "train/dataloader.h"
#include "train/train_options.h"

/* The defaults of the architecture and of a training. */
void sl_train_options_init(struct sl_train_options *t, const struct sl_arch *arch);
/* The hyper-parameters of the checkpoint to start from instead of the architecture's defaults, as
 * far as both architectures have them. */
bool sl_train_options_init_from(struct sl_train_options *t, const char *directory,
                                struct sl_err *err) SL_MUST_CHECK;
/* Steps, epochs and fractions that were not given, by what there is to train on. */
void sl_train_options_complete(struct sl_train_options *t);

struct sl_trainer *sl_trainer_create(struct sl_engine *engine,
                                     const struct sl_train_options *training, struct sl_err *err)
    SL_MUST_CHECK;
const struct sl_model *sl_trainer_model(const struct sl_trainer *trainer);
/* The model that teaches; NULL: none. */
const struct sl_model *sl_trainer_teacher(const struct sl_trainer *trainer);
/* The options as given, with what follows from the sources filled in. */
const struct sl_train_options *sl_trainer_options(const struct sl_trainer *trainer);
/* Its data. */
const struct sl_dataloader *sl_trainer_dataloader(const struct sl_trainer *trainer);
