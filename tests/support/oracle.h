/* oracle.h - what a classifier of a test's store says when it is asked alone, in this process. */
#pragma once

#include "sluice/classify.h"
#include "sluice/model.h"
#include "sluice/tokens.h"
#include "support/test.h"

enum { ORACLE_CLASSES_MAX = 8, ORACLE_TOKENS_MAX = 128 };

struct oracle {
    struct sl_engine *engine;
    struct sl_model *model;
    struct sl_classifier *classifier;
};

/* One text's answer. */
struct verdict {
    int classes, tokens, best;
    int given; /* tokens before it was cut */
    float logits[ORACLE_CLASSES_MAX], probs[ORACLE_CLASSES_MAX];
    double depth; /* layers that a token went through, the mean */
    int64_t layers_used, layers_full;
    bool finite;
};

static inline struct oracle oracle_open(const char *store, const char *name)
{
    struct sl_err err;
    struct oracle o = {0};
    char directory[PATH_MAX], version[PATH_MAX];
    const struct sl_engine_options engine = {.threads = 1};
    (void)test_path(version, test_path(directory, store, name), "4");
    EXPECT_OK((o.engine = sl_engine_create(&engine, &err)), err);
    EXPECT_OK((o.model = sl_model_open(o.engine, version, &err)), err);
    const struct sl_classifier_options options = {.items = 1,
                                                  .batch_rows = sl_model_info(o.model)->context};
    EXPECT_OK((o.classifier = sl_classifier_create(o.model, &options, &err)), err);
    return o;
}

static inline void oracle_close(struct oracle *o)
{
    sl_classifier_destroy(o->classifier);
    sl_model_close(o->model);
    sl_engine_destroy(o->engine);
    *o = (struct oracle){0};
}

/* The verdict on so many tokens. */
static inline struct verdict oracle_judge(const struct oracle *o, const int32_t *ids, int count)
{
    struct sl_err err;
    const struct sl_model_info *info = sl_model_info(o->model);
    struct sl_item item = {.tokens = ids, .count = count};
    struct verdict v = {.classes = info->classes, .tokens = count, .given = count};
    EXPECT_OK(sl_classifier_run(o->classifier, &item, 1, &err), err);
    memcpy(v.logits, item.logits, (size_t)info->classes * sizeof *v.logits);
    v.finite = item.finite;
    v.layers_used = item.layers_used;
    v.layers_full = item.layers_full;
    v.depth = info->depth * (double)item.layers_used / (double)item.layers_full;
    if (v.finite)
        sl_softmax(v.logits, v.classes, v.probs);
    for (int i = 1; i < v.classes; i++)
        v.best = v.logits[i] > v.logits[v.best] ? i : v.best;
    return v;
}

/* Cuts to the context at one end; special tokens stay at theirs. Returns how many are left. */
static inline int oracle_cut(const struct oracle *o, bool from_left, int32_t *ids, int count)
{
    const struct sl_tokenizer *tokens = sl_model_tokenizer(o->model);
    int context = sl_model_info(o->model)->context;
    int head = ids[0] == sl_tokenizer_special(tokens, SL_SPECIAL_BEGIN);
    int tail = ids[count - 1] == sl_tokenizer_special(tokens, SL_SPECIAL_END);
    int kept = context - head - tail, from = from_left ? count - tail - kept : head;
    if (count <= context)
        return count;
    memmove(ids + head, ids + from, (size_t)kept * sizeof *ids);
    memmove(ids + head + kept, ids + count - tail, (size_t)tail * sizeof *ids);
    return context;
}

/* The verdict on a text, cut at its beginning or its end when it does not fit. */
static inline struct verdict oracle_read(const struct oracle *o, const char *text, bool from_left)
{
    struct sl_err err;
    int32_t ids[ORACLE_TOKENS_MAX];
    const struct sl_encoding encoding = {.text = text,
                                         .bytes = strlen(text),
                                         .special = true,
                                         .ids = ids,
                                         .most = ORACLE_TOKENS_MAX};
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(o->model), &encoding, &err);
    cr_assert(count > 0, "%s: %s", text, err.text);
    cr_assert_leq(count, ORACLE_TOKENS_MAX);
    struct verdict v = oracle_judge(o, ids, oracle_cut(o, from_left, ids, (int)count));
    v.given = (int)count;
    return v;
}

/* The verdict on a text that fits. */
static inline struct verdict oracle_ask(const struct oracle *o, const char *text)
{
    struct verdict v = oracle_read(o, text, false);
    cr_assert_eq(v.given, v.tokens);
    return v;
}
