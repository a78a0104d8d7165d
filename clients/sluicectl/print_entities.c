/* print_entities.c - entities of texts as a table, as rows, or as JSON. */
#include "base/explained_words.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>

static const char *member(const json_t *entity, const char *first, const char *second)
{
    const char *text = json_string_value(json_object_get(entity, first));
    text = text || !second ? text : json_string_value(json_object_get(entity, second));
    return text ? text : "";
}

static void print_row(enum print_format format, const json_t *entity, const char *text)
{
    const double score = json_number_value(json_object_get(entity, "score"));
    const bool table = format == PRINT_TABLE;
    (void)printf(table ? "%-10s  %8.6g  " : "%s\t%.6g\t", member(entity, "entity_group", "entity"),
                 sl_printed_score(score));
    print_cell(member(entity, "word", NULL), '\t');
    print_cell(text, '\n');
}

static void print_text(struct class_printer *printer, const char *text, json_t *entities,
                       int64_t tokens_cut)
{
    const json_t *entity;
    size_t i;
    if (printer->format == PRINT_OBJECTS) {
        json_t *object = json_pack("{s:s, s:O, s:I}", "text", text, "entities", entities,
                                   "tokens_cut", (json_int_t)tokens_cut);
        (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        (void)putchar('\n');
        json_decref(object);
        return;
    }
    if (printer->texts == 0 && printer->format == PRINT_TABLE)
        (void)printf("%-10s  %8s  %s\t%s\n", "LABEL", "SCORE", "ENTITY", "TEXT");
    json_array_foreach (entities, i, entity)
        print_row(printer->format, entity, text);
}

bool print_entities(struct class_printer *printer, const struct sl_buffer *body,
                    const char *const *texts, int count, struct client_error *failure)
{
    json_error_t error;
    json_t *response = json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
    const json_t *lists = print_output(response, "entities");
    const json_t *cut = print_output(response, "truncated");
    const size_t texts_count = (size_t)count;
    bool good = json_array_size(lists) == texts_count && json_array_size(cut) == texts_count;
    for (size_t i = 0; good && i < texts_count; i++) {
        const char *list = json_string_value(json_array_get(lists, i));
        const int64_t tokens_cut = json_integer_value(json_array_get(cut, i));
        json_t *entities = json_loads(list ? list : "", 0, &error);
        good = json_is_array(entities);
        if (good)
            print_text(printer, texts[i], entities, tokens_cut);
        json_decref(entities);
        printer->texts++;
        printer->truncated += tokens_cut > 0;
    }
    json_decref(response);
    return good || client_error_set(failure, EXIT_FAILED, "malformed response: no entities in it");
}
