/* test_import_sentences.c - `sluice import` of what sentence-transformers writes: modules, prompts,
 * and what is refused by its name. */
#include "base/file.h"
#include "support/import_fixture.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#define SENTENCES SL_SOURCE_DIR "/tests/golden/sentences/"

static struct import_fixture t;

static void setup(void)
{
    import_setup(&t);
}

static void teardown(void)
{
    workspace_remove(&t.dirs);
}

TestSuite(import_sentences, .init = setup, .fini = teardown);

/* What `sluice embed --prompt-name` prints for a text, in fp32. */
static const char *embed(struct program_result *r, const char *model, const char *prompt,
                         const char *text)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    import_write(&t, "text", text, strlen(text));
    EXPECT_OK(sl_path_join(path, t.source, "text", &err), err);
    sluice_expect_success(
        r, prompt ? ARGS("embed", model, path, "--precision", "fp32", "--prompt-name", prompt)
                  : ARGS("embed", model, path, "--precision", "fp32"));
    *strchr(r->out, '\t') = '\0';
    return r->out;
}

/* -- modules of sentence-transformers -------------------------------------------------------- */

#define MODULE(type, path)                                                                         \
    "{\"type\": \"sentence_transformers.models." type "\", \"path\": \"" path "\"}"
#define FIRST   MODULE("Transformer", "") ", "
#define POOLING MODULE("Pooling", "1_Pooling") ", "

Test(import_sentences, modules_are_refused_by_name_and_order)
{
    static const struct {
        const char *modules, *why;
    } cases[] = {
        {"[" FIRST MODULE("LSTM", "1_LSTM") "]", "the module 'LSTM' is not supported"},
        {"[" FIRST MODULE("Dense", "2_Dense") "]", "'Dense' comes after Transformer: expected"},
        {"[" POOLING MODULE("Transformer", "") "]", "'Pooling' comes first: expected"},
        {"[" FIRST POOLING MODULE("Normalize", "2") ", " MODULE("Dense", "2_Dense") "]",
         "'Dense' comes after Normalize: expected"},
        {"[" FIRST POOLING MODULE("Pooling", "1_Pooling") "]", "'Pooling' comes after Pooling"},
        {"[" FIRST MODULE("SpladePooling", "1_Pooling") "]", "'SpladePooling' comes after Transf"},
        {"[" MODULE("Transformer", "") "]", "it ends after Transformer: expected"},
        {"[" FIRST MODULE("Pooling", "../1_Pooling") "]", "'path' is '../1_Pooling'"},
        {"[]", "it ends first"},
        {"{}", "is an object: expected an array"}};

    import_copy_model(&t, "bert");
    import_copy(&t, "bert", "1_Pooling/config.json");
    import_copy(&t, "../sentences/dense", "2_Dense/config.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_write(&t, "modules.json", cases[i].modules, strlen(cases[i].modules));
        import_expect_refused(&t, t.source, cases[i].why);
    }
}

static void copy_dense(void)
{
    static const char *const names[] = {"config.json",
                                        "model.safetensors",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "1_Pooling/config.json",
                                        "2_Dense/config.json",
                                        "2_Dense/model.safetensors",
                                        "3_Dense/config.json",
                                        "3_Dense/model.safetensors",
                                        "4_Normalize/config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        import_copy(&t, "../sentences/dense", names[i]);
}

Test(import_sentences, dense_layers_are_kept)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("import", SENTENCES "dense", "--output", t.dirs.output));
    import_expect_same(&t, "embed", SENTENCES "dense");
}

Test(import_sentences, dense_layers_are_refused_by_member)
{
    static const struct {
        const char *file, *from, *to, *why;
    } cases[] = {
        {"2_Dense/config.json", "activation.Tanh", "activation.GELU",
         "'activation_function' is 'torch.nn.modules.activation.GELU', which is not supported"},
        {"2_Dense/config.json", "torch.nn.modules.activation.Tanh", "os.Tanh", "is 'os.Tanh'"},
        {"2_Dense/config.json", "\"in_features\": 16", "\"in_features\": 8",
         "'in_features' is 8: expected 16"},
        {"2_Dense/config.json", "\"bias\"", "\"use_residual\": true, \"bias\"",
         "'use_residual' is true, which is not supported"},
        {"3_Dense/config.json", "\"module_output_name\": \"sentence_embedding\"",
         "\"module_output_name\": \"x\"", "'module_output_name' is 'x', which is not supported"},
        {"3_Dense/config.json", "\"out_features\": 8", "\"out_features\": 4",
         "tensor 'dense_2.linear.weight': shape 8x24: expected 4x24"},
        {"4_Normalize/config.json", "\"module_input_name\": \"sentence_embedding\"",
         "\"module_input_name\": \"token_embeddings\"", "'module_input_name' is 'token_emb"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        copy_dense();
        import_change(&t, "../sentences/dense", cases[i].file, cases[i].from, cases[i].to);
        import_expect_refused(&t, t.source, cases[i].why);
    }
    copy_dense();
    import_remove(&t, "2_Dense/model.safetensors");
    import_write(&t, "2_Dense/pytorch_model.bin", "x", 1);
    import_expect_refused(&t, t.source,
                          "2_Dense: the weights are in pytorch_model.bin, which is not read");
    import_expect_refused(&t, t.source, "SentenceTransformer(\"DIR\").save_pretrained(\"DIR\")");
}

/* Both cases are the same text then, also once it is imported. */
Test(import_sentences, lower_case_is_kept)
{
    static struct program_result r, other;
    sluice_expect_success(&r, ARGS("import", SENTENCES "lower", "--output", t.dirs.output));
    cr_expect_str_eq(embed(&r, SENTENCES "lower", NULL, "The HE\n"),
                     embed(&other, t.dirs.output, NULL, "the he\n"));
    cr_expect_str_eq(embed(&r, SENTENCES "lower", NULL, "\xC3\x89\n"),
                     embed(&other, t.dirs.output, NULL, "\xC3\xA9\n"));
    cr_expect_str_neq(embed(&r, t.dirs.output, NULL, "the he\n"),
                      embed(&other, t.dirs.output, NULL, "a he\n"));
}

/* Since version 6 a reranker has modules.json, too. */
Test(import_sentences, a_reranker_with_modules_is_no_encoder)
{
    static struct program_result r;
    static const char modules[] = "[" MODULE("Transformer", "") "]",
                      both[] = "[" FIRST MODULE("Pooling", "1_Pooling") "]";
    static const char task[] = "{\"transformer_task\": \"sequence-classification\"}";
    import_copy_model(&t, "bert_ranker");
    import_copy(&t, "bert", "1_Pooling/config.json");
    import_write(&t, "sentence_bert_config.json", task, strlen(task));
    import_write(&t, "modules.json", both, strlen(both));
    import_expect_refused(&t, t.source, "of a reranker: expected only Transformer");
    import_write(&t, "modules.json", modules, strlen(modules));
    json_t *o =
        sluice_expect_json(&r, ARGS("import", t.source, "--output", t.dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "class")),
                     "BertForSequenceClassification");
    json_decref(o);
}

/* Published files of ModernBERT have both; transformers reads `norm_eps`. */
Test(import_sentences, the_epsilon_of_modernbert_is_norm_eps)
{
    static struct program_result r;
    import_copy_model(&t, "modernbert");
    import_change(&t, "modernbert", "config.json", "\"norm_eps\": 1e-05",
                  "\"layer_norm_eps\": 0.5, \"norm_eps\": 0.25");
    sluice_expect_success(&r, ARGS("import", t.source, "--output", t.dirs.output));
    sluice_expect_success(&r, ARGS("inspect", t.dirs.output));
    cr_expect(strstr(r.out, "  norm_epsilon             0.25\n"), "%s", r.out);
}

/* -- prompts ---------------------------------------------------------------------------------- */

/* A prompt is what would otherwise be written before each text. */
Test(import_sentences, prompts_are_kept)
{
    static struct program_result r, other;
    sluice_expect_success(&r, ARGS("import", SENTENCES "prompts", "--output", t.dirs.output));
    cr_expect_str_eq(embed(&r, t.dirs.output, "query", "uick fox\n"),
                     embed(&other, SENTENCES "prompts", "none", "find: quick fox\n"));
    cr_expect_str_eq(embed(&r, t.dirs.output, NULL, "fox\n"),
                     embed(&other, t.dirs.output, "none", "passage: fox\n"));
    cr_expect_str_neq(embed(&r, t.dirs.output, NULL, "fox\n"),
                      embed(&other, t.dirs.output, "none", "fox\n"));
    sluice_expect_success(&r, ARGS("inspect", t.dirs.output));
    cr_expect(strstr(r.out, "\n  query                    \"find: q\"\n"), "%s", r.out);
    cr_expect(strstr(r.out, " \"passage: \" (default)\n"), "%s", r.out);
    json_t *o = sluice_expect_json(&r, ARGS("inspect", t.dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "default_prompt_name")), "passage");
    json_decref(o);
}

Test(import_sentences, a_prompt_that_there_is_not_is_an_error)
{
    static const struct usage_error errors[] = {
        {{"embed", SENTENCES "prompts", SL_SOURCE_DIR "/README.md", "--prompt-name", "x"},
         2,
         "no prompt is named 'x'",
         "expected one of: 'document', 'none', 'passage', 'query'"},
        {{"embed", GOLDEN "bert", SL_SOURCE_DIR "/README.md", "--prompt-name", "x"},
         2,
         "no prompt is named 'x'",
         "the model has none"}};
    sluice_expect_usage_errors(errors, 2);
}

Test(import_sentences, a_pooling_without_prompts_is_refused_with_them)
{
    static struct program_result r;
    static const char prompts[] = "{\"prompts\": {\"a\": \"b\"}}",
                      none[] = "{\"prompts\": {\"a\": \"\"}}";
    import_copy_model(&t, "bert");
    import_copy(&t, "bert", "modules.json");
    import_change(&t, "bert", "1_Pooling/config.json", "{", "{\"include_prompt\": false, ");
    import_write(&t, "config_sentence_transformers.json", prompts, strlen(prompts));
    import_expect_refused(
        &t, t.source,
        "'include_prompt' is false, which is not supported with prompts, such as 'a'");
    import_write(&t, "config_sentence_transformers.json", none, strlen(none));
    sluice_expect_success(&r, ARGS("import", t.source, "--output", t.dirs.output));
}

/* What config_sentence_transformers.json says, and why it is refused. */
Test(import_sentences, prompts_have_bounds)
{
    static const struct {
        const char *json, *why;
    } cases[] = {
        {"{\"prompts\": {\"a\": \"b\"}, \"default_prompt_name\": \"c\"}",
         "'default_prompt_name': no prompt is named 'c'"},
        {"{\"prompts\": {\"a\": 3}}", "'prompts': 'a' is a whole number: expected a string"},
        {"{\"prompts\": [3]}", "'prompts' is an array: expected an object"},
        {"{\"default_prompt_name\": 3}", "'default_prompt_name' is a whole number"},
        {"{\"prompts\": {\"\": \"b\"}}", "the name of a prompt has 0 bytes"}};

    static char text[8192], many[8192];
    import_copy_model(&t, "bert");
    import_copy(&t, "bert", "modules.json");
    import_copy(&t, "bert", "1_Pooling/config.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_write(&t, "config_sentence_transformers.json", cases[i].json, strlen(cases[i].json));
        import_expect_refused(&t, t.source, cases[i].why);
    }
    memset(text, 'x', 4097);
    size_t bytes = (size_t)snprintf(many, sizeof many, "{\"prompts\": {\"a\": \"%s\"}}", text);
    import_write(&t, "config_sentence_transformers.json", many, bytes);
    import_expect_refused(&t, t.source, "the prompt 'a' has 4097 bytes: expected at most 4096");
    bytes = (size_t)snprintf(many, sizeof many, "{\"prompts\": {\"0\": \"\"");
    for (int i = 1; i <= 256; i++)
        bytes += (size_t)snprintf(many + bytes, sizeof many - bytes, ", \"%d\": \"\"", i);
    bytes += (size_t)snprintf(many + bytes, sizeof many - bytes, "}}");
    import_write(&t, "config_sentence_transformers.json", many, bytes);
    import_expect_refused(&t, t.source, "more than 256 prompts");
}
