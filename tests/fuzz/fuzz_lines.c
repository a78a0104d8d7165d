/* fuzz_lines.c - any bytes, as a short text of another program.
 *
 * The first byte says which: a line of a trainer's log, an evaluation, a header traceparent, a
 * path with escapes, or a list of origins ('t', 'e', 'r', 'p', 'c'). */
#include "access/cors.h"
#include "base/utf8.h"
#include "core/percent_encoding.h"
#include "core/trace_context.h"
#include "jobs/trainer_log_line.h"
#include "support/fuzz_target.h"

#include <string.h>

/* A text of exactly these bytes, and a NUL that belongs to it only for functions of strings. */
struct input {
    const char *text;
    size_t bytes;
};

static void trainer_line_check(struct input in)
{
    struct sv_trainer_log_line line;
    if (!sv_trainer_log_line_read(in.text, in.bytes, &line))
        return;
    must(line.event < SV_TRAINER_EVENTS);
    must(line.remark_count >= 0 && line.remark_count <= SV_TRAINER_REMARKS_MAX);
    must(memchr(line.recipe, '\0', sizeof line.recipe) != NULL);
    for (int i = 0; i < line.remark_count; i++)
        must(memchr(line.remarks[i].text, '\0', sizeof line.remarks[i].text) != NULL);
}

static void evaluation_check(struct input in)
{
    double loss, accuracy;
    (void)sv_evaluation_read(in.text, in.bytes, &loss, &accuracy);
}

static void trace_check(struct input in)
{
    char id[SV_TRACE_ID_BYTES];
    bool ok = sv_trace_id_read(in.text, id);
    must(strlen(id) == (ok ? SV_TRACE_ID_BYTES - 1 : 0));
}

static void path_check(struct input in)
{
    char name[32];
    struct sl_err err;
    if (!sv_percent_decode(in.text, in.bytes, name, sizeof name))
        return;
    must(memchr(name, '\0', sizeof name) != NULL && name[0]);
    must(sl_utf8_check(name, strlen(name), &err));
}

static void origins_check(struct input in)
{
    struct sl_err err = {0};
    bool ok = sv_cors_check(in.text, &err);
    must(ok || (err.code != SL_OK && err.text[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        bool is_string;
        void (*check)(struct input in);
    } texts[] = {{'t', false, trainer_line_check},
                 {'e', false, evaluation_check},
                 {'r', true, trace_check},
                 {'p', false, path_check},
                 {'c', true, origins_check}};

    for (size_t i = 0; size > 0 && i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].letter != (char)data[0])
            continue;
        char *text = malloc(size - !texts[i].is_string + (size == 1));
        must(text);
        memcpy(text, data + 1, size - 1);
        if (texts[i].is_string)
            text[size - 1] = '\0';
        texts[i].check((struct input){text, size - 1});
        free(text);
    }
    return 0;
}
