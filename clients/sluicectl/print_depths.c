/* print_depths.c - tokens of a text by the number of layers that computed them. */
#include "base/explained_words.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Of 1 layer, 2 layers, ...; the last one of more, too. From cold to hot, of 256 colors. */
static const int colors[] = {33, 38, 36, 40, 148, 220, 208, 196};

enum { COLORS = sizeof colors / sizeof *colors };

static int color_of(json_int_t depth)
{
    return colors[depth < 1 ? 0 : depth > COLORS ? COLORS - 1 : depth - 1];
}

static void print_token(const json_t *token, const json_t *depth, bool in_color)
{
    const char *text = json_string_value(token);
    if (!text)
        return;
    if (!in_color) {
        if (json_is_integer(depth))
            (void)printf("%lld", (long long)json_integer_value(depth));
        (void)putchar('\t');
        sl_print_text(text, strlen(text));
        (void)putchar('\n');
    } else if (json_is_integer(depth)) {
        (void)printf("\033[38;5;%dm%s\033[0m", color_of(json_integer_value(depth)), text);
    } else {
        (void)fputs(text, stdout);
    }
}

void print_depths(const json_t *choice)
{
    const json_t *facts = json_object_get(choice, "sluice");
    const json_t *tokens = json_object_get(facts, "tokens"),
                 *depths = json_object_get(facts, "depth");
    const bool in_color = sl_output_has_colors();
    for (size_t i = 0; i < json_array_size(tokens); i++)
        print_token(json_array_get(tokens, i), json_array_get(depths, i), in_color);
}

/* Where a token begins and ends; false: not in the text, after what was printed of it. */
static bool place_of(const json_t *token, size_t from, size_t bytes, size_t *start, size_t *stop)
{
    const json_int_t first = json_integer_value(json_object_get(token, "start"));
    const json_int_t last = json_integer_value(json_object_get(token, "stop"));
    if (first < 0 || last < first || (size_t)first < from || (size_t)last > bytes)
        return false;
    *start = (size_t)first;
    *stop = (size_t)last;
    return true;
}

void print_text_in_depths(const char *text, const json_t *tokens)
{
    const size_t bytes = strlen(text);
    size_t printed = 0, start, stop;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        if (!place_of(token, printed, bytes, &start, &stop))
            continue;
        sl_print_text(text + printed, start - printed);
        (void)printf("\033[38;5;%dm",
                     color_of(json_integer_value(json_object_get(token, "depth"))));
        sl_print_text(text + start, stop - start);
        (void)fputs("\033[0m", stdout);
        printed = stop;
    }
    sl_print_text(text + printed, bytes - printed);
}

void print_depth_words(const char *text, const json_t *tokens)
{
    const size_t bytes = strlen(text);
    size_t start, stop;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        if (!place_of(token, 0, bytes, &start, &stop))
            continue;
        (void)fputs(i > 0 ? " " : "", stdout);
        sl_print_text(text + start, stop - start);
        (void)printf(":%lld", (long long)json_integer_value(json_object_get(token, "depth")));
    }
}

void print_depth_legend(void)
{
    if (!sl_output_has_colors())
        return;
    (void)printf("\n\nlayers:");
    for (int i = 0; i < COLORS; i++)
        (void)printf(" \033[38;5;%dm%d%s\033[0m", colors[i], i + 1, i == COLORS - 1 ? "+" : "");
}
