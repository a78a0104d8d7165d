/* options_sample.c - conf/sluiced.yaml: every option with its help, at its default. */
#include "core/options_table.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { WRAP = 90 };

static void add_range(const struct sv_option_row *row, struct sl_buffer *out)
{
    if (row->among) {
        sl_buffer_append_string(out, " One of: ");
        sv_option_add_words(row->among, out);
        sl_buffer_append_string(out, ".");
    } else if (row->kind == SV_OPTION_INT)
        sl_buffer_printf(out, " From %lld to %lld.", (long long)row->min, (long long)row->max);
}

/* The text wrapped at spaces, `before` in front of each line. */
static void add_wrapped(struct sl_buffer *out, const char *before, const char *text)
{
    while (*text) {
        size_t length = strlen(text);
        if (length > WRAP) {
            length = WRAP;
            while (length > 0 && text[length] != ' ')
                length--;
        }
        assert(length > 0);
        sl_buffer_append_string(out, before);
        sl_buffer_append(out, text, length);
        sl_buffer_append_string(out, "\n");
        text += length + strspn(text + length, " ");
    }
}

static bool begins_section(int i)
{
    return i == 0 || strcmp(sv_option_rows[i].section, sv_option_rows[i - 1].section) != 0;
}

static void add_help(const struct sv_option_row *row, const char *before, struct sl_buffer *out)
{
    struct sl_buffer text = {0};
    sl_buffer_printf(&text, "%c%s.", toupper((unsigned char)row->help[0]), row->help + 1);
    add_range(row, &text);
    if (!text.failed)
        add_wrapped(out, before, text.data);
    sl_buffer_release(&text);
}

void sv_options_sample(struct sl_buffer *out)
{
    sl_buffer_append_string(
        out, "# sluiced.yaml - every option of the daemon at its default.\n"
             "# `sluiced --sample-config` prints this file. An unknown key is an error.\n");
    for (int i = 0; i < SV_OPTION_COUNT; i++) {
        if (begins_section(i))
            sl_buffer_printf(out, "\n# ---- %s ----\n", sv_option_rows[i].section);
        sl_buffer_append_string(out, "\n");
        add_help(&sv_option_rows[i], "# ", out);
        bool quoted = sv_option_rows[i].kind == SV_OPTION_TEXT && !sv_option_rows[i].among;
        sl_buffer_printf(out, quoted ? "%s: \"%s\"\n" : "%s: %s\n", sv_option_rows[i].name,
                         sv_option_rows[i].fallback);
    }
}
