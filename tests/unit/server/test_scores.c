/* test_scores.c - what a classifier thinks of a text, ranked and written. */
#include "base/buffer.h"
#include "model/model.h"
#include "params/scores.h"
#include "sluice/classifier.h"
#include "support/test.h"

enum { CLASSES = 6 };

static const float logits[CLASSES] = {0.5f, 2, -1, 2, 0.5f, 2};

/* The most likely class is the same in every API. */
Test(scores, of_equals_the_lower_class_comes_first)
{
    static const int order[CLASSES] = {1, 3, 5, 0, 4, 2};
    struct sv_score ranked[CLASSES];
    sv_scores_rank(logits, CLASSES, ranked);
    for (int i = 0; i < CLASSES; i++) {
        cr_expect_eq(ranked[i].class, order[i], "place %d", i);
        cr_expect_eq(ranked[i].value, logits[order[i]], "place %d", i);
    }
}

static struct sl_model model(bool multi_label)
{
    struct sl_model m = {.config = {.classes = CLASSES, .multi_label = multi_label}};
    m.info = (struct sl_model_info){.classes = CLASSES, .multi_label = multi_label};
    return m;
}

/* Those of a model with several labels are independent. */
Test(scores, of_a_model_are_its_softmax_or_its_sigmoids)
{
    for (int several = 0; several < 2; several++) {
        const struct sl_model m = model(several);
        float scores[CLASSES], want[CLASSES], sum = 0.0f;
        sv_scores_from_logits(&m, logits, SV_MODEL_SCORES, scores);
        sv_scores_from_logits(&m, logits, several ? SV_SIGMOID : SV_SOFTMAX, want);
        for (int i = 0; i < CLASSES; i++) {
            cr_expect_eq(scores[i], want[i]);
            sum += scores[i];
        }
        cr_expect_float_eq(sum, several ? 4.1557f : 1.0f, 1e-3f, "%g", (double)sum);
    }
}

/* A score of one half suffices. */
Test(scores, choose_one_label_or_several)
{
    static const float scores[CLASSES] = {0.1f, 0.5f, 0.4999f, 0.9f, 0.2f, 0.3f},
                       low[CLASSES] = {0.1f, 0.2f, 0.4f, 0.3f, 0.2f, 0.3f};
    const struct sl_model one = model(false), several = model(true);
    int labels[CLASSES];
    cr_assert_eq(sl_model_predicted(&one, scores, labels), 1);
    cr_expect_eq(labels[0], 3);
    cr_assert_eq(sl_model_predicted(&several, scores, labels), 2);
    cr_expect(labels[0] == 1 && labels[1] == 3);
    cr_expect_eq(sl_model_predicted(&several, low, labels), 0);
}

Test(scores, logits_may_be_squashed_where_they_are)
{
    const struct sl_model m = model(true);
    for (int score_function = SV_MODEL_SCORES; score_function <= SV_RAW_LOGITS; score_function++) {
        float apart[CLASSES], same[CLASSES];
        memcpy(same, logits, sizeof same);
        sv_scores_from_logits(&m, logits, (enum sv_score_function)score_function, apart);
        sv_scores_from_logits(&m, same, (enum sv_score_function)score_function, same);
        for (int i = 0; i < CLASSES; i++)
            cr_expect_eq(apart[i], same[i], "squash %d", score_function);
    }
}

Test(scores, a_label_is_written_with_its_score)
{
    static const char *const labels[CLASSES] = {"a", "\"b\"", "c", "d", "e", "f"};
    struct sv_score ranked[CLASSES];
    struct sl_buffer out = {0};
    sv_scores_rank(logits, CLASSES, ranked);
    struct sl_json_writer json = {.out = &out};
    sl_json_begin_object(&json);
    sv_score_write(&ranked[0], labels, &json);
    sl_json_end_object(&json);
    cr_expect_str_eq(out.data, "{\"label\":\"\\\"b\\\"\",\"score\":2}");
    sl_buffer_release(&out);
}
