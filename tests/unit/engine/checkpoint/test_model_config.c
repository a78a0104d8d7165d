/* test_model_config.c - config.json: every architecture comes back, every mistake is named. */
#include "checkpoint/model_config.h"
#include "layers/router.h"
#include "support/model_fixture.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sl_model_config card_of(const struct sl_arch *arch)
{
    struct sl_model_config model_config = {
        .arch = arch, .policy = sl_policy_defaults(arch), .tokenizer = "characters"};
    sl_config_set_defaults(arch, &model_config.hyper);
    model_config.hyper.vocab = 65;
    return model_config;
}

/* ---- round trips ---------------------------------------------------------------------------- */

static void expect_same(const struct sl_model_config *a, const struct sl_model_config *b)
{
    cr_assert_eq(a->arch, b->arch);
    cr_assert_eq(a->hyper.task, b->hyper.task);
    cr_assert_eq(a->hyper.classes, b->hyper.classes);
    cr_assert_eq(a->hyper.multi_label, b->hyper.multi_label);
    for (int i = 0; i < a->hyper.classes; i++)
        cr_assert_str_eq(a->labels[i], b->labels[i]);
    cr_assert_str_eq(a->tokenizer, b->tokenizer);
    cr_assert_eq(a->hyper.vocab, b->hyper.vocab);
    for (const struct sl_param *h = a->arch->hypers; h->name; h++)
        cr_assert_eq(sl_param_get(h, &a->hyper), sl_param_get(h, &b->hyper), "%s", h->name);
    for (const struct sl_param *r = sl_policy_rows(a->arch); r->name; r++)
        cr_assert_eq(sl_param_get(r, a->policy.own), sl_param_get(r, b->policy.own), "%s", r->name);
}

static void round_trip(const struct sl_model_config *model_config)
{
    struct sl_model_config again = {0};
    struct sl_err err;
    char *text = NULL;
    EXPECT_OK((text = sl_model_config_print(model_config, &err)), err);
    EXPECT_OK(sl_model_config_read(&again, text, strlen(text), &err), err);
    expect_same(model_config, &again);
    free(text);
    sl_model_config_release(&again);
    sl_model_config_release(&again);
}

Test(config, every_architecture_comes_back)
{
    static char bad_label[] = "bad", good_label[] = "very \"good\"";
    char *labels[] = {bad_label, good_label};
    for (int i = 0; sl_arch_at(i); i++) {
        struct sl_model_config model_config = card_of(sl_arch_at(i));
        if (model_config.arch->tasks & SL_COMPLETES)
            round_trip(&model_config);
        if (model_config.arch->tasks & SL_CLASSIFIES) {
            model_config.hyper.task = SL_TASK_CLASSIFICATION;
            model_config.hyper.classes = COUNT(labels);
            model_config.labels = labels;
            model_config.hyper.multi_label = i % 2 == 0;
        }
        for (int p = 0; p < FIXTURE_POLICIES; p++) {
            model_config.policy = fixture_policy(model_config.arch, p);
            round_trip(&model_config);
        }
    }
}

/* Each hyper-parameter at both ends of its range. */
Test(config, every_bound_comes_back)
{
    for (int i = 0; sl_arch_at(i); i++) {
        const struct sl_arch *arch = sl_arch_at(i);
        for (const struct sl_param *h = arch->hypers; h->name; h++) {
            struct sl_model_config model_config = card_of(arch);
            struct sl_err err;
            const double ends[] = {h->min, h->max};
            for (size_t end = 0; end < COUNT(ends); end++) {
                EXPECT_OK(sl_param_set(h, &model_config.hyper, ends[end], &err), err);
                if (sl_config_check(arch, &model_config.hyper, &err))
                    round_trip(&model_config);
            }
        }
    }
}

Test(config, numbers_are_printed_as_they_were_meant)
{
    struct sl_model_config model_config = card_of(sl_arch_find("tsa"));
    struct sl_err err;
    model_config.training =
        (char[]){"{\"seed\":18446744073709, \"loss\":1.4697, \"by\":\"caf\xC3\xA9\"}"};
    char *text = sl_model_config_print(&model_config, &err);
    static const char *const want[] = {"\"gate_limit\": 0.9",       "\"dropout\": 0.1,",
                                       "\"compute_weight\": 0.001", "\"seed\": 18446744073709,",
                                       "\"loss\": 1.4697,",         "\"by\": \"caf\xC3\xA9\"",
                                       "\"file\": \"vocab.json\"",  "\"format\": \"sluice-1\""};
    for (size_t i = 0; i < COUNT(want); i++)
        cr_assert(strstr(text, want[i]), "no %s in %s", want[i], text);
    cr_assert_eq(text[strlen(text) - 1], '\n');

    struct sl_model_config again = {0};
    EXPECT_OK(sl_model_config_read(&again, text, strlen(text), &err), err);
    cr_assert(strstr(again.training, "\"loss\":1.4697"), "%s", again.training);
    sl_model_config_release(&again);
    free(text);
}

/* What a task or an architecture does not use is not written, and not accepted either. */
Test(config, holds_only_what_its_task_uses)
{
    static char bad_label[] = "bad", good_label[] = "good";
    char *labels[] = {bad_label, good_label}, *text;
    struct sl_err err;
    struct sl_model_config model_config = card_of(sl_arch_find("vanilla"));
    EXPECT_OK((text = sl_model_config_print(&model_config, &err)), err);
    cr_assert_null(strstr(text, "bidirectional"), "%s", text);
    cr_assert_null(strstr(text, "pooling"), "%s", text);
    cr_assert_null(strstr(text, "truncation_side"), "%s", text);
    cr_assert_null(strstr(text, "inference"), "%s", text);
    free(text);
    model_config.hyper.task = SL_TASK_CLASSIFICATION;
    model_config.hyper.classes = COUNT(labels);
    model_config.labels = labels;
    model_config.truncation_side = SL_TRUNCATE_LEFT;
    EXPECT_OK((text = sl_model_config_print(&model_config, &err)), err);
    cr_assert(strstr(text, "\"bidirectional\": true"), "%s", text);
    cr_assert(strstr(text, "\"pooling\": \"mean\""), "%s", text);
    cr_assert(strstr(text, "\"truncation_side\": \"left\""), "%s", text);
    struct sl_model_config again = {0};
    EXPECT_OK(sl_model_config_read(&again, text, strlen(text), &err), err);
    cr_assert_eq(again.truncation_side, SL_TRUNCATE_LEFT);
    sl_model_config_release(&again);
    char *side = strstr(text, ",\n    \"truncation_side\": \"left\"");
    cr_assert(side, "%s", text);
    memset(side, ' ', strlen(",\n    \"truncation_side\": \"left\"")); /* an older file */
    EXPECT_OK(sl_model_config_read(&again, text, strlen(text), &err), err);
    cr_expect_eq(again.truncation_side, SL_TRUNCATE_RIGHT);
    sl_model_config_release(&again);
    free(text);
}

Test(config, what_could_not_be_read_is_not_printed)
{
    struct sl_model_config model_config = card_of(sl_arch_find("vanilla"));
    struct sl_err err;
    model_config.training = (char[]){"[1]"};
    EXPECT_FAIL(sl_model_config_print(&model_config, &err), err, SL_CORRUPT,
                "training: the JSON is an array");
    model_config.training = (char[]){"{\"a\":"};
    EXPECT_FAIL(sl_model_config_print(&model_config, &err), err, SL_CORRUPT, "training: not JSON");
    model_config.training = NULL;
    model_config.hyper.width = 0;
    EXPECT_FAIL(sl_model_config_print(&model_config, &err), err, SL_BAD_INPUT,
                "invalid width '0': expected");
}

/* ---- what is refused ------------------------------------------------------------------------ */

#define HYPER                                                                                      \
    "\"width\":64,\"depth\":2,\"heads\":4,\"ffn_width\":128,\"context_length\":32,"                \
    "\"dropout\":0.1,"                                                                             \
    "\"compute_weight\":0.001,\"router_bias\":-1,\"router_width\":0"

static const char good[] =
    "{\"format\":\"sluice-1\",\"architecture\":\"tsa\",\"task\":\"completion\","
    "\"hyperparameters\":{" HYPER
    "},\"vocab_size\":65,\"tokenizer\":{\"kind\":\"characters\",\"file\":\"vocab.json\"},"
    "\"inference\":{\"gate\":\"mixed\",\"gate_limit\":0.5},\"training\":{\"any\":[1]}}";

#define POINT(budget, limit)                                                                       \
    "{\"budget\":" budget ",\"gate_limit\":" limit ",\"loss\":1.5,\"layer_ops_skipped\":0.25}"
#define POINTS(points) "\"operating_points\":[" points "],\"training\""

/* `good` with its first `from` replaced by `to`. */
static const struct {
    const char *from, *to;
    enum sl_code code;
    const char *want;
} bad_edits[] = {
    {"{\"format\"", "[{\"format\"", SL_CORRUPT, "not JSON: line 1"},
    {"\"sluice-1\"", "\"sluice-2\"", SL_CORRUPT,
     "invalid 'format' 'sluice-2': expected 'sluice-1'"},
    {"\"format\":\"sluice-1\",", "", SL_CORRUPT, "'format' is missing: expected a string"},
    {"\"vocab_size\"", "\"vocabulary\"", SL_CORRUPT,
     "unknown key 'vocabulary': expected one of: format, architecture, task, labels, "
     "problem_type, hyperparameters, vocab_size, "
     "tokenizer, inference, operating_points, bf16_loss_increase, int8_loss_increase, base, chat, "
     "prompts, default_prompt_name, training"},
    {"\"vocab_size\":65", "\"vocab_size\":65,\"vocab_size\":65", SL_CORRUPT, "not JSON"},
    {"\"vocab_size\":65,", "", SL_CORRUPT, "'vocab_size' is missing: expected a whole number"},
    {"\"vocab_size\":65", "\"vocab_size\":65.0", SL_CORRUPT, "'vocab_size' is a real number"},
    {"\"vocab_size\":65", "\"vocab_size\":0", SL_CORRUPT,
     "invalid 'vocab_size' 0: expected 1 to 2097152"},
    {"\"vocab_size\":65", "\"vocab_size\":4294967361", SL_CORRUPT,
     "invalid 'vocab_size' 4294967361"},
    {"\"tsa\"", "\"tsar\"", SL_CORRUPT, "unknown architecture 'tsar': expected one of: "},
    {"\"tsa\"", "7", SL_CORRUPT, "'architecture' is a whole number: expected a string"},
    {"\"tsa\"", "\"ts\\u0000a\"", SL_CORRUPT, "'architecture' contains a NUL"},
    {"\"vocab_size\"", "\"problem_type\":\"multi_label_classification\",\"vocab_size\"", SL_CORRUPT,
     "'problem_type' is for classification only"},
    {"\"completion\"", "\"poetry\"", SL_CORRUPT,
     "invalid 'task' 'poetry': expected one of: 'completion', 'classification'"},
    {"\"width\":64", "\"widht\":64", SL_CORRUPT,
     "hyperparameters: unknown key 'widht': expected one of: width, "},
    {"\"width\":64", "\"width\":64.0", SL_CORRUPT, "hyperparameters: 'width' is a real number"},
    {"\"width\":64", "\"width\":\"64\"", SL_CORRUPT, "hyperparameters: 'width' is a string"},
    {"\"width\":64", "\"width\":0", SL_BAD_INPUT, "hyperparameters: invalid width '0': expected"},
    {"\"width\":64", "\"width\":4294967360", SL_BAD_INPUT,
     "hyperparameters: invalid width '4294967360'"},
    {"\"width\":64", "\"width\":64,\"width\":64", SL_CORRUPT, "not JSON"},
    {"\"dropout\":0.1", "\"dropout\":1", SL_BAD_INPUT,
     "hyperparameters: invalid dropout '1': expected"},
    {"\"dropout\":0.1", "\"dropout\":null", SL_CORRUPT,
     "'dropout' is null: expected a real number"},
    {"\"dropout\":0.1", "\"dropout\":1e999", SL_CORRUPT, "not JSON"},
    {"\"heads\":4", "\"heads\":3", SL_BAD_INPUT,
     "heads is 3 and width 64: width must be a multiple of heads"},
    {"\"hyperparameters\":{" HYPER "}", "\"hyperparameters\":[]", SL_CORRUPT,
     "'hyperparameters' is an array: expected an object"},
    {"\"characters\"", "\"syllables\"", SL_CORRUPT,
     "tokenizer: invalid 'kind' 'syllables': expected one of: 'characters'"},
    {"\"vocab.json\"", "\"../vocab.json\"", SL_CORRUPT,
     "tokenizer: invalid 'file' '../vocab.json': expected one of: 'vocab.json'"},
    {"\"kind\":\"characters\",", "", SL_CORRUPT, "tokenizer: 'kind' is missing"},
    {"\"file\":", "\"fiel\":", SL_CORRUPT,
     "tokenizer: unknown key 'fiel': expected one of: kind, file"},
    {"\"width\":64", "\"width\":64,\"pooling\":\"mean\"", SL_CORRUPT,
     "hyperparameters: unknown key 'pooling': expected one of: width, "},
    {"\"mixed\"", "\"medium\"", SL_BAD_INPUT,
     "inference: invalid gate 'medium': expected one of: soft, hard, mixed"},
    {"\"mixed\"", "true", SL_CORRUPT, "inference: 'gate' is true or false: expected a string"},
    {"\"gate_limit\":0.5", "\"gate_limit\":-0.1", SL_BAD_INPUT,
     "inference: invalid gate_limit '-0.1': expected a number from 0 to 1"},
    {"\"gate_limit\":0.5", "\"gate_limit\":\"0.5\"", SL_CORRUPT, "'gate_limit' is a string"},
    {"\"gate_limit\"", "\"gate_limits\"", SL_CORRUPT,
     "inference: unknown key 'gate_limits': expected one of: gate, gate_limit"},
    {"\"gate_limit\":0.5", "\"exit_threshold\":1", SL_CORRUPT,
     "inference: unknown key 'exit_threshold': expected one of: gate, gate_limit"},
    {"\"training\"", POINTS("{}"), SL_CORRUPT, "operating_points: item 0: 'budget' is missing"},
    {"\"training\"", POINTS("7"), SL_CORRUPT, "operating_points: item 0: a whole number: expected"},
    {"\"training\"", POINTS(""), SL_CORRUPT, "'operating_points' is an array of 0: expected"},
    {"\"training\"", POINTS(POINT("0.9", "1")), SL_CORRUPT,
     "item 0: 'budget' is 0.9: the first is 1"},
    {"\"training\"", POINTS(POINT("1", "1") "," POINT("1", "0.5")), SL_CORRUPT,
     "item 1: 'budget' is 1: expected less than the one before, 1"},
    {"\"training\"", POINTS(POINT("1", "1.5")), SL_CORRUPT,
     "item 0: 'gate_limit' is out of range: expected a number from 0 to 1"},
    {"\"training\"", POINTS(POINT("\"1\"", "1")), SL_CORRUPT, "item 0: 'budget' is a string"},
    {"\"training\"", POINTS("{\"exit_threshold\":1}"), SL_CORRUPT,
     "item 0: unknown key 'exit_threshold': expected one of: budget, gate_limit, loss, accuracy, "
     "layer_ops_skipped"},
    {"\"training\"", "\"int8_loss_increase\":null,\"training\"", SL_CORRUPT,
     "'int8_loss_increase' is null: expected a number"},
    {"\"training\"", "\"bf16_loss_increase\":\"0\",\"training\"", SL_CORRUPT,
     "'bf16_loss_increase' is a string: expected a number"},
    {"\"training\"", "\"base\":\"base/1\",\"training\"", SL_CORRUPT,
     "'base' is a string: expected an object"},
    {"\"training\"", "\"base\":{\"model\":\"../1\",\"sha256\":\"00\"},\"training\"", SL_CORRUPT,
     "base: invalid 'model' '../1': expected <model>/<version>"},
    {"\"training\"", "\"base\":{\"model\":\"base/1\",\"sha256\":\"00\"},\"training\"", SL_CORRUPT,
     "base: invalid 'sha256' '00': expected 64 hex digits"},
    {"\"training\"", "\"chat\":[],\"training\"", SL_CORRUPT,
     "'chat' is an array: expected an object"},
    {"\"training\"", "\"chat\":{\"template\":\"basic\"},\"training\"", SL_CORRUPT,
     "chat: unknown 'template' 'basic': expected one of: chatml, smollm2"},
    {"\"training\"", "\"chat\":{\"template\":7},\"training\"", SL_CORRUPT,
     "chat: 'template' is a whole number: expected a string"},
    {"\"training\"", "\"chat\":{\"end_tokens\":[\"x\"]},\"training\"", SL_CORRUPT,
     "chat: end_tokens: item 0 is a string: expected an id"},
    {"\"training\"", "\"chat\":{\"end\":[]},\"training\"", SL_CORRUPT,
     "chat: unknown key 'end': expected one of: template, unknown_template"},
    {"{\"any\":[1]}", "\"none\"", SL_CORRUPT, "'training' is a string: expected an object"},
    {"{\"any\":[1]}", "{\"a\":1,\"a\":2}", SL_CORRUPT, "not JSON"},
};

static void edit(char *out, size_t room, const char *from, const char *to)
{
    const char *at = strstr(good, from);
    cr_assert(at, "no %s to edit", from);
    int length = snprintf(out, room, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    cr_assert_lt((size_t)length, room);
}

Test(config, mistakes_are_named)
{
    for (size_t i = 0; i < COUNT(bad_edits); i++) {
        char text[2048];
        struct sl_model_config model_config = {.tokenizer = "untouched"};
        struct sl_err err;
        edit(text, sizeof text, bad_edits[i].from, bad_edits[i].to);
        EXPECT_FAIL(sl_model_config_read(&model_config, text, strlen(text), &err), err,
                    bad_edits[i].code, bad_edits[i].want);
        cr_assert_str_eq(model_config.tokenizer, "untouched");
        cr_assert_null(model_config.arch);
    }
}

/* Printed and read again. */
Test(config, operating_points_are_kept)
{
    char text[2048];
    struct sl_model_config model_config = {0}, again = {0};
    struct sl_err err;
    edit(text, sizeof text, "\"training\"", POINTS(POINT("1.0", "1") "," POINT("0.5", "0.4")));
    EXPECT_OK(sl_model_config_read(&model_config, text, strlen(text), &err), err);
    char *printed = sl_model_config_print(&model_config, &err);
    cr_assert(printed, "%s", err.text);
    EXPECT_OK(sl_model_config_read(&again, printed, strlen(printed), &err), err);
    cr_assert_eq(again.operating_point_count, 2);
    cr_assert_eq(again.operating_points[0].budget, 1);
    cr_assert_eq(again.operating_points[1].budget, 0.5);
    cr_assert_eq(again.operating_points[1].threshold, 0.4);
    cr_assert_eq(again.operating_points[1].loss, 1.5);
    cr_assert(isnan(again.operating_points[1].accuracy));
    cr_assert_eq(again.operating_points[1].layer_ops_skipped, 0.25);
    free(printed);
    sl_model_config_release(&model_config);
    sl_model_config_release(&again);
}

Test(config, what_precisions_cost_is_kept)
{
    char text[2048];
    struct sl_model_config model_config = {0}, again = {0};
    struct sl_err err;
    EXPECT_OK(sl_model_config_read(&model_config, good, strlen(good), &err), err);
    cr_assert_not(model_config.precision_costs[SL_PRECISION_BF16].measured);
    cr_assert_not(model_config.precision_costs[SL_PRECISION_INT8].measured);
    sl_model_config_release(&model_config);
    edit(text, sizeof text, "\"training\"",
         "\"int8_loss_increase\":-0.25,\"bf16_loss_increase\":0,\"training\"");
    EXPECT_OK(sl_model_config_read(&model_config, text, strlen(text), &err), err);
    char *printed = sl_model_config_print(&model_config, &err);
    cr_assert(printed, "%s", err.text);
    EXPECT_OK(sl_model_config_read(&again, printed, strlen(printed), &err), err);
    cr_assert(again.precision_costs[SL_PRECISION_BF16].measured);
    cr_assert_eq(again.precision_costs[SL_PRECISION_BF16].increase, 0.0);
    cr_assert(again.precision_costs[SL_PRECISION_INT8].measured);
    cr_assert_eq(again.precision_costs[SL_PRECISION_INT8].increase, -0.25);
    free(printed);
    sl_model_config_release(&model_config);
    sl_model_config_release(&again);
}

Test(config, what_may_be_missing)
{
    static const char *const optional[] = {"\"inference\":{\"gate\":\"mixed\",\"gate_limit\":0.5},",
                                           ",\"training\":{\"any\":[1]}", "\"gate\":\"mixed\",",
                                           ",\"gate_limit\":0.5"};
    for (size_t i = 0; i < COUNT(optional); i++) {
        char text[2048];
        struct sl_model_config model_config = {0};
        struct sl_err err;
        edit(text, sizeof text, optional[i], "");
        EXPECT_OK(sl_model_config_read(&model_config, text, strlen(text), &err), err);
        struct sl_policy usual = sl_policy_defaults(model_config.arch);
        const struct sl_gate_policy *own = sl_policy_own(&model_config.policy),
                                    *want = sl_policy_own(&usual);
        bool said = strstr(text, "gate_limit") != NULL;
        cr_assert_eq(own->gate, want->gate);
        cr_assert_float_eq((double)own->gate_limit, said ? 0.5 : (double)want->gate_limit, 1e-7);
        sl_model_config_release(&model_config);
    }
}

Test(config, every_truncation_is_rejected)
{
    struct sl_model_config model_config = {0};
    struct sl_err err;
    EXPECT_OK(sl_model_config_read(&model_config, good, strlen(good), &err), err);
    sl_model_config_release(&model_config);
    for (size_t size = 0; size < strlen(good); size++) {
        char *cut = malloc(size + !size);
        cr_assert(cut);
        memcpy(cut, good, size);
        EXPECT_FAIL(sl_model_config_read(&model_config, cut, size, &err), err, SL_CORRUPT,
                    "not JSON");
        free(cut);
    }
}
