/* test_sluice_adapt.c - `sluice adapt`, `sluice distill` and `sluice train --data` with an encoder,
 * from the command line: an imported model is adapted, made small and fine-tuned, and mistakes are
 * named. */
#include "base/buffer.h"
#include "base/file.h"
#include "support/import_fixture.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/test.h"

static struct workspace dirs;
static char encoder[PATH_MAX + 32], adapted[PATH_MAX + 32], labelled[PATH_MAX];

static void setup(void)
{
    static struct program_result r;
    sluice_setup(&dirs);
    FILE *file = fopen(dirs.corpus, "we");
    FILE *table = fopen(test_path(labelled, dirs.top, "labelled.tsv"), "we");
    cr_assert(file && table);
    for (int i = 0; i < 120; i++) {
        const char *word = i % 2 ? "good" : "bad";
        cr_assert_gt(fprintf(file, "the film number %d was %s\n", i, word), 0);
        cr_assert_gt(fprintf(table, "%s\tthe film number %d was %s\n", word, i, word), 0);
    }
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(fclose(table), 0);
    (void)snprintf(encoder, sizeof encoder, "%s/store/bert/1", dirs.top);
    (void)snprintf(adapted, sizeof adapted, "%s/store/bert/2", dirs.top);
    sluice_expect_success(&r, ARGS("import", GOLDEN "bert", "--output", encoder));
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_adapt, .init = setup, .fini = teardown);

static void expect_page(const char *directory)
{
    struct sl_err err;
    struct sl_buffer page = {0};
    char path[PATH_MAX];
    EXPECT_OK(sl_file_append(&page, test_path(path, directory, "index.html"), &err), err);
    cr_expect(strstr(page.data, "bert/2") && strstr(page.data, "gate_limit"), "%s", page.data);
    sl_buffer_release(&page);
}

/* Lines of JSON: steps, six limits; then the model. */
Test(sluice_adapt, an_imported_encoder_gets_routers)
{
    static struct program_result r;
    char report[PATH_MAX];
    sluice_expect_success(&r, ARGS("adapt", encoder, "--texts", dirs.corpus, "--steps", "20",
                                   "--run-dir", dirs.run, "--output", adapted, "--json"));
    cr_expect(strstr(r.out, "\"step\":20,\"steps\":20"), "%s", r.out);
    sluice_expect_success(&r, ARGS("adapt", encoder, "--texts", dirs.corpus, "--steps", "20",
                                   "--run-dir", dirs.run, "--resume", "--output", adapted,
                                   "--overwrite", "--json", "--report",
                                   test_path(report, dirs.top, "report")));
    cr_expect_null(strstr(r.out, "\"step\":"), "nothing is left to do: %s", r.out);
    expect_page(report);
    cr_expect(strstr(r.out, "\"gate_limit\":0.1"), "%s", r.out);
    json_t *o = sluice_expect_json(&r, ARGS("inspect", adapted, "--json"));
    cr_expect_str_eq(json_string_at(o, "architecture"), "adaptive_transformer");
    json_decref(o);
    char config[sizeof adapted + sizeof "/config.json"];
    (void)snprintf(config, sizeof config, "%s/config.json", adapted);
    o = json_load_file(config, 0, NULL);
    const char *from = json_string_at(o, "training/adapted_from");
    cr_expect_str_eq(from, encoder + strlen(encoder) - strlen(from));
    cr_expect(from[0] != '/' && strchr(from, '/') == strrchr(from, '/'), "%s", from);
    json_decref(o);
}

/* A classifier of pairs, one of tokens, and a text generator. */
Test(sluice_adapt, other_kinds_of_models_get_routers)
{
    static const char *const models[] = {"bert_ranker", "bert_tagger", "llama"};
    static struct program_result r;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char from[sizeof encoder + 16], path[PATH_MAX], to[sizeof encoder + 16];
        (void)snprintf(path, sizeof path, GOLDEN "%s", models[i]);
        (void)snprintf(from, sizeof from, "%s/store/%s/1", dirs.top, models[i]);
        (void)snprintf(to, sizeof to, "%s/store/%s/2", dirs.top, models[i]);
        sluice_expect_success(&r, ARGS("import", path, "--output", from));
        sluice_expect_success(&r, ARGS("adapt", from, "--texts", labelled, "--text", "2", "--steps",
                                       "5", "--output", to, "--json", i == 0 ? "--text-pair" : NULL,
                                       "1"));
        cr_expect(strstr(r.out, "{\"gate_limit\":0.1,"), "%s: %s", models[i], r.out);
        cr_expect(strstr(r.out, "\"similarity\":0.9") || strstr(r.out, "\"similarity\":1"),
                  "%s: %s", models[i], r.out);
        sluice_expect_success(&r, ARGS("inspect", to));
    }
}

/* Lines of JSON: steps; then the model, which is smaller. */
Test(sluice_adapt, an_imported_encoder_becomes_a_small_one)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("distill", encoder, "--texts", dirs.corpus, "--steps", "20",
                                   "--depth", "1", "--output", adapted, "--json"));
    cr_expect(strstr(r.out, "\"step\":20,\"steps\":20"), "%s", r.out);
    cr_expect(strstr(r.out, "\"similarity_before\":"), "%s", r.out);
    json_t *o = sluice_expect_json(&r, ARGS("inspect", adapted, "--json"));
    cr_expect_str_eq(json_string_at(o, "architecture"), "transformer");
    json_decref(o);
    sluice_expect_success(&r, ARGS("embed", adapted, dirs.corpus));
}

/* The store of --output has one. */
Test(sluice_adapt, training_finds_an_encoder_in_the_store)
{
    static struct program_result r;
    char mine[PATH_MAX + 32];
    (void)snprintf(mine, sizeof mine, "%s/store/mine/1", dirs.top);
    sluice_expect_success(
        &r, ARGS("train", "--data", labelled, "--label", "1", "--text", "2", "--output", mine));
    cr_expect(strstr(r.out, "an encoder is tried, too: "), "%s", r.out);
    cr_expect(strstr(r.out, "encoder, fine-tuned ("), "%s", r.out);
    sluice_expect_success(&r, ARGS("train", "--data", labelled, "--label", "1", "--text", "2",
                                   "--output", mine, "--overwrite", "--quick"));
    cr_expect_not(strstr(r.out, "encoder, fine-tuned ("), "%s", r.out);
}

/* The environment names the encoder where there is no other. */
Test(sluice_adapt, the_environment_names_an_encoder)
{
    static struct program_result r;
    char mine[PATH_MAX + 32];
    (void)snprintf(mine, sizeof mine, "%s/empty/mine/1", dirs.top);
    const char *const train[] = {"train", "--data",   labelled, "--label",     "1", "--text",
                                 "2",     "--output", mine,     "--overwrite", NULL};
    cr_assert_eq(setenv("SLUICE_ENCODER", encoder, 1), 0);
    sluice_expect_success(&r, train);
    cr_expect(strstr(r.out, "an encoder is tried, too: "), "%s", r.out);
    cr_assert_eq(setenv("SLUICE_ENCODER", "", 1), 0);
    sluice_expect_success(&r, train);
    cr_expect_not(strstr(r.out, "an encoder is tried, too: "), "%s", r.out);
    cr_assert_eq(setenv("SLUICE_ENCODER", "/nowhere", 1), 0);
    const struct usage_error errors[] = {{{"train", "--data", labelled, "--label", "1", "--text",
                                           "2", "--output", mine, "--overwrite"},
                                          2,
                                          "SLUICE_ENCODER names '/nowhere'",
                                          "expected the directory of one"}};
    sluice_expect_usage_errors(errors, 1);
}

/* Of sport and of money in turn, in words that hardly repeat. */
static const char *const headlines[] = {
    "The striker scored twice after the break.",
    "Shares of the bank fell on Tuesday.",
    "She won the marathon by two seconds.",
    "The company cut its forecast of profits.",
    "Our coach praised a young goalkeeper.",
    "Investors expect higher interest rates.",
    "A late penalty decided this match.",
    "That currency lost a tenth of its value.",
    "Swimmers broke three records in Rome.",
    "Unemployment rose faster than economists thought.",
    "He missed the cup final with an injured knee.",
    "Its chief executive sold all his stock.",
    "Both teams changed their line-up for the derby.",
    "Exports of steel were taxed again.",
    "Cyclists climbed the last mountain in rain.",
    "Households borrowed less for new homes.",
    "Hockey fans waited hours for tickets.",
    "An insurer bought its smaller rival.",
    "The champion defended her boxing title.",
    "Oil became cheaper as traders worried.",
    "Two athletes failed a doping test.",
    "Regulators fined the broker millions.",
    "Basketball returns to the arena in spring.",
    "Wages in factories grew by four percent.",
};

/* The one that comes with the program knows words that no text of the training has. */
Test(sluice_adapt, the_bundled_encoder_reads_new_words, .disabled = TEST_SANITIZED)
{
    static struct program_result r;
    char mine[PATH_MAX + 32], news[PATH_MAX], table[PATH_MAX];
    (void)snprintf(mine, sizeof mine, "%s/empty/mine/1", dirs.top);
    FILE *file = fopen(test_path(table, dirs.top, "few.tsv"), "we");
    FILE *others = fopen(test_path(news, dirs.top, "news.txt"), "we");
    cr_assert(file && others);
    for (size_t i = 0; i < COUNT(headlines); i++)
        cr_assert_gt(fprintf(file, "%s\t%s\n", i % 2 ? "money" : "sport", headlines[i]), 0);
    cr_assert_gt(fprintf(others, "Their tennis tournament begins on Monday.\n"
                                 "Creditors refused to refinance the loan.\n"),
                 0);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(fclose(others), 0);
    cr_assert_eq(unsetenv("SLUICE_ENCODER"), 0);
    sluice_expect_success(
        &r, ARGS("train", "--data", table, "--label", "1", "--text", "2", "--output", mine));
    cr_expect(strstr(r.out, "models/base/2"), "%s", r.out);
    sluice_expect_success(&r, ARGS("classify", mine, news));
    const char *first = strstr(r.out, "sport"), *second = strstr(r.out, "money");
    cr_expect(first && second && first < second, "%s", r.out);
}

/* It may read one text, such as one whose quality it predicts. */
Test(sluice_adapt, one_label_without_pairs_is_warned_of)
{
    static struct program_result r;
    char ranker[PATH_MAX];
    sluice_expect_success(&r, ARGS("import", GOLDEN "bert_ranker", "--output",
                                   test_path(ranker, dirs.top, "store/ranker/1")));
    sluice_expect_success(
        &r, ARGS("adapt", ranker, "--texts", dirs.corpus, "--steps", "2", "--output", adapted));
    cr_expect(strstr(r.err, "warning: the model has one label") && strstr(r.err, "--text-pair"),
              "%s", r.err);
}

Test(sluice_adapt, mistakes_are_named)
{
    char few[PATH_MAX], ranker[PATH_MAX];
    static struct program_result r;
    sluice_expect_success(&r, ARGS("import", GOLDEN "bert_ranker", "--output",
                                   test_path(ranker, dirs.top, "store/ranker/1")));
    FILE *file = fopen(test_path(few, dirs.top, "few.txt"), "we");
    cr_assert(file);
    cr_assert_gt(fprintf(file, "a text\nanother\n"), 0);
    cr_assert_eq(fclose(file), 0);
    const struct usage_error errors[] = {
        {{"adapt"}, 2, "missing MODEL-DIR", "usage: sluice adapt MODEL-DIR"},
        {{"adapt", encoder, "--output", adapted},
         2,
         "--texts",
         "texts such as the model will read"},
        {{"adapt", encoder, "--texts", dirs.corpus}, 2, "--output", "<store>/<model>/<version>"},
        {{"adapt", encoder, "--texts", few, "--output", adapted}, 2, "has 2 texts", "at least 100"},
        {{"adapt", "/nowhere/1", "--texts", few, "--output", adapted}, 2, "/nowhere/1", "no model"},
        {{"adapt", SL_SOURCE_DIR "/models/shakespeare/1", "--texts", dirs.corpus, "--output",
          adapted},
         2,
         "its architecture is tsa",
         "expected transformer"},
        {{"adapt", ranker, "--texts", labelled, "--output", adapted, "--text-pair", "bad"},
         2,
         "name both columns, or number both",
         "labelled.tsv"},
        {{"adapt", encoder, "--texts", labelled, "--output", adapted, "--text-pair", "1"},
         2,
         "--text-pair is for classifiers of two texts",
         "such as rerankers"},
        {{"adapt", encoder, "--texts", dirs.corpus, "--output", adapted, "--resume"},
         2,
         "--resume needs --run-dir",
         "the run to continue"},
        {{"distill"}, 2, "missing MODEL-DIR", "usage: sluice distill MODEL-DIR"},
        {{"distill", encoder, "--texts", dirs.corpus, "--output", adapted, "--vocab-size", "3"},
         2,
         "--vocab-size: a vocabulary of 3: expected",
         "special tokens and single characters"},
        {{"distill", encoder, "--texts", dirs.corpus, "--output", adapted, "--depth", "99"},
         2,
         "layers: expected 1 to",
         "distill '"},
        {{"distill", SL_SOURCE_DIR "/models/shakespeare/1", "--texts", dirs.corpus, "--output",
          adapted},
         2,
         "it is a model of tsa for completion",
         "expected a transformer that gives embeddings"},
    };
    sluice_expect_usage_errors(errors, sizeof errors / sizeof *errors);
}
