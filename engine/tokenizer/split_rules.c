/* split_rules.c - scanners for the expressions of GPT-2, Llama 3 and Qwen 2.
 *
 * Alternatives are tried in the order of the expression; each function below is one of them, and
 * returns where it ends, or 0. */
#include "tokenizer/split_rules.h"

#include "tokenizer/unicode.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

struct sl_split_rules {
    const char *expression;
    const char *models[4]; /* NULL after the last */
    bool any_case;         /* of contractions */
    bool blank_only;       /* before letters and digits only a blank may stand */
    int digits_max;        /* of one word; 0: any number */
};

static const struct sl_split_rules all_rules[] = {
    {.expression = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|"
                   "\\s+",
     .models = {"gpt-2", "phi-2", "mpt"},
     .blank_only = true},
    {.expression = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?"
                   "[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     .models = {"llama-bpe", "llama3"},
     .any_case = true,
     .digits_max = 3},
    {.expression = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?"
                   "[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     .models = {"qwen2"},
     .any_case = true,
     .digits_max = 1},
};

enum { RULES = sizeof all_rules / sizeof *all_rules };

const struct sl_split_rules *sl_split_rules_find(const char *expression)
{
    for (int i = 0; i < RULES; i++)
        if (strcmp(all_rules[i].expression, expression) == 0)
            return &all_rules[i];
    return NULL;
}

const struct sl_split_rules *sl_split_rules_named(const char *model)
{
    for (int i = 0; i < RULES; i++)
        for (const char *const *name = all_rules[i].models; *name; name++)
            if (strcmp(*name, model) == 0)
                return &all_rules[i];
    return NULL;
}

const char *sl_split_rules_expression(const struct sl_split_rules *rules)
{
    return rules->expression;
}

/* -- characters ------------------------------------------------------------------------------- */

enum kind { LETTER, NUMBER, SPACE, OTHER, END };

struct reader {
    const struct sl_split_rules *rules;
    const char *text;
    size_t bytes;
};

/* The kind of the character at `at`, and where the next one begins. */
static enum kind kind_at(const struct reader *r, size_t at, size_t *next)
{
    if (at >= r->bytes)
        return END;
    unsigned byte = (unsigned char)r->text[at];
    *next = at + 1;
    if (byte < 0x80) {
        if ((byte | 0x20) - 'a' < 26)
            return LETTER;
        if (byte - '0' < 10)
            return NUMBER;
        return byte == ' ' || byte - '\t' < 5 ? SPACE : OTHER;
    }
    *next = at;
    unsigned classes = sl_char_classes(sl_char_next(r->text, next));
    if (classes & SL_CHAR_LETTER)
        return LETTER;
    if (classes & SL_CHAR_NUMBER)
        return NUMBER;
    return classes & SL_CHAR_SPACE ? SPACE : OTHER;
}

static bool is_line_end(const struct reader *r, size_t at)
{
    return at < r->bytes && (r->text[at] == '\r' || r->text[at] == '\n');
}

/* The end of up to `max` characters of a kind; 0: any number. */
static size_t run_end(const struct reader *r, size_t at, enum kind kind, int max)
{
    size_t next = at;
    for (int i = 0; (max == 0 || i < max) && kind_at(r, at, &next) == kind; i++)
        at = next;
    return at;
}

/* -- alternatives ----------------------------------------------------------------------------- */

/* The length of a letter in any case; the long s is an s. */
static size_t letter_length(const struct reader *r, size_t at, char letter)
{
    size_t left = r->bytes - at;
    if (left > 0 && r->text[at] == letter)
        return 1;
    if (!r->rules->any_case || left == 0)
        return 0;
    if ((r->text[at] | 0x20) == letter)
        return 1;
    return letter == 's' && left > 1 && memcmp(r->text + at, "\xC5\xBF", 2) == 0 ? 2 : 0;
}

static size_t contraction(const struct reader *r, size_t at)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d"};
    if (r->text[at] != '\'')
        return 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = at + 1, length = 1;
        for (const char *letter = endings[i]; *letter && length > 0; letter++)
            end += length = letter_length(r, end, *letter);
        if (length > 0)
            return end;
    }
    return 0;
}

/* ` ?\p{L}+| ?\p{N}+` or `[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}`. */
static size_t letters_or_digits(const struct reader *r, size_t at)
{
    size_t next = at, after = at;
    enum kind kind = kind_at(r, at, &next);
    if (kind == LETTER)
        return run_end(r, next, LETTER, 0);
    if (kind == NUMBER)
        return run_end(r, at, NUMBER, r->rules->digits_max);
    if (is_line_end(r, at) || (r->rules->blank_only && r->text[at] != ' '))
        return 0;
    kind = kind_at(r, next, &after);
    if (kind == LETTER || (kind == NUMBER && r->rules->blank_only))
        return run_end(r, after, kind, 0);
    return 0;
}

/* ` ?[^\s\p{L}\p{N}]+` and, with other rules, `[\r\n]*`. */
static size_t others(const struct reader *r, size_t at)
{
    size_t start = at + (r->text[at] == ' ');
    size_t end = run_end(r, start, OTHER, 0);
    if (end == start)
        return 0;
    while (!r->rules->blank_only && is_line_end(r, end))
        end++;
    return end;
}

/* `\s*[\r\n]+` with other rules, `\s+(?!\S)|\s+`. */
static size_t spaces(const struct reader *r, size_t at)
{
    size_t last = at, end = at, next = at, line_end = 0;
    while (kind_at(r, end, &next) == SPACE) {
        if (is_line_end(r, end))
            line_end = next;
        last = end;
        end = next;
    }
    if (!r->rules->blank_only && line_end > 0)
        return line_end;
    return end == r->bytes || last == at ? end : last;
}

size_t sl_split_rules_scan(const struct sl_split_rules *rules, const char *text, size_t bytes,
                           size_t at)
{
    const struct reader r = {.rules = rules, .text = text, .bytes = bytes};
    size_t end;
    assert(at < bytes);
    if ((end = contraction(&r, at)) > 0 || (end = letters_or_digits(&r, at)) > 0 ||
        (end = others(&r, at)) > 0)
        return end;
    return spaces(&r, at);
}
