/* command_import.c - `sluice import`: a model that another program wrote becomes a version. */
#include "base/option_parser.h"
#include "base/sha256.h"
#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/import_costs.h"
#include "cli/model_path.h"
#include "formats/json_io.h"
#include "model/model.h"
#include "pretrained/pretrained.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct arguments {
    const char *from, *out, *texts;
    bool bf16, json;
};

static const struct sl_option rows[] = {
    {"output", "DIR", "write the model to this directory, <store>/<model>/<version>",
     SL_OPTION_STRING, offsetof(struct arguments, out), 0, 0},
    {"bf16", NULL, "store matrices as bf16, which halves the size of the model", SL_OPTION_FLAG,
     offsetof(struct arguments, bf16), 0, 0},
    {"texts", "FILE",
     "measure what bf16 and int8 cost on the lines of this file [on texts of its own]",
     SL_OPTION_STRING, offsetof(struct arguments, texts), 0, 0},
    {"json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(struct arguments, json), 0, 0},
    {0}};

static void print_help(const char *operand)
{
    (void)operand;
    command_help(&command_import, &(struct sl_option_parser){.tables = {{.rows = rows}}});
    printf(
        "\nReads a directory of Hugging Face's (config.json, safetensors, tokenizer.json or\n"
        "vocab.txt, the files of sentence-transformers), or a GGUF file. Nothing in it is\n"
        "executed. What is not supported is refused by its name before anything is written.\n"
        "Its results in bf16 and int8 are compared with those in fp32. Where it changes them by\n"
        "at most 0.1 %%, int8 becomes the default on CPUs with VNNI and no AMX, or else bf16 on\n"
        "AMD's with AVX512-BF16; with AMX the default is bf16.\n"
        "Such a directory can also be served and used as it is.\n");
}

/* -- where it is from ------------------------------------------------------------------------- */

/* {"file": "LICENSE", "sha256": "..."}; null: there is none. */
static json_t *license_of(const char *directory)
{
    static const char *const names[] = {"LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING"};
    char path[SL_PATH_MAX], sha256[65];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sl_map map;
        struct sl_err ignored;
        if (!sl_path_join(path, directory, names[i], &ignored) ||
            !sl_map_open(&map, path, &ignored))
            continue;
        sl_sha256_hex(map.data, map.size, sha256);
        sl_map_close(&map);
        return json_pack("{s:s, s:s}", "file", names[i], "sha256", sha256);
    }
    return json_null();
}

/* The member "training" of config.json. */
static char *origin_of(const struct arguments *a, const struct sl_pretrained *p,
                       const struct import_costs *costs, struct sl_err *err)
{
    json_auto_t *origin = json_pack(
        "{s:{s:o, s:s, s:s, s:o, s:o}}", "imported", "from", sl_json_file_name(a->from), "class",
        p->published.task->architecture, "sha256", p->sha256, "license", license_of(a->from),
        "precision", sl_json_parse(costs->json, strlen(costs->json), err));
    if (origin)
        return sl_json_print(origin, SL_JSON_SHORT, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for the model's origin");
    return NULL;
}

/* -- the version ------------------------------------------------------------------------------ */

static void print_imported(const struct arguments *a, const struct sl_pretrained *p,
                           const struct sl_model *m, const struct import_costs *costs)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    const char *class = p->published.task->architecture;
    if (!a->json) {
        printf("%s: %s, %" PRId64 " parameters\nResults beside those in fp32, on %d texts:\n%s",
               a->out, class, sl_model_parameter_count(m), costs->texts, costs->words);
        return;
    }
    sl_json_add(&json, "{'directory':%s,'class':%s,'parameters':%lld,'precision':", a->out, class,
                (long long)sl_model_parameter_count(m));
    sl_json_add_raw(&json, costs->json, strlen(costs->json));
    sl_json_add(&json, "}");
    command_print_json(&text);
}

static bool write_version(const struct arguments *a, struct sl_pretrained *p, struct sl_model *m,
                          const struct import_costs *costs, struct sl_err *err)
{
    char *origin = origin_of(a, p, costs, err);
    if (!origin)
        return false;
    const struct sl_model_config model_config = {
        .arch = m->arch,
        .hyper = m->config,
        .policy = sl_policy_defaults(m->arch),
        .precision_costs = {[SL_PRECISION_BF16] = costs->bf16, [SL_PRECISION_INT8] = costs->int8},
        .labels = p->published.labels,
        .tokenizer = sl_tokenizer_kind(p->tokens),
        .lower = p->tokens->lower,
        .truncation_side = sl_tokenizer_truncation_side(p->tokens),
        .chat = p->chat,
        .prompts = p->published.prompts,
        .training = origin};
    const struct sl_checkpoint_parts parts = {.model_config = &model_config,
                                              .tokens = p->tokens,
                                              .parameters = m->state_dict,
                                              .count = m->state_dict_count,
                                              .matrices = a->bf16 ? SL_DTYPE_BF16 : SL_DTYPE_F32};
    bool ok = sl_checkpoint_write(a->out, &parts, err);
    free(origin);
    return ok;
}

static bool import(const struct arguments *a, struct sl_engine *engine, struct sl_err *err)
{
    struct sl_pretrained p;
    if (!sl_pretrained_open(&p, a->from, err))
        return sl_wrap(err, "'%s'", a->from);
    struct sl_model *m = sl_model_create(engine, p.published.arch, &p.published.config, err);
    struct import_costs costs = {0};
    bool ok = m && sl_pretrained_load(&p, m->state_dict, m->state_dict_count, err);
    if (!ok)
        (void)sl_wrap(err, "'%s'", a->from);
    ok = ok && import_costs_measure(&costs, m, p.tokens, a->texts, err) &&
         write_version(a, &p, m, &costs, err);
    if (ok)
        print_imported(a, &p, m, &costs);
    import_costs_release(&costs);
    if (m)
        sl_model_close(m);
    sl_pretrained_close(&p);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = &a.from, .operands_max = 1};
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!a.from || !a.out)
        return sl_fail(err, SL_BAD_INPUT, "missing %s",
                       a.from ? "--output DIR: the directory to create"
                              : "SOURCE: a directory of Hugging Face's, or a GGUF file");
    if (!model_path_check_output(a.out, NULL, err) || !model_path_check_new(a.out, NULL, err))
        return false;
    struct sl_engine *engine = command_training_engine(1, NULL, NULL, err);
    bool ok = engine && import(&a, engine, err);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_import = {
    .name = "import",
    .operands = "SOURCE --output DIR",
    .help = "make a version of a model of Hugging Face's or llama.cpp's",
    .run = run,
    .print_help = print_help,
};
