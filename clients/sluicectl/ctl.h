/* ctl.h - what the sub-commands of sluicectl are, and what they share. */
#pragma once

#include "base/option_parser.h"
#include "common/client.h"

struct print_info;

enum { CTL_OPERANDS_MAX = 256 };

/* The options that every sub-command has. */
struct ctl {
    const char *url;
    struct sl_given_real timeout; /* seconds */
    bool json, help;

    /* And the words that are no options. */
    const char *const *operands;
    int operand_count;
};

/* One sub-command. `values` is zeroed and has `values_bytes`. */
struct ctl_command {
    const char *name, *operand, *help; /* operand: what stands for it in help; NULL: takes none */
    const char *example;               /* a line's words behind the name, for help; NULL: none */
    const char *notes;                 /* more lines for help, with their ends; NULL: none */
    bool takes_many;                   /* operands, not one */
    const struct sl_option *rows;
    size_t values_bytes;
    bool (*run)(const struct ctl *ctl, void *values, const char *operand, struct fault *fault);
};

extern const struct ctl_command ctl_complete, ctl_classify, ctl_models, ctl_health, ctl_metrics,
    ctl_bench;

/* Whether the text is on standard input: the line has none, or `-` alone. */
bool ctl_reads_input(const struct ctl *ctl);
int64_t ctl_timeout_ms(const struct ctl *ctl);
struct client *ctl_client(const struct ctl *ctl, struct fault *fault) MUST_CHECK;
/* The daemon's URL with this path behind it. */
void ctl_url(const struct ctl *ctl, const char *path, char *url, size_t room);
/* As client_ask, but an answer that is no 200 is a fault too, with the daemon's own sentence. */
bool ctl_ask(struct client *client, const struct client_request *request,
             struct client_answer *answer, struct fault *fault) MUST_CHECK;
/* The name of a model to ask: `wanted`, or the only one that completes. To be freed. */
char *ctl_model(struct client *client, const char *wanted, struct fault *fault) MUST_CHECK;
/* The classifier to ask: `wanted`, or the daemon's default. Release it with print_info_release. */
bool ctl_classifier(struct client *client, const char *wanted, struct print_info *info,
                    struct fault *fault) MUST_CHECK;
