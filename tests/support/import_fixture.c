/* import_fixture.c - a copy of a golden model that a test changes. */
#include "support/import_fixture.h"

#include "base/buffer.h"
#include "base/file.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void import_setup(struct import_fixture *t)
{
    sluice_setup(&t->dirs);
    (void)snprintf(t->source, sizeof t->source, "%s/source", t->dirs.top);
}

void import_write(const struct import_fixture *t, const char *name, const char *text, size_t bytes)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    EXPECT_OK(sl_directory_make(t->source, &err), err);
    EXPECT_OK(sl_path_join(path, t->source, name, &err), err);
    char *end = strchr(name, '/') ? strrchr(path, '/') : NULL;
    if (end) { /* in a directory of its own */
        *end = '\0';
        EXPECT_OK(sl_directory_make(path, &err), err);
        *end = '/';
    }
    EXPECT_OK(sl_file_replace(path, &(struct sl_slice){text, bytes}, 1, &err), err);
}

/* The text of a file of a golden model; free() it. */
static char *read_golden(const char *model, const char *name, size_t *bytes)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    (void)snprintf(path, sizeof path, GOLDEN "%s/%s", model, name);
    EXPECT_OK(sl_map_open(&map, path, &err), err);
    char *text = malloc(map.size + 1);
    cr_assert(text);
    memcpy(text, map.data, map.size);
    text[map.size] = '\0';
    *bytes = map.size;
    sl_map_close(&map);
    return text;
}

void import_copy(const struct import_fixture *t, const char *model, const char *name)
{
    size_t bytes;
    char *text = read_golden(model, name, &bytes);
    import_write(t, name, text, bytes);
    free(text);
}

void import_copy_model(const struct import_fixture *t, const char *model)
{
    import_copy(t, model, "config.json");
    import_copy(t, model, "model.safetensors");
    import_copy(t, model, "tokenizer.json");
}

/* Writes a copy of a file in which the first `from` is `to`. */
void import_change(const struct import_fixture *t, const char *model, const char *name,
                   const char *from, const char *to)
{
    size_t bytes;
    char *text = read_golden(model, name, &bytes);
    char *at = memmem(text, bytes, from, strlen(from));
    cr_assert(at, "%s has no %s", name, from);
    struct sl_buffer changed = {0};
    sl_buffer_append(&changed, text, (size_t)(at - text));
    sl_buffer_append_string(&changed, to);
    at += strlen(from);
    sl_buffer_append(&changed, at, (size_t)(text + bytes - at));
    cr_assert(!changed.failed);
    import_write(t, name, changed.data, changed.bytes);
    sl_buffer_release(&changed);
    free(text);
}

void import_remove(const struct import_fixture *t, const char *name)
{
    char path[SL_PATH_MAX];
    struct sl_err err;
    EXPECT_OK(sl_path_join(path, t->source, name, &err), err);
    cr_assert_eq(unlink(path), 0);
}

void import_expect_same(const struct import_fixture *t, const char *command, const char *model)
{
    static struct program_result as_it_is, imported;
    static const char texts[] =
        "a b c\nno two texts are alike\nabc def ghi jkl mno pqr stu vwx yz\n";
    char path[SL_PATH_MAX];
    struct sl_err err;
    import_write(t, "texts", texts, strlen(texts));
    EXPECT_OK(sl_path_join(path, t->source, "texts", &err), err);
    sluice_expect_success(&as_it_is, ARGS(command, model, path, "--json", "--precision", "fp32"));
    sluice_expect_success(&imported,
                          ARGS(command, t->dirs.output, path, "--json", "--precision", "fp32"));
    cr_expect_str_eq(as_it_is.out, imported.out);
    cr_expect_gt(strlen(imported.out), 100);
}

void import_expect_refused(const struct import_fixture *t, const char *from, const char *said)
{
    static struct program_result r;
    sluice_run(&r, ARGS("import", from, "--output", t->dirs.output));
    cr_expect_eq(r.exit_code, 2, "%s: %d", said, r.exit_code);
    cr_expect(strstr(r.err, said), "want %s, said: %s", said, r.err);
}
