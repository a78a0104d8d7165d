/* test_sluice_completions.c - `--prompt-separator`: only completions are learnt and measured. */
#include "base/buffer.h"
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static struct workspace dirs;
static struct program_result r;

/* Prompts that cannot be predicted, of which each has the same completion. */
static void write_lines(void)
{
    struct sl_buffer text = {0};
    uint64_t state = 7;
    for (int i = 0; i < 400; i++) {
        char prompt[8] = "";
        for (int c = 0; c < 3 + i % 4; c++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            prompt[c] = (char)('a' + (int)(state >> 40) % 20);
        }
        sl_buffer_printf(&text, "%s|no\n", prompt);
    }
    test_write_file(dirs.corpus, text.data);
    sl_buffer_release(&text);
}

static void setup(void)
{
    sluice_setup(&dirs);
    write_lines();
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_completions, .init = setup, .fini = teardown);

#define TRAIN(...)                                                                                 \
    ARGS("train", "tsa", "--corpus", dirs.corpus, "--prompt-separator", "|", "--run-dir",          \
         dirs.run, "--output", dirs.output, "--json", "--threads", "1", "--width", "16",           \
         "--heads", "2", "--depth", "2", "--ffn-width", "24", "--context-length", "12",            \
         "--batch-size", "8", "--learning-rate", "0.01", __VA_ARGS__)

/* A member of the last event of this kind. */
static double last(const char *event, const char *member)
{
    double value = (double)NAN;
    char wanted[64];
    (void)snprintf(wanted, sizeof wanted, "{\"event\":\"%s\"", event);
    for (const char *at = r.out; (at = strstr(at, wanted)); at++) {
        json_t *o = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        value = json_number_value(json_object_get(o, member));
        json_decref(o);
    }
    return value;
}

/* A loss over prompts, too, could not fall below a nat. */
Test(sluice_completions, prompts_do_not_count)
{
    sluice_expect_success(&r, TRAIN("--epochs", "4"));
    cr_expect_eq(last("evaluated", "steps"), 160.0); /* of 320 lines, by 8 */
    cr_expect_lt(last("evaluated", "validation_loss"), 0.2);
    cr_expect_eq(last("evaluated", "validation_accuracy"), 1.0);
    json_t *o = sluice_expect_json(&r, ARGS("eval", dirs.output, "--corpus", dirs.corpus,
                                            "--prompt-separator", "|", "--json"));
    cr_expect_eq(json_number_value(json_object_get(o, "accuracy")), 1.0);
    cr_expect_lt(json_number_value(json_object_get(o, "loss")), 0.2);
    json_int_t examples = json_integer_value(json_object_get(o, "examples"));
    cr_expect_eq(examples % 3, 0); /* n, o and the line feed */
    cr_expect_geq(examples, 3 * 38);
    cr_expect_leq(examples, 3 * 41);
    json_decref(o);
    sluice_expect_success(
        &r, ARGS("eval", dirs.output, "--corpus", dirs.corpus, "--prompt-separator", "|"));
    EXPECT_SAID(r.out, "accuracy 100.00 % of tokens, loss 0.");
    o = sluice_expect_json(&r, ARGS("eval", dirs.output, "--corpus", dirs.corpus, "--json"));
    cr_expect(json_is_null(json_object_get(o, "accuracy")));
    cr_expect_gt(json_number_value(json_object_get(o, "loss")), 1.0);
    json_decref(o);
}

/* Scales and dropout are those of the whole batch. */
Test(sluice_completions, micro_batches_only_round_differently)
{
    sluice_expect_success(&r, TRAIN("--steps", "5", "--micro-batch-size", "8"));
    double whole = last("evaluated", "train_loss"), gate = last("evaluated", "gate_mean");
    cr_assert(isfinite(whole));
    test_directory_remove(dirs.run);
    sluice_expect_success(&r, TRAIN("--steps", "5", "--micro-batch-size", "3", "--overwrite"));
    cr_expect_float_eq(last("evaluated", "train_loss"), whole, 1e-4);
    cr_expect_float_eq(last("evaluated", "gate_mean"), gate, 1e-4);
}

Test(sluice_completions, a_run_is_resumed_with_the_same_separator_only)
{
    sluice_expect_success(&r, TRAIN("--steps", "5"));
    sluice_run(&r, ARGS("train", "tsa", "--corpus", dirs.corpus, "--run-dir", dirs.run, "--json",
                        "--threads", "1", "--width", "16", "--heads", "2", "--depth", "2",
                        "--ffn-width", "24", "--context-length", "12", "--batch-size", "8",
                        "--learning-rate", "0.01", "--steps", "5", "--resume"));
    EXPECT_EXIT(&r, 2);
    sluice_expect_success(&r, TRAIN("--steps", "5", "--resume"));
}

Test(sluice_completions, what_does_not_fit_is_refused)
{
    static const struct {
        const char *separator, *context, *said;
    } cases[] = {
        {"||", "12", "the separator '||' is not one character of the text"},
        {"?", "12", "the separator '?' is not one"},
        {"a", "12", "lacks the separator"},
        {"|", "6", "tokens: expected at most 6, the context length"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_run(&r, ARGS("train", "vanilla", "--corpus", dirs.corpus, "--prompt-separator",
                            cases[i].separator, "--run-dir", dirs.run, "--width", "16", "--heads",
                            "2", "--depth", "1", "--ffn-width", "16", "--context-length",
                            cases[i].context, "--steps", "1"));
        EXPECT_EXIT(&r, 2);
        EXPECT_SAID(r.err, cases[i].said);
        EXPECT_SAID(r.err, "corpus.txt");
    }
    sluice_run(&r, ARGS("train", "vanilla", "--data", dirs.corpus, "--prompt-separator", "|",
                        "--run-dir", dirs.run));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "--prompt-separator");
}
