/* test_base.c - errors, arenas, the pool, random numbers and files. */
#include "base/arena.h"
#include "base/control_groups.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/thread_pool.h"
#include "support/test.h"

#include <fcntl.h>
#include <math.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* ---- errors --------------------------------------------------------------------------------- */

Test(err, chain_reads_from_purpose_to_fact)
{
    struct sl_err err = {0};
    cr_assert_not(sl_fail(&err, SL_CORRUPT, "shape %dx%d: expected %dx%d", 96, 24, 288, 72));
    cr_assert_not(sl_wrap(&err, "tensor '%s'", "layers.3.mlp.up"));
    cr_assert_not(sl_wrap(&err, "load '%s'", "/srv/news/1"));
    cr_assert_str_eq(err.text,
                     "load '/srv/news/1': tensor 'layers.3.mlp.up': shape 96x24: expected 288x72");
    cr_assert_eq(err.code, SL_CORRUPT);
}

Test(err, err_may_be_null)
{
    cr_assert_not(sl_fail(NULL, SL_IO, "unheard"));
    cr_assert_not(sl_wrap(NULL, "unheard"));
}

Test(err, a_text_may_quote_itself)
{
    struct sl_err err = {0};
    (void)sl_fail(&err, SL_IO, "disk full");
    (void)sl_fail(&err, SL_BUSY, "later (%s)", err.text);
    cr_assert_str_eq(err.text, "later (disk full)");
    (void)sl_wrap(&err, "after %s", err.text);
    cr_assert_str_eq(err.text, "after later (disk full): later (disk full)");
}

Test(err, too_long_loses_the_middle)
{
    char name[3 * SL_ERR_TEXT_MAX];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct sl_err err = {0};
    (void)sl_fail(&err, SL_NOT_FOUND, "model '%s' is not here", name);
    cr_assert_eq(strlen(err.text), SL_ERR_TEXT_MAX - 1);
    cr_assert_eq(strncmp(err.text, "model 'nnn", 10), 0);
    cr_assert(strstr(err.text, "n ... n"));
    cr_assert_str_eq(err.text + strlen(err.text) - 14, "n' is not here");
}

Test(err, wrapping_keeps_the_fact_however_often)
{
    struct sl_err err = {0};
    (void)sl_fail(&err, SL_IO, "No space left on device");
    for (int i = 0; i < 500; i++)
        (void)sl_wrap(&err, "step %d", i);
    cr_assert_lt(strlen(err.text), SL_ERR_TEXT_MAX);
    cr_assert_eq(strncmp(err.text, "step 499: step 498: ", 20), 0, "%s", err.text);
    cr_assert(strstr(err.text, "No space left on device"), "%s", err.text);
    cr_assert_eq(err.code, SL_IO);
}

static bool is_utf8(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int more = *c < 0x80 ? 0 : *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc0 ? 1 : -1;
        if (more < 0)
            return false;
        for (c++; more > 0; more--, c++)
            if ((*c & 0xc0) != 0x80)
                return false;
    }
    return true;
}

Test(err, cuts_between_letters)
{
    char name[2 * SL_ERR_TEXT_MAX];
    for (int shift = 0; shift < 4; shift++) {
        memset(name, '.', (size_t)shift);
        char *end = name + shift;
        while (end < name + sizeof name - 8)
            end = stpcpy(end, shift % 2 ? "\xe2\x82\xac" : "\xf0\x9f\x90\x8c");
        struct sl_err err = {0};
        (void)sl_fail(&err, SL_IO, "%s", name);
        cr_assert(is_utf8(err.text), "shift %d", shift);
    }
}

/* ---- arena ---------------------------------------------------------------------------------- */

/* Some work that takes memory; the same for a dry run and a real one. */
static void take_some(struct sl_arena *a)
{
    (void)sl_arena_take(a, 100, sizeof(float));
    size_t mark = sl_arena_mark(a);
    (void)sl_arena_take(a, 1000, sizeof(double));
    sl_arena_rewind(a, mark);
    (void)sl_arena_take(a, 7, 1);
}

Test(arena, a_dry_run_counts_what_a_real_one_needs)
{
    struct sl_arena dry, real;
    struct sl_err err;
    sl_arena_dry(&dry);
    take_some(&dry);
    cr_assert_eq(dry.peak, 448 + 8000);
    cr_assert_null(sl_arena_take(&dry, 1, 1));
    EXPECT_OK(sl_arena_init(&real, dry.peak, &err), err);
    take_some(&real);
    cr_assert_eq(real.peak, dry.peak);
    cr_assert_eq(real.used, 448 + 64);
    sl_arena_release(&real);
    sl_arena_release(&real);
}

Test(arena, pieces_are_aligned_and_apart)
{
    struct sl_arena a;
    struct sl_err err;
    EXPECT_OK(sl_arena_init(&a, 1 << 16, &err), err);
    char *before = sl_arena_take(&a, 0, 1);
    for (size_t bytes = 1; bytes < 200; bytes++) {
        char *piece = sl_arena_take(&a, bytes, 1);
        cr_assert_eq((uintptr_t)piece % SL_ALIGN, 0);
        cr_assert_geq(piece, before);
        memset(piece, 1, bytes);
        before = piece + bytes;
    }
    sl_arena_release(&a);
}

Test(arena, exhaustion_is_our_bug, .signal = SIGABRT)
{
    struct sl_arena a;
    struct sl_err err;
    cr_assert(sl_arena_init(&a, 128, &err));
    (void)sl_arena_take(&a, 65, 1);
    (void)sl_arena_take(&a, 1, 1);
}

Test(arena, some_grow)
{
    struct sl_arena a;
    struct sl_err err;
    char *pieces[64];
    EXPECT_OK(sl_arena_init_growing(&a, 100, &err), err);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 64; i++) {
            pieces[i] = sl_arena_take(&a, (size_t)i * 97, 1);
            cr_assert_eq((uintptr_t)pieces[i] % SL_ALIGN, 0);
            memset(pieces[i], i, (size_t)i * 97);
        }
        for (int i = 1; i < 64; i++)
            cr_assert(pieces[i][0] == i && pieces[i][i * 97 - 1] == i, "piece %d", i);
        sl_arena_rewind(&a, 0);
    }
    cr_assert_null(a.full, "in the end one piece of memory holds all");
    sl_arena_release(&a);
}

Test(arena, sizes_do_not_wrap, .signal = SIGABRT)
{
    (void)sl_size_product(SIZE_MAX / 2, 3);
}

Test(arena, impossible_sizes_are_rejected)
{
    struct sl_arena a = {0};
    struct sl_err err;
    EXPECT_FAIL(sl_arena_init(&a, SIZE_MAX / 2, &err), err, SL_NO_MEMORY, "cannot reserve");
    cr_assert_null(a.base);
}

#if defined(__SANITIZE_ADDRESS__)
Test(arena, what_is_not_taken_is_poisoned)
{
    struct sl_arena a;
    struct sl_err err;
    EXPECT_OK(sl_arena_init(&a, 4096, &err), err);
    char *piece = sl_arena_take(&a, 13, 1);
    cr_assert_not(__asan_address_is_poisoned(piece + 12));
    cr_assert(__asan_address_is_poisoned(piece + 16));
    sl_arena_rewind(&a, 0);
    cr_assert(__asan_address_is_poisoned(piece));
    sl_arena_release(&a);
}
#endif

/* ---- pool ----------------------------------------------------------------------------------- */

enum { ROWS_MAX = 1000, WORKERS_MAX = 16 };

struct tally {
    atomic_int visits[ROWS_MAX];
    int grain, count;
    int workers;                   /* indices must be below */
    atomic_bool wrong;             /* a piece that should not exist */
    atomic_bool busy[WORKERS_MAX]; /* by worker: two pieces at once on one index */
};

static void tally_piece(void *ctx, int first, int last, int worker)
{
    struct tally *t = ctx;
    bool is_whole = last - first == t->grain || last == t->count;
    if (first % t->grain != 0 || !is_whole || worker < 0 || worker >= t->workers)
        atomic_store(&t->wrong, true);
    if (atomic_exchange(&t->busy[worker], true))
        atomic_store(&t->wrong, true);
    for (int i = first; i < last; i++)
        atomic_fetch_add(&t->visits[i], 1);
    atomic_store(&t->busy[worker], false);
}

static void check_tally(struct sl_thread_pool *pool, int count, int grain)
{
    struct tally t = {.grain = grain, .count = count, .workers = sl_thread_pool_size(pool)};
    sl_parallel_for(pool, count, grain, tally_piece, &t);
    cr_assert_not(atomic_load(&t.wrong), "%d by %d", count, grain);
    for (int i = 0; i < ROWS_MAX; i++)
        cr_assert_eq(atomic_load(&t.visits[i]), i < count, "row %d of %d by %d", i, count, grain);
}

Test(pool, every_row_once)
{
    static const int counts[] = {0, 1, 2, 3, 63, 64, 65, ROWS_MAX};
    static const int grains[] = {1, 2, 7, 64, ROWS_MAX, INT_MAX};
    struct sl_err err;
    for (int threads = 1; threads <= WORKERS_MAX; threads *= 2) {
        struct sl_thread_pool *pool;
        EXPECT_OK((pool = sl_thread_pool_create(threads, &err)), err);
        cr_assert_eq(sl_thread_pool_size(pool), threads);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t g = 0; g < sizeof grains / sizeof *grains; g++)
                check_tally(pool, counts[c], grains[g]);
        sl_thread_pool_destroy(pool);
    }
    sl_thread_pool_destroy(NULL);
}

/* Plain memory, no atomics: the pool alone must make what one batch wrote visible to the next. */
static void add_neighbour(void *ctx, int first, int last, int worker)
{
    int *rows = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        rows[ROWS_MAX + i] = rows[i] + rows[(i + 1) % ROWS_MAX];
}

static void copy_back(void *ctx, int first, int last, int worker)
{
    int *rows = ctx;
    (void)worker;
    for (int i = first; i < last; i++)
        rows[i] = rows[ROWS_MAX + i] & 0xffff;
}

static void run_many(int threads, int rounds, int *rows)
{
    struct sl_err err;
    struct sl_thread_pool *pool;
    EXPECT_OK((pool = sl_thread_pool_create(threads, &err)), err);
    for (int i = 0; i < ROWS_MAX; i++)
        rows[i] = i;
    for (int round = 0; round < rounds; round++) {
        sl_parallel_for(pool, ROWS_MAX, 1 + round % 400, add_neighbour, rows);
        sl_parallel_for(pool, ROWS_MAX, 1 + round % 90, copy_back, rows);
        if (round % 256 == 255)
            (void)usleep(200); /* long enough for the others to fall asleep */
    }
    sl_thread_pool_destroy(pool);
}

Test(pool, batches_see_each_other)
{
    enum { ROUNDS = 3000 };

    static int alone[2 * ROWS_MAX], together[2 * ROWS_MAX];
    run_many(1, ROUNDS, alone);
    for (int threads = 2; threads <= 5; threads++) {
        run_many(threads, ROUNDS, together);
        cr_assert_arr_eq(together, alone, sizeof alone, "%d threads", threads);
    }
}

static void note_worker(void *ctx, int first, int last, int worker)
{
    (void)first;
    (void)last;
    atomic_fetch_or((atomic_uint *)ctx, 1u << worker);
    (void)usleep(2000);
}

Test(pool, everybody_works)
{
    struct sl_err err;
    struct sl_thread_pool *pool;
    EXPECT_OK((pool = sl_thread_pool_create(4, &err)), err);
    (void)usleep(20000); /* all are asleep by now, and have to be woken */
    atomic_uint seen = 0;
    sl_parallel_for(pool, 40, 1, note_worker, &seen);
    cr_assert_eq(atomic_load(&seen), 0xfu);
    (void)usleep(1000);
    atomic_store(&seen, 0);
    sl_parallel_for(pool, 1, 1, note_worker, &seen);
    cr_assert_eq(atomic_load(&seen), 1u, "one piece needs no other thread");
    sl_thread_pool_destroy(pool);
}

Test(pool, says_when_threads_cannot_start)
{
    /* Each thread's stack is mapped: with little address space left, some thread cannot start.
     * Sanitizers reserve terabytes for themselves, so they are spared. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit limit = {.rlim_cur = 256 << 20, .rlim_max = 256 << 20};
    struct sl_err err;
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    EXPECT_FAIL(sl_thread_pool_create(500, &err), err, SL_NO_MEMORY, "of 500");
#endif
}

/* ---- random --------------------------------------------------------------------------------- */

Test(random, is_splitmix64)
{
    /* The first outputs of the authors' splitmix64.c with seed 0, and with seed 1234567. */
    cr_assert_eq(sl_random_bits(0, 0), 0xe220a8397b1dcdafu);
    cr_assert_eq(sl_random_bits(0, 1), 0x6e789e6aa1b965f4u);
    cr_assert_eq(sl_random_bits(0, 2), 0x06c45d188009454fu);
    cr_assert_eq(sl_random_bits(1234567, 0), 6457827717110365317u);
    cr_assert_eq(sl_random_bits(1234567, 1), 3203168211198807973u);
}

Test(random, keys_differ_by_seed_and_purpose)
{
    uint64_t key = sl_random_key(1, "dropout");
    cr_assert_eq(sl_random_key(1, "dropout"), key);
    cr_assert_neq(sl_random_key(2, "dropout"), key);
    cr_assert_neq(sl_random_key(1, "shuffle"), key);
    cr_assert_neq(sl_random_key(1, ""), sl_random_key(0, ""));
}

Test(random, moments)
{
    enum { N = 200000 };

    uint64_t key = sl_random_key(7, "moments");
    double uniform = 0, normal = 0, square = 0, cube = 0, fourth = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = sl_random_uniform(key, i), x = sl_random_normal(key, i);
        cr_assert(u >= 0 && u < 1);
        cr_assert(isfinite(x));
        uniform += u;
        normal += x;
        square += x * x;
        cube += x * x * x;
        fourth += x * x * x * x;
    }
    /* Five standard errors of each mean: sqrt(var / N) with variances 1/12, 1, 2, 15 and 96. */
    cr_assert_float_eq(uniform / N, 0.5, 0.0033);
    cr_assert_float_eq(normal / N, 0, 0.0112);
    cr_assert_float_eq(square / N, 1, 0.0159);
    cr_assert_float_eq(cube / N, 0, 0.0434);
    cr_assert_float_eq(fourth / N, 3, 0.11);
}

Test(random, below_is_fair)
{
    enum { SIDES = 6, THROWS = 60000 };

    uint64_t key = sl_random_key(3, "die");
    int faces[SIDES] = {0};
    for (uint64_t i = 0; i < THROWS; i++) {
        uint64_t face = sl_random_below(key, i, SIDES);
        cr_assert_lt(face, SIDES);
        faces[face]++;
    }
    for (int face = 0; face < SIDES; face++)
        cr_assert_float_eq(faces[face], THROWS / SIDES, 460, "five standard deviations");
    cr_assert_eq(sl_random_below(key, 0, 1), 0);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char top[PATH_MAX], path[PATH_MAX], other[PATH_MAX];

static void make_top(void)
{
    test_directory_create(top);
}

static void remove_top(void)
{
    test_directory_remove(top);
}

TestSuite(file, .init = make_top, .fini = remove_top);

static void check_content(const char *name, const char *want)
{
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, name, &err), err);
    cr_assert_eq(map.size, strlen(want));
    cr_assert_arr_eq(map.data, want, map.size);
    sl_map_close(&map);
    cr_assert_null(map.data);
    sl_map_close(&map);
}

Test(file, replace_writes_the_pieces_in_order)
{
    struct sl_err err;
    struct stat status;
    const struct sl_slice slices[] = {{"one ", 4}, {"", 0}, {"two", 3}};
    (void)test_path(path, top, "file");
    EXPECT_OK(sl_file_replace(path, slices, 3, &err), err);
    check_content(path, "one two");
    EXPECT_OK(sl_file_replace(path, slices, 1, &err), err);
    check_content(path, "one ");
    cr_assert_eq(test_count_entries(top), 1, "nothing temporary stays");
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0644);
}

Test(file, an_empty_file_is_a_file)
{
    struct sl_map map;
    struct sl_err err;
    (void)test_path(path, top, "empty");
    EXPECT_OK(sl_file_replace(path, NULL, 0, &err), err);
    EXPECT_OK(sl_map_open(&map, path, &err), err);
    cr_assert_null(map.data);
    cr_assert_eq(map.size, 0);
    sl_map_close(&map);
}

Test(file, unreadable_files_are_reported_with_the_reason)
{
    struct sl_map map = {.data = "untouched"};
    struct sl_err err;
    EXPECT_FAIL(sl_map_open(&map, test_path(path, top, "absent"), &err), err, SL_NOT_FOUND,
                "absent': No such file");
    EXPECT_FAIL(sl_map_open(&map, top, &err), err, SL_BAD_INPUT, "a directory, not a file");
    cr_assert_eq(mkfifo(test_path(path, top, "pipe"), 0600), 0);
    EXPECT_FAIL(sl_map_open(&map, path, &err), err, SL_BAD_INPUT, "a pipe, which is not read");
    cr_assert_str_eq(map.data, "untouched");
}

Test(file, a_full_disk_leaves_the_old_file)
{
    enum { LIMIT = 4096 };

    static const char big[4 * LIMIT];
    struct sl_err err;
    struct rlimit limit = {.rlim_cur = LIMIT, .rlim_max = RLIM_INFINITY};
    const struct sl_slice slice = {big, sizeof big};
    test_write_file(test_path(path, top, "file"), "old");
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = LIMIT;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool ok = sl_file_replace(path, &slice, 1, &err);
    limit.rlim_cur = limit.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_not(ok);
    cr_assert_eq(err.code, SL_NO_SPACE);
    cr_assert(strstr(err.text, "write '"), "%s", err.text);
    cr_assert(strstr(err.text, "File too large"), "%s", err.text);
    check_content(path, "old");
    cr_assert_eq(test_count_entries(top), 1, "nothing temporary stays");
}

Test(file, paths_have_an_end)
{
    struct sl_err err;
    static char endless[2 * PATH_MAX];
    memset(endless, 'x', sizeof endless - 1);
    EXPECT_FAIL(sl_file_replace(endless, NULL, 0, &err), err, SL_BAD_INPUT, "too long");
    EXPECT_FAIL(sl_directory_make(endless, &err), err, SL_BAD_INPUT, "too long");
}

Test(file, directories_are_made_on_the_way)
{
    struct sl_err err;
    struct stat status;
    (void)test_path(path, top, "a/b//c/");
    EXPECT_OK(sl_directory_make(path, &err), err);
    EXPECT_OK(sl_directory_make(path, &err), err);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert(S_ISDIR(status.st_mode));
    test_write_file(test_path(path, top, "a/file"), "");
    EXPECT_FAIL(sl_directory_make(path, &err), err, SL_IO, "a file of that name exists");
    EXPECT_FAIL(sl_directory_make(test_path(path, top, "a/file/d"), &err), err, SL_IO, "file'");
}

static void make_version(const char *directory, const char *content)
{
    char file[PATH_MAX];
    cr_assert_eq(mkdir(directory, 0755), 0);
    test_write_file(test_path(file, directory, "weights"), content);
}

Test(file, publish_renames)
{
    struct sl_err err;
    (void)test_path(path, top, "1");
    (void)test_path(other, top, "1.tmp");
    make_version(other, "first");
    EXPECT_OK(sl_directory_publish(other, path, &err), err);
    cr_assert_eq(test_count_entries(top), 1);
    check_content(test_path(other, path, "weights"), "first");
}

Test(file, publish_swaps_out_what_was_there)
{
    struct sl_err err;
    (void)test_path(path, top, "1");
    (void)test_path(other, top, "1.tmp");
    make_version(path, "first");
    make_version(other, "second");
    EXPECT_OK(sl_directory_publish(other, path, &err), err);
    cr_assert_eq(test_count_entries(top), 1, "the old one is removed");
    check_content(test_path(other, path, "weights"), "second");
}

Test(file, publish_of_nothing_fails)
{
    struct sl_err err;
    (void)test_path(path, top, "1");
    (void)test_path(other, top, "absent");
    make_version(path, "first");
    EXPECT_FAIL(sl_directory_publish(other, path, &err), err, SL_NOT_FOUND, "absent");
    check_content(test_path(other, path, "weights"), "first");
}

Test(file, remove_takes_files_but_not_directories)
{
    struct sl_err err;
    (void)test_path(path, top, "1");
    EXPECT_OK(sl_directory_remove(path, &err), err);
    make_version(path, "first");
    EXPECT_OK(sl_directory_remove(path, &err), err);
    cr_assert_neq(access(path, F_OK), 0);
    make_version(path, "first");
    make_version(test_path(other, path, "inner"), "deep");
    EXPECT_FAIL(sl_directory_remove(path, &err), err, SL_IO, "inner");
    check_content(test_path(path, other, "weights"), "deep");
}

Test(file, remove_does_not_follow_links)
{
    struct sl_err err;
    make_version(test_path(path, top, "real"), "precious");
    cr_assert_eq(symlink(path, test_path(other, top, "link")), 0);
    EXPECT_FAIL(sl_directory_remove(other, &err), err, SL_NOT_FOUND, "link");
    check_content(test_path(other, path, "weights"), "precious");
}

Test(file, sha256_of_the_standard)
{
    /* FIPS 180-4's examples, the empty message among them. */
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char hex[65];
        sl_sha256_hex(cases[i].text, strlen(cases[i].text), hex);
        cr_assert_str_eq(hex, cases[i].hex);
    }
}

Test(control_groups, a_line_of_a_file_is_found_by_its_beginning)
{
    char directory[PATH_MAX], file[PATH_MAX], rest[SL_KERNEL_LINE_BYTES] = "unchanged";
    test_directory_create(directory);
    test_write_file(test_path(file, directory, "cpu.stat"), "usage_usec 7\nthrottled_usec 9\n");
    cr_expect(sl_kernel_line(directory, "cpu.stat", "throttled_usec ", rest));
    cr_expect_eq(strtol(rest, NULL, 10), 9);
    cr_expect(sl_kernel_line(directory, "cpu.stat", "", rest));
    cr_expect_str_eq(rest, "usage_usec 7\n");
    cr_expect_not(sl_kernel_line(directory, "cpu.stat", "nr_", rest));
    cr_expect_not(sl_kernel_line(directory, "cpu.max", "", rest));
    cr_expect(sl_kernel_line("/proc", "meminfo", "MemTotal:", rest));
    test_directory_remove(directory);
}
