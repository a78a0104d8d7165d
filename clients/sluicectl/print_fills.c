/* print_fills.c - tokens for masks, and sparse embeddings, as a table, as rows, or as JSON. */
#include "base/explained_words.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>

static json_t *parse(const struct sl_buffer *body)
{
    json_error_t error;
    return json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
}

/* {"text": ..., NAME: the value}; takes over the value. */
static void print_object(const char *text, const char *name, json_t *value)
{
    json_t *object = json_pack("{s:s, s:o}", "text", text, name, value);
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* ---- masks ----------------------------------------------------------------------------------- */

static void print_mask(enum print_format format, const json_t *fills)
{
    const json_t *fill;
    size_t i;
    json_array_foreach (fills, i, fill) {
        const char *token = string_of(fill, "token_str");
        const double score = sl_printed_score(number_of(fill, "score"));
        if (format == PRINT_TABLE) {
            (void)printf("%-14s  %8.6g  ", token, score);
        } else {
            print_cell(token, '\t');
            (void)printf("%.6g\t", score);
        }
        print_cell(string_of(fill, "sequence"), '\n');
    }
}

/* A list for each mask; of one mask the response is its list alone. */
static json_t *masks_of(json_t *response)
{
    if (!json_is_object(json_array_get(response, 0)))
        return json_incref(response);
    return json_pack("[O]", response);
}

bool print_fills(struct class_printer *printer, const struct sl_buffer *body,
                 const char *const *texts, int count, struct client_error *failure)
{
    json_t *response = parse(body), *masks = masks_of(response);
    const json_t *mask;
    size_t i;
    const bool good = count == 1 && json_array_size(masks) > 0;
    if (good && printer->texts++ == 0 && printer->format == PRINT_TABLE)
        (void)printf("%-14s  %8s  %s\n", "TOKEN", "SCORE", "TEXT");
    if (good && printer->format == PRINT_OBJECTS)
        print_object(texts[0], "masks", json_incref(masks));
    else if (good)
        json_array_foreach (masks, i, mask)
            print_mask(printer->format, mask);
    json_decref(masks);
    json_decref(response);
    return good || client_error_set(failure, EXIT_FAILED, "malformed response: no tokens in it");
}

/* ---- sparse embeddings ----------------------------------------------------------------------- */

static void print_weights(const struct class_printer *printer, const json_t *weights,
                          const char *text)
{
    enum { SHOWN = 4 }; /* on a terminal */

    const bool table = printer->format == PRINT_TABLE;
    const json_t *weight;
    size_t i;
    json_array_foreach (weights, i, weight) {
        if (table && i == SHOWN)
            break;
        (void)printf(table ? "%s%lld:%.4g" : "%s%lld:%.9g", i > 0 ? " " : "",
                     (long long)json_integer_value(json_object_get(weight, "index")),
                     number_of(weight, "value"));
    }
    (void)printf(table ? "  (%zu)  " : "\t", json_array_size(weights));
    print_cell(text, '\n');
}

bool print_sparse(struct class_printer *printer, const struct sl_buffer *body,
                  const char *const *texts, int count, struct client_error *failure)
{
    json_t *response = parse(body);
    const bool good = json_array_size(response) == (size_t)count;
    for (int i = 0; good && i < count; i++) {
        json_t *weights = json_array_get(response, (size_t)i);
        if (printer->format == PRINT_OBJECTS)
            print_object(texts[i], "embedding", json_incref(weights));
        else
            print_weights(printer, weights, texts[i]);
        printer->texts++;
    }
    json_decref(response);
    return good ||
           client_error_set(failure, EXIT_FAILED, "malformed response: no sparse embeddings in it");
}
