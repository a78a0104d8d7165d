/* print_ranks.c - texts by their score for a query, as a table, as rows, or as JSON. */
#include "base/explained_words.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting ------------------------------------------------------------------------------ */

static bool collect(struct class_printer *printer, const json_t *result, const char *const *texts,
                    int count)
{
    const json_t *score = json_object_get(result, "score");
    const json_int_t index = json_integer_value(json_object_get(result, "index"));
    char *copy = json_is_number(score) && index >= 0 && index < count ? strdup(texts[index]) : NULL;
    if (!copy)
        return false;
    printer->ranked[printer->texts] = (struct ranked_text){
        .score = json_number_value(score), .number = printer->texts, .text = copy};
    printer->texts++;
    return true;
}

bool print_collect_ranks(struct class_printer *printer, const struct sl_buffer *body,
                         const char *const *texts, int count, struct client_error *failure)
{
    json_error_t error;
    json_t *response = json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
    struct ranked_text *more =
        reallocarray(printer->ranked, (size_t)(printer->texts + count), sizeof *printer->ranked);
    bool good = more && json_array_size(response) == (size_t)count;
    printer->ranked = more ? more : printer->ranked;
    for (size_t i = 0; good && i < (size_t)count; i++)
        good = collect(printer, json_array_get(response, i), texts, count);
    json_decref(response);
    return good || client_error_set(failure, EXIT_FAILED, "malformed response: no ranks in it");
}

/* ---- printing -------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
    const struct ranked_text *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static void print_rank(enum print_format format, const struct ranked_text *rank)
{
    if (format == PRINT_OBJECTS) {
        json_t *object = json_pack("{s:s, s:f}", "text", rank->text, "score", rank->score);
        (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
        (void)putchar('\n');
        json_decref(object);
        return;
    }
    (void)printf(format == PRINT_TABLE ? "%11.6g  " : "%.6g\t", sl_printed_score(rank->score));
    print_cell(rank->text, '\n');
}

void print_ranks(struct class_printer *printer)
{
    if (printer->texts > 0)
        qsort(printer->ranked, (size_t)printer->texts, sizeof *printer->ranked, compare);
    if (printer->texts > 0 && printer->format == PRINT_TABLE)
        (void)printf("%11s  %s\n", "SCORE", "TEXT");
    for (int64_t i = 0; i < printer->texts; i++) {
        print_rank(printer->format, &printer->ranked[i]);
        free(printer->ranked[i].text);
    }
    free(printer->ranked);
    printer->ranked = NULL;
}
