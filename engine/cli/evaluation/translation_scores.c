/* translation_scores.c - counts n-grams that two texts have in common. */
#include "cli/evaluation/translation_scores.h"

#include "base/buffer.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text cut into words or characters, which lie in `text` in order. */
struct cut_text {
    struct sl_buffer text;
    size_t *begins, *ends;
    int count;
    size_t room;
};

static void cut_release(struct cut_text *c)
{
    sl_buffer_release(&c->text);
    free(c->begins);
    free(c->ends);
}

static bool cut_add(struct cut_text *c, size_t begin, size_t end)
{
    if ((size_t)c->count == c->room) {
        const size_t room = c->room ? 2 * c->room : 64;
        size_t *begins = realloc(c->begins, room * sizeof *begins);
        c->begins = begins ? begins : c->begins;
        size_t *ends = begins ? realloc(c->ends, room * sizeof *ends) : NULL;
        c->ends = ends ? ends : c->ends;
        if (!ends)
            return false;
        c->room = room;
    }
    c->begins[c->count] = begin;
    c->ends[c->count++] = end;
    return true;
}

/* ---- words as mteval-v13a splits them -------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

/* Always a word of its own: ASCII punctuation but for ' , - and . */
static bool is_separate(char c)
{
    return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
           (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

static void put(struct sl_buffer *out, const char *a, char b, const char *c, char d, const char *e)
{
    sl_buffer_append_string(out, a);
    sl_buffer_append(out, &b, 1);
    sl_buffer_append_string(out, c);
    sl_buffer_append(out, &d, 1);
    sl_buffer_append_string(out, e);
}

/* Each of its four substitutions goes through the whole text, and what one match has taken is not
 * looked at again. */
typedef bool substitution(struct sl_buffer *out, const char *at, bool *two);

static bool separate(struct sl_buffer *out, const char *at, bool *two)
{
    *two = false;
    if (!is_separate(*at))
        return false;
    sl_buffer_append(out, " ", 1);
    sl_buffer_append(out, at, 1);
    sl_buffer_append(out, " ", 1);
    return true;
}

static bool point_after(struct sl_buffer *out, const char *at, bool *two)
{
    *two = true;
    if (is_digit(at[0]) || !is_point(at[1]))
        return false;
    put(out, "", at[0], " ", at[1], " ");
    return true;
}

static bool point_before(struct sl_buffer *out, const char *at, bool *two)
{
    *two = true;
    if (!is_point(at[0]) || is_digit(at[1]) || at[1] == '\0')
        return false;
    put(out, " ", at[0], " ", at[1], "");
    return true;
}

static bool dash_after_digit(struct sl_buffer *out, const char *at, bool *two)
{
    *two = true;
    if (!is_digit(at[0]) || at[1] != '-')
        return false;
    put(out, "", at[0], " ", at[1], " ");
    return true;
}

static void substitute(struct sl_buffer *text, substitution *f)
{
    struct sl_buffer out = {0};
    for (size_t i = 0; i < text->bytes;) {
        bool two;
        if (f(&out, text->data + i, &two)) {
            i += two ? 2 : 1;
            continue;
        }
        sl_buffer_append(&out, text->data + i++, 1);
    }
    out.failed = out.failed || text->failed;
    sl_buffer_release(text);
    *text = out;
}

static void replace(struct sl_buffer *text, const char *from, const char *to)
{
    struct sl_buffer out = {0};
    const size_t length = strlen(from);
    for (size_t i = 0; i < text->bytes;) {
        const bool found = strncmp(text->data + i, from, length) == 0;
        sl_buffer_append(&out, found ? to : text->data + i, found ? strlen(to) : 1);
        i += found ? length : 1;
    }
    out.failed = out.failed || text->failed;
    sl_buffer_release(text);
    *text = out;
}

/* Words side by side, a blank after each. */
static bool cut_words(struct cut_text *c, struct scored_text t)
{
    static substitution *const all[] = {separate, point_after, point_before, dash_after_digit};
    static const char *const entities[][2] = {
        {"<skipped>", ""}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    struct sl_buffer text = {0};
    sl_buffer_append(&text, " ", 1);
    sl_buffer_append(&text, t.text, t.bytes);
    sl_buffer_append(&text, " ", 1);
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        replace(&text, entities[i][0], entities[i][1]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        substitute(&text, all[i]);
    bool ok = !text.failed;
    for (size_t i = 0; ok && i < text.bytes;) {
        const size_t blanks = strspn(text.data + i, " \t\n\r\f\v");
        const size_t word = strcspn(text.data + i + blanks, " \t\n\r\f\v");
        i += blanks;
        if (word > 0)
            ok = cut_add(c, c->text.bytes, c->text.bytes + word);
        sl_buffer_append(&c->text, text.data + i, word);
        sl_buffer_append(&c->text, " ", 1);
        i += word;
    }
    sl_buffer_release(&text);
    return ok && !c->text.failed;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* Python's str.isspace. */
static bool is_blank(uint32_t point)
{
    return (point >= 0x1c && point <= 0x1f) || (sl_char_classes(point) & SL_CHAR_SPACE);
}

static bool cut_characters(struct cut_text *c, struct scored_text t)
{
    bool ok = true;
    for (size_t i = 0; ok && i < t.bytes;) {
        size_t next = i;
        uint32_t point = 0;
        if (!sl_utf8_next(t.text, t.bytes, &next, &point))
            next = i + 1;
        if (!is_blank(point)) {
            ok = cut_add(c, c->text.bytes, c->text.bytes + (next - i));
            sl_buffer_append(&c->text, t.text + i, next - i);
        }
        i = next;
    }
    return ok && !c->text.failed;
}

/* ---- n-grams in common ----------------------------------------------------------------------- */

struct ngram {
    const char *text;
    size_t bytes;
};

static int compare(const void *a, const void *b)
{
    const struct ngram *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Sorted; returns how many. */
static int list_ngrams(const struct cut_text *c, int order, struct ngram *list)
{
    const int count = c->count - order + 1;
    for (int i = 0; i < count; i++)
        list[i] = (struct ngram){.text = c->text.data + c->begins[i],
                                 .bytes = c->ends[i + order - 1] - c->begins[i]};
    if (count > 1)
        qsort(list, (size_t)count, sizeof *list, compare);
    return count > 0 ? count : 0;
}

static int count_common(const struct ngram *a, int a_count, const struct ngram *b, int b_count)
{
    int common = 0;
    for (int i = 0, j = 0; i < a_count && j < b_count;) {
        const int order = compare(&a[i], &b[j]);
        common += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return common;
}

/* needs_reference: n-grams of a translation whose reference is too short for any do not count. */
static bool add_counts(struct ngram_counts *counts, int orders, const struct cut_text *translation,
                       const struct cut_text *reference, bool needs_reference)
{
    const size_t most = (size_t)translation->count + (size_t)reference->count + 1;
    struct ngram *a = calloc(most, sizeof *a), *b = a ? a + translation->count : NULL;
    for (int n = 1; a && n <= orders; n++) {
        const int translated = list_ngrams(translation, n, a);
        const int expected = list_ngrams(reference, n, b);
        counts[n - 1].matches += count_common(a, translated, b, expected);
        counts[n - 1].translated += expected > 0 || !needs_reference ? translated : 0;
        counts[n - 1].expected += expected;
    }
    free(a);
    return a;
}

static bool add_words(struct translation_scores *s, struct scored_text translation,
                      struct scored_text reference)
{
    struct cut_text a = {0}, b = {0};
    const bool ok = cut_words(&a, translation) && cut_words(&b, reference) &&
                    add_counts(s->words, BLEU_ORDER, &a, &b, false);
    s->words_translated += a.count;
    s->words_expected += b.count;
    cut_release(&a);
    cut_release(&b);
    return ok;
}

static bool add_characters(struct translation_scores *s, struct scored_text translation,
                           struct scored_text reference)
{
    struct cut_text a = {0}, b = {0};
    const bool ok = cut_characters(&a, translation) && cut_characters(&b, reference) &&
                    add_counts(s->characters, CHRF_ORDER, &a, &b, true);
    cut_release(&a);
    cut_release(&b);
    return ok;
}

bool translation_scores_add(struct translation_scores *s, struct scored_text translation,
                            struct scored_text reference, struct sl_err *err)
{
    s->texts++;
    return (add_words(s, translation, reference) && add_characters(s, translation, reference)) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the n-grams of a text of %zu bytes",
                   translation.bytes + reference.bytes);
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* An order without a match counts half as much as one match, the next such order a quarter. */
double translation_scores_bleu(const struct translation_scores *s)
{
    double logs = 0.0, smoothing = 1.0;
    bool any = false;
    for (int n = 0; n < BLEU_ORDER; n++)
        any = any || s->words[n].matches > 0.0;
    if (!any)
        return 0.0;
    for (int n = 0; n < BLEU_ORDER; n++) {
        const struct ngram_counts *c = &s->words[n];
        if (!(c->translated > 0.0))
            return 0.0;
        if (!(c->matches > 0.0))
            smoothing *= 2.0;
        logs += log((c->matches > 0.0 ? c->matches : 1.0 / smoothing) / c->translated);
    }
    const double brevity = s->words_translated < s->words_expected
                               ? 1.0 - s->words_expected / s->words_translated
                               : 0.0;
    return 100.0 * exp(brevity + logs / BLEU_ORDER);
}

double translation_scores_chrf(const struct translation_scores *s)
{
    static const double factor = 4.0; /* recall counts twice as much: beta^2 */
    double precision = 0.0, recall = 0.0;
    int orders = 0;
    for (int n = 0; n < CHRF_ORDER; n++) {
        const struct ngram_counts *c = &s->characters[n];
        if (!(c->translated > 0.0) || !(c->expected > 0.0))
            continue;
        precision += c->matches / c->translated;
        recall += c->matches / c->expected;
        orders++;
    }
    if (orders == 0 || !(precision + recall > 0.0))
        return 0.0;
    precision /= orders;
    recall /= orders;
    return 100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall);
}
