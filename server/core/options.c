/* options.c - the table of options, and the values of one. */
#include "core/options.h"
#include "base/option_parser.h"
#include "core/options_table.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct sv_option_row sv_option_rows[] = {
#define SV_OPTION(section, name, kind, fallback, min, max, among, help)                            \
    {section,  #name, SV_OPTION_##kind,                                                            \
     fallback, min,   max,                                                                         \
     among,    help,  offsetof(struct sv_options, name)},
#include "core/options.def"
#undef SV_OPTION
};

const struct sv_option_row *sv_option_find(const char *name)
{
    for (int i = 0; i < SV_OPTION_COUNT; i++)
        if (strcmp(sv_option_rows[i].name, name) == 0)
            return &sv_option_rows[i];
    return NULL;
}

const char *sv_options_name(int index)
{
    return index < SV_OPTION_COUNT ? sv_option_rows[index].name : NULL;
}

bool sv_option_hide_controls(struct sl_err *err)
{
    for (char *c = err->text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return false;
}

bool sv_options_unknown(const char *name, struct sl_err *err)
{
    const char *names[SV_OPTION_COUNT + 1] = {NULL};
    char advice[SL_NAME_ADVICE_BYTES];
    for (int i = 0; i < SV_OPTION_COUNT; i++)
        names[i] = sv_option_rows[i].name;
    (void)sl_fail(err, SL_BAD_INPUT, "unknown key '%s'; %s", name,
                  sl_name_advice(advice, name, names));
    (void)sv_option_hide_controls(err);
    return sl_err_set_field(err, name);
}

void sv_option_add_words(const char *words, struct sl_buffer *out)
{
    for (; *words; words++)
        sl_buffer_append_string(out, *words == ' ' ? ", " : (const char[]){*words, '\0'});
}

static bool is_among(const char *words, const char *value)
{
    size_t length = strlen(value);
    for (const char *w = words; *w; w += strcspn(w, " "), w += strspn(w, " "))
        if (strcspn(w, " ") == length && strncmp(w, value, length) == 0)
            return true;
    return false;
}

static bool fail_word(const struct sv_setting *s, struct sl_err *err)
{
    struct sl_buffer words = {0};
    sv_option_add_words(s->row->among, &words);
    (void)sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected one of: %s", s->name, s->value,
                  words.failed ? s->row->among : words.data);
    sl_buffer_release(&words);
    return false;
}

static bool set_text(const struct sv_setting *s, char *to, struct sl_err *err)
{
    const struct sv_option_row *row = s->row;
    if (row->among && !is_among(row->among, s->value))
        return fail_word(s, err);
    size_t length = strlen(s->value);
    if ((int64_t)length < row->min || (int64_t)length > row->max)
        return sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected %lld to %lld bytes",
                       s->name, s->value, (long long)row->min, (long long)row->max);
    memcpy(to, s->value, length + 1);
    return true;
}

/* Decimal digits only, without leading zeros: YAML 1.1 reads 064 as 52. */
static bool is_plain_integer(const char *value)
{
    const char *digits = value + (*value == '-');
    return digits[strspn(digits, "0123456789")] == '\0' && (digits[0] != '0' || digits[1] == '\0');
}

static bool set_int(const struct sv_setting *s, int64_t *to, struct sl_err *err)
{
    double min = (double)s->row->min, max = (double)s->row->max;
    return (is_plain_integer(s->value) && sl_whole_parse(s->value, min, max, to)) ||
           sl_fail_whole(err, s->name, s->value, min, max);
}

static bool set_bool(const struct sv_setting *s, bool *to, struct sl_err *err)
{
    return sl_bool_parse(s->value, to) ||
           sl_fail(err, SL_BAD_INPUT, "invalid %s '%.64s': expected true or false", s->name,
                   s->value);
}

bool sv_option_set(struct sv_options *options, const struct sv_setting *s, struct sl_err *err)
{
    char *to = (char *)options + s->row->offset;
    bool good = false;
    switch (s->row->kind) {
    case SV_OPTION_TEXT: good = set_text(s, to, err); break;
    case SV_OPTION_INT: good = set_int(s, (int64_t *)(void *)to, err); break;
    case SV_OPTION_BOOL: good = set_bool(s, (bool *)to, err); break;
    }
    return good || sv_option_hide_controls(err);
}

bool sv_options_set(struct sv_options *options, const char *name, const char *value,
                    struct sl_err *err)
{
    const struct sv_setting s = {sv_option_find(name), name, value};
    return s.row ? sv_option_set(options, &s, err) : sv_options_unknown(name, err);
}

void sv_options_defaults(struct sv_options *options)
{
    struct sl_err err;
    *options = (struct sv_options){0};
    for (int i = 0; i < SV_OPTION_COUNT; i++) {
        bool fits =
            sv_options_set(options, sv_option_rows[i].name, sv_option_rows[i].fallback, &err);
        assert(fits);
        (void)fits;
    }
}

const char *sv_options_show(const struct sv_options *options, int index, struct sl_buffer *value)
{
    if (index >= SV_OPTION_COUNT)
        return NULL;
    const struct sv_option_row *row = &sv_option_rows[index];
    const char *from = (const char *)options + row->offset;
    sl_buffer_clear(value);
    switch (row->kind) {
    case SV_OPTION_TEXT: sl_buffer_append_string(value, from); break;
    case SV_OPTION_INT: sl_buffer_append_int(value, *(const int64_t *)(const void *)from); break;
    case SV_OPTION_BOOL:
        sl_buffer_append_string(value, *(const bool *)from ? "true" : "false");
        break;
    }
    return row->name;
}

void sv_option_file(const char *given, const char *credential,
                    char path[static SV_CREDENTIAL_PATH_MAX])
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY"); // NOLINT(concurrency-mt-unsafe)
    int length = snprintf(path, SV_CREDENTIAL_PATH_MAX, "%s", given);
    if (length > 0 || !directory)
        return;
    length = snprintf(path, SV_CREDENTIAL_PATH_MAX, "%s/%s", directory, credential);
    if (length >= SV_CREDENTIAL_PATH_MAX || access(path, F_OK) != 0)
        path[0] = '\0';
}

const char *sv_options_chosen(const char *value)
{
    return strcmp(value, "auto") == 0 ? NULL : value;
}

bool sv_options_is_default(const struct sv_options *options, int index)
{
    struct sv_options defaults;
    struct sl_buffer mine = {0}, standard = {0};
    sv_options_defaults(&defaults);
    const char *name = sv_options_show(options, index, &mine);
    assert(name);
    (void)name;
    (void)sv_options_show(&defaults, index, &standard);
    bool same = !mine.failed && !standard.failed && strcmp(mine.data, standard.data) == 0;
    sl_buffer_release(&mine);
    sl_buffer_release(&standard);
    return same;
}
