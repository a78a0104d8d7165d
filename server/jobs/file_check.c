/* file_check.c - runs `sluice check` for a request. */
#include "jobs/file_check.h"
#include "core/log.h"
#include "core/options.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_PROBLEMS = 2, PIECE_BYTES = 1 << 16 };

/* ---- the child ------------------------------------------------------------------------------- */

static void build_line(struct sv_file_check *check, const struct sv_file_check_options *options)
{
    struct sv_command_line *line = &check->line;
    sv_command_add(line, "%s", check->jobs->program);
    sv_command_add(line, "check");
    sv_command_add(line, "--json");
    sv_command_add(line, "--records=%d", options->records);
    sv_command_add(line, "--name=%s", check->file.filename);
    if (options->label)
        sv_command_add(line, "--label=%s", options->label);
    if (options->text)
        sv_command_add(line, "--text=%s", options->text);
    if (options->label_separator)
        sv_command_add(line, "--label-separator=%s", options->label_separator);
    sv_command_add(line, "--");
    sv_command_add(line, "%s", check->file.path);
}

/* fds: the pipe that takes what it prints; the end for writing is closed. */
static bool start_child(struct sv_file_check *check, struct sv_child_process *child, int fds[2])
{
    struct sl_err err;
    const struct sv_child_process_options options = {
        .out_fd = fds[1],
        .nice = (int)check->jobs->server->options->job_nice,
        .cgroup_fd = check->jobs->cgroup_fd};
    const bool ok = sv_child_process_start(child, &check->line, &options, &err);
    (void)close(fds[1]);
    return ok ||
           sv_fail(check->error, SV_INTERNAL, NULL, "The file could not be checked: %s.", err.text);
}

static bool must_stop(struct sv_file_check *check, int64_t until_ns)
{
    const struct sv_error late = {.kind = SV_DEADLINE_EXCEEDED,
                                  .permanent = true,
                                  .index = -1,
                                  .message = "The file is too large to be checked in time; `sluice "
                                             "check` has no such limit."};
    const int64_t now = sl_now_ns();
    return sv_request_must_stop(check->request, sv_request_deadline_ns(check->request),
                                now > until_ns ? &late : NULL, now, check->error);
}

/* Takes what is there. *ended: the child has closed its output. */
static bool read_piece(struct sv_file_check *check, int fd, bool *ended)
{
    char piece[PIECE_BYTES];
    const ssize_t bytes = read(fd, piece, sizeof piece);
    if (bytes < 0)
        return errno == EINTR ||
               sv_fail(check->error, SV_INTERNAL, NULL, "The result of the check was lost.");
    *ended = bytes == 0;
    sl_buffer_append(check->output, piece, (size_t)bytes);
    if (check->output->is_full)
        return sv_fail(check->error, SV_INVALID_VALUE, "records",
                       "The result has more than %d bytes; ask for fewer 'records'.",
                       SV_FILE_CHECK_BYTES_MAX);
    return !check->output->failed || sv_fail_no_memory(check->error);
}

static bool read_output(struct sv_file_check *check, int fd, int64_t until_ns)
{
    bool ended = false;
    while (!ended) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (must_stop(check, until_ns))
            return false;
        if (poll(&ready, 1, SV_JOB_POLL_MS) > 0 && !read_piece(check, fd, &ended))
            return false;
    }
    return true;
}

/* Waits until it has ended: by itself, or because it is killed. */
static int wait_for(struct sv_file_check *check, struct sv_child_process *child, bool is_killed,
                    int64_t until_ns)
{
    int status = 0;
    if (is_killed)
        sv_child_process_signal(child, SIGKILL);
    while (!sv_child_process_poll(child, &status)) {
        if (!is_killed && must_stop(check, until_ns)) {
            is_killed = true;
            sv_child_process_signal(child, SIGKILL);
        }
        (void)poll(NULL, 0, 1);
    }
    return status;
}

/* ---- its result ------------------------------------------------------------------------------ */

static bool begins_with(const struct sl_buffer *text, const char *begin)
{
    return text->bytes >= strlen(begin) && memcmp(text->data, begin, strlen(begin)) == 0;
}

/* The file was deleted meanwhile, or something is wrong with this machine. */
static void use_failure(struct sv_file_check *check, int status)
{
    json_t *report = check->output->bytes > 0
                         ? json_loadb(check->output->data, check->output->bytes, 0, NULL)
                         : NULL;
    const char *code = json_string_value(json_object_get(report, "code")),
               *reason = json_string_value(json_object_get(report, "reason"));
    if (code && sl_code_find(code) == SL_NOT_FOUND)
        (void)sv_fail(check->error, SV_FILE_NOT_FOUND, "file_id",
                      "The file '%.200s' was deleted while it was checked.", check->file.filename);
    else
        (void)sv_fail(check->error, SV_INTERNAL, NULL, "The file could not be checked%s%.400s.",
                      reason ? ": " : "", reason ? reason : "");
    if (check->error->kind == SV_INTERNAL)
        SV_LOG(SV_LOG_ERROR, "a check of a file ended without a result",
               sv_str("request_id", check->request->request_id),
               sv_str("program", check->jobs->program), sv_int("status", status));
    json_decref(report);
}

static void take_result(struct sv_file_check *check, int status)
{
    struct sl_buffer *text = check->output;
    const bool is_done =
        WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_PROBLEMS);
    if (!is_done || !begins_with(text, "{\"format\":") || text->data[text->bytes - 1] != '\n') {
        use_failure(check, status);
        return;
    }
    text->data[--text->bytes] = '\0';
}

static void check_file(struct sv_file_check *check)
{
    const int64_t until_ns = sl_now_ns() + (int64_t)SV_FILE_CHECK_SECONDS * 1000000000;
    struct sv_child_process child = {0};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        (void)sv_fail(check->error, SV_INTERNAL, NULL, "The check could not be started: %s.",
                      strerrordesc_np(errno));
        return;
    }
    if (start_child(check, &child, fds)) {
        const bool is_read = read_output(check, fds[0], until_ns);
        const int status = wait_for(check, &child, !is_read, until_ns);
        if (check->error->kind == SV_OK)
            take_result(check, status);
    }
    (void)close(fds[0]);
}

/* The place is free before the result is there: who has it may ask for the next check at once. */
static void *run(void *context)
{
    struct sv_file_check *check = context;
    struct sv_file_checks *checks = &check->jobs->file_checks;
    check_file(check);
    sv_file_checks_free_place(checks);
    check->done(check->context);
    sv_file_checks_leave(checks);
    return NULL;
}

bool sv_file_check_start(struct sv_file_check *check, const struct sv_file_check_options *options,
                         struct sv_error *error)
{
    struct sv_file_checks *checks = &check->jobs->file_checks;
    pthread_t thread;
    build_line(check, options);
    check->output->bytes_max = SV_FILE_CHECK_BYTES_MAX;
    if (!sv_file_checks_enter(checks, error))
        return false;
    if (pthread_create(&thread, NULL, run, check) == 0) {
        (void)pthread_detach(thread);
        return true;
    }
    sv_file_checks_free_place(checks);
    sv_file_checks_leave(checks);
    return sv_fail_no_memory(error);
}
