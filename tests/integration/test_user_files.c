/* test_user_files.c - files as people have them, through `sluice train` and through an upload and a
 * job: what is trained, what is said, and what is refused. */
#include "base/names.h"
#include "support/daemon.h"
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/sluice_cli.h"
#include "support/test.h"

#include <lzma.h>

enum { PAIRS = 6 };

static struct workspace dirs;
static struct program_result r;
static struct daemon d;

/* A file of PAIRS times these two records. A # in a record becomes a number. */
struct user_file {
    const char *name, *before, *good, *bad, *after;
    const char *option, *value; /* of `sluice train`, and a setting of the job; NULL: none */
    const char *said;           /* a note, a warning or, if it is refused, the error */
    bool is_refused;
};

#define USER(x)      "{\"role\":\"user\",\"content\":" x "}"
#define ASSISTANT(x) "{\"role\":\"assistant\",\"content\":" x "}"

static const struct user_file files[] = {
    {.name = "onehot.jsonl",
     .good = "{\"text\":\"fine #\",\"label\":[1,0]}\n",
     .bad = "{\"text\":\"dull #\",\"label\":[0,1]}\n",
     .said = "all 12 texts have the same labels, '0', '1': there is nothing to learn",
     .is_refused = true},
    {.name = "lists.csv",
     .before = "label,text\n",
     .good = "[],fine #\n",
     .bad = "\"['bad', 'dull']\",dull #\n",
     .said = "lists written as text, such as [], are read as lists of labels; [] is none"},
    {.name = "turns.jsonl",
     .good = "{\"messages\":[" USER("\"fine #\"") "," ASSISTANT(
         "\"good\"") ",{\"role\":\"assis"
                     "tant\","
                     "\"content\":\"welcome\",\"weight\":0}]}\n",
     .bad = "{\"messages\":[" USER("[{\"type\":\"text\",\"text\":\"dull #\"}]") "," ASSISTANT(
         "\"bad\"") "]}\n",
     .said = "read as conversations: each answer of the assistant with weight 1 is a label"},
    {.name = "null.jsonl",
     .good = "{\"messages\":[" USER("\"fine #\"") "," ASSISTANT("\"good\"") "]}\n",
     .bad = "{\"messages\":[" USER("\"dull #\"") "," ASSISTANT("null") "]}\n",
     .said = "line 2: messages[1].content is null or missing: expected a label",
     .is_refused = true},
    {.name = "prompts.jsonl",
     .good = "{\"prompt\":\"\",\"completion\":\"good\"}\n",
     .bad = "{\"prompt\":\"\",\"completion\":\"bad\"}\n",
     .said = "no record has both a label and a text; in line 1 'prompt' is empty",
     .is_refused = true},
    {.name = "numbers.jsonl",
     .good = "{\"id\":12345678901234567890,\"x\":1e999,\"text\":\"fine #\",\"label\":\"good\"}\n",
     .bad = "{\"id\":12345678901234567891,\"text\":\"dull #\\u0000\",\"label\":\"bad\"}\n"},
    {.name = "number.jsonl",
     .good = "{\"id\":12345678901234567890,\"text\":\"fine #\"}\n",
     .bad = "{\"id\":12345678901234567891,\"text\":\"dull #\"}\n",
     .option = "label",
     .value = "id",
     .said = "12345678901234567890, a number that is out of range; write it as a string",
     .is_refused = true},
    {.name = "excel.tsv",
     .before = "label\ttext\r\n",
     .good = "good\t\"fine #\nsecond\tline\"\r\n",
     .bad = "bad\t\"a \"\"dull\"\" #\"\r\n",
     .said = "quotes around fields are taken off, as spreadsheets mean them; the first are in l"
             "ine 2"},
    {.name = "similar.csv",
     .before = "label,text\n0,weak\n",
     .good = "1,fine #\n",
     .bad = "0.0,dull #\n",
     .said = "the labels '0.0' and '0' (first in line 2) are perhaps one"},
    {.name = "blank.csv",
     .before = "label,text\n ,odd\n\xE2\x80\x8B,odd\n",
     .good = "good,fine #\n",
     .bad = "bad,dull #\n",
     .said = "2 records are left out, the first in line 2: 'label' is blank"},
    {.name = "missing.csv",
     .before = "label,text\n#REF!,odd\nNone,no\n#REF!,so\n",
     .good = "good,fine #\n",
     .bad = "bad,dull #\n",
     .said =
         "the labels 'None', '#REF!' of 3 texts, the first in line 2, are perhaps missing values"},
    {.name = "wrong_separator.csv",
     .before = "label,text\n\"good, old\",fine\n\"bad, old\",dull\n",
     .good = "good,fine #\n",
     .bad = "bad,dull #\n",
     .option = "label-separator",
     .value = ";",
     .said = "the label 'bad, old' (first in line 3) and 1 other seem to join several"},
    {.name = "once.csv",
     .before = "label,text\n",
     .good = "good #,fine #\n",
     .bad = "bad #,dull #\n",
     .said = "no label has two texts: there is nothing to learn from 12 texts",
     .is_refused = true},
    {.name = "spellings.csv",
     .before = "label,text\nGood,fine\nBAD,dull\nBad,no\n",
     .good = "good,fine #\n",
     .bad = "bad,dull #\n",
     .said = "how a number is written, and so are 'Bad' and 'bad', 'Good' and 'good'"},
    {.name = "tabs.csv",
     .before = "label\ttext\n",
     .good = "good\tfine #\n",
     .bad = "bad\tdull #\n",
     .said = "it has tabs: the format is tsv",
     .is_refused = true},
    {.name = "fasttext.txt",
     .good = "__label__good fine #\n",
     .bad = "__label__bad dull #\n",
     .said = "read as fastText's format: words that begin with __label__ are labels"},
    {.name = "columns.csv",
     .before = "id,text,good,bad\n",
     .good = "#,fine #,1,0\n",
     .bad = "#,dull #,0,1\n",
     .said = "labels are the columns that hold 0 or 1: good,bad"},
    {.name = "array.json",
     .before = "[",
     .good = "{\"text\":\"fine #\",\n \"label\":true},\n",
     .bad = "{\"text\":\"dull #\",\n \"label\":false},\n",
     .after = "{\"text\":\"dull\",\"label\":false}]"},
    {.name = "nested.jsonl",
     .good = "{\"text\":\"fine #\",\"label\":{\"name\":\"good\"}}\n",
     .bad = "{\"text\":\"dull #\",\"label\":{\"name\":\"bad\"}}\n",
     .option = "label",
     .value = "label.name"},
    {.name = "alpaca.jsonl",
     .good = "{\"instruction\":\"Rate\",\"input\":\"fine #\",\"output\":\"good\"}\n",
     .bad = "{\"instruction\":\"Rate\",\"input\":\"dull #\",\"output\":\"bad\"}\n",
     .said = "read as Alpaca's records"},
};

static void add(struct sl_buffer *out, const char *record, int number)
{
    for (; *record; record++)
        if (*record == '#')
            sl_buffer_append_int(out, number);
        else
            sl_buffer_append(out, record, 1);
}

static const char *content_of(const struct user_file *file, struct sl_buffer *out)
{
    sl_buffer_clear(out);
    sl_buffer_append_string(out, file->before ? file->before : "");
    for (int i = 0; i < PAIRS; i++) {
        add(out, file->good, i);
        add(out, file->bad, i);
    }
    sl_buffer_append_string(out, file->after ? file->after : "");
    return out->data;
}

/* ---- sluice train ---------------------------------------------------------------------------- */

static void setup(void)
{
    sluice_setup(&dirs);
}

static void teardown(void)
{
    workspace_remove(&dirs);
}

TestSuite(user_files, .init = setup, .fini = teardown);

Test(user_files, are_trained_on_or_refused_with_a_reason)
{
    struct sl_buffer text = {0};
    char data[PATH_MAX], option[64];
    for (size_t i = 0; i < COUNT(files); i++) {
        const struct user_file *f = &files[i];
        (void)snprintf(option, sizeof option, "--%s", f->option ? f->option : "threads");
        test_write_file(test_path(data, dirs.top, f->name), content_of(f, &text));
        sluice_run(&r, ARGS("train", "--data", data, "--output", dirs.output, "--overwrite", option,
                            f->value ? f->value : "1"));
        cr_expect_eq(r.exit_code, f->is_refused ? 2 : 0, "%s: %s", f->name, r.err);
        EXPECT_SAID(r.err, f->said ? f->said : "");
    }
    sl_buffer_release(&text);
}

/* Jobs have settings of the same names. */
Test(user_files, errors_name_the_options)
{
    static const struct {
        const char *content, *said;
    } cases[] = {
        {"label\ttext\na\tx\n", "the format is tsv; give --format tsv"},
        {"a,x\nb,y\n",
         "label 1, text 2; give --label and --text their names, or --label 1 --text 2"},
    };

    char data[PATH_MAX];
    for (size_t i = 0; i < COUNT(cases); i++) {
        test_write_file(test_path(data, dirs.top, "a.csv"), cases[i].content);
        sluice_run(&r, ARGS("train", "--data", data, "--output", dirs.output));
        EXPECT_SAID(r.err, cases[i].said);
    }
}

/* A packed file that unpacks to thousands of times its size fills the memory. */
Test(user_files, a_bomb_is_refused)
{
    enum { LINES = 1 << 20, BYTES = 80 };

    static unsigned char packed[1 << 20];
    static char plain[LINES * BYTES + 1];
    char data[PATH_MAX];
    size_t bytes = 0;
    for (int i = 0; i < LINES; i++)
        (void)snprintf(plain + (size_t)i * BYTES, BYTES + 1, "%s\t%-74s\n", i % 2 ? "good" : "dull",
                       "film");
    cr_assert_eq(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, (const uint8_t *)plain,
                                         sizeof plain - 1, packed, &bytes, sizeof packed),
                 LZMA_OK);
    FILE *file = fopen(test_path(data, dirs.top, "bomb.tsv.xz"), "we");
    cr_assert(file && fwrite(packed, 1, bytes, file) == bytes && fclose(file) == 0);
    sluice_run(
        &r, ARGS("train", "--data", data, "--label", "1", "--text", "2", "--output", dirs.output));
    EXPECT_EXIT(&r, 2);
    EXPECT_SAID(r.err, "unpacks to more than 67108864 bytes, which is suspicious for a file of ");
    EXPECT_SAID(r.err, "unpack it first, and give the plain file");
}

/* ---- upload and job -------------------------------------------------------------------------- */

static void start(void)
{
    job_daemon_start(&d, ARGS("--jobs-queued", "3"));
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(user_uploads, .init = start, .fini = stop);

static void run_job(const struct user_file *f, const char *text)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], body[JOB_BODY_MAX], settings[128] = "",
                                                               name[SL_NAME_BYTES];
    file_upload_text(&d, f->name, text, file);
    if (f->option)
        (void)snprintf(settings, sizeof settings, ",\"hyperparameters\":{\"%s\":\"%s\"}",
                       sl_name_with_underscores(name, sizeof name, f->option), f->value);
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\",\"suffix\":\"mood\"%s}", file,
                   settings);
    job_submit(&d, body, id);
    job_wait(&d, id, f->is_refused ? "failed" : "succeeded");
    json_t *job = job_get(&d, id, "");
    if (f->is_refused)
        EXPECT_SAID(json_string_at(job, "error/message"), f->said);
    else
        cr_expect(job_has_event(&d, id, f->said ? f->said : "Files found"), "%s", f->name);
    json_decref(job);
}

Test(user_uploads, get_the_same_answers)
{
    struct sl_buffer text = {0};
    for (size_t i = 0; i < COUNT(files); i++)
        run_job(&files[i], content_of(&files[i], &text));
    sl_buffer_release(&text);
}

static const struct {
    const char *name, *content;
    size_t bytes;
    const char *said;
} refused[] = {

#define CONTENT(text) text, sizeof(text) - 1
    {"a.csv", CONTENT("l\0a\0b\0e\0l\0,\0t\0e\0x\0t\0\n\0"),
     "UTF-16 (little-endian) without a byte order mark, which is not read: convert it, for example "
     "with `iconv -f utf-16le -t utf-8`"},
    {"a.csv", CONTENT("PK\3\4 xl/"),
     "The file is an Excel workbook (.xlsx), which is not read:"
     " save "},
    {"a.jsonl.gz", CONTENT("BZh91AY&SY\1\2"),
     "The file is bzip2 data, which is not read: unpac"
     "k it"},
    {"a.csv", CONTENT("label,text\na,caf\xE9\n"),
     "(line 2) is 0xE9; convert the file from its encoding, for example with `iconv "
     "-f windows-1252 -t utf-8` (others are macintosh and windows-1250)."},
};

Test(user_uploads, what_is_no_text_is_named)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct http_response response =
            file_upload(&d, refused[i].name, "fine-tune", refused[i].content, refused[i].bytes);
        cr_expect_eq(response.status, 400, "%s", response.body.data);
        EXPECT_SAID(response.body.data, refused[i].said);
        http_response_release(&response);
    }
}
