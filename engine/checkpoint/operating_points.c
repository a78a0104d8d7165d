/* operating_points.c - the operating points in config.json. */
#include "checkpoint/operating_points.h"
#include "formats/json_io.h"

#include <jansson.h>
#include <math.h>

static const char member[] = "operating_points";

/* -- reading --------------------------------------------------------------------------------- */

/* A number within its bounds, or null where that is allowed, which is NAN. */
struct number {
    const char *key;
    double min, max;
    bool may_be_null;
    size_t offset; /* of a double in struct sl_operating_point */
};

enum { NUMBERS = 5 };

static void list_numbers(const struct sl_param *threshold, struct number numbers[NUMBERS])
{
    const struct number all[NUMBERS] = {
        {"budget", 0, 1, false, offsetof(struct sl_operating_point, budget)},
        {threshold->name, threshold->min, threshold->max, false,
         offsetof(struct sl_operating_point, threshold)},
        {"loss", 0, 1e6, false, offsetof(struct sl_operating_point, loss)},
        {"accuracy", 0, 1, true, offsetof(struct sl_operating_point, accuracy)},
        {"layer_ops_skipped", 0, 1, false, offsetof(struct sl_operating_point, layer_ops_skipped)}};
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = all[i];
}

static double *member_of(struct sl_operating_point *point, const struct number *number)
{
    return (double *)(void *)((char *)point + number->offset);
}

static bool read_number(const json_t *object, const struct number *number,
                        struct sl_operating_point *point, struct sl_err *err)
{
    const json_t *value = json_object_get(object, number->key);
    double *to = member_of(point, number);
    *to = (double)NAN;
    if (number->may_be_null && (!value || json_is_null(value)))
        return true;
    if (!value)
        return sl_fail(err, SL_CORRUPT, "'%s' is missing: expected a number from %g to %g",
                       number->key, number->min, number->max);
    *to = json_number_value(value);
    return (json_is_number(value) && *to >= number->min && *to <= number->max) ||
           sl_fail(err, SL_CORRUPT, "'%s' is %s: expected a number from %g to %g", number->key,
                   json_is_number(value) ? "out of range" : sl_json_type(value), number->min,
                   number->max);
}

static bool read_point(json_t *object, const struct sl_param *threshold,
                       struct sl_operating_point *point, struct sl_err *err)
{
    struct number numbers[NUMBERS];
    const char *keys[NUMBERS + 1] = {NULL};
    if (!json_is_object(object))
        return sl_fail(err, SL_CORRUPT, "%s: expected an object", sl_json_type(object));
    list_numbers(threshold, numbers);
    for (int i = 0; i < NUMBERS; i++)
        keys[i] = numbers[i].key;
    bool ok = sl_json_keys(object, keys, err);
    for (int i = 0; i < NUMBERS && ok; i++)
        ok = read_number(object, &numbers[i], point, err);
    return ok;
}

static bool check_budget(const struct sl_operating_point *points, int index, struct sl_err *err)
{
    double budget = points[index].budget;
    if (index == 0)
        return budget == 1 || sl_fail(err, SL_CORRUPT, "'budget' is %g: the first is 1", budget);
    return (budget > 0 && budget < points[index - 1].budget) ||
           sl_fail(err, SL_CORRUPT, "'budget' is %g: expected less than the one before, %g", budget,
                   points[index - 1].budget);
}

bool sl_operating_points_read(const json_t *root, const struct sl_arch *arch,
                              struct sl_operating_point *points, int *count, struct sl_err *err)
{
    const json_t *list = json_object_get(root, member);
    const struct sl_param *threshold = sl_policy_threshold(arch);
    size_t items = json_array_size(list);
    if (!list)
        return true;
    if (!threshold)
        return sl_fail(err, SL_CORRUPT, "'%s': %s models have no threshold", member, arch->name);
    if (!json_is_array(list) || items < 1 || items > SL_OPERATING_POINTS_MAX)
        return sl_fail(err, SL_CORRUPT, "'%s' is %s of %zu: expected an array of 1 to %d", member,
                       sl_json_type(list), items, SL_OPERATING_POINTS_MAX);
    for (int i = 0; i < (int)items; i++)
        if (!read_point(json_array_get(list, (size_t)i), threshold, &points[i], err) ||
            !check_budget(points, i, err))
            return sl_wrap(err, "%s: item %d", member, i);
    *count = (int)items;
    return true;
}

/* -- printing -------------------------------------------------------------------------------- */

static json_t *print_point(const struct sl_param *threshold, const struct sl_operating_point *point)
{
    struct number numbers[NUMBERS];
    struct sl_operating_point copy = *point;
    json_t *object = json_object();
    list_numbers(threshold, numbers);
    for (int i = 0; i < NUMBERS; i++) {
        double value = *member_of(&copy, &numbers[i]);
        (void)json_object_set_new(object, numbers[i].key,
                                  isnan(value) ? json_null() : json_real(value));
    }
    return object;
}

bool sl_operating_points_print(json_t *root, const struct sl_arch *arch,
                               const struct sl_operating_point *points, int count)
{
    const struct sl_param *threshold = sl_policy_threshold(arch);
    json_t *list = count > 0 ? json_array() : NULL;
    for (int i = 0; i < count; i++)
        (void)json_array_append_new(list, print_point(threshold, &points[i]));
    return count == 0 || json_object_set_new(root, member, list) == 0;
}
