/* file_sha256.c - maps a file and hashes it. */
#include "support/file_sha256.h"

#include "base/file.h"
#include "base/sha256.h"
#include "support/test.h"

void file_sha256(char hex[65], const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(path, directory, name), &err), err);
    sl_sha256_hex(map.data, map.size, hex);
    sl_map_close(&map);
}
