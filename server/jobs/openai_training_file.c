/* openai_training_file.c - training files in OpenAI's formats as labelled texts. */
#include "jobs/openai_training_file.h"
#include "base/json_writer.h"
#include "base/utf8.h"

#include <jansson.h>
#include <string.h>

struct lines {
    const char *at, *end;
    long long number; /* of the last one, from 1 */
};

/* The next line that is not blank; NULL: there is none. */
static const char *next_line(struct lines *lines, size_t *bytes)
{
    while (lines->at < lines->end) {
        const char *line = lines->at;
        const char *stop = memchr(line, '\n', (size_t)(lines->end - line));
        *bytes = (size_t)((stop ? stop : lines->end) - line);
        lines->at = stop ? stop + 1 : lines->end;
        lines->number++;
        for (size_t i = 0; i < *bytes; i++)
            if (!strchr(" \t\r", line[i]))
                return line;
    }
    return NULL;
}

static struct lines lines_of(const char *text, size_t bytes)
{
    return (struct lines){.at = text + sl_utf8_mark(text, bytes), .end = text + bytes};
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

bool sv_openai_training_file_found(const char *text, size_t bytes)
{
    size_t count;
    struct lines lines = lines_of(text, bytes);
    const char *line = next_line(&lines, &count);
    json_t *object = line ? json_loadb(line, count, 0, NULL) : NULL;
    bool found = json_is_array(json_object_get(object, "messages")) ||
                 (text_of(object, "prompt") && text_of(object, "completion"));
    json_decref(object);
    return found;
}

/* What one line says: `text` collects the user's messages. */
struct example {
    struct sl_buffer text;
    const char *label;
};

static void read_messages(const json_t *messages, struct example *example)
{
    size_t i;
    const json_t *message;
    json_array_foreach (messages, i, message) {
        const char *role = text_of(message, "role"), *content = text_of(message, "content");
        if (!role || !content)
            continue;
        if (strcmp(role, "assistant") == 0)
            example->label = content;
        if (strcmp(role, "user") != 0)
            continue;
        if (example->text.bytes > 0)
            sl_buffer_append(&example->text, "\n", 1);
        sl_buffer_append_string(&example->text, content);
    }
}

/* Completions often begin with a blank. */
static void add_trimmed(struct sl_json_writer *json, const char *label)
{
    static const char blanks[] = " \t\r\n";
    label += strspn(label, blanks);
    size_t bytes = strlen(label);
    while (bytes > 0 && strchr(blanks, label[bytes - 1]))
        bytes--;
    sl_json_add_bytes(json, label, bytes);
}

static bool write_example(const struct example *example, struct sl_buffer *out)
{
    struct sl_json_writer json = {.out = out};
    sl_buffer_clear(out);
    sl_json_begin_object(&json);
    sl_json_add_string(sl_json_key(&json, "text"), example->text.data);
    add_trimmed(sl_json_key(&json, "label"), example->label);
    sl_json_end_object(&json);
    sl_buffer_append(out, "\n", 1);
    return !out->failed && !example->text.failed;
}

static bool convert_line(const char *line, size_t bytes, long long number, struct sl_buffer *out,
                         struct sv_error *error)
{
    struct example example = {0};
    json_t *object = json_loadb(line, bytes, 0, NULL);
    const char *prompt = text_of(object, "prompt");
    read_messages(json_object_get(object, "messages"), &example);
    if (prompt) {
        sl_buffer_append_string(&example.text, prompt);
        example.label = text_of(object, "completion");
    }
    bool ok = example.text.bytes > 0 && example.label;
    if (!ok)
        (void)sv_fail(error, SV_INVALID_VALUE, "training_file",
                      "Line %lld needs a message of the user and one of the assistant, or "
                      "'prompt' and 'completion'.",
                      number);
    ok = ok && (write_example(&example, out) || sv_fail_no_memory(error));
    sl_buffer_release(&example.text);
    json_decref(object);
    return ok;
}

bool sv_openai_training_file_convert(const char *text, size_t bytes,
                                     bool (*write)(void *context, const char *line, size_t count),
                                     void *context, struct sv_error *error)
{
    struct sl_buffer out = {0};
    size_t count;
    struct lines lines = lines_of(text, bytes);
    const char *line;
    bool ok = true;
    while (ok && (line = next_line(&lines, &count)))
        ok = convert_line(line, count, lines.number, &out, error) &&
             write(context, out.data, out.bytes);
    sl_buffer_release(&out);
    return ok;
}
