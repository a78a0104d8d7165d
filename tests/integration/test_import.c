/* test_import.c - `sluice import`: directories of other programs become versions, and what is not
 * supported is refused by its name. */
#include "base/file.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pretrained/"

static struct workspace dirs;
static char source[PATH_MAX + 8]; /* a copy of a model that may be changed */

static void setup(void)
{
    sluice_setup(&dirs);
    (void)snprintf(source, sizeof source, "%s/source", dirs.top);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(import, .init = setup, .fini = teardown);

/* -- a copy ----------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text, size_t bytes)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    EXPECT_OK(sl_directory_make(source, &err), err);
    EXPECT_OK(sl_path_join(path, source, name, &err), err);
    char *end = strchr(name, '/') ? strrchr(path, '/') : NULL;
    if (end) { /* in a directory of its own */
        *end = '\0';
        EXPECT_OK(sl_directory_make(path, &err), err);
        *end = '/';
    }
    EXPECT_OK(sl_file_replace(path, &(struct sl_slice){text, bytes}, 1, &err), err);
}

/* The text of a file of a golden model; free() it. */
static char *read_golden(const char *model, const char *name, size_t *bytes)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    (void)snprintf(path, sizeof path, GOLDEN "%s/%s", model, name);
    EXPECT_OK(sl_map_open(&map, path, &err), err);
    char *text = malloc(map.size + 1);
    cr_assert(text);
    memcpy(text, map.data, map.size);
    text[map.size] = '\0';
    *bytes = map.size;
    sl_map_close(&map);
    return text;
}

static void copy_file(const char *model, const char *name)
{
    size_t bytes;
    char *text = read_golden(model, name, &bytes);
    write_file(name, text, bytes);
    free(text);
}

static void copy_model(const char *model)
{
    copy_file(model, "config.json");
    copy_file(model, "model.safetensors");
    copy_file(model, "tokenizer.json");
}

/* Writes a copy of a file in which the first `from` is `to`. */
static void change_file(const char *model, const char *name, const char *from, const char *to)
{
    size_t bytes;
    char *text = read_golden(model, name, &bytes);
    char *at = memmem(text, bytes, from, strlen(from));
    cr_assert(at, "%s has no %s", name, from);
    const size_t before = (size_t)(at - text), size = bytes - strlen(from) + strlen(to);
    char *changed = malloc(size);
    cr_assert(changed);
    memcpy(changed, text, before);
    memcpy(changed + before, to, strlen(to));
    memcpy(changed + before + strlen(to), at + strlen(from), bytes - before - strlen(from));
    write_file(name, changed, size);
    free(changed);
    free(text);
}

static void remove_file(const char *name)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    EXPECT_OK(sl_path_join(path, source, name, &err), err);
    cr_assert_eq(unlink(path), 0);
}

/* -- what is imported ------------------------------------------------------------------------- */

static void expect_same_answers(const char *command, const char *model)
{
    static struct program_result as_it_is, imported;
    static const char texts[] =
        "a b c\nno two texts are alike\nabc def ghi jkl mno pqr stu vwx yz\n";
    char path[SL_PATH_MAX];
    struct sl_err err;
    write_file("texts", texts, strlen(texts));
    EXPECT_OK(sl_path_join(path, source, "texts", &err), err);
    sluice_expect_success(&as_it_is, ARGS(command, model, path, "--json", "--precision", "fp32"));
    sluice_expect_success(&imported,
                          ARGS(command, dirs.output, path, "--json", "--precision", "fp32"));
    cr_expect_str_eq(as_it_is.out, imported.out);
    cr_expect_gt(strlen(imported.out), 100);
}

Test(import, a_sentence_encoder_embeds_as_before)
{
    static struct program_result r;
    json_t *o =
        sluice_expect_json(&r, ARGS("import", GOLDEN "bert", "--output", dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "class")), "BertModel");
    json_decref(o);
    expect_same_answers("embed", GOLDEN "bert");
}

Test(import, a_classifier_keeps_its_labels)
{
    static struct program_result r;
    sluice_expect_success(&r, ARGS("import", GOLDEN "roberta_classifier", "--output", dirs.output));
    cr_expect(strstr(r.out, "RobertaForSequenceClassification"), "%s", r.out);
    expect_same_answers("classify", GOLDEN "roberta_classifier");
}

Test(import, shards_and_old_names_are_read)
{
    static struct program_result r;
    copy_model("bert");
    remove_file("model.safetensors");
    copy_file("bert", "model.safetensors");
    char from[SL_PATH_MAX], to[SL_PATH_MAX];
    static const char index[] = "{\"metadata\": {}, \"weight_map\": "
                                "{\"embeddings.word_embeddings.weight\": \"a.safetensors\"}}";
    struct sl_err err;
    EXPECT_OK(sl_path_join(from, source, "model.safetensors", &err), err);
    EXPECT_OK(sl_path_join(to, source, "a.safetensors", &err), err);
    cr_assert_eq(rename(from, to), 0);
    write_file("model.safetensors.index.json", index, strlen(index));
    sluice_expect_success(&r, ARGS("import", source, "--output", dirs.output));
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
    sluice_expect_success(&r, ARGS("import", GOLDEN "llama_chat", "--output", dirs.output));
    expect_answer(dirs.output, want);
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
        copy_model("llama_chat");
        copy_file("llama_chat", "tokenizer_config.json");
        change_file("llama_chat", cases[i].file, cases[i].from, cases[i].to);
        sluice_run(&r, ARGS("import", source, "--output", dirs.output));
        cr_expect_neq(r.exit_code, 0);
        cr_expect(strstr(r.err, cases[i].part), "'%s' is not in %s", cases[i].part, r.err);
        remove_file(cases[i].file);
    }
}

/* -- what a precision costs ------------------------------------------------------------------- */

/* A number of "int8" as import prints it. */
static double int8_cost(const char *model, const char *name, int texts, const char *file)
{
    static struct program_result r;
    char output[SL_PATH_MAX + 16];
    (void)snprintf(output, sizeof output, "%s/%s/1", dirs.top, model);
    char golden[PATH_MAX];
    (void)snprintf(golden, sizeof golden, GOLDEN "%s", model);
    json_t *o = sluice_expect_json(
        &r, ARGS("import", golden, "--output", output, "--json", file ? "--texts" : NULL, file));
    const json_t *precision = json_object_get(o, "precision");
    cr_expect_eq(json_integer_value(json_object_get(precision, "texts")), texts);
    const json_t *value = json_object_get(json_object_get(precision, "int8"), name);
    cr_assert(json_is_number(value), "%s: %s", model, r.out);
    const double number = json_number_value(value);
    json_decref(o);
    return number;
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

Test(import, what_int8_costs_is_measured_on_the_users_texts)
{
    static struct program_result r;
    char path[SL_PATH_MAX];
    struct sl_err err;
    write_file("texts", "one\n\ntwo two\n", 13);
    EXPECT_OK(sl_path_join(path, source, "texts", &err), err);
    (void)int8_cost("bert", "cosine", 2, path);
    write_file("texts", "\n\n", 2);
    sluice_run(&r, ARGS("import", GOLDEN "bert", "--output", dirs.output, "--texts", path));
    cr_expect_eq(r.exit_code, 2);
    cr_expect(strstr(r.err, "expected a text on each line"), "%s", r.err);
    cr_expect_neq(access(dirs.output, F_OK), 0);
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
        copy_model(refused[i].model);
        change_file(refused[i].model, "config.json", refused[i].from, refused[i].to);
        sluice_run(&r, ARGS("import", source, "--output", dirs.output));
        cr_expect_eq(r.exit_code, 2, "%s: %d", refused[i].said, r.exit_code);
        cr_expect(strstr(r.err, refused[i].said), "want %s, said: %s", refused[i].said, r.err);
        cr_expect_neq(access(dirs.output, F_OK), 0, "%s", refused[i].said);
    }
}

Test(import, pickles_are_not_read)
{
    static struct program_result r;
    copy_model("bert");
    remove_file("model.safetensors");
    write_file("pytorch_model.bin", "x", 1);
    sluice_run(&r, ARGS("import", source, "--output", dirs.output));
    cr_expect_eq(r.exit_code, 2);
    cr_expect(strstr(r.err, "pytorch_model.bin, which is not read because it can run code"), "%s",
              r.err);
    cr_expect(strstr(r.err, "safe_serialization=True"), "%s", r.err);
}

Test(import, other_modules_of_sentence_transformers_are_refused)
{
    static struct program_result r;
    static const char modules[] = "[{\"type\": \"sentence_transformers.models.Transformer\"},"
                                  "{\"type\": \"sentence_transformers.models.Dense\"}]";
    copy_model("bert");
    write_file("modules.json", modules, strlen(modules));
    sluice_run(&r, ARGS("import", source, "--output", dirs.output));
    cr_expect_eq(r.exit_code, 2);
    cr_expect(strstr(r.err, "the module 'Dense' is not supported"), "%s", r.err);
}

static void expect_refused(const char *from, const char *said)
{
    static struct program_result r;
    sluice_run(&r, ARGS("import", from, "--output", dirs.output));
    cr_expect_eq(r.exit_code, 2, "%s: %d", said, r.exit_code);
    cr_expect(strstr(r.err, said), "want %s, said: %s", said, r.err);
}

Test(import, what_is_no_model_is_named)
{
    static struct program_result r;
    static const char no_model[] = "it is neither a directory of Hugging Face's, which has a";
    write_file("a.txt", "x", 1);
    expect_refused(source, no_model);
    expect_refused(SL_SOURCE_DIR "/README.md", no_model);
    expect_refused(SL_SOURCE_DIR "/models/base/1", "it is a version already");
    expect_refused("/nowhere", "cannot open '/nowhere/config.json'");
    copy_file("gguf", "model.gguf");
    write_file("other.gguf", "x", 1);
    expect_refused(source, "it has 2 GGUF files, each of them a model: keep one");
    sluice_run(&r, ARGS("generate", source, "--prompt", "a"));
    cr_expect(strstr(r.err, "it has 2 GGUF files"), "%s", r.err);
}

/* -- prompts ---------------------------------------------------------------------------------- */

#define SENTENCES SL_SOURCE_DIR "/tests/golden/sentences/"

/* What `sluice embed --prompt-name` prints for a text, in fp32. */
static const char *embed(struct program_result *r, const char *model, const char *prompt,
                         const char *text)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    write_file("text", text, strlen(text));
    EXPECT_OK(sl_path_join(path, source, "text", &err), err);
    sluice_expect_success(
        r, prompt ? ARGS("embed", model, path, "--precision", "fp32", "--prompt-name", prompt)
                  : ARGS("embed", model, path, "--precision", "fp32"));
    *strchr(r->out, '\t') = '\0';
    return r->out;
}

/* A prompt is what would otherwise be written before each text. */
Test(import, prompts_are_kept)
{
    static struct program_result r, other;
    sluice_expect_success(&r, ARGS("import", SENTENCES "prompts", "--output", dirs.output));
    cr_expect_str_eq(embed(&r, dirs.output, "query", "uick fox\n"),
                     embed(&other, SENTENCES "prompts", "none", "find: quick fox\n"));
    cr_expect_str_eq(embed(&r, dirs.output, NULL, "fox\n"),
                     embed(&other, dirs.output, "none", "passage: fox\n"));
    cr_expect_str_neq(embed(&r, dirs.output, NULL, "fox\n"),
                      embed(&other, dirs.output, "none", "fox\n"));
    sluice_expect_success(&r, ARGS("inspect", dirs.output));
    cr_expect(strstr(r.out, "\n  query                    \"find: q\"\n"), "%s", r.out);
    cr_expect(strstr(r.out, " \"passage: \" (default)\n"), "%s", r.out);
    json_t *o = sluice_expect_json(&r, ARGS("inspect", dirs.output, "--json"));
    cr_expect_str_eq(json_string_value(json_object_get(o, "default_prompt_name")), "passage");
    json_decref(o);
}

Test(import, a_prompt_that_there_is_not_is_an_error)
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

Test(import, a_pooling_without_prompts_is_refused_with_them)
{
    static struct program_result r;
    static const char prompts[] = "{\"prompts\": {\"a\": \"b\"}}",
                      none[] = "{\"prompts\": {\"a\": \"\"}}";
    copy_model("bert");
    copy_file("bert", "modules.json");
    change_file("bert", "1_Pooling/config.json", "{", "{\"include_prompt\": false, ");
    write_file("config_sentence_transformers.json", prompts, strlen(prompts));
    expect_refused(source,
                   "'include_prompt' is false, which is not supported with prompts, such as 'a'");
    write_file("config_sentence_transformers.json", none, strlen(none));
    sluice_expect_success(&r, ARGS("import", source, "--output", dirs.output));
}

/* What config_sentence_transformers.json says, and why it is refused. */
Test(import, prompts_have_bounds)
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
    copy_model("bert");
    copy_file("bert", "modules.json");
    copy_file("bert", "1_Pooling/config.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("config_sentence_transformers.json", cases[i].json, strlen(cases[i].json));
        expect_refused(source, cases[i].why);
    }
    memset(text, 'x', 4097);
    size_t bytes = (size_t)snprintf(many, sizeof many, "{\"prompts\": {\"a\": \"%s\"}}", text);
    write_file("config_sentence_transformers.json", many, bytes);
    expect_refused(source, "the prompt 'a' has 4097 bytes: expected at most 4096");
    bytes = (size_t)snprintf(many, sizeof many, "{\"prompts\": {\"0\": \"\"");
    for (int i = 1; i <= 256; i++)
        bytes += (size_t)snprintf(many + bytes, sizeof many - bytes, ", \"%d\": \"\"", i);
    bytes += (size_t)snprintf(many + bytes, sizeof many - bytes, "}}");
    write_file("config_sentence_transformers.json", many, bytes);
    expect_refused(source, "more than 256 prompts");
}

/* Of models without a length, tokenizer_config.json says 10^30. */
Test(import, a_whole_number_of_any_size_is_read)
{
    static struct program_result r;
    static const char config[] = "{\"model_max_length\": 1000000000000000019884624838656}";
    copy_model("bert");
    write_file("tokenizer_config.json", config, strlen(config));
    sluice_expect_success(&r, ARGS("import", source, "--output", dirs.output));
}

/* Its tokenizer is stored as tokenizer.json. */
Test(import, a_gguf_file_completes_as_before)
{
    static struct program_result as_it_is, imported;
    sluice_expect_success(&imported, ARGS("import", GOLDEN "gguf", "--output", dirs.output));
    sluice_expect_success(&as_it_is, ARGS("generate", GOLDEN "gguf", "--prompt", "It's 3 \xC3\xA9",
                                          "--max-tokens", "12", "--precision", "fp32"));
    sluice_expect_success(&imported, ARGS("generate", dirs.output, "--prompt", "It's 3 \xC3\xA9",
                                          "--max-tokens", "12", "--precision", "fp32"));
    cr_expect_str_eq(as_it_is.out, imported.out);
    cr_expect_gt(strlen(imported.out), 10);
}
