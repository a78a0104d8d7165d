/* fuzz_replay.c - the main function of a fuzz target where no fuzzer is: replays files.
 *
 * The arguments name files, or folders of them. */
#include "support/fuzz_target.h"

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Read into memory of exactly that size, so that a sanitizer sees a byte too many. */
static bool replay(const char *path, size_t size)
{
    FILE *in = fopen(path, "re");
    uint8_t *data = malloc(size + !size);
    bool ok = in && data && fread(data, 1, size, in) == size;
    if (ok)
        (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    if (in && fclose(in) != 0)
        ok = false;
    return ok;
}

int main(int count, char **paths)
{
    FTS *walk = count > 1 ? fts_open(paths + 1, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    if (!walk) {
        (void)fprintf(stderr, "usage: %s FILE-OR-FOLDER...\n", paths[0]);
        return EXIT_FAILURE;
    }
    int files = 0;
    bool ok = true;
    for (FTSENT *e; ok && (e = fts_read(walk));) {
        if (e->fts_info != FTS_F)
            continue;
        ok = replay(e->fts_path, (size_t)e->fts_statp->st_size);
        if (!ok)
            (void)fprintf(stderr, "cannot read %s\n", e->fts_path);
        files++;
    }
    (void)fts_close(walk);
    (void)printf("%d files\n", files);
    return ok && files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
