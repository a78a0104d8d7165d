/* test_cgroup.c - the daemon's control group divided, in a directory with the kernel's files. */
#include "jobs/cgroup.h"
#include "jobs/child_process.h"
#include "support/test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char group[PATH_MAX];

/* What the kernel makes with a group. */
static void make_files(void)
{
    static const char *const files[] = {"cgroup.subtree_control", "serve/cgroup.procs",
                                        "train/cgroup.procs", "train/cpu.weight"};
    char path[PATH_MAX];
    test_directory_create(group);
    cr_assert_eq(mkdir(test_path(path, group, "serve"), 0755), 0);
    cr_assert_eq(mkdir(test_path(path, group, "train"), 0755), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        test_write_file(test_path(path, group, files[i]), "");
}

static void remove_files(void)
{
    test_directory_remove(group);
}

TestSuite(cgroup, .init = make_files, .fini = remove_files);

static void expect_file(const char *name, const char *expected)
{
    char path[PATH_MAX], text[64];
    test_read_file(text, sizeof text, test_path(path, group, name));
    cr_assert_str_eq(text, expected, "%s: %s", name, text);
}

Test(cgroup, the_daemon_moves_and_trainers_get_a_weight)
{
    int fd = sv_cgroup_divide(group, 30);
    cr_assert_geq(fd, 0);
    expect_file("serve/cgroup.procs", "0"); /* the kernel reads it as the process that writes */
    expect_file("cgroup.subtree_control", "+cpu");
    expect_file("train/cpu.weight", "30");
    (void)close(fd);
}

Test(cgroup, a_trainer_moves_itself)
{
    static struct sv_command_line line;
    struct sv_child_process process;
    struct sl_err err;
    int fd = sv_cgroup_divide(group, 30), status = -1;
    const struct sv_child_process_options options = {.nice = 5, .cgroup_fd = fd};
    sv_command_add(&line, "/bin/true");
    EXPECT_OK(sv_child_process_start(&process, &line, &options, &err), err);
    cr_assert_eq(waitpid(process.pid, &status, 0), process.pid);
    cr_assert_eq(status, 0);
    expect_file("train/cgroup.procs", "0");
    (void)close(fd);
}

Test(cgroup, without_a_controller_there_is_no_group)
{
    char path[PATH_MAX];
    cr_assert_eq(unlink(test_path(path, group, "train/cpu.weight")), 0);
    cr_assert_eq(sv_cgroup_divide(group, 30), -1);
}
