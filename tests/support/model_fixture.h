/* model_fixture.h - small models and batches for tests that walk the table of architectures. */
#pragma once

#include "base/random.h"
#include "model/model.h"
#include "support/test.h"

enum { FIXTURE_VOCAB = 11, FIXTURE_CONTEXT = 24, FIXTURE_CLASSES = 3 };

/* An architecture, by its place in the table, one of its tasks, and which of its variants: sets of
 * hyper-parameters that run other code; 0: the usual ones. */
struct fixture_case {
    int arch, task, variant;
};

/* Moves to the first valid case at or after *c; false past the last. Visits all of them with
 * `for (struct fixture_case c = {0}; fixture_next(&c); c.variant++)`. */
bool fixture_next(struct fixture_case *c);
struct sl_config fixture_case_config(const struct fixture_case *f);
/* Its name, for messages: valid until the next call. */
const char *fixture_case_name(const struct fixture_case *f);

/* An engine at the level `isa`; NULL: the one in SLUICE_ISA, or the fastest. */
struct sl_engine *fixture_engine(const char *isa, int threads);

/* An engine of the standard level with int8 products. */
struct sl_engine *fixture_int8_engine(const char *isa, int threads);

/* An engine whose operands are fp32, so that finite differences can be measured:
 * fixture_engine(NULL) if it is one, else the fastest such level. */
struct sl_engine *fixture_exact_engine(int threads);

/* Brings every hyper-parameter of *c within the bounds of the architecture. */
void fixture_clamp(const struct sl_arch *arch, struct sl_config *c);

/* Sets a hyper-parameter by its name, which must be one of the architecture's. */
void fixture_set(const struct sl_arch *arch, struct sl_config *c, const char *name, double value);
/* The paper's own struct in a config, to be changed. */
void *fixture_own(struct sl_config *c);

/* Policies that walk every choice of an architecture; 0: as trained. */
enum { FIXTURE_POLICIES = 6 };
struct sl_policy fixture_policy(const struct sl_arch *arch, int index);

/* Sizes at which every code path runs and nothing is a multiple of a tile. */
struct sl_config fixture_config_for(const struct sl_arch *arch, enum sl_task task);

/* The same, for completion. */
struct sl_config fixture_config(const struct sl_arch *arch);

/* A model whose weights are far from their initial values, so that every parameter matters, routers
 * disagree among tokens, and tokens halt at different steps. Close it with sl_model_close. */
struct sl_model *fixture_model(struct sl_engine *engine, const struct sl_arch *arch,
                               const struct sl_config *config);

/* A batch and the memory it points to. */
struct fixture_batch {
    struct sl_batch batch;
    struct sl_sequence sequences[80];
    int32_t tokens[1024], types[1024], targets[1024], labels[80];
    /* For pretraining: a third of the rows is masked, and of the others some are replaced. */
    struct sl_corruption corruption;
    struct sl_rows masked;
    int32_t masked_rows[1024], replaced[1024];
};

/* Makes it a batch of this task: scales the loss as a trainer does, the mean over targets or over
 * labels; translations get sources. */
void fixture_set_task(struct fixture_batch *f, enum sl_task task);

/* Random tokens, targets and labels in sequences of these lengths; 0 ends the list. */
void fixture_batch_init(struct fixture_batch *f, const int *lengths, uint64_t seed);

/* A tape large enough for one pass over the batch, measured by a dry run. */
void fixture_tape_init(struct sl_tape *t, const struct sl_model *m, const struct sl_batch *batch,
                       bool training);

/* The training loss of a forward pass, with its auxiliary terms. */
double fixture_loss(const struct sl_model *m, struct sl_tape *t, const struct sl_batch *batch);
