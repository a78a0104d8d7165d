/* test_rerank_terminal.c - `sluice rerank`: scores are those that the Python package `transformers`
 * gives the golden reranker, in double precision. */
#include "base/buffer.h"
#include "base/file.h"
#include "support/import_fixture.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKER GOLDEN "bert_ranker"
#define RANK(query, ...)                                                                           \
    ARGS("rerank", RANKER, "--precision", "fp32", "--query", query, t.dirs.corpus, __VA_ARGS__)

static struct import_fixture t;
static struct program_result r;

static void setup(void)
{
    import_setup(&t);
}

static void teardown(void)
{
    workspace_remove(&t.dirs);
}

TestSuite(rerank_terminal, .init = setup, .fini = teardown);

static void write_texts(const char *text)
{
    struct sl_err err;
    EXPECT_OK(sl_file_replace(t.dirs.corpus, &(struct sl_slice){text, strlen(text)}, 1, &err), err);
}

/* Of the same texts the first is first. */
Test(rerank_terminal, the_best_come_first)
{
    write_texts("no\n\nb\nAb cd\nno\nx\ty z\n");
    sluice_expect_success(&r, RANK("abc", NULL));
    cr_expect_str_eq(r.out, "0.874457\t6\tx y z\n"
                            "0.869961\t4\tAb cd\n"
                            "0.775998\t1\tno\n"
                            "0.775998\t5\tno\n"
                            "0.727605\t3\tb\n");
    sluice_expect_success(&r, RANK("abc", "--json", "--top-n", "2"));
    cr_expect(strncmp(r.out, "{\"score\":0.87445", 16) == 0, "%s", r.out);
    cr_expect(strstr(r.out, ",\"line\":6,\"text\":\"x\\ty z\"}\n{\"score\":0.86996"), "%s", r.out);
    cr_expect(strstr(r.out, ",\"line\":4,\"text\":\"Ab cd\"}\n"), "%s", r.out);
    cr_expect_not(strstr(r.out, "\"no\""), "%s", r.out);
}

Test(rerank_terminal, a_column_of_records_is_read)
{
    write_texts("title,body\nx,no\ny,b\n");
    sluice_expect_success(&r, RANK("abc", "--text", "body", "--format", "csv"));
    cr_expect_str_eq(r.out, "0.775998\t2\tno\n0.727605\t3\tb\n");
}

#define LETTERS "a b c d e f g h i j k l m n o p q r s t u v w x y z"

/* The longer of the two. */
Test(rerank_terminal, long_pairs_are_truncated)
{
    write_texts(LETTERS " a b c d e f g\n");
    sluice_expect_success(&r, RANK("abc", NULL));
    cr_expect_float_eq(strtod(r.out, NULL), 0.4117005, 1e-5, "%s", r.out);
    cr_expect(strstr(r.err, "1 of 1 texts were truncated to 32 tokens"), "%s", r.err);
}

static int count_lines(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* More than a batch; where the best alone are printed, others were dropped on the way. */
Test(rerank_terminal, the_best_of_many_are_the_first_of_all)
{
    enum { TEXTS = 200 };

    static struct program_result best;
    struct sl_buffer texts = {0};
    for (int i = 0; i < TEXTS; i++)
        sl_buffer_printf(&texts, "%c %c\n", 'a' + i * 7 % 26, 'a' + i * i % 23);
    write_texts(texts.data);
    sl_buffer_release(&texts);
    sluice_expect_success(&r, RANK("abc", NULL));
    cr_expect_eq(count_lines(r.out), TEXTS);
    for (int top = 1; top <= 64; top *= 8) {
        char number[12];
        (void)snprintf(number, sizeof number, "%d", top);
        sluice_expect_success(&best, RANK("abc", "--top-n", number));
        cr_expect_eq(count_lines(best.out), top);
        cr_expect_eq(strncmp(best.out, r.out, strlen(best.out)), 0, "%d: %s", top, best.out);
    }
}

Test(rerank_terminal, a_bad_text_is_named_and_the_others_are_ranked)
{
    write_texts("no\na\xFF\nb\n");
    sluice_run(&r, RANK("abc", NULL));
    cr_expect_eq(r.exit_code, 2);
    cr_expect_str_eq(r.out, "0.775998\t1\tno\n0.727605\t3\tb\n");
    cr_expect(strstr(r.err, "line 2: byte 2 is 0xFF"), "%s", r.err);
    cr_expect(strstr(r.err, "1 of 3 texts could not be ranked"), "%s", r.err);
}

Test(rerank_terminal, mistakes_are_named)
{
    static const struct usage_error errors[] = {
        {{"rerank", RANKER, SL_SOURCE_DIR "/README.md"}, 2, "missing --query", "usage: sluice"},
        {{"rerank", RANKER, SL_SOURCE_DIR "/README.md", "--query", ""}, 2, "missing --query", ""},
        {{"rerank", RANKER, SL_SOURCE_DIR "/README.md", "--query", "\xFF"}, 2, "--query", "UTF-8"},
        {{"rerank", RANKER, "--query", "a"}, 2, "missing TEXT-FILE", "- for standard input"},
        {{"rerank", GOLDEN "bert_classifier", SL_SOURCE_DIR "/README.md", "--query", "a"},
         2,
         "the model is no reranker",
         "sluice classify"},
        {{"rerank", GOLDEN "bert", SL_SOURCE_DIR "/README.md", "--query", "a"},
         2,
         "only pretrained",
         "sluice embed"},
        {{"rerank", GOLDEN "gpt2", SL_SOURCE_DIR "/README.md", "--query", "a"},
         2,
         "the model is for",
         "sluice generate"}};
    sluice_expect_usage_errors(errors, sizeof errors / sizeof *errors);
}
