/* encoder_texts.c - the texts of a search in an encoder's tokens. */
#include "tuning/encoder_texts.h"

#include "checkpoint/checkpoint.h"
#include "infer/cascade_run.h"
#include "linear/linear_base.h"

#include <stdlib.h>
#include <string.h>

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

static bool read_texts(struct sl_encoder_trials *e, const struct sl_encoder_trials_options *o,
                       struct sl_err *err)
{
    const struct sl_dataset_encoding how = {
        .context = e->context, .truncation = o->sources->truncation, .unknown = SL_UNKNOWN_REPLACE};
    if (!sl_dataset_open(&e->whole, o->sources->data, &o->sources->columns, &o->set->labels, err))
        return false;
    if (e->whole.count != o->set->count)
        return sl_fail(err, SL_BAD_INPUT, "'%s' changed while it was read", o->sources->data);
    return sl_dataset_encode(&e->whole, e->tokens, &how, err);
}

/* The side of long texts that is asked for, or both. */
static float beginning_of(enum sl_truncation truncation)
{
    static const float standard = 0.33f;
    if (truncation == SL_TRUNCATE_DEFAULT)
        return standard;
    return truncation == SL_TRUNCATE_RIGHT ? 1.0f : 0.0f;
}

/* To what the encoder reads: a copy, but of labels. */
static bool shorten_texts(struct sl_encoder_trials *e, struct sl_err *err)
{
    const size_t texts = (size_t)e->whole.count;
    e->set = e->whole;
    e->set.examples = malloc(texts * sizeof *e->set.examples);
    e->set.ids = malloc(e->whole.ids_count * sizeof *e->set.ids);
    e->set.ids_count = 0;
    if (!e->set.examples || !e->set.ids)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the tokens of %zu texts", texts);
    memcpy(e->set.examples, e->whole.examples, texts * sizeof *e->set.examples);
    memcpy(e->set.ids, e->whole.ids, e->whole.ids_count * sizeof *e->set.ids);
    for (int i = 0; i < e->set.count; i++) {
        struct sl_example *example = &e->set.examples[i];
        const int before = example->tokens;
        example->tokens = sl_cascade_shorten(&e->reads, e->set.ids + example->ids, before);
        e->is_long = e->is_long || example->tokens < before;
        e->set.ids_count += (size_t)example->tokens;
    }
    return true;
}

bool sl_encoder_texts_open(struct sl_encoder_trials *e, const struct sl_encoder_trials_options *o,
                           struct sl_err *err)
{
    e->reads.beginning = beginning_of(o->sources->truncation);
    if (!open_tokens(e, o->encoder, &e->reads.context, err))
        return false;
    sl_tokenizer_set_truncation(e->tokens, o->sources->truncation);
    e->bag = sl_linear_base_create(e->fits.own_engine, e->tokens, 0, 0, err);
    if (!e->bag)
        return false;
    e->context = e->bag->config.context_length > e->reads.context ? e->bag->config.context_length
                                                                  : e->reads.context;
    return read_texts(e, o, err) && shorten_texts(e, err);
}

void sl_encoder_texts_close(struct sl_encoder_trials *e)
{
    free(e->set.examples);
    free(e->set.ids);
    sl_dataset_close(&e->whole);
    sl_tokenizer_destroy(e->tokens);
    sl_model_close(e->bag);
}
