/* tokenize_options.c - the fields of a request that say how its texts become tokens. */
#include "json/tokenize_options.h"

#include <stdio.h>
#include <strings.h>

const char sv_model_naming_hint[] =
    "Name the model in the path (/models/{name}/...), with ?model= or with the header X-Model.";

/* One of two keywords, in any case because clients differ. Absent means the first. */
static bool check_keyword(const struct sv_string *given, bool in_parameters, const char *name,
                          const char *const keywords[2], bool *is_second, struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    (void)snprintf(param, sizeof param, "%s%s", in_parameters ? "parameters." : "", name);
    *is_second = given->data && strcasecmp(given->data, keywords[1]) == 0;
    if (!given->data || *is_second || strcasecmp(given->data, keywords[0]) == 0)
        return true;
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' must be \"%s\" or \"%s\", not \"%s\".",
                   param, keywords[0], keywords[1], given->data);
}

static bool check_unknown(const struct sv_string *keyword, bool in_parameters,
                          bool *replaces_unknown, struct sv_error *error)
{
    static const char *const keywords[] = {"error", "replace"};
    return check_keyword(keyword, in_parameters, "unknown_characters", keywords, replaces_unknown,
                         error);
}

bool sv_unknown_characters_check(const struct sv_string *keyword, bool *replaces_unknown,
                                 struct sv_error *error)
{
    return check_unknown(keyword, /* in_parameters= */ false, replaces_unknown, error);
}

bool sv_tokenize_options_check(struct sv_tokenize_options *tokenize, struct sv_error *error)
{
    static const char *const directions[] = {"Right", "Left"};
    bool from_left = false;
    bool good = check_keyword(&tokenize->direction, tokenize->in_parameters, "truncation_direction",
                              directions, &from_left, error);
    tokenize->side = !tokenize->direction.data ? SL_TRUNCATE_DEFAULT
                     : from_left               ? SL_TRUNCATE_LEFT
                                               : SL_TRUNCATE_RIGHT;
    return good && check_unknown(&tokenize->unknown, tokenize->in_parameters,
                                 &tokenize->replaces_unknown, error);
}
