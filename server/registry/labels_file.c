/* labels_file.c - a model's labels in the store:
 *
 *     {"labels": [{"label": "stable", "version": 4},
 *                 {"label": "canary", "version": 5, "weight": 10}], "previous": 3}
 *
 * `stable` is there if it is pinned. */
#include "registry/labels_file.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "json/json_schema.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct entry {
    struct sv_string label;
    int64_t version, weight;
};

struct content {
    struct sv_list entries;
    int64_t previous;
};

static const struct sv_field entry_fields[] = {
    SV_FIELD("label", STRING, offsetof(struct entry, label), 0, SL_VERSION_LABEL_BYTES_MAX,
             .required = true, .help = "label"),
    SV_FIELD("version", INT, offsetof(struct entry, version), 1, (double)LONG_MAX, .required = true,
             .help = "version that it names"),
    SV_FIELD("weight", INT, offsetof(struct entry, weight), 0, SV_WEIGHT_MAX, .default_json = "0",
             .help = "share of the canary, in percent"),
    {.kind = SV_FIELD_END},
};

static const struct sv_field content_fields[] = {
    SV_LIST_FIELD("labels", offsetof(struct content, entries), 0, SV_LABELS_MAX, entry_fields,
                  struct entry, .required = true, .help = "labels of the model"),
    SV_FIELD("previous", INT, offsetof(struct content, previous), 0, (double)LONG_MAX,
             .default_json = "0", .help = "version that stable left last"),
    {.kind = SV_FIELD_END},
};

static void file_path(const char *store, const char *model, char path[static SL_PATH_MAX])
{
    (void)snprintf(path, SL_PATH_MAX, "%s/%s/labels.json", store, model);
}

static bool check(void *to, struct sv_error *error)
{
    const struct content *content = to;
    const struct entry *entries = content->entries.items;
    for (int i = 0; i < content->entries.count; i++) {
        if (!sl_version_label_is_valid(entries[i].label.data))
            return sv_fail(error, SV_INVALID_VALUE, "labels",
                           "'labels[%d].label': " SL_VERSION_LABEL_RULE ".", i);
    }
    return true;
}

static void set_entry(struct sv_labels *labels, const struct entry *entry)
{
    labels->pinned = labels->pinned || strcmp(entry->label.data, sv_stable) == 0;
    if (strcmp(entry->label.data, sv_canary) == 0)
        labels->weight = (int)entry->weight;
    (void)sv_labels_set(labels, entry->label.data, (long)entry->version);
}

static bool parse(const struct sl_map *map, struct sv_labels *labels, struct sl_err *err)
{
    struct sv_error error;
    struct content content = {0};
    struct sl_buffer text = {0};
    sl_buffer_append(&text, map->data ? map->data : "", map->size);
    struct sv_json_document *document =
        sl_buffer_check(&text, err) ? sv_json_read(&text, content_fields, check, &content, &error)
                                    : NULL;
    if (!document && !text.failed)
        (void)sl_fail(err, SL_CORRUPT, "%s", error.message);
    const struct entry *entries = content.entries.items;
    for (int i = 0; document && i < content.entries.count; i++)
        set_entry(labels, &entries[i]);
    labels->previous = (long)content.previous;
    sv_json_document_release(document);
    sl_buffer_release(&text);
    return document != NULL;
}

bool sv_labels_read(const char *store, const char *model, struct sv_labels *labels,
                    struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_map map = {0};
    *labels = (struct sv_labels){0};
    file_path(store, model, path);
    if (!sl_map_copy(&map, path, err))
        return err->code == SL_NOT_FOUND;
    bool ok = parse(&map, labels, err);
    sl_map_close(&map);
    if (!ok)
        *labels = (struct sv_labels){0};
    return ok || sl_wrap(err, "%s", path);
}

static void add_label(struct sl_json_writer *json, const char *label, long version, int weight)
{
    sl_json_add(json, "{'label':%s,'version':%lld", label, (long long)version);
    if (strcmp(label, sv_canary) == 0)
        sl_json_add(json, "'weight':%d", weight);
    sl_json_end_object(json);
}

bool sv_labels_write(const char *store, const char *model, const struct sv_labels *labels,
                     struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    file_path(store, model, path);
    sl_json_add(&json, "{'labels':[");
    if (labels->pinned && labels->stable > 0)
        add_label(&json, sv_stable, labels->stable, 0);
    for (int i = 0; i < labels->count; i++)
        add_label(&json, labels->items[i].name, labels->items[i].version, labels->weight);
    sl_json_add(&json, "],'previous':%lld}", (long long)labels->previous);
    sl_buffer_append_string(&text, "\n");
    const struct sl_slice whole = {.data = text.data, .size = text.bytes};
    bool ok = sl_buffer_check(&text, err) && sl_file_replace(path, &whole, 1, err);
    sl_buffer_release(&text);
    return ok;
}
