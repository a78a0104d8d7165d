/* test_sluicectl_top.c - `sluicectl top` as a process, with and without a terminal. */
#include "support/daemon.h"
#include "support/json_query.h"
#include "support/program.h"
#include "support/sluicectl_cli.h"
#include "support/test.h"
#include "support/tiny_store.h"

#include <pty.h>
#include <sys/ioctl.h>

Test(sluicectl_top, it_prints_a_line_of_json_per_refresh_where_there_is_no_terminal)
{
    static struct ctl_target t;
    ctl_serve(&t);
    EXPECT_EXIT(CTL(&t, "top", "--interval", "0.1", "--count", "2"), 0);
    const char *second = strchr(t.result.out, '\n') + 1;
    cr_assert_eq(strchr(second, '\n')[1], '\0', "%s", t.result.out);
    json_t *object = json_from_text(second);
    cr_assert_str_eq(json_string_at(object, "models/0/model"), TINY_MODEL);
    cr_assert_gt(json_number_at(object, "memory_bytes"), 1e6);
    json_decref(object);
    daemon_stop(&t.daemon);
}

/* Reads what a program writes to a terminal, as long as it lives. */
static void read_terminal(int terminal, char *text, size_t bytes)
{
    ssize_t count;
    size_t used = 0;
    while (used + 1 < bytes && (count = read(terminal, text + used, bytes - 1 - used)) > 0) {
        const struct winsize tiny = {.ws_row = 1, .ws_col = 3};
        used += (size_t)count;
        cr_assert_eq(ioctl(terminal, TIOCSWINSZ, &tiny), 0);
    }
    text[used] = '\0';
}

Test(sluicectl_top, it_survives_a_terminal_that_shrinks)
{
    static struct ctl_target t;
    static char text[1 << 16];
    int terminal, other;
    const struct winsize size = {.ws_row = 10, .ws_col = 60};
    ctl_serve(&t); /* before there is a terminal, which it would inherit */
    if (openpty(&terminal, &other, NULL, NULL, &size) != 0) {
        daemon_stop(&t.daemon);
        cr_skip_test("no pseudo-terminals here");
    }
    pid_t pid =
        program_start("sluicectl", ARGS("--url", t.url, "top", "--interval", "0.1", "--count", "3"),
                      (const int[]){-1, other, other});
    (void)close(other);
    read_terminal(terminal, text, sizeof text);
    cr_assert_eq(program_wait(pid), 0, "%s", text);
    EXPECT_SAID(text, "MODEL");
    EXPECT_SAID(text, "\033[H\033[Krea"); /* three columns of `ready` */
    (void)close(terminal);
    daemon_stop(&t.daemon);
}
