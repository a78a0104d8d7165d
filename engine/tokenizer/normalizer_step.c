/* normalizer_step.c - one function per kind of step, and a table of them. */
#include "tokenizer/normalizer_step.h"

#include "base/utf8.h"
#include "tokenizer/normal_forms.h"

#include <assert.h>
#include <string.h>

/* -- characters one by one -------------------------------------------------------------------- */

enum { DROPPED = SL_CODE_POINTS };

/* Copies the characters; `change` says what becomes of each. */
static void filter(struct sl_text_editor *editor, uint32_t (*change)(uint32_t point))
{
    while (editor->at < editor->in.bytes) {
        size_t at = editor->at;
        uint32_t point = change(sl_char_next(editor->in.text, &at));
        if (point != DROPPED)
            sl_edit_put(editor, point, 0);
        else
            sl_edit_skip(editor);
    }
}

static uint32_t clean(uint32_t point)
{
    unsigned classes = sl_char_classes(point);
    if (point == '\t' || point == '\n' || point == '\r')
        return ' ';
    if (point == 0xFFFD || (classes & SL_CHAR_CONTROL))
        return DROPPED;
    return classes & SL_CHAR_SPACE ? ' ' : point;
}

static uint32_t drop_nonspacing(uint32_t point)
{
    return sl_char_classes(point) & SL_CHAR_NONSPACING ? DROPPED : point;
}

static uint32_t drop_mark(uint32_t point)
{
    return sl_char_classes(point) & SL_CHAR_MARK ? DROPPED : point;
}

/* As SentencePiece's rules for translation have it. */
static uint32_t nmt(uint32_t point)
{
    static const struct {
        uint32_t first, last, becomes;
    } rules[] = {
        {0x01, 0x08, DROPPED}, {0x09, 0x0A, ' '},     {0x0B, 0x0B, DROPPED}, {0x0C, 0x0D, ' '},
        {0x0E, 0x1F, DROPPED}, {0x7F, 0x7F, DROPPED}, {0x8F, 0x8F, DROPPED}, {0x9F, 0x9F, DROPPED},
        {0x1680, 0x1680, ' '}, {0x200B, 0x200F, ' '}, {0x2028, 0x2029, ' '}, {0x2581, 0x2581, ' '},
        {0xFEFF, 0xFEFF, ' '}, {0xFFFD, 0xFFFD, ' '},
    };

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (point >= rules[i].first && point <= rules[i].last)
            return rules[i].becomes;
    return point;
}

static void clean_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    filter(editor, clean);
}

static void nonspacing_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    filter(editor, drop_nonspacing);
}

static void marks_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    filter(editor, drop_mark);
}

static void nmt_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    filter(editor, nmt);
}

static void ideographs_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    while (editor->at < editor->in.bytes) {
        size_t at = editor->at;
        uint32_t point = sl_char_next(editor->in.text, &at);
        bool alone = point >= 0x3400 && (sl_char_classes(point) & SL_CHAR_IDEOGRAPH);
        if (alone)
            sl_edit_put(editor, ' ', 0);
        sl_edit_put(editor, point, alone);
        if (alone)
            sl_edit_put(editor, ' ', 1);
    }
}

static void lowercase_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    (void)step;
    while (editor->at < editor->in.bytes) {
        uint32_t points[SL_LOWERED_MAX];
        size_t at = editor->at;
        int count = sl_char_lower(sl_char_next(editor->in.text, &at), points);
        for (int i = 0; i < count; i++)
            sl_edit_put(editor, points[i], i > 0);
    }
}

/* -- normal forms, and character maps --------------------------------------------------------- */

static void form_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    enum sl_normalizer_kind kind = step->kind;
    sl_normal_form_apply(
        (struct sl_normal_form){.compatible =
                                    kind == SL_NORMALIZE_NFKC || kind == SL_NORMALIZE_NFKD,
                                .composed = kind == SL_NORMALIZE_NFC || kind == SL_NORMALIZE_NFKC},
        editor);
}

static void map_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    sl_character_map_apply(step->map, editor);
}

/* -- ends ------------------------------------------------------------------------------------- */

static bool is_space_at(const struct sl_text_view *view, size_t at, size_t *next)
{
    *next = at;
    return sl_char_classes(sl_char_next(view->text, next)) & SL_CHAR_SPACE;
}

static void strip_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    const struct sl_text_view *in = &editor->in;
    size_t start = editor->at, next, stop = in->bytes;
    while (step->left && start < in->bytes && is_space_at(in, start, &next))
        start = next;
    if (step->right) {
        stop = start;
        for (size_t at = start; at < in->bytes; at = next)
            if (!is_space_at(in, at, &next))
                stop = next;
    }
    editor->at = start;
    sl_edit_copy(editor, stop - start);
}

static void prepend_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    sl_edit_insert(editor, step->content.text, step->content.bytes, editor->at);
    sl_edit_copy(editor, editor->in.bytes - editor->at);
}

/* -- replacement ------------------------------------------------------------------------------ */

static const struct {
    const char *expression;
    enum sl_run run;
    size_t min;
} runs[] = {{" {2,}", SL_RUN_OF_BLANKS, 2}, {"\\s+", SL_RUN_OF_SPACES, 1}};

enum { RUNS = sizeof runs / sizeof *runs };

enum sl_run sl_run_find(const char *expression)
{
    for (int i = 0; i < RUNS; i++)
        if (strcmp(runs[i].expression, expression) == 0)
            return runs[i].run;
    return SL_RUN_NONE;
}

static size_t run_min(enum sl_run run)
{
    for (int i = 0; i < RUNS; i++)
        if (runs[i].run == run)
            return runs[i].min;
    return 1;
}

/* The next run of at least `min` characters from *start on; its end, 0: none. */
static size_t run_next(enum sl_run run, const struct sl_text_view *in, size_t *start)
{
    size_t count = 0, next;
    for (size_t at = *start; at < in->bytes; at = next) {
        bool within = is_space_at(in, at, &next);
        if (run == SL_RUN_OF_BLANKS)
            within = in->text[at] == ' ';
        if (!within && count >= run_min(run))
            return at;
        if (!within || count == 0)
            *start = within ? at : next;
        count = within ? count + 1 : 0;
    }
    return count >= run_min(run) ? in->bytes : 0;
}

static size_t match_next(const struct sl_normalizer_step *step, const struct sl_text_view *in,
                         size_t *start)
{
    if (step->run != SL_RUN_NONE)
        return run_next(step->run, in, start);
    const char *found =
        memmem(in->text + *start, in->bytes - *start, step->pattern.text, step->pattern.bytes);
    if (!found)
        return 0;
    *start = (size_t)(found - in->text);
    return *start + step->pattern.bytes;
}

static void replace_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    size_t start = editor->at, stop;
    while (start < editor->in.bytes && (stop = match_next(step, &editor->in, &start)) > 0) {
        sl_edit_copy(editor, start - editor->at);
        sl_edit_insert(editor, step->content.text, step->content.bytes, stop - 1);
        editor->at = start = stop;
    }
    sl_edit_copy(editor, editor->in.bytes - editor->at);
}

/* -- the table -------------------------------------------------------------------------------- */

/* growth: in bytes; 0: it depends on the step. */
static const struct {
    void (*apply)(const struct sl_normalizer_step *step, struct sl_text_editor *editor);
    bool keeps_ascii;
    size_t growth;
} kinds[SL_NORMALIZER_KINDS] = {
    [SL_NORMALIZE_CLEAN] = {clean_apply, false, 1},
    [SL_NORMALIZE_IDEOGRAPHS] = {ideographs_apply, true, 2},
    [SL_NORMALIZE_NONSPACING] = {nonspacing_apply, true, 1},
    [SL_NORMALIZE_MARKS] = {marks_apply, true, 1},
    [SL_NORMALIZE_LOWERCASE] = {lowercase_apply, false, 2}, /* U+023A: two bytes become three */
    [SL_NORMALIZE_NFC] = {form_apply, true, 3},             /* U+1D160 */
    [SL_NORMALIZE_NFD] = {form_apply, true, 3},             /* U+0390 */
    [SL_NORMALIZE_NFKC] = {form_apply, true, 11},           /* U+FDFA */
    [SL_NORMALIZE_NFKD] = {form_apply, true, 11},           /* U+FDFA */
    [SL_NORMALIZE_STRIP] = {strip_apply, false, 1},
    [SL_NORMALIZE_PREPEND] = {prepend_apply, false, 0},
    [SL_NORMALIZE_REPLACE] = {replace_apply, false, 0},
    [SL_NORMALIZE_MAP] = {map_apply, false, 0},
    [SL_NORMALIZE_NMT] = {nmt_apply, false, 1},
};

void sl_normalizer_step_apply(const struct sl_normalizer_step *step, struct sl_text_editor *editor)
{
    assert(editor->at < editor->in.bytes);
    kinds[step->kind].apply(step, editor);
}

bool sl_normalizer_step_keeps_ascii(const struct sl_normalizer_step *step)
{
    return kinds[step->kind].keeps_ascii;
}

size_t sl_normalizer_step_growth(const struct sl_normalizer_step *step)
{
    size_t growth = kinds[step->kind].growth;
    if (growth > 0)
        return growth;
    size_t longest = step->map ? sl_character_map_longest(step->map) : step->content.bytes;
    return 1 + longest;
}
