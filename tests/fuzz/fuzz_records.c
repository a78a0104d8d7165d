/* fuzz_records.c - any bytes, as a file of labelled texts.
 *
 * The first byte says how the rest is read: as TSV, CSV or JSON Lines ('t', 'c', 'j') with columns
 * by number, or in capitals by name; with 'u', 'v', 'w' the same with | between labels; as JSON
 * ('a'), fastText's lines ('f'), conversations ('h'), or what it is recognised as ('?'). Packed
 * data is recognised by itself. */
#include "base/utf8.h"
#include "data/dataset.h"
#include "support/fuzz_target.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Small limits, so that they are met; a bomb stops at them. */
static struct sl_record_options options_of(uint8_t first)
{
    static const char *const formats[] = {"tsv", "csv", "jsonl"};
    static const char letters[] = "tcjTCJuvwUVW", others[] = "afh?";
    static const char *const named[] = {"json", "fasttext", "chat", NULL};
    const char *other = first ? strchr(others, first) : NULL;
    if (other)
        return (struct sl_record_options){.format = named[other - others],
                                          .skip_incomplete = true,
                                          .limits = {.file_bytes = 1 << 16, .record_bytes = 512}};
    const char *known = first ? strchr(letters, first) : NULL;
    int which = known ? (int)(known - letters) : first % 12;
    struct sl_record_options options = {.format = formats[which % 3],
                                        .limits = {.file_bytes = 1 << 16, .record_bytes = 512}};
    options.label_separator = which < 6 ? NULL : "|";
    if (which % 6 < 3) {
        options.label = "1";
        options.text = "3,2";
    }
    return options;
}

/* What sl_record_reader_next promises of a record. */
static void record_check(const struct sl_record *record)
{
    struct sl_err err;
    must(record->line > 0);
    must(record->label_count == 1 || record->is_multi_label);
    for (int i = 0; i < record->label_count; i++) {
        const struct sl_field *label = &record->labels[i];
        must(label->bytes > 0);
        must(label->bytes <= SL_LABEL_BYTES_MAX);
        must(!memchr(label->data, '\0', label->bytes));
        must(sl_utf8_check(label->data, label->bytes, &err));
    }
    must(record->text_bytes > 0);
    must(sl_utf8_check(record->text, record->text_bytes, &err));
}

/* How many records there are; -1 when something is wrong. */
static int records_count(const char *path, const struct sl_record_options *options)
{
    struct sl_err err = {0};
    struct sl_record record = {.text = ""};
    struct sl_record_reader *records = sl_record_reader_open(path, options, &err);
    bool ok = records != NULL;
    int count = 0;
    while (ok && record.text) {
        int64_t last = record.line;
        ok = sl_record_reader_next(records, &record, &err);
        if (!ok || !record.text)
            break;
        must(record.line >= last); /* a conversation has several */
        record_check(&record);
        count++;
    }
    sl_record_reader_close(records);
    must(ok || (err.code != SL_OK && err.text[0]));
    return ok ? count : -1;
}

static void dataset_check(const char *path, const struct sl_record_options *options, int count)
{
    struct sl_err err = {0};
    struct sl_dataset set = {0}, cut = {0};
    if (!sl_dataset_open(&set, path, options, NULL, &err)) {
        must(err.code != SL_OK);
        return;
    }
    must(set.count == count);
    must(set.labels.count >= SL_LABELS_MIN);
    for (int i = 0; i < set.count; i++) {
        const struct sl_label_list list = sl_label_list(&set.label_lists, i);
        must(list.count == 1 || set.multi_label);
        for (int k = 0; k < list.count; k++)
            must(list.ids[k] > (k ? list.ids[k - 1] : -1) && list.ids[k] < set.labels.count);
    }
    if (sl_dataset_split(&set, 0.5, 1, &cut, &err))
        must(set.count + cut.count == count);
    sl_dataset_close(&set);
    sl_dataset_close(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("records", MFD_CLOEXEC);
    if (size == 0 || fd < 0) {
        (void)close(fd);
        return 0;
    }
    must(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const struct sl_record_options options = options_of(data[0]);
    int count = records_count(path, &options);
    if (count >= 0)
        dataset_check(path, &options, count);
    (void)close(fd);
    return 0;
}
