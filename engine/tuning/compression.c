/* compression.c - the parts that are kept, and the file that they become. */
#include "tuning/compression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1, NAME_BYTES = 128 };

static const char layers[] = "layers.", table[] = "token_embedding.weight";

static bool check(const struct sl_checkpoint *from, int depth, struct sl_err *err)
{
    const struct sl_model_config *c = &from->model_config;
    if (strcmp(c->arch->name, "transformer") != 0 || c->hyper.task != SL_TASK_PRETRAINING)
        return sl_fail(err, SL_BAD_INPUT,
                       "it is a model of %s for %s: expected a transformer that "
                       "gives embeddings",
                       c->arch->name, sl_task_name(c->hyper.task));
    return (depth >= 1 && depth <= c->hyper.depth) ||
           sl_fail(err, SL_BAD_INPUT, "it has %d layers: expected 1 to %d for the smaller one",
                   c->hyper.depth, c->hyper.depth);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What a parameter of the student begins as: the name of the teacher's. */
static void teacher_name(char name[NAME_BYTES], const char *own, int depth, int teacher_depth)
{
    char *rest;
    (void)snprintf(name, NAME_BYTES, "%s", own);
    if (strncmp(own, layers, sizeof layers - 1) != 0)
        return;
    const long layer = strtol(own + sizeof layers - 1, &rest, 10);
    const double apart = depth > 1 ? (double)(teacher_depth - 1) / (depth - 1) : 0.0;
    (void)snprintf(name, NAME_BYTES, "%s%ld%s", layers, lround((double)layer * apart), rest);
}

/* Its place among the parameters; every transformer has one. */
static int find_table(const struct sl_model *m)
{
    return (int)(sl_model_find(m, table) - m->state_dict);
}

/* The vectors of the pieces that are left. */
static void gather(const struct sl_parameter *to, const float *rows, const int32_t *from)
{
    const size_t width = (size_t)to->cols;
    for (int i = 0; i < to->rows; i++)
        memcpy(to->data + (size_t)i * width, rows + (size_t)from[i] * width, width * sizeof *rows);
}

/* A list of the student's parameters with names and shapes as in the teacher. */
struct reading {
    struct sl_parameter *list;
    char (*names)[NAME_BYTES];
    float *rows; /* of the teacher's table, if the student has only some of them */
};

static bool reading_open(struct reading *r, const struct sl_model *m,
                         const struct sl_checkpoint *from, struct sl_err *err)
{
    const size_t count = (size_t)m->state_dict_count;
    r->list = calloc(count, sizeof *r->list);
    r->names = calloc(count, sizeof *r->names);
    if (!r->list || !r->names)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the values of a teacher");
    for (size_t i = 0; i < count; i++) {
        r->list[i] = m->state_dict[i];
        teacher_name(r->names[i], m->state_dict[i].name, m->config.depth,
                     from->model_config.hyper.depth);
        r->list[i].name = r->names[i];
    }
    return true;
}

/* Reads the teacher's whole table beside the student's. */
static bool read_all_rows(struct reading *r, int table_at, int vocab, struct sl_err *err)
{
    struct sl_parameter *p = &r->list[table_at];
    p->rows = vocab;
    p->data = r->rows = calloc(sl_parameter_floats(p), sizeof *r->rows);
    return r->rows || sl_fail(err, SL_NO_MEMORY, "no memory for the vectors of %d pieces", vocab);
}

static bool fill(struct sl_model *m, const struct sl_checkpoint *from,
                 const struct sl_smaller_vocabulary *vocabulary, struct sl_err *err)
{
    struct reading r = {0};
    sl_model_initialize(m, SEED);
    const int at = find_table(m);
    const bool ok = reading_open(&r, m, from, err) &&
                    (!vocabulary || read_all_rows(&r, at, from->model_config.hyper.vocab, err)) &&
                    sl_checkpoint_load_matching(from, r.list, m->state_dict_count, err);
    if (ok && vocabulary)
        gather(&m->state_dict[at], r.rows, vocabulary->from);
    free(r.list);
    free(r.names);
    free(r.rows);
    return ok;
}

struct sl_model *sl_compression_student(struct sl_engine *engine, const struct sl_checkpoint *from,
                                        const struct sl_smaller_vocabulary *vocabulary, int depth,
                                        struct sl_err *err)
{
    const struct sl_arch *arch = from->model_config.arch;
    struct sl_config config = from->model_config.hyper;
    if (!check(from, depth, err))
        return NULL;
    config.dropout = 0.0f; /* the teacher has none */
    config.depth = depth;
    if (vocabulary) {
        config.vocab = sl_tokenizer_size(vocabulary->tokens);
        config.padding_token = 1 + sl_tokenizer_special(vocabulary->tokens, SL_SPECIAL_PAD);
    }
    if (!sl_param_set(sl_param_find(arch->hypers, "masked_language_model"), &config, 0, err) ||
        !sl_config_check(arch, &config, err))
        return NULL;
    struct sl_model *m = sl_model_create(engine, arch, &config, err);
    if (m && fill(m, from, vocabulary, err) && sl_model_allocate_gradients(m, err))
        return m;
    sl_model_close(m);
    return NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

bool sl_compression_publish(const struct sl_model *student, const struct sl_checkpoint *from,
                            const char *directory, const struct sl_compression_notes *notes,
                            struct sl_err *err)
{
    struct sl_model_config config = from->model_config;
    config.hyper = student->config;
    config.tokenizer = sl_tokenizer_kind(notes->tokens);
    memcpy(config.precision_costs, notes->costs, sizeof config.precision_costs);
    const struct sl_checkpoint_parts parts = {.model_config = &config,
                                              .training = notes->training,
                                              .tokens = notes->tokens,
                                              .parameters = student->state_dict,
                                              .count = student->state_dict_count,
                                              .matrices = SL_DTYPE_I8};
    return sl_checkpoint_write(directory, &parts, err);
}
