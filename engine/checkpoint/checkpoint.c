/* checkpoint.c - writes and reads a model's files. */
#include "checkpoint/checkpoint.h"

#include "base/allocate.h"
#include "base/random.h"
#include "formats/tensor_io.h"
#include "formats/vocabulary.h"
#include "model/shared_values.h"
#include "pretrained/pretrained.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a model may read from its base. */
static const char shared_tensor[] = "token_embedding.weight";

enum member { CONFIG, VOCAB, WEIGHTS };

/* Except VOCAB, whose name depends on the kind of tokenizer. */
static const char *const names[SL_CHECKPOINT_FILES] = {
    [CONFIG] = "config.json",
    [WEIGHTS] = "model.safetensors",
};

static void members_name(struct sl_manifest_file members[SL_CHECKPOINT_FILES], const char *vocab)
{
    for (int i = 0; i < SL_CHECKPOINT_FILES; i++)
        members[i].name = i == VOCAB ? vocab : names[i];
}

static bool is_vector(const struct sl_parameter *p)
{
    return p->rows == 1 && !p->product;
}

/* Of a short row 8 bits and a scale save little. */
static enum sl_dtype dtype_of(const struct sl_parameter *p, enum sl_dtype matrices)
{
    static const int shortest = 16;
    if (is_vector(p))
        return SL_DTYPE_F32;
    return matrices == SL_DTYPE_I8 && p->cols < shortest ? SL_DTYPE_BF16 : matrices;
}

static void round_row(float *row, int count, uint64_t key, uint64_t first)
{
    static const double is_whole = 1e-4; /* but for fp32's rounding */
    const float scale = sl_int8_scale(row, count);
    for (int i = 0; i < count; i++) {
        const double number = (double)row[i] / (double)scale, nearest = rint(number);
        const double whole = fabs(number - nearest) < is_whole
                                 ? nearest
                                 : floor(number + sl_random_uniform(key, first + (uint64_t)i));
        if (isfinite(number)) /* what is not is found when it is written */
            row[i] = scale * (float)whole;
    }
}

void sl_checkpoint_round_to_int8(const struct sl_parameter *parameters, int count)
{
    for (int i = 0; i < count; i++) {
        const struct sl_parameter *p = &parameters[i];
        const uint64_t key = sl_random_key(0, p->name);
        if (dtype_of(p, SL_DTYPE_I8) != SL_DTYPE_I8)
            continue;
        for (int r = 0; r < p->rows; r++) {
            const size_t first = (size_t)r * (size_t)p->cols;
            round_row(p->data + first, p->cols, key, first);
        }
    }
}

/* Allocated; NULL without memory. */
static struct sl_tensor_slot *slots_of(const struct sl_parameter *parameters, int count,
                                       enum sl_dtype matrices, struct sl_err *err)
{
    struct sl_tensor_slot *slots = calloc((size_t)count + 1, sizeof *slots);
    if (!slots)
        sl_fail(err, SL_NO_MEMORY, "no memory for %d tensors", count);
    for (int i = 0; i < count && slots; i++) {
        const struct sl_parameter *p = &parameters[i];
        slots[i] = (struct sl_tensor_slot){
            .name = p->name,
            .data = p->data,
            .rows = p->rows,
            .cols = p->cols,
            .vector = is_vector(p),
            .dtype = dtype_of(p, matrices),
        };
    }
    return slots;
}

/* -- writing --------------------------------------------------------------------------- */

/* Removes what the base has; returns how many are left. */
static int without_shared(struct sl_tensor_slot *list, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, shared_tensor) != 0)
            list[kept++] = list[i];
    return kept;
}

static bool weights_write(const char *directory, const struct sl_checkpoint_parts *parts,
                          struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_join(path, directory, names[WEIGHTS], err))
        return false;
    struct sl_tensor_slot *list = slots_of(parts->parameters, parts->count, parts->matrices, err);
    if (!list)
        return false;
    const bool refers = parts->model_config->base.model[0];
    const struct sl_tensor_slots slots = {list, refers ? without_shared(list, parts->count)
                                                       : parts->count};
    const struct sl_metadata_entry architecture = {"architecture", parts->model_config->arch->name};
    bool ok = sl_tensors_check(slots, err) && sl_tensors_write(path, slots, &architecture, 1, err);
    free(list);
    return ok || sl_wrap(err, "'%s'", names[WEIGHTS]);
}

/* The text of config.json. */
static char *config_print(const struct sl_checkpoint_parts *parts, struct sl_err *err)
{
    struct sl_model_config model_config = *parts->model_config;
    char *training = parts->training ? strdup(parts->training) : NULL;
    if (parts->training && !training) {
        sl_fail(err, SL_NO_MEMORY, "no memory for a provenance");
        return NULL;
    }
    if (training)
        model_config.training = training;
    model_config.lower = parts->tokens->lower;
    if (sl_task_classifies(model_config.hyper.task))
        model_config.truncation_side = sl_tokenizer_truncation_side(parts->tokens);
    char *text = sl_model_config_print(&model_config, err);
    free(training);
    return text;
}

static bool files_write(struct sl_manifest_writer *writer, const char *directory,
                        const struct sl_checkpoint_parts *parts, struct sl_err *err)
{
    struct sl_manifest_file members[SL_CHECKPOINT_FILES] = {0};
    members_name(members, sl_vocabulary_file(parts->model_config->tokenizer));
    const struct sl_manifest manifest = {
        .members = members,
        .count = SL_CHECKPOINT_FILES,
        .created = parts->created ? parts->created : (int64_t)time(NULL),
    };
    const char *tmp = writer->tmp;
    return sl_manifest_add(tmp, names[CONFIG], config_print(parts, err), err) &&
           sl_manifest_add(tmp, members[VOCAB].name, sl_vocabulary_print(parts->tokens, err),
                           err) &&
           weights_write(tmp, parts, err) && sl_manifest_commit(writer, directory, &manifest, err);
}

static bool fail_writing(const char *directory, struct sl_err *err)
{
    (void)sl_err_set_path(err, directory);
    return sl_wrap(err, "write checkpoint '%s'", directory);
}

bool sl_checkpoint_write(const char *directory, const struct sl_checkpoint_parts *parts,
                         struct sl_err *err)
{
    assert(parts->model_config->hyper.vocab == sl_tokenizer_size(parts->tokens));
    assert(strcmp(parts->model_config->tokenizer, sl_tokenizer_kind(parts->tokens)) == 0);
    struct sl_manifest_writer writer;
    if (!sl_manifest_begin(&writer, directory, err))
        return fail_writing(directory, err);
    if (files_write(&writer, directory, parts, err))
        return true;
    sl_manifest_abandon(&writer);
    return fail_writing(directory, err);
}

static bool copy_member(const char *tmp, const struct sl_manifest_file *member, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    const struct sl_slice slice = {member->map.data, member->map.size};
    return sl_path_join(path, tmp, member->name, err) && sl_file_replace(path, &slice, 1, err);
}

static bool files_copy(const struct sl_checkpoint *c, struct sl_manifest_writer *writer,
                       const char *directory, const struct sl_model_config *model_config,
                       struct sl_err *err)
{
    struct sl_manifest_file members[SL_CHECKPOINT_FILES] = {0};
    members_name(members, c->members[VOCAB].name);
    const struct sl_manifest manifest = {
        .members = members, .count = SL_CHECKPOINT_FILES, .created = c->created};
    const char *tmp = writer->tmp;
    return sl_manifest_add(tmp, names[CONFIG], sl_model_config_print(model_config, err), err) &&
           copy_member(tmp, &c->members[VOCAB], err) &&
           copy_member(tmp, &c->members[WEIGHTS], err) &&
           sl_manifest_commit(writer, directory, &manifest, err);
}

bool sl_checkpoint_copy(const struct sl_checkpoint *checkpoint, const char *directory,
                        const struct sl_model_config *model_config, struct sl_err *err)
{
    struct sl_manifest_writer writer;
    if (!sl_manifest_begin(&writer, directory, err))
        return fail_writing(directory, err);
    if (files_copy(checkpoint, &writer, directory, model_config, err))
        return true;
    sl_manifest_abandon(&writer);
    return fail_writing(directory, err);
}

/* -- reading --------------------------------------------------------------------------- */

static bool parts_read(struct sl_checkpoint *c, struct sl_err *err)
{
    const struct sl_map *config = &c->members[CONFIG].map, *vocab = &c->members[VOCAB].map;
    const struct sl_map *weights = &c->members[WEIGHTS].map;
    if (!sl_model_config_read(&c->model_config, config->data, config->size, err))
        return sl_wrap(err, "'%s'", names[CONFIG]);
    c->tokens = sl_vocabulary_read(c->model_config.tokenizer, c->model_config.lower, vocab->data,
                                   vocab->size, err);
    if (!c->tokens)
        return sl_wrap(err, "'%s'", c->members[VOCAB].name);
    c->tokens->truncation_side = c->model_config.truncation_side;
    c->model_config.hyper.padding_token = 1 + sl_tokenizer_special(c->tokens, SL_SPECIAL_PAD);
    return sl_safetensors_parse(&c->weights, weights->data, weights->size, err) ||
           sl_wrap(err, "'%s'", names[WEIGHTS]);
}

/* Checks that two files agree. */
static bool parts_agree(const struct sl_checkpoint *c, struct sl_err *err)
{
    int size = sl_tokenizer_size(c->tokens);
    return size == c->model_config.hyper.vocab ||
           sl_fail(err, SL_CORRUPT, "'%s' has %d pieces, but 'vocab_size' in '%s' is %d",
                   c->members[VOCAB].name, size, names[CONFIG], c->model_config.hyper.vocab);
}

static bool fail_in(const char *directory, struct sl_err *err)
{
    if (sl_pretrained_is(directory))
        return sl_fail(err, SL_BAD_INPUT,
                       "'%s' is a model as other programs save it; make a version of it with "
                       "`sluice import %s --output STORE/MODEL/1`",
                       directory, directory);
    /* "cannot open 'x/1/config.json'" has the path already. */
    if (err && err->path[0])
        return false;
    sl_err_set_path(err, directory);
    return sl_wrap(err, "checkpoint '%s'", directory);
}

/* The name of the vocabulary's file, according to config.json before it is verified. If config.json
 * is unreadable, which is reported later, the file that exists. */
static bool vocab_name(const char **name, const char *directory, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_map map = {0};
    struct sl_model_config model_config = {0};
    struct sl_err unread;
    if (!sl_path_join(path, directory, names[CONFIG], err))
        return false;
    bool known = sl_map_copy(&map, path, &unread) &&
                 sl_model_config_read(&model_config, map.data ? map.data : "", map.size, &unread);
    *name = known ? sl_vocabulary_file(model_config.tokenizer) : sl_vocabulary_file_in(directory);
    sl_model_config_release(&model_config);
    sl_map_close(&map);
    return true;
}

bool sl_checkpoint_open(struct sl_checkpoint *c, const char *directory, struct sl_err *err)
{
    const char *vocab;
    *c = (struct sl_checkpoint){0};
    if (!vocab_name(&vocab, directory, err))
        return fail_in(directory, err);
    members_name(c->members, vocab);
    struct sl_manifest manifest = {.members = c->members, .count = SL_CHECKPOINT_FILES};
    if (!sl_manifest_open(directory, &manifest, err) || !parts_read(c, err) ||
        !parts_agree(c, err)) {
        sl_checkpoint_close(c);
        return fail_in(directory, err);
    }
    const int bytes = snprintf(c->store, sizeof c->store, "%s/../..", directory);
    if (bytes >= SL_PATH_MAX)
        c->store[0] = '\0';
    c->sha256 = c->members[WEIGHTS].sha256;
    c->created = manifest.created;
    return true;
}

bool sl_checkpoint_shares(const struct sl_checkpoint *c)
{
    return c->model_config.base.model[0] ||
           (c->model_config.hyper.task == SL_TASK_PRETRAINING &&
            c->model_config.arch->shares_vectors && c->model_config.hyper.width > 0);
}

const char *sl_checkpoint_shared_sha256(const struct sl_checkpoint *c)
{
    return c->model_config.base.model[0] ? c->model_config.base.sha256 : c->sha256;
}

bool sl_checkpoint_load(const struct sl_checkpoint *c, const struct sl_parameter *parameters,
                        int count, struct sl_err *err)
{
    const bool is_base = sl_checkpoint_shares(c) && !c->model_config.base.model[0];
    struct sl_tensor_slot *list = slots_of(parameters, count, SL_DTYPE_F32, err);
    const struct sl_tensor_slots slots = {list, count};
    bool ok = list && sl_tensors_read(&c->weights, slots, is_base ? shared_tensor : NULL, err);
    free(list);
    return ok || sl_wrap(err, "'%s'", names[WEIGHTS]);
}

static bool read_shared(struct sl_shared_values *v, const struct sl_safetensors *file,
                        struct sl_err *err)
{
    const struct sl_safetensor *tensor = sl_safetensors_find(file, shared_tensor);
    if (!tensor || tensor->rank != 2 || tensor->shape[0] > SL_VOCAB_MAX ||
        tensor->shape[1] > SL_VOCAB_MAX)
        return sl_fail(err, SL_CORRUPT, "it has no word vectors");
    v->rows = (int)tensor->shape[0];
    v->cols = (int)tensor->shape[1];
    v->data = malloc(tensor->count * sizeof *v->data);
    if (!v->data)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d word vectors", v->rows);
    const struct sl_tensor_slot slot = {
        .name = shared_tensor, .data = v->data, .rows = v->rows, .cols = v->cols};
    int count;
    return sl_tensors_read_matching(file, (struct sl_tensor_slots){&slot, 1}, &count, err);
}

static bool read_shared_of(struct sl_shared_values *v, const struct sl_checkpoint *c,
                           struct sl_err *err)
{
    struct sl_base_weights base;
    if (!c->model_config.base.model[0])
        return read_shared(v, &c->weights, err) || sl_wrap(err, "'%s'", names[WEIGHTS]);
    if (!sl_base_open(&base, &c->model_config.base, c->store, err))
        return false;
    bool ok =
        read_shared(v, &base.tensors, err) || sl_wrap(err, "base '%s'", c->model_config.base.model);
    sl_base_close(&base);
    return ok;
}

struct sl_shared_values *sl_checkpoint_load_shared(const struct sl_checkpoint *c,
                                                   struct sl_err *err)
{
    struct sl_shared_values *v = sl_new(sizeof *v, "word vectors", err);
    if (!v)
        return NULL;
    v->users = 1;
    (void)snprintf(v->sha256, sizeof v->sha256, "%s", sl_checkpoint_shared_sha256(c));
    if (read_shared_of(v, c, err))
        return v;
    sl_shared_values_free(v);
    return NULL;
}

/* The values that the base has and the checkpoint has not. */
static bool load_from_base(const struct sl_checkpoint *c, struct sl_tensor_slots slots, int *common,
                           struct sl_err *err)
{
    struct sl_base_weights base;
    int count;
    if (!c->model_config.base.model[0])
        return true;
    if (!sl_base_open(&base, &c->model_config.base, c->store, err))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < slots.count; i++)
        if (strcmp(slots.list[i].name, shared_tensor) == 0) {
            ok = sl_tensors_read_matching(&base.tensors,
                                          (struct sl_tensor_slots){&slots.list[i], 1}, &count, err);
            *common += ok ? count : 0;
        }
    sl_base_close(&base);
    return ok;
}

bool sl_checkpoint_load_matching(const struct sl_checkpoint *c,
                                 const struct sl_parameter *parameters, int count,
                                 struct sl_err *err)
{
    int common = 0;
    struct sl_tensor_slot *list = slots_of(parameters, count, SL_DTYPE_F32, err);
    const struct sl_tensor_slots slots = {list, count};
    bool ok = list && sl_tensors_read_matching(&c->weights, slots, &common, err) &&
              load_from_base(c, slots, &common, err);
    free(list);
    if (ok && common == 0)
        ok = sl_fail(err, SL_BAD_INPUT, "it has none of the parameters");
    return ok || sl_wrap(err, "'%s'", names[WEIGHTS]);
}

void sl_checkpoint_close(struct sl_checkpoint *c)
{
    struct sl_manifest manifest = {.members = c->members, .count = SL_CHECKPOINT_FILES};
    sl_safetensors_close(&c->weights);
    sl_tokenizer_destroy(c->tokens);
    sl_model_config_release(&c->model_config);
    sl_manifest_close(&manifest);
    *c = (struct sl_checkpoint){0};
}
