/* test_shared_vectors.c - models that refer to the word vectors of a base. */
#include "base/file.h"
#include "model/model.h"
#include "model/shared_values.h"
#include "support/json_query.h"
#include "support/model_fixture.h"
#include "support/sluice_cli.h"
#include "support/test.h"
#include "support/topic_texts.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct workspace dirs;
static struct program_result r;
static char base[PATH_MAX], data[PATH_MAX];

static void setup(void)
{
    sluice_setup(&dirs);
    topic_texts_make_base(dirs.top, base);
    topic_texts_write(test_path(data, dirs.top, "data.tsv"));
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(shared_vectors, .init = setup, .fini = teardown);

/* Trains <top>/<name>, as in "a/1", from a model; option: one more, or NULL. */
static const char *train(char path[static PATH_MAX], const char *name, const char *from,
                         const char *option)
{
    sluice_expect_success(&r, ARGS("train", "--data", data, "--label", "1", "--text", "2",
                                   "--label-separator", "|", "--init-from", from, "--output",
                                   test_path(path, dirs.top, name), "--json", option));
    return path;
}

static bool refers(const char *path)
{
    char config[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(config, path, "config.json"), &err), err);
    const bool found = memmem(map.data, map.size, "\"base\": {", 9);
    sl_map_close(&map);
    return found;
}

static struct sl_model *open_model(struct sl_engine *engine, const char *path)
{
    struct sl_err err;
    struct sl_model *m = sl_model_open(engine, path, &err);
    cr_assert(m, "%s", err.text);
    return m;
}

static const float *vectors_of(const struct sl_model *m)
{
    return sl_builder_find(&m->builder, "token_embedding.weight")->data;
}

static void expect_failure(const char *path, const char *part)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    cr_assert_null(sl_model_open(engine, path, &err));
    EXPECT_SAID(err.text, part);
    sl_engine_destroy(engine);
}

/* What it says of the texts that it was trained on. */
static void classify(const char *model, char **out)
{
    sluice_expect_success(&r, ARGS("classify", model, data, "--text", "2", "--explain", "3"));
    cr_assert((*out = strdup(r.out)));
}

Test(shared_vectors, are_in_memory_once, TEST_ONE_THREAD)
{
    char a[PATH_MAX], b[PATH_MAX];
    train(a, "a/1", base, NULL);
    train(b, "b/1", a, NULL); /* begins with the same vectors, and refers to the same base */
    cr_assert(refers(a));
    cr_assert(refers(b));
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct sl_model *of_a = open_model(engine, a), *of_b = open_model(engine, b),
                    *itself = open_model(engine, base);
    cr_expect_eq(vectors_of(of_a), vectors_of(of_b));
    cr_expect_eq(vectors_of(of_a), vectors_of(itself));
    cr_expect_eq(engine->shared->users, 3);
    cr_expect_str_eq(sl_model_info(of_a)->base, "base/1");
    cr_expect_null(sl_model_info(itself)->base);
    sl_model_close(of_a);
    sl_model_close(itself);
    cr_expect_eq(engine->shared->users, 1);
    sl_model_close(of_b);
    cr_expect_null(engine->shared);
    sl_engine_destroy(engine);
}

struct opener {
    struct sl_engine *engine;
    const char *path;
};

static void *open_often(void *context)
{
    const struct opener *o = context;
    for (int i = 0; i < 20; i++)
        sl_model_close(open_model(o->engine, o->path));
    return NULL;
}

Test(shared_vectors, are_opened_and_closed_by_several_threads)
{
    enum { THREADS = 4 };

    char a[PATH_MAX];
    pthread_t threads[THREADS];
    struct sl_engine *engine = fixture_engine(NULL, 1);
    struct opener openers[2] = {{engine, train(a, "a/1", base, NULL)}, {engine, base}};
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, open_often, &openers[i % 2]), 0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    cr_expect_null(engine->shared);
    sl_engine_destroy(engine);
}

Test(shared_vectors, give_the_same_answers_as_a_standalone_model, TEST_ONE_THREAD)
{
    char a[PATH_MAX], alone[PATH_MAX], *of_a, *of_alone;
    train(a, "a/1", base, NULL);
    train(alone, "alone/1", base, "--standalone");
    cr_assert_not(refers(alone));
    classify(a, &of_a);
    classify(alone, &of_alone);
    cr_expect_str_eq(of_a, of_alone);
    free(of_a);
    free(of_alone);
}

Test(shared_vectors, are_found_by_their_digest, TEST_ONE_THREAD)
{
    char a[PATH_MAX], other[PATH_MAX], elsewhere[PATH_MAX], store[PATH_MAX];
    train(a, "a/1", base, NULL);
    train(other, "other/1", base, "--standalone");
    cr_assert_eq(mkdir(test_path(store, dirs.top, "store"), 0700), 0);
    cr_assert_eq(mkdir(test_path(elsewhere, store, "base"), 0700), 0);
    cr_assert_eq(rename(base, test_path(elsewhere, store, "base/1")), 0);
    expect_failure(a, "it needs the word vectors of the model base/1 with the SHA-256 ");
    expect_failure(a, "copy that model into the same store, name the directory of its store in "
                      "SLUICE_MODELS, or train with --standalone");
    cr_assert_eq(rename(other, base), 0);
    expect_failure(a, ", and the one that was found has another: ");
    char places[2 * PATH_MAX];
    (void)snprintf(places, sizeof places, "/nowhere:%s", store);
    cr_assert_eq(setenv("SLUICE_MODELS", places, 1), 0);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    sl_model_close(open_model(engine, a));
    sl_engine_destroy(engine);
}

/* Where they would not be found, and those of a model that is no base. */
Test(shared_vectors, are_copied_otherwise, TEST_ONE_THREAD)
{
    char far_away[PATH_MAX], alone[PATH_MAX], again[PATH_MAX];
    train(far_away, "another/store/a/1", base, NULL);
    cr_expect_not(refers(far_away));
    train(alone, "alone/1", base, "--standalone");
    train(again, "again/1", alone, NULL);
    cr_expect_not(refers(again));
}
