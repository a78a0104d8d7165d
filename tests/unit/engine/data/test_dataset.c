/* test_dataset.c - labels, labelled texts as token ids, the share cut off to validate on, and the
 * order of an epoch. */
#include "data/dataset.h"
#include "formats/vocabulary.h"
#include "support/test.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_trainer.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char directory[PATH_MAX], path[PATH_MAX], classes[PATH_MAX];

static const struct sl_record_options by_number = {.label = "1", .text = "2"};

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "train.tsv");
    (void)test_path(classes, directory, "classes.txt");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

/* ---- labels --------------------------------------------------------------------------------- */

static void expect_labels(const struct sl_labels *labels, const char *want)
{
    char list[256] = "";
    for (int i = 0; i < labels->count; i++) {
        const struct sl_label *l = &labels->list[i];
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof list - used, "%s=%s ", l->key, l->name);
        cr_assert_eq(sl_labels_find(labels, l->key, strlen(l->key)), i, "'%s'", l->key);
    }
    cr_assert_str_eq(list, want);
}

static const struct {
    const char *file, *want;
} good_labels[] = {
    {"World\nSports\n", "World=World Sports=Sports "},
    {"0\tWorld\n1\tSports\n2\tSci/Tech\n", "0=World 1=Sports 2=Sci/Tech "},
    {"b\r\na\r\nab\r\n", "b=b a=a ab=ab "},
    {"x\tleft\ny\tright", "x=left y=right "},
};

Test(labels, a_file_gives_names_and_order, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(good_labels); i++) {
        struct sl_err err;
        struct sl_labels labels = {0};
        test_write_file(classes, good_labels[i].file);
        EXPECT_OK(sl_labels_read(&labels, classes, &err), err);
        expect_labels(&labels, good_labels[i].want);
        cr_assert_eq(sl_labels_find(&labels, "z", 1), -1);
        cr_assert_eq(sl_labels_find(&labels, "", 0), -1);
        cr_assert_eq(sl_labels_find(&labels, "Worlds", 6), -1);
        sl_labels_release(&labels);
        sl_labels_release(&labels);
    }
}

static const struct {
    const char *file; /* NULL: no such file */
    enum sl_code code;
    const char *want;
} bad_labels[] = {
    {NULL, SL_NOT_FOUND, "labels: cannot open '"},
    {"", SL_BAD_INPUT, "classes.txt' has 0 labels: expected 2 to 4096"},
    {"a\n", SL_BAD_INPUT, "classes.txt' has 1 label: expected 2 to 4096, all that the texts have"},
    {"a\nb\n\n", SL_BAD_INPUT,
     "classes.txt' line 3: the label is empty; expected a label, or a label"},
    {"a\nb\na\n", SL_BAD_INPUT, "classes.txt' line 3: label 'a' appears twice"},
    {"0\ta\n1\ta\n", SL_BAD_INPUT, "classes.txt' has 1 label: expected 2 to 4096"},
    {"0\ta\n1\tb\n0\tb\n", SL_BAD_INPUT, "line 3: label '0' appears twice"},
    {"0\ta\n1\n", SL_BAD_INPUT, "line 2: 1 column: expected 2 as in line 1"},
    {"a\n1\tb\n", SL_BAD_INPUT, "line 2: 2 columns: expected 1 as in line 1"},
    {"0\ta\n1\t\n", SL_BAD_INPUT, "line 2: the name is empty"},
    {"0\ta\n\tb\n", SL_BAD_INPUT, "line 2: the label is empty"},
    {"0\ta\tb\n", SL_BAD_INPUT, "line 1: more than one tab; expected a label, a tab and its name"},
    {"a\n\xFF\n", SL_BAD_INPUT, "line 2: byte 1 is 0xFF: not UTF-8"},
};

Test(labels, bad_files_are_rejected, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(bad_labels); i++) {
        struct sl_err err;
        struct sl_labels labels = {0};
        if (bad_labels[i].file)
            test_write_file(classes, bad_labels[i].file);
        EXPECT_FAIL(sl_labels_read(&labels, classes, &err), err, bad_labels[i].code,
                    bad_labels[i].want);
        cr_assert_null(labels.list, "case %zu: touched on failure", i);
    }
}

static int32_t find(const struct sl_labels *labels, const char *key)
{
    return sl_labels_find(labels, key, strlen(key));
}

Test(labels, several_spellings_with_one_name_are_one_label, .init = setup, .fini = teardown)
{
    static char sales[] = "sales", billing[] = "billing";
    char *const names[] = {sales, billing};
    struct sl_err err;
    struct sl_labels labels = {0}, again = {0};
    test_write_file(classes, "billing\tbilling\nSales\tsales\nBilling \tbilling\n");
    EXPECT_OK(sl_labels_read(&labels, classes, &err), err);
    EXPECT_OK(sl_labels_copy(&again, &labels, &err), err);
    sl_labels_release(&labels);
    cr_assert_eq(again.count, 2);
    cr_expect(find(&again, "billing") == 0 && find(&again, "Billing ") == 0);
    cr_expect(find(&again, "Sales") == 1 && find(&again, "sales") == -1);
    EXPECT_OK(sl_labels_reorder(&again, names, COUNT(names), &err), err);
    cr_expect(find(&again, "billing") == 1 && find(&again, "Billing ") == 1);
    cr_expect(find(&again, "Sales") == 0 && find(&again, "Billing") == -1);
    sl_labels_release(&again);
}

Test(labels, at_most_4096_of_at_most_256_bytes, .init = setup, .fini = teardown)
{
    static char file[SL_LABELS_MAX * 8], name[SL_LABEL_BYTES_MAX + 8];
    struct sl_err err;
    struct sl_labels labels = {0};
    size_t used = 0;
    for (int i = 0; i < SL_LABELS_MAX; i++)
        used += (size_t)snprintf(file + used, sizeof file - used, "%d\n", i);
    test_write_file(classes, file);
    EXPECT_OK(sl_labels_read(&labels, classes, &err), err);
    cr_assert_eq(sl_labels_find(&labels, "4095", 4), 4095);
    sl_labels_release(&labels);
    (void)snprintf(file + used, sizeof file - used, "x\n");
    test_write_file(classes, file);
    EXPECT_FAIL(sl_labels_read(&labels, classes, &err), err, SL_BAD_INPUT,
                "line 4097: more than 4096 different labels");
    memset(name, 'x', SL_LABEL_BYTES_MAX + 1);
    test_write_file(classes, name);
    EXPECT_FAIL(sl_labels_read(&labels, classes, &err), err, SL_BAD_INPUT,
                "line 1: the label has 257 bytes: expected at most 256");
}

/* ---- reading -------------------------------------------------------------------------------- */

static void expect_example(const struct sl_dataset *set, int example, int32_t label,
                           const char *want)
{
    size_t bytes;
    const char *text = sl_dataset_text(set, example, &bytes);
    cr_assert_eq(sl_label_list(&set->label_lists, example).count, 1, "example %d", example);
    cr_assert_eq(sl_label_only(&set->label_lists, example), label, "example %d: label %d", example,
                 sl_label_only(&set->label_lists, example));
    cr_assert_eq(bytes, strlen(want), "example %d: %zu bytes", example, bytes);
    cr_assert_eq(memcmp(text, want, bytes), 0, "example %d: '%.*s'", example, (int)bytes, text);
}

static const struct {
    const char *file, *want;
} orders[] = {
    {"10\ta\n9\tb\n-1\tc\n", "-1=-1 9=9 10=10 "},
    {"10\ta\n9\tb\nx\tc\n", "10=10 9=9 x=x "},
    {"b\ta\na\tb\nB\tc\nab\td\n", "B=B a=a ab=ab b=b "},
    {"\xC3\xA9\ta\nz\tb\n\xF0\x9F\x98\x80\tc\n\xEF\xBF\xA6\td\n",
     "z=z \xC3\xA9=\xC3\xA9 \xEF\xBF\xA6=\xEF\xBF\xA6 "
     "\xF0\x9F\x98\x80=\xF0\x9F\x98\x80 "},
    {"1\ta\n01\tb\n0\tc\n", "0=0 01=01 1=1 "},
    {"1.5\ta\n-\tb\n", "-=- 1.5=1.5 "},
    /* More digits than a number here holds: text. */
    {"9\ta\n1111111111111111111111\tb\n", "1111111111111111111111=1111111111111111111111 9=9 "},
};

Test(dataset, labels_found_are_put_in_order, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        test_write_file(path, orders[i].file);
        EXPECT_OK(sl_dataset_open(&set, path, &by_number, NULL, &err), err);
        expect_labels(&set.labels, orders[i].want);
        sl_dataset_close(&set);
        sl_dataset_close(&set);
    }
}

Test(dataset, examples_keep_the_order_of_the_file, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0};
    test_write_file(path, "text\tlabel\none\tb\ntwo two\ta\nthree\tb\n");
    EXPECT_OK(sl_dataset_open(&set, path, &(struct sl_record_options){0}, NULL, &err), err);
    cr_assert_eq(set.count, 3);
    expect_example(&set, 0, 1, "one");
    expect_example(&set, 1, 0, "two two");
    expect_example(&set, 2, 1, "three");
    cr_assert_eq(set.examples[2].line, 4);
    cr_assert_eq(set.text_bytes, strlen("one\ntwo two\nthree\n"));
    cr_assert_eq(memcmp(set.text, "one\ntwo two\nthree\n", set.text_bytes), 0);
    sl_dataset_close(&set);
}

/* A second file has the labels of the first, also when it lacks some. */
Test(dataset, labels_may_be_given, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_labels labels = {0};
    struct sl_dataset set = {0}, second = {0};
    test_write_file(classes, "x\tthe ex\nb\tthe bee\na\tthe ay\n");
    EXPECT_OK(sl_labels_read(&labels, classes, &err), err);
    test_write_file(path, "a\tone\nb\ttwo\n");
    EXPECT_OK(sl_dataset_open(&set, path, &by_number, &labels, &err), err);
    sl_labels_release(&labels);
    expect_labels(&set.labels, "x=the ex b=the bee a=the ay ");
    expect_example(&set, 0, 2, "one");
    expect_example(&set, 1, 1, "two");
    test_write_file(path, "x\tthree\n");
    EXPECT_OK(sl_dataset_open(&second, path, &by_number, &set.labels, &err), err);
    expect_example(&second, 0, 0, "three");
    cr_assert_eq(second.labels.count, 3);
    sl_dataset_close(&second);
    test_write_file(path, "x\tthree\ny\tfour\n");
    EXPECT_FAIL(sl_dataset_open(&second, path, &by_number, &set.labels, &err), err, SL_NOT_FOUND,
                "train.tsv' line 2: unknown label 'y': expected one of: 'x', 'b', 'a'");
    cr_assert_str_eq(err.field, "labels");
    cr_assert_eq(err.line, 2);
    cr_assert_null(second.text, "touched on failure");
    sl_dataset_close(&set);
}

static const struct {
    const char *file, *want;
} bad_files[] = {
    {"", "'"},
    {"", "train.tsv': the file has no texts"},
    {"a\tone\na\ttwo\n", "train.tsv': the only label is 'a'; a classifier needs at least 2 labels"},
    {"a\tone\nb\t\n", "train.tsv' line 2: column '2': the text is empty"},
};

Test(dataset, bad_files_are_rejected, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(bad_files); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        test_write_file(path, bad_files[i].file);
        EXPECT_FAIL(sl_dataset_open(&set, path, &by_number, NULL, &err), err, SL_BAD_INPUT,
                    bad_files[i].want);
        cr_assert_null(set.path, "touched on failure");
    }
}

/* So that all of them can be mended at once. What follows a CSV error cannot be told apart. */
Test(dataset, an_error_lists_the_lines_of_others, .init = setup, .fini = teardown)
{
    static const struct {
        const char *name, *content, *want;
    } cases[] = {
        {"one.csv", "label,text\na,x,y\nb,z\n",
         "; a field that has the separator in it must be quoted"},
        {"two.csv", "label,text\na,x,y\nb,z\nb\n", "quoted; 1 more record is refused: line 4"},
        {"quote.csv", "label,text\na,x,y\nb,z\"\nb\n",
         "1 more record is refused: line 3, and perhaps some below"},
        {"a.jsonl",
         "{\"label\":\"a\",\"text\":\"x\"}\n[]\n{\"label\":\"b\"}\n{\n"
         "{\"label\":\"b\",\"text\":\"y\"}\n",
         "; 2 more records are refused: lines 3, 4"},
        {"one.json", "[{\"label\":[[1]],\"text\":\"x\"},{\"label\":[[1]],\"text\":\"y\"}]",
         "labels of parts of a text are not read, only labels of whole texts"},
        {"two.jsonl", "{\"label\":[[1]],\"text\":\"x\"}\n{\"label\":[[1]],\"text\":\"y\"}\n",
         "only labels of whole texts; 1 more record is refused: line 2"},
        {"many.jsonl", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n",
         "; 9 more records are refused: lines 2, 3, 4, 5, 6, 7, 8, 9 and others"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        test_write_file(test_path(path, directory, cases[i].name), cases[i].content);
        cr_assert_not(sl_dataset_open(&set, path, &(struct sl_record_options){0}, NULL, &err));
        const size_t bytes = strlen(err.text), end = strlen(cases[i].want);
        cr_expect(bytes >= end && strcmp(err.text + bytes - end, cases[i].want) == 0, "%s",
                  err.text);
        cr_expect(strstr(sl_err_reason(&err), cases[i].want), "%s", sl_err_reason(&err));
    }
}

/* So many labels, each met once. */
static void many_write(int labels)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < labels; i++)
        cr_assert_gt(fprintf(file, "%d\tx\n", (i * 7) % labels), 0);
    cr_assert_eq(fclose(file), 0);
}

Test(dataset, at_most_4096_labels_are_collected, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0};
    many_write(SL_LABELS_MAX);
    EXPECT_OK(sl_dataset_open(&set, path, &by_number, NULL, &err), err);
    cr_assert_eq(set.labels.count, SL_LABELS_MAX);
    for (int i = 0; i < set.count; i++)
        cr_assert_eq(sl_label_only(&set.label_lists, i), (i * 7) % SL_LABELS_MAX);
    cr_assert_str_eq(set.labels.list[10].key, "10");
    sl_dataset_close(&set);
    many_write(SL_LABELS_MAX + 1);
    EXPECT_FAIL(sl_dataset_open(&set, path, &by_number, NULL, &err), err, SL_BAD_INPUT,
                "train.tsv' line 4097: more than 4096 different labels");
}

/* A long list of labels is not listed in full. */
Test(dataset, an_error_names_some_labels, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0}, second = {0};
    many_write(20);
    EXPECT_OK(sl_dataset_open(&set, path, &by_number, NULL, &err), err);
    test_write_file(path, "20\tx\n");
    EXPECT_FAIL(sl_dataset_open(&second, path, &by_number, &set.labels, &err), err, SL_NOT_FOUND,
                "expected one of: '0', '1', '2', '3', '4', '5', '6', '7' and 12 more");
    sl_dataset_close(&set);
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* Reads a file, and learns its characters: ids in the order of their code points, \n before all. */
static struct sl_tokenizer *set_open(struct sl_dataset *set, const char *file)
{
    struct sl_err err;
    struct sl_tokenizer *tokens = NULL;
    test_write_file(path, file);
    EXPECT_OK(sl_dataset_open(set, path, &by_number, NULL, &err), err);
    EXPECT_OK((tokens = sl_tokenizer_train_default("characters", set->text, set->text_bytes, &err)),
              err);
    return tokens;
}

/* Ids as letters: 1 is a. */
static void expect_ids(const struct sl_dataset *set, int example, const char *want)
{
    int count;
    const int32_t *ids = sl_dataset_ids(set, example, &count);
    cr_assert_eq(count, (int)strlen(want), "example %d: %d tokens", example, count);
    for (int i = 0; i < count; i++)
        cr_assert_eq(ids[i], want[i] - 'a' + 1, "example %d: id %d is %d", example, i, ids[i]);
}

static const char *const alphabet = "0\tabcdef\n1\tfed\n1\tc\n0\tabcdefabcdef\n";

static const struct {
    int context;
    enum sl_truncation truncation;
    int truncated;
    const char *want[4];
} encodings[] = {
    {12, SL_TRUNCATE_RIGHT, 0, {"abcdef", "fed", "c", "abcdefabcdef"}},
    {11, SL_TRUNCATE_RIGHT, 1, {"abcdef", "fed", "c", "abcdefabcde"}},
    {11, SL_TRUNCATE_LEFT, 1, {"abcdef", "fed", "c", "bcdefabcdef"}},
    {2, SL_TRUNCATE_RIGHT, 3, {"ab", "fe", "c", "ab"}},
    {2, SL_TRUNCATE_LEFT, 3, {"ef", "ed", "c", "ef"}},
};

Test(dataset, texts_become_tokens_as_many_as_the_context_holds, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(encodings); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        struct sl_tokenizer *tokens = set_open(&set, alphabet);
        const struct sl_dataset_encoding how = {.context = encodings[i].context,
                                                .truncation = encodings[i].truncation};
        EXPECT_OK(sl_dataset_encode(&set, tokens, &how, &err), err);
        size_t total = 0;
        for (int e = 0; e < set.count; e++) {
            expect_ids(&set, e, encodings[i].want[e]);
            cr_assert_eq(set.examples[e].ids, (int64_t)total);
            total += strlen(encodings[i].want[e]);
        }
        cr_assert_eq(set.ids_count, total);
        cr_assert_eq(set.truncated, encodings[i].truncated, "case %zu: %d", i, set.truncated);
        cr_assert_null(set.text, "the text is still held");
        sl_dataset_close(&set);
        sl_tokenizer_destroy(tokens);
    }
}

Test(dataset, texts_are_kept_on_request, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0};
    struct sl_tokenizer *tokens = set_open(&set, alphabet);
    const struct sl_dataset_encoding how = {.context = 2, .keep_text = true};
    EXPECT_OK(sl_dataset_encode(&set, tokens, &how, &err), err);
    expect_ids(&set, 3, "ab");
    expect_example(&set, 3, 0, "abcdefabcdef");
    sl_dataset_close(&set);
    sl_tokenizer_destroy(tokens);
}

Test(dataset, unknown_characters_fail_or_are_replaced, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0}, second = {0};
    struct sl_tokenizer *tokens = set_open(&set, "0\tab?\n1\tab\n");
    struct sl_dataset_encoding how = {.context = 9};
    test_write_file(path, "0\tab\n1\tazb\n");
    EXPECT_OK(sl_dataset_open(&second, path, &by_number, &set.labels, &err), err);
    EXPECT_FAIL(sl_dataset_encode(&second, tokens, &how, &err), err, SL_BAD_INPUT,
                "train.tsv' line 2: 1 character is not in the vocabulary: 'z'");
    cr_assert_null(second.ids);
    cr_assert(second.text, "the text is gone after a failure");
    how.unknown = SL_UNKNOWN_REPLACE;
    EXPECT_OK(sl_dataset_encode(&second, tokens, &how, &err), err);
    int count;
    cr_assert_eq(sl_dataset_ids(&second, 1, &count)[1], 1, "'?' is the id after the line feed");
    cr_assert_eq(count, 3);
    sl_dataset_close(&set);
    sl_dataset_close(&second);
    sl_tokenizer_destroy(tokens);
}

/* The tokens of an example, special ones by name. */
static void expect_tokens(const struct sl_dataset *set, int example,
                          const struct sl_tokenizer *tokens, const char *want)
{
    char text[256];
    int count;
    const int32_t *ids = sl_dataset_ids(set, example, &count);
    struct sl_err err;
    const struct sl_decoding job = {
        .ids = ids, .count = count, .text = text, .capacity = sizeof text - 1};
    long bytes = sl_tokenizer_decode(tokens, &job, &err);
    cr_assert(bytes >= 0 && bytes < (long)sizeof text, "%s", err.text);
    text[bytes] = '\0';
    cr_assert_str_eq(text, want);
}

static const struct {
    int context;
    enum sl_truncation truncation;
    const char *want;
} cut_texts[] = {
    {9, SL_TRUNCATE_RIGHT, "[CLS] one two three [SEP]"},
    {4, SL_TRUNCATE_RIGHT, "[CLS] one two [SEP]"},
    {4, SL_TRUNCATE_LEFT, "[CLS] two three [SEP]"},
    {3, SL_TRUNCATE_LEFT, "[CLS] three [SEP]"},
    {2, SL_TRUNCATE_RIGHT, "[CLS] [SEP]"},
};

/* A text that is too long keeps the tokens at its ends; one that has nothing else is refused. */
Test(dataset, special_tokens_stay_where_they_are, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(cut_texts); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        const struct sl_dataset_encoding how = {.context = cut_texts[i].context,
                                                .truncation = cut_texts[i].truncation};
        test_write_file(path, "0\tone two three\n1\tfour\n");
        EXPECT_OK(sl_dataset_open(&set, path, &by_number, NULL, &err), err);
        const char *words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\none\ntwo\nthree\n";
        struct sl_tokenizer *tokens =
            sl_vocabulary_read("wordpiece", true, words, strlen(words), &err);
        cr_assert(tokens, "%s", err.text);
        EXPECT_OK(sl_dataset_encode(&set, tokens, &how, &err), err);
        expect_tokens(&set, 0, tokens, cut_texts[i].want);
        expect_tokens(&set, 1, tokens,
                      cut_texts[i].context > 2 ? "[CLS] [UNK] [SEP]" : "[CLS] [SEP]");
        sl_dataset_close(&set);
        test_write_file(path, "0\tone two three\n1\t \n");
        EXPECT_OK(sl_dataset_open(&set, path, &by_number, NULL, &err), err);
        EXPECT_FAIL(sl_dataset_encode(&set, tokens, &how, &err), err, SL_BAD_INPUT,
                    "line 2: the text has no tokens");
        sl_dataset_close(&set);
        sl_tokenizer_destroy(tokens);
    }
}

/* ---- cutting -------------------------------------------------------------------------------- */

/* A file of this many examples per label, mixed; each text says its number, and is as long. */
static void mixed_open(struct sl_dataset *set, int each, int labels)
{
    struct sl_err err;
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < each * labels; i++)
        cr_assert_gt(fprintf(file, "%d\t%0*d\n", i % labels, 1 + i % 50 + 5, i), 0);
    cr_assert_eq(fclose(file), 0);
    EXPECT_OK(sl_dataset_open(set, path, &by_number, NULL, &err), err);
}

/* The number that an example's text says; its label and line must be of the same example. */
static int number_of(const struct sl_dataset *set, int example)
{
    size_t bytes;
    char digits[64];
    const char *text = sl_dataset_text(set, example, &bytes);
    (void)snprintf(digits, sizeof digits, "%.*s", (int)bytes, text);
    int number = (int)strtol(digits, NULL, 10);
    cr_assert_eq(text[bytes], '\n');
    cr_assert_eq(bytes, (size_t)(1 + number % 50 + 5));
    cr_assert_eq(sl_label_only(&set->label_lists, example), number % set->labels.count);
    cr_assert_eq(set->examples[example].line, number + 1);
    return number;
}

/* Marks in `seen` what a set holds: ascending, so in the order of the file. */
static void seen_mark(const struct sl_dataset *set, int *seen, int mark)
{
    int last = -1;
    for (int i = 0; i < set->count; i++) {
        int number = number_of(set, i);
        cr_assert_gt(number, last);
        cr_assert_eq(seen[number], 0, "example %d is in both", number);
        seen[number] = mark;
        last = number;
    }
}

static int label_count(const struct sl_dataset *set, int label)
{
    int count = 0;
    for (int i = 0; i < set->count; i++)
        count += sl_label_only(&set->label_lists, i) == label;
    return count;
}

static const struct {
    double share;
    int each, want; /* of each label, and what is cut of it */
} cuts[] = {
    {0.1, 100, 10}, {0.1, 15, 2}, {0.1, 14, 1}, {0.5, 3, 2}, {0.99, 4, 3}, {0.29, 100, 29},
};

Test(dataset, a_split_takes_a_fraction_of_each_label, .init = setup, .fini = teardown)
{
    enum { LABELS = 3, MOST = 400 };

    for (size_t i = 0; i < COUNT(cuts); i++) {
        struct sl_err err;
        struct sl_dataset set = {0}, cut = {0};
        int seen[MOST] = {0}, total = cuts[i].each * LABELS;
        mixed_open(&set, cuts[i].each, LABELS);
        EXPECT_OK(sl_dataset_split(&set, cuts[i].share, 7, &cut, &err), err);
        seen_mark(&set, seen, 1);
        seen_mark(&cut, seen, 2);
        cr_assert_eq(set.count + cut.count, total);
        for (int label = 0; label < LABELS; label++)
            cr_assert_eq(label_count(&cut, label), cuts[i].want, "case %zu: %d", i,
                         label_count(&cut, label));
        expect_labels(&cut.labels, "0=0 1=1 2=2 ");
        sl_dataset_close(&set);
        sl_dataset_close(&cut);
    }
}

/* What a cut takes of a set: a bit per example of the first 60. */
static uint64_t cut_bits(uint64_t seed)
{
    struct sl_err err;
    struct sl_dataset set = {0}, cut = {0};
    uint64_t bits = 0;
    mixed_open(&set, 30, 2);
    EXPECT_OK(sl_dataset_split(&set, 0.2, seed, &cut, &err), err);
    for (int i = 0; i < cut.count; i++)
        bits |= UINT64_C(1) << number_of(&cut, i);
    sl_dataset_close(&set);
    sl_dataset_close(&cut);
    return bits;
}

Test(dataset, a_split_depends_on_the_seed_alone, .init = setup, .fini = teardown)
{
    cr_assert_eq(cut_bits(1), cut_bits(1));
    cr_assert_neq(cut_bits(1), cut_bits(2));
    /* Written down once: the same on every machine. */
    cr_assert_eq(cut_bits(1), 0x470000020402d88, "0x%llx", (unsigned long long)cut_bits(1));
}

static const struct {
    double share;
    const char *want;
} bad_cuts[] = {
    {0, "invalid validation fraction 0: expected more than 0 and less than 1"},
    {1, "invalid validation fraction 1: expected"},
    {-0.1, "invalid validation fraction -0.1: expected"},
    {(double)NAN, "nan: expected more than 0"},
    {0.01, "train.tsv': holding out 1 % for validation needs a label with at least 50 texts; "
           "add texts, or give a validation file"},
};

/* A file that translates labels for a model may have them in any order. */
Test(dataset, labels_take_the_order_of_the_model)
{
    static char negative[] = "negative", positive[] = "positive", other[] = "other";
    struct sl_err err;
    struct sl_labels labels = {0};
    char top[PATH_MAX], file[PATH_MAX];
    test_directory_create(top);
    test_write_file(test_path(file, top, "labels"), "pos\tpositive\nneg\tnegative\n");
    EXPECT_OK(sl_labels_read(&labels, file, &err), err);
    EXPECT_OK(sl_labels_reorder(&labels, (char *[]){negative, positive}, 2, &err), err);
    cr_assert_eq(sl_labels_find(&labels, "neg", 3), 0);
    cr_assert_eq(sl_labels_find(&labels, "pos", 3), 1);
    EXPECT_FAIL(sl_labels_reorder(&labels, (char *[]){negative, other}, 2, &err), err, SL_BAD_INPUT,
                "the label 'other' of the model is missing");
    EXPECT_FAIL(sl_labels_reorder(&labels, (char *[]){negative}, 1, &err), err, SL_BAD_INPUT,
                "the model has no label 'positive'");
    sl_labels_release(&labels);
    test_directory_remove(top);
}

Test(dataset, bad_splits_are_rejected, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set = {0}, cut = {0};
    mixed_open(&set, 10, 2);
    for (size_t i = 0; i < COUNT(bad_cuts); i++) {
        EXPECT_FAIL(sl_dataset_split(&set, bad_cuts[i].share, 1, &cut, &err), err, SL_BAD_INPUT,
                    bad_cuts[i].want);
        cr_assert_null(cut.text);
        cr_assert_eq(set.count, 20);
    }
    sl_dataset_close(&set);
}

/* ---- the order of an epoch ------------------------------------------------------------------ */

Test(dataset, an_order_visits_each_example_once)
{
    enum { MOST = 300 };

    uint64_t seed = test_seed();
    for (int count = 0; count <= MOST; count++) {
        int32_t order[MOST];
        bool seen[MOST] = {false};
        sl_dataset_order(seed, (uint64_t)count, count, order);
        for (int i = 0; i < count; i++) {
            cr_assert_geq(order[i], 0);
            cr_assert_lt(order[i], count);
            cr_assert_not(seen[order[i]], "%d appears twice", order[i]);
            seen[order[i]] = true;
        }
    }
}

Test(dataset, an_order_depends_on_seed_and_epoch_alone)
{
    enum { EXAMPLES = 8 };

    static const int32_t want[EXAMPLES] = {2, 4, 7, 3, 0, 1, 6, 5};
    int32_t order[EXAMPLES], other[EXAMPLES];
    sl_dataset_order(1, 0, EXAMPLES, order);
    /* Written down once: the same on every machine, so that a run goes on elsewhere. */
    for (int i = 0; i < EXAMPLES; i++)
        cr_assert_eq(order[i], want[i], "place %d: %d", i, order[i]);
    sl_dataset_order(1, 1, EXAMPLES, other);
    cr_assert_neq(memcmp(order, other, sizeof order), 0);
    sl_dataset_order(2, 0, EXAMPLES, other);
    cr_assert_neq(memcmp(order, other, sizeof order), 0);
    sl_dataset_order(1, 0, EXAMPLES, other);
    cr_assert_eq(memcmp(order, other, sizeof order), 0);
}

/* Every example in every place about as often. */
Test(dataset, orders_are_even)
{
    enum { EXAMPLES = 5, EPOCHS = 5000, EACH = EPOCHS / EXAMPLES };

    uint64_t seed = test_seed();
    int hits[EXAMPLES][EXAMPLES] = {0};
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int32_t order[EXAMPLES];
        sl_dataset_order(seed, (uint64_t)epoch, EXAMPLES, order);
        for (int place = 0; place < EXAMPLES; place++)
            hits[place][order[place]]++;
    }
    /* 1000 expected, deviation 28: six of them are allowed. */
    for (int place = 0; place < EXAMPLES; place++)
        for (int example = 0; example < EXAMPLES; example++)
            cr_assert_lt(abs(hits[place][example] - EACH), 170, "%d at %d: %d times (seed %llu)",
                         example, place, hits[place][example], (unsigned long long)seed);
}

/* Where it is asked for: training is better served by a warning. */
Test(dataset, records_without_label_or_text_are_skipped_on_request, .init = setup, .fini = teardown)
{
    struct sl_err err;
    struct sl_dataset set;

    static const struct {
        const char *name, *content;
        struct sl_record_options options;
        int64_t skipped, line;
    } cases[] = {
        {"a.csv", "id,label,text\n1,good,fine\n2,,x\n3,bad,\n,,\n4,bad,poor\n", {0}, 3, 3},
        {"a.tsv", "a\tone\n\ttwo\nb\tthree\n", {.label = "1", .text = "2"}, 1, 2},
        {"a.jsonl",
         "{\"label\":null,\"text\":\"x\"}\n{\"label\":\"a\",\"text\":\"y\"}\n"
         "{\"text\":\"w\"}\n{\"label\":\"b\",\"text\":\"z\"}\n",
         {0},
         2,
         1},
        {"blank.tsv",
         "a\t \nb\t\xC2\xA0\xE2\x80\x8B\xEF\xBB\xBF\na\tx\n\tz\nb\t\x01\nb\t.\n",
         {.label = "1", .text = "2"},
         4,
         1},
        {"blank.csv", "label,text\n ,x\na,y\n\xC2\xA0\xE2\x80\x8B,z\nb,w\n", {0}, 2, 2},
        {"blank.jsonl",
         "{\"label\":[\" \"],\"text\":\"x\"}\n{\"label\":\"a\",\"text\":\"y\"}\n"
         "{\"label\":[\"\"],\"text\":\"w\"}\n{\"label\":\"b\",\"text\":\"z\"}\n",
         {0},
         2,
         1},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sl_record_options options = cases[i].options;
        test_write_file(test_path(path, directory, cases[i].name), cases[i].content);
        cr_expect_not(sl_dataset_open(&set, path, &options, NULL, &err), "%s", cases[i].name);
        options.skip_incomplete = true;
        EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
        cr_expect_eq(set.count, 2);
        cr_expect_eq(set.skipped.records, cases[i].skipped, "%s", cases[i].name);
        cr_expect_eq(set.skipped.line, cases[i].line, "%s", cases[i].name);
        sl_dataset_close(&set);
    }
    test_write_file(test_path(path, directory, "none.tsv"), "\tone\n\ttwo\n");
    const struct sl_record_options skip = {.label = "1", .text = "2", .skip_incomplete = true};
    EXPECT_FAIL(sl_dataset_open(&set, path, &skip, NULL, &err), err, SL_BAD_INPUT,
                "no record has both a label and a text; in line 1 '1' is empty");
}
