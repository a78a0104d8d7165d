/* options_check.c - checks that go beyond the value of one option: all together, against the disk,
 * and names in the environment. */
#include "base/option_parser.h"
#include "core/log.h"
#include "core/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sv_options_check(const struct sv_options *options, struct sl_err *err)
{
    if (options->max_batch_tokens < options->max_sequences)
        return sl_fail(err, SL_BAD_INPUT,
                       "max_batch_tokens: %lld is less than max_sequences (%lld); every running "
                       "sequence needs a token in each step",
                       (long long)options->max_batch_tokens, (long long)options->max_sequences);
    int64_t capacity = options->classify_max_batch_size + options->classify_max_queue_size;
    if (options->max_client_batch_size > capacity)
        return sl_fail(err, SL_BAD_INPUT,
                       "max_client_batch_size: %lld is more than classify_max_batch_size plus "
                       "classify_max_queue_size (%lld); such a request could never be admitted",
                       (long long)options->max_client_batch_size, (long long)capacity);
    return true;
}

bool sv_options_check_paths(const struct sv_options *options, struct sl_err *err)
{
    struct stat status;
    const char *trainer = options->trainer, *data = options->data_directory;
    if (trainer[0] && access(trainer, X_OK) != 0)
        return sl_fail(err, SL_BAD_INPUT, "trainer: cannot run '%s': %s", trainer,
                       strerrordesc_np(errno));
    if (!data[0])
        return true;
    if (stat(data, &status) != 0)
        return sl_fail(err, SL_BAD_INPUT, "data_directory: cannot open '%s': %s", data,
                       strerrordesc_np(errno));
    return S_ISDIR(status.st_mode) ||
           sl_fail(err, SL_BAD_INPUT, "data_directory: '%s' is not a directory", data);
}

/* ---- the environment ------------------------------------------------------------------------- */

static const char prefix[] = "SLUICE_";

/* Variables that are no options: of every program, or of sluicectl. */
static const char *const others[] = {"config",  "isa",    "url",     "admin_url",
                                     "api_key", "models", "encoder", NULL};

enum { NAMES_MAX = 128, NAME_BYTES = 64 };

/* All names that may follow the prefix, in small letters. */
static void list_names(const char *names[static NAMES_MAX])
{
    int count = 0;
    for (int i = 0; others[i]; i++)
        names[count++] = others[i];
    for (int i = 0; sv_options_name(i) && count < NAMES_MAX - 1; i++)
        names[count++] = sv_options_name(i);
    names[count] = NULL;
}

static bool is_listed(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static void warn(FILE *to, const char *name, const char *meant)
{
    if (to)
        (void)fprintf(to, "sluiced: warning: %s is ignored: there is no such option%s%s%s\n", name,
                      meant[0] ? "; did you mean " : "", meant, meant[0] ? "?" : "");
    else
        SV_LOG(SV_LOG_WARN, "environment variable ignored: no such option", sv_str("name", name),
               sv_str("similar", meant));
}

static void to_lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static void to_upper(char *text)
{
    for (; *text; text++)
        *text = (char)toupper((unsigned char)*text);
}

void sv_options_warn_unknown_variables(FILE *to)
{
    const char *names[NAMES_MAX];
    char name[NAME_BYTES], given[NAME_BYTES + sizeof prefix], meant[NAME_BYTES + sizeof prefix];
    list_names(names);
    for (char **variable = environ; variable && *variable; variable++) {
        if (strncmp(*variable, prefix, sizeof prefix - 1) != 0)
            continue;
        const char *text = *variable + sizeof prefix - 1;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
        (void)snprintf(given, sizeof given, "%s%s", prefix, name);
        to_lower(name);
        if (is_listed(name, names))
            continue;
        const char *close = sl_name_suggest(name, names);
        (void)snprintf(meant, sizeof meant, "%s%s", close ? prefix : "", close ? close : "");
        to_upper(meant);
        warn(to, given, meant);
    }
}
