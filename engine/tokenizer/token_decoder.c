/* token_decoder.c - a function per kind of step: most take one text at a time, some all of them. */
#include "tokenizer/token_decoder.h"

#include "base/dynarray.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"

#include <stdlib.h>
#include <string.h>

/* -- texts ------------------------------------------------------------------------------------ */

void sl_token_texts_release(struct sl_token_texts *texts)
{
    free(texts->text);
    free(texts->stops);
    *texts = (struct sl_token_texts){0};
}

static void append(struct sl_token_texts *texts, const char *text, size_t bytes)
{
    if (texts->bytes + bytes > SL_ALIGNED_TEXT_MAX ||
        !sl_dynarray_reserve(&texts->text, &texts->text_capacity, texts->bytes + bytes + 1, 1,
                             NULL)) {
        texts->failed = true;
        return;
    }
    memcpy(texts->text + texts->bytes, text, bytes);
    texts->bytes += bytes;
}

static void end_text(struct sl_token_texts *texts)
{
    if (sl_dynarray_reserve(&texts->stops, &texts->stops_capacity, texts->count + 1,
                            sizeof *texts->stops, NULL))
        texts->stops[texts->count++] = texts->bytes;
    else
        texts->failed = true;
}

void sl_token_texts_add(struct sl_token_texts *texts, struct sl_piece text)
{
    append(texts, text.text, text.bytes);
    end_text(texts);
}

static struct sl_piece text_at(const struct sl_token_texts *texts, size_t i)
{
    size_t start = i > 0 ? texts->stops[i - 1] : 0;
    return (struct sl_piece){texts->text ? texts->text + start : "", texts->stops[i] - start};
}

/* -- one text at a time ----------------------------------------------------------------------- */

/* Where a text stands. */
struct place {
    bool first, last, partial;
};

static bool begins(struct sl_piece text, const struct sl_short_text *with)
{
    return text.bytes >= with->bytes && memcmp(text.text, with->text, with->bytes) == 0;
}

static void replace(struct sl_token_texts *out, struct sl_piece text, struct sl_piece pattern,
                    struct sl_piece by)
{
    const char *end = text.text + text.bytes, *found;
    while (pattern.bytes > 0 &&
           (found = memmem(text.text, (size_t)(end - text.text), pattern.text, pattern.bytes))) {
        append(out, text.text, (size_t)(found - text.text));
        append(out, by.text, by.bytes);
        text.text = found + pattern.bytes;
    }
    append(out, text.text, (size_t)(end - text.text));
}

static struct sl_piece piece_of(const struct sl_short_text *text)
{
    return (struct sl_piece){text->text, text->bytes};
}

static void replace_decode(const struct sl_decoder_step *step, struct place place,
                           struct sl_piece text, struct sl_token_texts *out)
{
    (void)place;
    replace(out, text, piece_of(&step->text), piece_of(&step->content));
}

static void suffix_decode(const struct sl_decoder_step *step, struct place place,
                          struct sl_piece text, struct sl_token_texts *out)
{
    replace(out, text, piece_of(&step->text), (struct sl_piece){" ", !place.last});
}

static void metaspace_decode(const struct sl_decoder_step *step, struct place place,
                             struct sl_piece text, struct sl_token_texts *out)
{
    bool drops = place.first && step->scheme != SL_PREPEND_NEVER;
    replace(out, text, piece_of(&step->text), (struct sl_piece){" ", !drops});
}

/* One after the other, within one token: of these, only those without a blank at their end can
 * match. */
static void cleanup(struct sl_token_texts *out, size_t start)
{
    static const char *const rules[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                           {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                           {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                           {" 've", "'ve"}, {" 're", "'re"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !out->failed; i++) {
        size_t pattern = strlen(rules[i][0]), by = strlen(rules[i][1]), from = start;
        char *found;
        while ((found = memmem(out->text + from, out->bytes - from, rules[i][0], pattern))) {
            char *rest = found + pattern;
            memcpy(found, rules[i][1], by);
            memmove(found + by, rest, (size_t)(out->text + out->bytes - rest));
            out->bytes -= pattern - by;
            from = (size_t)(found - out->text) + by;
        }
    }
}

static void wordpiece_decode(const struct sl_decoder_step *step, struct place place,
                             struct sl_piece text, struct sl_token_texts *out)
{
    size_t start = out->bytes;
    if (!place.first && begins(text, &step->text))
        text = (struct sl_piece){text.text + step->text.bytes, text.bytes - step->text.bytes};
    else if (!place.first)
        append(out, " ", 1);
    append(out, text.text, text.bytes);
    if (step->cleanup && !out->failed)
        cleanup(out, start);
}

/* Of a text decoded in parts, only the first loses its start, and the end is not known. */
static void strip_decode(const struct sl_decoder_step *step, struct place place,
                         struct sl_piece text, struct sl_token_texts *out)
{
    const struct sl_short_text *one = &step->text;
    int start = place.partial && !place.first ? 0 : step->start;
    for (int i = 0; i < start && begins(text, one); i++)
        text = (struct sl_piece){text.text + one->bytes, text.bytes - one->bytes};
    for (int i = 0; i < step->stop && !place.partial && text.bytes >= one->bytes; i++) {
        if (memcmp(text.text + text.bytes - one->bytes, one->text, one->bytes) != 0)
            break;
        text.bytes -= one->bytes;
    }
    append(out, text.text, text.bytes);
}

/* -- all texts -------------------------------------------------------------------------------- */

/* The bytes at `at` that begin a character and do not end it: at least one. */
static size_t broken_bytes(const char *text, size_t bytes)
{
    const unsigned char *t = (const unsigned char *)text;
    size_t wanted = t[0] >= 0xC2 && t[0] <= 0xF4 ? sl_char_bytes(text[0]) : 1, have = 1;
    while (have < wanted && have < bytes && sl_utf8_is_continuation(text[have])) {
        bool valid = have > 1 || !((t[0] == 0xE0 && t[1] < 0xA0) || (t[0] == 0xED && t[1] > 0x9F) ||
                                   (t[0] == 0xF0 && t[1] < 0x90) || (t[0] == 0xF4 && t[1] > 0x8F));
        if (!valid)
            break;
        have++;
    }
    return have;
}

static void append_repaired(struct sl_token_texts *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t valid = sl_utf8_valid_bytes(text + at, bytes - at);
        append(out, text + at, valid);
        at += valid;
        if (at == bytes)
            break;
        append(out, SL_UTF8_REPLACEMENT, strlen(SL_UTF8_REPLACEMENT));
        at += broken_bytes(text + at, bytes - at);
    }
}

static void byte_level_all(struct sl_decode_context context, const struct sl_token_texts *texts,
                           struct sl_token_texts *out)
{
    char *bytes = malloc(texts->bytes + 1);
    size_t used = 0, count = 0;
    if (!bytes) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < texts->count; i++) {
        struct sl_piece text = text_at(texts, i);
        if (!sl_byte_level_decode(text.text, text.bytes, bytes + used, &count))
            memcpy(bytes + used, text.text, count = text.bytes);
        used += count;
    }
    if (context.partial)
        append(out, bytes, used);
    else
        append_repaired(out, bytes, used);
    end_text(out);
    free(bytes);
}

/* The byte of "<0x41>"; -1: another text. */
static int byte_named(struct sl_piece text)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    if (text.bytes != 6 || memcmp(text.text, "<0x", 3) != 0 || text.text[5] != '>')
        return -1;
    int value = 0;
    for (int i = 3; i < 5; i++) {
        const char *digit = memchr(digits, text.text[i], sizeof digits - 1);
        if (!digit)
            return -1;
        value = value * 16 + (int)(digit - digits < 16 ? digit - digits : digit - digits - 6);
    }
    return value;
}

/* The bytes of a run become its text, or as many replacement characters. */
static void run_end(struct sl_decode_context context, struct sl_token_texts *out, size_t start)
{
    size_t bytes = out->bytes - start;
    if (bytes == 0 || out->failed)
        return;
    if (context.partial || sl_utf8_is_valid(out->text + start, bytes)) {
        end_text(out);
        return;
    }
    out->bytes = start;
    for (size_t i = 0; i < bytes; i++)
        sl_token_texts_add(out,
                           (struct sl_piece){SL_UTF8_REPLACEMENT, strlen(SL_UTF8_REPLACEMENT)});
}

static void byte_fallback_all(struct sl_decode_context context, const struct sl_token_texts *texts,
                              struct sl_token_texts *out)
{
    size_t start = 0;
    for (size_t i = 0; i < texts->count; i++) {
        struct sl_piece text = text_at(texts, i);
        int byte = byte_named(text);
        if (byte >= 0) {
            append(out, &(char){(char)(unsigned char)byte}, 1);
            continue;
        }
        run_end(context, out, start);
        sl_token_texts_add(out, text);
        start = out->bytes;
    }
    run_end(context, out, start);
}

static void fuse_all(struct sl_decode_context context, const struct sl_token_texts *texts,
                     struct sl_token_texts *out)
{
    (void)context;
    append(out, texts->text ? texts->text : "", texts->bytes);
    end_text(out);
}

/* -- the table -------------------------------------------------------------------------------- */

static const struct {
    void (*one)(const struct sl_decoder_step *step, struct place place, struct sl_piece text,
                struct sl_token_texts *out);
    void (*all)(struct sl_decode_context context, const struct sl_token_texts *texts,
                struct sl_token_texts *out);
} kinds[SL_DECODER_KINDS] = {
    [SL_DECODE_BYTE_LEVEL] = {.all = byte_level_all},
    [SL_DECODE_WORDPIECE] = {.one = wordpiece_decode},
    [SL_DECODE_METASPACE] = {.one = metaspace_decode},
    [SL_DECODE_SUFFIX] = {.one = suffix_decode},
    [SL_DECODE_REPLACE] = {.one = replace_decode},
    [SL_DECODE_BYTE_FALLBACK] = {.all = byte_fallback_all},
    [SL_DECODE_FUSE] = {.all = fuse_all},
    [SL_DECODE_STRIP] = {.one = strip_decode},
};

static void step_apply(const struct sl_decoder_step *step, struct sl_decode_context context,
                       const struct sl_token_texts *texts, struct sl_token_texts *out)
{
    if (kinds[step->kind].all) {
        kinds[step->kind].all(context, texts, out);
        return;
    }
    for (size_t i = 0; i < texts->count; i++) {
        struct place place = {.first = i == 0 && context.first,
                              .last = i + 1 == texts->count && !context.partial,
                              .partial = context.partial};
        kinds[step->kind].one(step, place, text_at(texts, i), out);
        end_text(out);
    }
}

static void join(const struct sl_token_texts *texts, struct sl_decode_context context,
                 struct sl_token_texts *out)
{
    for (size_t i = 0; i < texts->count; i++) {
        struct sl_piece text = text_at(texts, i);
        append(out, " ", i > 0 || !context.first);
        append(out, text.text, text.bytes);
    }
    end_text(out);
}

static void swap(struct sl_token_texts *texts, struct sl_token_texts *other)
{
    struct sl_token_texts held = *texts;
    *texts = *other;
    *other = held;
    texts->failed = texts->failed || held.failed;
    other->bytes = other->count = 0;
}

void sl_decoder_apply(const struct sl_decoder *decoder, struct sl_decode_context context,
                      struct sl_token_texts *texts, struct sl_token_texts *other)
{
    other->bytes = other->count = 0;
    if (texts->count == 0)
        return;
    for (int i = 0; i < decoder->count && !texts->failed; i++) {
        step_apply(&decoder->steps[i], context, texts, other);
        swap(texts, other);
    }
    if (decoder->count == 0) {
        join(texts, context, other);
        swap(texts, other);
    }
}
