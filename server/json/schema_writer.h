/* schema_writer.h - JSON Schemas (2020-12) of request bodies and responses, for the OpenAPI
 * document. Those of request bodies are made from the tables that read them.
 *
 * A type is a text:
 *
 *     string integer number boolean null object any binary    what JSON or OpenAPI calls so;
 *                                                             an `object` has any members
 *     size token          an integer from 0; a token id
 *     'word'              this string
 *     [T]                 an array of T
 *     {T}                 an object with members of any name, which are T
 *     @                   an object with the subfields of the field
 *     Name                the component of this name
 *     T*                  a T with the bounds of the field: its value, or how much it holds
 *     T|U                 one or the other
 */
#pragma once

#include "base/json_writer.h"
#include "json/json_schema.h"

/* The schema of a type outside of tables of fields: without @ and *. */
void sv_schema_write_type(struct sl_json_writer *json, const char *type);
/* The same with a description; NULL: none. */
void sv_schema_write_described(struct sl_json_writer *json, const char *type, const char *help);
/* The schema of an object with these fields and no others. Optional ones may be null. */
void sv_schema_write_fields(struct sl_json_writer *json, const struct sv_field *fields);
/* Whether one of them must be given. */
bool sv_schema_is_required(const struct sv_field *fields);
