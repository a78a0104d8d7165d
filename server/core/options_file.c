/* options_file.c - the settings of the daemon that its configuration file has: one YAML mapping. */
#include "base/yaml.h"
#include "core/options_table.h"

static bool set_pair(struct sv_options *options, struct sl_yaml *yaml, int root, int pair,
                     struct sl_err *err)
{
    const char *name = sl_yaml_key(yaml, root, pair, err);
    if (!name)
        return false;
    if (!sv_option_find(name)) {
        (void)sv_options_unknown(name, err);
        return sl_yaml_fail_key(yaml, root, pair, err);
    }
    const char *text = sl_yaml_text(yaml, sl_yaml_item(yaml, root, pair), name, err);
    if (!text)
        return false;
    if (sv_options_set(options, name, text, err))
        return true;
    sl_err_set_field(err, name);
    return sl_yaml_fail_key(yaml, root, pair, err);
}

static bool set_all(struct sv_options *options, struct sl_yaml *yaml, struct sl_err *err)
{
    int root = sl_yaml_root(yaml);
    if (root == 0)
        return true;
    if (!sl_yaml_expect(yaml, root, SL_YAML_MAPPING, "the file", err))
        return false;
    for (int i = 0; i < sl_yaml_count(yaml, root); i++)
        if (!set_pair(options, yaml, root, i, err))
            return false;
    return true;
}

bool sv_options_file(struct sv_options *options, const char *path, struct sl_err *err)
{
    static const struct sl_yaml_kind kind = {.name = "the configuration file",
                                             .expected =
                                                 "expected lines 'key: value', each key once",
                                             .bytes_max = SV_CONFIG_BYTES_MAX};
    struct sl_yaml *yaml = sl_yaml_open(path, &kind, err);
    bool good = yaml && set_all(options, yaml, err);
    sl_yaml_close(yaml);
    return good;
}
