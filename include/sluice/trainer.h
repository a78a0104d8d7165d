/* trainer.h - trains a text generator on plain text, or a classifier on labelled texts.
 *
 *     const struct sl_setting settings[] = {{"width", "64"}, {"epochs", "30"}};
 *     const struct sl_trainer_options options = {.architecture = "encoder",
 *                                                .data = "reviews.tsv",
 *                                                .settings = settings,
 *                                                .settings_count = 2,
 *                                                .run_dir = "runs/reviews"};
 *     struct sl_trainer *trainer = sl_trainer_open(engine, &options, &err);
 *     if (trainer && sl_trainer_run(trainer, NULL, &err))
 *         sl_trainer_publish(trainer, "models/reviews/1", false, "{}", &err);
 *     sl_trainer_destroy(trainer);
 *
 * The run directory keeps the latest complete state, so that a training can be interrupted and
 * resumed. The weights are bit-identical however often it was interrupted, and for any number of
 * threads.
 *
 * A trainer belongs to one thread at a time. While it runs, it uses the engine's thread pool. */
#pragma once

#include "sluice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_trainer;

/* A hyper-parameter by its name in `sluice train ARCHITECTURE --help`, with _ or - between words:
 * "learning_rate", "epochs", "width". */
struct sl_setting {
    const char *name, *value;
};

/* Checks a setting of an architecture before a training is opened. Besides hyper-parameters it
 * accepts the options of `sluice train` that say how texts are read: label, label_separator, text,
 * format, tokenizer, vocab_size and cased (true or false). The error names the setting, and
 * sl_err_spell_field can name it otherwise. */
SL_PUBLIC bool sl_setting_check(const char *architecture, const struct sl_setting *setting,
                                struct sl_err *err) SL_MUST_CHECK;
/* The default of a numeric hyper-parameter; NAN if there is none of this name. */
SL_PUBLIC double sl_setting_default(const char *architecture, const char *name);
/* The architectures that can be trained for a task, from index 0; NULL past the last. */
SL_PUBLIC const char *sl_architecture_name(int index, enum sl_task task);
/* Whether there is such an architecture, and what it can be trained for. */
SL_PUBLIC bool sl_architecture_check(const char *architecture, enum sl_task task,
                                     struct sl_err *err) SL_MUST_CHECK;

/* Strings need to live until sl_trainer_open returns. Exactly one of corpus and data is set. */
struct sl_trainer_options {
    const char *architecture; /* "tsa", "encoder", ... */
    const char *corpus;       /* path of a UTF-8 text to train on */
    const char *data;         /* path of labelled texts to train on: see dataset.h */
    const char *validation;   /* labelled texts to measure on; NULL: a fraction of `data` */
    /* As in struct sl_dataset_options, for `data` and `validation`. */
    const char *format, *label, *text, *labels;
    const char *tokenizer;  /* kind; NULL: "characters" for a text, "words" for labelled texts */
    const char *vocab_file; /* one piece per line; NULL: trained on the data */
    int vocab_size;         /* of a trained vocabulary; 0: 30000 */
    bool cased;             /* keep case and accents */
    const struct sl_setting *settings;
    int settings_count;
    const char *init_from; /* checkpoint to start from, see docs/training.md; NULL: random */
    const char *teacher;   /* checkpoint to learn from, too: see distillation_weight; NULL: none */
    const char *run_dir;   /* created if missing; must be new, empty, or hold the run to resume */
    bool resume;           /* the run must have been started with the same options and data */
};

/* Reads the data, builds the model and writes the first state to the run directory. The engine must
 * outlive the trainer. */
SL_PUBLIC struct sl_trainer *sl_trainer_open(struct sl_engine *engine,
                                             const struct sl_trainer_options *options,
                                             struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC void sl_trainer_destroy(struct sl_trainer *trainer); /* NULL is fine */

enum sl_train_event { SL_TRAIN_STEPPED, SL_TRAIN_EVALUATED, SL_TRAIN_SAVED };

/* Progress of a training. Losses are in nats per token of a text, or per labelled text. */
struct sl_train_progress {
    enum sl_train_event event;
    int step, steps;
    int64_t tokens;       /* in the last step's batch; */
    int64_t all_tokens;   /* in those of all steps, of earlier processes, too */
    double loss;          /* of the last step's batch, without auxiliary losses */
    double gate_mean;     /* of the last step's batch; NAN without gates */
    double learning_rate; /* of the last step */
    double grad_norm;     /* of the last step, before clipping */
    double tokens_per_second;
    double seconds;                  /* since this process started training */
    double seconds_left;             /* estimate */
    double validation_loss;          /* NAN before the first evaluation, like all of validation */
    double validation_gate;          /* mean gate; NAN without gates */
    double validation_accuracy;      /* fraction of texts; NAN for a plain text */
    double train_accuracy;           /* of the texts trained on since the last evaluation */
    double validation_depth;         /* blocks that ran, or steps until tokens halted */
    double validation_depth_first;   /* the same of first tokens; NAN where nothing halts */
    double best_loss, best_accuracy; /* of the best evaluation: by accuracy, then by loss */
    int best_step;
};

/* Called from the thread that runs the trainer. Each may be NULL. */
struct sl_train_callbacks {
    void *context;
    /* After every step, evaluation and save. `progress` is valid during the call. */
    void (*report)(void *context, const struct sl_train_progress *progress);
    bool (*stop)(void *context); /* after every step; true: save the state and return */
};

/* Trains to the last step, evaluating and saving as the hyper-parameters say, or until `stop` says
 * true: then the state is saved. callbacks may be NULL. A loss of NaN or infinity fails with
 * SL_NOT_FINITE; the state saved last stays as it was. */
SL_PUBLIC bool sl_trainer_run(struct sl_trainer *trainer,
                              const struct sl_train_callbacks *callbacks, struct sl_err *err)
    SL_MUST_CHECK;

/* The steps of sl_trainer_run, one by one: an optimizer step; an evaluation on the validation
 * data, whose results are in sl_trainer_progress; saving the state to the run directory. */
SL_PUBLIC bool sl_trainer_step(struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC bool sl_trainer_evaluate(struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC bool sl_trainer_save(struct sl_trainer *trainer, struct sl_err *err) SL_MUST_CHECK;
SL_PUBLIC bool sl_trainer_finished(const struct sl_trainer *trainer);
SL_PUBLIC const struct sl_train_progress *sl_trainer_progress(const struct sl_trainer *trainer);

/* Writes the current model as a checkpoint, <store>/<model>/<version>: all or nothing. bf16: store
 * matrices in bf16, half the size. provenance: a JSON object kept in config.json as "training". */
SL_PUBLIC bool sl_trainer_publish(const struct sl_trainer *trainer, const char *directory,
                                  bool bf16, const char *provenance, struct sl_err *err)
    SL_MUST_CHECK;

#ifdef __cplusplus
}
#endif
