/* options.h - the daemon's options: reads them from all sources and checks them.
 *
 * Defaults, then the configuration file, then the environment (SLUICE_LISTEN=...), then the
 * command line (--listen ...): later ones override earlier ones. Options never change while the
 * daemon runs. */
#pragma once

#include "base/buffer.h"
#include "core/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SV_MEMBER_TEXT(name) char name[SV_OPTION_TEXT_MAX]
#define SV_MEMBER_INT(name)  int64_t name
#define SV_MEMBER_BOOL(name) bool name

struct sv_options {
#define SV_OPTION(section, name, kind, fallback, min, max, among, help) SV_MEMBER_##kind(name);
#include "core/options.def"
#undef SV_OPTION
};

/* What the command line asks for; SV_SERVE unless it has another command. */
enum sv_command { SV_SERVE, SV_CHECK_CONFIG, SV_SAMPLE_CONFIG, SV_OPENAPI, SV_HELP, SV_VERSION };

/* Reads all four sources. err says which source, which key, and what would be accepted. */
bool sv_options_read(struct sv_options *options, int count, char *const *arguments,
                     enum sv_command *command, struct sl_err *err) SL_MUST_CHECK;

/* Its steps, for tests. */
void sv_options_defaults(struct sv_options *options);
bool sv_options_set(struct sv_options *options, const char *name, const char *value,
                    struct sl_err *err) SL_MUST_CHECK;
bool sv_options_file(struct sv_options *options, const char *path, struct sl_err *err)
    SL_MUST_CHECK;
bool sv_options_check(const struct sv_options *options, struct sl_err *err) SL_MUST_CHECK;

/* Checks that the files and directories of options exist; other modules check their own. */
bool sv_options_check_paths(const struct sv_options *options, struct sl_err *err) SL_MUST_CHECK;
/* Warns of each variable SLUICE_... that no program of Sluice reads; to NULL: in the log. */
void sv_options_warn_unknown_variables(FILE *to);

const char *sv_options_name(int index); /* by position; NULL past the last */
/* Fails with the list of all options. */
bool sv_options_unknown(const char *name, struct sl_err *err);

void sv_options_help(struct sl_buffer *out);
void sv_options_sample(struct sl_buffer *out); /* conf/sluiced.yaml: every option at its default */
/* The name by position, and the value as text; NULL past the last. */
const char *sv_options_show(const struct sv_options *options, int index, struct sl_buffer *value);

enum { SV_CREDENTIAL_PATH_MAX = 2 * SV_OPTION_TEXT_MAX };

/* The path that an option gives; without one, that of systemd's credential of this name, or "" if
 * there is none. */
void sv_option_file(const char *given, const char *credential,
                    char path[static SV_CREDENTIAL_PATH_MAX]);
/* The value of an option that may be "auto", or NULL. */
const char *sv_options_chosen(const char *value);

/* Whether the option at this position has its default value. */
bool sv_options_is_default(const struct sv_options *options, int index);
