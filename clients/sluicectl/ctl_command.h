/* ctl_command.h - the commands of sluicectl, and what they share. */
#pragma once

#include "base/api_key.h"
#include "base/option_parser.h"
#include "common/client.h"

struct print_info;

enum { CTL_OPERANDS_MAX = 256 };

/* Where the admin listener of `make run` is, and that of the systemd service. */
#define CTL_ADMIN_URL         "http://127.0.0.1:8081"
#define CTL_SERVICE_ADMIN_URL "unix:/run/sluiced-admin.sock"

/* The options of every command. */
struct ctl_options {
    const char *url;
    const char *admin_url;              /* NULL: not given */
    const char *api_key_file, *ca_file; /* NULL: none */
    char key[SL_API_KEY_BYTES_MAX + 1]; /* "": none */
    struct sl_given_real timeout;       /* seconds */
    bool json, help;

    /* The arguments that are not options. */
    const char *const *operands;
    int operand_count;
};

/* One command. `values` points to zeroed memory of `values_bytes`. */
struct ctl_command {
    const char *name, *operand, *help; /* operand: its name in help; NULL: takes none */
    const char *example;               /* arguments, for help; NULL: none */
    const char *notes;                 /* lines at the end of help; NULL: none */
    bool takes_many;                   /* any number of operands, not one */
    bool is_local;                     /* sends nothing */
    const struct sl_option *rows;
    size_t values_bytes;
    bool (*run)(const struct ctl_options *ctl, void *values, const char *operand,
                struct client_error *failure);
};

extern const struct ctl_command ctl_complete, ctl_classify, ctl_models, ctl_versions, ctl_load,
    ctl_unload, ctl_label, ctl_rollback, ctl_health, ctl_metrics, ctl_top, ctl_bench, ctl_keys,
    ctl_files, ctl_train, ctl_jobs, ctl_job, ctl_events, ctl_cancel, ctl_pause, ctl_resume;

/* Whether the text is on standard input: no operand, or only `-`. */
bool ctl_reads_input(const struct ctl_options *ctl);
int64_t ctl_timeout_ms(const struct ctl_options *ctl);
/* The first of these two URLs, or the second, a socket, if it exists and nobody accepts connections
 * at the first. */
const char *ctl_admin_url(const char *own, const char *service);
struct client *ctl_client(const struct ctl_options *ctl, struct client_error *failure)
    SL_MUST_CHECK;
/* The same for requests that change what is served, and for training. */
struct client *ctl_admin_client(const struct ctl_options *ctl, struct client_error *failure)
    SL_MUST_CHECK;
struct endpoint ctl_endpoint(const struct ctl_options *ctl);
/* Reads the API key from the option's file, or takes the one of the environment. */
bool ctl_read_key(struct ctl_options *ctl, struct client_error *failure) SL_MUST_CHECK;
/* As client_send, but fails on a status other than 200, with the daemon's message. */
bool ctl_send(struct client *client, const struct client_request *request,
              struct client_response *response, struct client_error *failure) SL_MUST_CHECK;
/* The name of the model to use: `name`, or the only language model loaded. To be freed. */
char *ctl_model(struct client *client, const char *name, struct client_error *failure)
    SL_MUST_CHECK;
/* The classifier to use: `name`, or the daemon's default. Release it with print_info_release. */
bool ctl_classifier(struct client *client, const char *name, struct print_info *info,
                    struct client_error *failure) SL_MUST_CHECK;
