/* model_open.c - opens a checkpoint as a model: verified, loaded, packed, and from then on
 * read-only. */
#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "model/shared_values.h"
#include "pretrained/pretrained.h"

#include <string.h>
#include <sys/stat.h>

/* Another model may have read them already. */
static struct sl_shared_values *shared_values(struct sl_engine *engine,
                                              const struct sl_checkpoint *c, struct sl_err *err)
{
    struct sl_shared_values *values = sl_shared_values_take(engine, sl_checkpoint_shared_sha256(c));
    if (values)
        return values;
    values = sl_checkpoint_load_shared(c, err);
    return values ? sl_shared_values_add(engine, values) : NULL;
}

static bool set_shared(struct sl_model *m, const struct sl_checkpoint *c, struct sl_err *err)
{
    const char *base = c->model_config.base.model;
    if (!sl_checkpoint_shares(c))
        return true;
    if (base[0] && !(m->base = strdup(base)))
        return sl_fail(err, SL_NO_MEMORY, "no memory for the name of a base");
    struct sl_shared_values *values = shared_values(m->engine, c, err);
    return values && sl_model_share(m, values, err);
}

/* Values, labels and whatever describes it are set. */
static void finish(struct sl_model *m)
{
    sl_model_describe(m);
    sl_model_pack_alone(m); /* others may be running batches */
    if (!m->engine->keeps_values)
        sl_model_discard_values(m);
}

static struct sl_model *from_checkpoint(struct sl_engine *engine, struct sl_checkpoint *c,
                                        struct sl_err *err)
{
    struct sl_config config = c->model_config.hyper;
    config.shares_vectors = sl_checkpoint_shares(c);
    struct sl_model *m = sl_model_create_as(
        engine, c->model_config.arch, &config,
        sl_engine_default_precision(engine, c->model_config.precision_costs), err);
    if (!m)
        return NULL;
    if (!set_shared(m, c, err) || !sl_checkpoint_load(c, m->state_dict, m->state_dict_count, err)) {
        sl_model_close(m);
        return NULL;
    }
    m->policy = c->model_config.policy;
    sl_model_set_operating_points(m, c->model_config.operating_points,
                                  c->model_config.operating_point_count);
    m->tokenizer = c->tokens;
    c->tokens = NULL;
    m->labels = c->model_config.labels;
    m->chat = c->model_config.chat;
    m->prompts = c->model_config.prompts;
    m->training = c->model_config.training;
    c->model_config.training = NULL;
    c->model_config.labels = NULL;
    c->model_config.prompts = (struct sl_prompts){0};
    m->created = c->created;
    memcpy(m->sha256, c->sha256, sizeof m->sha256);
    finish(m);
    return m;
}

static struct sl_model *checkpoint_open(struct sl_engine *engine, const char *directory,
                                        struct sl_err *err)
{
    struct sl_checkpoint checkpoint;
    if (!sl_checkpoint_open(&checkpoint, directory, err))
        return NULL;
    struct sl_model *m = from_checkpoint(engine, &checkpoint, err);
    sl_checkpoint_close(&checkpoint);
    return m;
}

/* As another program wrote it. */
static struct sl_model *pretrained_open(struct sl_engine *engine, const char *directory,
                                        struct sl_err *err)
{
    struct sl_pretrained p;
    if (!sl_pretrained_open(&p, directory, err))
        return NULL;
    struct sl_model *m = sl_model_create(engine, p.published.arch, &p.published.config, err);
    if (m && !sl_pretrained_load(&p, m->state_dict, m->state_dict_count, err)) {
        sl_model_close(m);
        m = NULL;
    }
    if (m) {
        m->tokenizer = p.tokens;
        m->labels = p.published.labels;
        m->chat = p.chat;
        m->prompts = p.published.prompts;
        p.tokens = NULL;
        p.published.labels = NULL;
        p.published.prompts = (struct sl_prompts){0};
        memcpy(m->sha256, p.sha256, sizeof m->sha256);
        finish(m);
    }
    sl_pretrained_close(&p);
    return m;
}

bool sl_model_exists(const char *directory)
{
    char path[SL_PATH_MAX];
    struct stat status;
    struct sl_err ignored;
    if (sl_manifest_path(path, directory, &ignored) && lstat(path, &status) == 0)
        return S_ISREG(status.st_mode);
    return sl_pretrained_is(directory);
}

struct sl_model *sl_model_open(struct sl_engine *engine, const char *directory, struct sl_err *err)
{
    struct sl_model *m = sl_pretrained_is(directory) ? pretrained_open(engine, directory, err)
                                                     : checkpoint_open(engine, directory, err);
    if (!m && err && !err->path[0])
        (void)(sl_err_set_path(err, directory) || sl_wrap(err, "checkpoint '%s'", directory));
    return m;
}
