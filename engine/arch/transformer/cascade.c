/* cascade.c - two classifiers in one model: n-grams answer the texts that they are sure of, and a
 * transformer is asked about the rest. Varshney & Baral 2022, "Model Cascading: Towards Jointly
 * Improving Efficiency and Accuracy of NLP Systems".
 *
 *     z = n-grams(text)                           of all its tokens; calibrated for themselves
 *     logits = z                                  if max softmax(z) > cascade_threshold > 0
 *            = transformer(text) + ngram_scale z  else: of block_context tokens, from both ends
 *
 * Of several labels all have to be sure: max(p, 1 - p) of each sigmoid. */
#include "arch/transformer/transformer.h"

struct cascade_policy {
    float cascade_threshold;
};

SL_POLICY_FITS(struct cascade_policy);

static float threshold(const struct sl_policy *policy)
{
    const struct cascade_policy *own = sl_policy_own(policy);
    return own->cascade_threshold > 0.0f ? own->cascade_threshold : 1.0f;
}

static struct sl_cascade parts(const struct sl_config *c)
{
    const struct transformer_config *own = sl_config_own(c);
    if (own->ngram_rows == 0)
        return (struct sl_cascade){0};
    return (struct sl_cascade){.context = sl_transformer_block_context(c),
                               .beginning = own->block_beginning,
                               .scale = own->ngram_scale};
}

static const char *skipping(const struct sl_policy *policy)
{
    (void)policy;
    return "cascade";
}

static bool check(const struct sl_config *c, struct sl_err *err)
{
    const struct transformer_config *own = sl_config_own(c);
    if (own->block_context > 0 && own->ngram_rows == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "block_context is %d, but ngram_rows 0: nothing would read "
                       "the rest of a text",
                       own->block_context);
    if (own->block_context > c->context_length || own->block_context == 1)
        return sl_fail(err, SL_BAD_INPUT, "block_context is %d: expected 0, or 2 to %d tokens",
                       own->block_context, c->context_length);
    return sl_transformer_check(c, err);
}

static void build(struct sl_builder *b, void *self, const struct sl_config *c)
{
    sl_transformer_build(b, self, c, NULL);
}

static const struct sl_param hypers[] = {
    TRANSFORMER_HYPERS,
    NGRAM_ROW(block_context, SL_INTEGER, 0, 8192, 0,
              "tokens of a text that the blocks read; 0: all"),
    NGRAM_ROW(block_beginning, SL_REAL, 0, 1, 0.33,
              "of a longer text: the fraction of these that is from its beginning; the others are "
              "from its end"),
    NGRAM_ROW(ngram_scale, SL_REAL, 1e-6, 1e3, 1,
              "factor of the n-grams' logits where they are added to the transformer's"),
    {0}};

static const struct sl_param policy[] = {
    SL_REAL_ROW(cascade_policy, cascade_threshold, 0, 1, 1,
                "score above which n-grams answer alone; 1, or 0: they never do"),
    {0}};

const struct sl_arch sl_arch_cascade = {
    .name = "cascade",
    .paper = "Model Cascading, 2022",
    .summary = "n-grams answer texts that they are sure of, and a transformer the rest",
    .hypers = hypers,
    .policy = policy,
    .threshold = "cascade_threshold",
    .skipping = skipping,
    .tasks = SL_CLASSIFIES,
    .describes_blocks = true,
    .extends = "transformer",
    .cascade = parts,
    .cascade_threshold = threshold,
    .size = SL_TRANSFORMER_BYTES,
    .check = check,
    .build = build,
    .forward = sl_transformer_forward,
};
