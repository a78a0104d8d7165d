/* dataset_summary.c - reports the labelled texts of a training run before it starts. */
#include "cli/training/dataset_summary.h"
#include "data/name_list.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

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
    return !is_labelled(m) || dataset_facts_open(facts, &m->train, &m->validation, m->tokens, err);
}

void dataset_summary_add(const struct sl_trainer *trainer, const struct dataset_facts *facts,
                         json_t *object)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    if (!is_labelled(m))
        return;
    dataset_facts_add(facts, object);
    (void)json_object_set_new(object, "vocabulary", json_integer(sl_tokenizer_size(m->tokens)));
}

void dataset_summary_print(const struct sl_trainer *trainer, const struct dataset_facts *facts)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    if (!is_labelled(m))
        return;
    printf("%d training texts, %d validation texts, vocab size %d\n", m->train.count,
           m->validation.count, sl_tokenizer_size(m->tokens));
    if (m->train.truncated > 0)
        printf("%d training texts are truncated to %d tokens; --context-length changes that\n",
               m->train.truncated, m->context);
    const struct sl_hyperparameters *hyperparameters =
        &sl_trainer_options(trainer)->hyperparameters;
    if (hyperparameters->epochs > 0 && hyperparameters->steps < STEPS_WARN_BELOW)
        printf("%d steps are few; use more --epochs or a smaller --batch-size\n",
               hyperparameters->steps);
    dataset_facts_print_labels(facts);
    dataset_facts_print_repeats(facts);
}

void dataset_summary_warn_skipped(const char *command, const char *path, struct sl_skipped skipped)
{
    long long records = (long long)skipped.records, line = (long long)skipped.line;
    if (records == 1)
        (void)fprintf(
            stderr,
            "sluice %s: warning: '%s': the record in line %lld has no label or no text; it "
            "is left out\n",
            command, path, line);
    else if (records > 1)
        (void)fprintf(
            stderr,
            "sluice %s: warning: '%s': %lld records have no label or no text, the first in "
            "line %lld; they are left out\n",
            command, path, records, line);
}

void dataset_summary_warn_rare(const struct sl_dataset *train, const struct sl_dataset *validation)
{
    int train_counts[SL_LABELS_MAX], validation_counts[SL_LABELS_MAX] = {0};
    int rare = 0, first_label = 0;
    char name[SL_NAME_SHORT];
    const struct sl_example *first = NULL;
    sl_dataset_count_labels(train, train_counts);
    if (validation)
        sl_dataset_count_labels(validation, validation_counts);
    for (int i = 0; i < train->count; i++) {
        const struct sl_label_list list = sl_label_list(&train->label_lists, i);
        for (int k = 0; k < list.count; k++) {
            const int32_t label = list.ids[k];
            if (train_counts[label] > 1 || validation_counts[label] > 0)
                continue;
            first_label = first ? first_label : label;
            first = first ? first : &train->examples[i];
            rare++;
        }
    }
    if (!first)
        return;
    (void)fprintf(stderr, "sluice train: warning: the label '%s' occurs only once, in line %lld",
                  sl_labels_shown(&train->labels, first_label, name), (long long)first->line);
    if (rare > 1)
        (void)fprintf(stderr, ", and so do %d others", rare - 1);
    (void)fprintf(stderr, ". %s To refuse other labels, list the valid ones with --labels FILE.\n",
                  2 * rare > train->labels.count
                      ? "Is --label the column of the texts?"
                      : "Is it a typing error? Or a header: then choose columns by name.");
}

void dataset_summary_warn(const struct sl_trainer *trainer, const struct dataset_facts *facts)
{
    const struct sl_dataloader *m = sl_trainer_dataloader(trainer);
    if (is_labelled(m)) {
        dataset_summary_warn_skipped("train", m->train.path, m->train.skipped);
        dataset_summary_warn_skipped("train", m->validation.path, m->validation.skipped);
        dataset_facts_warn_leaks(facts);
    }
    if (is_labelled(m) && !sl_trainer_options(trainer)->sources.labels) {
        dataset_summary_warn_rare(&m->train, &m->validation);
        dataset_facts_warn_twins(facts);
    }
}
