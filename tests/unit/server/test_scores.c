/* test_scores.c - what a classifier thinks of a text, ranked and written. */
#include "base/buffer.h"
#include "support/test.h"
#include "json/scores.h"

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

Test(scores, logits_may_be_squashed_where_they_are)
{
    for (int score_function = SV_SOFTMAX; score_function <= SV_RAW_LOGITS; score_function++) {
        float apart[CLASSES], same[CLASSES];
        memcpy(same, logits, sizeof same);
        sv_scores_from_logits(logits, CLASSES, (enum sv_score_function)score_function, apart);
        sv_scores_from_logits(same, CLASSES, (enum sv_score_function)score_function, same);
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
