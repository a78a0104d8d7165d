/* encoding.c - what all kinds share of encoding: one text is written as it is encoded; the tokens
 * of two, or of one that is truncated, wait until it is known which are kept. */
#include "base/dynarray.h"
#include "tokenizer/tokenizer.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* -- tokens ----------------------------------------------------------------------------------- */

static void write_token(struct sl_encoder_output *output, struct sl_listed_token token)
{
    const struct sl_encoding *job = output->job;
    if (output->count < job->capacity) {
        if (output->post->trim_count > 0 && !token.offset.special)
            sl_post_processor_trim(output->post, job->text, output->count - output->text_start,
                                   token.spaces, &token.offset);
        job->ids[output->count] = token.id;
        if (job->offsets)
            job->offsets[output->count] = token.offset;
        if (job->types)
            job->types[output->count] = output->type;
    }
    output->count++;
}

static void list_token(struct sl_token_list *list, struct sl_listed_token token)
{
    if (sl_dynarray_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items,
                            NULL))
        list->items[list->count++] = token;
    else
        list->failed = true;
}

void sl_encoder_emit_spaced(struct sl_encoder_output *output, int32_t id,
                            struct sl_token_offset offset, struct sl_token_spaces spaces)
{
    struct sl_listed_token token = {.id = id, .offset = offset, .spaces = spaces};
    if (!output->list) {
        write_token(output, token);
        return;
    }
    list_token(output->list, token);
    output->count++;
}

void sl_encoder_emit(struct sl_encoder_output *output, int32_t id, struct sl_token_offset offset)
{
    sl_encoder_emit_spaced(output, id, offset, (struct sl_token_spaces){0});
}

static void write_special(struct sl_encoder_output *output, const struct sl_template_part *part)
{
    output->type = part->type;
    if (output->job->special)
        write_token(output, (struct sl_listed_token){.id = part->id, .offset = {.special = true}});
}

/* -- one text --------------------------------------------------------------------------------- */

static long encode_one(const struct sl_tokenizer *tokenizer, const struct sl_encoding *job,
                       struct sl_err *err)
{
    const struct sl_template *template = &tokenizer->post.single;
    struct sl_encoder_output output = {.job = job, .post = &tokenizer->post};
    for (int i = 0; i < template->count; i++) {
        const struct sl_template_part *part = &template->parts[i];
        if (part->kind == SL_TEMPLATE_SPECIAL) {
            write_special(&output, part);
            continue;
        }
        output.type = part->type;
        output.text_start = output.count;
        if (!tokenizer->kind->encode(tokenizer, &output, err))
            return -1;
    }
    return output.count;
}

/* -- two texts, or truncation ----------------------------------------------------------------- */

/* The tokens of a text, and which of them are kept. */
struct listed_text {
    struct sl_encoding job;
    struct sl_token_list list;
    long first, count;
};

static bool list_text(const struct sl_tokenizer *tokenizer, struct listed_text *text,
                      struct sl_err *err)
{
    struct sl_encoder_output output = {
        .job = &text->job, .post = &tokenizer->post, .list = &text->list};
    if (!tokenizer->kind->encode(tokenizer, &output, err))
        return false;
    text->count = (long)text->list.count;
    return !text->list.failed || sl_fail(err, SL_NO_MEMORY, "no memory for the tokens of a text");
}

static void truncate_texts(const struct sl_tokenizer *tokenizer, const struct sl_encoding *job,
                           struct listed_text *a, struct listed_text *b)
{
    const struct sl_template *template =
        job->pair ? &tokenizer->post.pair : &tokenizer->post.single;
    long room = job->max_tokens - (job->special ? sl_template_added(template) : 0);
    enum sl_truncation side = job->side;
    if (job->max_tokens > 0)
        sl_truncate_longest_first(room > 0 ? room : 0, &a->count, &b->count);
    if (side == SL_TRUNCATE_DEFAULT)
        side = sl_tokenizer_truncation_side(tokenizer);
    if (side == SL_TRUNCATE_LEFT) {
        a->first = (long)a->list.count - a->count;
        b->first = (long)b->list.count - b->count;
    }
}

static void write_listed(struct sl_encoder_output *output, const struct listed_text *text,
                         bool second)
{
    output->job = &text->job;
    output->text_start = output->count;
    for (long i = 0; i < text->count; i++) {
        struct sl_listed_token token = text->list.items[text->first + i];
        token.offset.second = second;
        write_token(output, token);
    }
}

static long write_texts(const struct sl_tokenizer *tokenizer, const struct sl_encoding *job,
                        const struct listed_text *a, const struct listed_text *b)
{
    const struct sl_template *template =
        job->pair ? &tokenizer->post.pair : &tokenizer->post.single;
    struct sl_encoder_output output = {.job = job, .post = &tokenizer->post};
    for (int i = 0; i < template->count; i++) {
        const struct sl_template_part *part = &template->parts[i];
        output.type = part->type;
        if (part->kind == SL_TEMPLATE_SPECIAL)
            write_special(&output, part);
        else
            write_listed(&output, part->kind == SL_TEMPLATE_SECOND ? b : a,
                         part->kind == SL_TEMPLATE_SECOND);
    }
    return output.count;
}

static long encode_listed(const struct sl_tokenizer *tokenizer, const struct sl_encoding *job,
                          struct sl_err *err)
{
    struct listed_text a = {.job = *job}, b = {.job = *job};
    b.job.text = job->pair;
    b.job.bytes = job->pair_bytes;
    b.job.plain_count = 0;
    long count = -1;
    if (list_text(tokenizer, &a, err) && (!job->pair || list_text(tokenizer, &b, err))) {
        truncate_texts(tokenizer, job, &a, &b);
        count = write_texts(tokenizer, job, &a, &b);
    }
    free(a.list.items);
    free(b.list.items);
    return count;
}

/* -- either ----------------------------------------------------------------------------------- */

static long encode(const struct sl_tokenizer *tokenizer, const struct sl_encoding *encoding,
                   struct sl_err *err)
{
    return encoding->pair || encoding->max_tokens > 0 ? encode_listed(tokenizer, encoding, err)
                                                      : encode_one(tokenizer, encoding, err);
}

/* Both are one text, whose tokens may span the place where they meet. */
static long encode_prompted(const struct sl_tokenizer *tokenizer,
                            const struct sl_encoding *encoding, struct sl_err *err)
{
    struct sl_encoding both = *encoding;
    const size_t before = strlen(encoding->prompt);
    char *text = malloc(before + encoding->bytes + 1);
    if (!text) {
        (void)sl_fail(err, SL_NO_MEMORY, "no memory for a text with its prompt");
        return -1;
    }
    memcpy(text, encoding->prompt, before);
    memcpy(text + before, encoding->text, encoding->bytes);
    both.text = text;
    both.bytes = before + encoding->bytes;
    const long count = encode(tokenizer, &both, err);
    free(text);
    return count;
}

/* Whether a text has no tokens but those that are added to every text. */
static bool is_blank(const struct sl_tokenizer *tokenizer, const struct sl_encoding *encoding,
                     long count)
{
    return count <= (encoding->special ? sl_template_added(&tokenizer->post.single) : 0);
}

long sl_tokenizer_tokenize(const struct sl_tokenizer *tokenizer, const struct sl_encoding *encoding,
                           struct sl_err *err)
{
    assert(encoding->capacity >= 0);
    assert(encoding->ids || encoding->capacity == 0);
    assert(!encoding->prompt || encoding->plain_count == 0);
    const long count = encode(tokenizer, encoding, err);
    const bool prompted = encoding->prompt && count >= 0 && !is_blank(tokenizer, encoding, count);
    return prompted ? encode_prompted(tokenizer, encoding, err) : count;
}

size_t sl_tokenizer_max_tokens(const struct sl_tokenizer *tokenizer, size_t bytes)
{
    enum { ADDED_MIN = 2 }; /* an empty text has room, too */

    int single = sl_template_added(&tokenizer->post.single);
    int pair = sl_template_added(&tokenizer->post.pair);
    int added = single > pair ? single : pair;
    size_t growth = tokenizer->growth;
    size_t tokens = bytes <= (size_t)LONG_MAX / 2 / growth ? bytes * growth : LONG_MAX / 2;
    return tokens + (size_t)(added > ADDED_MIN ? added : ADDED_MIN);
}

bool sl_tokenizer_begins_texts(const struct sl_tokenizer *tokenizer)
{
    const struct sl_template *single = &tokenizer->post.single;
    return tokenizer->kind->imported && single->count > 1 &&
           single->parts[0].kind == SL_TEMPLATE_SPECIAL &&
           single->parts[single->count - 1].kind != SL_TEMPLATE_SPECIAL;
}

int sl_tokenizer_types(const struct sl_tokenizer *tokenizer)
{
    const struct sl_template *pair = &tokenizer->post.pair;
    int32_t last = 0;
    for (int i = 0; i < pair->count; i++)
        last = pair->parts[i].type > last ? pair->parts[i].type : last;
    return last + 1;
}

/* Parameters as the public header has them. */
/* NOLINTBEGIN(readability-function-size,readability-non-const-parameter) */
long sl_tokenizer_encode(const struct sl_tokenizer *tokenizer, const char *text, size_t bytes,
                         enum sl_unknown unknown, int32_t *ids, long max, struct sl_err *err)
{
    const struct sl_encoding job = {
        .text = text, .bytes = bytes, .unknown = unknown, .ids = ids, .capacity = max};
    return sl_tokenizer_tokenize(tokenizer, &job, err);
}

/* NOLINTEND(readability-function-size,readability-non-const-parameter) */

/* -- encoded texts ---------------------------------------------------------------------------- */

/* Moves `count` ids, and their offsets, within the arrays. */
static void shift(int32_t *ids, struct sl_token_offset *places, long from, long to, long count)
{
    memmove(ids + to, ids + from, (size_t)count * sizeof *ids);
    if (places)
        memmove(places + to, places + from, (size_t)count * sizeof *places);
}

enum sl_truncation sl_tokenizer_truncation_side(const struct sl_tokenizer *tokenizer)
{
    return tokenizer->truncation_side == SL_TRUNCATE_LEFT ? SL_TRUNCATE_LEFT : SL_TRUNCATE_RIGHT;
}

void sl_tokenizer_set_truncation(struct sl_tokenizer *tokenizer, enum sl_truncation side)
{
    if (side != SL_TRUNCATE_DEFAULT)
        tokenizer->truncation_side = side;
}

/* How many special tokens an encoded text begins or ends with. */
static long count_specials(const struct sl_template *template, const int32_t *ids, long count,
                           bool at_end)
{
    long found = 0;
    for (; found < template->count && found < count; found++) {
        long part = at_end ? template->count - 1 - found : found;
        long token = at_end ? count - 1 - found : found;
        if (template->parts[part].kind != SL_TEMPLATE_SPECIAL ||
            template->parts[part].id != ids[token])
            break;
    }
    return found;
}

long sl_tokenizer_truncate(const struct sl_tokenizer *tokenizer, enum sl_truncation side, long max,
                           int32_t *ids, struct sl_token_offset *offsets, long count)
{
    assert(max >= 2);
    if (count <= max)
        return count;
    const struct sl_template *template = &tokenizer->post.single;
    long head = count_specials(template, ids, count, false);
    long tail = count_specials(template, ids, count, true);
    head = head < max ? head : max;
    tail = tail < max - head ? tail : max - head;
    if (side == SL_TRUNCATE_DEFAULT)
        side = sl_tokenizer_truncation_side(tokenizer);
    if (side == SL_TRUNCATE_LEFT)
        shift(ids, offsets, count - (max - head), head, max - head);
    else
        shift(ids, offsets, count - tail, max - tail, tail);
    return max;
}

bool sl_tokenizer_has_text(const struct sl_tokenizer *tokenizer, const int32_t *ids, long count)
{
    int32_t begin = tokenizer->special[SL_SPECIAL_BEGIN], end = tokenizer->special[SL_SPECIAL_END];
    for (long i = 0; i < count; i++)
        if (ids[i] != begin && ids[i] != end)
            return true;
    return false;
}
