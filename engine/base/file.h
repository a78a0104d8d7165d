/* file.h - files mapped into memory, and files and directories replaced atomically. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>
#include <string.h>

enum { SL_PATH_MAX = 4096 };

/* directory/name */
bool sl_path_join(char path[SL_PATH_MAX], const char *directory, const char *name,
                  struct sl_err *err) SL_MUST_CHECK;

/* The same; whether something of that name is there. */
bool sl_path_find(char path[SL_PATH_MAX], const char *directory, const char *name);

/* What follows the last slash. Models are passed on, and directories are private: only this is told
 * of where they came from. */
static inline const char *sl_path_last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* What the error of a system call on a file means for a caller. */
enum sl_code sl_file_error_code(int number);

/* Opens /dev/null as standard output and errors if they are closed: a file that got their number
 * would receive what is printed. Call it before any file is opened. */
void sl_output_streams_open(void);

struct sl_map {
    const char *data; /* read-only; NULL when the file is empty */
    size_t size;
};

bool sl_map_open(struct sl_map *map, const char *path, struct sl_err *err) SL_MUST_CHECK;
/* The same as a private copy, which stays as it is when the file changes. (Mapped bytes change
 * with the file, and the process dies if the file is truncated.) A symbolic link is not
 * followed. */
bool sl_map_copy(struct sl_map *map, const char *path, struct sl_err *err) SL_MUST_CHECK;
void sl_map_close(struct sl_map *map); /* a zeroed map is fine */

struct sl_buffer;
/* Appends the content of a file. */
bool sl_file_append(struct sl_buffer *to, const char *path, struct sl_err *err) SL_MUST_CHECK;

/* One piece of a file to be written. */
struct sl_slice {
    const void *data;
    size_t size;
};

/* Writes the pieces to a temporary name beside path, fsyncs and renames over path. On failure path
 * is unchanged, and err says which step failed and why, for example a full disk. */
bool sl_file_replace(const char *path, const struct sl_slice *slices, int count, struct sl_err *err)
    SL_MUST_CHECK;

/* mkdir -p. */
bool sl_directory_make(const char *path, struct sl_err *err) SL_MUST_CHECK;
/* The length of the part of the path that exists. */
size_t sl_path_there(const char *path);
/* Undoes it: removes directories from the end of the path on while they are empty, as far as that
 * length. */
void sl_directory_remove_empty(const char *path, size_t there);
/* fsyncs the files of a finished directory, renames it from tmp to path, fsyncs the parent. An
 * existing directory at path is replaced atomically and then removed. */
bool sl_directory_publish(const char *tmp, const char *path, struct sl_err *err) SL_MUST_CHECK;
/* The same, but path must not exist: if it does, fails with SL_BUSY and leaves tmp as it is. */
bool sl_directory_publish_new(const char *tmp, const char *path, struct sl_err *err) SL_MUST_CHECK;
/* Removes the plain files in a directory (no deeper), or also itself. A missing one is fine. */
bool sl_directory_empty(const char *path, struct sl_err *err) SL_MUST_CHECK;
bool sl_directory_remove(const char *path, struct sl_err *err) SL_MUST_CHECK;
