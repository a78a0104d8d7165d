/* ctl_files.c - sluicectl files: uploads, lists, shows, downloads and deletes. */
#include "sluicectl/ctl_connection.h"
#include "sluicectl/print.h"
#include "sluicectl/print_jobs.h"

#include <stdio.h>
#include <string.h>

static bool write_bytes(void *context, const char *data, size_t count)
{
    (void)context;
    return fwrite(data, 1, count, stdout) == count;
}

/* An action of the command, and its request. */
static const struct action {
    const char *name, *operand; /* operand: NULL for none */
    struct client_request request;
    bool prints_bytes;
} actions[] = {
    {"list", NULL, {.path = "/v1/files"}, false},
    {"upload", "FILE", {.path = "/v1/files"}, false},
    {"show", "ID", {.path = "/v1/files/{}"}, false},
    {"download", "ID", {.path = "/v1/files/{}/content", .on_body = write_bytes}, true},
    {"delete", "ID", {.method = "DELETE", .path = "/v1/files/{}"}, false},
};

static bool find_action(const struct ctl_options *ctl, const struct action **found,
                        struct client_error *failure)
{
    const char *name = ctl->operand_count > 0 ? ctl->operands[0] : "list";
    *found = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].name, name) == 0)
            *found = &actions[i];
    if (!*found)
        return client_error_set(
            failure, EXIT_BAD_INPUT,
            "unknown action '%s'; choose one of: list, upload, show, download, delete", name);
    char usage[64];
    int wanted = (*found)->operand ? 2 : 1;
    (void)snprintf(usage, sizeof usage, "files %s%s%s", name, (*found)->operand ? " " : "",
                   (*found)->operand ? (*found)->operand : "");
    return ctl->operand_count == 0 || ctl_check_operands(ctl, wanted, wanted, usage, failure);
}

static bool print_result(const struct ctl_options *ctl, const struct action *action,
                         const struct sl_buffer *body, struct client_error *failure)
{
    if (action->prints_bytes)
        return fflush(stdout) == 0;
    bool as_json = ctl->json || strcmp(action->name, "delete") == 0;
    return print_response(body, as_json ? NULL : print_files, failure);
}

static bool run(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct action *action;
    struct client_response response = {0};
    if (!find_action(ctl, &action, failure))
        return false;
    struct client_request request = action->request;
    const char *argument = ctl->operand_count > 1 ? ctl->operands[1] : NULL;
    bool uploads = strcmp(action->name, "upload") == 0;
    if (uploads && !ctl_check_file(argument, failure))
        return false;
    request.argument = uploads ? NULL : argument;
    request.file = uploads ? argument : NULL;
    struct client *client = ctl_admin_client(ctl, failure);
    bool good = client && ctl_send(client, &request, &response, failure) &&
                print_result(ctl, action, &response.body, failure);
    client_response_release(&response);
    client_destroy(client);
    return good;
}

const struct ctl_command ctl_files = {
    .name = "files",
    .operand = "[ACTION]",
    .help = "upload, list and delete files to train on",
    .example = "upload reviews.jsonl",
    .notes = "Actions:\n"
             "  list           list the files (the default action)\n"
             "  upload FILE    send a file: .jsonl, .tsv, .csv or .txt, also .gz or .xz\n"
             "  show ID        print what the daemon knows of one\n"
             "  download ID    write its bytes to standard output\n"
             "  delete ID      delete it\n",
    .takes_many = true,
    .run = run};
