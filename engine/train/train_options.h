/* train_options.h - what a training is asked to do. */
#pragma once

#include "data/data_sources.h"
#include "model/model.h"
#include "train/hyperparameters.h"

enum { SL_EPOCHS_DEFAULT = 10 }; /* of labelled texts: models overfit with many more */

struct sl_train_options {
    const struct sl_arch *arch;
    struct sl_config config; /* what follows from the sources is filled in */
    struct sl_hyperparameters hyperparameters;
    struct sl_data_sources sources;
    /* A checkpoint whose vocabulary is used and whose parameters are the initial values of those
     * with the same name, of which there must be one; NULL: initialized at random. */
    const char *init_from;
    const char *teacher; /* a checkpoint to learn from, of any architecture; NULL: none */
    const char *vectors; /* word vectors, the initial token embeddings; NULL: random ones */
    const char *run_dir; /* as sl_run_dir_open takes it */
    bool resume;         /* continue from the run's state, which must be of the same training */
};
