/* response_schemas.h - what responses hold, for the OpenAPI document. Tests compare it with the
 * responses themselves. */
#pragma once

/* One member of a schema. All members of a schema are rows one after another. */
struct sv_response_member {
    const char *schema;
    const char *name; /* with '?' at the end: may be absent; NULL: the schema is this type */
    const char *type; /* as in json/schema_writer.h */
    const char *help; /* NULL: the name says it */
};

/* The name of a row that stands for the thresholds of all architectures. */
#define SV_THRESHOLDS "(threshold)?"

/* NULL schema at the end. */
extern const struct sv_response_member sv_response_members[];
