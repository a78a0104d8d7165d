/* trainer_internal.h - what a trainer consists of, for the files that implement it. */
#pragma once

#include "sluice/trainer.h"
#include "train/dataloader.h"
#include "train/optimizer.h"
#include "train/run_dir.h"
#include "train/teacher.h"
#include "train/train_options.h"

struct sl_trainer {
    struct sl_engine *engine;
    struct sl_train_options training; /* its paths are the caller's until creation is over */
    struct sl_run_dir run;
    struct sl_dataloader dataloader;
    struct sl_model *model;
    struct sl_teacher teacher;
    struct sl_optimizer optimizer;
    struct sl_tape tape;
    struct sl_train_progress state;
    double gate_sum, gate_count;
    int64_t seen, correct; /* labelled texts since the last evaluation */
};

/* The state in the run directory: the run's settings must match it. */
bool sl_trainer_state_write(const struct sl_trainer *tr, struct sl_err *err) SL_MUST_CHECK;
bool sl_trainer_state_read(struct sl_trainer *tr, struct sl_err *err) SL_MUST_CHECK;
