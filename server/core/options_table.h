/* options_table.h - the rows of options.def, for the files that read and print options. */
#pragma once

#include "core/options.h"

enum sv_option_kind { SV_OPTION_TEXT, SV_OPTION_INT, SV_OPTION_BOOL };

struct sv_option_row {
    const char *section, *name;
    enum sv_option_kind kind;
    const char *fallback;
    int64_t min, max;
    const char *among; /* accepted words, separated by spaces; NULL: any */
    const char *help;
    size_t offset;
};

enum {

#define SV_OPTION(section, name, kind, fallback, min, max, among, help) SV_OPTION_AT_##name,
#include "core/options.def"
#undef SV_OPTION
    SV_OPTION_COUNT
};

extern const struct sv_option_row sv_option_rows[];

/* NULL: there is none of that name. */
const struct sv_option_row *sv_option_find(const char *name);
/* The accepted words of a row, as a list for people. */
void sv_option_add_words(const char *words, struct sl_buffer *out);
/* A value repeated in a message must not control the terminal. Returns false. */
bool sv_option_hide_controls(struct sl_err *err);

/* One value on its way into an option. Errors call the option by `name`: as its source spells it.
 */
struct sv_setting {
    const struct sv_option_row *row;
    const char *name, *value;
};

bool sv_option_set(struct sv_options *options, const struct sv_setting *s, struct sl_err *err);
