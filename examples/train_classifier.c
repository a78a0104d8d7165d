/* train_classifier.c - trains a small classifier on labelled texts and writes it as a checkpoint.
 *
 *     cc train_classifier.c -o train_classifier $(pkg-config --cflags --libs sluice)
 *     ./train_classifier reviews.tsv runs/reviews models/reviews/1
 *
 * reviews.tsv begins with the line "label TAB text"; then one example per line. */
#include <sluice/sluice.h>

#include <stdio.h>

static void report(void *context, const struct sl_train_progress *p)
{
    (void)context;
    if (p->event == SL_TRAIN_EVALUATED)
        printf("step %d of %d: validation loss %.4f, accuracy %.1f %%\n", p->step, p->steps,
               p->validation_loss, 100.0 * p->validation_accuracy);
}

static bool train(struct sl_engine *engine, char **argv, struct sl_err *err)
{
    static const struct sl_setting settings[] = {
        {"width", "32"},          {"depth", "1"},      {"heads", "2"},
        {"epochs", "5"},          {"batch_size", "8"}, {"learning_rate", "0.002"},
        {"context_length", "64"},
    };
    const struct sl_trainer_options options = {
        .architecture = "encoder",
        .data = argv[1],
        .settings = settings,
        .settings_count = sizeof settings / sizeof settings[0],
        .run_dir = argv[2],
    };
    const struct sl_train_callbacks callbacks = {.report = report};
    struct sl_trainer *trainer = sl_trainer_open(engine, &options, err);
    bool ok = trainer && sl_trainer_run(trainer, &callbacks, err) &&
              sl_trainer_publish(trainer, argv[3], /* bf16= */ false, "{}", err);
    sl_trainer_destroy(trainer);
    return ok;
}

int main(int argc, char **argv)
{
    struct sl_err err = {0};
    struct sl_engine_options options = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: train_classifier DATA.tsv RUN-DIR MODEL-DIR/VERSION\n");
        return 2;
    }
    struct sl_dataset *set = sl_dataset_load(argv[1], NULL, &err);
    if (set)
        printf("%d examples, %d labels\n", sl_dataset_size(set), sl_dataset_label_count(set));
    struct sl_engine *engine = set ? sl_engine_create(&options, &err) : NULL;
    bool ok = engine && train(engine, argv, &err);
    if (!ok)
        fprintf(stderr, "train_classifier: %s\n", err.text);
    sl_engine_destroy(engine);
    sl_dataset_destroy(set);
    return ok ? 0 : 1;
}
