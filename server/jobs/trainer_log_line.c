/* trainer_log_line.c - the JSON lines that `sluice train` and `sluice eval` write. */
#include "jobs/trainer_log_line.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static int64_t integer(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static bool find_event(const json_t *object, enum sv_trainer_event *event)
{
    static const char *const names[SV_TRAINER_EVENTS] = {
        [SV_TRAINER_STARTED] = "started",     [SV_TRAINER_STEP] = "step",
        [SV_TRAINER_EVALUATED] = "evaluated", [SV_TRAINER_SAVED] = "saved",
        [SV_TRAINER_PUBLISHED] = "published", [SV_TRAINER_ENDED] = "ended",
        [SV_TRAINER_FAILED] = "failed"};
    const char *name = json_string_value(json_object_get(object, "event"));
    for (int i = 0; name && i < SV_TRAINER_EVENTS; i++)
        if (strcmp(names[i], name) == 0) {
            *event = (enum sv_trainer_event)i;
            return true;
        }
    return false;
}

static void read_remarks(const json_t *list, struct sv_trainer_log_line *line)
{
    size_t i;
    const json_t *remark;
    json_array_foreach (list, i, remark) {
        const char *message = json_string_value(json_object_get(remark, "message")),
                   *level = json_string_value(json_object_get(remark, "level"));
        if (!message || line->remark_count == SV_TRAINER_REMARKS_MAX)
            continue;
        struct sv_trainer_remark *to = &line->remarks[line->remark_count++];
        to->is_warning = !level || strcmp(level, "info") != 0;
        (void)snprintf(to->text, sizeof to->text, "%s", message);
    }
}

bool sv_trainer_log_line_read(const char *text, size_t bytes, struct sv_trainer_log_line *line)
{
    json_t *o = json_loadb(text, bytes, 0, NULL);
    *line = (struct sv_trainer_log_line){0};
    bool known = o && find_event(o, &line->event);
    const char *recipe = json_string_value(json_object_get(o, "recipe"));
    line->step = integer(o, "step");
    line->steps = integer(o, "steps");
    line->time = integer(o, "time");
    line->trained_tokens = integer(o, "trained_tokens");
    read_remarks(json_object_get(o, "warnings"), line);
    line->train_loss = number(o, "train_loss");
    line->train_accuracy = number(o, "train_accuracy");
    line->validation_loss = number(o, "validation_loss");
    line->validation_accuracy = number(o, "validation_accuracy");
    line->tokens_per_second = number(o, "tokens_per_second");
    line->seconds_left = number(o, "seconds_left");
    (void)snprintf(line->recipe, sizeof line->recipe, "%s", recipe ? recipe : "");
    json_decref(o);
    return known && line->step >= 0 && line->steps > 0;
}

bool sv_evaluation_read(const char *text, size_t bytes, double *loss, double *accuracy)
{
    json_t *o = json_loadb(text, bytes, 0, NULL);
    *loss = number(o, "loss");
    *accuracy = number(o, "accuracy");
    json_decref(o);
    return isfinite(*loss);
}
