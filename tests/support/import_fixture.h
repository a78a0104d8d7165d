/* import_fixture.h - a workspace in which a test changes a copy of a golden model to import it. */
#pragma once

#include "support/sluice_cli.h"

#define GOLDEN SL_SOURCE_DIR "/tests/golden/pretrained/"

struct import_fixture {
    struct workspace dirs;
    char source[PATH_MAX + 8]; /* a copy of a model that may be changed */
};

void import_setup(struct import_fixture *t);

/* A file of the copy, which may be in a directory within it. */
void import_write(const struct import_fixture *t, const char *name, const char *text, size_t bytes);
void import_remove(const struct import_fixture *t, const char *name);
/* The same file of a golden model; then with the first `from` in it replaced by `to`. */
void import_copy(const struct import_fixture *t, const char *model, const char *name);
void import_change(const struct import_fixture *t, const char *model, const char *name,
                   const char *from, const char *to);
/* config.json, the weights and the tokenizer. */
void import_copy_model(const struct import_fixture *t, const char *model);

/* A command on some texts prints the same for a model and for its import in the output. */
void import_expect_same(const struct import_fixture *t, const char *command, const char *model);
/* `sluice import` of a directory or file ends with exit code 2 and says this. */
void import_expect_refused(const struct import_fixture *t, const char *from, const char *said);
