/* tiny_classifiers.c - makes small classifiers from the inside, and writes them to a store. */
#include "support/tiny_classifiers.h"

#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/tiny_store.h"
#include "tokenizer/tokenizer_kinds.h"
#include "tokenizer/tokenizer_trainer.h"

enum { SEED = 8 };

const char *const mood_labels[MOOD_CLASSES] = {"negative", "so \"so\" \xE2\x82\xAC", "positive"};
const char *const plain_labels[PLAIN_CLASSES] = {"false", "true"};

static struct sl_config small_config(const struct sl_arch *arch, int vocab, int classes,
                                     int context)
{
    struct sl_config c;
    sl_config_set_defaults(arch, &c);
    c.task = SL_TASK_CLASSIFICATION;
    c.classes = classes;
    c.vocab = vocab;
    c.context_length = context;
    c.width = 36;
    c.heads = 3;
    c.depth = 4;
    c.ffn_width = 52;
    return c;
}

static void randomize(struct sl_model *m, uint64_t seed)
{
    sl_model_initialize(m, 7);
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        uint64_t key = sl_random_key(seed, p->name);
        float size = strstr(p->name, "router") || strstr(p->name, "embedding") ? 1.5f : 0.3f;
        for (int j = 0; j < p->rows * p->cols; j++)
            p->data[j] += size * (float)sl_random_normal(key, (uint64_t)j);
    }
}

/* One token's features as large as numbers get, and a class that adds them all up. */
static void make_token_overflow(struct sl_model *m, int32_t token)
{
    for (int i = 0; i < m->builder.count; i++) {
        struct sl_parameter *p = &m->builder.parameters[i];
        bool is_table = strstr(p->name, "embedding") && p->rows == m->config.vocab;
        bool is_class = strstr(p->name, "classifier") && p->cols == m->config.width;
        for (int j = 0; is_table && j < p->cols; j++)
            p->data[token * p->cols + j] = 3e38f;
        for (int j = 0; is_class && j < p->cols; j++)
            p->data[j] = 4.0f + 0.01f * (float)j;
    }
}

static void write_model(const char *store, const char *name, const struct sl_model *m,
                        const struct sl_model_config *model_config,
                        const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    char directory[PATH_MAX], version[PATH_MAX];
    const struct sl_checkpoint_parts parts = {.model_config = model_config,
                                              .tokens = tokens,
                                              .parameters = m->state_dict,
                                              .count = m->state_dict_count,
                                              .created = 1700000000};
    cr_assert_eq(mkdir(test_path(directory, store, name), 0700), 0);
    EXPECT_OK(sl_checkpoint_write(test_path(version, directory, "4"), &parts, &err), err);
}

/* Over the characters of a text, or over bytes. */
static void make_gated(struct sl_engine *engine, const char *store, const char *name,
                       const char *tokenizer, const char *text, uint64_t seed)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("tsa");
    struct sl_tokenizer *tokens = sl_tokenizer_train_default(tokenizer, text, strlen(text), &err);
    cr_assert(tokens, "%s", err.text);
    struct sl_config config =
        small_config(arch, sl_tokenizer_size(tokens), MOOD_CLASSES, MOOD_CONTEXT);
    struct sl_model *m = sl_model_create(engine, arch, &config, &err);
    cr_assert(m, "%s", err.text);
    randomize(m, seed);
    struct sl_model_config model_config = {.arch = arch,
                                           .hyper = config,
                                           .policy = fixture_policy(arch, 1),
                                           .labels = (char **)(uintptr_t)mood_labels,
                                           .tokenizer = tokenizer};
    write_model(store, name, m, &model_config, tokens);
    sl_model_close(m);
    sl_tokenizer_destroy(tokens);
}

/* The special tokens of BERT, four signs, and every letter, beginning a word and inside one. */
static struct sl_tokenizer *create_pieces(void)
{
    static const char *const first[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                        ".",     ",",     "?",     "!"};
    struct sl_err err;
    char letters[2 * 26][4];
    struct sl_piece pieces[PLAIN_PIECES];
    for (int i = 0; i < PLAIN_SPECIAL + PLAIN_SIGNS; i++)
        pieces[i] = (struct sl_piece){.text = first[i], .bytes = strlen(first[i])};
    for (int i = 0; i < 2 * 26; i++) {
        (void)snprintf(letters[i], sizeof letters[i], i < 26 ? "%c" : "##%c", 'a' + i % 26);
        pieces[PLAIN_SPECIAL + PLAIN_SIGNS + i] =
            (struct sl_piece){.text = letters[i], .bytes = strlen(letters[i])};
    }
    struct sl_tokenizer *tokens =
        sl_tokenizer_create("wordpiece", /* lower= */ true, pieces, PLAIN_PIECES, &err);
    cr_assert(tokens, "%s", err.text);
    return tokens;
}

void tiny_plain_make(struct sl_engine *engine, const char *store)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("encoder");
    struct sl_tokenizer *tokens = create_pieces();
    struct sl_config config = small_config(arch, PLAIN_PIECES, PLAIN_CLASSES, PLAIN_CONTEXT);
    fixture_set(arch, &config, "final_norm", 0);
    struct sl_model *m = sl_model_create(engine, arch, &config, &err);
    cr_assert(m, "%s", err.text);
    randomize(m, SEED);
    make_token_overflow(m, PLAIN_SPECIAL + PLAIN_SIGNS - 1);
    struct sl_model_config model_config = {.arch = arch,
                                           .hyper = config,
                                           .policy = sl_policy_defaults(arch),
                                           .labels = (char **)(uintptr_t)plain_labels,
                                           .tokenizer = "wordpiece",
                                           .lower = true};
    write_model(store, PLAIN, m, &model_config, tokens);
    sl_model_close(m);
    sl_tokenizer_destroy(tokens);
}

void tiny_labelled_make(const char *store, const char *name, const char *const *labels, int count)
{
    struct sl_err err;
    const struct sl_arch *arch = sl_arch_find("encoder");
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){.threads = 1}, &err);
    cr_assert(engine, "%s", err.text);
    struct sl_tokenizer *tokens = sl_tokenizer_train_default("bytes", "", 0, &err);
    cr_assert(tokens, "%s", err.text);
    struct sl_config config = small_config(arch, sl_tokenizer_size(tokens), count, PLAIN_CONTEXT);
    struct sl_model *m = sl_model_create(engine, arch, &config, &err);
    cr_assert(m, "%s", err.text);
    sl_model_initialize(m, 7);
    const struct sl_model_config model_config = {.arch = arch,
                                                 .hyper = config,
                                                 .policy = sl_policy_defaults(arch),
                                                 .labels = (char **)(uintptr_t)labels,
                                                 .tokenizer = "bytes"};
    write_model(store, name, m, &model_config, tokens);
    sl_model_close(m);
    sl_tokenizer_destroy(tokens);
    sl_engine_destroy(engine);
}

void tiny_others_make(const char *store)
{
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){.threads = 1}, &err);
    cr_assert(engine, "%s", err.text);
    static const char text[] = TINY_TEXT;
    make_gated(engine, store, RAW, "bytes", text, SEED);
    cr_assert_eq(text[0], '\n');
    make_gated(engine, store, FLAT, "characters", text + 1, SEED);
    sl_engine_destroy(engine);
}

void tiny_seeded_make(const char *store, const char *name, unsigned seed)
{
    struct sl_err err;
    struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){.threads = 1}, &err);
    cr_assert(engine, "%s", err.text);
    make_gated(engine, store, name, "characters", TINY_TEXT, seed);
    sl_engine_destroy(engine);
}

void tiny_classifiers_make(const char *store)
{
    struct sl_err err;
    const struct sl_engine_options options = {.threads = 1};
    struct sl_engine *engine = sl_engine_create(&options, &err);
    cr_assert(engine, "%s", err.text);
    make_gated(engine, store, MOOD, "characters", TINY_TEXT, SEED);
    tiny_plain_make(engine, store);
    sl_engine_destroy(engine);
}
