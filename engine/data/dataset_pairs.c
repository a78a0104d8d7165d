/* dataset_pairs.c - texts and their translations: two columns of a file. */
#include "data/dataset.h"

static bool open_column(struct sl_dataset *set, const char *path,
                        const struct sl_record_options *options, const char *column,
                        struct sl_err *err)
{
    struct sl_record_options columns = *options;
    columns.unlabelled = true;
    columns.skip_incomplete = false; /* the other column would not be skipped with it */
    columns.text = column;
    return sl_dataset_open(set, path, &columns, NULL, err);
}

bool sl_dataset_open_pairs(struct sl_dataset *source, struct sl_dataset *target, const char *path,
                           const struct sl_record_options *options, struct sl_pair_columns columns,
                           struct sl_err *err)
{
    return open_column(source, path, options, columns.source ? columns.source : "1", err) &&
           open_column(target, path, options, columns.target ? columns.target : "2", err);
}
