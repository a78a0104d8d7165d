/* source_tree.c - reads the texts of the tree. */
#include "source_tree.h"

#include <assert.h>
#include <ctype.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TEXT_BYTES_MAX = 1 << 20 /* longer files are data */ };

bool next_line(struct line *l, const char *text)
{
    const char *start = l->start ? l->start + l->length : text;
    if (l->start && *start == '\n')
        start++;
    if (*start == '\0')
        return false;
    *l = (struct line){start, (int)strcspn(start, "\n"), l->number + 1};
    return true;
}

bool matches(const char *path, const char *pattern)
{
    return fnmatch(pattern, path, 0) == 0; /* without FNM_PATHNAME: * crosses slashes */
}

bool matches_any(const char *path, const char *const *patterns)
{
    for (; *patterns; patterns++)
        if (matches(path, *patterns))
            return true;
    return false;
}

bool is_code(const struct file *file)
{
    return matches(file->path, "*.[ch]") || matches(file->path, "*.def");
}

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || !is_word_part(at[-1])) && !is_word_part(at[length]))
            return at;
    return NULL;
}

int line_of(const char *text, const char *place)
{
    int line = 1;
    for (; text < place; text++)
        line += *text == '\n';
    return line;
}

/* The end of the comment or literal that begins at c; c itself when none does. */
static const char *skip_dead(const char *c)
{
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end ? end + 2 : c + strlen(c);
    }
    if (c[0] == '/' && c[1] == '/')
        return c + strcspn(c, "\n");
    if (c[0] != '"' && c[0] != '\'')
        return c;
    const char *end = c + 1;
    while (*end && *end != *c && *end != '\n')
        end += end[0] == '\\' && end[1] ? 2 : 1;
    return *end ? end + 1 : end;
}

char *live_code(const char *text)
{
    char *copy = strdup(text);
    assert(copy);
    for (const char *c = text; *c;) {
        const char *end = skip_dead(c);
        for (const char *dead = c; dead < end; dead++)
            if (*dead != '\n')
                copy[dead - text] = ' ';
        c = end > c ? end : c + 1;
    }
    return copy;
}

bool included(const struct line *l, char name[static 256])
{
    return sscanf(l->start, " # include %*[\"<]%255[^\">\n]", name) == 1 && l->length > 0;
}

/* ---- reading the tree ------------------------------------------------------------------------ */

/* The text of a file, or NULL when it is no text: too long, or with a NUL in it. */
static char *read_text(const char *path, size_t bytes)
{
    if (bytes > TEXT_BYTES_MAX)
        return NULL;
    FILE *file = fopen(path, "re");
    char *text = malloc(bytes + 1);
    assert(text);
    if (!file) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    size_t length = fread(text, 1, bytes, file);
    (void)fclose(file);
    text[length] = '\0';
    if (strlen(text) == length)
        return text;
    free(text);
    return NULL;
}

/* In a second work tree .git is a file. */
static bool is_skipped(const FTSENT *entry)
{
    static const char *const skipped[] = {".git", "build", "var", "__pycache__", NULL};
    return entry->fts_level > 0 && matches_any(entry->fts_name, skipped);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int read_tree(char *top, struct file files[static FILES_MAX])
{
    char *const tops[] = {top, NULL};
    size_t length = strlen(top);
    while (length > 1 && top[length - 1] == '/')
        top[--length] = '\0';
    FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    assert(walk);
    int count = 0;
    for (FTSENT *entry; (entry = fts_read(walk));) {
        if (is_skipped(entry))
            (void)fts_set(walk, entry, FTS_SKIP);
        if (entry->fts_info != FTS_F || is_skipped(entry))
            continue;
        char *text = read_text(entry->fts_path, (size_t)entry->fts_statp->st_size);
        if (!text)
            continue;
        assert(count < FILES_MAX);
        char *path = strdup(entry->fts_path + length + 1);
        assert(path);
        files[count++] = (struct file){.path = path, .text = text};
    }
    (void)fts_close(walk);
    return count;
}

void free_tree(struct file *files, int count)
{
    for (int i = 0; i < count; i++) {
        free((void *)(uintptr_t)files[i].path);
        free((void *)(uintptr_t)files[i].text);
    }
}
