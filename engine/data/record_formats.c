/* record_formats.c - the table of formats, and how one is recognised. */
#include "data/record_formats.h"

#include "base/comma_list.h"
#include "base/file_kind.h"
#include "base/utf8.h"
#include "data/json_reader.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

static const struct sl_record_format *const formats[] = {
    &sl_record_format_tsv, &sl_record_format_csv, &sl_record_format_jsonl, &sl_record_format_json,
    &sl_record_format_fasttext};

enum { FORMATS = sizeof formats / sizeof formats[0] };

static const char conversation[] =
    "conversations: each answer of the assistant with weight 1 is a label, and the turns before "
    "it, without the system's, are its text";

static const struct sl_record_shape shapes[] = {
    {.name = "chat",
     .members = {"messages"},
     .format = &sl_record_format_chat,
     .note = conversation},
    {.name = "sharegpt",
     .members = {"conversations"},
     .format = &sl_record_format_chat,
     .note = conversation},
    {.name = "sharegpt",
     .members = {"conversation"},
     .format = &sl_record_format_chat,
     .note = conversation},
    {.name = "gemini",
     .members = {"contents"},
     .format = &sl_record_format_chat,
     .note = conversation},
    {.name = "completions",
     .members = {"prompt", "completion"},
     .label = "completion",
     .text = "prompt",
     .trims_label = true,
     .note = "prompts and completions: 'prompt' is the text and 'completion' the label"},
    {.name = "alpaca",
     .members = {"instruction", "output"},
     .label = "output",
     .text = "instruction,input",
     .trims_label = true,
     .note = "Alpaca's records: 'instruction' and 'input' are the text, 'output' is the "
             "label; text 'input' and label 'output' leave the instruction out"},
    {.name = "prodigy",
     .members = {"answer", "accept"},
     .label = "accept",
     .text = "text",
     .note = "Prodigy's records: 'accept' has the labels of records whose 'answer' is accept"},
    {.name = "prodigy",
     .members = {"answer", "label"},
     .label = "label",
     .text = "text",
     .note = "Prodigy's records: 'label' is that of records whose 'answer' is accept; label "
             "'answer' learns the answers instead"},
    {.name = "label-studio",
     .members = {"annotations", "data"},
     .label = "annotations.0.result.0.value.choices",
     .text = "data.text",
     .note = "Label Studio's tasks: 'data.text' is the text, and the choices of its first "
             "annotation are the labels"},
    {.name = "spacy",
     .members = {"text", "cats"},
     .label = "cats",
     .text = "text",
     .is_its_columns = true,
     .note = "spaCy's examples: 'cats' has the labels"},
    {.name = "doccano",
     .members = {"text", "labels"},
     .label = "labels",
     .text = "text",
     .is_its_columns = true,
     .note = "doccano's records: 'labels' are the labels"},
    {.name = "doccano",
     .members = {"data", "label"},
     .label = "label",
     .text = "data",
     .is_its_columns = true,
     .note = "doccano's records: 'data' is the text"},
};

/* fastText's labels, but in CSV: there is no line of names. */
static const struct sl_record_shape labels_first = {
    .label = "1",
    .text = "2",
    .is_its_columns = true,
    .note = "CSV without a line of names: label 1, text 2"};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- by name --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    size_t length = strlen(end);
    return bytes > length && text[bytes - length - 1] == '.' &&
           strncasecmp(text + bytes - length, end, length) == 0;
}

static const struct sl_record_format *format_of_path(const char *path)
{
    size_t bytes = strlen(path);
    if (ends_with(path, bytes, "xz") || ends_with(path, bytes, "gz"))
        bytes -= strlen(".xz");
    for (int i = 0; i < FORMATS; i++)
        for (const char *const *end = formats[i]->extensions; *end; end++)
            if (ends_with(path, bytes, *end))
                return formats[i];
    return NULL;
}

bool sl_record_format_knows(const char *path)
{
    return format_of_path(path) != NULL;
}

static bool fail_name(const char *name, struct sl_err *err)
{
    char list[256] = "";
    for (int i = 0; i < FORMATS; i++)
        sl_list_add(list, sizeof list, formats[i]->name);
    for (int i = 0; i < SHAPES; i++)
        if (i == 0 || strcmp(shapes[i].name, shapes[i - 1].name) != 0)
            sl_list_add(list, sizeof list, shapes[i].name);
    return sl_fail(err, SL_BAD_INPUT, "invalid format '%.64s': expected one of: %s", name, list);
}

static bool find_name(const char *name, struct sl_record_choice *choice, struct sl_err *err)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            choice->format = formats[i];
    for (int i = SHAPES - 1; i >= 0; i--)
        if (strcmp(shapes[i].name, name) == 0)
            choice->shape = &shapes[i];
    return choice->format || choice->shape || fail_name(name, err);
}

/* ---- by content ------------------------------------------------------------------------------ */

/* The beginning of a file. */
struct beginning {
    char text[SL_FILE_KIND_BYTES + 1]; /* and a NUL */
    size_t bytes, first;               /* first: of what is neither mark nor white space */
};

/* What cannot be read is reported with its line when it is read again. */
static bool read_beginning(const char *path, const struct sl_record_options *o, struct beginning *b,
                           struct sl_err *err)
{
    struct sl_err ignored;
    struct sl_compressed_reader *source = sl_compressed_reader_open(path, o->display_name, 0, err);
    if (!source)
        return false;
    if (!sl_compressed_reader_read(source, b->text, SL_FILE_KIND_BYTES, &b->bytes, &ignored))
        b->bytes = 0;
    b->text[b->bytes] = '\0';
    sl_compressed_reader_close(source);
    b->first = sl_utf8_mark(b->text, b->bytes);
    while (b->first < b->bytes && b->text[b->first] && strchr(" \t\r\n", b->text[b->first]))
        b->first++;
    return true;
}

static bool begins_with(const struct beginning *b, const char *text)
{
    return b->bytes - b->first >= strlen(text) &&
           memcmp(b->text + b->first, text, strlen(text)) == 0;
}

static bool check_kind(const char *path, const struct sl_record_options *o,
                       const struct beginning *b, struct sl_err *err)
{
    const struct sl_file_kind *kind = sl_file_kind_find(b->text, b->bytes);
    if (!kind || (kind->is_text && o->format))
        return true;
    (void)sl_fail(err, SL_BAD_INPUT, "the file is %s, which is not read: %s", kind->name,
                  kind->way_out);
    return sl_wrap_file(err, o->display_name ? o->display_name : path, 0);
}

/* The first value of the file, read in this way; NULL: it is no object. The caller releases it. */
static json_t *first_object(const char *path, const struct sl_data_limits *limits, bool by_lines)
{
    struct sl_err ignored;
    struct sl_json_reader json = {.by_lines = by_lines};
    struct sl_line_reader *lines = sl_line_reader_open(path, NULL, limits, &ignored);
    json_t *object = lines && sl_json_reader_next(&json, lines, &ignored) ? json.value : NULL;
    json_incref(object);
    sl_json_reader_release(&json);
    sl_line_reader_close(lines);
    return object;
}

static const struct sl_record_shape *find_shape(const json_t *object)
{
    for (int i = 0; i < SHAPES; i++) {
        const char *const *members = shapes[i].members;
        if (json_object_get(object, members[0]) &&
            (!members[1] || json_object_get(object, members[1])))
            return &shapes[i];
    }
    return NULL;
}

/* Whether a file of JSON has an object per line, and which shape its first object has. */
static void look_at_json(const char *path, const struct sl_record_options *o,
                         struct sl_record_choice *choice, struct sl_notes *notes)
{
    const bool is_named = o->format && !choice->shape;
    choice->by_lines = choice->format != &sl_record_format_json || !is_named;
    json_t *object = first_object(path, &o->limits, choice->by_lines);
    if (!object && !is_named) {
        object = first_object(path, &o->limits, false);
        choice->by_lines = !object;
    }
    if (object && !choice->shape && !is_named && !o->label && !o->text)
        choice->shape = find_shape(object);
    json_decref(object);
    if (choice->shape && choice->shape->format)
        choice->format = choice->shape->format;
    if (choice->shape)
        sl_note(notes, "read as %s", choice->shape->note);
}

static bool is_json(const struct sl_record_format *format)
{
    return format == &sl_record_format_jsonl || format == &sl_record_format_json;
}

/* A file whose name says nothing, or the wrong thing. */
static void look_at_text(const char *path, const struct sl_record_options *o,
                         const struct beginning *b, struct sl_record_choice *choice,
                         struct sl_notes *notes)
{
    const struct sl_record_format *by_name = choice->format;
    const char *first = b->text + b->first;
    if (begins_with(b, SL_FASTTEXT_PREFIX) && by_name == &sl_record_format_csv &&
        memchr(first, ',', strcspn(first, " \t\r\n"))) {
        choice->shape = &labels_first;
        sl_note(notes, "read as %s", labels_first.note);
    } else if (begins_with(b, SL_FASTTEXT_PREFIX) && !is_json(by_name)) {
        choice->format = &sl_record_format_fasttext;
        if (by_name != choice->format)
            sl_note(notes, "read as fastText's format: words that begin with __label__ are labels");
    } else if (!is_json(by_name) && (begins_with(b, "{") || begins_with(b, "["))) {
        json_t *object = first_object(path, &o->limits, begins_with(b, "{"));
        if (object || (!by_name && o->text))
            choice->format = &sl_record_format_json;
        json_decref(object);
    }
}

/* A text whose name says nothing: what is in it, from the surest sign on. */
static bool fail_unknown(const char *path, const struct beginning *b, struct sl_err *err)
{
    static const struct {
        const char *has, *hint;
        bool at_once; /* in the first line */
    } signs[] = {{SL_FASTTEXT_PREFIX, "has __label__: the format is fasttext", false},
                 {"\t", "has tabs: the format is tsv", true},
                 {"\n- ", "looks like YAML, which is not read: write it as JSON Lines", false},
                 {",", "has commas: the format is csv", true},
                 {";", "has semicolons: the format is csv", true}};

    const size_t cut = b->bytes == SL_FILE_KIND_BYTES ? SL_UTF8_MAX - 1 : 0;
    const char *found;
    if (strlen(b->text) < b->bytes || sl_utf8_valid_bytes(b->text, b->bytes) + cut < b->bytes)
        return sl_fail(err, SL_BAD_INPUT, "'%s' is no text in UTF-8", path);
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if ((found = strstr(b->text, signs[i].has)) &&
            (!signs[i].at_once || found < b->text + b->first + strcspn(b->text + b->first, "\n")))
            return sl_fail(err, SL_BAD_INPUT, "the name '%s' does not say what the file is; it %s",
                           path, signs[i].hint);
    return sl_fail(err, SL_BAD_INPUT,
                   "the name '%s' does not end in .tsv, .csv, .jsonl or .json (perhaps with .gz or "
                   ".xz), and the file begins neither with JSON nor with __label__; rename it, or "
                   "give its format",
                   path);
}

bool sl_record_choose(const char *path, const struct sl_record_options *o,
                      struct sl_record_choice *choice, struct sl_notes *notes, struct sl_err *err)
{
    struct beginning beginning = {0};
    const char *name = o->display_name ? o->display_name : path;
    *choice = (struct sl_record_choice){0};
    if (o->format && !find_name(o->format, choice, err))
        return false;
    if (!read_beginning(path, o, &beginning, err) || !check_kind(path, o, &beginning, err))
        return false;
    if (choice->shape)
        choice->format = &sl_record_format_jsonl;
    if (!choice->format) {
        choice->format = format_of_path(name);
        look_at_text(path, o, &beginning, choice, notes);
    }
    if (!choice->format)
        return fail_unknown(name, &beginning, err);
    if (is_json(choice->format))
        look_at_json(path, o, choice, notes);
    return true;
}
