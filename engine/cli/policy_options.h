/* policy_options.h - serving options of architectures, such as thresholds, on a command line. Their
 * rows are those of the architectures (sl_arch.policy). */
#pragma once

#include "arch/arch.h"
#include "base/option_parser.h"
#include "sluice/trainer.h"

enum { POLICY_OPTIONS_MAX = 16 };

/* The options given: their values are read when the model's architecture is known. */
struct policy_options {
    struct sl_setting given[POLICY_OPTIONS_MAX];
    int count;
    char headings[SL_OPTION_TABLES][SL_NAME_BYTES];
};

/* Adds a table for each architecture that has such options, from the unused table `at` on. */
void policy_options_add(struct policy_options *options, struct sl_option_parser *parser, int at);

/* Sets the options given in a policy. Fails if the architecture does not have one of them. */
bool policy_options_apply(const struct policy_options *options, const struct sl_arch *arch,
                          struct sl_policy *policy, struct sl_err *err) SL_MUST_CHECK;

/* The thresholds of operating points: "gate_limit (tsa), ..."; returns `list`. */
const char *policy_thresholds(char list[SL_ARCH_LIST]);
