/* model_fixture.c - small models of every architecture, and batches of random tokens. */
#include "support/model_fixture.h"

#include <math.h>

/* What published families are like, in few sets of facts: BERT and ELECTRA; ModernBERT; Llama and
 * Qwen2. GPT-2 is like the usual ones. */
static const struct {
    const char *arch, *settings[20];
} variants[] = {
    {"transformer",
     {"norm_after=true", "final_norm=false", "embedding_norm=true", "token_types=2",
      "embedding_size=20", "position_offset=2", "activation=gelu_tanh", "head_dense=true",
      "head_activation=tanh", "tied_output=false", "pooling=first", NULL}},
    {"transformer",
     {"norm_bias=false", "first_attention_norm=false", "window=3", "global_attention_every=2",
      "positions=rotary", "rotary_local_base=100", "gated_mlp=true", "mlp_bias=false",
      "query_key_value_bias=false", "attention_output_bias=false", "embedding_norm=true",
      "head_dense=true", "head_dense_bias=false", "head_norm=true", NULL}},
    {"transformer",
     {"norm=rms", "norm_bias=false", "positions=rotary", "rotary_fraction=0.5", "head_dim=8",
      "key_heads=1", "gated_mlp=true", "activation=silu", "attention_output_bias=false",
      "mlp_bias=false", "tied_output=false", "pooling=last", NULL}},
};

enum { VARIANTS = sizeof variants / sizeof *variants };

/* The place of the n-th variant, from 1, of an architecture; -1: it has fewer. */
static int variant_at(const char *arch, int n)
{
    for (int i = 0; i < VARIANTS; i++)
        if (strcmp(variants[i].arch, arch) == 0 && --n == 0)
            return i;
    return -1;
}

bool fixture_next(struct fixture_case *c)
{
    const unsigned tested = SL_COMPLETES | SL_CLASSIFIES | SL_TRANSLATES;
    for (; sl_arch_at(c->arch); c->arch++, c->task = 0, c->variant = 0)
        for (; c->task < SL_TASKS; c->task++, c->variant = 0) {
            const struct sl_arch *arch = sl_arch_at(c->arch);
            const bool valid = c->variant == 0 || variant_at(arch->name, c->variant) >= 0;
            if (valid && (arch->tasks & tested & 1u << c->task))
                return true;
        }
    return false;
}

/* "name=value" of a hyper-parameter; one of another task is left out. */
static void apply_setting(const struct sl_arch *arch, struct sl_config *c, const char *setting)
{
    char name[64];
    struct sl_err err;
    const size_t length = strcspn(setting, "=");
    (void)snprintf(name, sizeof name, "%.*s", (int)length, setting);
    const struct sl_param *row = sl_param_find(arch->hypers, name);
    cr_assert(row, "%s has no %s", arch->name, name);
    if (sl_hyper_is_for(row, c->task))
        EXPECT_OK(sl_param_parse(row, c, setting + length + 1, &err), err);
}

struct sl_config fixture_case_config(const struct fixture_case *f)
{
    const struct sl_arch *arch = sl_arch_at(f->arch);
    struct sl_config c = fixture_config_for(arch, (enum sl_task)f->task);
    struct sl_err err;
    const int at = f->variant > 0 ? variant_at(arch->name, f->variant) : -1;
    for (int i = 0; at >= 0 && variants[at].settings[i]; i++)
        apply_setting(arch, &c, variants[at].settings[i]);
    EXPECT_OK(sl_config_check(arch, &c, &err), err);
    return c;
}

const char *fixture_case_name(const struct fixture_case *f)
{
    static char name[64];
    (void)snprintf(name, sizeof name, "%s, %s, variant %d", sl_arch_at(f->arch)->name,
                   sl_task_name((enum sl_task)f->task), f->variant);
    return name;
}

struct sl_engine *fixture_engine(const char *isa, int threads)
{
    struct sl_err err;
    struct sl_engine_options options = {.threads = threads, .isa = isa};
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s", err.text);
    return engine;
}

struct sl_engine *fixture_int8_engine(const char *isa, int threads)
{
    struct sl_err err;
    struct sl_engine_options options = {.isa = isa, .threads = threads, .precision = "int8"};
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s", err.text);
    return engine;
}

struct sl_engine *fixture_exact_engine(int threads)
{
    struct sl_engine *engine = fixture_engine(NULL, threads);
    if (engine->kernels->operand == SL_F32)
        return engine;
    sl_engine_destroy(engine);
    return fixture_engine("avx512", threads);
}

void fixture_clamp(const struct sl_arch *arch, struct sl_config *c)
{
    for (const struct sl_param *h = arch->hypers; h->name; h++) {
        struct sl_err err;
        double value = sl_param_get(h, c);
        value = value < h->min ? h->min : value > h->max ? h->max : value;
        EXPECT_OK(sl_param_set(h, c, value, &err), err);
    }
}

/* Weights of auxiliary losses at which their gradients can be measured, and small tables. */
static void set_where_used(const struct sl_arch *arch, struct sl_config *c)
{
    static const struct {
        const char *name;
        double value;
    } values[] = {{"compute_weight", 3}, {"gate_binarization_weight", 0.01},
                  {"kl_weight", 0.3},    {"entropy_weight", 0.3},
                  {"hash_bigrams", 30},  {"wide_ngrams", 20},
                  {"ngram_rows", 40},    {"character_ngrams", 1},
                  {"ngram_scale", 0.5}};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct sl_param *row = sl_param_find(arch->hypers, values[i].name);
        if (row && sl_hyper_is_for(row, c->task))
            fixture_set(arch, c, values[i].name, values[i].value);
    }
}

void fixture_set(const struct sl_arch *arch, struct sl_config *c, const char *name, double value)
{
    struct sl_err err;
    const struct sl_param *row = sl_param_find(arch->hypers, name);
    cr_assert(row, "%s has no %s", arch->name, name);
    EXPECT_OK(sl_param_set(row, c, value, &err), err);
}

void *fixture_own(struct sl_config *c)
{
    return c->own;
}

struct sl_policy fixture_policy(const struct sl_arch *arch, int index)
{
    static const double parts[FIXTURE_POLICIES] = {0.0, 0.3, 0.6, 0.25, 0.3, 0.5};
    struct sl_policy policy = {0};
    struct sl_err err;
    for (const struct sl_param *r = sl_policy_rows(arch); index > 0 && r->name; r++) {
        double value = r->min + parts[index] * (r->max - r->min);
        if (r->kind == SL_CHOICE || r->kind == SL_INTEGER)
            value = fmod(index, r->max + 1.0);
        if (r->kind == SL_FLAG)
            value = index >= 4;
        EXPECT_OK(sl_param_set(r, policy.own, value, &err), err);
    }
    return policy;
}

struct sl_config fixture_config_for(const struct sl_arch *arch, enum sl_task task)
{
    struct sl_config c;
    struct sl_err err;
    sl_config_set_defaults(arch, &c);
    c.task = task;
    c.classes = sl_task_classifies(task) ? FIXTURE_CLASSES : 0;
    c.vocab = FIXTURE_VOCAB;
    c.padding_token = 1;
    c.context_length = FIXTURE_CONTEXT;
    c.width = 36;
    c.heads = 3;
    c.depth = 3;
    c.ffn_width = 52;
    set_where_used(arch, &c);
    fixture_clamp(arch, &c);
    EXPECT_OK(sl_config_check(arch, &c, &err), err);
    return c;
}

struct sl_config fixture_config(const struct sl_arch *arch)
{
    return fixture_config_for(arch, SL_TASK_COMPLETION);
}

/* How far a parameter moves from its first values: so far that every parameter matters, that
 * routers disagree among tokens, that tokens halt at different steps, and that n-grams are surer of
 * some texts than of others. */
static float fixture_noise_scale(const struct sl_builder *b, const char *name)
{
    if (strstr(name, "router"))
        return 1.5f;
    if (strstr(name, "halting"))
        return 0.3f;
    if (strstr(name, "ngrams.weight"))
        return 2.0f;
    if (strstr(name, "embedding.")) /* a table */
        return b->scale_embedding > 1.0f ? 0.9f / b->scale_embedding : 1.0f;
    return 0.15f;
}

struct sl_model *fixture_model(struct sl_engine *engine, const struct sl_arch *arch,
                               const struct sl_config *config)
{
    struct sl_err err;
    struct sl_model *m = sl_model_create(engine, arch, config, &err);
    cr_assert(m, "%s", err.text);
    if (engine->precision != SL_PRECISION_INT8) /* which only serves */
        EXPECT_OK(sl_model_allocate_gradients(m, &err), err);
    sl_model_initialize(m, 7);
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        uint64_t key = sl_random_key(22, p->name);
        float size = fixture_noise_scale(&m->builder, p->name);
        for (int j = 0; j < p->rows * p->cols; j++)
            p->data[j] += size * (float)sl_random_normal(key, (uint64_t)j);
    }
    sl_model_pack(m);
    return m;
}

/* The first third of each text, a row at least, is one to translate into the rest. A text of one
 * row goes with the next. Returns the number of targets. */
static int make_translations(struct fixture_batch *f)
{
    int count = 0, targets = 0;
    for (int i = 0; i < f->batch.count; i++) {
        struct sl_sequence s = f->sequences[i];
        if (s.rows == 1 && i + 1 < f->batch.count)
            s.rows += f->sequences[++i].rows;
        s.source = s.rows / 3 > 0 ? s.rows / 3 : 1;
        targets += s.rows - s.source;
        f->sequences[count++] = s;
    }
    f->batch.count = count;
    return targets;
}

void fixture_set_task(struct fixture_batch *f, enum sl_task task)
{
    int count = f->batch.rows;
    if (task == SL_TASK_TRANSLATION)
        count = make_translations(f);
    if (task == SL_TASK_CLASSIFICATION)
        count = f->batch.count;
    f->batch.loss_scale = 1.0f / (float)count;
}

static void corrupt(struct fixture_batch *f, uint64_t key)
{
    f->masked = (struct sl_rows){.index = f->masked_rows};
    for (int i = 0; i < f->batch.rows; i++) {
        f->replaced[i] = (int32_t)sl_random_below(key, (uint64_t)i + 16384, 2);
        if (i % 3 == 1) {
            f->masked_rows[f->masked.count++] = i;
            f->replaced[i] = -1;
        }
    }
    f->corruption = (struct sl_corruption){.masked = &f->masked,
                                           .targets = f->targets,
                                           .replaced = f->replaced,
                                           .masked_weight = 1.0f,
                                           .replaced_weight = 2.0f};
    f->batch.corruption = &f->corruption;
}

void fixture_batch_init(struct fixture_batch *f, const int *lengths, uint64_t seed)
{
    uint64_t key = sl_random_key(seed, "tokens");
    f->batch = (struct sl_batch){.tokens = f->tokens,
                                 .types = f->types,
                                 .targets = f->targets,
                                 .labels = f->labels,
                                 .sequences = f->sequences};
    for (; lengths[f->batch.count]; f->batch.count++) {
        int rows = lengths[f->batch.count];
        f->sequences[f->batch.count] = (struct sl_sequence){.first = f->batch.rows, .rows = rows};
        f->batch.rows += rows;
    }
    for (int i = 0; i < f->batch.rows; i++) {
        f->tokens[i] = (int32_t)sl_random_below(key, (uint64_t)i, FIXTURE_VOCAB);
        f->targets[i] = (int32_t)sl_random_below(key, (uint64_t)i + 4096, FIXTURE_VOCAB);
        f->types[i] = (int32_t)sl_random_below(key, (uint64_t)i + 12288, 2);
    }
    for (int i = 0; i < f->batch.count; i++)
        f->labels[i] = (int32_t)sl_random_below(key, (uint64_t)i + 8192, FIXTURE_CLASSES);
    f->batch.loss_scale = f->batch.row_scale = 1.0f / (float)f->batch.rows;
    corrupt(f, key);
}

void fixture_tape_init(struct sl_tape *t, const struct sl_model *m, const struct sl_batch *batch,
                       bool training)
{
    struct sl_err err;
    EXPECT_OK(sl_tape_init(t, m->kernels, m->engine->pool, 0, &err), err);
    t->policy = &m->policy;
    sl_tape_begin(t, batch, training);
    (void)sl_model_forward(m, t);
    if (training)
        sl_tape_backward(t);
    size_t bytes = t->arena.peak;
    sl_tape_release(t);
    EXPECT_OK(sl_tape_init(t, m->kernels, m->engine->pool, bytes, &err), err);
    t->policy = &m->policy;
}

double fixture_loss(const struct sl_model *m, struct sl_tape *t, const struct sl_batch *batch)
{
    sl_tape_begin(t, batch, true);
    (void)sl_model_forward(m, t);
    return t->stats.loss + t->stats.aux_loss;
}
