/* test.c - temporary directories, files and the seed of random tests. */
#include "support/test.h"

#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/statvfs.h>

uint64_t test_seed(void)
{
    const char *text = getenv("SLUICE_SEED");
    return text ? strtoull(text, NULL, 0) : 20260101;
}

/* Memory, where there is enough for programs and data: what is written through to a disk takes most
 * of the time of tests that save often. */
static const char *default_top(void)
{
    static const char memory[] = "/dev/shm";

    enum { MEMORY_MIB_MIN = 1024 };

    struct statvfs s;
    bool usable = access(memory, W_OK) == 0 && statvfs(memory, &s) == 0 &&
                  !(s.f_flag & ST_NOEXEC) && (s.f_bavail * s.f_frsize) >> 20 >= MEMORY_MIB_MIN;
    return usable ? memory : "/tmp";
}

void test_directory_create(char *path)
{
    const char *top = getenv("TMPDIR");
    (void)snprintf(path, PATH_MAX, "%s/sluice-test-XXXXXX", top ? top : default_top());
    cr_assert(mkdtemp(path), "cannot make %s", path);
}

const char *test_path(char *out, const char *directory, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", directory, name);
    cr_assert(length > 0 && length < PATH_MAX, "the path of %s is too long", name);
    return out;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int test_count_entries(const char *directory)
{
    int count = 0;
    DIR *entries = opendir(directory);
    cr_assert(entries, "%s", directory);
    for (const struct dirent *e; (e = readdir(entries));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(entries);
    return count;
}

void test_directory_remove(const char *path)
{
    enum { OPEN_MAX_HINT = 8 };

    (void)nftw(path, remove_one, OPEN_MAX_HINT, FTW_DEPTH | FTW_PHYS);
}

void test_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    cr_assert(file, "cannot write %s", path);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

void test_read_file(char *text, size_t bytes, const char *path)
{
    FILE *file = fopen(path, "re");
    cr_assert(file, "cannot read %s", path);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    cr_assert_eq(fclose(file), 0);
}
