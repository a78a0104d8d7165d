/* teacher.c - opens a teacher, checks that it can teach this student, and predicts batches. */
#include "train/teacher.h"

#include "data/labels.h"

#include <string.h>

static bool same_pieces(const struct sl_tokenizer *a, const struct sl_tokenizer *b)
{
    if (strcmp(sl_tokenizer_kind(a), sl_tokenizer_kind(b)) != 0 ||
        sl_tokenizer_size(a) != sl_tokenizer_size(b))
        return false;
    for (int32_t i = 0; i < sl_tokenizer_size(a); i++) {
        size_t bytes, others;
        const char *piece = sl_tokenizer_piece(a, i, &bytes);
        const char *other = sl_tokenizer_piece(b, i, &others);
        if (bytes != others || memcmp(piece, other, bytes) != 0)
            return false;
    }
    return true;
}

static bool check(const struct sl_model *teacher, const struct sl_student *student,
                  struct sl_err *err)
{
    const struct sl_config *own = &teacher->config, *its = &student->model->config;
    if (its->task == SL_TASK_PRETRAINING || own->task != its->task)
        return sl_fail(err, SL_BAD_INPUT, "it is for %s, and cannot teach a model for %s",
                       sl_task_name(own->task), sl_task_name(its->task));
    if (!same_pieces(teacher->tokenizer, student->tokens))
        return sl_fail(err, SL_BAD_INPUT,
                       "it has another vocabulary (%s, %d tokens) than this training (%s, %d); "
                       "train both on the same text or with the same --vocab-file",
                       sl_tokenizer_kind(teacher->tokenizer), own->vocab,
                       sl_tokenizer_kind(student->tokens), its->vocab);
    if (own->multi_label != its->multi_label)
        return sl_fail(err, SL_BAD_INPUT,
                       "its texts may have several labels, and those of this training have one");
    if (!sl_label_names_equal(teacher->labels, own->classes, student->labels, its->classes))
        return sl_fail(err, SL_BAD_INPUT, "it has other labels than this training");
    if (!sl_arch_reads_whole_texts(teacher->arch, own))
        return sl_fail(err, SL_BAD_INPUT,
                       "its blocks read less than whole texts (block_context): expected a model "
                       "that reads them whole");
    return own->context_length >= its->context_length ||
           sl_fail(err, SL_BAD_INPUT,
                   "its context_length is %d: expected at least that of this training, %d",
                   own->context_length, its->context_length);
}

bool sl_teacher_open(struct sl_teacher *t, const char *directory, const struct sl_student *student,
                     struct sl_err *err)
{
    *t = (struct sl_teacher){.model = sl_model_open(student->model->engine, directory, err)};
    if (!t->model)
        return false;
    t->policy = sl_policy_trained(t->model->arch, &t->model->config);
    struct sl_batch batch = student->largest;
    batch.targets = batch.labels = NULL;
    return (check(t->model, student, err) &&
            sl_model_open_tape(t->model, &t->policy, &batch, &t->tape, err)) ||
           sl_err_set_path(err, directory) || sl_wrap(err, "teacher '%s'", directory);
}

void sl_teacher_close(struct sl_teacher *t)
{
    sl_tape_release(&t->tape);
    sl_model_close(t->model);
    *t = (struct sl_teacher){0};
}

void sl_teacher_predict(struct sl_teacher *t, struct sl_batch *batch)
{
    if (!t->model)
        return;
    struct sl_batch own = *batch;
    own.targets = own.labels = NULL;
    sl_tape_begin(&t->tape, &own, false);
    t->distillation.teacher = sl_model_forward(t->model, &t->tape);
    batch->distillation = &t->distillation;
}
