/* log.c - what the server tells its operator: one line per event, as key=value or JSON. */
#include "core/log.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {"error", "warn", "info", "debug"};

/* Set once before there are threads; read by all. */
static enum sv_log_level max_level = SV_LOG_INFO;
static bool as_json;

void sv_log_setup(const char *level, const char *format)
{
    for (int i = 0; i <= SV_LOG_DEBUG; i++)
        if (strcmp(level, names[i]) == 0)
            max_level = (enum sv_log_level)i;
    as_json = strcmp(format, "json") == 0;
    sl_output_streams_open();
}

static void add_time(struct sl_buffer *line)
{
    struct timespec now = sl_timespec(sl_wall_ns());
    struct tm utc;
    char date[32];
    if (!gmtime_r(&now.tv_sec, &utc) || strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        date[0] = '\0';
    sl_buffer_printf(line, "%s.%03dZ", date, (int)(now.tv_nsec / 1000000));
}

/* ---- key=value ------------------------------------------------------------------------------- */

/* Quoted unless it is harmless, so that a value cannot forge a second field or line. */
static void add_word(struct sl_buffer *line, const char *word)
{
    size_t bare = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-/:@%+,[]");
    if (bare > 0 && word[bare] == '\0')
        sl_buffer_append_string(line, word);
    else
        sl_json_quote(line, word);
}

static void add_text_line(struct sl_buffer *line, enum sv_log_level level, const char *event,
                          const struct sv_log_field *fields)
{
    add_time(line);
    sl_buffer_printf(line, " %-5s %s", names[level], event);
    for (const struct sv_log_field *f = fields; f->key; f++) {
        sl_buffer_printf(line, " %s=", f->key);
        if (f->text)
            add_word(line, f->text);
        else
            sl_buffer_append_int(line, f->number);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_json_line(struct sl_buffer *line, enum sv_log_level level, const char *event,
                          const struct sv_log_field *fields)
{
    struct sl_json_writer json = {.out = line};
    struct sl_buffer time = {0};
    add_time(&time);
    sl_json_add(&json, "{'time':%s,'level':%s,'event':%s", time.failed ? NULL : time.data,
                names[level], event);
    for (const struct sv_log_field *f = fields; f->key; f++)
        if (f->text)
            sl_json_add_string(sl_json_key(&json, f->key), f->text);
        else
            sl_json_add_int(sl_json_key(&json, f->key), f->number);
    sl_json_end_object(&json);
    sl_buffer_release(&time);
}

/* ---- lines ----------------------------------------------------------------------------------- */

void sv_log_write(enum sv_log_level level, const char *event, const struct sv_log_field *fields)
{
    if (level > max_level)
        return;
    struct sl_buffer line = {0};
    if (as_json)
        add_json_line(&line, level, event, fields);
    else
        add_text_line(&line, level, event, fields);
    sl_buffer_append_string(&line, "\n");
    if (!line.failed && write(STDERR_FILENO, line.data, line.bytes) < 0) {
        /* stderr is broken: nothing can be done */
    }
    sl_buffer_release(&line);
}
