/* test_gguf_model.c - what a GGUF file says is followed, or refused by its name: golden files with
 * some bytes changed. */
#include "base/file.h"
#include "layers/layers.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "support/workspace.h"

#include <stdlib.h>
#include <string.h>

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pretrained/"

/* Where an entry has its value, behind its name and the number of its type; a string has its length
 * before it. */
#define VALUE(name)  name, sizeof(name) - 1 + 4
#define STRING(name) name, sizeof(name) - 1 + 12

struct change {
    const char *model;
    const char *at; /* the first place in the file, */
    long offset;    /* counted from its beginning */
    const char *bytes;
    size_t count;
    const char *said;
};

static struct workspace dirs;
static struct sl_engine *engine;
static char path[PATH_MAX + 16];

static void setup(void)
{
    workspace_create(&dirs, "output");
    (void)snprintf(path, sizeof path, "%s/changed.gguf", dirs.top);
    engine = fixture_engine(NULL, 1);
}

static void teardown(void)
{
    sl_engine_destroy(engine);
    workspace_remove(&dirs);
}

TestSuite(gguf_model, .init = setup, .fini = teardown);

static void write_changed(const struct change *c)
{
    char golden[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    (void)snprintf(golden, sizeof golden, GOLDEN "%s/model.gguf", c->model);
    EXPECT_OK(sl_map_open(&map, golden, &err), err);
    char *copy = malloc(map.size);
    cr_assert(copy);
    memcpy(copy, map.data, map.size);
    char *place = memmem(copy, map.size, c->at, strlen(c->at));
    cr_assert(place, "%s is not in %s", c->at, golden);
    memcpy(place + c->offset, c->bytes, c->count);
    EXPECT_OK(sl_file_replace(path, &(struct sl_slice){copy, map.size}, 1, &err), err);
    free(copy);
    sl_map_close(&map);
}

Test(gguf_model, says_how_it_pools)
{
    static const struct {
        const char *number;
        int pooling;
    } cases[] = {{"\1", SL_POOLING_MEAN}, {"\2", SL_POOLING_FIRST}, {"\3", SL_POOLING_LAST}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_err err;
        struct sl_model *m = NULL;
        write_changed(
            &(struct change){"gguf_bert", VALUE("bert.pooling_type"), cases[i].number, 1, NULL});
        EXPECT_OK((m = sl_model_open(engine, path, &err)), err);
        cr_expect_eq(m->config.pooling, cases[i].pooling, "%zu", i);
        sl_model_close(m);
    }
}

/* One that says nothing has an entry of another name. */
Test(gguf_model, has_defaults)
{
    static const struct change changes[] = {
        {"gguf_bert", "bert.pooling_type", 5, "P", 1, NULL},
        {"gguf_bert", "bert.attention.causal", 5, "A", 1, NULL},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct sl_err err;
        struct sl_model *m = NULL;
        write_changed(&changes[i]);
        EXPECT_OK((m = sl_model_open(engine, path, &err)), err);
        cr_expect_eq(m->config.pooling, i == 0 ? SL_POOLING_MEAN : SL_POOLING_FIRST, "%zu", i);
        sl_model_close(m);
    }
}

static const struct change refused[] = {
    {"gguf_bert", STRING("general.architecture"), "nert", 4,
     "general.architecture is 'nert': expected one of these in a GGUF file: llama, qwen2, bert"},
    {"gguf_bert", VALUE("bert.pooling_type"), "\0", 1,
     "bert.pooling_type is 0: expected 1 (mean), 2 (first token) or 3 (last token)"},
    {"gguf_bert", VALUE("bert.pooling_type"), "\4", 1,
     "rerankers are read from directories of Hugging Face's"},
    {"gguf_bert", VALUE("bert.pooling_type"), "\x09", 1, "bert.pooling_type is 9: expected 1"},
    {"gguf_bert", "bert.pooling_type", 17, "\6", 1, "bert.pooling_type is -1: expected 1"},
    {"gguf_bert", VALUE("bert.attention.causal"), "\1", 1,
     "bert.attention.causal is not false, which is not supported"},
    {"gguf_bert", VALUE("bert.block_count"), "\3", 1,
     "tensor 'bert.encoder.layer.2.attention.output.LayerNorm.weight' is missing"},
    {"gguf_bert", VALUE("bert.block_count"), "\1", 1,
     "tensor 'encoder.layer.1.attention.output.LayerNorm.bias' is of no use in a BertModel"},
    {"gguf_bert", VALUE("bert.embedding_length"), "\xFF\xFF\xFF\xFF", 4, "'hidden_size'"},
    {"gguf_bert", VALUE("bert.attention.head_count"), "\0", 1, "'num_attention_heads'"},
    {"gguf_bert", "bert.feed_forward_length", 0, "B", 1, "'intermediate_size' is missing"},
    {"gguf_bert", "token_types.weight", 0, "x", 1,
     "tensor 'xoken_types.weight' is of no use in this architecture"},
    {"gguf_bert", "token_types.weight", 0, "\xC2", 1, "a name is empty, has a NUL in it or is not"},
    {"gguf_bert", "bert.block_count", 0, "\xC2", 1, "a name is empty, has a NUL in it or is not"},
    {"gguf_bert", "blk.1.ffn_up.bias", 4, "9", 1,
     "tensor 'bert.encoder.layer.1.intermediate.dense.bias' is missing"},
    {"gguf_bert", VALUE("tokenizer.ggml.bos_token_id"), "\xC8", 1,
     "token 200 is not in the vocabulary of 57"},
    {"gguf_bert", "tokenizer.ggml.seperator_token_id", 0, "T", 1,
     "token 102 is not in the vocabulary of 57"},
    /* An entry as long as the one that it replaces: of 8 bytes, its name two shorter. */
    {"gguf", "llama.embedding_length", -8,
     "\x12\0\0\0\0\0\0\0llama.pooling_type\x0A\0\0\0\3\0\0\0\0\0\0", 38,
     "llama.pooling_type is 3: embeddings of this architecture are not supported"},
    {"gguf", "llama.embedding_length", 0, "llama.attention.causal", 22,
     "llama.attention.causal is not true, which is not supported"},
};

Test(gguf_model, is_refused_by_name)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct sl_err err = {0};
        write_changed(&refused[i]);
        struct sl_model *m = sl_model_open(engine, path, &err);
        cr_expect_null(m, "%s", refused[i].said);
        cr_expect(strstr(err.text, refused[i].said), "want %s, said: %s", refused[i].said,
                  err.text);
    }
}
