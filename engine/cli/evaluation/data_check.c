/* data_check.c - reads a file as training does, and goes on where training ends. */
#include "cli/evaluation/data_check.h"

#include "linear/linear_training.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Comparing texts takes several times their memory, of a machine that may be serving. */
enum { COMPARED_BYTES_MAX = 128 << 20 };

/* The column, if the file has it: it is the other one that is missing. */
static bool find_column(const struct data_check *c, const char *name, char **column,
                        struct sl_err *err)
{
    free(*column);
    *column = NULL;
    if (sl_file_columns_find(&c->columns, name) < 0)
        return true;
    *column = strdup(name);
    return *column || sl_fail(err, SL_NO_MEMORY, "no memory for the names of columns");
}

static bool find_columns(struct data_check *c, const struct sl_record_options *options,
                         struct sl_err *err)
{
    struct sl_inspection *i = &c->inspection;
    return find_column(c, options->label ? options->label : "label", &i->label, err) &&
           find_column(c, options->text ? options->text : "text", &i->text, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool has_guess(const struct data_check *c, const struct sl_record_options *options)
{
    return c->inspection.lacks_column && !options->label && !options->text && c->columns.label >= 0;
}

static bool inspect_guess(struct data_check *c, const char *path,
                          const struct sl_record_options *options, struct sl_err *err)
{
    struct sl_record_options named = *options;
    named.label = c->columns.names[c->columns.label];
    named.text = c->columns.names[c->columns.text];
    sl_inspection_release(&c->inspection);
    sl_dataset_close(&c->set);
    if (!sl_dataset_inspect(&c->set, &c->inspection, path, &named, err))
        return false;
    char label[SL_NAME_SHORT], text[SL_NAME_SHORT];
    sl_name_shorten(named.label, strlen(named.label), label);
    sl_name_shorten(named.text, strlen(named.text), text);
    sl_note(&c->set.notes,
            "label '%s' and text '%s' are assumed: there are no other columns, and few short "
            "values recur in '%s'",
            label, text, label);
    return true;
}

/* ---- what may be wrong ----------------------------------------------------------------------- */

/* Bytes are the cheapest tokens: texts that are equal have the same. */
static bool encode(struct data_check *c, struct sl_tokenizer **tokens, struct sl_err *err)
{
    const struct sl_tokenizer_options how = {.kind = "bytes"};
    const struct sl_dataset_encoding encoding = {
        .context = INT_MAX, .unknown = SL_UNKNOWN_REPLACE, .keep_text = true};
    *tokens = sl_tokenizer_train(&how, c->set.text, c->set.text_bytes, err);
    return *tokens && sl_dataset_encode(&c->set, *tokens, &encoding, err);
}

static bool warn_of_texts(struct data_check *c, struct sl_err *err)
{
    struct dataset_facts facts = {0};
    struct sl_tokenizer *tokens = NULL;
    bool ok = encode(c, &tokens, err) &&
              dataset_facts_open(&facts, &c->set, NULL, LABELS_FOUND, tokens, err);
    if (ok) {
        dataset_words_warn(&facts, &c->warnings);
        dataset_warnings_repeats(&c->warnings, &facts);
    }
    dataset_facts_close(&facts);
    sl_tokenizer_destroy(tokens);
    return ok;
}

static bool count_labels(struct data_check *c, struct sl_err *err)
{
    c->label_texts = calloc((size_t)c->set.labels.count + 1, sizeof *c->label_texts);
    if (!c->label_texts)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the labels");
    sl_dataset_count_labels(&c->set, c->label_texts);
    return true;
}

static bool describe(struct data_check *c, struct sl_err *err)
{
    if (!count_labels(c, err))
        return false;
    if (c->set.count > 0 && c->set.labels.count > 0 && c->set.text_bytes <= COMPARED_BYTES_MAX)
        return warn_of_texts(c, err);
    dataset_warnings_notes(&c->warnings, &c->set.notes);
    dataset_warnings_skipped(&c->warnings, "", c->set.skipped);
    return true;
}

static void check_size(struct data_check *c)
{
    struct sl_err err;
    if (!sl_linear_training_check_size(&c->set, &err))
        sl_problem_list_add(&c->inspection.problems, 0, &err);
}

static bool check(struct data_check *c, const char *path, const struct sl_record_options *options,
                  struct sl_err *err)
{
    if (!sl_file_columns_read(&c->columns, path, options, err) ||
        !sl_dataset_inspect(&c->set, &c->inspection, path, options, err))
        return false;
    if (has_guess(c, options) && !inspect_guess(c, path, options, err))
        return false;
    if (c->inspection.lacks_column && !find_columns(c, options, err))
        return false;
    check_size(c);
    return describe(c, err);
}

bool data_check_open(struct data_check *c, const char *path,
                     const struct sl_record_options *options, struct sl_err *err)
{
    *c = (struct data_check){0};
    if (check(c, path, options, err))
        return true;
    data_check_close(c);
    return false;
}

void data_check_close(struct data_check *c)
{
    sl_file_columns_release(&c->columns);
    sl_inspection_release(&c->inspection);
    sl_dataset_close(&c->set);
    free(c->label_texts);
    *c = (struct data_check){0};
}
