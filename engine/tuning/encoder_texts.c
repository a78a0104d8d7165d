/* encoder_texts.c - the texts of a search in an encoder's tokens. */
#include "tuning/encoder_texts.h"

#include "checkpoint/checkpoint.h"
#include "infer/cascade_run.h"
#include "linear/linear_base.h"

bool sl_encoder_trials_can_use(const char *directory)
{
    struct sl_checkpoint from;
    if (!sl_checkpoint_open(&from, directory, NULL))
        return false;
    const struct sl_arch *arch = from.model_config.arch;
    /* What extends another has parameters that a cascade has not. */
    const bool can = arch->describes_blocks && !arch->extends &&
                     from.model_config.hyper.task == SL_TASK_PRETRAINING;
    sl_checkpoint_close(&from);
    return can;
}

/* Takes over the tokenizer of the checkpoint. */
static bool open_tokens(struct sl_encoder_trials *e, const char *directory, int *context,
                        struct sl_err *err)
{
    struct sl_checkpoint from;
    if (!sl_checkpoint_open(&from, directory, err))
        return false;
    *context = from.model_config.hyper.context_length;
    e->tokens = from.tokens;
    from.tokens = NULL;
    sl_checkpoint_close(&from);
    return true;
}

bool sl_encoder_texts_read(const struct sl_encoder_trials *e,
                           const struct sl_encoder_trials_options *o, struct sl_dataset *set,
                           struct sl_err *err)
{
    const struct sl_dataset_encoding how = {
        .context = e->context, .truncation = o->sources->truncation, .unknown = SL_UNKNOWN_REPLACE};
    if (!sl_dataset_open(set, o->sources->data, &o->sources->columns, &o->set->labels, err))
        return false;
    if (set->count != o->set->count)
        return sl_fail(err, SL_BAD_INPUT, "'%s' changed while it was read", o->sources->data);
    return sl_dataset_encode(set, e->tokens, &how, err);
}

/* The side of long texts that is asked for, or both. */
static float beginning_of(enum sl_truncation truncation)
{
    static const float standard = 0.33f;
    if (truncation == SL_TRUNCATE_DEFAULT)
        return standard;
    return truncation == SL_TRUNCATE_RIGHT ? 1.0f : 0.0f;
}

/* To what the encoder reads. */
static void shorten_texts(struct sl_encoder_trials *e)
{
    e->set.ids_count = 0;
    for (int i = 0; i < e->set.count; i++) {
        struct sl_example *example = &e->set.examples[i];
        const int before = example->tokens;
        example->tokens = sl_cascade_shorten(&e->reads, e->set.ids + example->ids, before);
        e->is_long = e->is_long || example->tokens < before;
        e->set.ids_count += (size_t)example->tokens;
    }
}

bool sl_encoder_texts_open(struct sl_encoder_trials *e, const struct sl_encoder_trials_options *o,
                           struct sl_err *err)
{
    e->reads.beginning = beginning_of(o->sources->truncation);
    if (!open_tokens(e, o->encoder, &e->reads.context, err))
        return false;
    sl_tokenizer_set_truncation(e->tokens, o->sources->truncation);
    e->bag = sl_linear_base_create(e->own_engine, e->tokens, 0, 0, err);
    if (!e->bag)
        return false;
    e->context = e->bag->config.context_length > e->reads.context ? e->bag->config.context_length
                                                                  : e->reads.context;
    if (!sl_encoder_texts_read(e, o, &e->set, err))
        return false;
    shorten_texts(e);
    return true;
}
