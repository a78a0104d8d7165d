/* bench_text_requests.c - requests to classify or embed the lines of a file. */
#include "bench/bench_text_requests.h"
#include "base/buffer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, FILE_BYTES_MAX = 1 << 30 };

/* Sets where in the file the failure is, and returns false. */
static bool at_line(struct client_error *failure, const char *path, int64_t line)
{
    sl_err_set_path(&failure->err, path);
    return sl_err_set_place(&failure->err, (int)line, 0);
}

static bool read_file(struct sl_buffer *bytes, const char *path, struct client_error *failure)
{
    char block[BLOCK];
    size_t count;
    FILE *file = fopen(path, "re");
    if (!file) {
        (void)client_error_set(failure, EXIT_BAD_INPUT, "cannot open '%s': %s", path,
                               strerrordesc_np(errno));
        return at_line(failure, path, 0);
    }
    bytes->bytes_max = FILE_BYTES_MAX;
    while (!bytes->failed && (count = fread(block, 1, sizeof block, file)) > 0)
        sl_buffer_append(bytes, block, count);
    bool failed = ferror(file);
    (void)fclose(file);
    if (!failed && !bytes->failed)
        return true;
    (void)client_error_set(failure, EXIT_FAILED, "cannot read '%s': %s", path,
                           failed           ? "input/output error"
                           : bytes->is_full ? "the file is larger than 1 GiB"
                                            : "out of memory");
    return at_line(failure, path, 0);
}

/* The line as a JSON string, to be freed; NULL when it is not UTF-8. */
static char *quote(const char *line, size_t length)
{
    json_t *string = json_stringn(line, length);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_decref(string);
    return text;
}

/* Lines end with \n or \r\n; the last may end with the file. */
static size_t line_length(const struct sl_buffer *file, size_t at)
{
    const char *line = file->data + at;
    const char *end = memchr(line, '\n', file->bytes - at);
    return end ? (size_t)(end - line) : file->bytes - at;
}

static int64_t count_lines(const struct sl_buffer *file)
{
    int64_t count = 0;
    for (size_t at = 0; at < file->bytes; at += line_length(file, at) + 1)
        count++;
    return count;
}

static bool take_lines(struct bench_text_requests *texts, const struct sl_buffer *file,
                       const char *path, struct client_error *failure)
{
    int64_t number = 0;
    texts->lines = calloc((size_t)count_lines(file) + 1, sizeof(char *));
    if (!texts->lines)
        return client_error_no_memory(failure);
    for (size_t at = 0, length; at < file->bytes; at += length + 1) {
        const char *line = file->data + at;
        length = line_length(file, at);
        size_t text = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
        number++;
        if (text == 0)
            continue;
        bool has_nul = memchr(line, '\0', text);
        char *quoted = has_nul ? NULL : quote(line, text);
        if (!quoted) {
            (void)client_error_set(failure, EXIT_BAD_INPUT, "%s:%lld: the line %s", path,
                                   (long long)number,
                                   has_nul ? "contains a NUL byte" : "is not UTF-8");
            return at_line(failure, path, number);
        }
        texts->lines[texts->count++] = quoted;
    }
    return texts->count > 0 ||
           client_error_set(failure, EXIT_BAD_INPUT, "'%s' has no lines with text", path);
}

bool bench_text_requests_read(struct bench_text_requests *texts, const char *path, int each,
                              bool embeds, struct client_error *failure)
{
    struct sl_buffer file = {0};
    *texts = (struct bench_text_requests){.each = each, .embeds = embeds};
    bool good = read_file(&file, path, failure) && take_lines(texts, &file, path, failure);
    sl_buffer_release(&file);
    if (!good)
        bench_text_requests_release(texts);
    return good;
}

void bench_text_requests_release(struct bench_text_requests *texts)
{
    for (int64_t i = 0; i < texts->count; i++)
        free(texts->lines[i]);
    free(texts->lines);
    *texts = (struct bench_text_requests){0};
}

char *bench_text_requests_body(void *context, int64_t number)
{
    static const char begin[] = "{\"truncate\":true,\"inputs\":[";
    const struct bench_text_requests *texts = context;
    struct sl_buffer body = {0};
    int64_t first = number * texts->each % texts->count;
    sl_buffer_append_string(&body, begin);
    for (int i = 0; i < texts->each; i++) {
        sl_buffer_append_string(&body, i ? "," : "");
        sl_buffer_append_string(&body, texts->embeds ? "" : "[");
        sl_buffer_append_string(&body, texts->lines[(first + texts->count + i) % texts->count]);
        sl_buffer_append_string(&body, texts->embeds ? "" : "]");
    }
    sl_buffer_append_string(&body, "]}");
    return sl_buffer_take(&body);
}
