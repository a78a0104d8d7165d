/* ctl_keys.c - sluicectl keys: makes API keys and lines of a keys file; sends nothing. */
#include "base/api_key.h"
#include "base/json_writer.h"
#include "sluicectl/ctl_command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arguments {
    const char *expires, *save_key;
};

static const struct sl_option rows[] = {
    {"expires", "DATE", "moment from which the key is invalid: YYYY-MM-DD[Thh:mm:ssZ] [never]",
     SL_OPTION_STRING, offsetof(struct arguments, expires), 0, 0},
    {"save-key", "FILE", "write a new key to FILE, mode 0600, instead of standard error",
     SL_OPTION_STRING, offsetof(struct arguments, save_key), 0, 0},
    {0}};

/* ---- create and hash ------------------------------------------------------------------------- */

/* A file that exists stays: it may be the only copy of a key. */
static bool save(const char *path, const char *text, struct client_error *failure)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool written = file && fprintf(file, "%s\n", text) > 0;
    if (file && fclose(file) != 0)
        written = false;
    if (!written && errno == EEXIST)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "--save-key '%s' exists, and may be the only copy of a key; give "
                                "another FILE",
                                path);
    return written || client_error_set(failure, EXIT_BAD_INPUT, "cannot write --save-key '%s': %s",
                                       path, strerrordesc_np(errno));
}

static bool show(const struct arguments *a, const char *text, struct client_error *failure)
{
    if (a->save_key)
        return save(a->save_key, text, failure);
    (void)fprintf(stderr, "%s\n", text);
    return true;
}

static bool make_line(const struct ctl_options *ctl, const struct arguments *a, const char *text,
                      struct sl_buffer *line, struct client_error *failure)
{
    struct sl_err err;
    struct sl_api_key key = {0};
    if (!sl_api_key_set_name(&key, ctl->operands[1], &err) ||
        !sl_api_key_set_scopes(&key, ctl->operands[2], &err) ||
        (a->expires && !sl_api_key_set_expires(&key, a->expires, &err)))
        return client_error_wrap(failure, EXIT_BAD_INPUT, &err);
    if (key.expires > 0 && key.expires <= (int64_t)time(NULL))
        (void)fprintf(stderr, "sluicectl: warning: %s is in the past: the key is expired\n",
                      a->expires);
    sl_api_key_hash(text, key.hash);
    sl_api_key_write(&key, line);
    return !line->failed || client_error_no_memory(failure);
}

/* Without its newline in JSON. */
static bool print_line(const struct ctl_options *ctl, struct sl_buffer *line,
                       struct client_error *failure)
{
    assert(line->data);
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    if (!ctl->json)
        return fputs(line->data, stdout) >= 0;
    line->data[strcspn(line->data, "\n")] = '\0';
    sl_json_add(&json, "{'line':%s}", line->data);
    bool good = !out.failed && puts(out.data) >= 0;
    sl_buffer_release(&out);
    return good || client_error_no_memory(failure);
}

static bool create(const struct ctl_options *ctl, const struct arguments *a,
                   struct client_error *failure)
{
    struct sl_err err;
    struct sl_buffer line = {0};
    char text[SL_API_KEY_BYTES + 1];
    if (!sl_api_key_create(text, &err))
        return client_error_wrap(failure, EXIT_FAILED, &err);
    /* The key first: a line without its key would be useless. */
    bool good = make_line(ctl, a, text, &line, failure) && show(a, text, failure) &&
                print_line(ctl, &line, failure);
    sl_buffer_release(&line);
    return good;
}

static bool hash(const struct ctl_options *ctl, const struct arguments *a,
                 struct client_error *failure)
{
    struct sl_err err;
    struct sl_buffer line = {0};
    char text[SL_API_KEY_BYTES_MAX + 3];
    if (!fgets(text, sizeof text, stdin))
        text[0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (!text[0])
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing key: keys hash reads one from standard input");
    if (!sl_api_key_check(text, &err))
        return client_error_wrap(failure, EXIT_BAD_INPUT, &err);
    bool good = make_line(ctl, a, text, &line, failure) && print_line(ctl, &line, failure);
    sl_buffer_release(&line);
    return good;
}

/* ---- list ------------------------------------------------------------------------------------ */

static void add_key(const struct sl_api_key *key, struct sl_json_writer *json)
{
    sl_json_add(json, "{'name':%s,'scopes':[", key->name);
    for (int i = 0; i < SL_SCOPE_COUNT; i++)
        if (key->scopes & 1u << i)
            sl_json_add_string(json, sl_scope_name((enum sl_scope)i));
    sl_json_add(json, "],'expires_at':");
    sl_json_add_positive(json, key->expires);
    sl_json_end_object(json);
}

static void print_key(const struct sl_api_key *key)
{
    char scopes[SL_SCOPE_LIST_MAX], date[32] = "never";
    const time_t expires = (time_t)key->expires;
    struct tm tm;
    if (key->expires > 0 && gmtime_r(&expires, &tm))
        (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    bool expired = key->expires > 0 && (int64_t)time(NULL) >= key->expires;
    (void)printf("%-24s %-26s %s%s\n", key->name, sl_scope_list(key->scopes, scopes), date,
                 expired ? " (expired)" : "");
}

/* json NULL: as a table */
static bool print_keys(FILE *file, const char *path, struct sl_json_writer *json,
                       struct client_error *failure)
{
    char line[1024];
    struct sl_err err;
    struct sl_api_key key;
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *start = line + strspn(line, " \t");
        if (*start == '\0' || *start == '#')
            continue;
        if (!sl_api_key_read(&key, line, &err))
            return client_error_set(failure, EXIT_BAD_INPUT, "'%s': line %d: %s", path, number,
                                    err.text);
        if (json)
            add_key(&key, json);
        else
            print_key(&key);
    }
    return true;
}

static bool print_json(FILE *file, const char *path, struct client_error *failure)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    sl_json_begin_array(&json);
    bool good = print_keys(file, path, &json, failure);
    sl_json_end_array(&json);
    if (good && (out.failed || puts(out.data) < 0))
        good = client_error_no_memory(failure);
    sl_buffer_release(&out);
    return good;
}

static bool list(const struct ctl_options *ctl, const struct arguments *a,
                 struct client_error *failure)
{
    const char *path = ctl->operands[1];
    FILE *file = fopen(path, "re");
    (void)a;
    if (!file)
        return client_error_set(failure, EXIT_BAD_INPUT, "cannot read '%s': %s", path,
                                strerrordesc_np(errno));
    if (!ctl->json)
        (void)printf("%-24s %-26s %s\n", "NAME", "SCOPES", "EXPIRES");
    bool good = ctl->json ? print_json(file, path, failure) : print_keys(file, path, NULL, failure);
    (void)fclose(file);
    return good;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name, *usage;
    int operands;
    bool makes_line; /* with --expires */
    bool makes_key;  /* with --save-key */
    bool (*run)(const struct ctl_options *ctl, const struct arguments *a,
                struct client_error *failure);
} actions[] = {{"create", "keys create NAME SCOPES", 2, true, true, create},
               {"hash", "keys hash NAME SCOPES <KEY", 2, true, false, hash},
               {"list", "keys list FILE", 1, false, false, list}};

static bool fail_action(const char *given, struct client_error *failure)
{
    if (!given)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "missing action; choose one of: create, hash, list");
    return client_error_set(failure, EXIT_BAD_INPUT,
                            "unknown action '%.64s'; choose one of: create, hash, list", given);
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct arguments *a = ctl->values;
    const char *operand = ctl->operands[0];
    size_t i = 0, count = sizeof actions / sizeof actions[0];
    while (operand && i < count && strcmp(actions[i].name, operand) != 0)
        i++;
    if (!operand || i == count)
        return fail_action(operand, failure);
    if ((a->expires && !actions[i].makes_line) || (a->save_key && !actions[i].makes_key))
        return client_error_set(failure, EXIT_BAD_INPUT, "--%s has no effect with %s",
                                a->save_key ? "save-key" : "expires", operand);
    int operands = 1 + actions[i].operands;
    return ctl_check_operands(ctl, operands, operands, actions[i].usage, failure) &&
           actions[i].run(ctl, a, failure);
}

const struct ctl_command ctl_keys = {
    .name = "keys",
    .operand = "ACTION",
    .help = "make API keys for the daemon's api_keys_file",
    .example = "create web infer,metrics --save-key web.key >>api_keys",
    .notes = "Actions:\n"
             "  create NAME SCOPES  make a key; print the line for the keys file, and on\n"
             "                      standard error the key, which is shown only once;\n"
             "                      --save-key FILE writes it to a file instead\n"
             "  hash NAME SCOPES    read a key that you have from standard input; print the line\n"
             "                      for the keys file, which holds its hash\n"
             "  list FILE           print the names, scopes and dates of a keys file\n"
             "SCOPES are infer, metrics, train and admin, separated by commas.\n",
    .takes_many = true,
    .is_local = true,
    .rows = rows,
    .values_bytes = sizeof(struct arguments),
    .run = run};
