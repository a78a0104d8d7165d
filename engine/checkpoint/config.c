/* config.c - config.json to struct and back; each member is read by one function and printed by
 * one. */
#include "checkpoint/config.h"
#include "base/list.h"

#include "base/strings.h"
#include "checkpoint/json.h"
#include "checkpoint/vocabulary.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HYPERS_MAX = 64 };

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

/* The names in the architecture's table, which are the keys of "hyper". */
static void hyper_keys(const struct sl_arch *arch, const char *keys[HYPERS_MAX + 1])
{
    int count = 0;
    for (const struct sl_number *h = arch->hypers; h->name; h++) {
        assert(count < HYPERS_MAX);
        keys[count++] = h->name;
    }
    keys[count] = NULL;
}

static bool read_hyper(struct sl_card *card, const struct sl_number *h, const json_t *hyper,
                       struct sl_err *err)
{
    const json_t *value = json_object_get(hyper, h->name);
    if (!value)
        return true; /* a checkpoint older than this member */
    if (h->kind == SL_CHOICE && !json_is_string(value))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s, want a string", h->name, sl_json_type(value));
    if (h->kind == SL_CHOICE)
        return sl_number_read(h, &card->hyper, json_string_value(value), err);
    if (h->kind == SL_REAL ? !json_is_number(value) : !json_is_integer(value))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s, want a %s number", h->name,
                       sl_json_type(value), h->kind == SL_REAL ? "real" : "whole");
    return sl_number_set(h, &card->hyper, json_number_value(value), err);
}

static bool read_hypers(struct sl_card *card, const json_t *root, struct sl_err *err)
{
    const char *keys[HYPERS_MAX + 1];
    json_t *hyper = sl_json_object(root, "hyper", err);
    if (!hyper)
        return false;
    hyper_keys(card->arch, keys);
    sl_numbers_standard(card->arch->hypers, &card->hyper);
    bool ok = sl_json_keys(hyper, keys, err);
    for (const struct sl_number *h = card->arch->hypers; h->name && ok; h++)
        ok = read_hyper(card, h, hyper, err);
    return ok || sl_wrap(err, "hyper");
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

/* Optional members: what is not there keeps its value. */
static bool read_gate(enum sl_gate_mode *out, const json_t *object, struct sl_err *err)
{
    int gate = (int)*out;
    if (json_object_get(object, "gate") && !read_choice(object, "gate", sl_gate_names, &gate, err))
        return false;
    *out = (enum sl_gate_mode)gate;
    return true;
}

static bool read_real(float *out, const json_t *object, const char *key, double most,
                      struct sl_err *err)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return true;
    if (!json_is_number(value))
        return sl_fail(err, SL_CORRUPT, "'%s' is %s, want a number", key, sl_json_type(value));
    double number = json_number_value(value);
    if (!(number >= 0 && number <= most))
        return sl_fail(err, SL_CORRUPT, "'%s' is %g, want 0 to %g", key, number, most);
    *out = (float)number;
    return true;
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
    static const char *const keys[] = {"gate", "gate_limit", "exit_threshold", "exit_oracle", NULL};
    struct sl_policy *p = &card->policy;
    *p = card->arch->policy;
    if (!json_object_get(root, "inference"))
        return true;
    json_t *inference = sl_json_object(root, "inference", err);
    if (!inference)
        return false;
    bool ok = sl_json_keys(inference, keys, err) && read_gate(&p->gate, inference, err) &&
              read_real(&p->gate_limit, inference, "gate_limit", 1, err) &&
              read_real(&p->exit_threshold, inference, "exit_threshold", 1, err) &&
              read_flag(&p->exit_oracle, inference, "exit_oracle", err);
    return ok || sl_wrap(err, "inference");
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

/* A threshold above 1 means what 1 means: never. */
static json_t *print_policy(const struct sl_policy *p)
{
    json_t *threshold = sl_json_float(fminf(p->exit_threshold, 1.0f));
    return json_pack("{s:s, s:o, s:o, s:b}", "gate", sl_gate_names[p->gate], "gate_limit",
                     sl_json_float(p->gate_limit), "exit_threshold", threshold, "exit_oracle",
                     (int)p->exit_oracle);
}

static json_t *print_training(const struct sl_card *card, struct sl_err *err)
{
    if (!card->training)
        return json_object();
    json_t *training = sl_json_parse(card->training, strlen(card->training), err);
    if (!training)
        sl_wrap(err, "training");
    return training;
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
        "{s:s, s:s, s:s, s:o, s:i, s:o, s:o, s:o}", "format", sl_format, "architecture",
        card->arch->name, "task", sl_task_name(card->hyper.task), "hyper",
        sl_json_numbers(card->arch->hypers, &card->hyper), "vocab", card->hyper.vocab, "tokenizer",
        print_tokenizer(card), "inference", print_policy(&card->policy), "training", training);
    if (root && print_labels(root, card))
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
