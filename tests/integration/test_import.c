/* test_import.c - `sluice import`: directories of other programs become versions, and what is not
 * supported is refused by its name. */
#include "base/file.h"
#include "model/model.h"
#include "support/import_fixture.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct import_fixture t;

static void setup(void)
{
    import_setup(&t);
}

static void teardown(void)
{
    workspace_remove(&t.dirs);
}

TestSuite(import, .init = setup, .fini = teardown);

/* -- what is imported ------------------------------------------------------------------------- */

Test(import, a_sentence_encoder_embeds_as_before)
{
    static struct program_result r;
    json_t *o =
        sluice_expect_json(&r, ARGS("import", GOLDEN "bert", "--output", t.dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "class")), "BertModel");
    json_decref(o);
    import_expect_same(&t, "embed", GOLDEN "bert");
}

Test(import, a_classifier_keeps_its_labels)
{
    static struct program_result r;
    sluice_expect_success(&r,
                          ARGS("import", GOLDEN "roberta_classifier", "--output", t.dirs.output));
    cr_expect(strstr(r.out, "RobertaForSequenceClassification"), "%s", r.out);
    import_expect_same(&t, "classify", GOLDEN "roberta_classifier");
}

Test(import, shards_and_old_names_are_read)
{
    static struct program_result r;
    import_copy_model(&t, "bert");
    import_remove(&t, "model.safetensors");
    import_copy(&t, "bert", "model.safetensors");
    char from[SL_PATH_MAX], to[SL_PATH_MAX];
    static const char index[] = "{\"metadata\": {}, \"weight_map\": "
                                "{\"embeddings.word_embeddings.weight\": \"a.safetensors\"}}";
    struct sl_err err;
    EXPECT_OK(sl_path_join(from, t.source, "model.safetensors", &err), err);
    EXPECT_OK(sl_path_join(to, t.source, "a.safetensors", &err), err);
    cr_assert_eq(rename(from, to), 0);
    import_write(&t, "model.safetensors.index.json", index, strlen(index));
    sluice_expect_success(&r, ARGS("import", t.source, "--output", t.dirs.output));
}

/* Another architecture has parameters of the same names and computes something else with them. */
Test(import, only_its_own_architecture_is_trained_from_it)
{
    static struct program_result r;
    static const char texts[] = "good\ta b c\ngood\tb c a\nbad\tx y z\nbad\ty z x\n";
    char data[SL_PATH_MAX], version[SL_PATH_MAX];
    struct sl_err err;
    import_write(&t, "texts.tsv", texts, strlen(texts));
    EXPECT_OK(sl_path_join(data, t.source, "texts.tsv", &err), err);
    EXPECT_OK(sl_path_join(version, t.dirs.top, "tuned/1", &err), err);
    sluice_run(&r, ARGS("train", "transformer", "--init-from", GOLDEN "bert", "--data", data,
                        "--label", "1", "--text", "2", "--output", version));
    cr_expect_eq(r.exit_code, 2);
    EXPECT_SAID(r.err, "is a model as other programs save it; make a version of it with");
    sluice_expect_success(&r, ARGS("import", GOLDEN "bert", "--output", t.dirs.output));
    sluice_run(&r, ARGS("train", "encoder", "--init-from", t.dirs.output, "--data", data, "--label",
                        "1", "--text", "2", "--output", version));
    cr_expect_eq(r.exit_code, 2);
    EXPECT_SAID(r.err, "its architecture is transformer, so train transformer from it");
    sluice_expect_success(&r,
                          ARGS("train", "transformer", "--init-from", t.dirs.output, "--data", data,
                               "--label", "1", "--text", "2", "--steps", "2", "--validation", data,
                               "--run-dir", t.dirs.run, "--output", version));
}

/* -- conversations ---------------------------------------------------------------------------- */

static void expect_answer(const char *model, const char *want)
{
    static struct program_result r;
    json_t *o = sluice_expect_json(&r, ARGS("generate", model, "--chat", "--prompt", "Hi",
                                            "--max-tokens", "9", "--precision", "fp32", "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "text")), want);
    json_decref(o);
}

Test(import, a_chat_template_is_kept)
{
    static struct program_result r;
    json_t *o =
        sluice_expect_json(&r, ARGS("generate", GOLDEN "llama_chat", "--chat", "--prompt", "Hi",
                                    "--max-tokens", "9", "--precision", "fp32", "--json"));
    const char *want = json_string_value(json_object_get(o, "text"));
    sluice_expect_success(&r, ARGS("import", GOLDEN "llama_chat", "--output", t.dirs.output));
    expect_answer(t.dirs.output, want);
    json_decref(o);
}

Test(import, wrong_members_about_conversations_are_named)
{
    static const struct {
        const char *file, *from, *to, *part;
    } cases[] = {
        {"tokenizer_config.json", "\"chat_template\": ", "\"chat_template\": 7, \"x\": ",
         "'chat_template' is a whole number"},
        {"tokenizer_config.json",
         "\"eos_token\": ", "\"eos_token\": [], \"x\": ", "'eos_token' is an array"},
        {"generation_config.json",
         "\"eos_token_id\": ", "\"eos_token_id\": {}, \"x\": ", "'eos_token_id' is an object"},
        {"generation_config.json",
         "\"eos_token_id\": ", "\"eos_token_id\": [\"y\"], \"x\": ", "'eos_token_id' has a string"},
    };
    static struct program_result r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        import_copy_model(&t, "llama_chat");
        import_copy(&t, "llama_chat", "tokenizer_config.json");
        import_change(&t, "llama_chat", cases[i].file, cases[i].from, cases[i].to);
        sluice_run(&r, ARGS("import", t.source, "--output", t.dirs.output));
        cr_expect_neq(r.exit_code, 0);
        cr_expect(strstr(r.err, cases[i].part), "'%s' is not in %s", cases[i].part, r.err);
        import_remove(&t, cases[i].file);
    }
}

/* -- what a precision costs ------------------------------------------------------------------- */

/* Where models are imported whose costs are asked. */
static const char *cost_output(char path[PATH_MAX], const char *model)
{
    char version[64];
    (void)snprintf(version, sizeof version, "%s/1", model);
    return test_path(path, t.dirs.top, version);
}

/* A number of a precision as import prints it; NAN: this CPU does not compute in it. */
static double import_cost(const char *model, const char *type, const char *name, int texts,
                          const char *file)
{
    static struct program_result r;
    char output[PATH_MAX];
    char golden[PATH_MAX];
    (void)snprintf(golden, sizeof golden, GOLDEN "%s", model);
    json_t *o =
        sluice_expect_json(&r, ARGS("import", golden, "--output", cost_output(output, model),
                                    "--json", file ? "--texts" : NULL, file));
    const json_t *precision = json_object_get(o, "precision");
    cr_expect_eq(json_integer_value(json_object_get(precision, "texts")), texts);
    const json_t *costs = json_object_get(precision, type);
    const json_t *value = json_object_get(costs, name);
    cr_assert(!costs || json_is_number(value), "%s: %s", model, r.out);
    const double number = costs ? json_number_value(value) : (double)NAN;
    json_decref(o);
    return number;
}

static double int8_cost(const char *model, const char *name, int texts, const char *file)
{
    return import_cost(model, "int8", name, texts, file);
}

Test(import, what_int8_costs_is_measured)
{
    const double cosine = int8_cost("bert", "lowest_cosine", 24, NULL);
    cr_expect(cosine > 0.98 && cosine < 1.0, "%g", cosine);
    const double change = int8_cost("bert_classifier", "probability_change", 24, NULL);
    cr_expect(change > 0.0 && change < 0.05, "%g", change);
    const double increase = int8_cost("llama", "loss_increase", 24, NULL);
    cr_expect(fabs(increase) < 0.01 && increase != 0.0, "%g", increase);
}

static void computes(struct sl_engine *engine, const char *directory, const char *precision)
{
    struct sl_err err;
    struct sl_model *m = sl_model_open(engine, directory, &err);
    cr_assert(m, "%s", err.text);
    cr_expect_str_eq(sl_model_info(m)->precision, precision, "%s", directory);
    sl_model_close(m);
}

/* int8, if it is faster and costs little, or else bf16. Not measured: as it is. */
Test(import, what_precisions_cost_decides_the_default)
{
    char encoder[PATH_MAX], classifier[PATH_MAX];
    const double cosine = import_cost("bert", "bf16", "cosine", 24, NULL);
    const double change = import_cost("bert_classifier", "bf16", "probability_change", 24, NULL);
    if (isnan(cosine) || isnan(change))
        return; /* this CPU does not compute in bf16 */
    cr_assert(1.0 - cosine < 0.001 && change > 0.001, "%g, %g", cosine, change);
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const char *const usual = sl_engine_precision(engine);
    engine->preferred = 1 << SL_PRECISION_BF16;
    computes(engine, cost_output(encoder, "bert"), "bf16");
    computes(engine, GOLDEN "bert", usual);
    computes(engine, cost_output(classifier, "bert_classifier"), usual);
    engine->preferred |= 1 << SL_PRECISION_INT8;
    computes(engine, encoder, "int8");
    sl_engine_destroy(engine);
}

Test(import, what_int8_costs_is_measured_on_the_users_texts)
{
    static struct program_result r;
    char path[SL_PATH_MAX];
    struct sl_err err;
    import_write(&t, "texts", "one\n\ntwo two\n", 13);
    EXPECT_OK(sl_path_join(path, t.source, "texts", &err), err);
    (void)int8_cost("bert", "cosine", 2, path);
    import_write(&t, "texts", "\n\n", 2);
    sluice_run(&r, ARGS("import", GOLDEN "bert", "--output", t.dirs.output, "--texts", path));
    cr_expect_eq(r.exit_code, 2);
    cr_expect(strstr(r.err, "expected a text on each line"), "%s", r.err);
    cr_expect_neq(access(t.dirs.output, F_OK), 0);
}

/* -- what is refused -------------------------------------------------------------------------- */

/* A change of config.json, and the message. */
static const struct {
    const char *model, *from, *to, *said;
} refused[] = {
    {"bert", "\"bert\"", "\"deberta\"", "'model_type' 'deberta' is not supported: expected one of"},
    {"bert", "\"hidden_act\": \"gelu\"", "\"hidden_act\": \"mish\"", "'hidden_act': 'mish' is not"},
    {"bert", "\"hidden_act\": \"gelu\"", "\"hidden_act\": 3", "'hidden_act': a whole number"},
    {"bert", "\"hidden_size\": 24", "\"hidden_size\": -24", "'hidden_size'"},
    {"bert", "\"hidden_size\": 24", "\"hidden_size\": \"24\"", "'hidden_size': a string"},
    {"bert", "\"hidden_size\": 24", "\"hidden_size\": 48", "shape 57x24: expected 57x48"},
    {"bert", "\"hidden_size\": 24,", "", "'hidden_size' is missing"},
    {"bert", "\"hidden_size\": 24", "\"hidden_size\": 1e300", "'hidden_size'"},
    {"bert", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2",
     "tensor 'encoder.layer.2.attention.output.LayerNorm.bias' is of no use in a BertModel"},
    {"bert", "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4",
     "tensor 'bert.encoder.layer.3.attention.output.LayerNorm.weight' is missing"},
    {"bert", "\"is_decoder\": false", "\"is_decoder\": true", "'is_decoder' is true, which is not"},
    {"bert", "{", "{\"hidden_size\": 24,", "config.json: not JSON"},
    {"bert", "\"model_type\": \"bert\"", "\"type\": 1", "config.json: 'model_type' is missing"},
    {"llama", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"",
     "'rope_parameters.rope_type' is \"yarn\", which is not supported"},
    {"llama", "\"LlamaForCausalLM\"", "\"LlamaForTokenClassification\"",
     "'architectures' names 'LlamaForTokenClassification': expected one of: LlamaForCausalLM"},
    {"roberta_classifier", "\"max_position_embeddings\": 34", "\"max_position_embeddings\": 3",
     "3 positions, of which the first 2 are unused: expected at least 4"},
    {"bert_classifier", "\"0\": \"negative\"", "\"7\": \"negative\"", "'id2label'"},
};

Test(import, what_is_not_supported_is_named)
{
    static struct program_result r;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        import_copy_model(&t, refused[i].model);
        import_change(&t, refused[i].model, "config.json", refused[i].from, refused[i].to);
        sluice_run(&r, ARGS("import", t.source, "--output", t.dirs.output));
        cr_expect_eq(r.exit_code, 2, "%s: %d", refused[i].said, r.exit_code);
        cr_expect(strstr(r.err, refused[i].said), "want %s, said: %s", refused[i].said, r.err);
        cr_expect_neq(access(t.dirs.output, F_OK), 0, "%s", refused[i].said);
    }
}

Test(import, pickles_are_not_read)
{
    static struct program_result r;
    import_copy_model(&t, "bert");
    import_remove(&t, "model.safetensors");
    import_write(&t, "pytorch_model.bin", "x", 1);
    sluice_run(&r, ARGS("import", t.source, "--output", t.dirs.output));
    cr_expect_eq(r.exit_code, 2);
    cr_expect(strstr(r.err, "pytorch_model.bin, which is not read because it can run code"), "%s",
              r.err);
    cr_expect(strstr(r.err, "safe_serialization=True"), "%s", r.err);
}

Test(import, what_is_no_model_is_named)
{
    static struct program_result r;
    static const char no_model[] = "it is neither a directory of Hugging Face's, which has a";
    import_write(&t, "a.txt", "x", 1);
    import_expect_refused(&t, t.source, no_model);
    import_expect_refused(&t, SL_SOURCE_DIR "/README.md", no_model);
    import_expect_refused(&t, SL_SOURCE_DIR "/models/base/1", "it is a version already");
    import_expect_refused(&t, "/nowhere", "cannot open '/nowhere/config.json'");
    import_copy(&t, "gguf", "model.gguf");
    import_write(&t, "other.gguf", "x", 1);
    import_expect_refused(&t, t.source, "it has 2 GGUF files, each of them a model: keep one");
    sluice_run(&r, ARGS("generate", t.source, "--prompt", "a"));
    cr_expect(strstr(r.err, "it has 2 GGUF files"), "%s", r.err);
}

/* Of models without a length, tokenizer_config.json says 10^30. */
Test(import, a_whole_number_of_any_size_is_read)
{
    static struct program_result r;
    static const char config[] = "{\"model_max_length\": 1000000000000000019884624838656}";
    import_copy_model(&t, "bert");
    import_write(&t, "tokenizer_config.json", config, strlen(config));
    sluice_expect_success(&r, ARGS("import", t.source, "--output", t.dirs.output));
}

/* Its tokenizer is stored as tokenizer.json. */
Test(import, a_gguf_file_completes_as_before)
{
    static struct program_result as_it_is, imported;
    sluice_expect_success(&imported, ARGS("import", GOLDEN "gguf", "--output", t.dirs.output));
    sluice_expect_success(&as_it_is, ARGS("generate", GOLDEN "gguf", "--prompt", "It's 3 \xC3\xA9",
                                          "--max-tokens", "12", "--precision", "fp32"));
    sluice_expect_success(&imported, ARGS("generate", t.dirs.output, "--prompt", "It's 3 \xC3\xA9",
                                          "--max-tokens", "12", "--precision", "fp32"));
    cr_expect_str_eq(as_it_is.out, imported.out);
    cr_expect_gt(strlen(imported.out), 10);
}

/* Its vocabulary becomes a tokenizer.json, too. */
Test(import, an_encoder_in_a_gguf_file_embeds_as_before)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("import", GOLDEN "gguf_bert", "--output", t.dirs.output));
    import_expect_same(&t, "embed", GOLDEN "gguf_bert/model.gguf");
}
