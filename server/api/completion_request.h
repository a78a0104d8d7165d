/* completion_request.h - a request for completions, of texts or of a conversation, from its body to
 * its answer. */
#pragma once

#include "core/request.h"
#include "params/completion_params.h"
#include "registry/registry.h"
#include "json/completion_response.h"

/* In what the two kinds differ. */
struct sv_completion_api {
    const struct sv_completion_format *format;
    const char *prompt; /* the field that has it, for messages */
    /* Reads the body. NULL: see error. */
    struct sv_json_document *(*read)(const struct sl_buffer *body,
                                     struct sv_completion_params *params, struct sv_error *error);
    /* Sets the prompt once the model is known; NULL: it is read. */
    bool (*write_prompt)(const struct sv_model_ref *ref, struct sv_completion_params *params,
                         struct sv_error *error);
    /* Says that the prompt has too many tokens; returns false. */
    bool (*fail_length)(const struct sv_model_ref *ref, const char *param, int tokens,
                        struct sv_error *error);
};

enum sv_progress sv_complete(struct sv_request *request, const struct sv_completion_api *api);
