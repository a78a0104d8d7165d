/* bench_fine_tuning.c - fine-tunes an encoder on labelled texts, and predicts others.
 *
 *     bench_fine_tuning ENCODER TRAIN.tsv TEST.tsv EPOCHS BATCH RATE [DECAY]
 *
 * Texts are in the second column, labels in the first. Prints JSON: accuracy, loss and seconds. */
#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "infer/logits.h"
#include "tuning/fine_tuning.h"

#include <stdio.h>
#include <stdlib.h>

static void die(const struct sl_err *err)
{
    (void)fprintf(stderr, "bench_fine_tuning: %s\n", err->text);
    exit(1);
}

static void open_set(struct sl_dataset *set, const char *path, const struct sl_labels *labels,
                     const struct sl_checkpoint *from)
{
    struct sl_err err;
    const struct sl_record_options columns = {.label = "1", .text = "2"};
    const struct sl_dataset_encoding how = {.context = from->model_config.hyper.context_length,
                                            .unknown = SL_UNKNOWN_REPLACE};
    if (!sl_dataset_open(set, path, &columns, labels, &err) ||
        !sl_dataset_encode(set, from->tokens, &how, &err))
        die(&err);
}

static int32_t *all_rows(int count)
{
    int32_t *rows = calloc((size_t)count, sizeof *rows);
    for (int i = 0; rows && i < count; i++)
        rows[i] = i;
    return rows;
}

int main(int argc, char **argv)
{
    struct sl_err err;
    struct sl_checkpoint from;
    struct sl_dataset train, test;
    struct sl_fine_tuning f;
    if (argc < 7) {
        (void)fprintf(stderr, "usage: bench_fine_tuning ENCODER TRAIN TEST EPOCHS BATCH RATE\n");
        return 2;
    }
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){0}, &err);
    if (!engine || !sl_checkpoint_open(&from, argv[1], &err))
        die(&err);
    open_set(&train, argv[2], NULL, &from);
    open_set(&test, argv[3], &train.labels, &from);
    const struct sl_fine_tuning_options options = {
        .engine = engine, .encoder = argv[1], .set = &train};
    const struct sl_encoder_recipe recipe = {.epochs = (int)strtol(argv[4], NULL, 10),
                                             .batch_size = (int)strtol(argv[5], NULL, 10),
                                             .learning_rate = strtof(argv[6], NULL),
                                             .layer_decay =
                                                 argc > 7 ? strtof(argv[7], NULL) : 1.0f};
    int32_t *rows = all_rows(train.count > test.count ? train.count : test.count);
    const int classes = train.labels.count;
    float *logits = calloc((size_t)test.count * (size_t)classes, sizeof *logits);
    if (!sl_fine_tuning_open(&f, &options, &err))
        die(&err);
    const double begun = sl_now_seconds();
    sl_fine_tuning_begin(&f);
    if (!sl_fine_tuning_fit(&f, &recipe, rows, train.count, &err))
        die(&err);
    const double fitted = sl_now_seconds();
    f.tuner.set = &test;
    if (!sl_fine_tuning_predict(&f, rows, test.count, logits, &err))
        die(&err);
    int right = 0;
    double loss = 0.0;
    for (int i = 0; i < test.count; i++) {
        const float *z = logits + (size_t)i * (size_t)classes;
        const int label = sl_label_only(&test.label_lists, i);
        right += sl_argmax(z, classes) == label;
        loss += sl_log_sum_exp(z, classes) - (double)z[label];
    }
    printf("{\"accuracy\":%.4f,\"loss\":%.4f,\"seconds\":%.2f,\"predict_seconds\":%.2f}\n",
           (double)right / test.count, loss / test.count, fitted - begun,
           sl_now_seconds() - fitted);
    sl_fine_tuning_close(&f);
    sl_dataset_close(&train);
    sl_dataset_close(&test);
    sl_checkpoint_close(&from);
    sl_engine_destroy(engine);
    free(rows);
    free(logits);
    return 0;
}
