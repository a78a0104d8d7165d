/* print_translations.c - translations, a line each, or as JSON. */
#include "sluicectl/print.h"
#include "sluicectl/response_json.h"

#include <jansson.h>
#include <stdio.h>

static void print_one(const struct class_printer *printer, const char *text,
                      const char *translation)
{
    if (printer->format != PRINT_OBJECTS) {
        print_cell(translation, '\n');
        return;
    }
    json_t *object = json_pack("{s:s, s:s}", "text", text, "translation", translation);
    (void)json_dumpf(object, stdout, JSON_COMPACT);
    (void)putchar('\n');
    json_decref(object);
}

bool print_translations(struct class_printer *printer, const struct sl_buffer *body,
                        const char *const *texts, int count, struct client_error *failure)
{
    json_t *response = response_parse(body->data, body->bytes, failure);
    const json_t *choices = json_object_get(response, "choices");
    bool good = json_array_size(choices) == (size_t)count;
    for (int i = 0; good && i < count; i++) {
        const json_t *choice = json_array_get(choices, (size_t)i);
        const char *translation = json_string_value(json_object_get(choice, "text"));
        good = translation;
        if (good)
            print_one(printer, texts[i], translation);
        printer->texts++;
    }
    if (response && !good)
        (void)client_error_set(failure, EXIT_FAILED, "malformed response: no translations in it");
    json_decref(response);
    return good;
}
