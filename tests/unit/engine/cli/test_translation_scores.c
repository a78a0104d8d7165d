/* test_translation_scores.c - BLEU and chrF2 of texts whose scores sacreBLEU gave:
 * tests/golden/record_translation_scores.py. */
#include "cli/evaluation/translation_scores.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>

static struct scored_text text_of(const json_t *texts, size_t i)
{
    const json_t *text = json_array_get(texts, i);
    return (struct scored_text){json_string_value(text), json_string_length(text)};
}

static void check_corpus(const json_t *corpus, size_t number)
{
    const json_t *translations = json_object_get(corpus, "translations");
    const json_t *references = json_object_get(corpus, "references");
    struct translation_scores scores = {0};
    struct sl_err err;
    for (size_t i = 0; i < json_array_size(references); i++)
        EXPECT_OK(
            translation_scores_add(&scores, text_of(translations, i), text_of(references, i), &err),
            err);
    const double bleu = json_number_value(json_object_get(corpus, "bleu"));
    const double chrf = json_number_value(json_object_get(corpus, "chrf"));
    cr_expect_float_eq(translation_scores_bleu(&scores), bleu, 1e-9,
                       "corpus %zu: BLEU %.12f, not %.12f", number,
                       translation_scores_bleu(&scores), bleu);
    cr_expect_float_eq(translation_scores_chrf(&scores), chrf, 1e-9,
                       "corpus %zu: chrF %.12f, not %.12f", number,
                       translation_scores_chrf(&scores), chrf);
}

Test(translation_scores, are_those_of_sacrebleu)
{
    json_error_t error;
    json_t *corpora =
        json_load_file(SL_SOURCE_DIR "/tests/golden/translation_scores.json", 0, &error);
    cr_assert(json_array_size(corpora) > 10, "%s", error.text);
    for (size_t i = 0; i < json_array_size(corpora); i++)
        check_corpus(json_array_get(corpora, i), i);
    json_decref(corpora);
}

Test(translation_scores, without_texts_are_zero)
{
    const struct translation_scores scores = {0};
    cr_expect_float_eq(translation_scores_bleu(&scores), 0.0, 0.0);
    cr_expect_float_eq(translation_scores_chrf(&scores), 0.0, 0.0);
}
