/* entity_lines.c - what a token classifier finds in lines of text. */
#include "cli/entity_lines.h"

#include "base/explained_words.h"
#include "base/json_writer.h"

#include <stdio.h>
#include <string.h>

bool read_aggregation(const char *name, enum sl_aggregation *how, struct sl_err *err)
{
    int found = name ? SL_AGGREGATE_NONE : SL_AGGREGATE_SIMPLE;
    while (name && sl_aggregations[found] && strcmp(sl_aggregations[found], name) != 0)
        found++;
    *how = (enum sl_aggregation)found;
    return sl_aggregations[found] ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid --aggregation '%s': expected none, simple, first, average or max",
                   name);
}

static bool is_printed(const struct entity_printer *p, const struct sl_entity *e)
{
    return (double)e->score >= p->min_score;
}

static void print_rows(const struct entity_printer *p, const struct text_line *line,
                       const struct sl_entities *entities)
{
    for (int i = 0; i < entities->count; i++) {
        const struct sl_entity *e = &entities->items[i];
        if (!is_printed(p, e))
            continue;
        (void)printf("%s\t%.6g\t", e->label, sl_printed_score((double)e->score));
        sl_print_text(e->word.text, e->word.bytes);
        (void)putchar('\t');
        sl_print_text(line->text, line->bytes);
        (void)putchar('\n');
    }
}

static bool print_object(const struct entity_printer *p, const struct text_line *line,
                         const struct sl_entities *entities, struct sl_err *err)
{
    struct sl_buffer out = {0};
    struct sl_json_writer json = {.out = &out};
    sl_json_add(&json, "{'line':%lld,'text':%.*s,'entities':[", (long long)line->number,
                (int)line->bytes, line->text);
    for (int i = 0; i < entities->count; i++) {
        const struct sl_entity *e = &entities->items[i];
        if (is_printed(p, e))
            sl_json_add(&json, "{'label':%s,'score':%f,'word':%.*s,'start':%zu,'end':%zu}",
                        e->label, (double)e->score, (int)e->word.bytes, e->word.text, e->start,
                        e->stop);
    }
    sl_json_add(&json, "]}");
    return text_lines_print_json(&out, err);
}

bool print_entity_lines(struct text_lines *lines, struct text_line *line,
                        const struct sl_classifier_item *item, struct sl_err *err)
{
    static const char *const ignored[] = {"O", NULL};
    const struct entity_printer *p = lines->context;
    const struct sl_classified_tokens tokens = {.text = line->text,
                                                .bytes = line->bytes,
                                                .ids = line->ids,
                                                .offsets = line->offsets,
                                                .logits = item->logits,
                                                .count = line->count};
    struct sl_entities entities;
    bool ok = sl_entities_find(lines->m, &tokens, p->how, ignored, &entities, err);
    if (ok && p->json)
        ok = print_object(p, line, &entities, err);
    else if (ok)
        print_rows(p, line, &entities);
    sl_entities_release(&entities);
    return ok && (!ferror(stdout) || sl_fail(err, SL_IO, "cannot write to standard output"));
}
