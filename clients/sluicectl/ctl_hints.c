/* ctl_hints.c - what the user of a command line can do about the daemon's errors, by their code. */
#include "sluicectl/ctl_hints.h"
#include "sluicectl/ctl_connection.h"

#include <stdio.h>
#include <string.h>

/* For commands that sent a key, that sent none, or all. */
enum key_use { ANY, WITH_KEY, WITHOUT_KEY };

static const struct {
    const char *code, *option; /* for commands with this option; NULL: all */
    enum key_use use;
    bool replaces_message; /* the daemon's, which advises on HTTP requests; or only the sentence */
    const char *advice;    /* that begins so; NULL: none */
    const char *text;      /* %s: where the key came from */
} hints[] = {
    {"context_length_exceeded", "truncate", ANY, false, " Set \"truncate\"",
     "use --truncate=SIDE to cut texts that are too long"},
    {"unknown_characters", "replace", ANY, false, " Set \"unknown_characters\"",
     "use --replace to replace unknown characters"},
    {"missing_required_parameter", "model", ANY, false, NULL, "use --model NAME to choose a model"},
    {"invalid_api_key", NULL, WITHOUT_KEY, true, NULL,
     "the daemon requires an API key; give one with --api-key-file FILE or SLUICE_API_KEY"},
    {"invalid_api_key", NULL, WITH_KEY, false, NULL, "the key came from %s"},
    {"permission_denied", NULL, WITHOUT_KEY, false, NULL,
     "--url is the address of the inference listener, --admin-url that of the admin listener"},
    {"not_found", NULL, ANY, true, NULL,
     "no such endpoint; give an address without a path, as in http://HOST:PORT"},
};

static bool has_option(const struct ctl_command *command, const char *name)
{
    const struct sl_option *row = command->rows;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    return row->name != NULL;
}

static bool is_for(enum key_use use, const struct ctl_options *ctl)
{
    return use == ANY || (use == WITH_KEY) == (ctl->key[0] != '\0');
}

void ctl_remove_advice(struct client_error *failure)
{
    char *text = failure->err.text;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        const char *sentence = hints[i].advice;
        if (!sentence || strcmp(hints[i].code, failure->code) != 0)
            continue;
        char *begin = strstr(text, sentence), *end = strrchr(text, '(');
        if (begin && end > begin) /* up to the status and the id in brackets */
            memmove(begin + 1, end, strlen(end) + 1);
    }
}

void ctl_add_hint(const struct ctl_command *command, const struct ctl_options *ctl,
                  struct client_error *failure)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        const char *place = strstr(hints[i].text, "%s");
        if (strcmp(hints[i].code, failure->code) != 0 || !is_for(hints[i].use, ctl) ||
            (hints[i].option && !has_option(command, hints[i].option)))
            continue;
        int bytes = place ? (int)(place - hints[i].text) : (int)strlen(hints[i].text);
        (void)snprintf(failure->hint, sizeof failure->hint, "%.*s%s%s", bytes, hints[i].text,
                       place ? ctl_key_source(ctl) : "", place ? place + 2 : "");
        ctl_remove_advice(failure);
        if (hints[i].replaces_message)
            failure->err.text[0] = '\0';
        return;
    }
}
