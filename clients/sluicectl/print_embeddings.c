/* print_embeddings.c - embeddings of texts as a table, as rows, or as JSON. */
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>

enum { COLUMNS = 4 }; /* of the table */

/* One text's part of the outputs of a response. */
struct embedding {
    const char *text;
    const json_t *numbers; /* of all texts */
    size_t first, count;
    int64_t tokens_cut;
};

static double number(const struct embedding *e, size_t index)
{
    return json_number_value(json_array_get(e->numbers, e->first + index));
}

static void print_object(const struct embedding *e)
{
    json_t *numbers = json_array();
    for (size_t i = 0; i < e->count; i++)
        (void)json_array_append(numbers, json_array_get(e->numbers, e->first + i));
    json_t *object = json_pack("{s:s, s:o, s:I}", "text", e->text, "embedding", numbers,
                               "tokens_cut", (json_int_t)e->tokens_cut);
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
}

static void print_line(const struct embedding *e)
{
    for (size_t i = 0; i < COLUMNS && i < e->count; i++)
        (void)printf("%8.4f ", number(e, i));
    (void)printf(" %10zu  %s%s\n", e->count, e->text, e->tokens_cut > 0 ? "  [cut]" : "");
}

static void print_row(const struct embedding *e)
{
    for (size_t i = 0; i < e->count; i++)
        (void)printf("%.9g%c", number(e, i), i + 1 < e->count ? ' ' : '\t');
    print_cell(e->text, '\n');
}

static void print_embedding(struct class_printer *printer, const struct embedding *embedding)
{
    static void (*const print[])(const struct embedding *) = {
        [PRINT_TABLE] = print_line, [PRINT_ROWS] = print_row, [PRINT_OBJECTS] = print_object};

    if (printer->texts == 0 && printer->format == PRINT_TABLE)
        (void)printf("%-*s  %10s  %s\n", 9 * COLUMNS - 1, "EMBEDDING", "DIMENSIONS", "TEXT");
    print[printer->format](embedding);
    printer->texts++;
    printer->truncated += embedding->tokens_cut > 0;
}

bool print_embeddings(struct class_printer *printer, const struct sl_buffer *body,
                      const char *const *texts, int count, struct client_error *failure)
{
    json_error_t error;
    json_t *response = json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
    const json_t *numbers = print_output(response, "embedding");
    const json_t *cut = print_output(response, "truncated");
    size_t texts_count = (size_t)count, dimensions = json_array_size(numbers) / texts_count;
    bool good = dimensions > 0 && json_array_size(cut) == texts_count;
    for (size_t i = 0; good && i < texts_count; i++) {
        const struct embedding embedding = {.text = texts[i],
                                            .numbers = numbers,
                                            .first = i * dimensions,
                                            .count = dimensions,
                                            .tokens_cut =
                                                json_integer_value(json_array_get(cut, i))};
        print_embedding(printer, &embedding);
    }
    json_decref(response);
    return good ||
           client_error_set(failure, EXIT_FAILED, "malformed response: no embeddings in it");
}
