/* normal_forms.c - decomposition, canonical order and composition (Unicode Standard Annex 15).
 *
 * A decomposed character is one that replaces and others that are inserted. Sorting moves what they
 * are along with them, and a composition removes one: that is how the places of Hugging Face's
 * tokens come about. */
#include "tokenizer/normal_forms.h"

#include "base/dynarray.h"

#include <stdlib.h>
#include <string.h>

enum { INSERTION_MAX = 32, ORDERS = 256 };

struct part {
    uint32_t point;
    int change; /* as in sl_edit_put */
    uint8_t order;
};

struct parts {
    struct part *items;
    size_t count, capacity;
};

struct former {
    struct sl_text_editor *editor;
    struct sl_normal_form form;
    struct parts pending; /* since the last starter, to be sorted */
    struct parts sorted;
    struct parts waiting; /* marks that did not compose with the starter before them */
    struct part starter;  /* that may still compose with marks */
    bool has_starter;
    int last; /* order of the last waiting mark; -1: none */
};

static void parts_push(struct former *f, struct parts *parts, struct part part)
{
    if (sl_dynarray_reserve(&parts->items, &parts->capacity, parts->count + 1, sizeof *parts->items,
                            NULL))
        parts->items[parts->count++] = part;
    else
        f->editor->out->failed = true;
}

static void put(const struct former *f, struct part part)
{
    sl_edit_put(f->editor, part.point, part.change);
}

/* -- composition ------------------------------------------------------------------------------ */

static void starter_put(struct former *f)
{
    if (f->has_starter)
        put(f, f->starter);
    for (size_t i = 0; i < f->waiting.count; i++)
        put(f, f->waiting.items[i]);
    f->waiting.count = 0;
    f->has_starter = false;
    f->last = -1;
}

static void starter_set(struct former *f, struct part part)
{
    starter_put(f);
    f->starter = part;
    f->has_starter = true;
}

static void compose(struct former *f, struct part part)
{
    if (!f->has_starter) {
        if (part.order == 0)
            starter_set(f, part);
        else
            put(f, part);
        return;
    }
    bool blocked = f->last >= 0 && f->last >= part.order;
    uint32_t both = blocked ? 0 : sl_char_compose(f->starter.point, part.point);
    if (both) {
        f->starter.point = both;
        f->starter.change += part.change - 1;
    } else if (part.order == 0) {
        starter_set(f, part);
    } else {
        parts_push(f, &f->waiting, part);
        f->last = part.order;
    }
}

/* -- canonical order -------------------------------------------------------------------------- */

static void sort_few(struct parts *parts)
{
    for (size_t i = 1; i < parts->count; i++) {
        struct part part = parts->items[i];
        size_t at = i;
        for (; at > 0 && parts->items[at - 1].order > part.order; at--)
            parts->items[at] = parts->items[at - 1];
        parts->items[at] = part;
    }
}

/* Stable, in linear time. */
static void sort_many(struct former *f)
{
    size_t starts[ORDERS + 1] = {0};
    struct parts *from = &f->pending, *to = &f->sorted;
    if (!sl_dynarray_reserve(&to->items, &to->capacity, from->count, sizeof *to->items, NULL)) {
        f->editor->out->failed = true;
        return;
    }
    for (size_t i = 0; i < from->count; i++)
        starts[from->items[i].order + 1]++;
    for (size_t i = 0; i < ORDERS; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < from->count; i++)
        to->items[starts[from->items[i].order]++] = from->items[i];
    memcpy(from->items, to->items, from->count * sizeof *from->items);
}

static void pending_put(struct former *f)
{
    if (f->pending.count > INSERTION_MAX)
        sort_many(f);
    else
        sort_few(&f->pending);
    for (size_t i = 0; i < f->pending.count; i++)
        if (f->form.composed)
            compose(f, f->pending.items[i]);
        else
            put(f, f->pending.items[i]);
    f->pending.count = 0;
}

/* -- decomposition ---------------------------------------------------------------------------- */

static void decompose(struct former *f, uint32_t point)
{
    uint32_t points[SL_DECOMPOSED_MAX] = {point};
    int count = point < 0x80 ? 1 : sl_char_decompose(point, f->form.compatible, points);
    for (int i = 0; i < count; i++) {
        uint8_t order = points[i] < 0x80 ? 0 : sl_char_order(points[i]);
        if (order == 0)
            pending_put(f);
        parts_push(f, &f->pending,
                   (struct part){.point = points[i], .change = i > 0, .order = order});
    }
}

void sl_normal_form_apply(struct sl_normal_form form, struct sl_text_editor *editor)
{
    struct former f = {.editor = editor, .form = form, .last = -1};
    for (size_t at = editor->at; at < editor->in.bytes;)
        decompose(&f, sl_char_next(editor->in.text, &at));
    pending_put(&f);
    starter_put(&f);
    free(f.pending.items);
    free(f.sorted.items);
    free(f.waiting.items);
}
