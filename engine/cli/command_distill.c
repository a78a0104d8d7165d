/* command_distill.c - `sluice distill`: makes a small encoder of a larger one. */
#include "checkpoint/base_model.h"
#include "cli/command.h"
#include "cli/import_costs.h"
#include "cli/tuning_run.h"
#include "tuning/compression.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    struct tuning_arguments tuning;
    const char *isa, *precision;
    struct sl_given_int depth, vocabulary_size;
    struct sl_given_real learning_rate;
    bool json;
    int threads;
};

#define AT(member) offsetof(struct arguments, member)

static const struct sl_option rows[] = {
    TUNING_TEXT_OPTIONS(struct arguments),
    {"depth", "N", "layers of the new model [all]", SL_OPTION_GIVEN_INT, AT(depth), 1, 1000},
    {"vocab-size", "N", "pieces of its vocabulary: those that the texts use most [all]",
     SL_OPTION_GIVEN_INT, AT(vocabulary_size), 1, SL_VOCAB_MAX},
    {"learning-rate", "X", "peak learning rate [0.0001]", SL_OPTION_GIVEN_REAL, AT(learning_rate),
     1e-9, 1},
    TUNING_OUTPUT_OPTIONS(struct arguments),
    ENGINE_OPTIONS(struct arguments),
    {0}};

/* What a run holds. */
struct distilling {
    struct sl_run_dir run;
    const struct arguments *a;
    const char *model;
    struct sl_engine *engine;
    struct sl_checkpoint from;
    struct sl_dataset asked, own; /* the texts in the tokens of both */
    struct sl_smaller_vocabulary vocabulary;
    struct sl_text_distillation d;
    struct sl_likeness before, after;
};

static bool is_smaller(const struct distilling *r)
{
    return r->a->vocabulary_size.given;
}

/* ---- the texts ------------------------------------------------------------------------------- */

static bool open_texts(const struct distilling *r, struct sl_dataset *set,
                       const struct sl_tokenizer *tokens, struct sl_err *err)
{
    return tuning_open_texts(set, &r->a->tuning, tokens, r->from.model_config.hyper.context_length,
                             err);
}

static bool make_vocabulary(struct distilling *r, struct sl_err *err)
{
    return !is_smaller(r) || ((sl_smaller_vocabulary_open(&r->vocabulary, r->from.tokens, &r->asked,
                                                          (int)r->a->vocabulary_size.value, err) ||
                               sl_wrap(err, "--vocab-size")) &&
                              open_texts(r, &r->own, r->vocabulary.tokens, err) &&
                              sl_smaller_vocabulary_check(&r->vocabulary, &r->asked, &r->own, err));
}

/* ---- training -------------------------------------------------------------------------------- */

static bool start(struct distilling *r, struct sl_err *err)
{
    const struct arguments *a = r->a;
    const int depth = a->depth.given ? (int)a->depth.value : r->from.model_config.hyper.depth;
    struct sl_model *student = sl_compression_student(
        r->engine, &r->from, is_smaller(r) ? &r->vocabulary : NULL, depth, err);
    const struct sl_text_distillation_options options = {
        .engine = r->engine,
        .teacher = r->model,
        .asked = &r->asked,
        .set = is_smaller(r) ? &r->own : &r->asked,
        .steps = tuning_steps(&a->tuning),
        .batch_size = tuning_batch_size(&a->tuning),
        .learning_rate = a->learning_rate.given ? (float)a->learning_rate.value : 1e-4f};
    return student && sl_text_distillation_open(&r->d, &options, student, err);
}

/* ---- what is published ----------------------------------------------------------------------- */

static char *provenance(const struct distilling *r, const struct import_costs *costs,
                        struct sl_err *err)
{
    struct sl_buffer text = {0};
    char name[SL_BASE_NAME_MAX];
    struct sl_json_writer json = {.out = &text};
    const char *origin = r->from.model_config.training;
    sl_json_add(&json,
                "{'distilled_from':%s,'sha256':%s,'data':%s,'texts':%d,'held_out':%d,'steps':%d,"
                "'batch_size':%d,'finished':%lld,'similarity':%f,'lowest':%f,'precision':",
                sl_base_name(name, r->model) ? name : sl_path_last(r->model), r->d.teacher_sha256,
                sl_path_last(r->a->tuning.texts), r->d.options.set->count,
                r->d.options.set->count - r->d.trained, r->d.options.steps, r->d.options.batch_size,
                (long long)time(NULL), r->after.similarity, r->after.lowest);
    sl_json_add_raw(&json, costs->json, strlen(costs->json));
    sl_json_add(&json, ",'teacher':");
    sl_json_add_raw(&json, origin ? origin : "{}", strlen(origin ? origin : "{}"));
    sl_json_add(&json, "}");
    if (text.failed) {
        sl_buffer_release(&text);
        sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model");
    }
    return text.data;
}

static bool publish(const struct distilling *r, struct sl_err *err)
{
    const struct sl_model *student = r->d.tuner.model;
    const struct sl_tokenizer *tokens = is_smaller(r) ? r->vocabulary.tokens : r->from.tokens;
    struct import_costs costs;
    if (!import_costs_measure(&costs, student, tokens, NULL, err))
        return false;
    char *training = provenance(r, &costs, err);
    const struct sl_compression_notes notes = {
        tokens, training, {[SL_PRECISION_BF16] = costs.bf16, [SL_PRECISION_INT8] = costs.int8}};
    const bool ok =
        training && sl_compression_publish(student, &r->from, r->a->tuning.out, &notes, err);
    import_costs_release(&costs);
    free(training);
    return ok;
}

static void print_result(const struct distilling *r)
{
    struct sl_buffer line = {0};
    if (r->a->json) {
        sl_json_add(&(struct sl_json_writer){.out = &line},
                    "{'directory':%s,'similarity_before':%f,'similarity':%f,'lowest':%f}",
                    r->a->tuning.out, r->before.similarity, r->after.similarity, r->after.lowest);
        command_print_json(&line);
        return;
    }
    printf("\nmean cosine to the embeddings of %s on %d other texts: %.4f (before training %.4f); "
           "5 %% are below %.4f\npublished to %s\n",
           r->model, r->d.options.set->count - r->d.trained, r->after.similarity,
           r->before.similarity, r->after.lowest, r->a->tuning.out);
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool distill(struct distilling *r, struct sl_err *err)
{
    const bool ok =
        sl_checkpoint_open(&r->from, r->model, err) &&
        open_texts(r, &r->asked, r->from.tokens, err) && make_vocabulary(r, err) && start(r, err) &&
        sl_text_distillation_compare(&r->d, r->d.tuner.model, &r->before, err) &&
        tuning_train(&r->d, &r->run, &r->a->tuning, r->a->json, err) &&
        sl_text_distillation_compare(&r->d, r->d.tuner.model, &r->after, err) && publish(r, err);
    if (ok)
        print_result(r);
    sl_text_distillation_close(&r->d);
    sl_smaller_vocabulary_close(&r->vocabulary);
    sl_dataset_close(&r->own);
    sl_dataset_close(&r->asked);
    sl_checkpoint_close(&r->from);
    return ok;
}

static bool run(int count, char **words, struct sl_err *err)
{
    const char *model = NULL;
    struct arguments a = {0};
    struct sl_option_parser parser = {
        .tables = {{.rows = rows, .values = &a}}, .operands = &model, .operands_max = 1};
    if (!sl_options_parse(&parser, count, words, err) ||
        !tuning_check(&command_distill, model, &a.tuning, err))
        return false;
    struct distilling r = {.a = &a, .model = model};
    if (!tuning_open_run(&r.run, &a.tuning, err))
        return false;
    r.engine = command_training_engine(a.threads, a.isa, a.precision, err);
    const bool ok = r.engine && (distill(&r, err) || sl_wrap(err, "distill '%s'", model));
    sl_engine_destroy(r.engine);
    sl_run_dir_close(&r.run);
    return ok;
}

const struct command command_distill = {.name = "distill",
                                        .operands = "MODEL-DIR",
                                        .help = "make a small encoder of a larger one",
                                        .run = run,
                                        .rows = rows};
