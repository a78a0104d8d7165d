/* topic_texts.c - makes texts whose topics are known, and writes them. */
#include "support/topic_texts.h"

#include "support/sluice_cli.h"
#include "support/test.h"

#include <stdio.h>
#include <sys/stat.h>

enum { TOPICS = 3 };

static const char *const labels[TOPICS] = {"money", "politics", "sport"};
static const char *const words[TOPICS] = {"stock", "vote", "goal"};
static const char *const fillers[] = {"today", "yesterday", "perhaps", "however", "again"};

/* The names of a text's labels or words, of which bit i says that it has topic i. */
static void join(FILE *file, const char *const *names, int topics, const char *separator)
{
    const char *between = "";
    for (int i = 0; i < TOPICS; i++)
        if (topics & 1 << i) {
            (void)fprintf(file, "%s%s", between, names[i]);
            between = separator;
        }
}

static void write_texts(const char *path, bool json)
{
    FILE *file = fopen(path, "we");
    cr_assert(file, "%s", path);
    for (int i = 0; i < TOPIC_TEXTS; i++) {
        const int topics = i % 8;
        (void)fputs(json ? "{\"label\":[" : "", file);
        (void)fputs(json && topics ? "\"" : "", file);
        join(file, labels, topics, json ? "\",\"" : "|");
        (void)fputs(json && topics ? "\"" : "", file);
        (void)fprintf(file, json ? "],\"text\":\"%s " : "\t%s ", fillers[i / 8 % 5]);
        join(file, words, topics, " ");
        (void)fprintf(file, json ? " %d\"}\n" : " %d\n", i);
    }
    cr_assert_eq(fclose(file), 0);
}

void topic_texts_write(const char *path)
{
    write_texts(path, false);
}

void topic_texts_write_json(const char *path)
{
    write_texts(path, true);
}

void topic_texts_make_base(const char *directory, char base[static PATH_MAX])
{
    static struct program_result r;
    char corpus[PATH_MAX], vocab[PATH_MAX], vectors[PATH_MAX];
    topic_texts_write(test_path(corpus, directory, "topics.corpus"));
    test_path(vocab, directory, "topics.vocab");
    test_path(vectors, directory, "topics.vec");
    test_path(base, directory, "base");
    cr_assert_eq(mkdir(base, 0700), 0);
    test_path(base, directory, "base/1");
    sluice_expect_success(
        &r, ARGS("vocab", "wordpiece", "--output", vocab, "--vocab-size", "200", corpus));
    sluice_expect_success(&r, ARGS("vectors", "--corpus", corpus, "--vocab-file", vocab, "--width",
                                   "8", "--output", vectors, "--base", base));
}
