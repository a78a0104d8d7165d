/* test_sluice_vectors.c - `sluice vectors`: vectors that documents tuned, with skip-gram vectors
 * beside them, as a file and as a base. */
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <stdio.h>

static struct workspace dirs;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_vectors, .init = setup, .fini = teardown);

enum { COLUMNS_MAX = 32, TUNED = 16, SKIP_GRAM = 8 };

/* The vector of a token in a file of word2vec's text format; returns its width. */
static int read_vector(const char *path, const char *token, float vector[COLUMNS_MAX])
{
    char word[256];
    int count, width;
    FILE *file = fopen(path, "re");
    cr_assert(file, "%s", path);
    cr_assert_eq(fscanf(file, "%d %d", &count, &width), 2);
    cr_assert_leq(width, COLUMNS_MAX);
    bool found = false;
    for (int i = 0; i < count && !found; i++) {
        cr_assert_eq(fscanf(file, "%255s", word), 1);
        for (int k = 0; k < width; k++)
            cr_assert_eq(fscanf(file, "%f", &vector[k]), 1);
        found = strcmp(word, token) == 0;
    }
    cr_assert(found, "%s", token);
    cr_assert_eq(fclose(file), 0);
    return width;
}

static void make_documents(const char *path)
{
    FILE *file = fopen(path, "we");
    cr_assert(file, "%s", path);
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 12; k++)
            (void)fprintf(file, "%s%s", i % 2 ? "apples and pears " : "trains or ships ",
                          k < 11 ? "" : "\n\n");
    cr_assert_eq(fclose(file), 0);
}

Test(sluice_vectors, skip_gram_vectors_stand_beside_tuned_ones)
{
    static struct program_result r;
    float all[COLUMNS_MAX], alone[COLUMNS_MAX];
    char corpus[PATH_MAX + 16], vocab[PATH_MAX + 16], both[PATH_MAX + 16], tuned[PATH_MAX + 16];
    char base[PATH_MAX + 16];
    (void)snprintf(corpus, sizeof corpus, "%s.documents", dirs.corpus);
    (void)snprintf(vocab, sizeof vocab, "%s.vocab", dirs.corpus);
    (void)snprintf(both, sizeof both, "%s.both", dirs.corpus);
    (void)snprintf(tuned, sizeof tuned, "%s.tuned", dirs.corpus);
    (void)snprintf(base, sizeof base, "%s/store/bottles/7", dirs.top);
    make_documents(corpus);
    sluice_expect_success(
        &r, ARGS("vocab", "wordpiece", "--output", vocab, "--vocab-size", "60", corpus));
    sluice_expect_success(&r, ARGS("vectors", "--corpus", corpus, "--vocab-file", vocab, "--width",
                                   "16", "--document-steps", "3", "--document-batch", "4",
                                   "--skip-gram-width", "0", "--threads", "1", "--output", tuned));
    json_t *o = sluice_expect_json(
        &r, ARGS("vectors", "--corpus", corpus, "--vocab-file", vocab, "--width", "16",
                 "--document-steps", "3", "--document-batch", "4", "--skip-gram-width", "8",
                 "--threads", "3", "--output", both, "--base", base, "--json"));
    cr_expect_eq(json_number_at(o, "width"), TUNED + SKIP_GRAM);
    json_decref(o);
    cr_assert_eq(read_vector(tuned, "pears", alone), TUNED);
    cr_assert_eq(read_vector(both, "pears", all), TUNED + SKIP_GRAM);
    cr_expect_arr_eq(all, alone, sizeof(float) * TUNED);
    float beside = 0.0f;
    for (int k = TUNED; k < TUNED + SKIP_GRAM; k++)
        beside += all[k] * all[k];
    cr_expect_gt(beside, 0.0f);
    o = sluice_expect_json(&r, ARGS("inspect", base, "--json"));
    cr_expect_eq(json_number_at(o, "width"), TUNED + SKIP_GRAM);
    json_decref(o);
    test_write_file(corpus, "pears and ships\n"); /* embeddings are of the tuned numbers alone */
    o = sluice_expect_json(&r, ARGS("embed", base, corpus, "--json"));
    cr_expect_eq(json_array_size(json_object_get(o, "embedding")), TUNED);
    json_decref(o);
}
