/* log.c - what the server tells its operator: one line per event, as key=value or JSON. */
#include "core/log.h"
#include "base/buffer.h"
#include "base/clock.h"
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

static void add_value(struct sl_buffer *line, const struct sv_log_field *field)
{
    if (!field->text)
        sl_buffer_append_int(line, field->number);
    else if (as_json)
        sl_json_quote(line, field->text);
    else
        add_word(line, field->text);
}

void sv_log_write(enum sv_log_level level, const char *event, const struct sv_log_field *fields)
{
    if (level > max_level)
        return;
    struct sl_buffer line = {0};
    sl_buffer_append_string(&line, as_json ? "{\"time\":\"" : "");
    add_time(&line);
    sl_buffer_printf(&line, as_json ? "\",\"level\":\"%s\",\"event\":" : " %-5s ", names[level]);
    if (as_json)
        sl_json_quote(&line, event);
    else
        sl_buffer_append_string(&line, event);
    for (const struct sv_log_field *f = fields; f->key; f++) {
        sl_buffer_printf(&line, as_json ? ",\"%s\":" : " %s=", f->key);
        add_value(&line, f);
    }
    sl_buffer_append_string(&line, as_json ? "}\n" : "\n");
    if (!line.failed && write(STDERR_FILENO, line.data, line.bytes) < 0) {
        /* stderr is broken: nothing can be done */
    }
    sl_buffer_release(&line);
}
