/* source_tree.h - the texts of the tree, and how lines, words and C code are found in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FILES_MAX = 4096 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct file {
    const char *path; /* from the top of the tree */
    const char *text;
};

struct line {
    const char *start; /* NULL before the first */
    int length, number;
};

/* Fills files with every text below top, in the order of their names; returns how many. */
int read_tree(char *top, struct file files[static FILES_MAX]);
void free_tree(struct file *files, int count);

/* Moves to the next line of a text; false after the last. */
bool next_line(struct line *l, const char *text);

/* A pattern of the shell, except that * crosses slashes. The list ends with NULL. */
bool matches(const char *path, const char *pattern);
bool matches_any(const char *path, const char *const *patterns);

/* What follows the last slash. */
const char *base_name(const char *path);

/* Whether it is a file of C, or a table that C includes. */
bool is_code(const struct file *file);

bool is_word_part(char c);

/* The place of a whole word in a text, or NULL. */
const char *find_word(const char *text, const char *word);

int line_of(const char *text, const char *place);

/* A copy of C code with comments and literals blanked out, line by line as long as before; the
 * caller frees it. */
char *live_code(const char *text);

/* The name included by a line, without its quotes; false when it includes nothing. */
bool included(const struct line *l, char name[static 256]);
