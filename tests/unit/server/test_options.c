/* test_options.c - options: every source, every kind, and what is said about each mistake. */
#include "base/buffer.h"
#include "core/options.h"
#include "support/test.h"

static struct sv_options options;

/* Reads a configuration file with this text. */
static bool read_text(const char *text, struct sl_err *err)
{
    char directory[PATH_MAX], path[PATH_MAX];
    test_directory_create(directory);
    test_write_file(test_path(path, directory, "c.yaml"), text);
    sv_options_defaults(&options);
    bool read = sv_options_file(&options, path, err);
    test_directory_remove(directory);
    return read;
}

static bool read_arguments(struct sl_err *err, enum sv_command *command, int count,
                           const char *const *words)
{
    char *arguments[8] = {(char *)(uintptr_t) "sluiced"};
    for (int i = 0; i < count; i++)
        arguments[i + 1] = (char *)(uintptr_t)words[i];
    return sv_options_read(&options, count + 1, arguments, command, err);
}

#define READ(err, command, ...)                                                                    \
    read_arguments(err, command, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),           \
                   (const char *[]){__VA_ARGS__})

Test(options, defaults_are_sane)
{
    struct sl_err err;
    sv_options_defaults(&options);
    cr_assert_str_eq(options.listen, "127.0.0.1:8080");
    cr_assert_str_eq(options.store, "models");
    cr_assert_not(options.insecure);
    EXPECT_OK(sv_options_check(&options, &err), err);
}

Test(options, sample_is_the_shipped_file_and_reads_back_as_the_defaults)
{
    struct sl_buffer sample = {0};
    struct sv_options defaults;
    struct sl_err err;
    char shipped[65536] = "";
    sv_options_sample(&sample);
    FILE *file = fopen(SL_SOURCE_DIR "/conf/sluiced.yaml", "r");
    cr_assert(file, "conf/sluiced.yaml is missing");
    (void)!fread(shipped, 1, sizeof shipped - 1, file);
    (void)fclose(file);
    cr_assert_str_eq(shipped, sample.data,
                     "conf/sluiced.yaml differs from `sluiced --sample-config`");
    EXPECT_OK(read_text(shipped, &err), err);
    sv_options_defaults(&defaults);
    struct sl_buffer mine = {0}, theirs = {0};
    const char *name;
    for (int i = 0; (name = sv_options_show(&options, i, &mine)); i++) {
        cr_assert_str_eq(sv_options_show(&defaults, i, &theirs), name);
        cr_assert_str_eq(mine.data, theirs.data, "%s", name);
    }
    sl_buffer_release(&mine);
    sl_buffer_release(&theirs);
    sl_buffer_release(&sample);
}

Test(options, help_names_every_option)
{
    struct sl_buffer help = {0}, value = {0};
    const char *name;
    sv_options_defaults(&options);
    sv_options_help(&help);
    for (int i = 0; (name = sv_options_show(&options, i, &value)); i++) {
        char flag[64] = "--";
        for (size_t c = 0; name[c]; c++)
            if (name[c] == '_')
                flag[c + 2] = '-';
            else
                flag[c + 2] = name[c];
        cr_assert(strstr(help.data, flag), "%s is not in --help", flag);
    }
    sl_buffer_release(&help);
    sl_buffer_release(&value);
}

Test(options, limits_that_could_never_be_used_are_rejected)
{
    struct sl_err err;
    sv_options_defaults(&options);
    cr_assert(sv_options_check(&options, &err));
    options.max_client_batch_size =
        options.classify_max_batch_size + options.classify_max_queue_size;
    cr_assert(sv_options_check(&options, &err));
    options.max_client_batch_size++;
    cr_assert_not(sv_options_check(&options, &err));
    cr_assert(strstr(err.text, "max_client_batch_size"), "%s", err.text);
    options.max_client_batch_size = 1;
    options.max_batch_tokens = options.max_sequences - 1;
    cr_assert_not(sv_options_check(&options, &err));
    cr_assert(strstr(err.text, "max_batch_tokens"), "%s", err.text);
}

Test(options, file_sets_every_kind)
{
    struct sl_err err;
    EXPECT_OK(
        read_text(
            "# mine\nlisten: \"[::1]:0\"\nmax_sequences: 7\ninsecure: yes\nlog_format: json\n",
            &err),
        err);
    cr_assert_str_eq(options.listen, "[::1]:0");
    cr_assert_eq(options.max_sequences, 7);
    cr_assert(options.insecure);
    cr_assert_str_eq(options.log_format, "json");
    EXPECT_OK(read_text("%YAML 1.1\n# mine\n---\nmax_queue_size: 0\n...\n\n# no more\n", &err),
              err);
    cr_assert_eq(options.max_queue_size, 0);
    EXPECT_OK(read_text("", &err), err);
    EXPECT_OK(read_text("# nothing\n", &err), err);
}

Test(options, errors_of_the_file_name_line_and_column)
{
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        {"listen: \"127.0.0.1:1\"\nmax_sequencez: 4\n", "c.yaml:2:1",
         "unknown key 'max_sequencez'; did you mean max_sequences?"},
        {"colour: 4\n", "c.yaml:1:1", "choose one of: listen, "},
        {"\n\nmax_sequences: four\n", "c.yaml:3:1",
         "invalid max_sequences 'four': expected a whole number from 1 to 4096"},
        {"max_sequences: 0\n", "c.yaml:1:1", "from 1 to 4096"},
        {"max_sequences: 99999999999999999999\n", "c.yaml:1:1", "from 1 to 4096"},
        {"max_sequences: 4\nmax_sequences: 5\n", "c.yaml:2:1",
         "'max_sequences' is already set in line 1"},
        {"insecure: maybe\n", "c.yaml:1:1", "invalid insecure 'maybe': expected true or false"},
        {"log_level: loud\n", "c.yaml:1:1", "expected one of: error, warn, info, debug"},
        {"max_sequences:\n  - 1\n", "c.yaml:2:3",
         "max_sequences is a list; expected lines 'key: value'"},
        {"max_sequences: 4\n  listen: x\n", "c.yaml:2:9",
         "the line is indented, so it continues the value above"},
        {"- max_sequences\n", "c.yaml:1:1: the file is a list", "expected lines 'key: value'"},
        {"max_sequences\n", "c.yaml:1:1: the file is a single value",
         "expected lines 'key: value'"},
        {"\tmax_sequences: 4\n", "c.yaml:1:1: ", "a tab cannot indent; use spaces"},
        {"listen: a: b\n", "c.yaml:1:10: ", "quote it"},
        {"max_sequences: *four\n", "c.yaml:1:16: ", "undefined alias; expected lines"},
        {"max_sequences: \"\\0\"\n", "c.yaml:1:16: ", "the value of max_sequences contains a NUL"},
        {"max_sequences: \xFF\n", "c.yaml: byte 15", "UTF-8"},
        {"[max_sequences]: 4\n", "c.yaml:1:1: a key is a list", "expected"},
        {"\"slo\\ets\": [4]\n", "c.yaml:1:1", "unknown key 'slo?ts'"},
        {"store: \"\"\n", "c.yaml:1:1", "expected 1 to 255"},
        {"max_sequences: \" 64\"\n", "c.yaml:1:1", "' 64': expected a whole number"},
        {"max_sequences: 064\n", "c.yaml:1:1", "'064': expected a whole number"},
        {"max_sequences: +64\n", "c.yaml:1:1", "'+64': expected a whole number"},
        {"max_sequences: -64\n", "c.yaml:1:1", "'-64': expected a whole number from"},
        {"# mine\nmax_sequences: 4\n---\nlisten: x\n", "c.yaml:3:1", "a second document begins"},
        {"---\n--- # empty\nmax_sequences: 4\n", "c.yaml:2:1", "a second document begins"},
        {"max_sequences: 4\n...\n# more\nmax_sequences: 5\n", "c.yaml:4:1",
         "expected <document start>"},
        {"max_sequences: \"4\\e[2J\\x7F\"\n", "c.yaml:1:1", "'4?[2J?': expected a whole number"},
        {"log_level: \"\\t\"\n", "c.yaml:1:1", "'?': expected one of"},
        {"\"slo\\ets\": 4\n", "c.yaml:", "unknown key 'slo?ts'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sl_err err;
        EXPECT_FAIL(read_text(cases[i].text, &err), err, SL_BAD_INPUT, cases[i].place);
        EXPECT_FAIL(read_text(cases[i].text, &err), err, SL_BAD_INPUT, cases[i].message);
        cr_expect(strstr(err.path, "c.yaml"), "case %zu: '%s'", i, err.path);
    }
}

Test(options, missing_file)
{
    struct sl_err err;
    sv_options_defaults(&options);
    EXPECT_FAIL(sv_options_file(&options, "/nonexistent/c.yaml", &err), err, SL_IO,
                "/nonexistent/c.yaml");
}

Test(options, later_sources_win)
{
    struct sl_err err;
    enum sv_command command;
    char directory[PATH_MAX], path[PATH_MAX];
    test_directory_create(directory);
    test_write_file(test_path(path, directory, "c.yaml"),
                    "max_sequences: 3\nmax_queue_size: 30\nthreads: 1\n");
    cr_assert_eq(setenv("SLUICE_MAX_QUEUE_SIZE", "20", 1), 0);
    cr_assert_eq(setenv("SLUICE_THREADS", "2", 1), 0);
    EXPECT_OK(READ(&err, &command, "--threads=4", "--config", path, "--insecure"), err);
    cr_assert_eq(options.max_sequences, 3);
    cr_assert_eq(options.max_queue_size, 20);
    cr_assert_eq(options.threads, 4);
    cr_assert(options.insecure);
    cr_assert_eq(command, SV_SERVE);
    cr_assert_eq(setenv("SLUICE_THREADS", "lots", 1), 0);
    EXPECT_FAIL(READ(&err, &command, "--max-sequences", "2"), err, SL_BAD_INPUT,
                "invalid SLUICE_THREADS 'lots': expected a whole number");
    test_directory_remove(directory);
}

Test(options, command_line_mistakes)
{
    struct sl_err err;
    enum sv_command command;
    EXPECT_FAIL(READ(&err, &command, "--max-sequencez", "4"), err, SL_BAD_INPUT,
                "unknown option --max-sequencez; did you mean --max-sequences?");
    EXPECT_FAIL(READ(&err, &command, "--max_sequences", "4"), err, SL_BAD_INPUT,
                "did you mean --max-sequences?");
    EXPECT_FAIL(READ(&err, &command, "-x"), err, SL_BAD_INPUT, "unknown option -x");
    EXPECT_FAIL(READ(&err, &command, "--max-s", "0"), err, SL_BAD_INPUT,
                "invalid --max-sequences '0': expected a whole number from 1 to 4096");
    EXPECT_FAIL(READ(&err, &command, "--insecure=perhaps"), err, SL_BAD_INPUT,
                "invalid --insecure 'perhaps'");
    EXPECT_FAIL(READ(&err, &command, "max_sequences"), err, SL_BAD_INPUT, "begin with --");
    EXPECT_FAIL(READ(&err, &command, "--max-sequences"), err, SL_BAD_INPUT, "needs a value");
    EXPECT_FAIL(READ(&err, &command, "--max-sequences", "300"), err, SL_BAD_INPUT,
                "max_batch_tokens: 256");
}

Test(options, commands)
{
    struct sl_err err;
    enum sv_command command;
    EXPECT_OK(READ(&err, &command, "--max-queue-size", "9", "--check-config"), err);
    cr_assert_eq(command, SV_CHECK_CONFIG);
    cr_assert_eq(options.max_queue_size, 9);
    EXPECT_OK(READ(&err, &command, "--help"), err);
    cr_assert_eq(command, SV_HELP);
}
