/* ctl_command.h - the commands of sluicectl: their options and operands. */
#pragma once

#include "base/api_key.h"
#include "base/option_parser.h"
#include "common/client_error.h"

enum { CTL_OPERANDS_MAX = 256 };

/* The options of every command. */
struct ctl_options {
    const char *url;
    const char *admin_url;              /* NULL: not given */
    const char *api_key_file, *ca_file; /* NULL: none */
    char key[SL_API_KEY_BYTES_MAX + 1]; /* "": none */
    struct sl_given_real timeout;       /* seconds */
    bool json, help;

    const void *values; /* of the command's own options */
    /* The arguments that are not options, and NULL. */
    const char *const *operands;
    int operand_count;
};

/* A row for a struct sl_given_real. */
#define CTL_BUDGET_ROW(offset)                                                                     \
    {                                                                                              \
        "budget", "X",                                                                             \
            "time to compute for, as a fraction of computing everything; chooses one of the "      \
            "model's operating points [as the model says]",                                        \
            SL_OPTION_GIVEN_REAL, offset, 0.01, 1                                                  \
    }

/* One command. The values of its options are in zeroed memory of `values_bytes`. */
struct ctl_command {
    const char *name, *operand, *help; /* operand: its name in help; NULL: takes none */
    const char *example;               /* arguments, for help; NULL: none */
    const char *notes;                 /* lines at the end of help; NULL: none */
    bool takes_many;                   /* any number of operands, not one */
    bool is_local;                     /* sends nothing */
    const struct sl_option *rows;      /* NULL: it has none of its own */
    size_t values_bytes;
    bool (*run)(const struct ctl_options *ctl, struct client_error *failure);
};

extern const struct ctl_command ctl_complete, ctl_classify, ctl_embed, ctl_fill_mask, ctl_rerank,
    ctl_translate, ctl_models, ctl_versions, ctl_load, ctl_unload, ctl_label, ctl_rollback,
    ctl_health, ctl_metrics, ctl_top, ctl_bench, ctl_keys, ctl_files, ctl_train, ctl_jobs, ctl_job,
    ctl_events, ctl_cancel, ctl_pause, ctl_resume;

/* Whether the text is on standard input: no operand, or only `-`. */
bool ctl_reads_input(const struct ctl_options *ctl);
/* Checks how many operands there are. `usage`: the command and its operands. */
bool ctl_check_operands(const struct ctl_options *ctl, int min, int max, const char *usage,
                        struct client_error *failure) SL_MUST_CHECK;
/* Checks that a file can be uploaded: it can be read, and is no directory. */
bool ctl_check_file(const char *path, struct client_error *failure) SL_MUST_CHECK;
