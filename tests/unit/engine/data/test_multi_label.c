/* test_multi_label.c - texts with several labels, or none: read, divided, and what is wrong. */
#include "data/dataset.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "texts");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

TestSuite(multi_label, .init = setup, .fini = teardown);

enum { DUMP_BYTES = 1024 };

/* "a+b c -": the labels of each text. */
static const char *labels_of(const struct sl_dataset *set, char dump[DUMP_BYTES])
{
    size_t used = 0;
    dump[0] = '\0';
    for (int i = 0; i < set->count; i++) {
        const struct sl_label_list list = sl_label_list(&set->label_lists, i);
        for (int k = 0; k < list.count; k++)
            used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%s%s", k ? "+" : "",
                                     set->labels.list[list.ids[k]].name);
        used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%s%s", list.count ? "" : "-",
                                 i + 1 < set->count ? " " : "");
    }
    return dump;
}

static const struct sl_record_options skipping = {.skip_incomplete = true};

/* ---- what is read --------------------------------------------------------------------------- */

static const struct {
    const char *format, *separator, *file, *want;
    int skipped;
    bool single;
} good[] = {
    /* An empty field has no label, in the order of the file or not; labels are in their order. */
    {"tsv", "|", "label\ttext\nb|a\tx\na\ty\n\tz\n", "a+b a -", 0, false},
    {"csv", "; ", "label,text\n\"b; c; a\",x\n\"\",y\nb,z\n", "a+b+c - b", 0, false},
    {"csv", "::::::::", "label,text\nb::::::::a,x\n", "a+b", 0, false},
    /* A text that is empty is left out, as ever. */
    {"tsv", "|", "label\ttext\na|b\tx\na\t\n", "a+b", 1, false},
    /* A list needs no separator, and is never cut by one; [] has no label, null is missing. */
    {"jsonl", NULL,
     "{\"label\":[\"b|c\",\"a\"],\"text\":\"x\"}\n{\"label\":[],\"text\":\"y\"}\n"
     "{\"label\":null,\"text\":\"z\"}\n{\"label\":\"a\",\"text\":\"w\"}\n",
     "a+b|c - a", 1, false},
    {"jsonl", "|",
     "{\"label\":[\"b|c\",\"a\"],\"text\":\"x\"}\n{\"label\":\"a|d\",\"text\":\"y\"}\n"
     "{\"label\":\"\",\"text\":\"z\"}\n",
     "a+b|c a+d -", 0, false},
    {"jsonl", NULL, "{\"label\":[10,9],\"text\":\"x\"}\n{\"label\":9,\"text\":\"y\"}\n", "9+10 9",
     0, false},
    /* A list written as text, as Python or JSON writes it, is one in every format. */
    {"csv", NULL,
     "label,text\n\"['b', 'a']\",x\n[],y\n\"[\"\"it's\"\"]\",z\n\"['it\\'s']\",w\n[1 2],v\n",
     "a+b - it's it's 1+2", 0, false},
    {"tsv", "|", "label\ttext\n[]\tx\n[\"a\"]\ty\na|[b]\tz\n", "- a [b]+a", 0, false},
    {"jsonl", NULL,
     "{\"label\":\"['a']\",\"text\":\"x\"}\n{\"label\":\"[]\",\"text\":\"y\"}\n"
     "{\"label\":\"[b]\",\"text\":\"z\"}\n",
     "a - [b]", 0, false},
    /* If every list has one label, a text has one. */
    {"jsonl", NULL, "{\"label\":[\"b\"],\"text\":\"x\"}\n{\"label\":[\"a\"],\"text\":\"y\"}\n",
     "b a", 0, true},
    {"jsonl", NULL,
     "{\"label\":{\"a\":1,\"b\":0.0},\"text\":\"x\"}\n"
     "{\"label\":{\"a\":false,\"b\":true},\"text\":\"y\"}\n",
     "a b", 0, true},
    /* Without either, one label: an empty one is missing. */
    {"tsv", NULL, "label\ttext\na|b\tx\nc\ty\n\tz\n", "a|b c", 1, true},
};

Test(multi_label, is_read_from_separators_and_lists)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        struct sl_record_options options = skipping;
        char dump[DUMP_BYTES];
        options.format = good[i].format;
        options.label_separator = good[i].separator;
        test_write_file(path, good[i].file);
        EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
        cr_expect_str_eq(labels_of(&set, dump), good[i].want, "case %zu: %s", i, dump);
        cr_expect_eq(set.skipped.records, good[i].skipped, "case %zu", i);
        cr_expect_eq(set.multi_label, !good[i].single, "case %zu", i);
        sl_dataset_close(&set);
    }
}

Test(multi_label, the_public_interface_lists_them)
{
    struct sl_err err;
    const struct sl_dataset_options options = {.format = "tsv", .label_separator = "|"};
    test_write_file(path, "label\ttext\nb|a\tx\n\ty\n");
    struct sl_dataset *set = sl_dataset_load(path, &options, &err);
    cr_assert(set, "%s", err.text);
    const struct sl_dataset_example both = sl_dataset_example(set, 0),
                                    none = sl_dataset_example(set, 1);
    cr_expect(both.labels_count == 2 && both.label == 0 && both.labels[1] == 1);
    cr_expect(none.labels_count == 0 && none.label == -1);
    sl_dataset_destroy(set);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static const struct {
    const char *format, *separator, *file, *want;
} bad[] = {
    {"tsv", "|", "label\ttext\na\tx\na||b\tx\n",
     "line 3: column 'label': 'a||b' has an empty label: expected labels with one '|' between "
     "them, or nothing for a text without a label"},
    {"tsv", "|", "label\ttext\n|a\tx\n", "line 2: column 'label': '|a' has an empty label"},
    {"tsv", "|", "label\ttext\na|\tx\n", "line 2: column 'label': 'a|' has an empty label"},
    {"tsv", "|", "label\ttext\na|b|a\tx\n", "line 2: the label 'a' is given twice"},
    {"jsonl", NULL, "{\"label\":[\"a\",\"a\"],\"text\":\"x\"}",
     "line 1: the label 'a' is given twice"},
    {"jsonl", NULL, "{\"label\":[\"a\",\"\"],\"text\":\"x\"}",
     "line 1: column 'label': the label is empty"},
    {"jsonl", NULL, "{\"label\":[\"a\",[\"b\"]],\"text\":\"x\"}",
     "line 1: column 'label': item 1 is an array: expected a string or a number"},
    {"jsonl", NULL, "{\"label\":{\"a\":2},\"text\":\"x\"}",
     "column 'label' is an object, whose 'a' is 2, neither 0 nor 1: expected a string, a number or "
     "a list of them; name one of its "
     "members, as in label.a"},
    {"jsonl", NULL, "{\"label\":[1,0,0],\"text\":\"x\"}",
     "line 1: the label '0' is given twice; if these are one-hot vectors, write the names"},
    {"csv", "|", "sport,food,text\n1,2,x\n", "no column 'label'"},
    {"jsonl", NULL, "{\"label\":\"a\",\"text\":[\"x\"]}",
     "column 'text' is an array: expected a string"},
    {"tsv", "|", "label\ttext\n\tx\n\ty\n", "no text has a label"},
    {"tsv", "|", "label\ttext\na\tx\n\ty\n",
     "the only label is 'a'; a classifier needs at least 2"},
    {"tsv", "", "label\ttext\na|b\tx\n", "invalid label separator '': expected 1 to 8 bytes"},
    {"tsv", "123456789", "label\ttext\na|b\tx\n", "invalid label separator '123456789'"},
    {"tsv", "\xA9", "label\ttext\na|b\tx\n", "invalid label separator"},
    {"tsv", "\t", "label\ttext\na|b\tx\n",
     "expected 1 to 8 bytes of UTF-8 without control characters"},
};

Test(multi_label, errors_say_what_is_expected)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        struct sl_record_options options = skipping;
        options.format = bad[i].format;
        options.label_separator = bad[i].separator;
        test_write_file(path, bad[i].file);
        EXPECT_FAIL(sl_dataset_open(&set, path, &options, NULL, &err), err, SL_BAD_INPUT,
                    bad[i].want);
    }
}

/* A line with as many labels as there may be, and with one more. */
static void write_many(const char *format, int labels)
{
    const bool is_list = strcmp(format, "jsonl") == 0;
    FILE *file = fopen(path, "we");
    cr_assert(file);
    (void)fputs(is_list ? "{\"text\":\"x\",\"label\":[" : "label\ttext\n", file);
    for (int i = 0; i < labels; i++)
        (void)fprintf(file, "%s%d", i == 0 ? "" : is_list ? "," : "|", i);
    (void)fputs(is_list ? "]}\n" : "\tx\n", file);
    cr_assert_eq(fclose(file), 0);
}

Test(multi_label, a_text_has_at_most_4096_labels)
{
    static const char *const formats[] = {"tsv", "jsonl"};
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        struct sl_record_options options = skipping;
        options.format = formats[i];
        options.label_separator = "|";
        write_many(formats[i], SL_LABELS_MAX);
        EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
        cr_expect_eq(sl_label_list(&set.label_lists, 0).count, SL_LABELS_MAX);
        sl_dataset_close(&set);
        write_many(formats[i], SL_LABELS_MAX + 1);
        EXPECT_FAIL(sl_dataset_open(&set, path, &options, NULL, &err), err, SL_BAD_INPUT, "4096");
    }
}

Test(multi_label, a_set_of_single_labels_fits_a_model_with_several_but_not_the_reverse)
{
    struct sl_err err;
    struct sl_dataset set = {0};
    struct sl_record_options options = {.format = "tsv"};
    test_write_file(path, "label\ttext\na\tx\nb\ty\n");
    EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
    EXPECT_OK(sl_dataset_fit_to(&set, true, &err), err);
    cr_expect(set.multi_label);
    EXPECT_FAIL(sl_dataset_fit_to(&set, false, &err), err, SL_BAD_INPUT,
                "its texts may have several labels");
    sl_dataset_close(&set);
}

/* ---- dividing -------------------------------------------------------------------------------- */

/* 80 texts have "often", of which 8 "seldom", too, and 20 have no label. */
static void open_uneven(struct sl_dataset *set)
{
    struct sl_err err;
    struct sl_record_options options = {.format = "tsv", .label_separator = "|"};
    FILE *file = fopen(path, "we");
    cr_assert(file);
    (void)fputs("label\ttext\n", file);
    for (int i = 0; i < 100; i++)
        (void)fprintf(file, "%s\ttext %d\n",
                      i % 5 == 4              ? ""
                      : i % 10 == 0 && i < 80 ? "often|seldom"
                                              : "often",
                      i);
    cr_assert_eq(fclose(file), 0);
    EXPECT_OK(sl_dataset_open(set, path, &options, NULL, &err), err);
}

Test(multi_label, the_rarest_label_divides)
{
    struct sl_err err;
    struct sl_dataset set = {0};
    int32_t strata[100];
    open_uneven(&set);
    EXPECT_OK(sl_dataset_strata(&set, strata, &err), err);
    for (int i = 0; i < 100; i++)
        cr_expect_eq(strata[i], i % 5 == 4 ? 2 : i % 10 == 0 && i < 80 ? 1 : 0, "text %d", i);
    sl_dataset_close(&set);
}

Test(multi_label, both_parts_of_a_set_keep_their_labels)
{
    struct sl_err err;
    struct sl_dataset set = {0}, cut = {0};
    int counts[3] = {0};
    open_uneven(&set);
    EXPECT_OK(sl_dataset_split(&set, 0.25, 1, &cut, &err), err);
    cr_assert_eq(set.count + cut.count, 100);
    cr_expect(cut.multi_label);
    for (int part = 0; part < 2; part++) {
        const struct sl_dataset *s = part ? &cut : &set;
        for (int i = 0; i < s->count; i++) {
            size_t bytes;
            const char *text = sl_dataset_text(s, i, &bytes); /* does not end with a NUL */
            char copy[16];
            (void)snprintf(copy, sizeof copy, "%.*s", (int)bytes, text);
            const int number = (int)strtol(copy + strlen("text "), NULL, 10);
            const int want = number % 5 == 4 ? 0 : number % 10 == 0 && number < 80 ? 2 : 1;
            cr_expect_eq(sl_label_list(&s->label_lists, i).count, want, "text %d", number);
            counts[want] += part;
        }
    }
    cr_expect(counts[0] == 5 && counts[1] == 18 && counts[2] == 2, "%d, %d, %d", counts[0],
              counts[1], counts[2]);
    sl_dataset_close(&set);
    sl_dataset_close(&cut);
}
