/* file_digest.h - a file as 64 digits, to tell whether two trainings left the same bits. */
#pragma once

#include "base/file.h"
#include "support/test.h"

static inline void file_digest(char hex[65], const char *directory, const char *name)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(path, directory, name), &err), err);
    sl_sha256_hex(map.data, map.size, hex);
    sl_map_close(&map);
}
