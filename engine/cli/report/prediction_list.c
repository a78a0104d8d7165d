/* prediction_list.c - predictions as JSON Lines. */
#include "cli/report/prediction_list.h"

#include "base/file.h"
#include "base/json_writer.h"

static void add_line(struct sl_buffer *out, const struct sl_dataset *set,
                     const struct label_prediction *p)
{
    struct sl_json_writer json = {.out = out};
    size_t bytes = 0;
    const char *text = set->text ? sl_dataset_text(set, p->example, &bytes) : NULL;
    sl_json_add(&json, "{'line':%lld,'label':%s,'predicted':%s,'score':%f",
                (long long)set->examples[p->example].line, set->labels.list[p->label].name,
                set->labels.list[p->predicted].name, (double)p->score);
    if (text)
        sl_json_add_bytes(sl_json_key(&json, "text"), text, bytes);
    sl_json_end_object(&json);
    sl_buffer_append_string(out, "\n");
}

bool prediction_list_write(const struct label_predictions *predictions, const char *directory,
                           struct sl_err *err)
{
    char path[SL_PATH_MAX];
    struct sl_buffer lines = {0};
    if (predictions->set->multi_label)
        return true;
    for (int i = 0; i < predictions->count; i++)
        add_line(&lines, predictions->set, &predictions->list[i]);
    const struct sl_slice slice = {lines.data, lines.bytes};
    const bool ok = (sl_path_join(path, directory, "predictions.jsonl", err) &&
                     sl_buffer_check(&lines, err) && sl_file_replace(path, &slice, 1, err)) ||
                    sl_wrap(err, "--report '%s'", directory);
    sl_buffer_release(&lines);
    return ok;
}
