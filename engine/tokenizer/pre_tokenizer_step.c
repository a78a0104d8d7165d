/* pre_tokenizer_step.c - one function per kind of step, and a table of them. */
#include "tokenizer/pre_tokenizer_step.h"

#include <string.h>

/* -- the text --------------------------------------------------------------------------------- */

void sl_split_text_release(struct sl_split_text *work)
{
    sl_aligned_text_release(&work->texts[0]);
    sl_aligned_text_release(&work->texts[1]);
    sl_splits_release(&work->splits);
    sl_splits_release(&work->other);
}

bool sl_split_text_failed(const struct sl_split_text *work)
{
    return work->texts[0].failed || work->texts[1].failed || work->splits.failed ||
           work->other.failed;
}

struct sl_text_editor sl_split_text_edit(struct sl_split_text *work)
{
    struct sl_aligned_text *out = &work->texts[work->next];
    out->bytes = 0;
    return (struct sl_text_editor){.in = work->view, .out = out};
}

void sl_split_text_edited(struct sl_split_text *work)
{
    work->view = sl_aligned_text_view(&work->texts[work->next]);
    work->next = 1 - work->next;
}

/* -- cutting ---------------------------------------------------------------------------------- */

/* Every character of some classes matches. */
static void cut_at_classes(struct sl_cutter *cutter, const char *text, const struct sl_split *split,
                           unsigned classes)
{
    size_t from = split->start;
    for (size_t at = from; at < split->stop;) {
        size_t start = at;
        if (!(sl_char_classes(sl_char_next(text, &at)) & classes))
            continue;
        sl_cutter_put(cutter, from, start, false);
        sl_cutter_put(cutter, start, at, true);
        from = at;
    }
    sl_cutter_put(cutter, from, split->stop, false);
}

static void bert_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                     const struct sl_split *split, struct sl_splits *out)
{
    (void)step;
    struct sl_cutter cutter = {.out = out, .behavior = SL_MATCH_ISOLATED};
    size_t from = split->start;
    for (size_t at = from; at < split->stop;) {
        size_t start = at;
        unsigned classes = sl_char_classes(sl_char_next(text, &at));
        if (!(classes & (SL_CHAR_SPACE | SL_CHAR_PUNCTUATION)))
            continue;
        sl_cutter_put(&cutter, from, start, false);
        if (!(classes & SL_CHAR_SPACE))
            sl_cutter_put(&cutter, start, at, true);
        from = at;
    }
    sl_cutter_put(&cutter, from, split->stop, false);
}

static unsigned word_kind(unsigned classes)
{
    return classes & (SL_CHAR_WORD | SL_CHAR_SPACE);
}

static void words_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                      const struct sl_split *split, struct sl_splits *out)
{
    (void)step;
    size_t from = split->start;
    unsigned before = SL_CHAR_SPACE;
    for (size_t at = from; at < split->stop;) {
        size_t start = at;
        unsigned kind = word_kind(sl_char_classes(sl_char_next(text, &at)));
        if (kind == before)
            continue;
        if (before != SL_CHAR_SPACE)
            sl_splits_add(out, (struct sl_split){(uint32_t)from, (uint32_t)start, -1});
        from = start;
        before = kind;
    }
    if (before != SL_CHAR_SPACE)
        sl_splits_add(out, (struct sl_split){(uint32_t)from, split->stop, -1});
}

static void spaces_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                       const struct sl_split *split, struct sl_splits *out)
{
    (void)step;
    struct sl_cutter cutter = {.out = out, .behavior = SL_MATCH_REMOVED};
    cut_at_classes(&cutter, text, split, SL_CHAR_SPACE);
}

static void punctuation_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                            const struct sl_split *split, struct sl_splits *out)
{
    struct sl_cutter cutter = {.out = out, .behavior = step->behavior};
    cut_at_classes(&cutter, text, split, SL_CHAR_PUNCTUATION);
}

static void digits_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                       const struct sl_split *split, struct sl_splits *out)
{
    struct sl_cutter cutter = {.out = out, .behavior = step->behavior};
    cut_at_classes(&cutter, text, split, SL_CHAR_NUMBER);
}

static void rules_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                      const struct sl_split *split, struct sl_splits *out)
{
    struct sl_cutter cutter = {.out = out, .behavior = step->behavior, .invert = step->invert};
    for (size_t at = split->start, end; at < split->stop; at = end) {
        end = sl_split_rules_scan(step->rules, text, split->stop, at);
        sl_cutter_put(&cutter, at, end, true);
    }
}

static void text_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                     const struct sl_split *split, struct sl_splits *out)
{
    struct sl_cutter cutter = {.out = out, .behavior = step->behavior, .invert = step->invert};
    size_t from = split->start;
    const char *found;
    while ((found = memmem(text + from, split->stop - from, step->text.text, step->text.bytes))) {
        size_t start = (size_t)(found - text);
        sl_cutter_put(&cutter, from, start, false);
        from = start + step->text.bytes;
        sl_cutter_put(&cutter, start, from, true);
    }
    sl_cutter_put(&cutter, from, split->stop, false);
}

/* -- rewriting -------------------------------------------------------------------------------- */

static bool begins_with(const struct sl_text_view *view, const struct sl_split *split,
                        const struct sl_short_text *text)
{
    return split->stop - split->start >= text->bytes &&
           memcmp(view->text + split->start, text->text, text->bytes) == 0;
}

static void prefix_write(const struct sl_pre_tokenizer_step *step, struct sl_text_editor *editor,
                         const struct sl_split *split)
{
    (void)step;
    if (editor->in.text[split->start] != ' ')
        sl_edit_insert(editor, " ", 1, split->start);
    sl_edit_copy(editor, split->stop - split->start);
}

/* Whether the text goes before a piece: it may be there already, or be a blank that becomes it. */
static bool metaspace_prepends(const struct sl_pre_tokenizer_step *step,
                               const struct sl_text_view *view, const struct sl_split *split)
{
    if (step->scheme == SL_PREPEND_NEVER || view->text[split->start] == ' ' ||
        begins_with(view, split, &step->text))
        return false;
    return step->scheme == SL_PREPEND_ALWAYS || sl_text_origin(view, split->start).start == 0;
}

static void metaspace_write(const struct sl_pre_tokenizer_step *step, struct sl_text_editor *editor,
                            const struct sl_split *split)
{
    const char *text = editor->in.text, *blank;
    if (metaspace_prepends(step, &editor->in, split))
        sl_edit_insert(editor, step->text.text, step->text.bytes, split->start);
    while ((blank = memchr(text + editor->at, ' ', split->stop - editor->at))) {
        size_t at = (size_t)(blank - text);
        sl_edit_copy(editor, at - editor->at);
        sl_edit_insert(editor, step->text.text, step->text.bytes, at);
        editor->at = at + 1;
    }
    sl_edit_copy(editor, split->stop - editor->at);
}

static void metaspace_cut(const struct sl_pre_tokenizer_step *step, const char *text,
                          const struct sl_split *split, struct sl_splits *out)
{
    struct sl_pre_tokenizer_step cut = *step;
    cut.behavior = SL_MATCH_MERGED_WITH_NEXT;
    if (step->splits)
        text_cut(&cut, text, split, out);
    else
        sl_splits_add(out, *split);
}

/* -- the table -------------------------------------------------------------------------------- */

/* A step writes each piece, or cuts it, or both. */
static const struct {
    void (*write)(const struct sl_pre_tokenizer_step *step, struct sl_text_editor *editor,
                  const struct sl_split *split);
    void (*cut)(const struct sl_pre_tokenizer_step *step, const char *text,
                const struct sl_split *split, struct sl_splits *out);
} kinds[SL_PRE_TOKENIZER_KINDS] = {
    [SL_SPLIT_BERT] = {.cut = bert_cut},
    [SL_SPLIT_WORDS] = {.cut = words_cut},
    [SL_SPLIT_SPACES] = {.cut = spaces_cut},
    [SL_SPLIT_PUNCTUATION] = {.cut = punctuation_cut},
    [SL_SPLIT_DIGITS] = {.cut = digits_cut},
    [SL_SPLIT_RULES] = {.cut = rules_cut},
    [SL_SPLIT_TEXT] = {.cut = text_cut},
    [SL_SPLIT_METASPACE] = {.write = metaspace_write, .cut = metaspace_cut},
    [SL_SPLIT_PREFIX] = {.write = prefix_write},
};

static void splits_swap(struct sl_split_text *work)
{
    struct sl_splits splits = work->splits;
    work->splits = work->other;
    work->other = splits;
}

static void write_all(const struct sl_pre_tokenizer_step *step, struct sl_split_text *work)
{
    struct sl_text_editor editor = sl_split_text_edit(work);
    for (size_t i = 0; i < work->splits.count && !editor.out->failed; i++) {
        struct sl_split *split = &work->splits.items[i];
        uint32_t start = (uint32_t)editor.out->bytes;
        editor.at = split->start;
        if (split->id >= 0)
            sl_edit_copy(&editor, split->stop - split->start);
        else
            kinds[step->kind].write(step, &editor, split);
        *split = (struct sl_split){start, (uint32_t)editor.out->bytes, split->id};
    }
    sl_split_text_edited(work);
}

static void cut_all(const struct sl_pre_tokenizer_step *step, struct sl_split_text *work)
{
    work->other.count = 0;
    for (size_t i = 0; i < work->splits.count; i++) {
        const struct sl_split *split = &work->splits.items[i];
        if (split->id >= 0)
            sl_splits_add(&work->other, *split);
        else
            kinds[step->kind].cut(step, work->view.text, split, &work->other);
    }
    splits_swap(work);
}

void sl_pre_tokenizer_step_apply(const struct sl_pre_tokenizer_step *step,
                                 struct sl_split_text *work)
{
    if (kinds[step->kind].write)
        write_all(step, work);
    if (kinds[step->kind].cut && !sl_split_text_failed(work))
        cut_all(step, work);
}

size_t sl_pre_tokenizer_step_growth(const struct sl_pre_tokenizer_step *step)
{
    size_t inserted = step->kind == SL_SPLIT_PREFIX ? 1 : step->text.bytes;
    return kinds[step->kind].write ? 1 + inserted : 1;
}
