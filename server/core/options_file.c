/* options_file.c - the settings of the daemon that its configuration file has. */
#include "core/options.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {

#define SV_OPTION(section, name, kind, fallback, min, max, among, help) ROW_##name,
#include "core/options.def"
#undef SV_OPTION
    ROWS
};

static bool is_marker(const char *line, const char *marker)
{
    size_t length = strlen(marker);
    return strncmp(line, marker, length) == 0 && strchr(" \t\r\n", line[length]);
}

/* Where another document begins; libcyaml reads the first and is silent about others. 0: none. */
static int another_document(const char *text)
{
    bool started = false, ended = false;
    int number = 1;
    for (const char *at = text; *at; number++) {
        bool says = !strchr("#%\r\n", at[strspn(at, " \t")]); /* nor NUL */
        bool closes = is_marker(at, "...");
        if (started && (is_marker(at, "---") || (ended && says && !closes)))
            return number;
        ended = ended || closes;
        started = started || says;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return 0;
}

/* Every option is read as text and optional; sv_options_set does the rest, as for other sources. */
struct file_values {
    char *values[ROWS];
};

/* Where libcyaml's complaints go: the first is the fact, the next position is where. */
struct complaint {
    char fact[256];
    int line, column;
};

static void SL_PRINTF(3, 0) hear(cyaml_log_t level, void *context, const char *format, va_list list)
{
    struct complaint *complaint = context;
    char text[256];
    (void)level;
    (void)vsnprintf(text, sizeof text, format, list);
    text[strcspn(text, "\n")] = '\0';
    const char *where = strstr(text, "(line: ");
    if (where && complaint->line == 0) {
        const char *column = strstr(where, "column: ");
        complaint->line = (int)strtol(where + strlen("(line: "), NULL, 10);
        complaint->column = column ? (int)strtol(column + strlen("column: "), NULL, 10) : 1;
    }
    if (!where && !complaint->fact[0] && !strstr(text, "Backtrace"))
        (void)snprintf(complaint->fact, sizeof complaint->fact, "%s",
                       strncmp(text, "Load: ", 6) == 0 ? text + 6 : text);
}

/* The place of a top-level key in the file's text; libcyaml tells the place of the one before. */
static bool locate(const char *text, const char *key, int *line, int *column)
{
    size_t length = strlen(key);
    *line = 1;
    for (const char *at = text; at; at = strchr(at, '\n'), at += at != NULL, ++*line) {
        size_t blanks = strspn(at, " \t\"'");
        *column = (int)blanks + 1;
        if (strncmp(at + blanks, key, length) == 0 && strspn(at + blanks + length, " \t\"':"))
            return true;
    }
    return false;
}

static char *read_whole(const char *path, size_t *bytes, struct sl_err *err)
{
    FILE *file = fopen(path, "rbe");
    char *text = file ? malloc(SV_CONFIG_BYTES_MAX + 1) : NULL;
    if (text) {
        *bytes = fread(text, 1, SV_CONFIG_BYTES_MAX, file);
        text[*bytes] = '\0';
    }
    bool broken = !text || ferror(file) || *bytes == SV_CONFIG_BYTES_MAX || strlen(text) != *bytes;
    if (broken)
        (void)sl_fail(err, SL_IO, "%s: %s", path,
                      !file                   ? strerrordesc_np(errno)
                      : text && !ferror(file) ? "too long, or holds a NUL"
                                              : "cannot be read");
    if (file)
        (void)fclose(file);
    if (broken)
        free(text);
    return broken ? NULL : text;
}

static bool begins_with(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

/* Lines and columns count from 1. A file that is no mapping is wrong from its beginning; of some
 * other mistakes no place is known. */
static bool complain(const char *path, const char *text, struct complaint *complaint,
                     struct sl_err *err)
{
    static const char unexpected[] = "Unexpected key: ";
    if (begins_with(complaint->fact, unexpected)) {
        const char *key = complaint->fact + sizeof unexpected - 1;
        (void)locate(text, key, &complaint->line, &complaint->column);
        (void)sv_options_unknown(key, err);
    } else
        (void)sl_fail(err, SL_BAD_INPUT, "%s; accepted are lines 'key: value', each key once",
                      complaint->fact[0] ? complaint->fact : "this is not understood");
    if (complaint->line == 0 && begins_with(complaint->fact, "Expecting"))
        complaint->line = complaint->column = 1;
    return complaint->line > 0 ? sl_wrap(err, "%s:%d:%d", path, complaint->line, complaint->column)
                               : sl_wrap(err, "%s", path);
}

static bool set_from_file(struct sv_options *options, const char *path, const char *text,
                          const struct file_values *file, struct sl_err *err)
{
    for (int i = 0; i < ROWS; i++) {
        int line = 0, column = 0;
        if (!file->values[i] || sv_options_set(options, sv_options_name(i), file->values[i], err))
            continue;
        (void)locate(text, sv_options_name(i), &line, &column);
        return sl_wrap(err, "%s:%d:%d", path, line, column);
    }
    return true;
}

static cyaml_schema_field_t field_of(int i)
{
    return (cyaml_schema_field_t){
        .key = sv_options_name(i),
        .data_offset = (uint32_t)((size_t)i * sizeof(char *)),
        .value = {.type = CYAML_STRING,
                  .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                  .data_size = sizeof(char),
                  .string = {.min = 0, .max = SV_OPTION_TEXT_MAX - 1}},
    };
}

bool sv_options_file(struct sv_options *options, const char *path, struct sl_err *err)
{
    cyaml_schema_field_t fields[ROWS + 1] = {[ROWS] = CYAML_FIELD_END};
    for (int i = 0; i < ROWS; i++)
        fields[i] = field_of(i);
    const cyaml_schema_value_t schema = {
        CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file_values, fields)};
    struct complaint complaint = {.fact = ""};
    const cyaml_config_t config = {.log_fn = hear,
                                   .log_ctx = &complaint,
                                   .mem_fn = cyaml_mem,
                                   .log_level = CYAML_LOG_WARNING,
                                   .flags = CYAML_CFG_NO_ALIAS};
    size_t bytes = 0;
    char *text = read_whole(path, &bytes, err);
    if (!text)
        return false;
    int another = another_document(text);
    if (another > 0) {
        free(text);
        return sl_fail(err, SL_BAD_INPUT, "%s:%d:1: another document begins; accepted is one", path,
                       another);
    }
    cyaml_data_t *data = NULL;
    cyaml_err_t told = cyaml_load_data((const uint8_t *)text, bytes, &config, &schema, &data, NULL);
    bool fine = told == CYAML_OK || complain(path, text, &complaint, err);
    if (fine && data)
        fine = set_from_file(options, path, text, data, err);
    (void)cyaml_free(&config, &schema, data, 0);
    free(text);
    return fine;
}
