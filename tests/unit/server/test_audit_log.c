/* test_audit_log.c - entries of the audit log when the disk is full. */
#include "core/log.h"
#include "core/server.h"
#include "state/audit_log.h"
#include "support/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char directory[PATH_MAX];
static struct sv_server server;

static void open_log(void)
{
    struct sl_err err;
    server.state = sv_state_open(directory, &err);
    cr_assert(server.state, "%s", err.text);
    server.audit = sv_audit_open(server.state, &err);
    cr_assert(server.audit, "%s", err.text);
}

static void close_log(void)
{
    sv_audit_close(server.audit);
    sv_state_close(server.state);
}

/* The size that a file may have from now on. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void add_target(void *context, const char *id, const char *document)
{
    (void)id;
    const char *target = strstr(document, "\"target\":\"");
    cr_assert(target, "%s", document);
    cr_assert_not(strstr(document + 1, "{\"id\":"), "two entries are one: %s", document);
    sl_buffer_printf(context, "%.1s", target + strlen("\"target\":\""));
}

/* The first letters of the targets that the index has, in its order. */
static void expect_targets(const char *expected)
{
    struct sl_err err;
    struct sl_buffer targets = {0};
    struct sv_page page = {
        .limit = 9, .oldest_first = true, .each = add_target, .context = &targets};
    EXPECT_OK(sv_state_list(server.state, SV_AUDIT, &page, &err), err);
    cr_assert_str_eq(targets.data, expected);
    sl_buffer_release(&targets);
}

static void start(void)
{
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    sv_log_setup("error", "text");
    test_directory_create(directory);
    open_log();
}

static void stop(void)
{
    close_log();
    test_directory_remove(directory);
}

TestSuite(audit_log, .init = start, .fini = stop);

Test(audit_log, a_part_of_an_entry_does_not_spoil_the_next)
{
    char path[PATH_MAX];
    struct stat status;
    sv_audit_daemon(&server, "test", "a", NULL, NULL);
    cr_assert_eq(stat(test_path(path, directory, "audit.jsonl"), &status), 0);
    limit_files((rlim_t)status.st_size + 40);
    sv_audit_daemon(&server, "test", "b", NULL, NULL);
    limit_files(RLIM_INFINITY);
    sv_audit_daemon(&server, "test", "c", NULL, NULL);
    close_log();
    cr_assert_eq(unlink(test_path(path, directory, "sluice.db")), 0);
    open_log();
    expect_targets("ac");
}

/* The write-ahead log of the index is longer than the audit log. */
Test(audit_log, an_entry_that_the_index_missed_is_added_before_the_next)
{
    char path[PATH_MAX];
    struct stat status;
    sv_audit_daemon(&server, "test", "a", NULL, NULL);
    cr_assert_eq(stat(test_path(path, directory, "sluice.db-wal"), &status), 0);
    limit_files((rlim_t)status.st_size);
    sv_audit_daemon(&server, "test", "b", NULL, NULL);
    limit_files(RLIM_INFINITY);
    expect_targets("a");
    sv_audit_daemon(&server, "test", "c", NULL, NULL);
    expect_targets("abc");
}

static void append(const char *text)
{
    char path[PATH_MAX];
    FILE *file = fopen(test_path(path, directory, "audit.jsonl"), "ae");
    cr_assert(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

/* It ends with the brace of its detail, not with its own. */
Test(audit_log, a_line_cut_short_is_no_entry)
{
    sv_audit_daemon(&server, "test", "a", NULL, NULL);
    close_log();
    append("{\"id\":\"audit-00000000000000ff\",\"object\":\"audit.event\",\"target\":\"x\","
           "\"detail\":{\"weight\":1}");
    open_log();
    expect_targets("a");
    sv_audit_daemon(&server, "test", "b", NULL, NULL);
    close_log();
    open_log();
    expect_targets("ab");
}
