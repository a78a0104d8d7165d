/* report_material.c - see report_material.h. */
#include "tools/report_material.h"

#include <jansson.h>
#include <stdio.h>

/* Labels that a terminal is shown. */
enum { SHOWN_MAX = 20 };

/* A training of fewer steps has hardly begun. */
enum { STEPS_FEW = 300 };

static int texts_with(const struct sl_dataset *set, int label)
{
    int count = 0;
    for (int i = 0; i < set->count; i++)
        count += set->examples[i].label == label;
    return count;
}

static const struct sl_example *first_with(const struct sl_dataset *set, int label)
{
    for (int i = 0; i < set->count; i++)
        if (set->examples[i].label == label)
            return &set->examples[i];
    return NULL;
}

static bool is_labelled(const struct sl_material *m)
{
    return m->kind->task == SL_TASK_CLASSIFICATION;
}

char *report_material_json(const struct sl_trainer *trainer)
{
    const struct sl_material *m = sl_trainer_material(trainer);
    if (!is_labelled(m))
        return NULL;
    json_t *labels = json_object();
    for (int i = 0; i < m->train.labels.count; i++)
        (void)json_object_set_new(labels, m->train.labels.list[i].name,
                                  json_integer(texts_with(&m->train, i)));
    json_t *o = json_pack("{s:i, s:i, s:i, s:i, s:o}", "texts", m->train.count, "validation_texts",
                          m->validation.count, "texts_cut", m->train.truncated, "vocabulary",
                          sl_tokenizer_size(m->tokens), "labels", labels);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    return text;
}

void report_material_print(const struct sl_trainer *trainer)
{
    const struct sl_material *m = sl_trainer_material(trainer);
    if (!is_labelled(m))
        return;
    const struct sl_labels *labels = &m->train.labels;
    printf("%d texts to learn from, %d to validate on, a vocabulary of %d\n", m->train.count,
           m->validation.count, sl_tokenizer_size(m->tokens));
    if (m->train.truncated > 0)
        printf("%d of the texts are cut to %d tokens: --context\n", m->train.truncated, m->context);
    const struct sl_recipe *recipe = &sl_trainer_training(trainer)->recipe;
    if (recipe->epochs > 0 && recipe->steps < STEPS_FEW)
        printf("%d steps are few: more --epochs or a smaller --batch make more\n", recipe->steps);
    printf("labels:");
    for (int i = 0; i < labels->count && i < SHOWN_MAX; i++)
        printf("%s %s %d", i ? "," : "", labels->list[i].name, texts_with(&m->train, i));
    if (labels->count > SHOWN_MAX)
        printf(" and %d more", labels->count - SHOWN_MAX);
    printf("\n");
}

void report_material_warn(const struct sl_trainer *trainer)
{
    const struct sl_material *m = sl_trainer_material(trainer);
    if (!is_labelled(m) || sl_trainer_training(trainer)->sources.labels)
        return;
    int rare = 0;
    const struct sl_example *first = NULL;
    for (int i = 0; i < m->train.labels.count; i++) {
        const struct sl_example *only = first_with(&m->train, i);
        if (!only || texts_with(&m->train, i) > 1 || texts_with(&m->validation, i) > 0)
            continue;
        first = first ? first : only;
        rare++;
    }
    if (!first)
        return;
    (void)fprintf(stderr, "sluice train: the label '%s' is there once, in line %lld",
                  m->train.labels.list[first->label].name, (long long)first->line);
    if (rare > 1)
        (void)fprintf(stderr, ", and %d others likewise", rare - 1);
    (void)fprintf(stderr, ": a slip, or a line of names? --labels FILE lists those that count\n");
}
