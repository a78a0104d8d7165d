/* dataset_pairs.c - texts and their translations, or others that are read with them: two columns of
 * a file. */
#include "base/dynarray.h"
#include "data/dataset.h"

#include <assert.h>

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
    if (!open_column(source, path, options, columns.source ? columns.source : "1", err) ||
        !open_column(target, path, options, columns.target ? columns.target : "2", err))
        return false;
    /* With a column's name the first record is a header. */
    return source->count == target->count ||
           sl_fail(err, SL_BAD_INPUT,
                   "'%s': the columns have %d and %d texts: name both columns, or number both",
                   path, source->count, target->count);
}

static bool encode_pair(struct sl_dataset *set, const struct sl_dataset *second, int example,
                        const struct sl_tokenizer *tokens,
                        const struct sl_dataset_encoding *encoding, struct sl_err *err)
{
    const size_t most = set->ids_count + (size_t)encoding->context;
    if (!sl_dynarray_reserve(&set->ids, &set->ids_room, most, sizeof *set->ids, err) ||
        !sl_dynarray_reserve(&set->types, &set->types_room, most, sizeof *set->types, err))
        return false;
    struct sl_encoding pair = {.unknown = encoding->unknown,
                               .special = true,
                               .max_tokens = encoding->context,
                               .side = encoding->truncation,
                               .ids = set->ids + set->ids_count,
                               .types = set->types + set->ids_count,
                               .capacity = encoding->context};
    pair.text = sl_dataset_text(set, example, &pair.bytes);
    pair.pair = sl_dataset_text(second, example, &pair.pair_bytes);
    const long count = sl_tokenizer_tokenize(tokens, &pair, err);
    if (count < 0)
        return false;
    if (count > encoding->context)
        return sl_fail(err, SL_BAD_INPUT, "a context of %d tokens has no room for two texts",
                       encoding->context);
    set->examples[example].ids = (int64_t)set->ids_count;
    set->examples[example].tokens = (int32_t)count;
    set->ids_count += (size_t)count;
    return true;
}

bool sl_dataset_encode_pairs(struct sl_dataset *set, struct sl_dataset *second,
                             const struct sl_tokenizer *tokens,
                             const struct sl_dataset_encoding *encoding, struct sl_err *err)
{
    assert(!set->ids);
    assert(set->count == second->count);
    for (int i = 0; i < set->count; i++)
        if (!encode_pair(set, second, i, tokens, encoding, err))
            return sl_wrap_file(err, set->path, set->examples[i].line);
    sl_dataset_drop_text(set);
    sl_dataset_drop_text(second);
    return true;
}
