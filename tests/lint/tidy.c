/* tidy.c - rules of this project that no compiler checks, checked on every file of the tree.
 *
 *     tidy TOP [WORD...]    checks the tree at TOP; the words are forbidden too
 *     tidy --self-test      shows each rule a file that breaks it
 *
 * Prints file:line: message. To add a rule: a function, a row in `rules`, a case in `cases`. */
#include "layer_table.h"
#include "source_tree.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 100,
    LINES_MAX = 500,
    TEST_LINES_MAX = 800, /* tables of cases are long and harmless */
    SENTENCE_WORDS_MAX = 40
};

/* What was found; in the self-test kept instead of printed. */
struct findings {
    int count;
    bool quiet;
    char last[256];
    const char *const *words; /* forbidden ones from the command line, NULL at the end */
};

static void __attribute__((format(printf, 4, 5)))
found(struct findings *f, const struct file *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(f->last, sizeof f->last, format, args);
    va_end(args);
    f->count++;
    if (!f->quiet)
        (void)printf("%s:%d: %s\n", file->path, line, f->last);
}

/* ---- rules about one file -------------------------------------------------------------------- */

static void check_head(const struct file *file, struct findings *f)
{
    char want[256];
    (void)snprintf(want, sizeof want, "/* %s - ", base_name(file->path));
    if (is_code(file) && strncmp(file->text, want, strlen(want)) != 0)
        found(f, file, 1, "must begin with '%s' and one sentence on what it is", want);
}

static void check_pragma(const struct file *file, struct findings *f)
{
    if (matches(file->path, "*.h") && !strstr(file->text, "\n#pragma once\n"))
        found(f, file, 1, "a header needs #pragma once");
}

/* Columns, not bytes: a letter of UTF-8 is as wide as any other. */
static int columns(const struct line *l)
{
    int count = 0;
    for (int i = 0; i < l->length; i++)
        count += ((unsigned char)l->start[i] & 0xc0) != 0x80;
    return count;
}

static void check_length(const struct file *file, struct findings *f)
{
    if (!is_code(file))
        return;
    struct line l = {0};
    while (next_line(&l, file->text))
        if (columns(&l) > COLUMNS_MAX)
            found(f, file, l.number, "%d columns, at most %d", columns(&l), COLUMNS_MAX);
    int max = matches(file->path, "tests/*") ? TEST_LINES_MAX : LINES_MAX;
    if (l.number > max)
        found(f, file, l.number, "%d lines, at most %d: find the second file in it", l.number, max);
}

static void check_blanks(const struct file *file, struct findings *f)
{
    static const char *const written[] = {"*.[ch]", "*.def", "*.md", "*.txt",    "*.sh", "*.yaml",
                                          "*.json", "*.js",  "*.py", "Makefile", NULL};
    if (!matches_any(file->path, written))
        return;
    struct line l = {0};
    while (next_line(&l, file->text)) {
        if (l.length > 0 && isspace((unsigned char)l.start[l.length - 1]))
            found(f, file, l.number, "blanks at the end of the line");
        if (is_code(file) && memchr(l.start, '\t', (size_t)l.length))
            found(f, file, l.number, "a tab: indent with 4 blanks");
    }
}

/* The row of a folder such as engine/base, or NULL. */
static const char *folders_below(const char *program, const char *folder)
{
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", program, folder);
    for (size_t i = 0; i < COUNT(layers); i++)
        if (strcmp(layers[i].folder, path) == 0)
            return layers[i].below;
    return NULL;
}

/* Of the engine's folders only base may be used by all programs; files at the top of a program
 * follow no other rule. */
static bool is_foreign(const char *program, const char *other)
{
    return strcmp(program, "engine") != 0 && strcmp(other, "base") != 0 &&
           !folders_below(program, other) && folders_below("engine", other);
}

/* The program that a file belongs to, and its folder there, "" at the top; false for others. */
static bool place_of(const struct file *file, char program[static 64], char own[static 64])
{
    if (sscanf(file->path, "%63[^/]/%63[^/]/", program, own) != 2 || !is_code(file))
        return false;
    if (!strchr(file->path + strlen(program) + 1, '/'))
        own[0] = '\0';
    return strcmp(program, "engine") == 0 || strcmp(program, "server") == 0 ||
           strcmp(program, "clients") == 0;
}

static void check_layers(const struct file *file, struct findings *f)
{
    char program[64], own[64], name[256], other[64];
    if (!place_of(file, program, own))
        return;
    const char *below = folders_below(program, own);
    if (own[0] && !below) {
        found(f, file, 1, "%s/%s is no layer: give it a row in tests/lint/layer_table.h", program,
              own);
        return;
    }
    struct line l = {0};
    while (next_line(&l, file->text)) {
        if (!included(&l, name) || !strchr(name, '/') || sscanf(name, "%63[^/]/", other) != 1)
            continue;
        bool above = below && folders_below(program, other) && strcmp(own, other) != 0 &&
                     !find_word(below, other);
        if (above || is_foreign(program, other))
            found(f, file, l.number, "%s may not include %s: it does not lie below",
                  own[0] ? own : program, name);
    }
}

/* The rules of layers read a name from its first folder on. */
static void check_paths(const struct file *file, struct findings *f)
{
    char name[256];
    if (!is_code(file))
        return;
    struct line l = {0};
    while (next_line(&l, file->text))
        if (included(&l, name) && (matches(name, "../*") || strstr(name, "/../")))
            found(f, file, l.number, "%s: name a header from the top of its program, without '..'",
                  name);
}

/* A paper's folder stands on the shared layers alone, and nothing else in engine/ knows a paper.
 * But training in closed form knows the one model that it is for. */
static void check_papers(const struct file *file, struct findings *f)
{
    char own[64] = "", other[64], name[256];
    if (!is_code(file) || !matches(file->path, "engine/*"))
        return;
    if (sscanf(file->path, "engine/arch/%63[^/]/", own) != 1 || matches(own, "*.*"))
        own[0] = '\0'; /* a file of engine/arch itself, or of another layer */
    struct line l = {0};
    while (next_line(&l, file->text)) {
        if (!included(&l, name) || sscanf(name, "arch/%63[^/]/", other) != 1 ||
            strchr(other, '.') || strcmp(own, other) == 0 ||
            (strcmp(other, "linear") == 0 && matches(file->path, "engine/linear/*")))
            continue;
        found(f, file, l.number, "%s may not include %s: only files of that paper's folder may",
              own[0] ? own : file->path, name);
    }
}

/* Headers of others, and where alone they may be included: a library is replaced in one place. */
static const struct {
    const char *header;
    const char *where[13];
} borders[] = {
    {"microhttpd.h", {"server/http/*.c"}},
    {"jansson.h",
     {"engine/base/big_numbers.c", "server/json/*.c", "server/params/*.c", "server/jobs/*.c",
      "engine/checkpoint/*.c", "engine/formats/*.c", "engine/pretrained/*.c",
      "engine/data/json_*.c", "engine/data/record_formats.c", "engine/cli/*.c", "clients/*.c",
      "tests/*"}},
    {"csv.h", {"engine/data/csv.c"}},
    {"zlib.h", {"engine/data/compressed_file.c", "server/http/body_decoder.c", "tests/*"}},
    {"lzma.h", {"engine/data/compressed_file.c", "tests/*"}},
    {"cblas.h", {"tests/bench/*.c"}},
    {"*intrin.h", {"engine/kernels/*"}},
    {"curl/*", {"clients/common/*.c", "clients/bench/*.c", "tests/*"}},
    {"systemd/*", {"server/main.c", "server/http/inherited_sockets.c"}},
    {"yaml.h", {"engine/base/yaml.c"}},
    {"sqlite3.h", {"server/state/state_directory.c", "tests/*"}},
    {"nettle/*", {"engine/base/sha256.c", "engine/base/api_key.c"}},
    {"utf8proc.h", {"engine/base/utf8.c", "engine/tokenizer/*.c"}},
    {"openssl/*", {NULL}},
    {"criterion/*", {"tests/support/test.h", "tests/runners/criterion_fork.c"}},
};

static void check_borders(const struct file *file, struct findings *f)
{
    char name[256];
    if (!is_code(file))
        return;
    struct line l = {0};
    while (next_line(&l, file->text)) {
        if (!included(&l, name))
            continue;
        for (size_t i = 0; i < COUNT(borders); i++)
            if (matches(name, borders[i].header) && !matches_any(file->path, borders[i].where))
                found(f, file, l.number, "<%s> belongs to %s alone", name,
                      borders[i].where[0] ? borders[i].where[0] : "no folder");
    }
}

static const struct {
    const char *name, *instead;
} banned[] = {
    {"strcpy", "memcpy with a length, or snprintf"},
    {"strcat", "snprintf"},
    {"strncpy", "memcpy with a length: it may leave no NUL"},
    {"strncat", "snprintf"},
    {"sprintf", "snprintf"},
    {"vsprintf", "vsnprintf"},
    {"gets", "fgets"},
    {"scanf", "fgets and strtol"},
    {"atoi", "strtol, which can fail"},
    {"atol", "strtol, which can fail"},
    {"atof", "strtod, which can fail"},
    {"strtok", "strcspn"},
    {"alloca", "an arena"},
    {"system", "posix_spawn"},
    {"popen", "posix_spawn"},
    {"rand", "sl_random_bits"},
    {"srand", "sl_random_key"},
    {"random", "sl_random_bits"},
    {"drand48", "sl_random_uniform"},
    {"asctime", "strftime"},
    {"ctime", "strftime"},
    {"gmtime", "gmtime_r"},
    {"localtime", "localtime_r"},
    {"strerror", "strerrordesc_np"},
    {"tmpnam", "mkostemp"},
    {"mktemp", "mkostemp"},
    {"setjmp", "a straight line"},
    {"longjmp", "a straight line"},
};

/* True when a name found in live code is called there, and is not a member or a declaration's. */
static bool is_call(const char *code, const char *at, const char *name)
{
    if (at > code && (at[-1] == '.' || at[-1] == '>'))
        return false;
    at += strlen(name);
    return at[strspn(at, " ")] == '(';
}

static void check_banned(const struct file *file, struct findings *f)
{
    if (!matches(file->path, "*.[ch]"))
        return;
    char *code = live_code(file->text);
    for (size_t i = 0; i < COUNT(banned); i++) {
        const char *name = banned[i].name;
        for (const char *at = code; (at = find_word(at, name)); at += strlen(name))
            if (is_call(code, at, name))
                found(f, file, line_of(code, at), "%s is banned: %s", name, banned[i].instead);
    }
    free(code);
}

/* Written in two halves, so that this file does not break its own rule. */
static const char *const marks[] = {"TO"
                                    "DO",
                                    "FIX"
                                    "ME",
                                    "XX"
                                    "X",
                                    "HA"
                                    "CK"};

static void check_marks(const struct file *file, struct findings *f)
{
    for (size_t i = 0; i < COUNT(marks); i++) {
        const char *at = find_word(file->text, marks[i]);
        if (at)
            found(f, file, line_of(file->text, at), "%s: do it, or say what the limit is",
                  marks[i]);
    }
}

/* Where people keep their trees: names of one machine, of no use on another. */
static const char *const places[] = {"/ho"
                                     "me/",
                                     "/Us"
                                     "ers/",
                                     "/wo"
                                     "rk/",
                                     "/fa"
                                     "rm/"};

static void check_words(const struct file *file, struct findings *f)
{
    const char *at;
    for (size_t i = 0; i < COUNT(places); i++)
        if ((at = strstr(file->text, places[i])))
            found(f, file, line_of(file->text, at), "a path of somebody's machine: %s", places[i]);
    for (const char *const *word = f->words; word && *word; word++)
        if ((at = strcasestr(file->text, *word)))
            found(f, file, line_of(file->text, at), "a forbidden word: %s", *word);
}

/* Names that are gone, and what took their place: old branches and old habits bring them back. */
static const struct {
    const char *name, *instead;
} gone[] = {
    {"sv_batcher", "sv_scheduler"},       {"sv_call", "sv_request"},
    {"sv_reply", "sv_response"},          {"sv_served", "sv_model_ref"},
    {"sv_line", "sv_transport"},          {"sv_work", "sv_async"},
    {"sv_problem", "sv_error"},           {"sv_text", "sl_buffer"},
    {"sl_net_create", "sl_model_create"}, {"sl_model_facts", "sl_model_info"},
};

static void check_gone(const struct file *file, struct findings *f)
{
    if (matches(file->path, "tests/lint/tidy.c"))
        return;
    for (size_t i = 0; i < COUNT(gone); i++) {
        const char *at = find_word(file->text, gone[i].name);
        if (at)
            found(f, file, line_of(file->text, at), "%s is gone: %s", gone[i].name,
                  gone[i].instead);
    }
}

/* A sentence of a document, up to some place. */
struct sentence {
    int words, line;  /* how many, and where the first is */
    bool in_fence;    /* between ``` and ``` */
    bool may_be_code; /* after an empty line: when this one is indented */
    bool in_code;     /* between ` and `: one word, whatever is in it */
};

static void end_sentence(struct sentence *s, const struct file *file, struct findings *f)
{
    if (s->words > SENTENCE_WORDS_MAX)
        found(f, file, s->line, "a sentence of %d words, at most %d: split it", s->words,
              SENTENCE_WORDS_MAX);
    s->words = 0;
}

static void add_word(struct sentence *s, const char *word, int length, int line)
{
    bool is_inside = s->in_code, is_word = false;
    for (int i = 0; i < length; i++) {
        is_word |= isalnum((unsigned char)word[i]);
        s->in_code ^= word[i] == '`';
    }
    s->line = s->words == 0 ? line : s->line;
    s->words += is_word && !is_inside;
}

/* Whether a word ends a sentence, perhaps with brackets or quotes around its end. */
static bool is_last_word(const char *word, int length)
{
    while (length > 0 && strchr(")\"*_]", word[length - 1]))
        length--;
    return length > 0 && strchr(".!?", word[length - 1]);
}

static void read_prose(struct sentence *s, const struct line *l, const struct file *file,
                       struct findings *f)
{
    const char *end = l->start + l->length;
    for (const char *at = l->start; at < end;) {
        int length = (int)strcspn(at, " \n");
        add_word(s, at, length, l->number);
        if (!s->in_code && is_last_word(at, length))
            end_sentence(s, file, f);
        at += length + (int)strspn(at + length, " ");
    }
}

/* Code that is fenced, or indented after an empty line; tables, headings and empty lines. */
static bool is_prose(struct sentence *s, const struct line *l)
{
    bool is_fence = strncmp(l->start, "```", 3) == 0, is_empty = l->length == 0;
    s->in_fence ^= is_fence;
    s->may_be_code = is_empty || (s->may_be_code && strncmp(l->start, "    ", 4) == 0);
    return !is_fence && !s->in_fence && !s->may_be_code && !strchr("|#", *l->start);
}

static bool begins_item(const char *at)
{
    at += strspn(at, " ");
    size_t digits = strspn(at, "0123456789");
    return digits ? at[digits] == '.' : strchr("-*", *at) && at[1] == ' ';
}

static void check_sentences(const struct file *file, struct findings *f)
{
    struct sentence s = {.may_be_code = true};
    struct line l = {0};
    if (!matches(file->path, "*.md"))
        return;
    while (next_line(&l, file->text)) {
        bool reads = is_prose(&s, &l);
        if (!reads || begins_item(l.start)) {
            end_sentence(&s, file, f);
            s.in_code = false;
        }
        if (reads)
            read_prose(&s, &l, file, f);
    }
    end_sentence(&s, file, f);
}

static const struct {
    const char *name;
    void (*check)(const struct file *file, struct findings *f);
} rules[] = {
    {"head", check_head},           {"pragma", check_pragma},   {"length", check_length},
    {"blanks", check_blanks},       {"layers", check_layers},   {"papers", check_papers},
    {"paths", check_paths},         {"borders", check_borders}, {"banned", check_banned},
    {"marks", check_marks},         {"words", check_words},     {"gone", check_gone},
    {"sentences", check_sentences},
};

/* ---- rules about the whole tree -------------------------------------------------------------- */

/* A name in a stack trace or a log says which file it was. Public headers hold no code: one may be
 * called like the private header of the same struct. */
static void check_unique(const struct file *files, int count, struct findings *f)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (is_code(&files[i]) && !matches(files[i].path, "include/*") &&
                !matches(files[j].path, "include/*") &&
                strcmp(base_name(files[i].path), base_name(files[j].path)) == 0)
                found(f, &files[i], 1, "the name is taken by %s", files[j].path);
}

static bool has_row(const char *rows, const char *stem)
{
    char row[128];
    (void)snprintf(row, sizeof row, "SL_ARCH(%s", stem);
    const char *at = strstr(rows, row);
    return at && strchr(",) ", at[strlen(row)]);
}

/* An architecture without a row would be neither served nor tested. */
static void check_archs(const struct file *files, int count, struct findings *f)
{
    const char *rows = "";
    for (int i = 0; i < count; i++)
        if (strcmp(files[i].path, "engine/arch/archs.def") == 0)
            rows = files[i].text;
    for (int i = 0; i < count; i++) {
        char name[64];
        const char *at = strstr(files[i].text, "\nconst struct sl_arch sl_arch_");
        if (!matches(files[i].path, "engine/arch/*.c") || !at ||
            sscanf(at, "\nconst struct sl_arch sl_arch_%63[a-z0-9_]", name) != 1)
            continue;
        if (!has_row(rows, name))
            found(f, &files[i], 1, "no row SL_ARCH(%s in engine/arch/archs.def", name);
    }
}

static void check_tree(const struct file *files, int count, struct findings *f)
{
    for (int i = 0; i < count; i++)
        for (size_t r = 0; r < COUNT(rules); r++)
            rules[r].check(&files[i], f);
    check_unique(files, count, f);
    check_archs(files, count, f);
}

static int run(char *top, const char *const *words)
{
    static struct file files[FILES_MAX];
    struct findings f = {.words = words};
    int count = read_tree(top, files);
    check_tree(files, count, &f);
    (void)printf("%d files, %d findings\n", count, f.count);
    free_tree(files, count);
    return f.count == 0 && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---- the self-test --------------------------------------------------------------------------- */

#define HEAD  "/* x.c - a file. */\n"
#define WORDS "a b c d e f g h i j k l m n o p q r s t\n"
#define HEADH "/* x.h - a header. */\n#pragma once\n"

/* Files, and what is to be found in each: NULL for nothing at all. */
static const struct {
    const char *path, *text, *want;
} cases[] = {
    {"engine/base/x.c", HEAD "int x;\n", NULL},
    {"engine/base/x.h", HEADH, NULL},
    {"engine/base/x.c", "int x;\n", "must begin with"},
    {"engine/base/y.c", HEAD, "must begin with '/* y.c - '"},
    {"engine/arch/archs.def", "SL_ARCH(x)\n", "must begin with"},
    {"README.md", "# Anything\n", NULL},
    {"engine/base/x.h", "/* x.h - a header. */\nint x;\n", "#pragma once"},
    {"engine/base/x.c", HEAD "int x; \n", "blanks at the end"},
    {"README.md", "two blanks  \n", "blanks at the end"},
    {"engine/base/x.c", HEAD "\tint x;\n", "a tab"},
    {"Makefile", "a:\n\techo\n", NULL},
    {"engine/autograd/x.c", HEAD "#include \"autograd/tape.h\"\n#include \"base/arena.h\"\n", NULL},
    {"engine/autograd/x.c", HEAD "#include \"sluice/err.h\"\n#include \"near.h\"\n", NULL},
    {"engine/autograd/x.c", HEAD "#include \"ops/ops.h\"\n", "autograd may not include ops/ops.h"},
    {"engine/base/x.c", HEAD "#  include \"kernels/kernels.h\"\n", "base may not include"},
    {"engine/infer/x.c", HEAD "#include \"train/trainer.h\"\n", "infer may not include"},
    {"engine/infer/x.c", HEAD "#include \"data/x.h\"\n", "infer may not include"},
    {"engine/train/x.c", HEAD "#include \"infer/session.h\"\n#include \"tokenizer/b.h\"\n", NULL},
    {"engine/data/x.c", HEAD "#include \"autograd/tensor.h\"\n", "data may not include"},
    {"engine/cli/x.c", HEAD "#include \"train/trainer.h\"\n", NULL},
    {"engine/arch/tsa/x.c", HEAD "#include \"arch/arch.h\"\n#include \"arch/tsa/tsa.h\"\n", NULL},
    {"engine/arch/tsa/x.c", HEAD "#include \"arch/eam/eam.h\"\n", "tsa may not include arch/eam"},
    {"engine/arch/x.c", HEAD "#include \"arch/eam/eam.h\"\n", "x.c may not include arch/eam/eam.h"},
    {"engine/model/x.c", HEAD "#include \"arch/eam/eam.h\"\n", "may not include arch/eam/eam.h"},
    {"engine/arch/tsa/x.c", HEAD "#include \"../eam/eam.h\"\n", "without '..'"},
    {"engine/base/x.c", HEAD "#include \"base/../arch/arch.h\"\n", "without '..'"},
    {"engine/magic/x.c", HEAD, "engine/magic is no layer"},
    {"engine/linear/x.c", HEAD "#include \"arch/linear/bag_of_words.h\"\n", NULL},
    {"server/http/http_server.c", "/* http_server.c - bytes. */\n#include <microhttpd.h>\n", NULL},
    {"server/serve/x.c", HEAD "#include \"serve/sse_stream.h\"\n#include \"core/log.h\"\n", NULL},
    {"server/serve/x.c", HEAD "#include \"base/buffer.h\"\n#include \"sluice/err.h\"\n", NULL},
    {"server/serve/x.c", HEAD "#include \"model/net.h\"\n", "serve may not include model/net.h"},
    {"server/main.c", "/* main.c - all. */\n#include \"infer/x.h\"\n", "may not include infer/x.h"},
    {"clients/sluicectl/x.c", HEAD "#include \"base/clock.h\"\n", NULL},
    {"clients/sluicectl/x.c", HEAD "#include \"tokenizer/x.h\"\n", "sluicectl may not include"},
    {"clients/bench/x.c", HEAD "#include \"sluicectl/ctl_command.h\"\n", "bench may not include"},
    {"server/serve/x.c", HEAD "#include \"http/http_server.h\"\n",
     "serve may not include http/http_server.h"},
    {"server/main.c", "/* main.c - all. */\n#include \"http/http_server.h\"\n", NULL},
    {"server/attic/x.c", HEAD, "server/attic is no layer"},
    {"clients/x.c", HEAD "#include <microhttpd.h>\n", "<microhttpd.h> belongs to server/http/*.c"},
    {"engine/base/x.c", HEAD "#include <jansson.h>\n", "<jansson.h> belongs"},
    {"engine/ops/x.c", HEAD "#include <immintrin.h>\n", "<immintrin.h> belongs"},
    {"engine/kernels/x.c", HEAD "#include <immintrin.h>\n", NULL},
    {"engine/kernels/x.c", HEAD "#include <cblas.h>\n", "<cblas.h> belongs"},
    {"engine/base/x.c", HEAD "#include <curl/curl.h>\n", "<curl/curl.h> belongs"},
    {"engine/base/x.c", HEAD "#include <systemd/sd-daemon.h>\n", "belongs to server/main.c"},
    {"engine/base/x.c", HEAD "#include <yaml.h>\n", "belongs to engine/base/yaml.c"},
    {"engine/base/x.c", HEAD "#include <nettle/sha2.h>\n", "belongs to engine/base/sha256.c"},
    {"engine/data/x.c", HEAD "#include <csv.h>\n", "belongs to engine/data/csv.c"},
    {"engine/data/x.c", HEAD "#include <zlib.h>\n", "belongs to engine/data/compressed_file.c"},
    {"engine/base/file.c", "/* file.c - x. */\n#include <openssl/sha.h>\n", "no folder"},
    {"tests/x.c", HEAD "#include <criterion/criterion.h>\n", "belongs to tests/support/test.h"},
    {"engine/base/x.c", HEAD "int x = atoi(y);\n", "atoi is banned"},
    {"engine/base/x.c", HEAD "int x = strtok (y);\n", "strtok is banned"},
    {"engine/base/x.c", HEAD "/* atoi(y) */ char *s = \"\\\"atoi(y)\"; // atoi(y)\n", NULL},
    {"engine/base/x.c", HEAD "int x = my_atoi(y) + atoi + p->rand() + q.rand();\n", NULL},
    {"engine/base/x.c", HEAD "char c = '\"'; int x = atoi(y); char d = '\"';\n", "atoi"},
    {"engine/base/x.c",
     HEAD "/* TO"
          "DO: later */\n",
     "do it"},
    {"docs/x.md",
     "FIX"
     "ME\n",
     "do it"},
    {"docs/x.md",
     "TO"
     "DOS is an operating system\n",
     NULL},
    {"docs/x.md",
     "in /ho"
     "me/someone\n",
     "a path of somebody's machine"},
    {"docs/x.md", "They call it Quux.\n", "a forbidden word: quux"},
    {"server/main.c", "/* main.c - x. */\nstruct sv_call *c;\n", "sv_call is gone: sv_request"},
    {"docs/x.md", "- " WORDS WORDS "  one.\n", "a sentence of 41 words"},
    {"docs/x.md", WORDS "end.) (" WORDS WORDS "`a b c`?\n", "a sentence of 41 words"},
    {"docs/x.md", WORDS WORDS "\n\n1. " WORDS WORDS "\n- " WORDS WORDS "\n", NULL},
    {"docs/x.md", "|" WORDS WORDS WORDS "|\n\n    " WORDS WORDS WORDS "\n", NULL},
    {"docs/x.md", "```\n" WORDS WORDS WORDS "\n```\n" WORDS "\n# " WORDS WORDS "\n", NULL},
};

static bool has_found(const struct findings *f, const char *want)
{
    return want ? f->count > 0 && strstr(f->last, want) : f->count == 0;
}

/* Says what went wrong; returns 1 for it. */
static int complain(const char *what, const char *want, const struct findings *f)
{
    (void)printf("%s: want '%s', found %d, last '%s'\n", what, want ? want : "nothing", f->count,
                 f->last);
    return 1;
}

static int test_cases(bool *fired)
{
    static const char *const words[] = {"quux", NULL};
    int failures = 0;
    for (size_t c = 0; c < COUNT(cases); c++) {
        const struct file file = {cases[c].path, cases[c].text};
        struct findings f = {.quiet = true, .words = words};
        for (size_t r = 0; r < COUNT(rules); r++) {
            int before = f.count;
            rules[r].check(&file, &f);
            fired[r] |= f.count > before;
        }
        if (!has_found(&f, cases[c].want) || f.count > 1)
            failures += complain(cases[c].text, cases[c].want, &f);
    }
    return failures;
}

/* A file with this many lines; the longest has this many columns. */
static int test_length(const char *path, int lines, int letters, const char *want)
{
    enum { BYTES_MAX = 4096 };

    char text[BYTES_MAX] = "";
    size_t at = 0;
    for (int i = 0; i < letters; i++, at += 2)
        text[at] = '\xc3', text[at + 1] = '\xa9'; /* e with an acute accent */
    for (int i = 0; i < lines; i++)
        text[at++] = '\n';
    assert(at < BYTES_MAX);
    const struct file file = {path, text};
    struct findings f = {.quiet = true};
    check_length(&file, &f);
    return has_found(&f, want) ? 0 : complain(path, want, &f);
}

static int test_lengths(void)
{
    return test_length("a/x.c", 1, COLUMNS_MAX, NULL) +
           test_length("a/x.c", 1, COLUMNS_MAX + 1, "101 columns") +
           test_length("a/x.c", LINES_MAX, 0, NULL) +
           test_length("a/x.c", LINES_MAX + 1, 0, "501 lines") +
           test_length("tests/x.c", TEST_LINES_MAX, 0, NULL) +
           test_length("tests/x.c", TEST_LINES_MAX + 1, 0, "801 lines") +
           test_length("docs/x.md", LINES_MAX + 1, COLUMNS_MAX + 1, NULL);
}

static int test_trees(void)
{
    static const struct file twins[] = {{"engine/base/x.c", HEAD}, {"server/core/x.c", HEAD}};
    static const struct file header[] = {{"engine/base/x.h", HEAD}, {"include/sluice/x.h", HEAD}};
    static const struct file archs[] = {
        {"engine/arch/archs.c", ""},
        {"engine/arch/archs.def", "SL_ARCH(tsa)\nSL_ARCH(early)\n"},
        {"engine/arch/tsa/tsa.c", "\nconst struct sl_arch sl_arch_tsa = {"},
        {"engine/arch/tsa/early_exit.c", "\nconst struct sl_arch sl_arch_early_exit = {"}};
    struct findings f = {.quiet = true};
    int failures = 0;
    check_unique(twins, 1, &f);
    check_unique(header, 2, &f);
    check_archs(archs, 3, &f);
    if (f.count != 0)
        failures += complain("a good tree", NULL, &f);
    check_unique(twins, 2, &f);
    if (!has_found(&f, "the name is taken by engine/base/x.c"))
        failures += complain("two files of one name", "the name is taken", &f);
    check_archs(archs, 4, &f);
    if (!has_found(&f, "no row SL_ARCH(early_exit in"))
        failures += complain("an architecture without a row", "no row", &f);
    return failures;
}

/* Whether one of the first rows of the layer table is this folder. */
static bool is_earlier_layer(const char *path, size_t rows)
{
    for (size_t i = 0; i < rows; i++)
        if (strcmp(layers[i].folder, path) == 0)
            return true;
    return false;
}

/* The table has no circle: a folder may only include folders of earlier rows. */
static int test_layer_order(void)
{
    int failures = 0;
    for (size_t i = 0; i < COUNT(layers); i++) {
        int program = (int)strcspn(layers[i].folder, "/"), bytes;
        char below[64], path[160];
        for (const char *at = layers[i].below; sscanf(at, "%63s%n", below, &bytes) == 1;
             at += bytes) {
            (void)snprintf(path, sizeof path, "%.*s/%s", program, layers[i].folder, below);
            if (is_earlier_layer(path, i))
                continue;
            (void)printf("layers: %s may include %s, which is not in an earlier row\n",
                         layers[i].folder, path);
            failures++;
        }
    }
    return failures;
}

static int self_test(void)
{
    bool fired[COUNT(rules)] = {false};
    int failures = test_cases(fired) + test_lengths() + test_trees() + test_layer_order();
    for (size_t r = 0; r < COUNT(rules); r++)
        if (!fired[r] && rules[r].check != check_length) {
            (void)printf("rule %s: no case breaks it\n", rules[r].name);
            failures++;
        }
    (void)printf("%zu rules, %zu cases, %d failures\n", COUNT(rules), COUNT(cases), failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "--self-test") == 0)
        return self_test();
    if (count < 2) {
        (void)fprintf(stderr, "usage: tidy TOP [WORD...] | tidy --self-test\n");
        return EXIT_FAILURE;
    }
    return run(words[1], (const char *const *)(words + 2));
}
