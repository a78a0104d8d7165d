/* json_schema.h - reads JSON bodies into structs, by tables of fields. It knows no HTTP.
 *
 * What does not fit is rejected with the field's name and what would be accepted: unknown fields
 * (unless the table says SV_OTHERS_IGNORED) and repeated ones, wrong types, numbers out of range, a
 * NUL inside a string. `null` is the same as leaving a field out. Strings belong to the document:
 * release it last. */
#pragma once

#include "base/buffer.h"
#include "core/limits.h"
#include "core/request_error.h"
#include "json/json_document.h"
#include "json/json_fields.h"

/* The fields of `subfields`, in the same struct; or in the structs of a sv_list of `min` to `max`
 * objects. */
extern const struct sv_field_type sv_type_object, sv_type_list;

/* Rows of a table. What follows the bounds are members by name, `.help` among them. */
#define SV_FIELD(json_name, type, offset_, min_, max_, ...)                                        \
    {                                                                                              \
        .name = json_name, .kind = SV_FIELD_##type, .offset = offset_, .min = min_, .max = max_,   \
        __VA_ARGS__                                                                                \
    }
#define SV_CUSTOM_FIELD(json_name, type_, offset_, min_, max_, ...)                                \
    SV_FIELD(json_name, CUSTOM, offset_, min_, max_, .type = &type_, __VA_ARGS__)
#define SV_OBJECT_FIELD(json_name, fields, ...)                                                    \
    SV_CUSTOM_FIELD(json_name, sv_type_object, 0, 0, 0, .subfields = fields, __VA_ARGS__)
#define SV_LIST_FIELD(json_name, offset_, min_, max_, fields, type, ...)                           \
    SV_CUSTOM_FIELD(json_name, sv_type_list, offset_, min_, max_, .subfields = fields,             \
                    .size = sizeof(type), __VA_ARGS__)
#define SV_KEYWORD_FIELD(json_name, words, ...)                                                    \
    SV_FIELD(json_name, KEYWORD, 0, 0, 0, .keywords = words, __VA_ARGS__)
#define SV_ENUM_FIELD(json_name, offset_, first, words, ...)                                       \
    SV_FIELD(json_name, ENUM, offset_, first, 0, .keywords = words, __VA_ARGS__)
#define SV_IGNORED_FIELD(json_name, max_)                                                          \
    SV_FIELD(json_name, IGNORED, 0, 0, max_, .help = "ignored")
/* The last row where other servers ignore what they do not know; elsewhere it is an error. */
#define SV_OTHERS_IGNORED                                                                          \
    {                                                                                              \
        .kind = SV_FIELD_END, .ignores_others = true                                               \
    }
#define SV_UNSUPPORTED_FIELD(json_name, advice)                                                    \
    SV_FIELD(json_name, UNSUPPORTED, 0, 0, 0, .help = (advice))

/* Reads a body into `to`, a zeroed struct, as the table says, defaults included. Then `check` looks
 * at what no table can say; it may be NULL. Returns NULL on failure, with the error. */
struct sv_json_document *sv_json_read(const struct sl_buffer *body, const struct sv_field *fields,
                                      bool (*check)(void *to, struct sv_error *error), void *to,
                                      struct sv_error *error) SL_MUST_CHECK;
