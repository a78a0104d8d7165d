/* translation_quality.c - translates a data set, many texts at a time, and compares. */
#include "cli/evaluation/translation_quality.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "cli/evaluation/translation_scores.h"
#include "model/model.h"
#include "tokenizer/detokenizer.h"

enum { TEXTS = 32 }; /* at a time */

struct comparison {
    const struct sl_model *model;
    const struct sl_dataset *source, *target;
    struct translation_scores scores;
    int64_t tokens;
};

static bool compare(struct comparison *c, int number, const struct sl_translated *text,
                    struct sl_err *err)
{
    struct sl_buffer translation = {0};
    struct scored_text reference;
    reference.text = sl_dataset_text(c->target, number, &reference.bytes);
    sl_detokenize(&translation, c->model->tokenizer, text->ids, text->count);
    c->tokens += text->count;
    const bool ok =
        sl_buffer_check(&translation, err) &&
        translation_scores_add(
            &c->scores,
            (struct scored_text){translation.data ? translation.data : "", translation.bytes},
            reference, err);
    sl_buffer_release(&translation);
    return ok;
}

static bool translate_some(struct comparison *c, struct sl_translator *translator, int first,
                           struct sl_err *err)
{
    struct sl_translated texts[TEXTS] = {0};
    int count = 0;
    for (int i = first; i < c->source->count && count < TEXTS; i++, count++)
        texts[count].source = sl_dataset_ids(c->source, i, &texts[count].source_count);
    bool ok = sl_translator_run(translator, texts, count, err);
    for (int i = 0; i < count && ok; i++)
        ok = compare(c, first + i, &texts[i], err);
    return ok;
}

bool translation_quality_measure(const struct sl_model *model, const struct sl_dataset *source,
                                 const struct sl_dataset *target,
                                 struct sl_translator_options options,
                                 struct translation_quality *out, struct sl_err *err)
{
    const double begun = sl_now_seconds();
    struct comparison c = {.model = model, .source = source, .target = target};
    options.texts = TEXTS;
    struct sl_translator *translator = sl_translator_create(model, &options, err);
    bool ok = translator;
    for (int i = 0; i < source->count && ok; i += TEXTS)
        ok = translate_some(&c, translator, i, err);
    sl_translator_destroy(translator);
    *out = (struct translation_quality){.bleu = translation_scores_bleu(&c.scores),
                                        .chrf = translation_scores_chrf(&c.scores),
                                        .seconds = sl_now_seconds() - begun,
                                        .tokens = c.tokens};
    return ok;
}
