/* in_process_classifier.c - classifies one text at a time, without a daemon. */
#include "support/in_process_classifier.h"

#include "support/test.h"

struct in_process_classifier in_process_open_in(const char *store, const char *name,
                                                const char *precision)
{
    struct sl_err err;
    struct in_process_classifier c = {0};
    char directory[PATH_MAX], version[PATH_MAX];
    const struct sl_engine_options engine = {.threads = 1, .precision = precision};
    (void)test_path(version, test_path(directory, store, name), "4");
    EXPECT_OK((c.engine = sl_engine_create(&engine, &err)), err);
    EXPECT_OK((c.model = sl_model_open(c.engine, version, &err)), err);
    const struct sl_classifier_options options = {
        .max_batch_size = 1, .max_batch_tokens = sl_model_info(c.model)->context};
    EXPECT_OK((c.classifier = sl_classifier_create(c.model, &options, &err)), err);
    return c;
}

struct in_process_classifier in_process_open(const char *store, const char *name)
{
    return in_process_open_in(store, name, NULL);
}

void in_process_close(struct in_process_classifier *c)
{
    sl_classifier_destroy(c->classifier);
    sl_model_close(c->model);
    sl_engine_destroy(c->engine);
    *c = (struct in_process_classifier){0};
}

struct classification in_process_classify_tokens(const struct in_process_classifier *c,
                                                 const int32_t *ids, int count)
{
    struct sl_err err;
    const struct sl_model_info *info = sl_model_info(c->model);
    struct sl_classifier_item item = {
        .tokens = ids, .count = count, .operating_point = c->operating_point};
    struct classification v = {.classes = info->classes, .tokens = count, .given = count};
    EXPECT_OK(sl_classifier_run(c->classifier, &item, 1, &err), err);
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
static int cut_tokens(const struct in_process_classifier *c, bool from_left, int32_t *ids,
                      int count)
{
    const struct sl_tokenizer *tokens = sl_model_tokenizer(c->model);
    int context = sl_model_info(c->model)->context;
    int head = ids[0] == sl_tokenizer_special(tokens, SL_SPECIAL_BEGIN);
    int tail = ids[count - 1] == sl_tokenizer_special(tokens, SL_SPECIAL_END);
    int kept = context - head - tail, from = from_left ? count - tail - kept : head;
    if (count <= context)
        return count;
    memmove(ids + head, ids + from, (size_t)kept * sizeof *ids);
    memmove(ids + head + kept, ids + count - tail, (size_t)tail * sizeof *ids);
    return context;
}

struct classification in_process_classify_truncated(const struct in_process_classifier *c,
                                                    const char *text, bool from_left)
{
    struct sl_err err;
    int32_t ids[IN_PROCESS_TOKENS_MAX];
    const struct sl_encoding encoding = {.text = text,
                                         .bytes = strlen(text),
                                         .special = true,
                                         .ids = ids,
                                         .capacity = IN_PROCESS_TOKENS_MAX};
    long count = sl_tokenizer_tokenize(sl_model_tokenizer(c->model), &encoding, &err);
    cr_assert(count > 0, "%s: %s", text, err.text);
    cr_assert_leq(count, IN_PROCESS_TOKENS_MAX);
    struct classification v =
        in_process_classify_tokens(c, ids, cut_tokens(c, from_left, ids, (int)count));
    v.given = (int)count;
    return v;
}

struct classification in_process_classify(const struct in_process_classifier *c, const char *text)
{
    struct classification v = in_process_classify_truncated(c, text, false);
    cr_assert_eq(v.given, v.tokens);
    return v;
}
