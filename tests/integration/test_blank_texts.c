/* test_blank_texts.c - texts without tokens among others. */
#include "support/daemon.h"
#include "support/json_query.h"
#include "support/tei_client.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, (const char *const[]){NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(blank_texts, .init = start, .fini = stop);

/* A text without tokens fails the request, unless it is to have no result. */
Test(blank_texts, may_have_no_result)
{
    static const char *const paths[] = {"/models/mood/predict", "/models/plain/predict"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        json_t *whole = tei_post(&d, paths[i], "{\"inputs\":[[\"good\"],[\"bad\"]]}");
        json_t *root = tei_post(&d, paths[i],
                                "{\"inputs\":[[\"good\"],[\"\"],[\"bad\"]],"
                                "\"blank_texts\":\"empty\"}");
        cr_assert_eq(json_array_size(root), 3);
        cr_assert(json_equal(json_array_get(root, 0), json_array_get(whole, 0)));
        cr_assert_eq(json_array_size(json_array_get(root, 1)), 0);
        cr_assert(json_equal(json_array_get(root, 2), json_array_get(whole, 1)));
        json_decref(root);
        json_decref(whole);
    }
}

Test(blank_texts, have_no_labels_in_tensors)
{
    json_t *root =
        tei_post(&d, "/v2/models/mood/infer",
                 "{\"inputs\":[{\"name\":\"text\",\"datatype\":\"BYTES\",\"shape\":[2],"
                 "\"data\":[\"\",\"good\"]}],\"parameters\":{\"blank_texts\":\"empty\"},"
                 "\"outputs\":[{\"name\":\"label\"},{\"name\":\"probs\"},{\"name\":\"depth\"},"
                 "{\"name\":\"truncated\"}]}");
    cr_assert_str_eq(json_string_at(root, "outputs/0/data/0"), "");
    cr_assert_str_neq(json_string_at(root, "outputs/0/data/1"), "");
    cr_assert_eq(json_number_at(root, "outputs/1/data/0"), 0);
    cr_assert_eq(json_number_at(root, "outputs/1/data/2"), 0);
    cr_assert_neq(json_number_at(root, "outputs/1/data/3"), 0);
    cr_assert_eq(json_number_at(root, "outputs/2/data/0"), 0);
    cr_assert_eq(json_number_at(root, "outputs/3/data/0"), 0);
    json_decref(root);
}
