/* response_schemas.h - what responses hold, for the OpenAPI document. Tests compare it with the
 * responses themselves. */
#pragma once

struct sv_response_schema {
    const char *name;
    /* A type (json/schema_writer.h), with help in parentheses or without: `[string] (of a list)`.
     * Or the members of an object, as `name: type (help); name?: type`, where '?' says that one may
     * be absent; the name <threshold> stands for the thresholds of all architectures. */
    const char *members;
};

/* NULL at the end. */
extern const struct sv_response_schema sv_response_schemas[];
