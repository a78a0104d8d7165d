/* switches.c - the options of sluicectl's sub-commands. */
#include "sluicectl/switches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_range(const struct switch_row *row, const char *text, struct fault *fault)
{
    return fault_set(fault, EXIT_MISUSED, "--%s is '%s'; accepted is a %s from %.10g to %.10g",
                     row->name, text, row->kind == SWITCH_WHOLE ? "whole number" : "number",
                     row->least, row->most);
}

static bool put_whole(const struct switch_row *row, struct switch_whole *to, const char *text,
                      struct fault *fault)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno == ERANGE || (double)value < row->least ||
        (double)value > row->most)
        return out_of_range(row, text, fault);
    *to = (struct switch_whole){.given = true, .value = value};
    return true;
}

static bool put_number(const struct switch_row *row, struct switch_number *to, const char *text,
                       struct fault *fault)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < row->least || value > row->most)
        return out_of_range(row, text, fault);
    *to = (struct switch_number){.given = true, .value = value};
    return true;
}

static bool put_text(const struct switch_row *row, struct switch_texts *to, const char *text,
                     struct fault *fault)
{
    if (to->count == SWITCH_TEXTS_MAX)
        return fault_set(fault, EXIT_MISUSED, "--%s is there more than %d times", row->name,
                         SWITCH_TEXTS_MAX);
    to->items[to->count++] = text;
    return true;
}

static bool put(const struct switch_row *row, void *values, const char *text, struct fault *fault)
{
    void *at = (char *)values + row->offset;
    switch (row->kind) {
    case SWITCH_ON: *(bool *)at = true; return true;
    case SWITCH_TEXT: *(const char **)at = text; return true;
    case SWITCH_TEXTS: return put_text(row, at, text, fault);
    case SWITCH_WHOLE: return put_whole(row, at, text, fault);
    case SWITCH_NUMBER: return put_number(row, at, text, fault);
    }
    return false;
}

static const struct switch_row *find(const struct switch_row *rows, const char *name, size_t length)
{
    for (const struct switch_row *row = rows; row && row->name; row++)
        if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
            return row;
    return NULL;
}

static bool unknown(const struct switch_reader *reader, const char *word, struct fault *fault)
{
    char known[512] = "";
    size_t used = 0;
    for (int t = 0; t < SWITCH_TABLES; t++)
        for (const struct switch_row *r = reader->tables[t].rows; r && r->name; r++)
            if (used < sizeof known)
                used += (size_t)snprintf(known + used, sizeof known - used, " --%s", r->name);
    return fault_set(fault, EXIT_MISUSED, "%s is not an option here; there are:%s", word, known);
}

/* The option at words[*at]; *at moves past its value. */
static bool read_option(const struct switch_reader *reader, int count, char **words, int *at,
                        struct fault *fault)
{
    const char *word = words[*at] + 2, *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct switch_row *row = NULL;
    void *values = NULL;
    for (int t = 0; !row && t < SWITCH_TABLES; t++) {
        row = find(reader->tables[t].rows, word, length);
        values = reader->tables[t].values;
    }
    if (!row)
        return unknown(reader, words[*at], fault);
    if (row->kind == SWITCH_ON && equals)
        return fault_set(fault, EXIT_MISUSED, "--%s takes no value", row->name);
    const char *text = equals ? equals + 1 : NULL;
    if (row->kind != SWITCH_ON && !equals && *at + 1 < count)
        text = words[++*at];
    if (row->kind != SWITCH_ON && !text)
        return fault_set(fault, EXIT_MISUSED, "--%s needs a value", row->name);
    return put(row, values, text, fault);
}

static bool take_operand(struct switch_reader *reader, const char *word, struct fault *fault)
{
    if (reader->operand_count == reader->operands_most)
        return fault_set(fault, EXIT_MISUSED, "'%s' is one word too many", word);
    reader->operands[reader->operand_count++] = word;
    return true;
}

int switches_read(struct switch_reader *reader, int count, char **words, bool stop_at_operand,
                  struct fault *fault)
{
    bool options_end = false;
    int at = 0;
    for (; at < count; at++) {
        bool dashes = strncmp(words[at], "--", 2) == 0 && !options_end, good;
        if (!dashes && stop_at_operand)
            return at;
        if (dashes && words[at][2] == '\0')
            options_end = good = true;
        else
            good = dashes ? read_option(reader, count, words, &at, fault)
                          : take_operand(reader, words[at], fault);
        if (!good)
            return -1;
    }
    return at;
}

bool switches_have(const struct switch_row *rows, const char *name)
{
    return find(rows, name, strlen(name)) != NULL;
}

void switches_help(const struct switch_row *rows)
{
    for (const struct switch_row *r = rows; r && r->name; r++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s %s", r->name, r->value ? r->value : "");
        (void)printf("  %-22s %s\n", left, r->help);
    }
}
