/* dataset_words.c - words the facts of a data set, and prints them or adds them to JSON. */
#include "cli/evaluation/dataset_words.h"

#include "base/explained_words.h"
#include "base/utf8.h"
#include "cli/evaluation/label_names.h"
#include "data/name_list.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { LABELS_SHOWN = 20, TEXT_SHOWN = 60 };

/* ---- what the set holds ---------------------------------------------------------------------- */

/* "1 text repeats", "2 texts repeat": the word that fits the number. */
static const char *one_or_more(long long count, const char *one, const char *more)
{
    return count == 1 ? one : more;
}

static void describe_labels_per_text(const struct dataset_facts *f, struct sl_buffer *out)
{
    sl_buffer_printf(out, "%.2f labels per text, at most %d; %d text%s no label\n",
                     dataset_facts_labels_per_text(f), f->most_labels, f->unlabelled,
                     one_or_more(f->unlabelled, " has", "s have"));
}

void dataset_words_describe(const struct dataset_facts *f, int context, struct sl_buffer *out)
{
    sl_buffer_printf(out, "%d texts of %d to %d tokens, median %d", f->set->count, f->shortest,
                     f->longest, f->median);
    if (f->unknown > 0.0)
        sl_buffer_printf(out, "; %.1f %% of the tokens are not in the vocabulary",
                         100.0 * f->unknown);
    sl_buffer_append_string(out, "\n");
    if (f->set->truncated > 0)
        sl_buffer_printf(out, "%d texts are truncated to %d tokens\n", f->set->truncated, context);
    if (f->set->multi_label)
        describe_labels_per_text(f, out);
    if (f->duplicates.count > 0)
        sl_buffer_printf(out, "%d text%s an earlier one\n", f->duplicates.count,
                         one_or_more(f->duplicates.count, " repeats", "s repeat"));
}

void dataset_words_print_labels(const struct dataset_facts *f)
{
    const int labels = f->set->labels.count;
    char name[SL_NAME_SHORT], quoted[LABEL_QUOTED];
    printf("%d labels:", labels);
    for (int i = 0; i < labels && i < LABELS_SHOWN; i++)
        printf("%s %s %d", i ? "," : "",
               label_quoted(sl_labels_shown(&f->set->labels, i, name), quoted), f->label_texts[i]);
    if (labels > LABELS_SHOWN)
        printf(" and %d more", labels - LABELS_SHOWN);
    printf("\n");
}

static void print_beginning(const struct dataset_facts *f, int32_t example)
{
    size_t bytes;
    if (!f->set->text)
        return;
    const char *text = sl_dataset_text(f->set, example, &bytes);
    const size_t shown = sl_utf8_fit(text, bytes, TEXT_SHOWN);
    printf(": ");
    sl_print_text(text, shown);
    printf("%s", shown < bytes ? "..." : "");
}

void dataset_words_print_conflicts(const struct dataset_facts *f)
{
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    const struct text_pairs *pairs = &f->conflicts;
    if (pairs->count > 0)
        printf("texts with two labels:\n");
    for (int i = 0; i < pairs->count && i < TEXT_PAIRS_SHOWN; i++) {
        const struct text_pair *pair = &pairs->first[i];
        printf("  line %lld '%s', line %lld '%s'", (long long)pair->earlier_line,
               label_names_short(&f->set->labels, pair->earlier_labels, one), (long long)pair->line,
               label_names_short(&f->set->labels, pair->labels, other));
        print_beginning(f, pair->earlier);
        printf("\n");
    }
    if (pairs->count > TEXT_PAIRS_SHOWN)
        printf("  and %d more\n", pairs->count - TEXT_PAIRS_SHOWN);
}

/* ---- what may be wrong ----------------------------------------------------------------------- */

static struct dataset_warning *add(struct dataset_warnings *w, const char *code)
{
    assert(w->count < DATASET_WARNINGS_MAX);
    w->list[w->count] = (struct dataset_warning){.code = code};
    return &w->list[w->count++];
}

#define SAY(member, ...) ((void)snprintf(member, sizeof(member), __VA_ARGS__))

void dataset_warnings_skipped(struct dataset_warnings *w, const char *of, struct sl_skipped skipped)
{
    const long long records = (long long)skipped.records;
    if (records == 0)
        return;
    struct dataset_warning *warning = add(w, "skipped_records");
    SAY(warning->text, "%lld record%s%s %s left out, %s %lld: %s", records,
        one_or_more(records, "", "s"), of, one_or_more(records, "is", "are"),
        one_or_more(records, "in line", "the first in line"), (long long)skipped.line, skipped.why);
}

void dataset_warnings_notes(struct dataset_warnings *w, const struct sl_notes *notes)
{
    for (int i = 0; i < notes->count; i++) {
        struct dataset_warning *note = add(w, "assumed");
        note->is_note = true;
        SAY(note->text, "%s", notes->text[i]);
    }
}

void dataset_warnings_repeats(struct dataset_warnings *w, const struct dataset_facts *f)
{
    const struct text_pair *first = &f->duplicates.first[0];
    const int count = f->duplicates.count;
    if (count == f->conflicts.count)
        return;
    SAY(add(w, "repeated_texts")->text, "%d text%s an earlier one: line %lld that of line %lld%s",
        count, one_or_more(count, " repeats", "s repeat"), (long long)first->line,
        (long long)first->earlier_line, count > 1 ? ", and so on" : "");
}

static void warn_of_conflicts(const struct dataset_facts *f, struct dataset_warnings *w)
{
    const struct text_pair *first = &f->conflicts.first[0];
    const int count = f->conflicts.count;
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    struct dataset_warning *warning = add(w, "conflicting_labels");
    SAY(warning->text,
        "%d text%s an earlier one with another label: line %lld has '%s', line %lld '%s'%s", count,
        one_or_more(count, " repeats", "s repeat"), (long long)first->earlier_line,
        label_names_short(&f->set->labels, first->earlier_labels, one), (long long)first->line,
        label_names_short(&f->set->labels, first->labels, other), count > 1 ? ", and so on" : "");
    SAY(warning->advice, "correct the wrong one");
    SAY(warning->setting, "correct the wrong one");
}

static void warn_of_leaks(const struct dataset_facts *f, struct dataset_warnings *w)
{
    const struct text_pair *first = &f->leaks.first[0];
    assert(f->validation); /* else nothing leaks */
    SAY(add(w, "validation_duplicates")->text,
        "%d of %d validation texts %s in the training texts, too, the first in line %lld (there "
        "line %lld); results on them are too good",
        f->leaks.count, f->validation->count, one_or_more(f->leaks.count, "is", "are"),
        (long long)first->line, (long long)first->earlier_line);
}

static void warn_of_joined(const struct dataset_facts *f, struct dataset_warnings *w)
{
    const struct joined_labels *j = &f->joined;
    char name[SL_NAME_SHORT], others[48] = "";
    struct dataset_warning *warning = add(w, "joined_labels");
    if (j->count > 1)
        SAY(others, " and %d other%s", j->count - 1, one_or_more(j->count - 1, "", "s"));
    SAY(warning->text, "the label '%s' (first in line %lld)%s seem%s to join several",
        sl_labels_shown(&f->set->labels, j->first, name),
        (long long)dataset_facts_first_line(f, j->first), others, j->count > 1 ? "" : "s");
    SAY(warning->advice, "if a text may have several, give --label-separator '%s'", j->separator);
    SAY(warning->setting, "if a text may have several, give label_separator '%s'", j->separator);
}

static void warn_of_rare(const struct dataset_facts *f, struct dataset_warnings *w)
{
    char name[SL_NAME_SHORT], others[48] = "";
    const bool most = 2 * f->rare.count > f->set->labels.count;
    struct dataset_warning *warning = add(w, "rare_labels");
    if (f->rare.count > 1)
        SAY(others, ", and so %s %d other%s", one_or_more(f->rare.count - 1, "does", "do"),
            f->rare.count - 1, one_or_more(f->rare.count - 1, "", "s"));
    SAY(warning->text, "the label '%s' occurs only once, in line %lld%s%s",
        sl_labels_shown(&f->set->labels, f->rare.first, name), (long long)f->rare.line, others,
        most ? "" : ": a typing error, or a header");
    SAY(warning->advice, "%s, or list the valid labels with --labels FILE",
        most ? "check that --label is not the column of the texts"
             : "correct it, choose columns by name if it is a header");
    SAY(warning->setting, "%s", most ? "check that 'label' is not the column of the texts" : "");
}

/* Labels of a list that no text has: a header line, a blank, a typing error. */
static void warn_of_unused(const struct dataset_facts *f, struct dataset_warnings *w)
{
    char name[SL_NAME_SHORT], others[48] = "";
    int32_t first = -1;
    int count = 0;
    for (int32_t i = f->set->labels.count; i-- > 0;)
        if (f->label_texts[i] == 0) {
            first = i;
            count++;
        }
    if (count == 0)
        return;
    struct dataset_warning *warning = add(w, "unused_labels");
    if (count > 1)
        SAY(others, ", and none has %d other%s of the list", count - 1, count == 2 ? "" : "s");
    SAY(warning->text, "no training text has the label '%s'%s",
        sl_labels_shown(&f->set->labels, first, name), others);
    SAY(warning->advice, "remove it from the file of --labels if it is a header line or misspelt");
}

/* The other pairs, as many as there is room for. */
static void other_pairs(const struct dataset_facts *f, char *text, size_t size)
{
    const struct similar_labels *s = &f->similar;
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 1; i < s->count && i < SIMILAR_PAIRS_SHOWN; i++)
        used += (size_t)snprintf(text + used, size - used, "%s '%s' and '%s'",
                                 i > 1 ? "," : ", and so are",
                                 sl_labels_shown(&f->set->labels, s->first[i].one, one),
                                 sl_labels_shown(&f->set->labels, s->first[i].other, other));
    if (s->count > SIMILAR_PAIRS_SHOWN)
        (void)snprintf(text + used, size - used, ", and %d more", s->count - SIMILAR_PAIRS_SHOWN);
}

static void warn_of_similar(const struct dataset_facts *f, struct dataset_warnings *w)
{
    const struct similar_pair first = f->similar.first[0];
    const bool swap = f->label_texts[first.one] < f->label_texts[first.other];
    const int32_t usual = swap ? first.other : first.one, rare = swap ? first.one : first.other;
    char one[SL_NAME_SHORT], other[SL_NAME_SHORT];
    char more[(SL_NAME_SHORT + sizeof ", '' and") * 2 * SIMILAR_PAIRS_SHOWN];
    struct dataset_warning *warning = add(w, "similar_labels");
    other_pairs(f, more, sizeof more);
    SAY(warning->text,
        "the labels '%s' and '%s' (first in line %lld) are perhaps one: they differ only in case, "
        "spaces, invisible characters or how a number is written%s",
        sl_labels_shown(&f->set->labels, usual, one), sl_labels_shown(&f->set->labels, rare, other),
        (long long)dataset_facts_first_line(f, rare), more);
    SAY(warning->advice, "spell it in one way, or give both one name with --labels FILE, a list of "
                         "all labels");
    SAY(warning->setting, "spell it in one way");
}

/* What programs write where there is no label: pandas, R, databases, spreadsheets. */
static const char *const missing_marks[] = {
    "nan",     "NaN",     "-nan",   "-NaN",    "null",    "NULL",      "(null)", "None",
    "NA",      "N/A",     "n/a",    "<NA>",    "#N/A",    "#N/A N/A",  "#NA",    "NaT",
    "nil",     "\\N",     "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",  "#REF!",  "#NAME?",
    "#VALUE!", "#DIV/0!", "#NUM!",  "#NULL!",  "(blank)", "undefined", NULL};

static void warn_of_missing(const struct dataset_facts *f, struct dataset_warnings *w)
{
    struct sl_name_list names = {0};
    int texts = 0;
    int64_t line = INT64_MAX;
    for (const char *const *mark = missing_marks; *mark; mark++) {
        const int32_t label = sl_labels_find(&f->set->labels, *mark, strlen(*mark));
        if (label < 0 || f->label_texts[label] == 0)
            continue;
        const int64_t first = dataset_facts_first_line(f, label);
        sl_name_list_add(&names, *mark, strlen(*mark));
        texts += f->label_texts[label];
        line = first < line ? first : line;
    }
    if (names.count == 0)
        return;
    struct dataset_warning *warning = add(w, "missing_labels");
    SAY(warning->text, "the label%s %.200s of %d text%s, the first in line %lld, %s",
        one_or_more(names.count, "", "s"), sl_name_list_text(&names), texts,
        one_or_more(texts, "", "s"), (long long)line,
        one_or_more(names.count, "is perhaps a missing value", "are perhaps missing values"));
    SAY(warning->advice, "leave the field empty, and the record is left out");
    SAY(warning->setting, "leave the field empty, and the record is left out");
}

void dataset_words_warn(const struct dataset_facts *f, struct dataset_warnings *w)
{
    *w = (struct dataset_warnings){0};
    dataset_warnings_notes(w, &f->set->notes);
    dataset_warnings_skipped(w, "", f->set->skipped);
    if (f->validation)
        dataset_warnings_skipped(w, " of the validation texts", f->validation->skipped);
    if (f->conflicts.count > 0)
        warn_of_conflicts(f, w);
    if (f->leaks.count > 0)
        warn_of_leaks(f, w);
    if (f->joined.count > 0)
        warn_of_joined(f, w);
    if (f->rare.count > 0)
        warn_of_rare(f, w);
    if (f->origin != LABELS_OF_MODEL)
        warn_of_unused(f, w);
    if (f->similar.count > 0)
        warn_of_similar(f, w);
    if (f->origin == LABELS_FOUND)
        warn_of_missing(f, w);
}

void dataset_warnings_print(const struct dataset_warnings *w, const char *command)
{
    for (int i = 0; i < w->count; i++) {
        const struct dataset_warning *warning = &w->list[i];
        (void)fprintf(stderr, "sluice %s: %s: %s%s%s\n", command,
                      warning->is_note ? "note" : "warning", warning->text,
                      warning->advice[0] ? "; " : "", warning->advice);
    }
}

void dataset_warnings_add(const struct dataset_warnings *w, json_t *object)
{
    json_t *list = json_array();
    for (int i = 0; i < w->count; i++) {
        const struct dataset_warning *warning = &w->list[i];
        char message[sizeof warning->text + sizeof warning->setting + 2];
        SAY(message, "%s%s%s", warning->text, warning->setting[0] ? "; " : "", warning->setting);
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "code", warning->code,
                                                    "level", warning->is_note ? "info" : "warn",
                                                    "message", message));
    }
    (void)json_object_set_new(object, "warnings", list);
}
