/* test_record_formats.c - files as other programs write them: what is recognised, what it becomes,
 * and what is said of it. */
#include "data/dataset.h"
#include "data/record_reader.h"
#include "support/test.h"

#include <string.h>

enum { DUMP_BYTES = 4096 };

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
}

static void teardown(void)
{
    test_directory_remove(directory);
}

TestSuite(record_formats, .init = setup, .fini = teardown);

static void dump_add(char *dump, const struct sl_record *r)
{
    size_t used = strlen(dump);
    used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%lld:", (long long)r->line);
    for (int i = 0; i < r->label_count; i++)
        used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "%s%.*s", i ? "+" : "",
                                 (int)r->labels[i].bytes, r->labels[i].data);
    (void)snprintf(dump + used, DUMP_BYTES - used, "|%.*s;", (int)r->text_bytes, r->text);
}

/* All records, then what was left out in parentheses, then the notes in brackets. */
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
    size_t used = strlen(dump);
    const struct sl_skipped skipped =
        ok ? sl_record_reader_skipped(records) : (struct sl_skipped){0};
    if (skipped.records > 0)
        used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "(%lld, line %lld: %s)",
                                 (long long)skipped.records, (long long)skipped.line, skipped.why);
    for (int i = 0; ok && i < sl_record_reader_notes(records)->count; i++)
        used += (size_t)snprintf(dump + used, DUMP_BYTES - used, "[%s]",
                                 sl_record_reader_notes(records)->text[i]);
    sl_record_reader_close(records);
    return ok;
}

#define CONVERSATIONS                                                                              \
    "[read as conversations: each answer of the assistant with weight 1 is a label, and the "      \
    "turns before it, without the system's, are its text]"
#define FASTTEXT     "[read as fastText's format: words that begin with __label__ are labels]"
#define PREFIX(line) "[__label__ is taken off labels, the first in line " line "]"
#define LISTS(first)                                                                               \
    "[lists written as text, such as " first ", are read as lists of labels; [] is none]"
#define STUDIO                                                                                     \
    "[read as Label Studio's tasks: 'data.text' is the text, and the choices of its first "        \
    "annotation are the labels]"
#define TASK(text, annotations)                                                                    \
    "{\"data\":{\"text\":\"" text "\"},\"annotations\":[" annotations "]}\n"
#define ANNOTATION(choice, cancelled)                                                              \
    "{\"result\":[{\"value\":{\"choices\":[\"" choice "\"]}}],\"was_cancelled\":" cancelled "}"
#define UNQUOTED(line)                                                                             \
    "[quotes around fields are taken off, as spreadsheets mean them; the first are in "            \
    "line " line "]"

static const struct {
    const char *name, *label, *text, *file, *want;
} good[] = {
    /* fastText: several labels, also among the words; a line without one is left out. */
    {"a.txt", NULL, NULL, "__label__a one two\n__label__b __label__c three  four\nnone\n",
     "1:a|one two;2:b+c|three  four;(1, line 3: it has no __label__)" FASTTEXT},
    {"a.ft", NULL, NULL, "x __label__a y\n", "1:a|x y;"},
    {"a.txt.gz", NULL, NULL, "__label__a , x\n", "1:a|, x;" FASTTEXT},
    {"train", NULL, NULL, "__label__a one\n", "1:a|one;" FASTTEXT},
    /* Its labels in CSV. */
    {"a.csv", NULL, NULL, "__label__a,one two\n__label__b,three\n",
     "1:a|one two;2:b|three;[read as CSV without a line of names: label 1, text 2]" PREFIX("1")},
    {"a.csv", NULL, NULL, "label,text\na,one\n__label__b,two\n", "2:a|one;3:b|two;" PREFIX("3")},
    {"a.csv", NULL, NULL, "__label__a one, two\n", "1:a|one, two;" FASTTEXT},
    /* Lists as Python and Label Studio write them. */
    {"a.csv", NULL, NULL, "text,label\nx,\"('a', 'b')\"\ny,\"('a',)\"\n",
     "2:a+b|x;3:a|y;" LISTS("('a', 'b')")},
    {"a.csv", NULL, NULL, "text,label\nx,\"{'a', 'b'}\"\ny,\"{0, 3}\"\nz,{a}\n",
     "2:a+b|x;3:0+3|y;4:{a}|z;" LISTS("{'a', 'b'}")},
    {"a.csv", NULL, NULL,
     "text,label\nx,\"{\"\"choices\"\": [\"\"a\"\", \"\"b\"\"]}\"\ny,(a)\nz,()\n",
     "2:a+b|x;3:(a)|y;4:()|z;" LISTS("{\"choices\": [\"a\", \"b\"]}")},
    /* Arrays, objects that span lines, and those after one another. */
    {"a.json", NULL, NULL,
     "[\n {\"label\": \"a\",\n  \"text\": \"x\"},\n {\"label\": 1, \"text\": \"[}\\\"\"},\n]\n",
     "2:a|x;4:1|[}\";"},
    {"a.jsonl", NULL, NULL, "[{\"label\":\"a\",\"text\":\"x\"},{\"label\":\"b\",\"text\":\"y\"}]",
     "1:a|x;1:b|y;"},
    {"a.json", NULL, NULL, "{\"label\":\"a\",\"text\":\"x\"}\n{\"label\":\"b\",\"text\":\"y\"}\n",
     "1:a|x;2:b|y;"},
    {"a.json", NULL, NULL,
     "{\n\"label\":\"a\",\n\"text\":\"x\"\n}\n{\n\"label\":\"b\",\"text\":\"y\"}", "1:a|x;5:b|y;"},
    {"a.ndjson", NULL, NULL, "{\"label\":\"a\",\"text\":\"x\"}\n", "1:a|x;"},
    {"upload", NULL, NULL, "{\"label\":\"a\",\"text\":\"x\"}\n", "1:a|x;"},
    {"A.CSV", NULL, NULL, "label,text\na,x\n", "2:a|x;"},
    /* Paths. */
    {"a.jsonl", "label.name", "d.t,d.u",
     "{\"d\":{\"t\":\"x\",\"u\":\"y\"},\"label\":{\"name\":\"a\"}}\n", "1:a|x y;"},
    {"a.jsonl", "l.1", "a.b", "{\"a.b\":\"x\",\"l\":[\"a\",\"b\"]}\n", "1:b|x;"},
    /* Numbers that no double holds. */
    {"a.jsonl", NULL, NULL,
     "{\"id\":12345678901234567890,\"x\":[-1e999,\"12345678901234567890\"],\"label\":\"a\",\"te"
     "xt\":\"x\"}\n",
     "1:a|x;"},
    /* Conversations. */
    {"a.jsonl", NULL, NULL,
     "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"x\"},"
     "{\"role\":\"assistant\",\"content\":\" a\\n\"},{\"role\":\"user\",\"content\":\"y\"},"
     "{\"role\":\"assistant\",\"content\":\"b\"}]}\n",
     "1:a|x;1:b|x\n a\n\ny;" CONVERSATIONS},
    {"a.jsonl", NULL, NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},\"y\"]},"
     "{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"thanks\"},"
     "{\"role\":\"assistant\",\"content\":null,\"weight\":0}]}\n",
     "1:a|xy;" CONVERSATIONS},
    {"a.jsonl", NULL, NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"conten"
     "t\":\"a\"}]}\n"
     "{\"messages\":[{\"role\":\"user\",\"content\":\"y\"}]}\n"
     "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\"}]}\n",
     "1:a|x;(2, line 2: it has no turn of the assistant that is to be learnt)" CONVERSATIONS},
    {"a.json", NULL, NULL,
     "[{\"conversations\":[{\"from\":\"human\",\"value\":\"x\"},{\"from\":\"gpt\",\"valu"
     "e\":\"a\"}]}]",
     "1:a|x;" CONVERSATIONS},
    {"a.jsonl", NULL, NULL,
     "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]},{\"role\":\"model\",\"par"
     "ts\":[{"
     "\"text\":\"a\"}]}]}\n",
     "1:a|x;" CONVERSATIONS},
    {"a.jsonl", NULL, NULL,
     "{\"conversation\":[{\"role\":\"User\",\"content\":\"x\"},{\"role\":\"assistant\",\"conten"
     "t\":\"a\"}]}\n",
     "1:a|x;" CONVERSATIONS},
    {"a.jsonl", NULL, NULL,
     "{\"conversations\":[{\"from\":\"Human\",\"value\":\"x\"},{\"from\":\"Assistant\",\"value\":"
     "\"a\"}]}\n",
     "1:a|x;" CONVERSATIONS},
    /* Prompts, Alpaca, Prodigy, Label Studio, spaCy, doccano. */
    {"a.jsonl", NULL, NULL,
     "{\"prompt\":\"x\",\"completion\":\" a\\n\"}\n{\"prompt\":\"\",\"completion\":\"b\"}\n",
     "1:a|x;(1, line 2: 'prompt' is empty)[read as prompts and completions: 'prompt' is the tex"
     "t and "
     "'completion' the label]"},
    {"a.json", NULL, NULL,
     "[{\"instruction\":\"I\",\"input\":\"x\",\"output\":\"a\"},{\"instruction\":\"J\",\"outpu"
     "t\":\"b\"}]",
     "1:a|I x;1:b|J;[read as Alpaca's records: 'instruction' and 'input' are the text, 'output'"
     " is the "
     "label; text 'input' and label 'output' leave the instruction out]"},
    {"a.jsonl", "output", "input", "{\"instruction\":\"I\",\"input\":\"x\",\"output\":\"a\"}\n",
     "1:a|x;"},
    {"a.jsonl", NULL, NULL,
     "{\"text\":\"x\",\"accept\":[\"a\"],\"answer\":\"accept\"}\n{\"text\":\"y\",\"accept\":"
     "[\"b\"],\"answer\":"
     "\"ignore\"}\n",
     "1:a|x;(1, line 2: its 'answer' is not 'accept')[read as Prodigy's records: 'accept' has t"
     "he labels "
     "of records whose 'answer' is accept]"},
    {"a.json", NULL, NULL,
     "[{\"id\":1,\"data\":{\"text\":\"x\"},\"annotations\":[{\"result\":[{\"value\":{\"choice"
     "s\":[\"a\"]}}]}]},"
     "{\"id\":2,\"data\":{\"text\":\"y\"},\"annotations\":[]}]",
     "1:a|x;(1, line 1: 'annotations.0.result.0.value.choices' is missing or null)" STUDIO},
    {"a.json", NULL, NULL,
     TASK("x", ANNOTATION("a", "true"))
         TASK("y", ANNOTATION("a", "true") "," ANNOTATION("b", "false")) TASK(
             "z", ANNOTATION("a", "false") "," ANNOTATION("b", "false") "," ANNOTATION("c", "true"))
             TASK("w", ANNOTATION("b", "false") "," ANNOTATION("b", "false")),
     "2:b|y;3:a|z;4:b|w;(1, line 1: its annotation was cancelled)" STUDIO
     "[1 task has another annotation with other choices; the first is used]"},
    {"a.jsonl", NULL, NULL, "{\"text\":\"x\",\"cats\":{\"a\":1.0,\"b\":0.0}}\n",
     "1:a|x;[read as spaCy's examples: 'cats' has the labels]['cats' is an object: its members "
     "that are "
     "1 or true are the labels]"},
    {"a.jsonl", NULL, NULL, "{\"id\":1,\"data\":\"x\",\"label\":[\"a\"]}\n",
     "1:a|x;[read as doccano's records: 'data' is the text]"},
    /* TSV that a spreadsheet wrote, and one with quotes that are text. */
    {"a.tsv", NULL, NULL,
     "label\ttext\r\na\t\"x\ty\"\r\n\"b\"\t\"one\ntwo\tthree\"\r\nc\t\"say \"\"hi\"\"\"\r\n",
     "2:a|x\ty;3:b|one\ntwo\tthree;5:c|say \"hi\";" UNQUOTED("2")},
    {"a.tsv", "1", "2", "\"a\"\tx\nb\ty\n", "1:a|x;2:b|y;" UNQUOTED("1")},
    {"a.tsv", "1", "2", "a\t\"x\" he said\nb\ty\n",
     "1:a|\"x\" he said;2:b|y;[quotes are part of labels and texts, as in line 1, because line "
     "1 is not "
     "quoted as spreadsheets do]"},
    {"a.tsv", "1", "2", "a\tsay \"hi\"\n\"b\"\ty\n",
     "1:a|say \"hi\";2:\"b\"|y;[quotes are part of labels and texts, as in line 2: the file is "
     "not quoted "
     "as spreadsheets do]"},
    {"a.tsv", "1", "2", "a\t\"x\nb\ty\"\nc\tz\n",
     "1:a|x\nb\ty;3:c|z;" UNQUOTED("1")}, /* nothing in the file says that it is not meant so */
    {"a.tsv", "1", "2", "a\t5\" disk\nb\ty\n", "1:a|5\" disk;2:b|y;"},
    /* A column for each label. */
    {"a.csv", "sport,food", NULL, "id,text,sport,food\n1,x,1,0\n2,y,1,1\n3,z,0,\n",
     "2:sport|x;3:sport+food|y;(1, line 4: a column of its labels is empty)"},
    {"a.csv", "a,b", NULL, "text,a,b\nx,1,\ny,,\n",
     "2:a|x;(1, line 3: the columns of its labels are empty)[no text has the label of these "
     "columns: 'b']"},
    {"a.csv", NULL, NULL, "text,a,b,c\nx,1,0,0\ny,0,1,0\n",
     "2:a|x;3:b|y;[labels are the columns that hold 0 or 1: a,b,c; label names others][no text has "
     "the label of these columns: 'c']"},
    {"a.csv", NULL, "t", "id,t,sport,food\n0,x,1,0\n1,y,TRUE,1.0\n2,z,0,0\n",
     "2:sport|x;3:sport+food|y;4:|z;[labels are the columns that hold 0 or 1: sport,food; label "
     "names others]"},
    {"a.jsonl", "s,f", NULL, "{\"text\":\"x\",\"s\":1,\"f\":false}\n{\"text\":\"y\",\"f\":true}\n",
     "1:s|x;2:f|y;"},
    {"a.csv", "a,b", NULL, "\"a,b\",text\nx,one\n", "2:x|one;"},
    {"a.csv", NULL, NULL, "text,target\nx,1\ny,0\n",
     "2:1|x;3:0|y;[the label is the column that holds 0 or 1: target; label names another]"},
    /* The first record may lack what others have. */
    {"a.jsonl", NULL, NULL, "{\"index\":{}}\n{\"label\":\"a\",\"text\":\"x\"}\n{\"label\":\"a\"}\n",
     "2:a|x;(2, line 1: 'label' is missing or null)"},
};

Test(record_formats, are_recognised_and_read)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {
            .label = good[i].label, .text = good[i].text, .skip_incomplete = true};
        test_write_file(test_path(path, directory, good[i].name), good[i].file);
        EXPECT_OK(records_dump(&options, dump, &err), err);
        cr_expect_str_eq(dump, good[i].want, "case %zu:\n%s, want\n%s", i, dump, good[i].want);
    }
}

/* The name of a format counts, whatever the file looks like. */
Test(record_formats, may_be_named)
{
    char dump[DUMP_BYTES];
    struct sl_err err;
    struct sl_record_options options = {.format = "tsv", .label = "1", .text = "2"};
    test_write_file(test_path(path, directory, "a.txt"), "__label__a x\ty\n");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_expect_str_eq(dump, "1:a x|y;[__label__ is taken off labels, the first in line 1]");
    options = (struct sl_record_options){.format = "jsonl", .skip_incomplete = true};
    test_write_file(path, "{\"messages\":[],\"text\":\"x\",\"label\":\"a\"}\n");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_expect_str_eq(dump, "1:a|x;");
    options.format = "completions";
    test_write_file(path, "[{\"prompt\":\"x\",\"completion\":\"a\"}]");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_expect_str_eq(dump, "1:a|x;[read as prompts and completions: 'prompt' is the text and "
                           "'completion' the label]");
}

static const struct {
    const char *name, *label, *file, *want;
} bad[] = {
    {"a.jsonl", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":"
     "null}]}\n",
     "line 1: messages[1].content is null or missing: expected a label"},
    {"a.jsonl", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"conten"
     "t\":\" \"}]}\n",
     "line 1: messages[1].content is empty"},
    {"a.jsonl", NULL, "{\"messages\":[{\"content\":\"x\"}]}\n", "messages[0].role is missing"},
    {"a.jsonl", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}\n",
     "messages[0].content has a part that is not text"},
    {"a.jsonl", NULL, "{\"messages\":[]}\n", "'messages' is empty: expected a list of turns"},
    {"a.jsonl", NULL,
     "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"conten"
     "t\":\"a\"}]}\n"
     "{\"prompt\":\"x\"}\n",
     "line 2: no 'messages'"},
    {"a.jsonl", "id", "{\"id\":12345678901234567890,\"text\":\"x\"}\n",
     "column 'id' is 12345678901234567890, a number that is out of range; write it as a string"},
    {"a.json", NULL, "[{\"label\":\"a\",\"text\":\"x\"},\n{\"label\":\"b\"",
     "line 2: the value that begins "
     "here is not closed"},
    {"a.json", NULL, "[{\"label\":\"a\",\"text\":\"x\"}\n",
     "line 1: the array that begins here is not closed"},
    {"a.json", NULL, "[[\"x\", \"a\"]]", "line 1: the JSON is an array: expected an object"},
    {"a.json", NULL, "{\"text\":{\"0\":\"x\"},\"label\":{\"0\":\"a\"}}",
     "write records: with pandas to_json(path, orient='records', lines=True)"},
    {"a.jsonl", NULL,
     "{\"a\":[{\"b\":1}],\"data\":{\"x\":\"y\"}}\n{\"a\":[{\"b\":2},{\"b\":3}],\"c\":4}\n",
     "no column 'label'; the object has: 'data.x', 'a.0.b'; set label and text to two of them"},
    {"a.json", NULL, "{\"0\":{\"text\":\"x\"}}", "if pandas wrote it, write records"},
    {"a.json", NULL, "{\"features\":[{\"n\":1}],\"rows\":[{\"text\":\"x\"},{\"text\":\"y\"}]}",
     "if the records are the list in 'rows', write that alone"},
    {"a.json", NULL, "{\"rows\":[{\"text\":\"x\"}]}",
     "if the records are the list in 'rows', write that alone"},
    {"a.jsonl", NULL, "{'text': 'x'}\n", "strings are in single quotes, as Python prints them"},
    {"a.json", NULL, "{\"text\":[\"x\"],\"label\":[\"a\"]}",
     "if the file holds columns, write "
     "records"},
    {"a.json", NULL, "{\"columns\":[\"text\"],\"data\":[[\"x\"]]}",
     "if pandas wrote it, write "
     "records"},
    {"a.txt", NULL, "x __label__a\n", "it has __label__: the format is fasttext"},
    {"a.data", NULL, "label,text\na,x\n", "it has commas: the format is csv"},
    {"a.txt", NULL, "x;a\n", "it has semicolons: the format is csv"},
    {"a.yml", NULL, "nlu:\n- intent: a\n", "it looks like YAML, which is not read"},
    {"a.bin", NULL, "\x80\xF0\x81, \t", "a.bin' is no text in UTF-8"},
    {"a.docx", NULL, "PK\3\4 word/",
     "the file is a Word document (.docx), which is not read: save it"},
    {"a.txt", NULL, "a\tx\n", "does not say what the file is; it has tabs: the format is tsv"},
    {"a.csv", NULL, "text,text,label\nx,y,a\n", "both named 'text'; rename one"},
    {"a.csv", NULL, "label\ttext\na\tx\n", "it has tabs: the format is tsv"},
    {"a.csv", NULL, "label|text\na|x\n", "it has bars (|): begin the file with the line sep=|"},
    {"a.tsv", NULL, "label,text\na,x\n", "it has commas or semicolons: the format is csv"},
    {"a.csv", "s,f", "s,f,text\n1,2,x\n",
     "line 2: column 'f' is '2': with a column for each label "
     "expected 0 or 1"},
    {"a.csv", NULL, "label,text\ra,x\rb,y\r", "the file is text with lines that end in CR alone"},
    {"a.txt", NULL, "__label__a, x\n__label__b, y\n",
     "line 1: '__label__a,' is no label of fastText's format, which has spaces after labels and no "
     "commas; if this is CSV, the format is csv"},
    {"a.txt", NULL, "__label__a__label__b x\n", "'__label__a__label__b' is no label of fastText's"},
    {"a.csv", NULL, "label,text\n[' '],x\n", "line 2: column 'label': the label is blank"},
    {"a.csv", NULL, "<!DOCTYPE html><html>", "the file is HTML, perhaps of a download that failed"},
    {"a.csv", NULL, "PK\3\4 xl/",
     "the file is an Excel workbook (.xlsx), which is not read: save the sheet"},
    {"a.csv", NULL, "PAR1\x15\x04",
     "the file is a Parquet file, which is not read: write it as JSON Lines"},
    {"a.csv", NULL, "label,text\na,it\x92s\n",
     "line 2: byte 5 is 0x92: not UTF-8; convert the file from its encoding, for example with "
     "`iconv -f windows-1252 -t utf-8` (others are macintosh and windows-1250)"},
    {"a.csv", NULL, "label,text\na,caf\xE9 cr\xC3\xA8me\n", "`iconv -f windows-1252 -t utf-8`"},
    {"a.csv", NULL, "label,text\na,\xCF\xF0\xE8\xE2\xE5\xF2\n",
     "with `iconv -f ENCODING -t utf-8`, for example windows-1251 (Cyrillic)"},
    /* What cannot be seen is written as its code. */
    {"a.csv", NULL, "la\x1b[1mbel,label\xC2\xA0,\"te\nxt\"\na,b,c\n",
     "the columns are 'la\\u001b[1mbel', 'label\\u00a0', 'te\\nxt'; set"},
    {"a.csv", NULL, "\xEF\xBB\xBF\xEF\xBB\xBFlabel,text,re\xCC\x81\n",
     "'\\ufefflabel', 'text', 're\\u0301'"},
};

Test(record_formats, errors_say_what_the_file_is)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        char dump[DUMP_BYTES];
        struct sl_err err;
        const struct sl_record_options options = {.label = bad[i].label, .skip_incomplete = true};
        test_write_file(test_path(path, directory, bad[i].name), bad[i].file);
        EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT, bad[i].want);
    }
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    cr_assert_eq(fwrite(bytes, 1, count, file), count);
    cr_assert_eq(fclose(file), 0);
}

Test(record_formats, utf_16_without_a_mark_is_named)
{
    static const char little[] = "l\0a\0b\0e\0l\0,\0t\0e\0x\0t\0\n\0",
                      russian[] = "B\4K\4,\0>\4=\4\n\0B\4K\4,\0>\4=\4\n\0",
                      big[] = "\0l\0a\0b\0e\0l\0,\0t\0e\0x\0t\0\n";
    struct sl_err err;
    char dump[DUMP_BYTES];
    const struct sl_record_options options = {.format = "csv"};
    (void)test_path(path, directory, "a.csv");
    write_bytes(little, sizeof little - 1);
    EXPECT_FAIL(
        records_dump(&options, dump, &err), err, SL_BAD_INPUT,
        "UTF-16 (little-endian) without a byte order mark, which is not read: convert it, for "
        "example with `iconv -f utf-16le -t utf-8`");
    write_bytes(russian, sizeof russian - 1);
    EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT, "iconv -f utf-16le");
    write_bytes(big, sizeof big - 1);
    EXPECT_FAIL(records_dump(&options, dump, &err), err, SL_BAD_INPUT, "iconv -f utf-16be");
}

Test(record_formats, a_damaged_file_is_named)
{
    static const char zeros[] = "label,text\na,x\n\0\0\0\0\0\0";
    struct sl_err err;
    char dump[DUMP_BYTES];
    (void)test_path(path, directory, "a.csv");
    write_bytes(zeros, sizeof zeros - 1);
    EXPECT_FAIL(records_dump(&(struct sl_record_options){0}, dump, &err), err, SL_BAD_INPUT,
                "line 3: 1 field: expected 2 as in line 1; it has NUL bytes: the file is damaged");
}

Test(record_formats, json_may_be_nested_too_deeply)
{
    static char deep[10000];
    struct sl_err err;
    char dump[DUMP_BYTES];
    memset(deep, '[', sizeof deep - 1);
    test_write_file(test_path(path, directory, "a.json"), deep);
    EXPECT_FAIL(records_dump(&(struct sl_record_options){0}, dump, &err), err, SL_BAD_INPUT,
                "invalid JSON: nested too deeply");
}

/* A text may begin with the letters of a format. */
Test(record_formats, letters_alone_are_no_format)
{
    char dump[DUMP_BYTES];
    struct sl_err err;
    const struct sl_record_options options = {.label = "1", .text = "2"};
    test_write_file(test_path(path, directory, "a.csv"), "ORC,PAR1\nBZh,caf\xC3\xA9\n");
    EXPECT_OK(records_dump(&options, dump, &err), err);
    cr_expect_str_eq(dump, "1:ORC|PAR1;2:BZh|caf\xC3\xA9;");
}

/* An array on one line may be longer than a record may. */
Test(record_formats, an_array_may_be_one_long_line)
{
    enum { RECORDS = 3000 };

    struct sl_err err;
    struct sl_dataset set = {0};
    const struct sl_record_options options = {.limits = {.record_bytes = 4096}};
    FILE *file = fopen(test_path(path, directory, "a.json"), "we");
    cr_assert(file);
    for (int i = 0; i < RECORDS; i++)
        (void)fprintf(file,
                      "%s{\"label\":%d,\"text\":\"caf\xC3\xA9 number %d and some more words\"}",
                      i ? "," : "[", i % 2, i);
    (void)fprintf(file, "]");
    cr_assert_eq(fclose(file), 0);
    EXPECT_OK(sl_dataset_open(&set, path, &options, NULL, &err), err);
    cr_expect_eq(set.count, RECORDS);
    sl_dataset_close(&set);
}

static const struct {
    const char *name, *file, *want;
} useless[] = {
    {"a.jsonl", "{\"label\":[1,0],\"text\":\"x\"}\n{\"label\":[0,1],\"text\":\"y\"}\n",
     "all 2 texts have the same labels, '0', '1': there is nothing to learn; if these are one-hot"},
    {"a.jsonl",
     "{\"label\":[\"a\",\"b\"],\"text\":\"x\"}\n{\"label\":[\"b\",\"a\"],\"text\":\"y\"}\n",
     "all 2 texts have the same labels, 'a', 'b'"},
    {"a.csv", "text,a,b\nx,1,1\ny,1,1\n", "all 2 texts have the same labels, 'a', 'b'"},
    {"a.csv", "text,label\nx,a\ny,b\n",
     "no label has two texts: there is nothing to learn from 2 texts; give more"},
};

Test(record_formats, labels_that_say_nothing_are_refused)
{
    for (size_t i = 0; i < COUNT(useless); i++) {
        struct sl_err err;
        struct sl_dataset set = {0};
        test_write_file(test_path(path, directory, useless[i].name), useless[i].file);
        EXPECT_OK(sl_dataset_open(&set, path, &(struct sl_record_options){0}, NULL, &err), err);
        EXPECT_FAIL(sl_dataset_check_labels(&set, &err), err, SL_BAD_INPUT, useless[i].want);
        sl_dataset_close(&set);
    }
}
