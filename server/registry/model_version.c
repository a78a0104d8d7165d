/* model_version.c - one version of a model, loaded: opened, given an executor, counted, closed. */
#include "registry/model_version.h"
#include "core/memory_left.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FD_PATH_MAX = 32 };

/* ---- opening --------------------------------------------------------------------------------- */

static bool attach(struct sv_model_ref *ref, struct sl_err *err)
{
    const struct sv_model_host *host = &ref->registry->options.host;
    if (!host->attach)
        return true;
    ref->executor = host->attach(host->context, ref, err);
    return ref->executor != NULL;
}

static void set_names(struct sv_model_ref *ref, const char *name, long number)
{
    ref->number = number;
    (void)snprintf(ref->name, sizeof ref->name, "%s", name);
    (void)snprintf(ref->version, sizeof ref->version, "%ld", number);
    (void)snprintf(ref->id, sizeof ref->id, "%.*s@%s", SL_MODEL_NAME_BYTES_MAX, name, ref->version);
    (void)snprintf(ref->fingerprint, sizeof ref->fingerprint, "fp_%.12s",
                   sl_model_info(ref->model)->sha256);
}

/* The operator made the store, so a model's directory may be a link. A version may not be one: it
 * could lead anywhere, and be exchanged while it is read. */
static int open_directory(const struct sv_registry *registry, const char *name, long version,
                          struct sl_err *err)
{
    char path[SL_PATH_MAX], number[SV_VERSION_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", registry->options.store, name);
    (void)snprintf(number, sizeof number, "%ld", version);
    int model = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd =
        model < 0 ? -1 : openat(model, number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int cause = errno;
    if (model >= 0)
        (void)close(model);
    if (fd < 0 && (cause == ENOTDIR || cause == ELOOP))
        (void)sl_fail(err, SL_CORRUPT,
                      "not a directory; links are not followed, and a GGUF file needs a directory "
                      "around it");
    else if (fd < 0)
        (void)sl_fail(err, SL_IO, "%s", strerrordesc_np(cause));
    return fd;
}

/* Files of weights are copied, unpacked to floats and packed for computing: one of bf16 takes up to
 * five times its size, one of fp32 three times, one of four bits sixteen times. What requests need
 * comes on top. */
static const struct {
    const char *suffix;
    int copies;
} weight_files[] = {{".safetensors", 4}, {".gguf", 16}};

/* Bytes that loading a file of this name takes; 0: it has no weights. */
static int64_t bytes_to_load(int directory, const char *name)
{
    const char *suffix = strrchr(name, '.');
    struct stat status;
    for (size_t i = 0; suffix && i < sizeof weight_files / sizeof *weight_files; i++)
        if (strcmp(suffix, weight_files[i].suffix) == 0 &&
            fstatat(directory, name, &status, 0) == 0)
            return (int64_t)status.st_size * weight_files[i].copies;
    return 0;
}

static int64_t bytes_to_load_all(int directory)
{
    int64_t bytes = 0;
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    /* No other thread has this stream. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    for (const struct dirent *entry; entries && (entry = readdir(entries));)
        bytes += bytes_to_load(directory, entry->d_name);
    if (entries)
        (void)closedir(entries);
    else if (copy >= 0)
        (void)close(copy);
    return bytes;
}

static bool check_memory(int directory, struct sl_err *err)
{
    enum { MIB = 1 << 20 };

    const int64_t bytes = bytes_to_load_all(directory);
    const struct sv_memory_left left = sv_memory_left();
    if (bytes < left.bytes)
        return true;
    return sl_fail(err, SL_NO_MEMORY,
                   "loading it takes about %" PRId64 " MiB, and %" PRId64
                   " MiB are left: %s %" PRId64 " MiB, %" PRId64 " MiB are used",
                   bytes / MIB, left.bytes / MIB,
                   left.is_cgroup ? "the cgroup's memory.max is" : "the machine has",
                   left.limit / MIB, left.used / MIB);
}

static struct sl_model *open_model(const struct sv_registry *registry, int directory,
                                   struct sl_err *err)
{
    char path[FD_PATH_MAX]; /* the directory that was opened, whatever has its name now */
    if (!check_memory(directory, err))
        return NULL;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
    return sl_model_open(registry->options.engine, path, err);
}

/* Clients see paths relative to the store. */
static void describe(const char *name, long version, const struct sl_err *err,
                     char reason[static SV_REASON_MAX])
{
    static const char fds[] = "/proc/self/fd/";
    const char *rest = strncmp(err->path, fds, sizeof fds - 1) == 0
                           ? strchr(err->path + sizeof fds - 1, '/')
                           : NULL;
    (void)snprintf(reason, SV_REASON_MAX, "%s/%ld%s: %s", name, version, rest ? rest : "",
                   sl_err_reason(err));
}

struct sv_model_ref *sv_version_open(struct sv_registry *registry, const char *name, long version,
                                     struct sl_err *err, char reason[static SV_REASON_MAX])
{
    struct sv_model_ref *ref = calloc(1, sizeof *ref);
    if (!ref) {
        (void)sl_fail(err, SL_NO_MEMORY, "out of memory");
        (void)snprintf(reason, SV_REASON_MAX, "out of memory");
        return NULL;
    }
    ref->registry = registry;
    atomic_init(&ref->references, 1);
    int directory = open_directory(registry, name, version, err);
    if (directory >= 0) {
        ref->model = open_model(registry, directory, err);
        (void)close(directory);
    }
    if (ref->model) {
        set_names(ref, name, version);
        if (attach(ref, err))
            return ref;
    }
    describe(name, version, err, reason);
    sv_version_close(ref);
    return NULL;
}

void sv_version_close(struct sv_model_ref *ref)
{
    const struct sv_model_host *host = &ref->registry->options.host;
    if (ref->executor)
        host->detach(host->context, ref->executor);
    sl_model_close(ref->model);
    free(ref);
}

/* ---- using ----------------------------------------------------------------------------------- */

struct sv_model_ref *sv_model_ref_acquire(struct sv_model_ref *ref)
{
    int before = atomic_fetch_add_explicit(&ref->references, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
    return ref;
}

/* The last reference goes only after the version was retired. Its executor may still be in a batch
 * that others share, so the registry's thread frees it. */
void sv_model_ref_release(struct sv_model_ref *ref)
{
    if (!ref || atomic_fetch_sub_explicit(&ref->references, 1, memory_order_acq_rel) > 1)
        return;
    struct sv_registry *registry = ref->registry;
    pthread_mutex_lock(&registry->lock);
    ref->unused = true;
    pthread_cond_signal(&registry->wakeup);
    pthread_mutex_unlock(&registry->lock);
}
