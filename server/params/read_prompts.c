/* read_prompts.c - JSON into texts and token ids: prompts, lists of ids, biases of tokens. */
#include "params/field_types.h"
#include "json/json_field_reader.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The values that a field accepts, and the name of its elements, for messages. */
struct shape {
    const char *expected, *things;
};

static const struct shape of_prompts = {
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids",
    "texts"};
static const struct shape of_ids = {"an array of token ids, or an array of arrays of token ids",
                                    "arrays of token ids"};

/* The vocabulary's bound is checked once the model is known. */
static const char id_wanted[] = "a token id, an integer from 0 to 2147483647";

static bool take_ids(const struct sv_reader *r, const struct sv_field *field, const json_t *array,
                     struct sv_prompt *prompt)
{
    struct sv_indexed_field element;
    size_t count = json_array_size(array);
    if (count == 0)
        return sv_reader_check_count(r, field, count, "token ids");
    int32_t *ids = sv_reader_alloc(r, count, sizeof *ids);
    for (size_t i = 0; ids && i < count; i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return sv_reader_invalid(r, sv_reader_element(field, i, &element), item, id_wanted);
        ids[i] = (int32_t)id;
    }
    prompt->ids = ids;
    prompt->id_count = (int)count;
    return ids;
}

static bool make_prompts(const struct sv_reader *r, struct sv_prompts *prompts, size_t count)
{
    prompts->items = sv_reader_alloc(r, count, sizeof *prompts->items);
    prompts->count = (int)count;
    return prompts->items;
}

/* An element of an array whose elements all have one type. */
static bool read_item(const struct sv_reader *r, const struct sv_field *field, const json_t *item,
                      bool is_text, struct sv_prompt *prompt)
{
    if (is_text)
        return sv_reader_string(r, field, item, &prompt->text);
    if (!json_is_array(item))
        return sv_reader_invalid(r, field, item, "an array of token ids");
    return take_ids(r, field, item, prompt);
}

/* An array of ids, which is one prompt, or an array of prompts. */
static bool read_array(const struct sv_reader *r, const struct sv_field *field, const json_t *array,
                       const struct shape *shape)
{
    struct sv_prompts *prompts = sv_reader_target(r, field->offset);
    size_t count = json_array_size(array);
    if (json_is_integer(json_array_get(array, 0)))
        return make_prompts(r, prompts, 1) && take_ids(r, field, array, prompts->items);
    if (!sv_reader_check_count(r, field, count, shape->things) || !make_prompts(r, prompts, count))
        return false;
    const json_t *first = json_array_get(array, 0);
    bool texts = json_is_string(first);
    if (!texts && !json_is_array(first))
        return sv_reader_invalid(r, field, first, shape->expected);
    prompts->is_array = true;
    for (size_t i = 0; i < count; i++) {
        struct sv_indexed_field element;
        const struct sv_field *place = sv_reader_element(field, i, &element);
        if (!read_item(r, place, json_array_get(array, i), texts, &prompts->items[i]))
            return false;
    }
    return true;
}

static bool read_prompts(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_prompts *prompts = sv_reader_target(r, field->offset);
    if (json_is_array(value))
        return read_array(r, field, value, &of_prompts);
    if (!json_is_string(value))
        return sv_reader_invalid(r, field, value, of_prompts.expected);
    return make_prompts(r, prompts, 1) &&
           sv_reader_string(r, field, value, &prompts->items[0].text);
}

const struct sv_field_type sv_type_prompts = {read_prompts, "string|[string]*|[token]|[[token]]*"};

static bool read_ids(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    const json_t *first = json_array_get(value, 0);
    if (!json_is_array(value) || json_is_string(first))
        return sv_reader_invalid(r, field, first ? first : value, of_ids.expected);
    return read_array(r, field, value, &of_ids);
}

const struct sv_field_type sv_type_ids = {read_ids, "[token]|[[token]]*"};

/* ---- logit_bias ------------------------------------------------------------------------------ */

/* Each id has one spelling, so that two keys cannot name the same token. */
static bool is_id(const char *key, long *id)
{
    size_t digits = strspn(key, "0123456789");
    if (digits == 0 || key[digits] || (key[0] == '0' && digits > 1))
        return false;
    errno = 0;
    *id = strtol(key, NULL, 10);
    return errno == 0 && *id <= INT32_MAX;
}

static bool take_bias(const struct sv_reader *r, const struct sv_field *field, const char *key,
                      const json_t *value, struct sv_logit_bias *bias)
{
    long id;
    if (!is_id(key, &id))
        return sv_fail(
            r->error, SV_INVALID_VALUE, field->name,
            "'%s' has the key \"%.40s\"; keys must be token ids from 0 to %d, without spaces, "
            "signs or leading zeros.",
            field->name, key, INT32_MAX);
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= field->min) || !(number <= field->max)) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "an object of numbers from %g to %g", field->min,
                       field->max);
        return sv_reader_invalid(r, field, value, expected);
    }
    *bias = (struct sv_logit_bias){.id = (int32_t)id, .value = (float)number};
    return true;
}

static bool read_logit_bias(const struct sv_reader *r, const struct sv_field *field, json_t *value)
{
    struct sv_logit_biases *biases = sv_reader_target(r, field->offset);
    size_t count = json_object_size(value);
    if (!json_is_object(value) || count > SV_BIAS_MAX) {
        char expected[96];
        (void)snprintf(expected, sizeof expected, "an object with at most %d token ids as keys",
                       SV_BIAS_MAX);
        return sv_reader_invalid(r, field, value, expected);
    }
    struct sv_logit_bias *next = sv_reader_alloc(r, count, sizeof *next);
    if (!next)
        return false;
    *biases = (struct sv_logit_biases){.count = (int)count, .items = next};
    const char *key;
    json_t *item;
    json_object_foreach (value, key, item) {
        if (!take_bias(r, field, key, item, next++))
            return false;
    }
    return true;
}

const struct sv_field_type sv_type_logit_bias = {read_logit_bias, "{number*}"};
