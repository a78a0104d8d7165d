/* fuzz_files.c - any bytes, as a file that an operator writes or a model has.
 *
 * The first byte says which: the daemon's configuration, labels, API keys, word vectors, the
 * manifest of a directory, or a model's config.json ('y', 'l', 'k', 'v', 'm', 'c'). */
#include "access/api_keys.h"
#include "checkpoint/manifest.h"
#include "checkpoint/model_config.h"
#include "core/options.h"
#include "data/labels.h"
#include "formats/vocabulary.h"
#include "support/fuzz_target.h"
#include "vectors/word_vectors.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

static void outcome_check(bool ok, const struct sl_err *err)
{
    must(ok || (err->code != SL_OK && err->text[0]));
}

/* Whatever a file sets can be shown. */
static void configuration_check(const char *path)
{
    struct sl_err err = {0};
    struct sv_options options;
    struct sl_buffer value = {0};
    sv_options_defaults(&options);
    bool ok = sv_options_file(&options, path, &err) && sv_options_check(&options, &err);
    outcome_check(ok, &err);
    for (int i = 0; sv_options_show(&options, i, &value); i++)
        must(value.data != NULL);
    sl_buffer_release(&value);
}

static void labels_check(const char *path)
{
    struct sl_err err = {0};
    struct sl_labels labels = {0};
    bool ok = sl_labels_read(&labels, path, &err);
    outcome_check(ok, &err);
    for (int i = 0; ok && i < labels.key_count; i++) {
        const struct sl_label_key *key = &labels.keys[i];
        must(key->id >= 0 && key->id < labels.count);
        must(sl_labels_find(&labels, key->key, strlen(key->key)) == key->id);
    }
    sl_labels_release(&labels);
}

static void keys_check(const char *path)
{
    struct sl_err err = {0};
    struct sl_api_key key;
    struct sv_api_keys *keys = sv_api_keys_create(path, &err);
    outcome_check(keys != NULL, &err);
    if (!keys)
        return;
    must(sv_api_keys_are_required(keys) && sv_api_keys_count(keys) > 0);
    must(sv_api_keys_find(keys, "not-one-of-the-keys-of-the-file-", 1, &key) != SV_KEY_VALID);
    must(sv_api_keys_reload(keys, &err));
    sv_api_keys_destroy(keys);
}

static void vectors_check(const char *path)
{
    static const char vocabulary[] = "[PAD]\n[START]\n[UNK]\na\nb\n";

    enum { ROWS = 5, COLS = 2 };

    float data[ROWS * COLS] = {0};
    const struct sl_parameter table = {.name = "e", .rows = ROWS, .cols = COLS, .data = data};
    struct sl_err err = {0};
    struct sl_tokenizer *tokens =
        sl_vocabulary_read("words", true, vocabulary, sizeof vocabulary - 1, &err);
    must(tokens);
    bool ok = sl_word_vectors_apply(path, tokens, &table, &err);
    outcome_check(ok, &err);
    for (int i = 0; ok && i < ROWS * COLS; i++)
        must(isfinite(data[i]));
    sl_tokenizer_destroy(tokens);
}

static void remove_member(const char *directory, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    must(unlink(path) == 0);
}

/* A file of a directory, with the bytes of another; NULL: empty. */
static void make_member(const char *directory, const char *name, const char *from)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    int out = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    int in = from ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    must(out >= 0 && (!from || (in >= 0 && sendfile(out, in, NULL, 1 << 20) >= 0)));
    (void)close(out);
    (void)close(in);
}

/* Of a directory that has one other file, which is empty. */
static void manifest_check(const char *path)
{
    char directory[] = "/dev/shm/sluice-fuzz-XXXXXX";
    struct sl_err err = {0}, replace_err = {0};
    struct sl_manifest_file member = {.name = "a"};
    struct sl_manifest manifest = {.members = &member, .count = 1};
    must(mkdtemp(directory) != NULL);
    make_member(directory, "manifest.json", path);
    make_member(directory, "a", NULL);
    bool ok = sl_manifest_open(directory, &manifest, &err);
    outcome_check(ok, &err);
    must(!ok || strlen(member.sha256) == 64);
    if (ok)
        sl_manifest_close(&manifest);
    outcome_check(sl_manifest_may_replace(directory, &replace_err), &replace_err);
    remove_member(directory, "a");
    remove_member(directory, "manifest.json");
    must(rmdir(directory) == 0);
}

/* What was read is printed, and the same when it is read again. */
static void config_check(const char *text, size_t bytes)
{
    struct sl_err err = {0};
    struct sl_model_config config = {0}, again = {0};
    bool ok = sl_model_config_read(&config, text, bytes, &err);
    outcome_check(ok, &err);
    if (ok) {
        char *first = sl_model_config_print(&config, &err);
        must(first && sl_model_config_read(&again, first, strlen(first), &err));
        char *second = sl_model_config_print(&again, &err);
        must(second && strcmp(first, second) == 0);
        free(first);
        free(second);
        sl_model_config_release(&again);
    }
    sl_model_config_release(&config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        char letter;
        void (*check)(const char *path);
    } files[] = {{'y', configuration_check},
                 {'l', labels_check},
                 {'k', keys_check},
                 {'v', vectors_check},
                 {'m', manifest_check}};

    char path[64];
    if (size > 0 && data[0] == 'c')
        config_check((const char *)data + 1, size - 1);
    for (size_t i = 0; size > 0 && i < sizeof files / sizeof files[0]; i++) {
        if (files[i].letter != (char)data[0])
            continue;
        int fd = memfd_create("file", MFD_CLOEXEC);
        must(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        files[i].check(path);
        (void)close(fd);
    }
    return 0;
}
