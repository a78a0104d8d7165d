/* character_tokenizer.c - one id per Unicode code point, numbered in code point order. */
#include "base/comma_list.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECT = 0x3000, /* code points below this use a table; above are mostly ideographs */
    UNKNOWN_MAX = 5, /* unknown characters that one error names */
    UNKNOWN_BYTES = 64
};

struct characters {
    struct sl_tokenizer tokenizer;
    uint32_t *points;       /* by id, ascending */
    int32_t direct[DIRECT]; /* id by code point, -1 for none */
    int32_t replacement;    /* -1 for none */
};

/* Unknown characters, each with the position of its first occurrence. */
struct unknown_characters {
    uint32_t points[UNKNOWN_MAX];
    long places[UNKNOWN_MAX];
    int count;
    bool more;
};

/* -- learning -------------------------------------------------------------------------- */

/* Marks the code points that occur in a text. */
static bool points_collect(bool *seen, const char *text, size_t bytes, struct sl_err *err)
{
    if (!sl_utf8_check(text, bytes, err))
        return false;
    for (size_t at = 0; at < bytes;) {
        uint32_t point = 0;
        (void)sl_utf8_next(text, bytes, &at, &point);
        seen[point] = true;
    }
    return true;
}

/* One piece per code point seen; `text` has room for all of them. */
static int pieces_fill(const bool *seen, struct sl_piece *pieces, char *text)
{
    int count = 0;
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++) {
        if (!seen[point])
            continue;
        size_t bytes = sl_utf8_put(point, text);
        pieces[count++] = (struct sl_piece){.text = text, .bytes = bytes};
        text += bytes;
    }
    return count;
}

static struct sl_tokenizer *tokens_of(const bool *seen, struct sl_err *err)
{
    size_t count = 0;
    for (uint32_t point = 0; point < SL_CODE_POINTS; point++)
        count += seen[point];
    struct sl_piece *pieces = calloc(count + 1, sizeof *pieces);
    char *text = malloc((count + 1) * SL_UTF8_MAX);
    struct sl_tokenizer *tokenizer = NULL;
    if (pieces && text)
        tokenizer = sl_tokenizer_open(&sl_tokenizer_characters, /* lower= */ false, pieces,
                                      pieces_fill(seen, pieces, text), err);
    else
        sl_fail(err, SL_NO_MEMORY, "no memory for a vocabulary of %zu characters", count);
    free(text);
    free(pieces);
    return tokenizer;
}

static struct sl_tokenizer *characters_learn(const char *text, size_t bytes, struct sl_err *err)
{
    if (bytes == 0) {
        sl_fail(err, SL_BAD_INPUT, "an empty text has no characters to learn");
        return NULL;
    }
    bool *seen = calloc(SL_CODE_POINTS, sizeof *seen);
    if (!seen) {
        sl_fail(err, SL_NO_MEMORY, "no memory for the characters of a text");
        return NULL;
    }
    struct sl_tokenizer *tokenizer =
        points_collect(seen, text, bytes, err) ? tokens_of(seen, err) : NULL;
    free(seen);
    return tokenizer;
}

/* -- the vocabulary -------------------------------------------------------------------- */

static int points_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int32_t id_find(const struct characters *c, uint32_t point)
{
    if (point < DIRECT)
        return c->direct[point];
    const uint32_t *found =
        bsearch(&point, c->points, (size_t)c->tokenizer.count, sizeof point, points_compare);
    return found ? (int32_t)(found - c->points) : -1;
}

/* The first character of sl_unknown's list that the vocabulary has. */
static int32_t replacement_find(const struct characters *c)
{
    static const uint32_t choices[] = {0xFFFD, '?', ' '};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        int32_t id = id_find(c, choices[i]);
        if (id >= 0)
            return id;
    }
    return -1;
}

static bool piece_check(const struct characters *c, int id, struct sl_err *err)
{
    const struct sl_piece *piece = &c->tokenizer.pieces[id];
    size_t at = 0;
    if (piece->bytes == 0 || !sl_utf8_next(piece->text, piece->bytes, &at, &c->points[id]) ||
        at != piece->bytes)
        return sl_fail(err, SL_BAD_INPUT,
                       "piece %d of %d is %zu bytes: expected one UTF-8 character", id,
                       c->tokenizer.count, piece->bytes);
    if (id > 0 && c->points[id] <= c->points[id - 1])
        return sl_fail(
            err, SL_BAD_INPUT,
            "piece %d (U+%04X) follows piece %d (U+%04X): expected ascending code points", id,
            c->points[id], id - 1, c->points[id - 1]);
    return true;
}

static bool characters_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    struct characters *c = (struct characters *)tokenizer;
    c->points = calloc((size_t)tokenizer->count, sizeof *c->points);
    if (!c->points)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d characters", tokenizer->count);
    for (int i = 0; i < DIRECT; i++)
        c->direct[i] = -1;
    for (int id = 0; id < tokenizer->count; id++) {
        if (!piece_check(c, id, err))
            return false;
        if (c->points[id] < DIRECT)
            c->direct[c->points[id]] = id;
    }
    c->replacement = replacement_find(c);
    return true;
}

static void characters_close(struct sl_tokenizer *tokenizer)
{
    free(((struct characters *)tokenizer)->points);
}

/* -- encoding -------------------------------------------------------------------------- */

static void add_unknown(struct unknown_characters *s, uint32_t point, long place)
{
    for (int i = 0; i < s->count; i++)
        if (s->points[i] == point)
            return;
    if (s->count == UNKNOWN_MAX) {
        s->more = true;
        return;
    }
    s->points[s->count] = point;
    s->places[s->count] = place;
    s->count++;
}

/* "'é' (U+00E9) at character 12", counted from 1; of control characters, only the number. */
static void describe_unknown(uint32_t point, long place, char text[UNKNOWN_BYTES])
{
    char utf8[SL_UTF8_MAX];
    int bytes = (int)sl_utf8_put(point, utf8);
    if (point < 0x20 || (point >= 0x7F && point < 0xA0))
        (void)snprintf(text, UNKNOWN_BYTES, "U+%04X at character %ld", point, place + 1);
    else
        (void)snprintf(text, UNKNOWN_BYTES, "'%.*s' (U+%04X) at character %ld", bytes, utf8, point,
                       place + 1);
}

static bool fail_unknown(const struct unknown_characters *s, struct sl_err *err)
{
    char list[UNKNOWN_MAX * (UNKNOWN_BYTES + 2) + UNKNOWN_BYTES] = "";
    for (int i = 0; i < s->count; i++) {
        char one[UNKNOWN_BYTES];
        describe_unknown(s->points[i], s->places[i], one);
        sl_list_add(list, sizeof list, one);
    }
    (void)sl_fail(err, SL_BAD_INPUT, "%s%d character%s not in the vocabulary: %s%s",
                  s->more ? "more than " : "", s->count, s->count == 1 ? " is" : "s are", list,
                  s->more ? ", and others" : "");
    return sl_err_set_field(err, "vocabulary");
}

static bool characters_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                              struct sl_err *err)
{
    const struct characters *c = (const struct characters *)tokenizer;
    const struct sl_encoding *job = sink->job;
    const int32_t otherwise = job->unknown == SL_UNKNOWN_REPLACE ? c->replacement : -1;
    struct unknown_characters unknown = {0};
    if (!sl_utf8_check(job->text, job->bytes, err))
        return false;
    for (size_t at = 0; at < job->bytes;) {
        uint32_t point = 0;
        size_t start = at;
        (void)sl_utf8_next(job->text, job->bytes, &at, &point);
        int32_t id = id_find(c, point);
        if (id < 0)
            id = otherwise;
        if (id < 0)
            add_unknown(&unknown, point, sink->count);
        sl_encoder_emit(sink, id, (struct sl_token_offset){.start = start, .stop = at});
    }
    return unknown.count == 0 || fail_unknown(&unknown, err);
}

const struct sl_tokenizer_kind sl_tokenizer_characters = {
    .name = "characters",
    .size = sizeof(struct characters),
    .learn = characters_learn,
    .open = characters_open,
    .close = characters_close,
    .encode = characters_encode,
};
