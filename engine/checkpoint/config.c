/* config.c - config.json to struct and back; each member is read by one function and printed by
 * one. */
#include "checkpoint/config.h"
#include "base/list.h"

#include "base/strings.h"
#include "checkpoint/json.h"
#include "checkpoint/vocabulary.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 64 };

/* -- reading --------------------------------------------------------------------------- */

/* Which of the choices (ends with NULL) a member is. */
static bool read_choice(const json_t *object, const char *key, const char *const *choices, int *out,
                        struct sl_err *err)
{
    const char *text = sl_json_text(object, key, err);
    if (!text)
        return false;
    char list[256] = "";
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return true;
        }
        sl_list_add_quoted(list, sizeof list, choices[i]);
    }
    return sl_fail(err, SL_CORRUPT, "'%s' is '%.64s', want one of %s", key, text, list);
}

static bool read_arch(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    char list[SL_ARCH_LIST];
    const char *name = sl_json_text(root, "architecture", err);
    if (!name)
        return false;
    card->arch = sl_arch_find(name);
    return card->arch || sl_fail(err, SL_CORRUPT, "no architecture '%.64s'; there is: %s", name,
                                 sl_arch_list(SL_COMPLETES | SL_CLASSIFIES, list));
}

static bool read_task(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    const char *const tasks[] = {sl_task_name(SL_TASK_COMPLETION),
                                 sl_task_name(SL_TASK_CLASSIFICATION), NULL};
    int task = 0;
    if (!read_choice(root, "task", tasks, &task, err))
        return false;
    card->hyper.task = (enum sl_task)task;
    return true;
}

static bool read_label(struct sl_card *card, const json_t *value, int index, struct sl_err *err)
{
    const char *text = json_string_value(value);
    if (!text || !*text || json_string_length(value) > SL_LABEL_BYTES_MAX)
        return sl_fail(err, SL_CORRUPT, "labels: item %d is %s, want a string of 1 to %d bytes",
                       index, text ? "of another length" : sl_json_type(value), SL_LABEL_BYTES_MAX);
    const char *control = sl_find_control(text, json_string_length(value));
    if (control)
        return sl_fail(err, SL_CORRUPT, "labels: item %d has a control character, 0x%02x, in it",
                       index, (unsigned)*control);
    for (int i = 0; i < index; i++) {
        assert(card->labels[i]);
        if (strcmp(card->labels[i], text) == 0)
            return sl_fail(err, SL_CORRUPT, "labels: '%s' is there twice", text);
    }
    card->labels[index] = strdup(text);
    card->hyper.classes = index + 1;
    return card->labels[index] || sl_fail(err, SL_NO_MEMORY, "no memory for labels");
}

/* A classifier has them, nothing else has. */
static bool read_labels(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    const json_t *list = json_object_get(root, "labels");
    bool wanted = card->hyper.task == SL_TASK_CLASSIFICATION;
    size_t count = json_array_size(list);
    if (!wanted)
        return !list || sl_fail(err, SL_CORRUPT, "'labels' is for classification only");
    if (!json_is_array(list) || count < SL_CLASSES_LEAST || count > SL_CLASSES_MAX)
        return sl_fail(err, SL_CORRUPT, "'labels' is %s of %zu, want an array of 2 to %d",
                       sl_json_type(list), count, SL_CLASSES_MAX);
    card->labels = calloc(count, sizeof *card->labels);
    if (!card->labels)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu labels", count);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = read_label(card, json_array_get(list, i), (int)i, err);
    return ok;
}

static bool read_number(const struct sl_number *row, void *object, const json_t *value,
                        struct sl_err *err)
{
    static const char *const wanted[] = {[SL_INTEGER] = "a whole number",
                                         [SL_REAL] = "a real number",
                                         [SL_CHOICE] = "a string",
                                         [SL_FLAG] = "true or false"};
    bool right[] = {[SL_INTEGER] = json_is_integer(value),
                    [SL_REAL] = json_is_number(value),
                    [SL_CHOICE] = json_is_string(value),
                    [SL_FLAG] = json_is_boolean(value)};
    if (!right[row->kind])
        return sl_fail(err, SL_CORRUPT, "'%s' is %s, want %s", row->name, sl_json_type(value),
                       wanted[row->kind]);
    if (row->kind == SL_CHOICE)
        return sl_number_read(row, object, json_string_value(value), err);
    double number = row->kind == SL_FLAG ? json_is_true(value) : json_number_value(value);
    return sl_number_set(row, object, number, err);
}

/* Members of an object by the rows of a table that are for this task. One that is missing keeps its
 * standard: the file may be older than it. */
static bool read_numbers(const struct sl_number *rows, void *object, json_t *members,
                         enum sl_task task, struct sl_err *err)
{
    const char *keys[NUMBERS_MAX + 1];
    int count = 0;
    sl_numbers_standard(rows, object);
    for (const struct sl_number *r = rows; r->name; r++) {
        assert(count < NUMBERS_MAX);
        if (sl_hyper_is_for(r, task))
            keys[count++] = r->name;
    }
    keys[count] = NULL;
    bool ok = sl_json_keys(members, keys, err);
    for (const struct sl_number *r = rows; r->name && ok; r++) {
        const json_t *value = json_object_get(members, r->name);
        ok = !value || read_number(r, object, value, err);
    }
    return ok;
}

static bool read_hypers(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    json_t *hyper = sl_json_object(root, "hyper", err);
    return hyper && (read_numbers(card->arch->hypers, &card->hyper, hyper, card->hyper.task, err) ||
                     sl_wrap(err, "hyper"));
}

/* The vocabulary's size comes last of the sizes: only now can they be checked together. */
static bool read_vocab(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    int64_t vocab;
    if (!sl_json_whole(root, "vocab", (struct sl_bounds){1, SL_VOCAB_MAX}, &vocab, err))
        return false;
    card->hyper.vocab = (int)vocab;
    return sl_config_check(card->arch, &card->hyper, err);
}

static bool read_flag(bool *out, const json_t *object, const char *key, struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return true;
    if (!json_is_boolean(value))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s, want true or false", key, sl_json_type(value));
    *out = json_is_true(value);
    return true;
}

/* The kind by the name that outlives the file. */
static bool read_kind(const char **out, const json_t *tokenizer, struct sl_err *err)
{
    enum { KINDS_MAX = 16 };

    const char *kinds[KINDS_MAX + 1] = {0};
    for (int i = 0; i < KINDS_MAX && sl_tokenizer_kind_name(i); i++)
        kinds[i] = sl_tokenizer_kind_name(i);
    int kind = 0;
    if (!read_choice(tokenizer, "kind", kinds, &kind, err))
        return false;
    *out = kinds[kind];
    return true;
}

/* "lower" is there for kinds that split into words alone; when it is missing, it is true. */
static bool read_tokenizer(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    static const char *const keys[] = {"kind", "file", NULL};
    static const char *const split_keys[] = {"kind", "file", "lower", NULL};
    json_t *tokenizer = sl_json_object(root, "tokenizer", err);
    if (!tokenizer)
        return false;
    if (!read_kind(&card->tokenizer, tokenizer, err))
        return sl_wrap(err, "tokenizer");
    const char *const files[] = {sl_vocabulary_file(card->tokenizer), NULL};
    int file = 0;
    card->lower = sl_vocabulary_splits(card->tokenizer);
    bool ok = sl_json_keys(tokenizer, card->lower ? split_keys : keys, err) &&
              read_choice(tokenizer, "file", files, &file, err) &&
              read_flag(&card->lower, tokenizer, "lower", err);
    return ok || sl_wrap(err, "tokenizer");
}

static bool read_policy(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    const struct sl_number *rows = sl_policy_rows(card->arch);
    card->policy = sl_policy_standard(card->arch);
    if (!json_object_get(root, "inference"))
        return true;
    json_t *inference = sl_json_object(root, "inference", err);
    return inference && (read_numbers(rows, card->policy.own, inference, card->hyper.task, err) ||
                         sl_wrap(err, "inference"));
}

static bool read_training(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    if (!json_object_get(root, "training"))
        return true;
    const json_t *training = sl_json_object(root, "training", err);
    if (!training)
        return false;
    card->training = sl_json_print(training, SL_JSON_SHORT, err);
    return card->training;
}

bool sl_card_read(struct sl_card *card, const char *text, size_t bytes, struct sl_err *err)
{
    static const char *const keys[] = {"format", "architecture", "task",      "labels",   "hyper",
                                       "vocab",  "tokenizer",    "inference", "training", NULL};
    json_auto_t *root = sl_json_parse(text, bytes, err);
    struct sl_card fresh = {0};
    /* The format first: keys of another format are not ours to judge. */
    bool ok = root && sl_json_format(root, err) && sl_json_keys(root, keys, err) &&
              read_arch(&fresh, root, err) && read_task(&fresh, root, err) &&
              read_labels(&fresh, root, err) && read_hypers(&fresh, root, err) &&
              read_vocab(&fresh, root, err) && read_tokenizer(&fresh, root, err) &&
              read_policy(&fresh, root, err) && read_training(&fresh, root, err);
    if (ok)
        *card = fresh;
    else
        sl_card_release(&fresh);
    return ok;
}

void sl_card_release(struct sl_card *card)
{
    for (int i = 0; card->labels && i < card->hyper.classes; i++)
        free(card->labels[i]);
    free(card->labels);
    free(card->training);
    *card = (struct sl_card){0};
}

/* -- printing -------------------------------------------------------------------------- */

static json_t *print_training(const struct sl_card *card, struct sl_err *err)
{
    if (!card->training)
        return json_object();
    json_t *training = sl_json_parse(card->training, strlen(card->training), err);
    if (!training)
        sl_wrap(err, "training");
    return training;
}

/* Nothing when there is nothing to choose. */
static bool print_policy(json_t *root, const struct sl_card *card)
{
    const struct sl_number *rows = sl_policy_rows(card->arch);
    return !rows->name ||
           json_object_set_new(root, "inference", sl_json_numbers(rows, card->policy.own, 0)) == 0;
}

static bool print_labels(json_t *root, const struct sl_card *card)
{
    json_t *labels = json_array();
    bool ok = true;
    for (int i = 0; i < card->hyper.classes && ok; i++)
        ok = json_array_append_new(labels, json_string(card->labels[i])) == 0;
    if (ok && card->hyper.task == SL_TASK_CLASSIFICATION)
        return json_object_set_new(root, "labels", labels) == 0;
    json_decref(labels);
    return ok;
}

static json_t *print_tokenizer(const struct sl_card *card)
{
    const char *kind = card->tokenizer, *file = sl_vocabulary_file(kind);
    return sl_vocabulary_splits(kind)
               ? json_pack("{s:s, s:s, s:b}", "kind", kind, "file", file, "lower", (int)card->lower)
               : json_pack("{s:s, s:s}", "kind", kind, "file", file);
}

static char *card_print(const struct sl_card *card, struct sl_err *err)
{
    json_t *training = print_training(card, err);
    if (!training)
        return NULL;
    json_auto_t *root = json_pack(
        "{s:s, s:s, s:s, s:o, s:i, s:o, s:o}", "format", sl_format, "architecture",
        card->arch->name, "task", sl_task_name(card->hyper.task), "hyper",
        sl_json_numbers(card->arch->hypers, &card->hyper, 1u << card->hyper.task), "vocab",
        card->hyper.vocab, "tokenizer", print_tokenizer(card), "training", training);
    if (root && print_policy(root, card) && print_labels(root, card))
        return sl_json_print(root, SL_JSON_SHORT, err);
    sl_fail(err, SL_NO_MEMORY, "no memory for the description of a model");
    return NULL;
}

char *sl_card_print(const struct sl_card *card, struct sl_err *err)
{
    char *text = card_print(card, err);
    struct sl_card again = {0};
    if (text && !sl_card_read(&again, text, strlen(text), err)) {
        free(text);
        text = NULL;
    }
    sl_card_release(&again);
    return text;
}
