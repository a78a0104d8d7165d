/* log.h - the log: one line per event, as key=value or JSON.
 *
 *     SV_LOG(SV_LOG_INFO, "model loaded", sv_str("model", name), sv_int("ms", ms));
 *
 * The only writer to stderr. Any thread; one write per line. Texts of clients are never logged. */
#pragma once

#include <stdint.h>

enum sv_log_level { SV_LOG_ERROR, SV_LOG_WARN, SV_LOG_INFO, SV_LOG_DEBUG };

struct sv_log_field {
    const char *key;  /* NULL ends a list */
    const char *text; /* NULL: the number */
    int64_t number;
};

static inline struct sv_log_field sv_str(const char *key, const char *text)
{
    return (struct sv_log_field){.key = key, .text = text};
}

static inline struct sv_log_field sv_int(const char *key, int64_t number)
{
    return (struct sv_log_field){.key = key, .number = number};
}

/* Once, before files are opened and before there are threads. */
void sv_log_setup(const char *level, const char *format);
void sv_log_write(enum sv_log_level level, const char *event, const struct sv_log_field *fields);

#define SV_LOG(level, event, ...)                                                                  \
    sv_log_write(level, event, (const struct sv_log_field[]){__VA_ARGS__, {.key = NULL}})
