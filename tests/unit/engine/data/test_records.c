/* test_records.c - records read from TSV, CSV and JSON Lines, and every way in which they can be
 * wrong. */
#include "data/record_format.h"
#include "data/record_reader.h"
#include "sluice/model.h"
#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { DUMP_BYTES = 4096 };

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "input");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

/* ---- what is read --------------------------------------------------------------------------- */

/* Appends "line:label|text;"; several labels with a + between them. */
static void dump_add(char *dump, const struct sl_record *r)
{
    size_t used = strlen(dump);
    used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%lld:", (long long)r->line);
    for (int i = 0; i < r->label_count; i++)
        used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%s%.*s", i ? "+" : "",
                                 (int)r->labels[i].bytes, r->labels[i].data);
    (void)snprintf(dump + used, DUMP_BYTES - used, "|%.*s;", (int)r->text_bytes, r->text);
}

/* All records of the file; false with err at the first that is wrong. */
static bool records_dump(const struct sl_record_options *options, char dump[DUMP_BYTES],
                         struct sl_err *err)
{
    struct sl_record_reader *records = sl_record_reader_open(path, options, err);
    struct sl_record record = {.text = ""};
    dump[0] = '\0';
    bool ok = records != NULL;
    while (ok && record.text) {
        ok = sl_record_reader_next(records, &record, err);
        if (ok && record.text)
            dump_add(dump, &record);
    }
    sl_record_reader_close(records);
    return ok;
}

#define BOM "\xEF\xBB\xBF"
#define E4  "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9" /* e with an acute accent, four times */

static const struct {
    const char *format, *label, *text, *file, *want;
} good[] = {
    /* TSV: by number there is no line of names, by name there is. */
    {"tsv", "1", "2", "a\tone\nb\ttwo words\n", "1:a|one;2:b|two words;"},
    {"tsv", "2", "1", "one\ta\n", "1:a|one;"},
    {"tsv", NULL, NULL, "text\tid\tlabel\none\t7\ta\n", "2:a|one;"},
    {"tsv", "class", "body", "class\tbody\na\tone\n", "2:a|one;"},
    {"tsv", "1", "2", "a\tno line feed at the end", "1:a|no line feed at the end;"},
    {"tsv", "1", "2", "a\tone\r\nb\ttwo\r\n", "1:a|one;2:b|two;"},
    {"tsv", "1", "2", BOM "a\tone\n", "1:a|one;"},
    {"tsv", NULL, NULL, BOM "label\ttext\na\tone\n", "2:a|one;"},
    {"tsv", "1", "2", "\"a\"\t\"one \"\" two\n", "1:\"a\"|\"one \"\" two;"},
    {"tsv", "1", "2", "a\t one, two \n", "1:a| one, two ;"},
    {"tsv", "1", "2", "\na\tone\n\n\r\nb\ttwo\n\n", "2:a|one;5:b|two;"},
    {"tsv", "1", "2", "", ""},
    {"tsv", "1", "2", BOM, ""},
    {"tsv", NULL, NULL, "label\ttext\n", ""},
    /* What the line of names has counts: with commas, and before numbers. */
    {"csv", "0", "1", "0,1\na,one\n", "2:a|one;"},
    {"csv", "2", "1", "1,2\none,a\n", "2:a|one;"},
    {"csv", "1", "2", "1,3\none,a\n", "1:1|3;2:one|a;"},
    {"csv", "k", "2", "k,\"a, b\"\nx,one\n", "2:x|one;"},
    {"csv", "k", "a, b", "k,\"a, b\"\nx,one\n", "2:x|one;"},
    {"csv", "k,l", "a", "\"k,l\",a\nx,one\n", "2:x|one;"},
    /* Text columns are joined in the requested order, without empty ones. */
    {"tsv", "1", "3,2", "a\tone\ttwo\n", "1:a|two one;"},
    {"tsv", "1", "2,3,4", "a\tone\t\tthree\na\t\t\tx\na\ty\t\t\n", "1:a|one three;2:a|x;3:a|y;"},
    {"csv", "k", "title,description", "k,title,description\na,T,D\n", "2:a|T D;"},
    /* CSV after RFC 4180. */
    {"csv", "1", "2", "a,one\nb,two\n", "1:a|one;2:b|two;"},
    {"csv", "1", "2", "a,one\r\nb,two\r\n", "1:a|one;2:b|two;"},
    {"csv", "1", "2", "a,one\nb,two", "1:a|one;2:b|two;"},
    {"csv", "1", "2", "\"a\",\"one, two\"\n", "1:a|one, two;"},
    {"csv", "1", "2", "a,\"say \"\"hi\"\"\"\n", "1:a|say \"hi\";"},
    {"csv", "1", "2", "a,\"one\ntwo\n\nfour\"\nb,x\n", "1:a|one\ntwo\n\nfour;5:b|x;"},
    {"csv", "1", "2", "a,\"one\r\ntwo\"\r\nb,x\r\n", "1:a|one\r\ntwo;3:b|x;"},
    {"csv", "1", "2", "a,\"one\rtwo\"\n", "1:a|one\rtwo;"},
    {"csv", "1", "2", " a , one \n", "1: a | one ;"},
    {"csv", "1", "2", "a,\"one\"", "1:a|one;"},
    {"csv", "1", "3", "a,,\"x\"\nb,\"\",y\n", "1:a|x;2:b|y;"},
    {"csv", NULL, NULL, BOM "\"label\",\"text\"\n\"a\",\"one\"\n", "2:a|one;"},
    {"csv", "a,b", "text", "\"a,b\",text\nx,one\n", "2:x|one;"},
    {"csv", "1", "2", "\r\na,one\n\r\n\nb,two\n\n", "2:a|one;5:b|two;"},
    {"csv", "1", "2", "", ""},
    /* Semicolons, if the first line has no comma outside quotes, or only some before spaces. */
    {"csv", NULL, NULL, "label;text\na;one, two\nb;\"three; four\"\n",
     "2:a|one, two;3:b|three; four;"},
    {"csv", "1", "2", "a;\"one, two\"\r\nb;\"say \"\"hi\"\"\"\r\n", "1:a|one, two;2:b|say \"hi\";"},
    {"csv", "1", "2", "\na;one\n", "2:a|one;"},
    {"csv", "1", "2", "a,one; two\nb;c,three\n", "1:a|one; two;2:b;c|three;"},
    {"csv", "1", "2", "a;one, two\nb;three\n", "1:a|one, two;2:b|three;"},
    {"csv", "1", "2", "a, one; two\nb,three\n", "1:a| one; two;2:b|three;"},
    {"csv", NULL, NULL, "sep=;\r\nlabel;text\r\na;one, two\r\n", "3:a|one, two;"},
    {"csv", NULL, NULL, BOM "SEP=\t\nlabel\ttext\na\tone,two;three\n", "3:a|one,two;three;"},
    /* JSON Lines: columns have names, even those made of digits. */
    {"jsonl", NULL, NULL, "{\"text\": \"one\", \"label\": \"a\"}\n", "1:a|one;"},
    {"jsonl", NULL, NULL, "{\"label\":\"a\",\"text\":\"\\u00e9\\n\\\"\"}\r\n", "1:a|\xC3\xA9\n\";"},
    {"jsonl", NULL, NULL, "\n{\"label\":\"a\",\"text\":\"one\"}\n\n", "2:a|one;"},
    {"jsonl", "k", "b,a", "{\"a\":\"A\",\"b\":\"B\",\"k\":1,\"c\":[{}]}", "1:1|B A;"},
    {"jsonl", "1", "2", "{\"1\":\"a\",\"2\":\"one\"}\n", "1:a|one;"},
    {"jsonl", NULL, NULL, "{\"label\":-3,\"text\":\"x\"}\n{\"label\":0.1,\"text\":\"y\"}\n",
     "1:-3|x;2:0.1|y;"},
    {"jsonl", NULL, NULL, "{\"label\":true,\"text\":2}\n{\"label\":1.0,\"text\":\"y\"}\n",
     "1:true|2;2:1.0|y;"},
    {"jsonl", NULL, NULL, "", ""},
};

Test(records, formats_are_read_as_they_are_defined, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {
            .format = good[i].format, .label = good[i].label, .text = good[i].text};
        test_write_file(path, good[i].file);
        EXPECT_OK(records_dump(&options, dump, &err), err);
        cr_assert_str_eq(dump, good[i].want, "case %zu: '%s', want '%s'", i, dump, good[i].want);
    }
}

/* A file may have one column: then a semicolon is text. */
Test(records, one_column_of_texts_may_have_semicolons, .init = setup, .fini = teardown)
{
    char dump[DUMP_BYTES];
    struct sl_err err;
    const struct sl_record_options one = {.format = "csv", .text = "1", .unlabelled = true},
                                   second = {.format = "csv", .text = "2", .unlabelled = true};
    test_write_file(path, "one; two\nthree\n");
    EXPECT_OK(records_dump(&one, dump, &err), err);
    cr_assert_str_eq(dump, "1:|one; two;2:|three;");
    test_write_file(path, "1;one\n2;two\n");
    EXPECT_OK(records_dump(&second, dump, &err), err);
    cr_assert_str_eq(dump, "1:|one;2:|two;");
}

static const struct {
    const char *name, *file;
} named[] = {
    {"a.tsv", "a\tone\n"},    {"a.tsv.xz", "a\tone\n"}, {"b.tsv.gz", "a\tone\n"},
    {"x.csv", "a,\"one\"\n"}, {"x.csv.gz", "a,one\n"},  {"csv.tsv", "a\tone\n"},
};

Test(records, the_format_follows_from_the_name, .init = setup, .fini = teardown)
{
    struct sl_err err;
    char dump[DUMP_BYTES];
    struct sl_record_options options = {.label = "1", .text = "2"};
    for (size_t i = 0; i < COUNT(named); i++) {
        test_write_file(test_path(path, directory, named[i].name), named[i].file);
        EXPECT_OK(records_dump(&options, dump, &err), err);
        cr_assert_str_eq(dump, "1:a|one;", "%s", named[i].name);
    }
    test_write_file(test_path(path, directory, "a.jsonl.xz"), "{\"1\":\"a\",\"2\":\"one\"}");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_assert_str_eq(dump, "1:a|one;");
    options.format = "tsv"; /* what is given counts */
    test_write_file(test_path(path, directory, "a.csv"), "a\tone,two\n");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_assert_str_eq(dump, "1:a|one,two;");
}

/* Lines of all lengths, so that some lie across the pieces in which a file is read. */
static void long_write(const char *format, char *text, int lines)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < lines; i++) {
        text[i] = '\0';
        if (strcmp(format, "jsonl") == 0)
            cr_assert_gt(fprintf(file, "{\"1\":%d,\"2\":\".%s\"}\n", i, text), 0);
        else if (strcmp(format, "csv") == 0)
            cr_assert_gt(fprintf(file, "%d,\".%s\"\n", i, text), 0);
        else
            cr_assert_gt(fprintf(file, "%d\t.%s\n", i, text), 0);
        text[i] = 'x';
    }
    cr_assert_eq(fclose(file), 0);
}

Test(records, no_record_is_lost_between_pieces, .init = setup, .fini = teardown)
{
    enum { LINES = 1200 };

    static const char *const names[] = {"tsv", "csv", "jsonl"};
    static char text[LINES + 1];
    for (size_t n = 0; n < COUNT(names); n++) {
        struct sl_err err;
        struct sl_record record;
        struct sl_record_reader *records = NULL;
        const struct sl_record_options options = {.format = names[n], .label = "1", .text = "2"};
        memset(text, 'x', LINES);
        long_write(names[n], text, LINES);
        EXPECT_OK((records = sl_record_reader_open(path, &options, &err)), err);
        for (int i = 0; i < LINES; i++) {
            char label[16];
            (void)snprintf(label, sizeof label, "%d", i);
            EXPECT_OK(sl_record_reader_next(records, &record, &err), err);
            cr_assert_eq(record.line, i + 1);
            cr_assert_eq(record.text_bytes, (size_t)i + 1, "%s line %d", names[n], i + 1);
            cr_assert_eq(memcmp(record.text + 1, text, (size_t)i), 0);
            cr_assert_eq(record.label_count, 1);
            cr_assert_eq(record.labels[0].bytes, strlen(label));
            cr_assert_eq(memcmp(record.labels[0].data, label, strlen(label)), 0);
        }
        EXPECT_OK(sl_record_reader_next(records, &record, &err), err);
        cr_assert_null(record.text);
        EXPECT_OK(sl_record_reader_next(records, &record, &err), err);
        cr_assert_null(record.text);
        sl_record_reader_close(records);
    }
}

/* A file is read 64 KiB at a time: the first line ends there, or thereabouts. */
Test(records, a_line_may_end_where_a_piece_does, .init = setup, .fini = teardown)
{
    enum { PIECE = 65536, AROUND = 4 };

    static char text[PIECE + AROUND + 1];
    for (int bytes = PIECE - AROUND; bytes <= PIECE + AROUND; bytes++) {
        struct sl_err err;
        struct sl_record record;
        struct sl_record_reader *records = NULL;
        const struct sl_record_options options = {.format = "tsv", .label = "1", .text = "2"};
        FILE *file = fopen(path, "we");
        cr_assert(file);
        memset(text, 'x', (size_t)bytes);
        text[bytes] = '\0';
        cr_assert_gt(fprintf(file, "a\t%s\r\nb\ty\n", text + 2), 0);
        cr_assert_eq(fclose(file), 0);
        EXPECT_OK((records = sl_record_reader_open(path, &options, &err)), err);
        EXPECT_OK(sl_record_reader_next(records, &record, &err), err);
        cr_assert_eq(record.text_bytes, (size_t)bytes - 2, "line of %d bytes", bytes);
        EXPECT_OK(sl_record_reader_next(records, &record, &err), err);
        cr_assert_eq(record.text_bytes, 1);
        cr_assert_eq(record.text[0], 'y');
        sl_record_reader_close(records);
    }
}

/* ---- what is refused ------------------------------------------------------------------------ */

static const struct {
    const char *format, *label, *text, *file, *want;
} bad[] = {
    /* Columns that are not there. */
    {"tsv", NULL, NULL, "label\tbody\tx\na\tone\n",
     "input' line 1: no column 'text'; the columns are 'label', 'body', 'x'; set label and "
     "text by name or, if the first line is data, by number: label 1, text 2"},
    /* The first eight names, of each what fits in 32 bytes of whole characters. */
    {"tsv", NULL, NULL, "x" E4 E4 E4 E4 "\tb\tc\td\te\tf\tg\th\ti\tj\n",
     "\xC3\xA9\xC3\xA9...', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 2 more; set label and text"},
    {"csv", NULL, NULL, "text,text,label\na,b,c\n", "line 1: fields 1 and 2 are both named 'text'"},
    {"csv", NULL, NULL, "sep=x\nlabel,text\n",
     "line 1: no column 'label': there is only one, 'sep=x'; fields must be separated by commas"},
    {"tsv", NULL, NULL, "", "input': the file is empty: expected a line of column names"},
    {"tsv", "1", "3", "a\tone\n", "input' line 1: no column 3: there are only 2"},
    {"tsv", "1", "2", "a one\n",
     "line 1: no column 2: there is only one; fields must be separated by tabs"},
    {"csv", NULL, NULL, "label;text\na;one;two\n",
     "line 2: 3 fields: expected 2 as in line 1; a field that has the separator in it must be "
     "quoted"},
    {"csv", NULL, NULL, "\"label;text\"\na;one\n",
     "input' line 1: no column 'label': there is only one, 'label;text'; fields must be separated "
     "by commas"},
    {"csv", NULL, NULL, "label\ttext\na\tone\n",
     "'label\\ttext'; fields must be separated by commas"},
    {"tsv", NULL, NULL, "label,text\na,one\n", "'label,text'; fields must be separated by tabs"},
    {"tsv", NULL, NULL, "name\na\n",
     "no column 'label': there is only one, 'name'; fields must be separated by tabs"},
    {"csv", NULL, NULL, "# exported\nlabel,text\n",
     "no column 'label'; the columns are '# exported'; delete what stands above their names"},
    {"csv", NULL, NULL, "Tickets,,\nlabel,text,n\n", "''; delete what stands above their names"},
    {"csv", NULL, NULL, " \n\n", "input': the file is empty: expected a line of column names"},
    {"tsv", "1", "2", "a\tone\nb\ttwo\tthree\n", "line 2: 3 fields: expected 2 as in line 1"},
    {"csv", NULL, NULL, "label,text\na,one\nb\n", "line 3: 1 field: expected 2 as in line 1"},
    {"csv", NULL, NULL, "label,text\na,one, two\n",
     "line 2: 3 fields: expected 2 as in line 1; a field that has the separator in it must be "
     "quoted"},
    {"jsonl", NULL, NULL, "{\"label\":\"a\",\"text\":\"x\"}\n{\"label\":\"a\"}\n",
     "input' line 2: column 'text': the text is missing or null"},
    {"jsonl", "topic", "body", "{\"label\":\"a\",\"text\":\"x\"}",
     "no column 'topic'; the object has: 'label', 'text'; set label and text to two of them"},
    {"jsonl", "1", "2", "{\"label\":\"a\",\"text\":\"x\"}",
     "no column '1': in JSON Lines columns have names, not numbers: 'label', 'text'"},
    {"jsonl", NULL, NULL, "{}", "line 1: no column 'label'; the object has: nothing"},
    /* Columns that make no sense. */
    {"tsv", "1", "2,", "", "empty column name in '2,': expected one name, or several with commas"},
    {"tsv", "", "2", "", "empty column name in ''"},
    {"tsv", "1", "2,3,2", "", "column '2' is chosen twice"},
    {"tsv", "x", "y,x", "", "column 'x' is chosen twice, for the label and for the text"},
    {"csv", "0", "2", "a,b\n", "invalid column number '0': expected 1 to 1024"},
    {"csv", "1", "01", "a,b\n", "invalid column number '01': expected 1 to 1024"},
    {"csv", "1", "99999999999999999999", "a,b\n", "99': expected 1 to 1024"},
    {"csv", "1", "2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18", "", "more than 16 text columns in"},
    {"yaml", "1", "2", "",
     "invalid format 'yaml': expected one of: tsv, csv, jsonl, json, fasttext, chat, sharegpt, "
     "gemini, completions, alpaca, prodigy, label-studio, spacy, doccano"},
    {NULL, "1", "2", "",
     "input' does not end in .tsv, .csv, .jsonl or .json (perhaps with .gz or .xz), and the file "
     "begins neither with JSON nor with __label__; rename it, or give its format"},
    /* Labels and texts. */
    {"tsv", "1", "2", "a\tone\n\ttwo\n", "input' line 2: column '1': the label is empty"},
    {"tsv", NULL, NULL, "label\ttext\na\t\n", "line 2: column 'text': the text is empty"},
    {"csv", "1", "2,3", "a,\"\",\n", "line 1: column '2,3': the text is empty"},
    {"jsonl", NULL, NULL, "{\"label\":\"\",\"text\":\"x\"}", "column 'label': the label is empty"},
    {"jsonl", NULL, NULL, "{\"label\":\"a\\u0000\",\"text\":\"x\"}",
     "column 'label': the label contains the control character 0x00"},
    {"csv", "1", "2", "a\tb,one\n", "0x09; if tabs separate the fields, the format is tsv"},
    {"jsonl", NULL, NULL, "{\"label\":null,\"text\":\"x\"}", "column 'label': the label is empty"},
    {"jsonl", NULL, NULL, "{\"label\":[{\"name\":\"a\"}],\"text\":\"x\"}",
     "item 0 is an object: expected a string or a number; name one of its members, as in "
     "label.0.name"},
    {"jsonl", NULL, NULL, "{\"label\":\"a\",\"text\":[\"x\"]}",
     "column 'text' is an array: expected a string; name one of its items, as in text.0"},
    {"jsonl", NULL, NULL, "{\"label\":{\"a\":0.7,\"b\":0.3},\"text\":\"x\"}",
     "column 'label' is an object, whose 'a' is 0.7, neither 0 nor 1: expected a string"},
    {"jsonl", NULL, NULL, "{\"label\":[[1]],\"text\":\"x\"}",
     "column 'label': item 0 is an array: expected"},
    {"jsonl", NULL, NULL, "{\"label\":{},\"text\":\"x\"}", "column 'label' is an object: expected"},
    {"jsonl", NULL, NULL, "{\"label\":1,\"text\":true}",
     "column 'text' is true or false: expected a string"},
    /* Lines. */
    {"tsv", "1", "2", "a\tone\n\nb two\n", "line 3: 1 field: expected 2 as in line 1"},
    {"tsv", "1", "2", "a\tone\nb\tcaf\xE9\n", "input' line 2: byte 6 is 0xE9: not UTF-8"},
    {"csv", "1", "2", "a,\"one\n\xFF\"\n", "line 2: byte 1 is 0xFF: not UTF-8"},
    {"tsv", "1", "2",
     "\xFF\xFE"
     "a\tone\n",
     "the file is UTF-16 (little-endian), which is not read: convert it, for example with `iconv "
     "-f utf-16 -t utf-8`"},
    {"tsv", "1", "2", "a\xFE\tone\n",
     "byte 2 is 0xFE: not UTF-8; convert the file from its encoding, for example with `iconv -f "
     "windows-1252 -t utf-8`"},
    {"jsonl", NULL, NULL, "{\"label\":1,\"text\":\"\xC3\"}", "line 1: byte 20 is 0xC3: not UTF-8"},
    {"tsv", "1", "2",
     "\xFF\xFE"
     "a",
     "the file is UTF-16"},
    /* CSV's own. */
    {"csv", "1", "2", "a,one\nb,t\"wo\n",
     "input' line 2: field 2 has a stray quote at byte offset 3; a field with quotes must "
     "be quoted, and its own quotes doubled"},
    {"csv", "1", "2", "\"a\", \"one, two\"\n",
     "line 1: field 2 has a stray quote at byte offset 5; no space may stand between the separator "
     "and a quote"},
    {"csv", "1", "2", "\"a\"b,one\n",
     "line 1: field 1 has text after its closing quote at byte offset 3"},
    {"csv", "1", "2", "a,\"one\ntwo\" ,x\n",
     "line 2: field 2, whose quote opens in line 1, has text after its closing quote at byte "
     "offset 4"},
    {"csv", "1", "2", "a,one\nb,\"two\nthree\n",
     "input' line 2: field 2 begins with a quote that is never closed"},
    {"csv", "1", "2", "\"a\nb\",\"c\nd\n",
     "line 2: field 2 begins with a quote that is never closed"},
    {"csv", "1", "2", "a,one\rb,two\r\n",
     "line 1: field 2 has a carriage return outside quotes; lines end with LF or CR LF"},
    {"csv", "1", "2", "a,one\n\rb,two\n", "line 2: field 1 has a carriage return"},
    {"csv", "1", "2", "a,one\rb,t\"wo\n", "line 1: field 2 has a carriage return"},
    {"csv", "1", "2", "a,one\rb,two\r", "the file is text with lines that end in CR alone"},
    /* JSON's own. */
    {"jsonl", NULL, NULL, "{\"label\":1,\"text\":\"x\"}\n{\"label\":1,}\n",
     "input' line 2: byte 12: invalid JSON: "},
    {"jsonl", NULL, NULL, "{\"label\":1", "line 1: invalid JSON: it ends too early"},
    {"jsonl", NULL, NULL, "{\"label\":1,\"text\":\"x\"} x", "invalid JSON"},
    {"jsonl", NULL, NULL, "{\"label\":1,\"label\":2,\"text\":\"x\"}", "invalid JSON"},
    {"jsonl", NULL, NULL, "label,text\na,x\n",
     "line 1: invalid JSON: expected an object in braces; if this is a table, the format is csv"},
    {"jsonl", NULL, NULL, " {\"label\": x}\n", "line 1: byte 12: invalid JSON: "},
    {"jsonl", NULL, NULL, "[]", "line 1: the array is empty: there are no records"},
    {"jsonl", NULL, NULL, "[1]", "line 1: the JSON is an array: expected an object"},
    {"jsonl", NULL, NULL, "[\n{\"label\":1,\"text\":\"x\"}\n]\n",
     "expected one object per line, not an array"},
    {"jsonl", NULL, NULL, "\"x\"", "line 1: the JSON is a string: expected an object"},
    {"jsonl", NULL, NULL, "{\"label\":1,\"text\":\"\\ud800\"}", "invalid JSON"},
};

Test(records, errors_name_location_cause_and_remedy, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {
            .format = bad[i].format, .label = bad[i].label, .text = bad[i].text};
        test_write_file(path, bad[i].file);
        EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT, bad[i].want);
    }
}

/* For programs, which do not read the text. */
Test(records, errors_have_location_and_field, .init = setup, .fini = teardown)
{
    static const struct {
        const char *format, *file, *field;
        int line, column;
    } cases[] = {
        {"csv", "label,text\na,b\nc,\"d\"e\n", "", 3, 6},
        {"csv", "label,text\n,b\n", "label", 2, 0},
        {"tsv", "label\ttext\na\tb\nc\n", "", 3, 0},
        {"jsonl", "{\"label\": \"a\", \"text\": true}\n", "text", 1, 0},
        {"jsonl", "{\"label\": \"a\", \"text\": x}\n", "", 1, 24},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {.format = cases[i].format};
        test_write_file(path, cases[i].file);
        cr_assert_not(records_dump(&options, dump, &err));
        cr_assert_str_eq(err.path, path, "case %zu", i);
        cr_assert_str_eq(err.field, cases[i].field, "case %zu", i);
        cr_assert_eq(err.line, cases[i].line, "case %zu: line %d", i, err.line);
        cr_assert_eq(err.column, cases[i].column, "case %zu: column %d", i, err.column);
    }
}

Test(records, a_missing_file_is_named, .init = setup, .fini = teardown)
{
    struct sl_err err;
    const struct sl_record_options options = {.format = "csv"};
    EXPECT_FAIL(sl_record_reader_open(path, &options, &err), err, SL_NOT_FOUND, "input'");
}

/* ---- limits --------------------------------------------------------------------------------- */

static const struct {
    const char *format, *file;
    size_t record_bytes;
    int64_t file_bytes;
    const char *want; /* NULL: fine */
} limits[] = {
    {"tsv", "a\t2345678\r\nb\tx\n", 10, 0, NULL},
    {"tsv", "a\tx\nb\t234567890\n", 10, 0,
     "input' line 2: longer than the record limit of 10 bytes"},
    {"csv", "a,\"1\n2\n3\"\n", 10, 0, NULL},
    {"csv", "a,x\nb,\"1\n2\n3\n4\"\n", 10, 0,
     "input' line 2: field 2 begins with a quote and exceeds the record limit of 10 bytes: is "
     "the quote closed?"},
    {"tsv", "a\tone\n", 0, 6, NULL},
    {"tsv", "a\tone\n", 0, 5, "input' line 1: larger than the limit of 5 bytes"},
};

Test(records, limits_hold_and_are_named, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {
            .format = limits[i].format,
            .label = "1",
            .text = "2",
            .limits = {.file_bytes = limits[i].file_bytes, .record_bytes = limits[i].record_bytes}};
        test_write_file(path, limits[i].file);
        if (limits[i].want)
            EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT, limits[i].want);
        else
            EXPECT_OK(records_dump(&options, dump, &err), err);
    }
}

/* So many fields, the last of them an x. */
static void wide_write(int fields, char separator)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    cr_assert_geq(fputc('a', file), 0);
    for (int i = 1; i < fields; i++)
        cr_assert_geq(fputc(separator, file), 0);
    cr_assert_geq(fputs("x\n", file), 0);
    cr_assert_eq(fclose(file), 0);
}

Test(records, fields_and_labels_have_bounds, .init = setup, .fini = teardown)
{
    struct sl_err err;
    char dump[DUMP_BYTES], label[SL_LABEL_BYTES_MAX + 8];
    struct sl_record_options options = {.label = "1", .text = "1024"};
    for (int csv = 0; csv < 2; csv++) {
        options.format = csv ? "csv" : "tsv";
        wide_write(SL_FIELDS_MAX, csv ? ',' : '\t');
        EXPECT_OK(records_dump(&options, dump, &err), err);
        cr_assert_str_eq(dump, "1:a|x;");
        wide_write(SL_FIELDS_MAX + 1, csv ? ',' : '\t');
        EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT,
                    "input' line 1: more than 1024 fields");
    }
    options = (struct sl_record_options){.format = "csv", .label = "1", .text = "2"};
    memset(label, 'y', sizeof label);
    memcpy(label + SL_LABEL_BYTES_MAX, ",x", sizeof ",x");
    test_write_file(path, label);
    EXPECT_OK(records_dump(&options, dump, &err), err);
    memcpy(label + SL_LABEL_BYTES_MAX, "y,x", sizeof "y,x");
    test_write_file(path, label);
    EXPECT_FAIL(
        records_dump(&options, dump, &err), err, SL_BAD_INPUT,
        "line 1: column '1': the label has 257 bytes, and at most 256 are allowed; is this the "
        "column of the labels?");
}
