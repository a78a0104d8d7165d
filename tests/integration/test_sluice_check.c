/* test_sluice_check.c - `sluice check`: what it says of files in each format, of mistakes in them,
 * and of columns that nobody named. Its columns are those that `sluice train` accepts. */
#include "support/json_query.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <zlib.h>

static struct workspace dirs;
static struct program_result r;

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(sluice_check, .init = setup, .fini = teardown);

/* Writes the text to a file of this name, and checks it with these options; NULL: none. */
static json_t *check(const char *name, const char *text, const char *option, const char *value,
                     int exit_code)
{
    char path[PATH_MAX], word[512];
    test_write_file(test_path(path, dirs.top, name), text);
    (void)snprintf(word, sizeof word, "--%s=%s", option ? option : "records",
                   option ? value : "100");
    sluice_run(&r, ARGS("check", path, "--json", word));
    EXPECT_EXIT(&r, exit_code);
    cr_assert_str_eq(r.err, "");
    return json_from_text(r.out);
}

static size_t count_at(const json_t *o, const char *path)
{
    const json_t *list = json_at(o, path);
    cr_assert(json_is_array(list), "%s in %s", path, r.out);
    return json_array_size(list);
}

/* Its problems name these lines, and no others; 0 ends them. */
static void expect_lines(const json_t *o, const int *lines)
{
    size_t count = 0;
    char path[64];
    for (; lines[count]; count++) {
        (void)snprintf(path, sizeof path, "problems/%zu/line", count);
        cr_assert(count < count_at(o, "problems"), "line %d is missing: %s", lines[count], r.out);
        cr_assert_eq(json_integer_at(o, path), lines[count], "%s", r.out);
    }
    cr_assert_eq(count_at(o, "problems"), count, "%s", r.out);
}

#define EXPECT_LINES(o, ...) expect_lines(o, (const int[]){__VA_ARGS__, 0})

/* The columns, of which NULL is none. */
static void expect_columns(const json_t *o, const char *label, const char *text)
{
    const char *const found[] = {json_string_value(json_at(o, "label")),
                                 json_string_value(json_at(o, "text"))};
    const char *const wanted[] = {label, text};
    for (int i = 0; i < 2; i++)
        cr_assert(found[i] && wanted[i] ? strcmp(found[i], wanted[i]) == 0 : found[i] == wanted[i],
                  "%s", r.out);
}

#define FOUR_OF(good, bad) good bad good bad

/* ---- formats --------------------------------------------------------------------------------- */

/* The same four records, two of each label, in a file of every format. */
static const struct format {
    const char *name, *text, *format, *label, *column;
    int line; /* of the third record */
} formats[] = {
    {"a.csv", "label,text\n" FOUR_OF("good,\"fine, it is\"\n", "bad,dull\n"), "csv", "label",
     "text", 4},
    {"a.tsv", "text\tlabel\n" FOUR_OF("fine, it is\tgood\n", "dull\tbad\n"), "tsv", "label", "text",
     4},
    {"a.jsonl",
     FOUR_OF("{\"label\":\"good\",\"text\":\"fine, it is\",\"meta\":{\"id\":1}}\n",
             "{\"label\":\"bad\",\"text\":\"dull\"}\n"),
     "jsonl", "label", "text", 3},
    {"a.json",
     "[" FOUR_OF("{\"label\":\"good\",\"text\":\"fine, it is\"},\n",
                 "{\"label\":\"bad\",\"text\":\"dull\"},\n") "{}]",
     "json", "label", "text", 3},
    {"a.ft", FOUR_OF("__label__good fine, it is\n", "dull __label__bad\n"), "fasttext", NULL, NULL,
     3},
};

Test(sluice_check, formats)
{
    for (size_t i = 0; i < COUNT(formats); i++) {
        const struct format *f = &formats[i];
        json_t *o = check(f->name, f->text, NULL, NULL, 0);
        cr_assert_str_eq(json_string_at(o, "format"), f->format);
        expect_columns(o, f->label, f->column);
        cr_assert_eq(json_integer_at(o, "texts"), 4);
        cr_assert_eq(count_at(o, "problems"), 0);
        cr_assert_str_eq(json_string_at(o, "labels/0/label"), "bad");
        cr_assert_eq(json_integer_at(o, "labels/0/texts"), 2);
        cr_assert_eq(count_at(o, "labels"), 2);
        cr_assert_eq(count_at(o, "records"), 4);
        cr_assert_eq(json_integer_at(o, "records/2/line"), f->line);
        cr_assert_str_eq(json_string_at(o, "records/2/labels/0"), "good");
        cr_assert_str_eq(json_string_at(o, "records/2/text"), "fine, it is");
        json_decref(o);
    }
}

Test(sluice_check, members_of_members_are_columns)
{
    json_t *o = check("a.jsonl", formats[2].text, NULL, NULL, 0);
    cr_assert_eq(count_at(o, "columns"), 3);
    cr_assert_str_eq(json_string_at(o, "columns/2"), "meta.id");
    json_decref(o);
}

Test(sluice_check, a_gzip_file)
{
    char path[PATH_MAX];
    gzFile file = gzopen(test_path(path, dirs.top, "a.csv.gz"), "wb");
    cr_assert(file);
    cr_assert_gt(gzputs(file, formats[0].text), 0);
    cr_assert_eq(gzclose(file), Z_OK);
    json_t *o = sluice_expect_json(&r, ARGS("check", path, "--json", "--records", "0"));
    cr_assert_eq(json_integer_at(o, "texts"), 4);
    cr_assert_eq(count_at(o, "records"), 0);
    json_decref(o);
}

Test(sluice_check, several_labels)
{
    json_t *o =
        check("a.csv", "label,text\na|b,fine\n,dull\na,fair\nb,good\n", "label-separator", "|", 0);
    cr_assert(json_is_true(json_at(o, "multi_label")));
    cr_assert_eq(json_integer_at(o, "labels/0/texts"), 2);
    cr_assert_eq(count_at(o, "records/0/labels"), 2);
    cr_assert_eq(count_at(o, "records/1/labels"), 0);
    json_decref(o);
}

/* What naming the columns would read otherwise has none; its note says what is read. */
Test(sluice_check, records_of_other_programs)
{
    json_t *o = check("a.jsonl",
                      FOUR_OF("{\"prompt\":\"fine\",\"completion\":\" good\"}\n",
                              "{\"prompt\":\"dull\",\"completion\":\" bad\"}\n"),
                      NULL, NULL, 0);
    expect_columns(o, NULL, NULL);
    EXPECT_SAID(json_string_at(o, "notes/0"), "'prompt' is the text and 'completion' the label");
    cr_assert_str_eq(json_string_at(o, "labels/0/label"), "bad");
    json_decref(o);
    o = check("b.jsonl",
              FOUR_OF("{\"text\":\"fine\",\"labels\":[\"good\"]}\n",
                      "{\"text\":\"dull\",\"labels\":[\"bad\"]}\n"),
              NULL, NULL, 0);
    expect_columns(o, "labels", "text");
    json_decref(o);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

Test(sluice_check, all_mistakes_are_named_with_their_lines)
{
    json_t *o = check("a.csv",
                      "label,text\n"
                      "good,fine\n"
                      "bad,dull,very\n"     /* 3: a field too many */
                      "bad\n"               /* 4: one too few */
                      "\"a\nb\",over two\n" /* 5: a label with a line break */
                      ",nobody said\n"      /* left out */
                      "good,fair\n"
                      "bad,a \"stray quote\n" /* 9: reading ends */
                      "bad,never read\n",
                      NULL, NULL, 2);
    EXPECT_LINES(o, 3, 4, 5, 9);
    EXPECT_SAID(json_string_at(o, "problems/0/message"), "3 fields: expected 2");
    EXPECT_SAID(json_string_at(o, "problems/2/message"), "the control character 0x0a");
    EXPECT_SAID(json_string_at(o, "problems/3/message"), "a stray quote");
    EXPECT_SAID(json_string_at(o, "warnings/0"), "1 record is left out, in line 7");
    json_decref(o);
}

Test(sluice_check, objects_that_are_none)
{
    json_t *o = check("a.jsonl",
                      "{\"label\":\"a\",\"text\":\"one\"}\n"
                      "{\"label\":\"b\",\"text\":7,}\n"
                      "{\"label\":\"b\",\"text\":[\"x\"]}\n"
                      "{\"label\":\"b\",\"text\":\"two\"}\n"
                      "{\"label\":[\"a\",\"a\"],\"text\":\"three\"}\n"
                      "{\"label\":\"a\",\"text\":\"four\"}\n",
                      NULL, NULL, 2);
    EXPECT_LINES(o, 2, 3, 5);
    cr_assert_eq(json_integer_at(o, "texts"), 3);
    EXPECT_SAID(json_string_at(o, "problems/2/message"), "the label 'a' is given twice");
    json_decref(o);
}

/* A hundred are enough. */
Test(sluice_check, problems_are_bounded)
{
    enum { BAD = 150, LINE = 16 };

    static char text[(BAD + 3) * LINE];
    size_t used = (size_t)snprintf(text, sizeof text, "label,text\na,x\nb,y\n");
    for (int i = 0; i < BAD; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "a,b,c\n");
    json_t *o = check("a.csv", text, NULL, NULL, 2);
    cr_assert_eq(count_at(o, "problems"), 100);
    cr_assert_eq(json_integer_at(o, "problems/99/line"), 103);
    json_decref(o);
}

/* Errors of the whole file have no line. */
static void expect_one_problem(json_t *o, const char *part)
{
    cr_assert_eq(count_at(o, "problems"), 1, "%s", r.out);
    cr_assert(json_is_null(json_at(o, "problems/0/line")), "%s", r.out);
    EXPECT_SAID(json_string_at(o, "problems/0/message"), part);
    json_decref(o);
}

Test(sluice_check, nothing_to_learn)
{
    expect_one_problem(check("a.csv", "label,text\na,x\na,y\n", NULL, NULL, 2),
                       "the only label is 'a'");
    expect_one_problem(check("a.csv", "label,text\na,x\nb,y\n", NULL, NULL, 2),
                       "no label has two texts");
    expect_one_problem(check("a.csv", "label,text\n", NULL, NULL, 2), "the file has no texts");
}

Test(sluice_check, repeated_texts)
{
    json_t *o =
        check("a.csv", "label,text\na,same\nb,other\na,same\nb,more\na,same\n", NULL, NULL, 0);
    cr_assert_eq(count_at(o, "warnings"), 1);
    cr_assert_str_eq(json_string_at(o, "warnings/0"),
                     "2 texts repeat an earlier one: line 4 that of line 2, and so on");
    json_decref(o);
}

Test(sluice_check, warnings)
{
    json_t *o =
        check("a.csv", "label,text\na,same\nb,same\na,other\nB,more\nb,most\n", NULL, NULL, 0);
    EXPECT_SAID(r.out, "1 text repeats an earlier one with another label");
    EXPECT_SAID(r.out, "the label 'B' occurs only once, in line 5");
    EXPECT_SAID(r.out, "the labels 'b' and 'B'");
    cr_assert_eq(count_at(o, "warnings"), 3);
    json_decref(o);
}

/* ---- columns --------------------------------------------------------------------------------- */

Test(sluice_check, missing_columns)
{
    json_t *o = check("a.csv", "id,mood,note\n1,a,x\n2,b,y\n", NULL, NULL, 2);
    cr_assert_eq(count_at(o, "columns"), 3);
    cr_assert_str_eq(json_string_at(o, "columns/1"), "mood");
    expect_columns(o, NULL, NULL);
    expect_one_problem(o, "no column 'label'; the columns are 'id', 'mood', 'note'");
    o = check("a.jsonl", "{\"label\":\"a\",\"body\":\"x\",\"id\":\"1\"}\n", NULL, NULL, 2);
    expect_columns(o, "label", NULL);
    expect_one_problem(o, "no column 'text'; the object has: 'label', 'body', 'id'");
    o = check("b.csv", "a,x\nb,y\n", "label", "7", 2);
    expect_one_problem(o, "no column '7'");
}

Test(sluice_check, numbers_are_columns)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, dirs.top, "a.csv"), "x,a\ny,b\nz,a\n");
    json_t *o =
        sluice_expect_json(&r, ARGS("check", path, "--json", "--label", "2", "--text", "1"));
    cr_assert_str_eq(json_string_at(o, "columns/1"), "2");
    cr_assert_eq(json_integer_at(o, "texts"), 3);
    json_decref(o);
    sluice_run(&r, ARGS("check", path, "--json", "--label", "2", "--text", "3"));
    EXPECT_EXIT(&r, 2);
    expect_one_problem(json_from_text(r.out), "no column 3: there are only 2");
}

#define GOOD "wonderful from its first scene to the last, "
#define BAD  "dull from its first scene to the last, "

static const struct guess {
    const char *name, *text, *label, *column; /* label NULL: none is safe */
} guesses[] = {
    {"names.csv",
     "mood,review\npos,\"" GOOD "1\"\nneg,\"" BAD "2\"\npos,\"" GOOD "3\"\nneg,\"" BAD "4\"\n",
     "mood", "review"},
    {"none.tsv", GOOD "1\tpos\n" BAD "2\tneg\n" GOOD "3\tpos\n" BAD "4\tneg\n" BAD "5\tneg\n", "2",
     "1"},
    {"text.csv", "text,mood\n" FOUR_OF("x,1\n", "y,0\n"), "mood", "text"},
    {"comma.csv",
     "\"mood, or so\",review\n"
     "pos,\"" GOOD "1\"\nneg,\"" BAD "2\"\npos,\"" GOOD "3\"\nneg,\"" BAD "4\"\n",
     "mood, or so", "review"},
    {"objects.jsonl",
     "{\"mood\":\"pos\",\"body\":\"" GOOD "1\"}\n{\"mood\":\"neg\",\"body\":\"" BAD "2\"}\n"
     "{\"mood\":\"pos\",\"body\":\"" GOOD "3\"}\n{\"mood\":\"neg\",\"body\":\"" BAD "4\"}\n",
     "mood", "body"},
    {"comma.jsonl",
     "{\"a,b\":\"pos\",\"body\":\"" GOOD "1\"}\n{\"a,b\":\"neg\",\"body\":\"" BAD "2\"}\n"
     "{\"a,b\":\"pos\",\"body\":\"" GOOD "3\"}\n{\"a,b\":\"neg\",\"body\":\"" BAD "4\"}\n",
     NULL, NULL},
    {"alike.csv", "a,b\n" FOUR_OF("x,y\n", "y,x\n"), NULL, NULL},
    {"distinct.csv", "a,b\n1,one\n2,two\n3,three\n4,four\n", NULL, NULL},
    {"three.csv", "id,mood,review\n1,pos," GOOD "\n", NULL, NULL},
};

/* What is assumed is what `sluice train` takes: it reads as many texts. */
static void expect_trains(const struct guess *g, const json_t *o)
{
    char path[PATH_MAX];
    sluice_expect_success(&r, ARGS("train", "--data", test_path(path, dirs.top, g->name), "--label",
                                   g->label, "--text", g->column, "--output", dirs.output,
                                   "--quick", "--overwrite"));
    char texts[64];
    (void)snprintf(texts, sizeof texts, "%d texts of", (int)json_integer_at(o, "texts"));
    EXPECT_SAID(r.out, texts);
}

Test(sluice_check, columns_are_assumed_where_that_is_safe)
{
    for (size_t i = 0; i < COUNT(guesses); i++) {
        const struct guess *g = &guesses[i];
        json_t *o = check(g->name, g->text, NULL, NULL, g->label ? 0 : 2);
        expect_columns(o, g->label, g->column);
        cr_assert_eq(count_at(o, "notes"), g->label != NULL, "%s", r.out);
        json_decref(o);
    }
}

Test(sluice_check, assumed_columns_are_those_of_training)
{
    char before[PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        static char text[8192];
        size_t used = 0;
        if (i == 0)
            used = (size_t)snprintf(text, sizeof text, "mood,review\n");
        for (int k = 0; k < 40; k++)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     i == 0 ? "%s,\"%s%d\"\n" : "%s\t%s%d\n", k % 2 ? "pos" : "neg",
                                     k % 2 ? GOOD : BAD, k);
        const struct guess g = {i == 0 ? "many.csv" : "many.tsv", text, i == 0 ? "mood" : "1",
                                i == 0 ? "review" : "2"};
        test_write_file(test_path(before, dirs.top, g.name), text);
        json_t *o = check(g.name, g.text, NULL, NULL, 0);
        expect_columns(o, g.label, g.column);
        expect_trains(&g, o);
        json_decref(o);
    }
}

/* Names that could be taken for something else. */
Test(sluice_check, hostile_names)
{
    static const char text[] = "\"a \"\"b\"\"\n<c>\",--output\nx,fine\ny,dull\nx,fair\n";
    char path[PATH_MAX];
    test_write_file(test_path(path, dirs.top, "a.csv"), text);
    json_t *o = sluice_expect_json(
        &r, ARGS("check", path, "--json", "--label=a \"b\"\n<c>", "--text=--output"));
    expect_columns(o, "a \"b\"\n<c>", "--output");
    cr_assert_eq(json_integer_at(o, "texts"), 3);
    json_decref(o);
}

/* ---- the command line ------------------------------------------------------------------------ */

Test(sluice_check, it_says_it_in_words)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, dirs.top, "a.csv"),
                    "mood,review\ngood,fine\nbad,dull,very\nbad,dull\n");
    sluice_run(&r, ARGS("check", path, "--label", "mood", "--text", "review", "--name", "my.csv"));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.out, "my.csv: csv, columns 'mood', 'review'");
    EXPECT_SAID(r.out, "2 texts, 2 labels: bad 1, good 1");
    EXPECT_SAID(r.out, "line 2 'good': fine");
    EXPECT_SAID(r.out, "  line 3: 3 fields");
    EXPECT_SAID(r.err, "sluice check: 'my.csv' has 1 problem");
    cr_assert_not(strstr(r.out, dirs.top), "%s", r.out);
}

Test(sluice_check, usage)
{
    char missing[PATH_MAX];
    test_path(missing, dirs.top, "missing.csv");
    const struct usage_error errors[] = {
        {{"check", NULL}, 2, "FILE", "usage"},
        {{"check", missing, NULL}, 2, "missing.csv", "No such file"},
        {{"check", missing, "--records", "100001", NULL}, 2, "records", "100000"},
        {{"check", missing, missing, NULL}, 2, "missing.csv", "unexpected"},
    };

    sluice_expect_usage_errors(errors, COUNT(errors));
}
