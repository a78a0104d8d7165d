/* classify.c - classifies the texts given as arguments.
 *
 *     cc classify.c -o classify $(pkg-config --cflags --libs sluice)
 *     ./classify models/sentiment/1 "A wonderful film." "Two hours I will never get back." */
#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fills the item with the text's token ids, truncated to the model's context. */
static bool encode(const struct sl_model *model, const char *text, struct sl_classifier_item *item,
                   struct sl_err *err)
{
    const struct sl_tokenizer *tokenizer = sl_model_tokenizer(model);
    size_t max = sl_tokenizer_max_tokens(tokenizer, strlen(text));
    int32_t *ids = malloc(max * sizeof *ids);
    struct sl_encoding encoding = {.text = text,
                                   .bytes = strlen(text),
                                   .unknown = SL_UNKNOWN_REPLACE,
                                   .special = true,
                                   .ids = ids,
                                   .capacity = (long)max};
    long count = ids ? sl_tokenizer_tokenize(tokenizer, &encoding, err) : -1;
    if (count < 1) {
        free(ids);
        return false;
    }
    int context = sl_model_info(model)->context;
    item->tokens = ids;
    item->count =
        (int)sl_tokenizer_truncate(tokenizer, SL_TRUNCATE_DEFAULT, context, ids, NULL, count);
    return true;
}

static void print(const struct sl_model_info *info, const struct sl_classifier_item *item,
                  const char *text)
{
    int best = sl_argmax(item->logits, info->classes);
    float *probabilities = malloc((size_t)info->classes * sizeof *probabilities);
    if (!probabilities)
        return;
    sl_softmax(item->logits, info->classes, probabilities);
    printf("%s\t%.4f\t%s\n", info->labels[best], (double)probabilities[best], text);
    free(probabilities);
}

static bool classify(const struct sl_model *model, char **texts, int count, struct sl_err *err)
{
    const struct sl_model_info *info = sl_model_info(model);
    struct sl_classifier_options options = {.max_batch_size = 1, .max_batch_tokens = info->context};
    struct sl_classifier *classifier = sl_classifier_create(model, &options, err);
    bool ok = classifier != NULL;
    for (int i = 0; i < count && ok; i++) {
        struct sl_classifier_item item = {0};
        ok = encode(model, texts[i], &item, err) && sl_classifier_run(classifier, &item, 1, err);
        if (ok)
            print(info, &item, texts[i]);
        free((void *)item.tokens);
    }
    sl_classifier_destroy(classifier);
    return ok;
}

int main(int argc, char **argv)
{
    struct sl_err err = {0};
    struct sl_engine_options options = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: classify MODEL-DIR TEXT...\n");
        return 2;
    }
    struct sl_engine *engine = sl_engine_create(&options, &err);
    struct sl_model *model = engine ? sl_model_open(engine, argv[1], &err) : NULL;
    bool ok = model && classify(model, argv + 2, argc - 2, &err);
    if (!ok)
        fprintf(stderr, "classify: %s\n", err.text);
    sl_model_close(model);
    sl_engine_destroy(engine);
    return ok ? 0 : 1;
}
