/* print_classes.c - what a classifier made of texts: a table, rows, or JSON. */
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One text's answers: parts of the outputs of an inference. */
struct verdict {
    const char *text;
    const json_t *top; /* value:class:label, of all texts */
    size_t first, count;
    double depth;
    int64_t lost; /* tokens cut off */
};

static const json_t *output(const json_t *answer, const char *name)
{
    const json_t *outputs = json_object_get(answer, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *one = json_array_get(outputs, i);
        const char *own = json_string_value(json_object_get(one, "name"));
        if (own && strcmp(own, name) == 0)
            return json_object_get(one, "data");
    }
    return NULL;
}

/* value:class:label into its parts. */
static const char *label_of(const json_t *item, double *value)
{
    char *rest;
    const char *text = json_string_value(item);
    *value = strtod(text ? text : "", &rest);
    rest += *rest == ':';
    (void)strtol(rest, &rest, 10);
    return rest + (*rest == ':');
}

static void print_object(const struct verdict *v)
{
    json_t *labels = json_array();
    for (size_t i = 0; i < v->count; i++) {
        double value;
        const char *label = label_of(json_array_get(v->top, v->first + i), &value);
        (void)json_array_append_new(labels,
                                    json_pack("{s:s, s:f}", "label", label, "score", value));
    }
    json_t *object = json_pack("{s:s, s:o, s:f, s:I}", "text", v->text, "labels", labels, "depth",
                               v->depth, "tokens_cut", (json_int_t)v->lost);
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
}

/* Six digits would make 1 of what is nearly so, and no text is certain. */
static const char *read_label(const struct verdict *v, size_t index, double *score)
{
    static const double max_score = 0.999999;
    const char *label = label_of(json_array_get(v->top, v->first + index), score);
    *score = *score < max_score ? *score : max_score;
    return label;
}

/* A line per label; the text stands with the first. */
static void print_lines(const struct verdict *v)
{
    for (size_t i = 0; i < v->count; i++) {
        double value;
        const char *label = read_label(v, i, &value);
        if (i == 0)
            (void)printf("%-20s %11.6g %7.2f  %s%s\n", label, value, v->depth, v->text,
                         v->lost > 0 ? "  [cut]" : "");
        else
            (void)printf("%-20s %11.6g\n", label, value);
    }
}

/* What would end a row or a column is a blank. */
static void print_cell(const char *text, char end)
{
    for (; *text; text++)
        (void)putchar(strchr("\t\r\n", *text) ? ' ' : *text);
    (void)putchar(end);
}

static void print_rows(const struct verdict *v)
{
    for (size_t i = 0; i < v->count; i++) {
        double value;
        print_cell(read_label(v, i, &value), '\t');
        (void)printf("%.6g\t", value);
        print_cell(v->text, '\n');
    }
}

static void print_verdict(struct print_sheet *sheet, const struct verdict *verdict)
{
    static void (*const print[])(const struct verdict *) = {
        [PRINT_TABLE] = print_lines, [PRINT_ROWS] = print_rows, [PRINT_OBJECTS] = print_object};

    if (sheet->texts == 0 && sheet->form == PRINT_TABLE)
        (void)printf("%-20s %11s %7s  %s\n", "LABEL", "SCORE", "LAYERS", "TEXT");
    print[sheet->form](verdict);
    sheet->texts++;
    sheet->cut += verdict->lost > 0;
}

bool print_classes(struct print_sheet *sheet, const struct bytes *body, const char *const *texts,
                   int count, struct fault *fault)
{
    json_error_t error;
    json_t *answer = json_loadb(body->data ? body->data : "", body->count, 0, &error);
    const json_t *top = output(answer, "probs"), *depths = output(answer, "depth");
    const json_t *lost = output(answer, "truncated");
    size_t texts_count = (size_t)count, classes = json_array_size(top) / texts_count;
    bool good = classes > 0 && json_array_size(depths) == texts_count &&
                json_array_size(lost) == texts_count;
    for (size_t i = 0; good && i < texts_count; i++) {
        const struct verdict verdict = {.text = texts[i],
                                        .top = top,
                                        .first = i * classes,
                                        .count = classes,
                                        .depth = json_number_value(json_array_get(depths, i)),
                                        .lost = json_integer_value(json_array_get(lost, i))};
        print_verdict(sheet, &verdict);
    }
    json_decref(answer);
    return good || fault_set(fault, EXIT_FAILED, "the answer is not that of an inference");
}

bool print_info(struct print_info *info, const struct bytes *body, struct fault *fault)
{
    json_error_t error;
    json_t *answer = json_loadb(body->data ? body->data : "", body->count, 0, &error);
    const json_t *ours = json_object_get(answer, "sluice");
    const char *model = json_string_value(json_object_get(answer, "model_id"));
    int64_t texts = json_integer_value(json_object_get(answer, "max_client_batch_size"));
    int64_t bytes = json_integer_value(json_object_get(ours, "max_body_bytes"));
    char *copy = model ? strdup(model) : NULL;
    json_decref(answer);
    *info = (struct print_info){.model = copy, .texts_max = texts, .bytes_max = bytes};
    if (copy && texts > 0 && bytes > 0)
        return true;
    print_info_release(info);
    return fault_set(fault, EXIT_FAILED,
                     "the daemon does not say which model it is, or what it takes");
}

void print_info_release(struct print_info *info)
{
    free(info->model);
    *info = (struct print_info){0};
}
