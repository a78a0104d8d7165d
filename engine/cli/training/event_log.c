/* event_log.c - appends events to log.jsonl, and reads them. */
#include "cli/training/event_log.h"

#include "base/file.h"
#include "formats/json_io.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ends a line that a killed process began. */
static void end_cut_line(FILE *log)
{
    if (fseek(log, -1, SEEK_END) == 0 && fgetc(log) != '\n' && fseek(log, 0, SEEK_END) == 0)
        (void)fputc('\n', log);
}

bool event_log_open(struct event_log *log, const char *run_dir, struct sl_err *err)
{
    char path[SL_PATH_MAX];
    if (!sl_path_join(path, run_dir, "log.jsonl", err))
        return false;
    log->file = fopen(path, "a+e");
    if (!log->file)
        return sl_fail(err, sl_file_error_code(errno), "cannot append to '%s': %s", path,
                       strerrordesc_np(errno));
    end_cut_line(log->file);
    return true;
}

static void write_line(FILE *file, const char *line)
{
    if (!file)
        return;
    (void)fprintf(file, "%s\n", line);
    (void)fflush(file);
}

void event_log_write(const struct event_log *log, json_t *event, FILE *copy)
{
    (void)json_object_set_new(event, "time", json_integer((json_int_t)time(NULL)));
    (void)json_object_set_new(event, "step", json_integer(log->step));
    (void)json_object_set_new(event, "steps", json_integer(log->steps));
    char *line = json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(SL_JSON_SHORT));
    json_decref(event);
    if (line) {
        write_line(log->file, line);
        write_line(copy, line);
    }
    free(line);
}

bool event_log_read(const char *path,
                    bool (*each)(void *context, const json_t *event, struct sl_err *err),
                    void *context, struct sl_err *err)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    bool ok = true;
    FILE *file = fopen(path, "re");
    if (!file)
        return sl_fail(err, SL_IO, "cannot read '%s': %s", path, strerrordesc_np(errno));
    while (ok && (bytes = getline(&line, &room, file)) > 0) {
        json_t *event = json_loadb(line, (size_t)bytes, 0, NULL);
        ok = !event || each(context, event, err);
        json_decref(event);
    }
    free(line);
    (void)fclose(file);
    return ok;
}

void event_log_close(struct event_log *log)
{
    if (log->file && fclose(log->file) != 0)
        (void)fprintf(stderr, "sluice train: log.jsonl: %s\n", strerrordesc_np(errno));
    log->file = NULL;
}
