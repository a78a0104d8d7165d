/* test_pretrained_http.c - models that other programs wrote, in the store of a running daemon. */
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"
#include "support/tiny_store.h"

#include <signal.h>

static struct daemon d;

static void start(void)
{
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    tiny_store_add_pretrained(d.store, "bert_masked");
    daemon_serve(&d, (const char *const[]){"--default-classifier", MOOD, NULL});
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(pretrained_http, .init = start, .fini = stop);

Test(pretrained_http, an_encoder_gives_embeddings)
{
    struct http_response r = http_request(
        &d, "POST", "/v1/embeddings", "{\"model\":\"bert_masked\",\"input\":[\"a b c\",\"d\"]}");
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    json_t *o = json_from_response(&r);
    cr_expect_eq(json_array_size(json_at(o, "data/1/embedding")), 24, "%s", r.body.data);
    json_decref(o);
    http_response_release(&r);
}

/* It has no manifest. */
Test(pretrained_http, a_new_one_is_found_at_a_signal)
{
    tiny_store_add_pretrained(d.store, "distilbert_classifier");
    cr_assert_eq(kill(d.pid, SIGHUP), 0);
    metric_wait(&d, "sluice_model_ready{model=\"distilbert_classifier\",version=\"4\"}", 1);
    struct http_response r = http_request(&d, "POST", "/models/distilbert_classifier/predict",
                                          "{\"inputs\":[[\"a b\"],[\"c\"]]}");
    cr_assert_eq(r.status, 200, "%s", r.body.data);
    json_t *o = json_from_response(&r);
    cr_expect_eq(json_array_size(json_at(o, "0")), 3, "%s", r.body.data);
    json_decref(o);
    http_response_release(&r);
}
