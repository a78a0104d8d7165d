/* endpoints.h - the table of endpoints (endpoint_table.def): its routes for http/, and what the
 * OpenAPI document says about each. */
#pragma once

#include "http/request_router.h"
#include "state/state_directory.h"
#include "json/json_schema.h"

/* A query parameter or a request header that an operation reads. */
struct sv_parameter {
    const char *in, *name; /* NULL at the end of a table */
    const char *type;      /* as in json/schema_writer.h */
    const char *help;
};

/* Reasons to fail besides those of every request, of its key and of its body. */
enum sv_fails {
    SV_FAILS_MODEL = 1,   /* it names a model */
    SV_FAILS_COMPUTE = 2, /* a model computes */
    SV_FAILS_STATE = 4,   /* it needs the state directory */
    SV_FAILS_FILE = 8,
    SV_FAILS_STORAGE = 16, /* it writes to the state directory */
    SV_FAILS_JOB = 32,
    SV_FAILS_CHANGE = 64, /* it changes which versions are served */
    SV_FAILS_HEALTH = 128,
    SV_FAILS_TIME = 256 /* it may take too long */
};

/* What an endpoint reads and responds. */
struct sv_operation {
    const char *id, *summary;
    unsigned fails;                /* sv_fails */
    const char *body;              /* name of the body's schema; NULL: no body */
    const struct sv_field *fields; /* of the body; NULL: the schema is in response_schemas.c */
    const char *body_media; /* a content type besides JSON, or instead of it without fields */
    const char *response;   /* JSON type of the body with status 200; NULL: none */
    const char *media;      /* a content type of the response besides JSON */
    bool may_be_accepted;   /* 202, with the same body */
    bool may_redirect;      /* 302, a browser to the web console */
    bool is_page;           /* a page of `collection` */
    enum sv_collection collection;
    bool takes_budget; /* the header X-Sluice-Budget */
    const struct sv_parameter *parameters;
};

extern const struct sv_router sv_routes;
