/* dataset_summary.c - reports the labelled texts of a training run before it starts. */
#include "cli/training/dataset_summary.h"

#include <jansson.h>
#include <stdio.h>

/* Fewer steps hardly train a model. */
enum { STEPS_WARN_BELOW = 300 };

static bool is_labelled(const struct sl_dataloader *m)
{
    return m->kind->task == SL_TASK_CLASSIFICATION;
}

bool dataset_summary_open(struct dataset_facts *facts, const struct sl_trainer *trainer,
                          struct sl_err *err)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    *facts = (struct dataset_facts){0};
    return !is_labelled(m) ||
           dataset_facts_open(facts, &m->train, &m->validation,
                              sl_trainer_options(trainer)->sources.labels ? LABELS_LISTED
                                                                          : LABELS_FOUND,
                              m->tokens, err);
}

void dataset_summary_add(const struct sl_trainer *trainer, const struct dataset_facts *facts,
                         json_t *object)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    struct dataset_warnings warnings;
    if (!is_labelled(m))
        return;
    dataset_facts_add(facts, object);
    dataset_words_warn(facts, &warnings);
    dataset_warnings_add(&warnings, object);
    (void)json_object_set_new(object, "vocabulary", json_integer(sl_tokenizer_size(m->tokens)));
}

void dataset_summary_print(const struct dataset_facts *facts, int context)
{
    struct sl_buffer text = {0};
    dataset_words_describe(facts, context, &text);
    printf("%s", text.data ? text.data : "");
    sl_buffer_release(&text);
    dataset_words_print_labels(facts);
    dataset_words_print_conflicts(facts);
}

void dataset_summary_print_run(const struct sl_trainer *trainer, const struct dataset_facts *facts)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    if (!is_labelled(m))
        return;
    printf("%d training texts, %d validation texts, vocab size %d\n", m->train.count,
           m->validation.count, sl_tokenizer_size(m->tokens));
    const struct sl_hyperparameters *hyperparameters =
        &sl_trainer_options(trainer)->hyperparameters;
    if (hyperparameters->epochs > 0 && hyperparameters->steps < STEPS_WARN_BELOW)
        printf("%d steps are few; use more --epochs or a smaller --batch-size\n",
               hyperparameters->steps);
    dataset_summary_print(facts, m->context);
}

void dataset_summary_warn_skipped(const char *command, const char *path, struct sl_skipped skipped)
{
    struct dataset_warnings warnings = {0};
    char of[128];
    (void)snprintf(of, sizeof of, " of '%.100s'", path);
    dataset_warnings_skipped(&warnings, of, skipped);
    dataset_warnings_print(&warnings, command);
}

void dataset_summary_warn(const struct dataset_facts *facts)
{
    struct dataset_warnings warnings;
    if (!facts->set)
        return;
    dataset_words_warn(facts, &warnings);
    dataset_warnings_print(&warnings, "train");
}
