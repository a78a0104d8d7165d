/* fuzz_config_json.c - any bytes, as the config.json of a published model: refused, or a
 * configuration within the bounds of its architecture's table, as floats have them. */
#include "formats/json_io.h"
#include "pretrained/config_json.h"
#include "support/fuzz_target.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void check(const struct sl_published *p)
{
    for (const struct sl_param *row = p->arch->hypers; row->name; row++) {
        const double value = sl_param_get(row, &p->config);
        if (!(value >= (double)(float)row->min && value <= (double)(float)row->max))
            abort();
    }
    for (int i = 0; i < p->config.classes; i++)
        if (!p->labels || strlen(p->labels[i]) == 0 || strlen(p->labels[i]) > SL_LABEL_BYTES_MAX)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sl_err err;
    json_t *root = sl_json_parse((const char *)data, size, &err);
    for (int embeds = 0; root && embeds < 2; embeds++) {
        struct sl_published p = {0};
        if (sl_config_json_read(&p, root, embeds, &err))
            check(&p);
        sl_published_release(&p);
    }
    json_decref(root);
    return 0;
}
