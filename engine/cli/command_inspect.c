/* command_inspect.c - `sluice inspect`: prints a model's configuration and its tensors, or what it
 * routes the tokens of a text to. */
#include "base/explained_words.h"
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/operating_point_list.h"
#include "cli/policy_options.h"
#include "cli/routing/routing_output.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    const char *model, *routing, *report, *isa, *precision;
    int threads;
    bool json;
};

static const struct sl_option rows[] = {
    {"routing", "FILE",
     "print which blocks, steps or experts the tokens of this text use instead; of a classifier, "
     "each line is a text",
     SL_OPTION_STRING, offsetof(struct arguments, routing), 0, 0},
    {"report", "DIR", "with --routing: write it to DIR/index.html, too, with the text in colours",
     SL_OPTION_STRING, offsetof(struct arguments, report), 0, 0},
    ENGINE_OPTIONS(struct arguments),
    {0}};

static double standard_deviation(const struct sl_parameter *p)
{
    double sum = 0.0, squares = 0.0, count = (double)p->rows * p->cols;
    for (size_t i = 0; i < (size_t)p->rows * (size_t)p->cols; i++) {
        sum += (double)p->data[i];
        squares += (double)p->data[i] * (double)p->data[i];
    }
    return sqrt(fmax(0.0, squares / count - sum / count * (sum / count)));
}

/* The tensor of model.safetensors at a position, parameters first; NULL: past the last. */
static const struct sl_parameter *tensor_at(const struct sl_model *m, int index)
{
    const struct sl_builder *b = &m->builder;
    if (index < b->count)
        return &b->parameters[index];
    index -= b->count;
    for (int i = 0; i < b->buffer_count; i++)
        if (sl_buffer_is_stored(b, i, !m->base) && index-- == 0)
            return &b->buffers[i];
    return NULL;
}

static void write_tensors(struct sl_json_writer *json, const struct sl_model *m)
{
    const struct sl_parameter *p;
    sl_json_add(json, "'tensors':[");
    for (int i = 0; (p = tensor_at(m, i)); i++)
        sl_json_add(json, "{'name':%s,'shape':[%d,%d],'std':%f}", p->name, p->rows, p->cols,
                    standard_deviation(p));
    sl_json_end_array(json);
}

static void write_prompts(struct sl_json_writer *json, const struct sl_model_info *info)
{
    sl_json_add(json, "'prompts':{");
    for (int i = 0; i < info->prompt_count; i++)
        sl_json_add_string(sl_json_key(json, info->prompts[i].name), info->prompts[i].text);
    sl_json_end_object(json);
    if (info->default_prompt)
        sl_json_add(json, "'default_prompt_name':%s", info->default_prompt->name);
}

static void print_json(const struct sl_model *m)
{
    const struct sl_model_info *info = sl_model_info(m);
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text, .line_depth = 2};
    sl_json_add(&json,
                "{'architecture':%s,'paper':%s,'task':%s,'parameters':%lld,'buffers':%lld,"
                "'vocab':%d,'context':%d,'depth':%d,'width':%d,'classes':%d,'labels':",
                info->architecture, info->paper, sl_task_name(m->config.task),
                (long long)info->parameters, (long long)info->buffers, info->vocab, info->context,
                info->depth, info->width, info->classes);
    sl_json_add_strings(&json, info->labels, info->classes);
    sl_json_add(&json, "'gate':%s,'sha256':%s", info->gate, info->sha256);
    write_tensors(&json, m);
    if (info->base)
        sl_json_add(&json, "'base':%s", info->base);
    if (info->prompt_count > 0)
        write_prompts(&json, info);
    if (info->operating_point_count > 0)
        operating_points_write(sl_json_key(&json, "operating_points"), m, info->operating_points,
                               info->operating_point_count);
    sl_json_end_object(&json);
    command_print_json(&text);
}

static void print_prompts(const struct sl_model_info *info)
{
    if (info->prompt_count > 0)
        printf("prompts\n");
    for (int i = 0; i < info->prompt_count; i++) {
        const struct sl_prompt *p = &info->prompts[i];
        printf("  %-24s \"", p->name);
        sl_print_text(p->text, strlen(p->text));
        printf("\"%s\n", p == info->default_prompt ? " (default)" : "");
    }
    printf("%s", info->prompt_count > 0 ? "\n" : "");
}

/* The shape as in the file: biases and norms are vectors. */
static const char *shape_of(const struct sl_parameter *p, char text[32])
{
    if (p->rows == 1 && !p->product)
        (void)snprintf(text, 32, "[%d]", p->cols);
    else
        (void)snprintf(text, 32, "[%d, %d]", p->rows, p->cols);
    return text;
}

/* What skips layers, from sl_model_info's `gate`. */
static const char *skipping_of(const char *gate)
{
    static const char *const texts[][2] = {{"soft", "none (soft gates)"},
                                           {"hard", "hard gates"},
                                           {"mixed", "mixed gates"},
                                           {"exit", "early exit"},
                                           {"halt", "tokens halt"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(gate, texts[i][0]) == 0)
            return texts[i][1];
    return "none";
}

static const char *truncation_of(const struct sl_model *m)
{
    if (m->config.task != SL_TASK_CLASSIFICATION)
        return "";
    return sl_tokenizer_truncation_side(m->tokenizer) == SL_TRUNCATE_LEFT
               ? ", truncation side left"
               : ", truncation side right";
}

/* One number has no deviation. */
static void print_numbers(const struct sl_parameter *p)
{
    if (p->rows * p->cols == 1)
        printf("value %.4f\n", (double)p->data[0]);
    else
        printf("std %.4f\n", standard_deviation(p));
}

static void print_tensors(const struct sl_model *m)
{
    const struct sl_parameter *p;
    char shape[32];
    int count = 0;
    while (tensor_at(m, count))
        count++;
    printf("state dict: %d tensors", count);
    if (m->info.buffers > 0)
        printf(", %" PRId64 " numbers in buffers", m->info.buffers);
    printf("\n");
    for (int i = 0; (p = tensor_at(m, i)); i++) {
        printf("  %-36s %-14s ", p->name, shape_of(p, shape));
        print_numbers(p);
    }
}

static void print_text(const struct sl_model *m)
{
    const struct sl_model_info *info = sl_model_info(m);
    printf("architecture %s (%s)\n"
           "task %s, tokenizer %s%s\n%" PRId64
           " parameters, vocab size %d, context length %d, skipping: %s\n"
           "sha256 %s\n",
           info->architecture, info->paper, sl_task_name(m->config.task),
           sl_tokenizer_kind(m->tokenizer), truncation_of(m), info->parameters, info->vocab,
           info->context, skipping_of(info->gate), info->sha256);
    if (info->base)
        printf("word vectors of %s\n", info->base);
    printf("\nconfig\n");
    for (const struct sl_param *h = m->arch->hypers; h->name; h++) {
        char value[SL_PARAM_TEXT];
        if (!sl_hyper_is_for(h, m->config.task))
            continue;
        sl_param_format(h, sl_param_get(h, &m->config), value);
        printf("  %-24s %s\n", h->name, value);
    }
    for (int i = 0; i < info->classes; i++)
        printf("%s%s", i ? ", " : "  labels                   ", info->labels[i]);
    printf("%s", info->classes > 0 ? "\n\n" : "\n");
    print_prompts(info);
    if (info->operating_point_count > 0) {
        printf("operating points\n");
        operating_points_print(m, info->operating_points, info->operating_point_count);
        printf("\n");
    }
    print_tensors(m);
}

/* ---- routing --------------------------------------------------------------------------------- */

static void add_all(struct routing_sums *sums, struct sl_routing *routing,
                    const struct routing_text *text)
{
    const int32_t *ids = text->ids;
    for (size_t i = 0; i < text->pieces; i++) {
        sl_routing_run(routing, ids, text->lengths[i]);
        routing_sums_add(sums, routing, ids, text->lengths[i]);
        ids += text->lengths[i];
    }
}

static bool inspect_routing(const struct sl_model *m, const struct arguments *a,
                            const struct policy_options *options, struct sl_err *err)
{
    struct sl_policy policy = m->policy;
    struct sl_routing routing = {0};
    struct routing_text text = {0};
    struct routing_sums sums = {0};
    const struct routing_output output = {
        .model_path = a->model, .text_path = a->routing, .model = m, .text = &text, .sums = &sums};
    bool ok = policy_options_apply(options, m->arch, &policy, err) &&
              (sl_routing_open(&routing, m, &policy, err) || sl_wrap(err, "--routing")) &&
              routing_text_open(&text, m, a->routing, err) &&
              routing_sums_open(&sums, m, routing.parts, text.ids, text.count, err);
    if (ok)
        add_all(&sums, &routing, &text);
    ok = ok && (!a->report || routing_write_page(&output, &routing, a->report, err));
    if (ok && a->json)
        routing_print_json(&output);
    else if (ok)
        routing_print(&output);
    routing_sums_close(&sums);
    routing_text_close(&text);
    sl_routing_close(&routing);
    return ok;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool inspect(struct sl_engine *engine, const struct arguments *a,
                    const struct policy_options *policy, struct sl_err *err)
{
    engine->keeps_values = !a->routing; /* which tensors are printed from */
    struct sl_model *m = command_model(engine, a->model, err);
    bool ok = m && (!a->routing || inspect_routing(m, a, policy, err));
    if (ok && !a->routing && a->json)
        print_json(m);
    else if (ok && !a->routing)
        print_text(m);
    sl_model_close(m);
    return ok;
}

/* Options of the command, and what they set; without values for help. */
static struct sl_option_parser parser_of(struct arguments *a, struct policy_options *policy)
{
    struct sl_option_parser parser = {.tables = {{.rows = rows, .values = a}}};
    policy_options_add(policy, &parser, 1);
    return parser;
}

static void options(const char *operand)
{
    (void)operand;
    struct policy_options policy = {0};
    struct sl_option_parser parser = parser_of(NULL, &policy);
    command_help(&command_inspect, &parser);
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    struct policy_options policy = {0};
    struct sl_option_parser parser = parser_of(&a, &policy);
    parser.operands = &a.model;
    parser.operands_max = 1;
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!a.model)
        return fail_missing(&command_inspect, "MODEL-DIR", err);
    if (!a.routing && (a.report || policy.count > 0))
        return sl_fail(err, SL_BAD_INPUT, "%s needs --routing FILE",
                       a.report ? "--report" : policy.given[0].name);
    struct sl_engine *engine = command_engine(a.threads, a.isa, a.precision, err);
    bool ok = engine && inspect(engine, &a, &policy, err);
    sl_engine_destroy(engine);
    return ok;
}

const struct command command_inspect = {
    .name = "inspect",
    .operands = "MODEL-DIR",
    .help = "print a model's configuration and tensors, or the routing of a text's tokens",
    .run = run,
    .print_help = options,
};
