/* test_option_parser.c - command lines: what is read, what is said of mistakes, what help shows. */
#include "base/option_parser.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

struct values {
    bool flag;
    const char *text;
    struct sl_strings stops;
    int whole;
    double real;
    struct sl_given_int seed;
    struct sl_given_real share;
};

#define AT(member) offsetof(struct values, member)

#define STOPS "--stop=1 --stop=1 --stop=1 --stop=1 "

static const struct sl_option rows[] = {
    {"flag", NULL, "a flag", SL_OPTION_FLAG, AT(flag), 0, 0},
    {"some_text", "TEXT", "a text", SL_OPTION_STRING, AT(text), 0, 0},
    {"stop", "TEXT", "texts", SL_OPTION_STRINGS, AT(stops), 0, 0},
    {"whole", "N", "a whole number", SL_OPTION_INT, AT(whole), -5, 1e6},
    {"real", "X", "a number", SL_OPTION_REAL, AT(real), 0, 1},
    {"seed", "N", "a seed", SL_OPTION_GIVEN_INT, AT(seed), -9.3e18, 9.3e18},
    {"share", "X", "a share", SL_OPTION_GIVEN_REAL, AT(share), 0, 1},
    {0}};

static struct values values;
static const char *operands[2];
static struct sl_option_parser parser;

/* Reads a line of words with single blanks between them. */
static bool read_line(const char *line, struct sl_err *err)
{
    enum { WORDS_MAX = 32 };

    static char copy[256];
    char *words[WORDS_MAX];
    int count = 0;
    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *at = copy, *end; *at; at = end) {
        cr_assert_lt(count, WORDS_MAX);
        words[count++] = at;
        end = at + strcspn(at, " ");
        if (*end)
            *end++ = '\0';
    }
    values = (struct values){0};
    parser = (struct sl_option_parser){.program = "test",
                                       .tables = {{.rows = rows, .values = &values}},
                                       .operands = operands,
                                       .operands_max = 2,
                                       .stops_at_operand = parser.stops_at_operand};
    return sl_options_parse(&parser, count, words, err);
}

Test(option_parser, every_kind_is_read)
{
    struct sl_err err;
    EXPECT_OK(read_line("--flag a --some-text=t --stop x --stop y --whole 1e3 --real .5 --seed "
                        "-9223372036854775807 --share 1 -- --b",
                        &err),
              err);
    cr_assert(values.flag);
    cr_assert_str_eq(values.text, "t");
    cr_assert_eq(values.stops.count, 2);
    cr_assert_str_eq(values.stops.items[1], "y");
    cr_assert_eq(values.whole, 1000);
    cr_assert_float_eq(values.real, 0.5, 0.0);
    cr_assert(values.seed.given && values.seed.value == -INT64_MAX);
    cr_assert(values.share.given);
    cr_assert_eq(parser.operand_count, 2);
    cr_assert_str_eq(operands[0], "a");
    cr_assert_str_eq(operands[1], "--b");
    EXPECT_OK(read_line("--some t --wh 5 -h", &err), err);
    cr_assert_str_eq(values.text, "t");
    cr_assert(parser.wants_help && !parser.wants_version);
    EXPECT_OK(read_line("- -- -", &err), err);
    cr_assert_eq(parser.operand_count, 2);
    EXPECT_OK(read_line("--version", &err), err);
    cr_assert(parser.wants_version);
    EXPECT_OK(read_line("", &err), err);
}

Test(option_parser, stops_at_an_operand_on_request)
{
    struct sl_err err;
    parser.stops_at_operand = true;
    EXPECT_OK(read_line("--whole 1 command --whole 2 --nonsense", &err), err);
    cr_assert_eq(values.whole, 1);
    cr_assert_eq(parser.read, 2);
    EXPECT_OK(read_line("--whole 1", &err), err);
    cr_assert_eq(parser.read, 2);
    parser.stops_at_operand = false;
}

Test(option_parser, mistakes_are_named_with_what_is_accepted)
{
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"--wohle 1", "unknown option --wohle; did you mean --whole?"},
        {"--some_text t", "unknown option --some_text; did you mean --some-text?"},
        {"--frobnicate", "unknown option --frobnicate; --help lists"},
        {"a --s 1", "--s is ambiguous"},
        {"--sha 2", "--sha is short for --share: invalid --share '2': expected a number"},
        {"-x", "unknown option -x; options begin with two dashes"},
        {"a -xy b", "unknown option -xy"},
        {"--whole", "--whole needs a value"},
        {"a --wh", "--whole needs a value"},
        {"--flag=maybe", "invalid --flag 'maybe': expected true or false"},
        {"--whole -6", "invalid --whole '-6': expected a whole number from -5 to 1000000"},
        {"--whole 1.5", "expected a whole number from -5"},
        {"--whole 1x", "invalid --whole '1x': expected a whole number from -5"},
        {"--real nan", "invalid --real 'nan': expected a number from"},
        {"--share 2", "invalid --share '2': expected a number from 0 to 1"},
        {"--seed 99999999999999999999", "invalid --seed '99999999999999999999': expected a whole"},
        {"a b c", "unexpected argument 'c'"},
        {STOPS STOPS STOPS STOPS "--stop=1", "--stop appears more than 16 times"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sl_err err;
        EXPECT_FAIL(read_line(cases[i].line, &err), err, SL_BAD_INPUT, cases[i].said);
    }
}

static char *help_of(const struct sl_option_parser *shown)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert(out);
    sl_options_help(shown, out);
    cr_assert_eq(fclose(out), 0);
    return text;
}

static const struct sl_param numbers[] = {
    {"decay_rate_of_weights", "a rate", SL_REAL, 0, 1, 0.5, 0, NULL, 0},
    {0}};

Test(option_parser, help_has_headings_and_every_option)
{
    static const struct sl_option_alias aliases[] = {{"t", "some-text"}, {0}};
    const struct sl_option_parser shown = {
        .program = "test it",
        .usage = "FILE\nDIR",
        .about = "tests",
        .notes = "And so on.",
        .aliases = aliases,
        .tables = {{.heading = "All", .rows = rows}, {.numbers = numbers, .default_text = "old"}}};
    char *text = help_of(&shown);
    static const char *const wanted[] = {
        "Usage: test it [OPTION...] FILE\n  or:  test it [OPTION...] DIR\ntests\n\n",
        " All\n      --flag ",
        "      --some-text=TEXT, --t=TEXT\n                             a text\n",
        "      --share=X              a share\n\n      --decay-rate-of-weights=X\n",
        "                             a rate [old]\n",
        "  -h, --help                 print this help and exit\n",
        "--version",
        "\n\nAnd so on."};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        cr_expect(strstr(text, wanted[i]), "'%s' is not in:\n%s", wanted[i], text);
    free(text);
}

Test(option_parser, help_breaks_lines_where_the_user_prefers)
{
    static const struct sl_option long_row[] = {
        {"flag", NULL, "one two three four five six seven eight nine ten eleven twelve thirteen",
         SL_OPTION_FLAG, 0, 0, 0},
        {0}};
    const struct sl_option_parser shown = {.program = "test", .tables = {{.rows = long_row}}};
    cr_assert_eq(unsetenv("COLUMNS"), 0);
    char *text = help_of(&shown);
    cr_expect(strstr(text, "nine ten\n                             eleven"), "%s", text);
    free(text);
    cr_assert_eq(setenv("COLUMNS", "200", 1), 0);
    text = help_of(&shown);
    cr_expect(strstr(text, "twelve thirteen\n"), "%s", text);
    free(text);
}

Test(names, an_unknown_name_is_answered_with_the_nearest_or_all)
{
    static const char *const names[] = {"threads", "model_store", NULL};
    char advice[SL_NAME_ADVICE_BYTES], longest[256], name[SL_NAME_BYTES], cut[6];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_expect_str_eq(sl_name_advice(advice, "thraeds", names), "did you mean threads?");
    cr_expect_str_eq(sl_name_advice(advice, "y", names), "choose one of: threads, model_store");
    cr_expect_str_eq(sl_name_advice(advice, longest, names), "choose one of: threads, model_store");
    cr_expect_str_eq(sl_name_with_dashes(name, sizeof name, names[1]), "model-store");
    cr_expect_str_eq(sl_name_with_underscores(name, sizeof name, name), "model_store");
    cr_expect_str_eq(sl_name_with_dashes(cut, sizeof cut, names[1]), "model");
}

Test(numbers, whole_numbers_are_exact_and_within_bounds)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {{"9223372036854775807", true, INT64_MAX},
                 {"-3", true, -3},
                 {"1e6", true, 1000000},
                 {"2.0", true, 2},
                 {"2.5", false, 0},
                 {"9.25e18", false, 0}, /* more than INT64_MAX */
                 {"9223372036854775808", false, 0},
                 {"", false, 0},
                 {"1 ", false, 0},
                 {"inf", false, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        bool good = sl_whole_parse(cases[i].text, -9.3e18, 9.3e18, &value);
        cr_expect_eq(good, cases[i].good, "'%s'", cases[i].text);
        cr_expect(!good || value == cases[i].value, "'%s' is %lld", cases[i].text,
                  (long long)value);
    }
}
