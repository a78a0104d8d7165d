/* test_state_directory.c - documents of the state directory: put, found, listed by pages,
 * rebuilt. */
#include "core/log.h"
#include "state/state_directory.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[PATH_MAX];

static void setup(void)
{
    sv_log_setup("error", "text");
    test_directory_create(directory);
}

static void teardown(void)
{
    test_directory_remove(directory);
}

TestSuite(state, .init = setup, .fini = teardown);

static struct sv_state *open_state(void)
{
    struct sl_err err;
    struct sv_state *state = sv_state_open(directory, &err);
    cr_assert(state, "%s", err.text);
    return state;
}

static void put(struct sv_state *state, enum sv_collection collection, const char *id,
                const char *parent, const char *document)
{
    struct sl_err err;
    EXPECT_OK(sv_state_put(state, collection, id, parent, document, &err), err);
}

static void join(void *context, const char *id, const char *document)
{
    (void)document;
    sl_buffer_printf(context, "%s ", id);
}

/* Lists the ids of a page, and "+" if there are more. */
static void expect_page(struct sv_state *state, enum sv_collection collection, struct sv_page page,
                        const char *expected)
{
    struct sl_err err;
    struct sl_buffer ids = {0};
    page.each = join;
    page.context = &ids;
    EXPECT_OK(sv_state_list(state, collection, &page, &err), err);
    if (page.has_more)
        sl_buffer_append_string(&ids, "+");
    cr_assert_str_eq(ids.data ? ids.data : "", expected);
    sl_buffer_release(&ids);
}

Test(state, documents_are_put_found_and_deleted)
{
    struct sl_err err;
    struct sl_buffer text = {0};
    struct sv_state *state = open_state();
    put(state, SV_FILES, "a", NULL, "{\"n\":1}");
    put(state, SV_FILES, "a", NULL, "{\"n\":2}");
    EXPECT_OK(sv_state_get(state, SV_FILES, "a", &text, &err), err);
    cr_assert_str_eq(text.data, "{\"n\":2}");
    EXPECT_OK(sv_state_delete(state, SV_FILES, "a", &err), err);
    EXPECT_FAIL(sv_state_get(state, SV_FILES, "a", &text, &err), err, SL_NOT_FOUND, "'a'");
    sl_buffer_release(&text);
    sv_state_close(state);
}

Test(state, lists_have_pages_in_both_orders)
{
    struct sl_err err;
    struct sv_state *state = open_state();
    put(state, SV_JOBS, "j", NULL, "{}");
    put(state, SV_JOBS, "k", NULL, "{}");
    for (int i = 0; i < 5; i++) {
        char id[16], text[32];
        (void)snprintf(id, sizeof id, "e%d", i);
        (void)snprintf(text, sizeof text, "{\"even\":\"%s\"}", i % 2 ? "no" : "yes");
        put(state, SV_EVENTS, id, "j", text);
    }
    put(state, SV_EVENTS, "other", "k", "{}");
    expect_page(state, SV_EVENTS, (struct sv_page){.parent = "j", .limit = 2}, "e4 e3 +");
    expect_page(state, SV_EVENTS, (struct sv_page){.parent = "j", .after = "e3", .limit = 3},
                "e2 e1 e0 ");
    expect_page(state, SV_EVENTS,
                (struct sv_page){.parent = "j", .after = "e1", .limit = 2, .oldest_first = true},
                "e2 e3 +");
    expect_page(state, SV_EVENTS, (struct sv_page){.limit = 9, .member = "$.even", .value = "yes"},
                "e4 e2 e0 ");
    struct sv_page page = {.parent = "k", .after = "e1", .limit = 2};
    EXPECT_FAIL(sv_state_list(state, SV_EVENTS, &page, &err), err, SL_NOT_FOUND, "e1");
    EXPECT_OK(sv_state_delete(state, SV_JOBS, "j", &err), err);
    expect_page(state, SV_EVENTS, (struct sv_page){.limit = 9}, "other ");
    sv_state_close(state);
}

Test(state, an_event_without_its_job_is_refused)
{
    struct sl_err err;
    struct sv_state *state = open_state();
    EXPECT_FAIL(sv_state_put(state, SV_EVENTS, "e", "nowhere", "{}", &err), err, SL_IO, "FOREIGN");
    sv_state_close(state);
}

/* As a quota is; SQLite calls only ENOSPC full. */
Test(state, a_limit_of_the_size_of_files_is_a_full_disk)
{
    static char document[1 << 20];
    struct sl_err err;
    struct rlimit limit;
    struct sv_state *state = open_state();
    memset(document, ' ', sizeof document - 1);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {.rlim_cur = 64 << 10, .rlim_max = limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool fits = sv_state_put(state, SV_FILES, "a", NULL, document, &err);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_not(fits);
    cr_assert_eq(err.code, SL_NO_SPACE, "%s", err.text);
    sv_state_close(state);
}

Test(state, documents_survive_the_daemon_and_are_rebuilt_when_damaged)
{
    char path[PATH_MAX];
    struct sv_state *state = open_state();
    cr_assert(sv_state_is_new(state));
    cr_assert_neq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0,
                  "a new index does not replace a damaged one");
    for (int i = 0; i < 200; i++) {
        char id[24];
        (void)snprintf(id, sizeof id, "file-%d", i);
        put(state, SV_FILES, id, NULL, "{}");
    }
    sv_state_close(state);
    state = open_state();
    cr_assert_not(sv_state_is_new(state));
    expect_page(state, SV_FILES, (struct sv_page){.limit = 1}, "file-199 +");
    sv_state_close(state);

    FILE *file = fopen(test_path(path, directory, "sluice.db"), "r+e");
    cr_assert(file);
    cr_assert_eq(fseek(file, 5000, SEEK_SET), 0);
    for (int i = 0; i < 4000; i++)
        (void)fputc(0x5a, file);
    (void)fclose(file);
    state = open_state();
    cr_assert(sv_state_is_new(state));
    expect_page(state, SV_FILES, (struct sv_page){.limit = 1}, "");
    sv_state_close(state);
    cr_assert_eq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0);
}

static sqlite3 *open_beside(void)
{
    char path[PATH_MAX];
    sqlite3 *other = NULL;
    cr_assert_eq(sqlite3_open(test_path(path, directory, "sluice.db"), &other), SQLITE_OK);
    return other;
}

/* Otherwise threads that serve requests would wait for it. */
Test(state, another_program_cannot_lock_the_index)
{
    struct sv_state *state = open_state();
    put(state, SV_FILES, "a", NULL, "{}");
    sqlite3 *other = open_beside();
    cr_assert_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_BUSY);
    (void)sqlite3_close(other);
    sv_state_close(state);
}

Test(state, an_index_that_another_program_has_open_is_used_and_kept)
{
    char path[PATH_MAX];
    struct sv_state *state = open_state();
    put(state, SV_FILES, "a", NULL, "{}");
    sv_state_close(state);
    sqlite3 *other = open_beside();
    cr_assert_eq(sqlite3_exec(other, "BEGIN; SELECT * FROM files", NULL, NULL, NULL), SQLITE_OK);
    state = open_state();
    cr_assert_not(sv_state_is_new(state));
    cr_assert_neq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0);
    put(state, SV_FILES, "b", NULL, "{}");
    expect_page(state, SV_FILES, (struct sv_page){.limit = 2}, "b a ");
    (void)sqlite3_close(other);
    sv_state_close(state);
}

/* As it is left by a start that was killed between creating the file and its tables. */
Test(state, an_empty_index_is_filled)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, directory, "sluice.db"), "");
    struct sv_state *state = open_state();
    cr_assert(sv_state_is_new(state));
    put(state, SV_FILES, "a", NULL, "{}");
    sv_state_close(state);
    cr_assert_neq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0);
}

/* Its write-ahead log cannot be opened, as on a disk that is full or may only be read. */
Test(state, an_index_that_cannot_be_opened_now_is_kept)
{
    char log[PATH_MAX], path[PATH_MAX];
    struct sl_err err;
    struct sv_state *state = open_state();
    put(state, SV_FILES, "a", NULL, "{}");
    sv_state_close(state);
    cr_assert_eq(mkdir(test_path(log, directory, "sluice.db-wal"), 0700), 0);
    EXPECT_FAIL(sv_state_open(directory, &err) != NULL, err, SL_IO, "sluice.db");
    cr_assert_neq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0);
    cr_assert_eq(rmdir(log), 0);
    state = open_state();
    cr_assert_not(sv_state_is_new(state));
    expect_page(state, SV_FILES, (struct sv_page){.limit = 2}, "a ");
    sv_state_close(state);
}

Test(state, a_file_that_is_no_database_is_replaced)
{
    char path[PATH_MAX];
    test_write_file(test_path(path, directory, "sluice.db"),
                    "This is not a database but a text of some length, which says nothing.\n"
                    "This is not a database but a text of some length, which says nothing.\n");
    struct sv_state *state = open_state();
    cr_assert(sv_state_is_new(state));
    cr_assert_eq(access(test_path(path, directory, "sluice.db.broken"), F_OK), 0);
    sv_state_close(state);
}

static void *unlock_later(void *context)
{
    (void)usleep(200000);
    (void)close(*(int *)context);
    return NULL;
}

/* As a child of the last daemon has it, which was killed while it started the child. */
Test(state, a_lock_that_is_about_to_go_is_waited_for)
{
    pthread_t thread;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(flock(fd, LOCK_EX), 0);
    cr_assert_eq(pthread_create(&thread, NULL, unlock_later, &fd), 0);
    sv_state_close(open_state());
    (void)pthread_join(thread, NULL);
}

Test(state, two_daemons_do_not_share_a_directory)
{
    struct sl_err err;
    struct sv_state *state = open_state();
    EXPECT_FAIL(sv_state_open(directory, &err) != NULL, err, SL_BUSY, directory);
    sv_state_close(state);
}

static void *put_many(void *context)
{
    struct sl_err err;
    char id[32];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(id, sizeof id, "%lx-%d", (unsigned long)pthread_self(), i);
        if (!sv_state_put(context, SV_AUDIT, id, NULL, "{}", &err))
            return context;
    }
    return NULL;
}

static void count(void *context, const char *id, const char *document)
{
    (void)id;
    (void)document;
    ++*(int *)context;
}

Test(state, any_thread_may_put)
{
    struct sl_err err;
    pthread_t threads[4];
    int total = 0;
    struct sv_state *state = open_state();
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, put_many, state), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        cr_assert_eq(pthread_join(threads[i], &failed), 0);
        cr_assert_null(failed);
    }
    struct sv_page page = {.limit = 1000, .each = count, .context = &total};
    EXPECT_OK(sv_state_list(state, SV_AUDIT, &page, &err), err);
    cr_assert_eq(total, 400);
    sv_state_close(state);
}
