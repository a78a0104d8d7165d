/* trainer_fixture.h - one training of a tiny model: followed, interrupted, resumed, and what it
 * leaves behind. */
#pragma once

#include "support/workspace.h"
#include "train/trainer.h"

/* A workspace with a corpus of 400 words, and output in "out". */
void trainer_fixture_setup(struct workspace *w);

/* Words in an order that depends on the seed: there is something to learn, and no end of it. */
void trainer_write_corpus(const char *path, int words, uint64_t seed);

/* 12 steps in a run directory, on the workspace's corpus. The sizes are multiples of nothing, and
 * each step's last micro-batch is smaller than the others. */
struct sl_train_options small_training(const struct workspace *w, const struct sl_arch *arch,
                                       const char *directory);

/* ---- following a run ------------------------------------------------------------------------ */

struct train_follower {
    int stop_at; /* a step; 0: never */
    void (*at_step)(struct train_follower *f, int step);
    void (*at_evaluation)(struct train_follower *f); /* which `last` describes */
    struct sl_trainer *trainer;
    struct sl_train_progress last;
    int steps, evaluations, saves; /* so far */
};

/* Runs a trainer to its end, or to f->stop_at. */
bool trainer_follow(struct sl_trainer *trainer, struct train_follower *f, struct sl_err *err);

/* Makes a trainer, or fails. */
struct sl_trainer *trainer_begin(struct sl_engine *engine, const struct sl_train_options *training);

/* Begins or resumes a run, until it ends or `step` is reached. One that ends is published to the
 * workspace's output. */
struct train_follower train_until(const struct workspace *w,
                                  const struct sl_train_options *training, int step, int threads);

/* ---- what a run left ------------------------------------------------------------------------ */

/* Digests of everything but dates: of the run's tensors and counters, and of the output. */
struct run_digests {
    char numbers[65], counters[65], model[65];
};

struct run_digests digests_of(const struct workspace *w, const char *directory);

void expect_same_digests(struct run_digests have, struct run_digests want, const char *what);

/* The digests of a training that nothing interrupts, in a run of its own. */
struct run_digests digests_without_events(const struct workspace *w,
                                          struct sl_train_options training, int threads);
