/* trainer.h - trains a model on a text or on labelled texts, in a run that can be stopped at any
 * moment and gone on with.
 *
 * A run keeps its latest complete state in the directory <run>/state. The same run ends with the
 * same bits however often it was interrupted and with any number of threads: windows, dropout and
 * first values are functions of (seed, step), and no sum depends on who computed it.
 *
 * One thread at a time; it uses the engine's pool while it runs. */
#pragma once

#include "train/dataloader.h"

struct sl_trainer;

struct sl_train_options {
    const struct sl_arch *arch;
    struct sl_config config; /* what follows from the sources is filled in */
    struct sl_hyperparameters hyperparameters;
    struct sl_data_sources sources;
    const char
        *from;       /* a checkpoint of the same architecture whose vocabulary and numbers are where
                       * to begin, as far as they go; NULL: first values are drawn */
    const char *run; /* directory of the run, as sl_run_dir_open takes it */
    bool resume;     /* go on from the run's state, which must be of the same training */
};

enum sl_train_event { SL_TRAIN_STEPPED, SL_TRAIN_EVALUATED, SL_TRAIN_SAVED };

/* Where the run is; reported after every step, evaluation and save. */
struct sl_train_progress {
    enum sl_train_event event;
    int step, steps;
    int64_t tokens;   /* of the last step's batch */
    double loss;      /* of the last step's batch, without the price; nats per token or text */
    double gate_mean; /* of the last step's batch; NAN without gates */
    double learning_rate, grad_norm; /* learning rate; norm of the gradients before clipping */
    double tokens_per_second;
    double seconds, seconds_left;            /* seconds: since this process began */
    double validation_loss, validation_gate; /* NAN before the first evaluation */
    double validation_accuracy;              /* likewise, and NAN for a text */
    double train_accuracy;         /* of the texts learned from since the measurement before */
    double validation_depth;       /* blocks, or steps until tokens halt, */
    double validation_depth_first; /* and first tokens; NAN where nothing halts */
    double best_loss;              /* of validation; for labelled texts the best one is */
    double best_accuracy;          /* that of best accuracy, of several the one of least loss */
    int best_step;
};

struct sl_train_callbacks {
    void *context;
    void (*report)(void *context, const struct sl_train_progress *state);
    bool (*stop)(void *context); /* asked after every step */
};

struct sl_trainer *sl_trainer_create(struct sl_engine *engine,
                                     const struct sl_train_options *training, struct sl_err *err)
    SL_MUST_CHECK;
void sl_trainer_destroy(struct sl_trainer *trainer); /* NULL is fine */

/* Trains until the last step, an error, or until `stop` says true; then the state is saved. A
 * loss that is not finite, learning or measuring, fails with SL_NOT_FINITE; the last saved state
 * stays as it was. */
bool sl_trainer_run(struct sl_trainer *trainer, const struct sl_train_callbacks *watch,
                    struct sl_err *err) SL_MUST_CHECK;
bool sl_trainer_finished(const struct sl_trainer *trainer);
const struct sl_train_progress *sl_trainer_progress(const struct sl_trainer *trainer);

/* One step without saving or evaluating: for benchmarks and tests. */
bool sl_trainer_step(struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;

const struct sl_model *sl_trainer_model(const struct sl_trainer *trainer);
/* What it was asked for, with what follows from the sources filled in. */
const struct sl_train_options *sl_trainer_options(const struct sl_trainer *trainer);
/* What it learns from. */
const struct sl_dataloader *sl_trainer_dataloader(const struct sl_trainer *trainer);

/* Writes the present model as a checkpoint. `provenance` is a JSON object. */
bool sl_trainer_publish(const struct sl_trainer *trainer, const char *directory, bool bf16,
                        const char *provenance, struct sl_err *err) SL_MUST_CHECK;
