/* fuzz_safetensors.c - any bytes, as a safetensors file.
 *
 * With clang's -fsanitize=fuzzer and -DSL_LIBFUZZER it is a fuzzer. Without, it replays the files
 * that its arguments name, or those of the folders among them. */
#include "model/safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void numbers_read(const struct sl_stored *tensor)
{
    float *numbers = malloc(tensor->count * sizeof *numbers + 1);
    if (numbers)
        sl_stored_read(tensor, numbers);
    free(numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_safetensors file;
    struct sl_err err;
    if (!sl_safetensors_parse(&file, data, size, &err))
        return 0;
    for (int i = 0; i < file.count; i++) {
        char shape[SL_SHAPE_TEXT];
        sl_stored_shape(&file.tensors[i], shape);
        numbers_read(&file.tensors[i]);
        if (sl_safetensors_find(&file, file.tensors[i].name) != &file.tensors[i])
            abort();
    }
    (void)sl_safetensors_metadata(&file, "format");
    sl_safetensors_close(&file);
    return 0;
}

#ifndef SL_LIBFUZZER
#include <fts.h>
#include <stdio.h>
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
#endif
