/* scratch_file.c - an unlinked file, mapped and grown by doubling. */
#include "data/scratch_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_BYTES = 1 << 20, PATH_BYTES = 4096 };

static const char *directory(void)
{
    const char *set = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): no thread sets it
    return set && *set ? set : "/tmp";
}

static bool fail(const char *step, size_t bytes, struct sl_err *err)
{
    const char *why = strerrordesc_np(errno);
    return sl_fail(
        err, errno == ENOMEM ? SL_NO_MEMORY : sl_file_error_code(errno),
        "cannot %s a temporary file of %zu bytes in '%s': %s; TMPDIR names the directory", step,
        bytes, directory(), why ? why : "unknown error");
}

static bool create(struct sl_scratch_file *file, size_t bytes, struct sl_err *err)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/sluice-XXXXXX", directory());
    if (length < 0 || length >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return fail("create", bytes, err);
    }
    int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0)
        return fail("create", bytes, err);
    (void)unlink(path);
    file->descriptor = 1 + descriptor;
    return true;
}

/* posix_fallocate: a full disk is an error here, not a signal when a page is written. */
static bool grow(struct sl_scratch_file *file, size_t bytes, struct sl_err *err)
{
    errno = posix_fallocate(file->descriptor - 1, 0, (off_t)bytes);
    if (errno != 0)
        return fail("grow", bytes, err);
    void *data =
        file->data ? mremap(file->data, file->bytes, bytes, MREMAP_MAYMOVE)
                   : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor - 1, 0);
    if (data == MAP_FAILED)
        return fail("map", bytes, err);
    file->data = data;
    file->bytes = bytes;
    return true;
}

bool sl_scratch_file_reserve(struct sl_scratch_file *file, size_t bytes, struct sl_err *err)
{
    if (bytes <= file->bytes)
        return true;
    size_t want = 2 * file->bytes > FIRST_BYTES ? 2 * file->bytes : FIRST_BYTES;
    if (!file->descriptor && !create(file, bytes, err))
        return false;
    return grow(file, want > bytes ? want : bytes, err);
}

void sl_scratch_file_close(struct sl_scratch_file *file)
{
    if (file->data)
        (void)munmap(file->data, file->bytes);
    if (file->descriptor)
        (void)close(file->descriptor - 1);
    *file = (struct sl_scratch_file){0};
}
