/* test_tokenizer_trainer.c - trained vocabularies against a slow and obvious reference, at their
 * limits, and as `sluice vocab` writes them. */
#include "base/random.h"
#include "base/utf8.h"
#include "formats/vocabulary.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

#include <fcntl.h>
#include <sys/wait.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct sl_tokenizer *learn(const struct sl_tokenizer_options *how, const char *text)
{
    struct sl_err err;
    struct sl_tokenizer_trainer *learner = NULL;
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((learner = sl_tokenizer_trainer_create(how, &err)), err);
    EXPECT_OK(sl_tokenizer_trainer_add(learner, text, strlen(text), &err), err);
    EXPECT_OK((tokens = sl_tokenizer_trainer_finish(learner, &err)), err);
    sl_tokenizer_trainer_destroy(learner);
    return tokens;
}

static void expect_pieces(const struct sl_tokenizer *tokens, const char *want)
{
    struct sl_err err;
    char *lines = NULL;
    EXPECT_OK((lines = sl_vocabulary_print(tokens, &err)), err);
    cr_assert_str_eq(lines, want);
    free(lines);
}

/* ---- the reference: every pair counted anew for every piece --------------------------------- */

enum { WORDS = 60, LETTERS = 12, PIECES = 400, PIECE_BYTES = 32 };

struct reference {
    char pieces[PIECES][PIECE_BYTES];
    int count;
    int words[WORDS][LETTERS], lengths[WORDS], times[WORDS];
    int pairs[PIECES][PIECES];
};

static int piece_id(struct reference *r, const char *text)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->pieces[i], text) == 0)
            return i;
    cr_assert_lt(r->count, PIECES);
    (void)snprintf(r->pieces[r->count], PIECE_BYTES, "%s", text);
    return r->count++;
}

/* The most frequent pair, the smallest ids first; false when none occurs twice. */
static bool reference_best(struct reference *r, int *left, int *right)
{
    int best = 1;
    memset(r->pairs, 0, sizeof r->pairs);
    for (int w = 0; w < WORDS; w++)
        for (int i = 0; i + 1 < r->lengths[w]; i++)
            r->pairs[r->words[w][i]][r->words[w][i + 1]] += r->times[w];
    for (int a = 0; a < r->count; a++)
        for (int b = 0; b < r->count; b++)
            if (r->pairs[a][b] > best) {
                best = r->pairs[a][b];
                *left = a;
                *right = b;
            }
    return best > 1;
}

static void reference_join(struct reference *r, int left, int right)
{
    char text[2 * PIECE_BYTES];
    (void)snprintf(text, sizeof text, "%s%s", r->pieces[left], r->pieces[right] + 2);
    int joined = piece_id(r, text);
    for (int w = 0; w < WORDS; w++) {
        int out = 0;
        for (int i = 0; i < r->lengths[w]; i++) {
            bool here =
                i + 1 < r->lengths[w] && r->words[w][i] == left && r->words[w][i + 1] == right;
            r->words[w][out++] = here ? joined : r->words[w][i];
            i += here;
        }
        r->lengths[w] = out;
    }
}

static void reference_begin(struct reference *r, int letters)
{
    static const char *const specials[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (size_t i = 0; i < COUNT(specials); i++)
        (void)piece_id(r, specials[i]);
    for (int i = 0; i < letters; i++) {
        (void)piece_id(r, (char[]){(char)('a' + i), '\0'});
        (void)piece_id(r, (char[]){'#', '#', (char)('a' + i), '\0'});
    }
}

/* Draws words of a few letters, so that runs and chance pairs are many, and writes the text. */
static void reference_draw(struct reference *r, int letters, uint64_t seed, char *text)
{
    uint64_t key = sl_random_key(seed, "learner"), index = 0;
    for (int w = 0; w < WORDS; w++) {
        char word[LETTERS + 1] = "";
        r->lengths[w] = 1 + (int)sl_random_below(key, index++, LETTERS);
        r->times[w] = 1 + (int)sl_random_below(key, index++, 4);
        for (int i = 0; i < r->lengths[w]; i++) {
            word[i] = (char)('a' + (int)sl_random_below(key, index++, (uint64_t)letters));
            char piece[] = {'#', '#', word[i], '\0'};
            r->words[w][i] = piece_id(r, i == 0 ? piece + 2 : piece);
        }
        for (int i = 0; i < r->times[w]; i++)
            text += snprintf(text, LETTERS + 2, "%s ", word);
    }
}

/* Learns from one drawn text both ways. */
static void compare(int letters, int size, uint64_t seed)
{
    static struct reference r;
    static char text[WORDS * 4 * (LETTERS + 1) + 1], lines[PIECES * PIECE_BYTES];
    r = (struct reference){0};
    reference_begin(&r, letters);
    reference_draw(&r, letters, seed, text);
    for (int left, right; r.count < size && reference_best(&r, &left, &right);)
        reference_join(&r, left, right);
    size_t used = 0;
    for (int i = 0; i < r.count; i++)
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s\n", r.pieces[i]);
    struct sl_tokenizer *tokens = learn(
        &(struct sl_tokenizer_options){.kind = "wordpiece", .size = size, .lower = true}, text);
    expect_pieces(tokens, lines);
    sl_tokenizer_destroy(tokens);
}

Test(tokenizer_trainer, pieces_are_those_of_the_reference)
{
    for (uint64_t round = 0; round < 20; round++)
        for (int letters = 1; letters <= 4; letters++)
            compare(letters, 40 + 15 * (int)round, test_seed() + round);
}

/* ---- by hand -------------------------------------------------------------------------------- */

static const struct {
    const char *kind, *text, *want;
    int size;
    bool lower;
} cases[] = {
    /* (l, ##o) four times, (##o, ##w) four times: the left id decides. */
    {"wordpiece", "low low lows Low!",
     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n!\nl\n##l\no\n##o\ns\n##s\nw\n##w\nlo\nlow\n", 100, true},
    {"wordpiece", "low low lows Low!",
     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n!\nl\n##l\no\n##o\ns\n##s\nw\n##w\nlo\n", 15, true},
    {"wordpiece", "AB ab A", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\n##A\nB\n##B\na\n##a\nb\n##b\n",
     100, false},
    {"wordpiece", "aaaa aaaa", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\n##aa\naaa\naaaa\n", 100,
     true},
    {"wordpiece", "\xE4\xB8\xAD\xE6\x96\x87 \xE4\xB8\xAD",
     "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\xE4\xB8\xAD\n\xE6\x96\x87\n", 100, true},
    {"words", "b a, b. c! C; d a b -- Caf\xC3\xA9", "[PAD]\n[START]\n[UNK]\nb\na\nc\ncafe\nd\n",
     100, true},
    {"words", "z y x y w x", "[PAD]\n[START]\n[UNK]\nx\ny\nw\nz\n", 8, true},
    {"words", "b b a c d e f g", "[PAD]\n[START]\n[UNK]\nb\na\nc\nd\ne\n", 8, true},
    /* Not those of the texts that came first: they may be of one class. */
    {"words", "g f e d c a b b", "[PAD]\n[START]\n[UNK]\nb\na\nc\nd\ne\n", 8, true},
};

Test(tokenizer_trainer, small_texts_by_hand)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_tokenizer *tokens = learn(&(struct sl_tokenizer_options){.kind = cases[i].kind,
                                                                           .size = cases[i].size,
                                                                           .lower = cases[i].lower},
                                            cases[i].text);
        expect_pieces(tokens, cases[i].want);
        sl_tokenizer_destroy(tokens);
    }
}

/* One text in two parts is two texts: the cut ends a word. Else parts do not matter. */
Test(tokenizer_trainer, texts_add_up)
{
    struct sl_err err;
    const struct sl_tokenizer_options how = {.kind = "words", .size = 100, .lower = true};
    struct sl_tokenizer_trainer *learner = NULL;
    EXPECT_OK((learner = sl_tokenizer_trainer_create(&how, &err)), err);
    EXPECT_OK(sl_tokenizer_trainer_add(learner, "the mov", 7, &err), err);
    EXPECT_OK(sl_tokenizer_trainer_add(learner, NULL, 0, &err), err);
    EXPECT_OK(sl_tokenizer_trainer_add(learner, "ie the", 6, &err), err);
    cr_assert_eq(sl_tokenizer_trainer_stats(learner).words, 4);
    cr_assert_eq(sl_tokenizer_trainer_stats(learner).distinct, 3);
    cr_assert_eq(sl_tokenizer_trainer_stats(learner).pruned_max_count, 0);
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_tokenizer_trainer_finish(learner, &err)), err);
    expect_pieces(tokens, "[PAD]\n[START]\n[UNK]\nthe\nie\nmov\n");
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_trainer_destroy(learner);
    EXPECT_OK((tokens = sl_tokenizer_train_default("words", "b a b", 5, &err)), err);
    expect_pieces(tokens, "[PAD]\n[START]\n[UNK]\nb\na\n");
    sl_tokenizer_destroy(tokens);
}

/* ---- bounds --------------------------------------------------------------------------------- */

static const struct {
    struct sl_tokenizer_options how;
    const char *text, *want;
} refusals[] = {
    {{.kind = "characters", .size = 100}, "", "tokenizer 'characters' has no vocabulary to learn"},
    {{.kind = "syllables", .size = 100}, "", "unknown tokenizer 'syllables'"},
    {{.kind = "words", .size = 7}, "", "invalid vocabulary size 7: expected 8 to 2097152"},
    {{.kind = "words", .size = SL_VOCAB_MAX + 1}, "", "invalid vocabulary size 2097153"},
    {{.kind = "wordpiece", .size = 100}, " \n\t ", "the texts contain no words to learn from"},
    {{.kind = "wordpiece", .size = 10},
     "abc",
     "10 pieces is too small: 3 characters alone take 11"},
    {{.kind = "words", .size = 100}, "a \xFF", "byte 3 is 0xFF: not UTF-8"},
};

Test(tokenizer_trainer, what_cannot_be_learnt_is_named)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct sl_err err = {0};
        struct sl_tokenizer_trainer *learner = sl_tokenizer_trainer_create(&refusals[i].how, &err);
        bool ok = learner && sl_tokenizer_trainer_add(learner, refusals[i].text,
                                                      strlen(refusals[i].text), &err);
        struct sl_tokenizer *tokens = ok ? sl_tokenizer_trainer_finish(learner, &err) : NULL;
        cr_assert_null(tokens, "case %zu", i);
        cr_assert_eq(err.code, SL_BAD_INPUT);
        cr_assert(strstr(err.text, refusals[i].want), "'%s' lacks '%s'", err.text,
                  refusals[i].want);
        sl_tokenizer_trainer_destroy(learner);
    }
}

/* More distinct words than are remembered: frequent ones must outlive any number of rare ones. */
Test(tokenizer_trainer, rare_words_are_forgotten_first)
{
    enum { RARE = 2200000, BETWEEN = 1000 };

    struct sl_err err;
    const struct sl_tokenizer_options how = {.kind = "words", .size = 8, .lower = true};
    struct sl_tokenizer_trainer *learner = NULL;
    EXPECT_OK((learner = sl_tokenizer_trainer_create(&how, &err)), err);
    EXPECT_OK(sl_tokenizer_trainer_add(learner, "early early", 11, &err), err);
    for (int i = 0; i < RARE; i++) {
        char text[64];
        int bytes = snprintf(text, sizeof text, "x%d%s", i, i % BETWEEN ? "" : " often seen often");
        EXPECT_OK(sl_tokenizer_trainer_add(learner, text, (size_t)bytes, &err), err);
    }
    struct sl_tokenizer_trainer_stats facts = sl_tokenizer_trainer_stats(learner);
    cr_assert_eq(facts.words, 2 + RARE + 3 * RARE / BETWEEN);
    cr_assert_eq(facts.pruned_max_count, 1);
    cr_assert_lt(facts.distinct, RARE / 2);
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_tokenizer_trainer_finish(learner, &err)), err);
    size_t bytes;
    cr_assert_str_eq(sl_tokenizer_piece(tokens, 3, &bytes), "often");
    cr_assert_str_eq(sl_tokenizer_piece(tokens, 4, &bytes), "seen");
    cr_assert_str_eq(sl_tokenizer_piece(tokens, 5, &bytes), "early");
    sl_tokenizer_destroy(tokens);
    sl_tokenizer_trainer_destroy(learner);
}

/* An alphabet has a bound: the rarest of many ideographs are left out, and words with them. */
Test(tokenizer_trainer, alphabets_have_a_bound)
{
    enum { IDEOGRAPHS = 1500, ALPHABET = 1000 };

    struct sl_err err;
    static char text[IDEOGRAPHS * 2 * 4];
    size_t used = 0;
    for (int i = 0; i < IDEOGRAPHS; i++) /* the last ones twice */
        for (int twice = 0; twice <= (i >= IDEOGRAPHS - ALPHABET / 2); twice++)
            used += sl_utf8_put(0x4E00 + (uint32_t)i, text + used);
    struct sl_tokenizer *tokens = NULL;
    EXPECT_OK((tokens = sl_tokenizer_train_default("wordpiece", text, used, &err)), err);
    cr_assert_eq(sl_tokenizer_size(tokens), 5 + ALPHABET);
    int32_t ids[3];
    cr_assert_eq(sl_tokenizer_encode(tokens, text + used - 3, 3, SL_UNKNOWN_FAIL, ids, 3, &err), 1);
    cr_assert_eq(ids[0], 5 + ALPHABET - 1, "in the order of code points");
    cr_assert_eq(sl_tokenizer_encode(tokens, text + (size_t)3 * (ALPHABET / 2), 3, SL_UNKNOWN_FAIL,
                                     ids, 3, &err),
                 1);
    cr_assert_eq(ids[0], sl_tokenizer_special(tokens, SL_SPECIAL_UNKNOWN));
    sl_tokenizer_destroy(tokens);
}

/* ---- the tool ------------------------------------------------------------------------------- */

static char top[PATH_MAX], said[PATH_MAX], out[PATH_MAX];

static void setup(void)
{
    test_directory_create(top);
    (void)test_path(said, top, "said");
    (void)test_path(out, top, "vocab.txt");
}

static void teardown(void)
{
    test_directory_remove(top);
}

TestSuite(vocab_tool, .init = setup, .fini = teardown);

static void file_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    cr_assert(file, "cannot read %s", path);
    text[fread(text, 1, room - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
}

/* Runs `sluice vocab` with words that end with NULL; returns the exit status, and what it printed
 * on either stream in text. */
static int vocab(const char *const *words, char text[4096])
{
    const char *argv[32] = {"sluice", "vocab"};
    for (int i = 0; words[i]; i++)
        argv[i + 2] = words[i];
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        int file = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
            _exit(125);
        (void)execv(SL_BUILD_DIR "/sluice", (char *const *)(uintptr_t)argv);
        _exit(126);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    file_text(said, text, 4096);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *write_file(char path[PATH_MAX], const char *name, const char *text)
{
    test_write_file(test_path(path, top, name), text);
    return path;
}

#define TOOL(text, ...) vocab((const char *const[]){__VA_ARGS__, NULL}, text)

Test(vocab_tool, learns_from_whole_files)
{
    char a[PATH_MAX], b[PATH_MAX], text[4096], lines[4096];
    (void)write_file(a, "a.txt", "low low\n");
    (void)write_file(b, "b.txt", "LOWS");
    cr_assert_eq(TOOL(text, "wordpiece", "--output", out, "--vocab-size", "15", a, b), 0, "%s",
                 text);
    cr_assert(strstr(text, "15 tokens (wordpiece, lower-cased) from 3 words, 2 of them distinct"),
              "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nl\n##l\no\n##o\ns\n##s\nw\n##w\n"
                            "lo\nlow\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--json", "--cased", a, b), 0, "%s", text);
    cr_assert(strstr(text, "\"pieces\": 5"), "%s", text);
    cr_assert(strstr(text, "\"lowercase\": false"), "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[START]\n[UNK]\nlow\nLOWS\n");
}

Test(vocab_tool, learns_from_the_texts_of_records)
{
    char a[PATH_MAX], text[4096], lines[4096];
    (void)write_file(a, "a.tsv", "class\treview\ngood\tthe movie\nbad\tThe book\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--text", "review", a), 0, "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[START]\n[UNK]\nthe\nbook\nmovie\n");
}

/* Columns of texts are all it takes, by number or by name. */
Test(vocab_tool, learns_without_labels)
{
    char a[PATH_MAX], text[4096], lines[4096];
    (void)write_file(a, "a.tsv", "good\tthe movie\tone\n\tThe book\ttwo\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--text", "2", a), 0, "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[START]\n[UNK]\nthe\nbook\nmovie\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--text", "3,2", a), 0, "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[START]\n[UNK]\nthe\nbook\nmovie\none\ntwo\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--text", "2,2", a), 2);
    cr_assert(strstr(text, "column '2' is chosen twice\n"), "%s", text);
    (void)write_file(a, "a.jsonl", "{\"text\": \"the movie\", \"n\": {\"a\": 1}}\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--format", "jsonl", a), 0, "%s", text);
    file_text(out, lines, sizeof lines);
    cr_assert_str_eq(lines, "[PAD]\n[START]\n[UNK]\nmovie\nthe\n");
    cr_assert_eq(TOOL(text, "words", "--output", out, "--text", "n", a), 2);
    cr_assert(strstr(text, "column 'n' is an object: expected a string"), "%s", text);
}

Test(vocab_tool, says_what_is_wrong)
{
    char a[PATH_MAX], text[4096];
    (void)write_file(a, "a.txt", "fine\n\xFF");
    cr_assert_eq(TOOL(text, "wordpiece", a), 2);
    cr_assert(strstr(text, "missing --output FILE; usage: sluice vocab KIND --output FILE"), "%s",
              text);
    cr_assert_eq(TOOL(text, "wordpiece", "--output", out), 2);
    cr_assert_eq(TOOL(text, "wordpiece", "--output", out, a), 2);
    cr_assert(strstr(text, "a.txt': byte 6 is 0xFF: not UTF-8"), "%s", text);
    cr_assert_eq(TOOL(text, "bytes", "--output", out, a), 2);
    cr_assert(strstr(text, "tokenizer 'bytes' has no vocabulary"), "%s", text);
    cr_assert_eq(TOOL(text, "words", "--output", out, "--vocab-size", "3", a), 2);
    cr_assert(strstr(text, "invalid --vocab-size '3': expected a whole number from 8"), "%s", text);
    cr_assert_eq(access(out, F_OK), -1, "a failure left a file");
    (void)write_file(a, "a.txt", "fine");
    cr_assert_eq(TOOL(text, "words", "--output", "/nowhere/at/all", a), 2);
    cr_assert_eq(TOOL(text, "--help"), 0);
    cr_assert(strstr(text, "--cased"), "%s", text);
}
