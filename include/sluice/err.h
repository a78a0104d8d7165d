/* err.h - errors: a code and fields for programs, a sentence for people.
 *
 * A function that can fail returns bool, or a pointer that may be NULL, is marked SL_MUST_CHECK and
 * takes `struct sl_err *err` last. err is written only on failure. sl_fail sets it where the fault
 * is found; each caller that knows the purpose adds a prefix with sl_wrap:
 *
 *     publish 'news': load '/srv/news/1': tensor 'block.3.mlp.up': shape 96x24: expected 288x72
 *
 * Programs read `code`, `path`, `field`, `line`, `column` and `index`. The sentence is for people:
 * it may change, and no program searches it. A program that says where the failure is in words of
 * its own shows the end of the sentence, which sl_err_reason finds, as it is.
 *
 * No memory is owned. One sl_err belongs to one thread at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_MUST_CHECK   __attribute__((warn_unused_result))
#define SL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define SL_PUBLIC       __attribute__((visibility("default")))

/* Grouped by what the caller can do about it. The server maps them to HTTP statuses. */
enum sl_code {
    SL_OK,
    SL_BAD_INPUT, /* the caller's data is wrong */
    SL_NOT_FOUND, /* no such file, model, key */
    SL_BUSY,      /* try again later */
    SL_NO_MEMORY,
    SL_NO_SPACE,  /* the disk is full, or a quota or a limit of file sizes is reached */
    SL_IO,        /* the disk or the operating system failed otherwise */
    SL_CORRUPT,   /* a file is damaged or of another format */
    SL_NOT_FINITE /* NaN or infinity was computed */
};

/* "bad_input", "not_found", ..., in JSON; and the code with this name, SL_OK if there is none. */
const char *sl_code_name(enum sl_code code);
enum sl_code sl_code_find(const char *name);

enum { SL_ERR_TEXT_MAX = 1024, SL_ERR_PATH_MAX = 512, SL_ERR_FIELD_MAX = 64 };

struct sl_err {
    enum sl_code code;
    char text[SL_ERR_TEXT_MAX];

    /* Where the failure is, as far as that is known. Programs read these. */
    char path[SL_ERR_PATH_MAX];   /* the file or directory concerned; "" */
    char field[SL_ERR_FIELD_MAX]; /* the option, key or parameter; "" */
    int line, column;             /* in the file, from 1; 0 */
    int64_t index;                /* of the text or record at fault, from 0; -1 */

    /* Lengths of parts of the text, for sl_err_reason and sl_err_spell_field alone. */
    int reason_bytes, name_bytes, rest_bytes;
};

/* Sets err and returns false, so that `return sl_fail(err, ...)` is the whole error path. The
 * fields become unknown. err may be NULL: the error is not reported. */
bool sl_fail(struct sl_err *err, enum sl_code code, const char *format, ...) SL_PRINTF(3, 4);

/* The same for a value that is not accepted: "invalid learning_rate '7': expected ...", with the
 * format for what follows the colon, SL_BAD_INPUT and the field. */
bool sl_fail_value(struct sl_err *err, const char *field, const char *value, const char *format,
                   ...) SL_PRINTF(4, 5);

/* Replaces the field's name in the text of sl_fail_value by the one under which the value was
 * given, such as --learning-rate. `field` keeps the name that programs know. Returns false. */
bool sl_err_spell_field(struct sl_err *err, const char *name);

/* Prefixes err's text with what was attempted and returns false. */
bool sl_wrap(struct sl_err *err, const char *format, ...) SL_PRINTF(2, 3);

/* Prefixes it with a file, and unless it is 0 with a line: "'reviews.tsv' line 3: ...". Records
 * both, as the functions below do. Returns false. */
bool sl_wrap_file(struct sl_err *err, const char *path, int64_t line);

/* Adds to the end of err's text, if there is room for all of it. Returns false. */
bool sl_err_append(struct sl_err *err, const char *format, ...) SL_PRINTF(2, 3);

/* Record where a failure is, between sl_fail and sl_wrap. A field that is already set stays,
 * because the innermost function knows best. They return false. */
bool sl_err_set_path(struct sl_err *err, const char *path); /* the text so far is the reason */
bool sl_err_set_reason(struct sl_err *err); /* the same, of input without a path; the first stays */
bool sl_err_set_place(struct sl_err *err, int line, int column);
bool sl_err_set_field(struct sl_err *err, const char *field);

/* The text without the path and the prefixes around it, for readers who must not see paths or
 * know them already. The whole text if neither was set. */
const char *sl_err_reason(const struct sl_err *err);

/* clang's analyzer sees one file at a time: it is told that these return false. */
#ifdef __clang_analyzer__
static inline bool sl_false(bool result)
{
    (void)result;
    return false;
}

// NOLINTBEGIN(readability-identifier-naming): they stand for the functions of their names
#define sl_fail(...)       sl_false(sl_fail(__VA_ARGS__))
#define sl_fail_value(...) sl_false(sl_fail_value(__VA_ARGS__))
#define sl_wrap(...)       sl_false(sl_wrap(__VA_ARGS__))
#define sl_wrap_file(...)  sl_false(sl_wrap_file(__VA_ARGS__))
// NOLINTEND(readability-identifier-naming)
#endif

#ifdef __cplusplus
}
#endif
