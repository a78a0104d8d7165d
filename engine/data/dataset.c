/* dataset.c - reads labelled texts, and encodes them. */
#include "data/dataset.h"

#include "base/dynarray.h"
#include "data/name_list.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading -------------------------------------------------------------------------------- */

static bool fail_label(const struct sl_dataset *set, const struct sl_field *label,
                       struct sl_err *err)
{
    struct sl_name_list known = {0};
    for (int i = 0; i < set->labels.count; i++)
        sl_name_list_add(&known, set->labels.list[i].key, strlen(set->labels.list[i].key));
    return sl_fail(err, SL_NOT_FOUND, "unknown label '%.*s': expected one of: %s",
                   (int)label->bytes, label->data, sl_name_list_text(&known)) ||
           sl_err_set_field(err, "labels");
}

/* The id of a label; a new label is added unless the labels were given. */
static bool label_find(struct sl_dataset *set, bool given, const struct sl_field *label,
                       int32_t *id, struct sl_err *err)
{
    *id = sl_labels_find(&set->labels, label->data, label->bytes);
    if (*id >= 0)
        return true;
    if (given)
        return fail_label(set, label, err);
    *id = set->labels.count;
    return sl_labels_add(&set->labels, label->data, label->bytes, err);
}

static bool fail_repeated(const char *label, struct sl_err *err)
{
    const bool is_flag = strcmp(label, "0") == 0 || strcmp(label, "1") == 0;
    return sl_fail(err, SL_BAD_INPUT, "the label '%s' is given twice%s", label,
                   is_flag ? "; if these are one-hot vectors, write the names of the labels instead"
                           : "");
}

/* Of a text's sorted labels. */
static bool check_repeated(const struct sl_dataset *set, struct sl_err *err)
{
    const struct sl_label_list list = sl_label_list(&set->label_lists, set->label_lists.count - 1);
    for (int i = 1; i < list.count; i++)
        if (list.ids[i] == list.ids[i - 1])
            return fail_repeated(set->labels.list[list.ids[i]].key, err);
    return true;
}

static bool labels_take(struct sl_dataset *set, bool given, const struct sl_record *record,
                        struct sl_err *err)
{
    int32_t ids[SL_LABELS_MAX];
    set->multi_label = set->multi_label || record->is_multi_label;
    set->has_lists = set->has_lists || record->is_list;
    for (int i = 0; i < record->label_count; i++)
        if (!label_find(set, given, &record->labels[i], &ids[i], err))
            return false;
    return sl_label_lists_add(&set->label_lists, ids, record->label_count, err) &&
           check_repeated(set, err);
}

static bool example_add(struct sl_dataset *set, const struct sl_record *record, struct sl_err *err)
{
    if (set->count == INT_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d examples", INT_MAX);
    if (!sl_dynarray_reserve(&set->examples, &set->examples_room, (size_t)set->count + 1,
                             sizeof *set->examples, err) ||
        !sl_dynarray_reserve(&set->text, &set->text_room, set->text_bytes + record->text_bytes + 1,
                             1, err))
        return false;
    set->examples[set->count++] = (struct sl_example){.text = (int64_t)set->text_bytes,
                                                      .bytes = (int64_t)record->text_bytes,
                                                      .line = record->line};
    memcpy(set->text + set->text_bytes, record->text, record->text_bytes);
    set->text_bytes += record->text_bytes;
    set->text[set->text_bytes++] = '\n';
    return true;
}

/* Whether the error is noted, so that reading may go on. Without an inspection no error is. */
static bool is_noted(struct sl_inspection *inspection, const struct sl_err *err)
{
    if (!inspection || !sl_problem_is_of_file(err))
        return false;
    sl_problem_list_add(&inspection->problems, inspection->lacks_column ? 0 : err->line, err);
    return true;
}

/* After a failure to read a record. *more: another may follow. */
static bool go_on(struct sl_record_reader *records, struct sl_inspection *inspection, bool *more,
                  struct sl_err *err)
{
    const struct sl_record_reader_state state = sl_record_reader_state(records);
    if (inspection)
        inspection->lacks_column = state.lacks_column;
    *more = state.can_continue && !state.lacks_column;
    return is_noted(inspection, err) || sl_record_reader_fail_all(records, err);
}

static bool record_add(struct sl_dataset *set, bool given, const struct sl_record *record,
                       struct sl_inspection *inspection, bool *more, struct sl_err *err)
{
    if (labels_take(set, given, record, err))
        return example_add(set, record, err);
    set->label_lists.count = set->count;
    *more = set->labels.count < SL_LABELS_MAX; /* else most others would fail, too */
    (void)sl_wrap_file(err, set->path, record->line);
    return is_noted(inspection, err);
}

/* inspection: NULL: the first error ends it. */
static bool records_take(struct sl_dataset *set, bool given, struct sl_record_reader *records,
                         struct sl_inspection *inspection, struct sl_err *err)
{
    for (bool more = true; more;) {
        struct sl_record record;
        if (!sl_record_reader_next(records, &record, err)) {
            if (!go_on(records, inspection, &more, err))
                return false;
        } else if (!record.text)
            return true;
        else if (!record_add(set, given, &record, inspection, &more, err))
            return false;
    }
    return true;
}

/* Gives labels found in the data their final ids. */
static bool labels_settle(struct sl_dataset *set, struct sl_err *err)
{
    int32_t fresh[SL_LABELS_MAX];
    if (set->labels.count == 0)
        return sl_fail(err, SL_BAD_INPUT, "no text has a label");
    if (set->labels.count < SL_LABELS_MIN)
        return sl_fail(err, SL_BAD_INPUT,
                       "the only label is '%s'; a classifier needs at least %d labels; check "
                       "that label is their column",
                       set->labels.list[0].key, SL_LABELS_MIN);
    if (!sl_labels_arrange(&set->labels, fresh, err))
        return false;
    sl_label_lists_renumber(&set->label_lists, fresh);
    return true;
}

static bool check_count(const struct sl_dataset *set, struct sl_err *err)
{
    if (set->count == 0 && set->skipped.records > 0)
        return sl_fail(err, SL_BAD_INPUT, "no record has both a label and a text; in line %lld %s",
                       (long long)set->skipped.line, set->skipped.why);
    return set->count > 0 || sl_fail(err, SL_BAD_INPUT, "the file has no texts");
}

static bool take_all(struct sl_dataset *set, bool given, struct sl_record_reader *records,
                     struct sl_inspection *inspection, struct sl_err *err)
{
    if (!records_take(set, given, records, inspection, err))
        return false;
    set->skipped = sl_record_reader_skipped(records);
    set->notes = *sl_record_reader_notes(records);
    if (set->has_lists && !set->multi_label)
        sl_note(&set->notes, "every list of labels has one: a text has one label");
    sl_dynarray_shrink(&set->examples, &set->examples_room, (size_t)set->count,
                       sizeof *set->examples);
    sl_dynarray_shrink(&set->text, &set->text_room, set->text_bytes, 1);
    return true;
}

static bool dataset_read(struct sl_dataset *set, const char *path,
                         const struct sl_record_options *options, bool given, struct sl_err *err)
{
    struct sl_record_reader *records = sl_record_reader_open(path, options, err);
    bool ok = records && take_all(set, given, records, NULL, err);
    sl_record_reader_close(records);
    if (!ok)
        return false;
    return (check_count(set, err) && (given || options->unlabelled || labels_settle(set, err))) ||
           sl_wrap_file(err, set->path, 0);
}

/* Errors name the file as the caller does. */
static bool begin(struct sl_dataset *set, const char *path, const struct sl_record_options *options,
                  struct sl_err *err)
{
    *set =
        (struct sl_dataset){.path = strdup(options->display_name ? options->display_name : path)};
    return set->path || sl_fail(err, SL_NO_MEMORY, "no memory to read '%s'", path);
}

bool sl_dataset_open(struct sl_dataset *set, const char *path,
                     const struct sl_record_options *options, const struct sl_labels *labels,
                     struct sl_err *err)
{
    assert(set);
    assert(path);
    struct sl_dataset fresh;
    bool ok = begin(&fresh, path, options, err);
    if (ok && labels)
        ok = sl_labels_copy(&fresh.labels, labels, err);
    if (ok && dataset_read(&fresh, path, options, labels != NULL, err)) {
        *set = fresh;
        return true;
    }
    sl_dataset_close(&fresh);
    return false;
}

/* ---- inspecting ------------------------------------------------------------------------------ */

static bool take_columns(const struct sl_record_reader *records, struct sl_inspection *inspection,
                         struct sl_err *err)
{
    const struct sl_record_reader_state state = sl_record_reader_state(records);
    inspection->label = state.label ? strdup(state.label) : NULL;
    inspection->text = state.text ? strdup(state.text) : NULL;
    return ((inspection->label || !state.label) && (inspection->text || !state.text)) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
}

/* What a set must have besides records that can be read. */
static bool check_whole(struct sl_dataset *set, struct sl_err *err)
{
    return ((check_count(set, err) && labels_settle(set, err)) ||
            sl_wrap_file(err, set->path, 0)) &&
           sl_dataset_check_labels(set, err);
}

static bool inspect(struct sl_dataset *set, struct sl_inspection *inspection, const char *path,
                    const struct sl_record_options *options, struct sl_err *err)
{
    struct sl_record_reader *records = sl_record_reader_open(path, options, err);
    if (!records) {
        inspection->lacks_column = true;
        return is_noted(inspection, err);
    }
    const bool ok =
        take_all(set, false, records, inspection, err) && take_columns(records, inspection, err);
    sl_record_reader_close(records);
    if (!ok || inspection->lacks_column || check_whole(set, err))
        return ok;
    /* Perhaps it is so only because records were refused. */
    return (sl_problem_is_of_file(err) && inspection->problems.count > 0) ||
           is_noted(inspection, err);
}

bool sl_dataset_inspect(struct sl_dataset *set, struct sl_inspection *inspection, const char *path,
                        const struct sl_record_options *options, struct sl_err *err)
{
    *inspection = (struct sl_inspection){0};
    const bool ok = begin(set, path, options, err) &&
                    inspect(set, inspection, path, options, err) &&
                    (!inspection->problems.no_memory ||
                     sl_fail(err, SL_NO_MEMORY, "no memory for what is wrong with '%s'", path));
    if (ok)
        return true;
    sl_inspection_release(inspection);
    sl_dataset_close(set);
    return false;
}

void sl_inspection_release(struct sl_inspection *inspection)
{
    sl_problem_list_release(&inspection->problems);
    free(inspection->label);
    free(inspection->text);
    *inspection = (struct sl_inspection){0};
}

/* Whether no two texts have a label in common: there is nothing to find again in another text. */
static bool is_each_once(const struct sl_dataset *set)
{
    bool is_met[SL_LABELS_MAX] = {0};
    const struct sl_label_lists *lists = &set->label_lists;
    for (int64_t i = 0; i < lists->first[lists->count]; i++) {
        if (is_met[lists->ids[i]])
            return false;
        is_met[lists->ids[i]] = true;
    }
    return true;
}

bool sl_dataset_check_labels(const struct sl_dataset *set, struct sl_err *err)
{
    struct sl_name_list names = {0};
    const struct sl_label_list first = sl_label_list(&set->label_lists, 0);
    bool is_flags = first.count > 1;
    if (is_each_once(set))
        return sl_fail(err, SL_BAD_INPUT,
                       "no label has two texts: there is nothing to learn from %d text%s; give "
                       "more, and check that label is the column of the labels",
                       set->count, set->count == 1 ? "" : "s") ||
               sl_wrap_file(err, set->path, 0);
    for (int i = 1; i < set->count; i++)
        if (!sl_label_list_equals(first, sl_label_list(&set->label_lists, i)))
            return true;
    for (int i = 0; i < first.count; i++) {
        const char *key = set->labels.list[first.ids[i]].key;
        sl_name_list_add(&names, key, strlen(key));
        is_flags = is_flags && (strcmp(key, "0") == 0 || strcmp(key, "1") == 0);
    }
    return sl_fail(
               err, SL_BAD_INPUT,
               "all %d texts have the same label%s, %s: there is nothing to learn; %s", set->count,
               first.count == 1 ? "" : "s", first.count > 0 ? sl_name_list_text(&names) : "none",
               is_flags ? "if these are one-hot vectors, write the names of the labels instead, "
                          "or give a column for each label, label: sport,food"
                        : "check that label is their column") ||
           sl_wrap_file(err, set->path, 0);
}

bool sl_dataset_fit_to(struct sl_dataset *set, bool multi_label, struct sl_err *err)
{
    if (set->multi_label && !multi_label)
        return sl_fail(err, SL_BAD_INPUT,
                       "its texts may have several labels, and those that the model is trained on "
                       "have one each") ||
               sl_wrap_file(err, set->path, 0);
    set->multi_label = multi_label;
    return true;
}

void sl_dataset_close(struct sl_dataset *set)
{
    assert(set);
    sl_labels_release(&set->labels);
    sl_label_lists_release(&set->label_lists);
    free(set->path);
    free(set->examples);
    free(set->text);
    free(set->ids);
    free(set->types);
    *set = (struct sl_dataset){0};
}

const char *sl_dataset_text(const struct sl_dataset *set, int example, size_t *bytes)
{
    assert(example >= 0);
    assert(example < set->count);
    assert(set->text);
    *bytes = (size_t)set->examples[example].bytes;
    return set->text + set->examples[example].text;
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* Receives all tokens of the present example, before truncation. */
struct scratch {
    int32_t *ids;
    size_t room;
};

/* The only place that calls the tokenizer. -1: failed. */
static long example_tokens(const struct sl_dataset *set, int example,
                           const struct sl_tokenizer *tokens, enum sl_unknown unknown,
                           struct scratch *scratch, struct sl_err *err)
{
    size_t bytes;
    const char *text = sl_dataset_text(set, example, &bytes);
    for (;;) {
        long room = (long)scratch->room;
        const struct sl_encoding job = {.text = text,
                                        .bytes = bytes,
                                        .unknown = unknown,
                                        .special = true,
                                        .ids = scratch->ids,
                                        .capacity = room};
        long count = sl_tokenizer_tokenize(tokens, &job, err);
        if (count <= room)
            return count;
        if (!sl_dynarray_reserve(&scratch->ids, &scratch->room, (size_t)count, sizeof *scratch->ids,
                                 err))
            return -1;
    }
}

static bool example_append(struct sl_dataset *set, int example, const int32_t *ids, int count,
                           struct sl_err *err)
{
    if (!sl_dynarray_reserve(&set->ids, &set->ids_room, set->ids_count + (size_t)count,
                             sizeof *set->ids, err))
        return false;
    memcpy(set->ids + set->ids_count, ids, (size_t)count * sizeof *ids);
    set->examples[example].ids = (int64_t)set->ids_count;
    set->examples[example].tokens = count;
    set->ids_count += (size_t)count;
    return true;
}

static bool example_encode(struct sl_dataset *set, int example, const struct sl_tokenizer *tokens,
                           const struct sl_dataset_encoding *encoding, struct scratch *scratch,
                           struct sl_err *err)
{
    long count = example_tokens(set, example, tokens, encoding->unknown, scratch, err);
    if (count < 0)
        return false;
    if (count < 1 || !sl_tokenizer_has_text(tokens, scratch->ids, count))
        return sl_fail(err, SL_BAD_INPUT, "the text has no tokens");
    long kept = sl_tokenizer_truncate(tokens, encoding->truncation, encoding->context, scratch->ids,
                                      NULL, count);
    set->truncated += kept < count;
    return example_append(set, example, scratch->ids, (int)kept, err);
}

static bool examples_encode(struct sl_dataset *set, const struct sl_tokenizer *tokens,
                            const struct sl_dataset_encoding *encoding, struct sl_err *err)
{
    struct scratch scratch = {0};
    bool ok = true;
    for (int i = 0; ok && i < set->count; i++)
        ok = example_encode(set, i, tokens, encoding, &scratch, err) ||
             sl_wrap_file(err, set->path, set->examples[i].line);
    free(scratch.ids);
    return ok;
}

void sl_dataset_drop_text(struct sl_dataset *set)
{
    free(set->text);
    set->text = NULL;
    set->text_bytes = set->text_room = 0;
}

static void ids_drop(struct sl_dataset *set)
{
    free(set->ids);
    set->ids = NULL;
    set->ids_count = set->ids_room = 0;
    set->truncated = 0;
}

bool sl_dataset_encode(struct sl_dataset *set, const struct sl_tokenizer *tokens,
                       const struct sl_dataset_encoding *encoding, struct sl_err *err)
{
    assert(set->text);
    assert(!set->ids);
    assert(encoding->context >= 2);
    if (!examples_encode(set, tokens, encoding, err)) {
        ids_drop(set);
        return false;
    }
    sl_dynarray_shrink(&set->ids, &set->ids_room, set->ids_count, sizeof *set->ids);
    if (!encoding->keep_text)
        sl_dataset_drop_text(set);
    return true;
}

const int32_t *sl_dataset_ids(const struct sl_dataset *set, int example, int *count)
{
    assert(example >= 0);
    assert(example < set->count);
    assert(set->ids);
    *count = set->examples[example].tokens;
    return set->ids + set->examples[example].ids;
}

const int32_t *sl_dataset_types(const struct sl_dataset *set, int example)
{
    return set->types ? set->types + set->examples[example].ids : NULL;
}
