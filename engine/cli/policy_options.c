/* policy_options.c - reads serving options by the tables of the architectures. */
#include "cli/policy_options.h"
#include "base/comma_list.h"

#include <assert.h>
#include <stdio.h>

static bool note(void *context, const char *name, const char *value, struct sl_err *err)
{
    struct policy_options *options = context;
    if (options->count == POLICY_OPTIONS_MAX)
        return sl_fail(err, SL_BAD_INPUT, "more than %d options of architectures",
                       POLICY_OPTIONS_MAX);
    options->given[options->count++] = (struct sl_setting){.name = name, .value = value};
    return true;
}

void policy_options_add(struct policy_options *options, struct sl_option_parser *parser, int at)
{
    for (int i = 0; sl_arch_at(i); i++) {
        const struct sl_arch *arch = sl_arch_at(i);
        if (!arch->policy)
            continue;
        assert(at < SL_OPTION_TABLES);
        (void)snprintf(options->headings[at], sizeof *options->headings, "Only for %s models",
                       arch->name);
        parser->tables[at] = (struct sl_option_table){.heading = options->headings[at],
                                                      .numbers = arch->policy,
                                                      .default_text = "the model's",
                                                      .set = note,
                                                      .context = options};
        at++;
    }
}

bool policy_options_apply(const struct policy_options *options, const struct sl_arch *arch,
                          struct sl_policy *policy, struct sl_err *err)
{
    for (int i = 0; i < options->count; i++) {
        const struct sl_setting *s = &options->given[i];
        const struct sl_param *row = sl_param_find(sl_policy_rows(arch), s->name);
        char option[SL_NAME_BYTES];
        if (!row)
            return sl_fail(err, SL_BAD_INPUT, "--%s has no effect on %s models",
                           sl_name_with_dashes(option, sizeof option, s->name), arch->name);
        if (!sl_option_set_param(row, policy->own, s->value, err))
            return false;
    }
    return true;
}

const char *policy_thresholds(char list[SL_ARCH_LIST])
{
    struct sl_threshold threshold;
    list[0] = '\0';
    for (int i = 0; sl_threshold_at(i, &threshold); i++) {
        char one[2 * SL_NAME_BYTES];
        (void)snprintf(one, sizeof one, "%s (%s)", threshold.name, threshold.architecture);
        sl_list_add(list, SL_ARCH_LIST, one);
    }
    return list;
}
