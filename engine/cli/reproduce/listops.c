/* listops.c - draws and evaluates expressions. */
#include "cli/reproduce/listops.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_LEAST = 2, ARGUMENTS_MOST = 10, DIGITS = 10 };

static const char operators[] = "mxds";

/* ---- drawing --------------------------------------------------------------------------------- */

/* An expression that is being written. */
struct drawing {
    char *text;
    size_t bytes, capacity;
    uint64_t key, draws;
};

static uint64_t below(struct drawing *d, uint64_t n)
{
    return sl_random_below(d->key, d->draws++, n);
}

static void put(struct drawing *d, char token)
{
    if (d->bytes < d->capacity)
        d->text[d->bytes++] = token;
}

/* A quarter of the nodes above the last level are lists. Stops when the text is full. */
// NOLINTNEXTLINE(misc-no-recursion): at most LISTOPS_DEPTH deep
static void draw_node(struct drawing *d, int depth)
{
    if (depth == LISTOPS_DEPTH || below(d, 4) > 0) {
        put(d, (char)('0' + below(d, DIGITS)));
        return;
    }
    put(d, operators[below(d, sizeof operators - 1)]);
    uint64_t arguments = ARGUMENTS_LEAST + below(d, ARGUMENTS_MOST - ARGUMENTS_LEAST + 1);
    for (uint64_t i = 0; i < arguments && d->bytes < d->capacity; i++)
        draw_node(d, depth + 1);
    put(d, ']');
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to
size_t listops_draw(char *text, size_t length, uint64_t draw)
{
    for (uint64_t attempt = 0;; attempt++) {
        struct drawing d = {.text = text, .capacity = length, .key = sl_random_bits(draw, attempt)};
        draw_node(&d, 1);
        if (d.bytes < length && 4 * d.bytes > length)
            return d.bytes;
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct reading {
    const char *text, *end;
};

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int apply(char token, int *arguments, size_t count)
{
    int sum = 0;
    if (token == 's') {
        for (size_t i = 0; i < count; i++)
            sum += arguments[i];
        return sum % DIGITS;
    }
    qsort(arguments, count, sizeof *arguments, compare);
    if (token == 'd')
        return (arguments[(count - 1) / 2] + arguments[count / 2]) / 2;
    return token == 'm' ? arguments[0] : arguments[count - 1];
}

// NOLINTNEXTLINE(misc-no-recursion): at most LISTOPS_DEPTH deep
static int read_node(struct reading *r, int depth)
{
    int arguments[ARGUMENTS_MOST];
    size_t count = 0;
    if (r->text == r->end || depth > LISTOPS_DEPTH)
        return -1;
    char token = *r->text++;
    if (token >= '0' && token <= '9')
        return token - '0';
    if (!memchr(operators, token, sizeof operators - 1))
        return -1;
    while (r->text < r->end && *r->text != ']') {
        int value = count < ARGUMENTS_MOST ? read_node(r, depth + 1) : -1;
        if (value < 0)
            return -1;
        arguments[count++] = value;
    }
    if (r->text == r->end || count < ARGUMENTS_LEAST)
        return -1;
    r->text++;
    return apply(token, arguments, count);
}

int listops_value(const char *text, size_t bytes)
{
    struct reading r = {text, text + bytes};
    int value = read_node(&r, 1);
    return r.text == r.end ? value : -1;
}
