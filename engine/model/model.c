/* model.c - a model in memory: allocates, initializes, packs and runs it. */
#include "model/model.h"

#include "base/allocate.h"
#include "base/int_math.h"
#include "base/random.h"
#include "model/shared_values.h"
#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

/* Address space for structs, names and tables of parameters; mostly untouched. */
enum { STRUCT_BYTES = 1 << 22 };

/* Parameters, then buffers; NULL past the last. */
static struct sl_parameter *parameter_at(const struct sl_model *m, int index)
{
    const struct sl_builder *b = &m->builder;
    if (index < b->count)
        return &b->parameters[index];
    index -= b->count;
    return index < b->buffer_count ? &b->buffers[index] : NULL;
}

static bool has_gradient(const struct sl_model *m, int index)
{
    const struct sl_builder *b = &m->builder;
    if (index < b->count)
        return !b->parameters[index].frozen;
    return b->buffer_kinds[index - b->count] == SL_BUFFER_DERIVED;
}

static bool is_shared(const struct sl_model *m, int index)
{
    const struct sl_builder *b = &m->builder;
    return index >= b->count && b->buffer_kinds[index - b->count] == SL_BUFFER_SHARED;
}

/* Allocates every value that is the model's own, or every gradient, from an arena. */
static void allocate(struct sl_model *m, struct sl_arena *arena, bool grads)
{
    struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++) {
        if (grads ? !has_gradient(m, i) : is_shared(m, i))
            continue;
        float *at = sl_arena_take(arena, sl_parameter_floats(p), sizeof(float));
        if (grads)
            p->grad = at;
        else
            p->data = at;
    }
}

/* Shorter rows would be mostly padding, and longer sums might overflow. */
static bool pays_as_int8(const struct sl_parameter *p)
{
    return p->cols >= SL_INT8_STEP / 2 && p->cols <= SL_INT8_DEPTH_MAX;
}

static size_t packed_bytes(const struct sl_kernels *k, const struct sl_parameter *p)
{
    return p->int8 ? sl_int8_bytes(p->cols, p->rows, k->int8_group)
                   : k->pack_bytes(p->cols, p->rows);
}

static void allocate_packed(struct sl_model *m, struct sl_arena *arena, bool back)
{
    const struct sl_kernels *k = m->kernels;
    struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++) {
        if (!p->product)
            continue;
        p->int8 = m->int8 && pays_as_int8(p);
        p->packed = sl_arena_take(arena, packed_bytes(k, p), 1);
        if (back)
            p->packed_back = sl_arena_take(arena, k->pack_bytes(p->rows, p->cols), 1);
    }
}

/* An arena of exactly the size that a dry run of the allocation counts. */
static bool allocated(struct sl_model *m, struct sl_arena *arena,
                      void (*f)(struct sl_model *, struct sl_arena *, bool), bool flag,
                      struct sl_err *err)
{
    struct sl_arena dry;
    sl_arena_dry(&dry);
    f(m, &dry, flag);
    if (!sl_arena_init(arena, dry.peak, err))
        return false;
    f(m, arena, flag);
    return true;
}

static void initialize(struct sl_parameter *p, struct sl_init init, uint64_t seed)
{
    uint64_t key = sl_random_key(seed, init.stream ? init.stream : p->name);
    float *out = p->data;
    if (!init.element) /* derived: computed later */
        return;
    for (int row = 0; row < p->rows; row++)
        for (int col = 0; col < p->cols; col++)
            *out++ = (float)init.element(&init, key, row, col, p->cols);
}

static void initialize_buffers(struct sl_model *m, enum sl_buffer_kind kind, uint64_t seed)
{
    const struct sl_builder *b = &m->builder;
    for (int i = 0; i < b->buffer_count; i++)
        if (b->buffer_kinds[i] == kind)
            initialize(&b->buffers[i], b->buffer_inits[i], seed);
}

static void list_state_dict(struct sl_model *m)
{
    const struct sl_builder *b = &m->builder;
    size_t max = (size_t)b->count + (size_t)b->buffer_count;
    m->state_dict = sl_arena_take(&m->structs, max, sizeof *m->state_dict);
    for (int i = 0; i < b->count; i++)
        m->state_dict[m->state_dict_count++] = b->parameters[i];
    for (int i = 0; i < b->buffer_count; i++)
        if (b->buffer_kinds[i] == SL_BUFFER_SAVED)
            m->state_dict[m->state_dict_count++] = b->buffers[i];
}

/* 2^31 parameters: 8 GiB of fp32, four times that with gradients and moments. */
static bool fits(const struct sl_model *m, struct sl_err *err)
{
    const size_t max = (size_t)1 << 31;
    const struct sl_parameter *p;
    size_t total = 0;
    for (int i = 0; (p = parameter_at(m, i)); i++)
        total += sl_parameter_floats(p);
    return total <= max ||
           sl_fail(err, SL_BAD_INPUT, "%s of these sizes has %.3g parameters; the limit is %.3g",
                   m->arch->name, (double)total, (double)max);
}

bool sl_model_can_int8(const struct sl_model *m)
{
    const struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++)
        if (p->product && pays_as_int8(p))
            return true;
    return false;
}

/* Declares what a model consists of, without values. Returns the architecture's own struct. */
static void *build(struct sl_builder *b, struct sl_arena *structs, const struct sl_arch *arch,
                   const struct sl_config *config, bool bf16_cache)
{
    sl_builder_init(b, structs, bf16_cache);
    void *self = sl_arena_take(structs, 1, arch->size);
    memset(self, 0, arch->size);
    arch->build(b, self, config);
    return self;
}

struct sl_model *sl_model_create(struct sl_engine *engine, const struct sl_arch *arch,
                                 const struct sl_config *config, struct sl_err *err)
{
    return sl_model_create_as(engine, arch, config, engine->precision, err);
}

/* Published decoders have a few inputs that are much larger than the others: with one scale for a
 * row, int8 changes most of what they write. */
static const struct sl_kernels *kernels_of(const struct sl_engine *engine,
                                           const struct sl_arch *arch, enum sl_task task,
                                           enum sl_precision precision)
{
    const struct sl_kernels *kernels = engine->kernels_for[precision];
    const bool in_groups =
        precision == SL_PRECISION_INT8 && arch->describes_blocks && task == SL_TASK_COMPLETION;
    return in_groups ? sl_kernels_in_groups(kernels) : kernels;
}

struct sl_model *sl_model_create_as(struct sl_engine *engine, const struct sl_arch *arch,
                                    const struct sl_config *config, enum sl_precision precision,
                                    struct sl_err *err)
{
    struct sl_model *m = sl_new(sizeof *m, "a model", err);
    if (!m)
        return NULL;
    *m = (struct sl_model){.engine = engine,
                           .kernels = kernels_of(engine, arch, config->task, precision),
                           .int8 = precision == SL_PRECISION_INT8,
                           .arch = arch,
                           .config = *config,
                           .policy = sl_policy_defaults(arch)};
    bool ok = sl_arena_init_growing(&m->structs, STRUCT_BYTES, err);
    if (ok) {
        m->self =
            build(&m->builder, &m->structs, arch, config, m->int8 && m->kernels->operand == SL_F32);
        ok = fits(m, err) && allocated(m, &m->values, allocate, false, err) &&
             allocated(m, &m->packed, allocate_packed, false, err);
    }
    if (ok) {
        list_state_dict(m);
        initialize_buffers(m, SL_BUFFER_FIXED, 0);
        sl_model_describe(m);
        return m;
    }
    sl_model_close(m);
    return NULL;
}

struct sl_model *sl_model_copy(const struct sl_model *from, struct sl_engine *engine,
                               enum sl_precision precision, struct sl_err *err)
{
    struct sl_model *m = sl_model_create_as(engine, from->arch, &from->config, precision, err);
    if (!m)
        return NULL;
    for (int i = 0; i < m->state_dict_count; i++)
        memcpy(m->state_dict[i].data, from->state_dict[i].data,
               sl_parameter_floats(&m->state_dict[i]) * sizeof(float));
    sl_model_pack(m);
    return m;
}

bool sl_model_share(struct sl_model *m, struct sl_shared_values *values, struct sl_err *err)
{
    int shared = 0;
    m->shared = values;
    for (int i = 0; i < m->builder.buffer_count; i++) {
        struct sl_parameter *p = &m->builder.buffers[i];
        if (m->builder.buffer_kinds[i] != SL_BUFFER_SHARED)
            continue;
        if (p->rows != values->rows || p->cols != values->cols)
            return sl_fail(err, SL_CORRUPT,
                           "the base has %d word vectors of width %d: expected %d of %d",
                           values->rows, values->cols, p->rows, p->cols);
        p->data = values->data;
        shared++;
    }
    return shared > 0 ||
           sl_fail(err, SL_CORRUPT, "%s has no word vectors to take from a base", m->arch->name);
}

struct sl_parameter *sl_model_find(const struct sl_model *m, const char *name)
{
    for (int i = 0; i < m->state_dict_count; i++)
        if (strcmp(m->state_dict[i].name, name) == 0)
            return &m->state_dict[i];
    return NULL;
}

void sl_model_close(struct sl_model *m)
{
    if (!m)
        return;
    sl_shared_values_release(m->engine, m->shared);
    free(m->base);
    free(m->training);
    sl_tokenizer_destroy(m->tokenizer);
    for (int i = 0; m->labels && i < m->config.classes; i++)
        free(m->labels[i]);
    free(m->labels);
    sl_prompts_release(&m->prompts);
    sl_arena_release(&m->structs);
    sl_arena_release(&m->values);
    sl_arena_release(&m->packed);
    sl_arena_release(&m->grads);
    free(m);
}

bool sl_model_allocate_gradients(struct sl_model *m, struct sl_err *err)
{
    if (m->int8)
        return sl_fail_value(err, "precision", "int8", "training computes in fp32 or bf16");
    sl_arena_release(&m->packed);
    return allocated(m, &m->grads, allocate, true, err) &&
           allocated(m, &m->packed, allocate_packed, true, err);
}

static void update_buffers(struct sl_model *m, bool fresh)
{
    for (int i = 0; i < m->builder.hooked_count; i++) {
        const struct sl_hooked_layer *hooked = &m->builder.hooked[i];
        if (hooked->hooks->update)
            hooked->hooks->update(hooked->layer, m->kernels, fresh);
    }
}

void sl_model_initialize(struct sl_model *m, uint64_t seed)
{
    for (int i = 0; i < m->builder.count; i++)
        initialize(&m->builder.parameters[i], m->builder.inits[i], seed);
    initialize_buffers(m, SL_BUFFER_SAVED, seed);
    update_buffers(m, /* fresh= */ true);
}

/* -- gradients -------------------------------------------------------------------------------- */

static void clear_gradients(void *ctx, int first, int last, int worker)
{
    const struct sl_model *m = ctx;
    (void)worker;
    for (int i = first; i < last; i++) {
        const struct sl_parameter *p = parameter_at(m, i);
        if (p && has_gradient(m, i))
            memset(p->grad, 0, sl_parameter_floats(p) * sizeof(float));
    }
}

void sl_model_zero_gradients(struct sl_model *m)
{
    int count = m->builder.count + m->builder.buffer_count;
    sl_parallel_for(m->engine->pool, count, 1, clear_gradients, m);
}

void sl_model_backprop_buffers(struct sl_model *m)
{
    for (int i = 0; i < m->builder.hooked_count; i++) {
        const struct sl_hooked_layer *hooked = &m->builder.hooked[i];
        if (hooked->hooks->backprop)
            hooked->hooks->backprop(hooked->layer, m->kernels);
    }
}

void sl_model_update_buffers(struct sl_model *m)
{
    update_buffers(m, /* fresh= */ false);
}

/* -- packing: pieces are panels of all parameters, in both directions ------------------------ */

static int panels(int columns)
{
    return sl_ceil_div(columns, SL_PANEL);
}

static int panels_of(const struct sl_parameter *p)
{
    if (!p->product)
        return 0;
    return panels(p->rows) + (p->packed_back ? panels(p->cols) : 0);
}

static void pack_panel(const struct sl_kernels *k, const struct sl_parameter *p, int panel)
{
    bool back = panel >= panels(p->rows);
    int first = (back ? panel - panels(p->rows) : panel) * SL_PANEL;
    int depth = back ? p->rows : p->cols, columns = back ? p->cols : p->rows;
    int last = sl_min(first + SL_PANEL, columns);
    if (p->int8) {
        sl_int8_pack(k, p->packed, p->data, (size_t)p->cols, depth, columns, first, last);
        return;
    }
    k->pack(back ? p->packed_back : p->packed, p->data, SL_F32, (size_t)p->cols, !back, depth,
            columns, first, last);
}

static void pack_panels(void *ctx, int first, int last, int worker)
{
    const struct sl_model *m = ctx;
    (void)worker;
    int before = 0;
    const struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)) && before < last; i++) {
        int here = panels_of(p);
        for (int j = first > before ? first : before; j < last && j < before + here; j++)
            pack_panel(m->kernels, p, j - before);
        before += here;
    }
}

static void materialize(const struct sl_model *m)
{
    for (int i = 0; i < m->builder.hooked_count; i++) {
        const struct sl_hooked_layer *hooked = &m->builder.hooked[i];
        if (hooked->hooks->materialize)
            hooked->hooks->materialize(hooked->layer, m->kernels);
    }
}

static int count_panels(const struct sl_model *m)
{
    int total = 0;
    const struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++)
        total += panels_of(p);
    return total;
}

/* Not while training, which packs anew in every step. */
static void compact(struct sl_model *m)
{
    const struct sl_kernels *k = m->kernels;
    struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++)
        p->compact =
            p->product && !p->int8 && !p->packed_back && k->compact(p->packed, p->cols, p->rows);
}

void sl_model_pack(struct sl_model *m)
{
    materialize(m);
    sl_parallel_for(m->engine->pool, count_panels(m), 8, pack_panels, m);
    compact(m);
}

void sl_model_pack_alone(struct sl_model *m)
{
    materialize(m);
    pack_panels(m, 0, count_panels(m), 0);
    compact(m);
}

void sl_model_discard_values(struct sl_model *m)
{
    struct sl_parameter *p;
    for (int i = 0; (p = parameter_at(m, i)); i++) {
        if (!p->product || !p->decays || p->kept) /* not a matrix that only products read */
            continue;
        sl_arena_discard(p->data, sl_parameter_floats(p) * sizeof *p->data);
        p->data = NULL;
    }
}

bool sl_model_exclude_class_parameters(const struct sl_model *m, struct sl_parameter *list,
                                       int *count, struct sl_err *err)
{
    struct sl_arena structs;
    struct sl_builder b;
    struct sl_config config = m->config;
    int kept = 0;
    config.classes++; /* what has the same shape with another number of classes stays */
    if (!sl_arena_init_growing(&structs, STRUCT_BYTES, err))
        return false;
    (void)build(&b, &structs, m->arch, &config, false);
    for (int i = 0; i < *count; i++) {
        const struct sl_parameter *other = sl_builder_find(&b, list[i].name);
        if (other && other->rows == list[i].rows && other->cols == list[i].cols)
            list[kept++] = list[i];
    }
    *count = kept;
    sl_arena_release(&structs);
    return true;
}

/* -- description ------------------------------------------------------------------------------ */

struct sl_tensor *sl_model_forward(const struct sl_model *m, struct sl_tape *t)
{
    struct sl_tensor *logits = m->arch->forward(t, m->self);
    const struct sl_batch *batch = t->view->batch; /* whose rows have logits */
    const int32_t *targets =
        m->config.task == SL_TASK_CLASSIFICATION ? batch->labels : batch->targets;
    if (targets && logits)
        sl_distillation_loss(t, logits, batch->distillation,
                             (struct sl_cross_entropy_args){.targets = targets,
                                                            .class_weights = batch->label_weights,
                                                            .smoothing = batch->label_smoothing,
                                                            .weight = 1.0f});
    return logits;
}

bool sl_model_open_tape(const struct sl_model *m, const struct sl_policy *policy,
                        const struct sl_batch *largest, struct sl_tape *tape, struct sl_err *err)
{
    struct sl_tape dry;
    if (!sl_tape_init(&dry, m->kernels, m->engine->pool, 0, err))
        return false;
    dry.policy = policy;
    sl_tape_begin(&dry, largest, false);
    (void)sl_model_forward(m, &dry);
    const size_t bytes = dry.arena.peak;
    sl_tape_release(&dry);
    bool ok = sl_tape_init(tape, m->kernels, m->engine->pool, bytes, err);
    tape->policy = policy;
    return ok;
}
