/* tokenize_options.c - the fields of a request that say how its texts become tokens. */
#include "json/tokenize_options.h"

#include <stdio.h>
#include <strings.h>

const char sv_naming[] =
    "A model is named by the path, /models/{name}/..., by ?model= or by the header X-Model.";

/* One of two words, in small letters or large as clients differ, or none, which is the first. */
static bool check_word(const struct sv_string *given, bool in_parameters, const char *name,
                       const char *const words[2], bool *is_second, struct sv_problem *problem)
{
    char param[SV_PARAM_MAX];
    (void)snprintf(param, sizeof param, "%s%s", in_parameters ? "parameters." : "", name);
    *is_second = given->data && strcasecmp(given->data, words[1]) == 0;
    if (!given->data || *is_second || strcasecmp(given->data, words[0]) == 0)
        return true;
    return sv_refuse(problem, SV_BAD_VALUE, param, "'%s' must be \"%s\" or \"%s\", not \"%s\".",
                     param, words[0], words[1], given->data);
}

static bool check_unknown(const struct sv_string *word, bool in_parameters, bool *replaces_unknown,
                          struct sv_problem *problem)
{
    static const char *const words[] = {"error", "replace"};
    return check_word(word, in_parameters, "unknown_characters", words, replaces_unknown, problem);
}

bool sv_unknown_check(const struct sv_string *word, bool *replaces_unknown,
                      struct sv_problem *problem)
{
    return check_unknown(word, /* in_parameters= */ false, replaces_unknown, problem);
}

bool sv_reading_check(struct sv_reading *reading, struct sv_problem *problem)
{
    static const char *const directions[] = {"Right", "Left"};
    return check_word(&reading->direction, reading->in_parameters, "truncation_direction",
                      directions, &reading->from_left, problem) &&
           check_unknown(&reading->unknown, reading->in_parameters, &reading->replaces_unknown,
                         problem);
}
