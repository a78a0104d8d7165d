/* hypotheses.c - pairs of texts and hypotheses. */
#include "params/hypotheses.h"
#include "json/json_field_reader.h"

#include <string.h>

bool sv_hypothesis_template_check(const struct sv_string *template, const char *param,
                                  struct sv_error *error)
{
    const char *place = template->data ? strstr(template->data, "{}") : NULL;
    if (!template->data ||
        (place && strcspn(template->data, "{}") == (size_t)(place - template->data) &&
         !strpbrk(place + 2, "{}")))
        return true;
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' must have {} once, for the label, and no other braces.", param);
}

static struct sv_string hypothesis(const struct sv_reader *r, const struct sv_string *template,
                                   const struct sv_string *label)
{
    const size_t before = (size_t)(strstr(template->data, "{}") - template->data);
    const size_t bytes = template->bytes - 2 + label->bytes;
    char *text = sv_reader_alloc(r, bytes + 1, 1);
    if (text) {
        memcpy(text, template->data, before);
        memcpy(text + before, label->data, label->bytes);
        memcpy(text + before + label->bytes, template->data + before + 2,
               template->bytes - before - 2);
    }
    return (struct sv_string){text, bytes};
}

/* Before the hypotheses are made. */
static bool check_size(const struct sv_string *template, const struct sv_texts *labels,
                       const char *field, const struct sv_texts *texts, struct sv_error *error)
{
    int64_t bytes = 0;
    if (texts->count > SV_CLIENT_BATCH_MAX / labels->count)
        return sv_fail(error, SV_INVALID_VALUE, field,
                       "'%s' holds %d texts for %d labels; their product may be at most %d.", field,
                       texts->count, labels->count, SV_CLIENT_BATCH_MAX);
    for (int i = 0; i < texts->count; i++)
        bytes += (int64_t)texts->items[i].bytes * labels->count;
    for (int i = 0; i < labels->count; i++)
        bytes += (int64_t)(template->bytes - 2 + labels->items[i].bytes) * texts->count;
    return bytes <= SV_QUERIES_BYTES_MAX ||
           sv_fail(error, SV_INVALID_VALUE, field,
                   "'%s' makes pairs of each text and each label with %lld bytes; at most %d "
                   "are read.",
                   field, (long long)bytes, SV_QUERIES_BYTES_MAX);
}

static bool make_pairs(const struct sv_reader *r, const struct sv_string *template,
                       const struct sv_texts *given, struct sv_texts *texts)
{
    const int labels = given->count, count = texts->count * labels;
    struct sv_string *items = sv_reader_alloc(r, (size_t)count, sizeof *items);
    struct sv_string *pairs = sv_reader_alloc(r, (size_t)count, sizeof *pairs);
    if (!items || !pairs)
        return false;
    for (int i = 0; i < labels; i++) {
        pairs[i] = hypothesis(r, template, &given->items[i]);
        if (!pairs[i].data)
            return false;
    }
    for (int i = 0; i < count; i++) {
        items[i] = texts->items[i / labels];
        pairs[i] = pairs[i % labels];
    }
    texts->items = items;
    texts->pairs = pairs;
    texts->count = count;
    return true;
}

bool sv_hypotheses_make(struct sv_json_document *document, const struct sv_string *template,
                        const struct sv_texts *labels, const char *field, struct sv_texts *texts,
                        struct sv_error *error)
{
    static const char usual[] = "This example is {}.";
    static const struct sv_string usual_template = {usual, sizeof usual - 1};
    const struct sv_reader r = {.document = document, .error = error};
    if (!template->data)
        template = &usual_template;
    return check_size(template, labels, field, texts, error) &&
           make_pairs(&r, template, labels, texts);
}
