/* bench_texts.c - the lines of a file as requests to classify them, around and around. */
#include "bench/bench_texts.h"
#include "common/bytes.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, FILE_BYTES_MAX = 1 << 30 };

static bool read_file(struct bytes *bytes, const char *path, struct fault *fault)
{
    char block[BLOCK];
    size_t count;
    FILE *file = fopen(path, "re");
    if (!file)
        return fault_set(fault, EXIT_FAILED, "%s: %s", path, strerrordesc_np(errno));
    bool good = true;
    while (good && (count = fread(block, 1, sizeof block, file)) > 0)
        good = bytes->count < FILE_BYTES_MAX && bytes_add(bytes, block, count);
    good = good && !ferror(file);
    (void)fclose(file);
    return good || fault_set(fault, EXIT_FAILED, "%s cannot be read, or is too long", path);
}

/* The line as a JSON string, to be freed; NULL when it is not UTF-8. */
static char *quote(const char *line, size_t length)
{
    json_t *string = json_stringn(line, length);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    json_decref(string);
    return text;
}

/* Lines end with \n or \r\n, the last one also with the file. */
static size_t line_length(const struct bytes *file, size_t at)
{
    const char *line = file->data + at;
    const char *end = memchr(line, '\n', file->count - at);
    return end ? (size_t)(end - line) : file->count - at;
}

static int64_t count_lines(const struct bytes *file)
{
    int64_t count = 0;
    for (size_t at = 0; at < file->count; at += line_length(file, at) + 1)
        count++;
    return count;
}

static bool take_lines(struct bench_texts *texts, const struct bytes *file, const char *path,
                       struct fault *fault)
{
    int64_t number = 0;
    texts->lines = calloc((size_t)count_lines(file) + 1, sizeof(char *));
    if (!texts->lines)
        return fault_no_memory(fault);
    for (size_t at = 0, length; at < file->count; at += length + 1) {
        const char *line = file->data + at;
        length = line_length(file, at);
        size_t text = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
        number++;
        if (text == 0)
            continue;
        if (memchr(line, '\0', text))
            return fault_set(fault, EXIT_FAILED, "%s: line %lld holds a NUL", path,
                             (long long)number);
        char *quoted = quote(line, text);
        if (!quoted)
            return fault_set(fault, EXIT_FAILED, "%s: line %lld is not UTF-8", path,
                             (long long)number);
        texts->lines[texts->count++] = quoted;
    }
    return texts->count > 0 || fault_set(fault, EXIT_FAILED, "%s holds no text", path);
}

bool bench_texts_read(struct bench_texts *texts, const char *path, int each, struct fault *fault)
{
    struct bytes file = {0};
    *texts = (struct bench_texts){.each = each};
    bool good = read_file(&file, path, fault) && take_lines(texts, &file, path, fault);
    bytes_release(&file);
    if (!good)
        bench_texts_release(texts);
    return good;
}

void bench_texts_release(struct bench_texts *texts)
{
    for (int64_t i = 0; i < texts->count; i++)
        free(texts->lines[i]);
    free(texts->lines);
    *texts = (struct bench_texts){0};
}

char *bench_texts_body(void *context, int64_t number)
{
    static const char begin[] = "{\"truncate\":true,\"inputs\":[";
    const struct bench_texts *texts = context;
    struct bytes body = {0};
    int64_t first = number * texts->each % texts->count;
    bool good = bytes_add(&body, begin, sizeof begin - 1);
    for (int i = 0; i < texts->each && good; i++) {
        const char *line = texts->lines[(first + texts->count + i) % texts->count];
        good = bytes_add(&body, i ? ",[" : "[", i ? 2 : 1) &&
               bytes_add(&body, line, strlen(line)) && bytes_add(&body, "]", 1);
    }
    if (good && bytes_add(&body, "]}", 2))
        return body.data;
    bytes_release(&body);
    return NULL;
}
