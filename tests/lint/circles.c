/* circles.c - no file of the programs uses itself through others.
 *
 *     circles TOP           prints the circles of the tree at TOP, and what ties each
 *     circles --self-test   shows trees with circles and without
 *
 * A module is a .c file with its header, or a public header. It uses another when it names a
 * function or table that the other's .c file defines, or includes the other's header; what a list
 * of rows (.def) names is used by the .c files that include it. But a file that includes a header
 * to define what this declares does not use it, and a declaration is no use: a header may declare
 * what several files define. */
#include "source_tree.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES_MAX = 1024, NAMES_MAX = 16384, TIES_MAX = 65536 };

struct text {
    const char *start; /* not ended by NUL */
    size_t length;
};

/* A function or table, defined at the top level of a .c file. */
struct definition {
    struct text name;
    int module;
    bool is_static;
};

/* One module uses another. */
struct tie {
    int from, to;
    struct text name; /* what is used, or the header that is included */
};

struct house {
    const struct file *files;
    char *code[FILES_MAX]; /* live code; NULL where a file is of no module */
    int file_count, module_of[FILES_MAX];
    const char *modules[MODULES_MAX]; /* path of the first file */
    int module_count;
    struct definition names[NAMES_MAX]; /* sorted once all are there */
    size_t name_count;
    struct tie ties[TIES_MAX];
    size_t tie_count;
    bool reaches[MODULES_MAX][MODULES_MAX];
};

/* ---- modules --------------------------------------------------------------------------------- */

static struct text stem_of(const char *path)
{
    const char *name = base_name(path);
    return (struct text){name, strcspn(name, ".")};
}

static bool is_same(struct text a, struct text b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static bool is_of_programs(const struct file *file)
{
    static const char *const where[] = {"engine/*", "server/*", "clients/*", "include/*", NULL};
    return is_code(file) && matches_any(file->path, where);
}

/* Whether a file is a module by itself: rows, or a public header. */
static bool stands_alone(const char *path)
{
    return matches(path, "*.def") || matches(path, "include/*");
}

static int module_of(struct house *h, const char *path)
{
    for (int i = 0; i < h->module_count; i++)
        if (is_same(stem_of(h->modules[i]), stem_of(path)) && !stands_alone(path) &&
            !stands_alone(h->modules[i]))
            return i;
    assert(h->module_count < MODULES_MAX);
    h->modules[h->module_count] = path;
    return h->module_count++;
}

static void add_tie(struct house *h, int from, int to, struct text name)
{
    assert(h->tie_count < TIES_MAX);
    if (from != to)
        h->ties[h->tie_count++] = (struct tie){from, to, name};
}

/* ---- what a file defines and what it names --------------------------------------------------- */

/* A place in live code. */
struct place {
    const char *at;
    const char *chunk; /* where the declaration or definition began that this is part of */
    int depth;         /* of braces */
    bool in_value;     /* behind the = of a table at the top level */
    bool is_static;    /* behind the members of a static table's rows */
};

/* The identifier that ends before `end`. */
static struct text name_before(const char *start, const char *end)
{
    while (end > start && !is_word_part(end[-1]))
        end--;
    const char *begin = end;
    while (begin > start && is_word_part(begin[-1]))
        begin--;
    return (struct text){begin, (size_t)(end - begin)};
}

/* Past the attributes at the front of a chunk, whose parentheses are no parameters. */
static const char *skip_attributes(const char *chunk, const char *end)
{
    const char *attribute = find_word(chunk, "__attribute__");
    const char *close = attribute && attribute < end ? strstr(attribute, "))") : NULL;
    return close && close < end ? close + 2 : chunk;
}

static bool begins_static(const char *chunk)
{
    chunk += strspn(chunk, " \n");
    return strncmp(chunk, "static", 6) == 0;
}

/* What a chunk defines whose value or body begins at `end`: the name before ( or [ or =. */
static struct text defined_name(const char *chunk, const char *end)
{
    const char *start = skip_attributes(chunk, end);
    const char *stop = start + strcspn(start, "([={");
    return name_before(start, stop < end ? stop : end);
}

static void define(struct house *h, int module, const struct place *p)
{
    const struct text name = defined_name(p->chunk, p->at);
    bool is_function = memchr(p->chunk, '(', (size_t)(p->at - p->chunk)) != NULL;
    if (name.length == 0 || (*p->at == '{' && !is_function))
        return; /* a struct */
    assert(h->name_count < NAMES_MAX);
    h->names[h->name_count++] =
        (struct definition){name, module, p->is_static || begins_static(p->chunk)};
}

/* Moves past a directive of the preprocessor, with the lines that continue it; false at the end. */
static bool next_place(struct place *p, const char *code)
{
    if (*p->at != '#' || (p->at > code && p->at[-1] != '\n'))
        return *p->at;
    while (*p->at && *p->at != '\n')
        p->at += p->at[0] == '\\' && p->at[1] == '\n' ? 2 : 1;
    if (p->depth == 0)
        p->chunk = p->at;
    return *p->at;
}

/* Whether a brace is that of extern "C", which headers for C++ too are wrapped in. */
static bool opens_linkage(const struct place *p)
{
    const struct text before = name_before(p->chunk, p->at);
    return *p->at == '{' && p->depth == 0 && before.length == 6 &&
           strncmp(before.start, "extern", 6) == 0;
}

/* Follows the braces; true where a definition's value or body begins. */
static bool step(struct place *p)
{
    if (opens_linkage(p)) {
        p->chunk = p->at + 1;
        return false;
    }
    bool begins = p->depth == 0 && !p->in_value && (*p->at == '{' || *p->at == '=');
    p->depth += (*p->at == '{') - (*p->at == '}' && p->depth > 0);
    p->in_value |= begins && *p->at == '=';
    return begins;
}

static void end_chunk(struct place *p)
{
    if (p->depth > 0 || (*p->at != ';' && (*p->at != '}' || p->in_value)))
        return;
    bool is_struct = p->chunk[strcspn(p->chunk, "({")] == '{';
    p->is_static = *p->at == '}' && is_struct && begins_static(p->chunk);
    p->chunk = p->at + 1;
    p->in_value = false;
}

static void find_definitions(struct house *h, int file)
{
    const char *code = h->code[file];
    bool is_source = matches(h->files[file].path, "*.c");
    for (struct place p = {.at = code, .chunk = code}; next_place(&p, code); p.at++) {
        if (step(&p) && is_source)
            define(h, h->module_of[file], &p);
        end_chunk(&p);
    }
}

static int by_text(struct text a, struct text b)
{
    size_t length = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.start, b.start, length);
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int by_name(const void *a, const void *b)
{
    const struct definition *first = a, *second = b;
    return by_text(first->name, second->name);
}

/* Whether a program may know names of another: all know the engine's. */
static bool is_visible(const char *from, const char *to)
{
    return matches(to, "engine/*") || strncmp(from, to, strcspn(to, "/") + 1) == 0;
}

/* The first definition of a name, or NULL; those of other files follow. */
static const struct definition *find_name(const struct house *h, struct text name)
{
    const struct definition key = {.name = name};
    const struct definition *d = bsearch(&key, h->names, h->name_count, sizeof key, by_name);
    while (d && d > h->names && is_same(d[-1].name, name))
        d--;
    return d;
}

/* The module whose function or table a name is, seen from a module; -1 when that has one of its
 * own, several have or none. */
static int owner_of(const struct house *h, struct text name, int user)
{
    const struct definition *end = h->names + h->name_count;
    int owner = -1;
    for (const struct definition *d = find_name(h, name); d && d < end && is_same(d->name, name);
         d++) {
        if (d->module == user)
            return -1;
        if (d->is_static || !is_visible(h->modules[user], h->modules[d->module]))
            continue;
        if (owner >= 0)
            return -1;
        owner = d->module;
    }
    return owner;
}

static struct text name_at(const char *at)
{
    struct text name = {at, 0};
    while (is_word_part(at[name.length]))
        name.length++;
    return name;
}

/* Whether an identifier begins here that is no member's name and no tag. */
static bool begins_name(const char *code, const char *at)
{
    static const char *const tags[] = {"struct", "enum", "union"};
    if (!isalpha((unsigned char)*at) || at == code || is_word_part(at[-1]) || at[-1] == '.' ||
        (at[-1] == '>' && at - 1 > code && at[-2] == '-'))
        return false;
    const struct text before = name_before(code, at);
    for (size_t i = 0; i < COUNT(tags); i++)
        if (is_same(before, (struct text){tags[i], strlen(tags[i])}))
            return before.start + before.length + 1 != at;
    return true;
}

/* What a file names, as a use by a module: the file's own, or the one that includes its rows. */
static void find_uses(struct house *h, int file, int user)
{
    const char *code = h->code[file];
    bool is_table = matches(h->files[file].path, "*.def");
    for (struct place p = {.at = code, .chunk = code}; next_place(&p, code); p.at++) {
        (void)step(&p);
        end_chunk(&p);
        if ((p.depth == 0 && !p.in_value && !is_table) || !begins_name(code, p.at))
            continue;
        int owner = owner_of(h, name_at(p.at), user);
        if (owner >= 0)
            add_tie(h, user, owner, name_at(p.at));
    }
}

/* Whether a header declares what a module defines. */
static bool declares(const struct house *h, int header, int module)
{
    const char *code = h->code[header];
    const struct definition *end = h->names + h->name_count;
    for (const char *at = code; *at; at++) {
        if (!begins_name(code, at))
            continue;
        const struct text name = name_at(at);
        const struct definition *d = find_name(h, name);
        for (; d && d < end && is_same(d->name, name); d++)
            if (d->module == module && !d->is_static)
                return true;
    }
    return false;
}

/* Whether `path` ends in the included name. */
static bool is_named(const char *path, const char *name)
{
    size_t path_length = strlen(path), length = strlen(name);
    return path_length > length && path[path_length - length - 1] == '/' &&
           strcmp(path + path_length - length, name) == 0;
}

/* The file of the programs that a line of another includes, or -1. */
static int included_file(const struct house *h, const struct line *l)
{
    char name[256];
    if (!included(l, name))
        return -1;
    bool is_public = memchr(l->start, '<', (size_t)l->length) != NULL;
    for (int i = 0; i < h->file_count; i++)
        if (h->code[i] && is_named(h->files[i].path, name) &&
            (!is_public || matches(h->files[i].path, "include/*")))
            return i;
    return -1;
}

static void find_includes(struct house *h, int file)
{
    int from = h->module_of[file];
    struct line l = {0};
    while (next_line(&l, h->files[file].text)) {
        int header = included_file(h, &l);
        if (header >= 0 && matches(h->files[header].path, "*.def") &&
            matches(h->files[file].path, "*.c"))
            find_uses(h, header, from);
        if (header < 0 || declares(h, header, from))
            continue;
        const char *name = base_name(h->files[header].path);
        add_tie(h, from, h->module_of[header], (struct text){name, strlen(name)});
    }
}

/* ---- circles --------------------------------------------------------------------------------- */

static int by_ends(const void *a, const void *b)
{
    const struct tie *first = a, *second = b;
    if (first->from != second->from)
        return first->from - second->from;
    if (first->to != second->to)
        return first->to - second->to;
    return by_text(first->name, second->name);
}

/* Which module reaches which over any number of ties. */
static void close_ties(struct house *h)
{
    for (size_t i = 0; i < h->tie_count; i++)
        h->reaches[h->ties[i].from][h->ties[i].to] = true;
    for (int via = 0; via < h->module_count; via++)
        for (int from = 0; from < h->module_count; from++)
            for (int to = 0; h->reaches[from][via] && to < h->module_count; to++)
                h->reaches[from][to] |= h->reaches[via][to];
}

static void read_house(struct house *h, const struct file *files, int count)
{
    memset(h, 0, sizeof *h);
    h->files = files;
    h->file_count = count;
    for (int i = 0; i < count; i++) {
        if (!is_of_programs(&files[i]))
            continue;
        h->module_of[i] = module_of(h, files[i].path);
        h->code[i] = live_code(files[i].text);
        find_definitions(h, i);
    }
    qsort(h->names, h->name_count, sizeof *h->names, by_name);
    for (int i = 0; i < count; i++)
        if (h->code[i]) {
            if (!matches(files[i].path, "*.def"))
                find_uses(h, i, h->module_of[i]);
            find_includes(h, i);
        }
    qsort(h->ties, h->tie_count, sizeof *h->ties, by_ends);
    close_ties(h);
}

static void free_house(struct house *h)
{
    for (int i = 0; i < h->file_count; i++)
        free(h->code[i]);
}

static bool share_circle(const struct house *h, int a, int b)
{
    return a == b || (h->reaches[a][b] && h->reaches[b][a]);
}

/* The first module of a circle stands for it. */
static bool begins_circle(const struct house *h, int module)
{
    for (int i = 0; i < module; i++)
        if (share_circle(h, i, module))
            return false;
    return h->reaches[module][module];
}

static int circle_size(const struct house *h, int first)
{
    int count = 0;
    for (int i = 0; i < h->module_count; i++)
        count += share_circle(h, first, i);
    return count;
}

static void print_tie(const struct house *h, size_t i)
{
    const struct tie *tie = &h->ties[i], *last = i > 0 ? tie - 1 : NULL;
    if (last && by_ends(last, tie) == 0)
        return;
    if (!last || last->from != tie->from || last->to != tie->to)
        (void)printf("\n  %s -> %s:", h->modules[tie->from], h->modules[tie->to]);
    (void)printf(" %.*s", (int)tie->name.length, tie->name.start);
}

static void print_circle(const struct house *h, int first)
{
    (void)printf("circle of %d files:", circle_size(h, first));
    for (size_t i = 0; i < h->tie_count; i++)
        if (share_circle(h, first, h->ties[i].from) && share_circle(h, first, h->ties[i].to))
            print_tie(h, i);
    (void)printf("\n");
}

static int count_circles(const struct house *h, bool quiet)
{
    int circles = 0;
    for (int i = 0; i < h->module_count; i++) {
        if (!begins_circle(h, i))
            continue;
        circles++;
        if (!quiet)
            print_circle(h, i);
    }
    return circles;
}

/* ---- the self-test --------------------------------------------------------------------------- */

/* Up to three files, and how many circles they form. */
static const struct {
    const char *name;
    struct file files[3];
    int circles;
} cases[] = {
    {"uses that go down",
     {{"engine/arch/a.c",
       "#include \"a.h\"\n#include \"base/b.h\"\nint sl_a(void)\n{\n    sl_b();\n}\n"},
      {"engine/base/b.c", "#include \"b.h\"\nvoid sl_b(void)\n{\n}\n"},
      {"engine/base/b.h", "void sl_b(void);\n"}},
     0},
    {"an include that goes up",
     {{"engine/arch/a.h", "#include \"base/b.h\"\n"},
      {"engine/base/b.c", "#include \"arch/a.h\"\n"},
      {"engine/base/b.h", ""}},
     1},
    {"functions that call each other",
     {{"server/api/a.c", "int sv_a(void)\n{\n    return sv_b();\n}\n"},
      {"server/core/b.c", "int sv_b(void)\n{\n    return sv_a();\n}\n"}},
     1},
    {"a circle of three, by a table, a call and a header",
     {{"server/a.c", "const struct row sv_rows[] = {{sv_b}};\n"},
      {"server/b.c", "#include \"core/c.h\"\nint sv_b(void)\n{\n}\n"},
      {"server/core/c.h", "static inline int c(void)\n{\n    return sv_rows[0];\n}\n"}},
     1},
    {"a header that declares what its users define",
     {{"engine/a.h", "int sl_b(void);\n"},
      {"engine/b.c", "#include \"a.h\"\nint sl_b(void)\n{\n}\n"}},
     0},
    {"a name in comments, literals, members and of a static function",
     {{"engine/a.c", "int sl_a(void)\n{\n    sl_b();\n}\nint up(void)\n{\n}\n"},
      {"engine/b.c", "static int up(void)\n{\n}\nint sl_b(void)\n{\n    up(), x.sl_a = p->sl_a; "
                     "/* sl_a() */ puts(\"sl_a()\");\n}\n"}},
     0},
    {"a variable with the name of another file's static table",
     {{"engine/a.c", "int sl_a(int up)\n{\n    return up;\n}\n"},
      {"engine/b.c", "static const struct {\n    int x;\n} up[] = {{1}};\nint sl_b(void)\n{\n    "
                     "return sl_a(up[0].x);\n}\n"}},
     0},
    {"a header of the system with the name of one of ours",
     {{"server/core/limits.h", "#include \"a.h\"\n"}, {"server/a.h", "#include <limits.h>\n"}},
     0},
    {"a tag with the name of a function",
     {{"engine/a.h", "static inline void x(void)\n{\n    struct sl_b b;\n}\n"},
      {"engine/b.c", "#include \"a.h\"\nvoid sl_b(void)\n{\n}\n"}},
     0},
    {"a name of another program",
     {{"engine/a.c", "void sl_a(void)\n{\n    groups();\n}\n"},
      {"server/b.c", "void groups(void)\n{\n    sl_a();\n}\n"}},
     0},
    {"a header whose types the file needs that it names",
     {{"engine/a.c", "#include \"b.h\"\nvoid sl_a(void)\n{\n    sl_b();\n}\n"},
      {"engine/b.c", "#include \"b.h\"\n#include \"a.h\"\nvoid sl_b(void)\n{\n}\n"},
      {"engine/a.h", "struct a {\n    int x;\n};\nvoid sl_a(void);\n"}},
     1},
    {"a header that declares the functions of a table's rows",
     {{"server/a.c", "#include \"b.h\"\n#include \"a.def\"\n"},
      {"server/a.def", "ROW(b)\n"},
      {"server/b.h", "#include \"a.def\"\n"}},
     0},
    {"a table whose rows name what uses the table",
     {{"server/a.c", "#include \"a.def\"\nint sv_a(void)\n{\n}\n"},
      {"server/a.def", "ROW(sv_b)\n"},
      {"server/b.c", "int sv_b(void)\n{\n    return sv_a();\n}\n"}},
     1},
    {"a public header, which declares what others define",
     {{"include/a.h",
       "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint sl_a(void);\nint sl_b(void);\n"},
      {"engine/a.c", "#include <a.h>\nint sl_a(void)\n{\n    return sl_b();\n}\n"},
      {"engine/b.c", "#include <a.h>\nint sl_b(void)\n{\n}\n"}},
     0},
    {"attributes before a name",
     {{"engine/a.c", "void __attribute__((format(printf, 1, 2)))\nsl_a(void)\n{\n    sl_b();\n}\n"},
      {"engine/b.c", "void sl_b(void)\n{\n    sl_a();\n}\n"}},
     1},
    {"tests are not asked",
     {{"tests/a.c", "int a(void)\n{\n    b();\n}\n"},
      {"tests/b.c", "int b(void)\n{\n    a();\n}\n"}},
     0},
};

static int count_files(const struct file files[static 3])
{
    int count = 0;
    while (count < 3 && files[count].path)
        count++;
    return count;
}

static int test_case(struct house *h, size_t i)
{
    read_house(h, cases[i].files, count_files(cases[i].files));
    int found = count_circles(h, /* quiet= */ true);
    free_house(h);
    if (found == cases[i].circles)
        return 0;
    (void)printf("%s: want %d circles, found %d\n", cases[i].name, cases[i].circles, found);
    return 1;
}

static int self_test(struct house *h)
{
    int failures = 0;
    for (size_t i = 0; i < COUNT(cases); i++)
        failures += test_case(h, i);
    (void)printf("%zu cases, %d failures\n", COUNT(cases), failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(struct house *h, char *top)
{
    static struct file files[FILES_MAX];
    int count = read_tree(top, files);
    read_house(h, files, count);
    int circles = count_circles(h, /* quiet= */ false);
    (void)printf("%d modules, %zu ties, %d circles\n", h->module_count, h->tie_count, circles);
    free_house(h);
    free_tree(files, count);
    return count > 0 && circles == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int count, char **words)
{
    static struct house house;
    if (count != 2) {
        (void)fprintf(stderr, "usage: circles TOP | circles --self-test\n");
        return EXIT_FAILURE;
    }
    return strcmp(words[1], "--self-test") == 0 ? self_test(&house) : run(&house, words[1]);
}
