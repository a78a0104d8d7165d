/* test_masked_terminal.c - masked tokens, sparse embeddings and prompts from a terminal: `sluice`
 * and `sluicectl` print the same. */
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <stdio.h>
#include <string.h>

#define MASKED  SL_SOURCE_DIR "/tests/golden/pretrained/bert_masked"
#define PROMPTS SL_SOURCE_DIR "/tests/golden/sentences/prompts"

static struct ctl_target t;
static struct program_result r;

static void start(void)
{
    daemon_make_store(&t.daemon);
    tiny_classifiers_make(t.daemon.store);
    tiny_store_add_pretrained(t.daemon.store, "bert_masked");
    tiny_store_import(t.daemon.store, "prompts");
    daemon_serve(&t.daemon,
                 (const char *const[]){"--default-classifier", MOOD, "--precision", "fp32", NULL});
    ctl_reach(&t);
}

static void stop(void)
{
    daemon_stop(&t.daemon);
}

TestSuite(masked_terminal, .init = start, .fini = stop);

/* A file with this text in a line. */
static const char *file_of(const char *text)
{
    test_write_file(t.input, text);
    return t.input;
}

/* What follows the text in the first object of either program. */
static json_t *member(const char *out, const char *name)
{
    json_t *object = json_loads(out, JSON_DISABLE_EOF_CHECK, NULL);
    cr_assert(object, "%s", out);
    json_t *value = json_incref(json_object_get(object, name));
    json_decref(object);
    cr_assert(value, "%s lacks %s", out, name);
    return value;
}

static void expect_same(const char *ours, const char *theirs, const char *name)
{
    json_t *one = member(ours, name), *other = member(theirs, name);
    cr_expect(json_equal(one, other), "%s\n%s", ours, theirs);
    json_decref(one);
    json_decref(other);
}

#define FILL(...) ARGS("fill-mask", MASKED, "--precision", "fp32", __VA_ARGS__)

Test(masked_terminal, tokens_for_masks)
{
    sluice_expect_success(&r, FILL(file_of("a [MASK] c\n"), "--top", "2"));
    cr_expect_str_eq(r.out, "##f\t0.178358\taf c\n##z\t0.164131\taz c\n");
    const struct program_result *ctl =
        CTL(&t, "fill-mask", "--model", "bert_masked", "--top", "2", "a [MASK] c");
    EXPECT_EXIT(ctl, 0);
    cr_expect_str_eq(ctl->out, r.out);
    static const char *const texts[] = {"a [MASK] c", "[MASK] b [MASK]"};
    for (int i = 0; i < 2; i++) {
        sluice_expect_success(&r, FILL(file_of(texts[i]), "--json"));
        ctl = CTL(&t, "--json", "fill-mask", "--model", "bert_masked", texts[i]);
        EXPECT_EXIT(ctl, 0);
        expect_same(r.out, ctl->out, "masks");
    }
}

/* It is named, and the others go on. */
Test(masked_terminal, a_text_without_a_mask)
{
    sluice_run(&r, FILL(file_of("a\nb [MASK]\n"), "--top", "1"));
    cr_expect_eq(r.exit_code, 2);
    EXPECT_SAID(r.err, "line 1: the text has no mask: write [MASK] where a token is missing");
    EXPECT_SAID(r.err, "1 of 2 texts could not be filled");
    cr_expect_gt(strlen(r.out), 5);
    const struct program_result *ctl =
        CTL(&t, "fill-mask", "--model", "bert_masked", "a", "b [MASK]");
    EXPECT_EXIT(ctl, 2);
    EXPECT_SAID(ctl->err, "no mask token");
    cr_expect_gt(strlen(ctl->out), 5);
}

Test(masked_terminal, sparse_embeddings)
{
    sluice_expect_success(
        &r, ARGS("embed", MASKED, file_of("a b c\n"), "--sparse", "--precision", "fp32"));
    const struct program_result *ctl =
        CTL(&t, "embed", "--model", "bert_masked", "--sparse", "a b c");
    EXPECT_EXIT(ctl, 0);
    cr_expect_str_eq(ctl->out, r.out);
    cr_expect(strstr(r.out, " 36:") || strstr(r.out, " 11:"), "%s", r.out);
    EXPECT_SAID(r.out, "\ta b c\n");
    sluice_expect_success(&r, ARGS("embed", MASKED, file_of("a b c\n"), "--sparse", "--json"));
    json_t *weights = member(r.out, "embedding");
    cr_expect_str_eq(json_string_at(weights, "1/token"), "[UNK]");
    json_decref(weights);
    ctl = CTL(&t, "--json", "embed", "--model", "bert_masked", "--sparse", "a b c");
    EXPECT_SAID(ctl->out, "{\"index\":");
}

Test(masked_terminal, prompts)
{
    sluice_expect_success(&r, ARGS("embed", PROMPTS, file_of("uick\n"), "--prompt-name", "query",
                                   "--json", "--precision", "fp32"));
    const struct program_result *ctl =
        CTL(&t, "--json", "embed", "--model", "prompts", "--prompt-name", "query", "uick");
    EXPECT_EXIT(ctl, 0);
    expect_same(r.out, ctl->out, "embedding");
    ctl = CTL(&t, "embed", "--model", "prompts", "--prompt-name", "x", "uick");
    EXPECT_EXIT(ctl, 2);
    EXPECT_SAID(ctl->err, "Available prompts");
}

Test(masked_terminal, other_models_are_named)
{
    static const struct usage_error errors[] = {
        {{"fill-mask", PROMPTS, SL_SOURCE_DIR "/README.md"},
         2,
         "predicts no masked tokens",
         "sluice embed"},
        {{"embed", PROMPTS, SL_SOURCE_DIR "/README.md", "--sparse"},
         2,
         "--sparse is for masked language models",
         "gives vectors"}};
    sluice_expect_usage_errors(errors, 2);
    const struct program_result *ctl = CTL(&t, "fill-mask", "--model", MOOD, "a");
    EXPECT_EXIT(ctl, 2);
    EXPECT_SAID(ctl->err, "predicts no masked tokens: use `sluicectl classify`");
    ctl = CTL(&t, "fill-mask", "--model", "prompts", "a");
    EXPECT_EXIT(ctl, 2);
    EXPECT_SAID(ctl->err, "is no task of 'prompts@4'");
    ctl = CTL(&t, "embed", "--model", "prompts", "--sparse", "a");
    EXPECT_EXIT(ctl, 2);
    EXPECT_SAID(ctl->err, "gives no sparse embeddings");
}
