/* fuzz_tokenizer_json.c - any bytes, as a tokenizer.json and a text; the file ends with the first
 * NUL. */
#include "base/utf8.h"
#include "formats/tokenizer_json.h"
#include "support/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

struct input {
    const char *text;
    size_t bytes;
};

static bool begins_character(const struct input *in, size_t at)
{
    return at == in->bytes || !sl_utf8_is_continuation(in->text[at]);
}

static void offset_check(const struct input *in, struct sl_token_offset offset)
{
    must(offset.start <= offset.stop);
    must(offset.stop <= in->bytes);
    must(begins_character(in, offset.start));
    must(begins_character(in, offset.stop));
}

static void decode_check(const struct sl_tokenizer *tokens, const int32_t *ids, long count)
{
    struct sl_err err;
    struct sl_decoding job = {.ids = ids, .count = count};
    long bytes = sl_tokenizer_decode(tokens, &job, &err);
    must(bytes >= 0);
    job.capacity = (size_t)bytes;
    job.text = malloc((size_t)bytes + 1);
    must(job.text);
    must(sl_tokenizer_decode(tokens, &job, &err) == bytes);
    for (long i = 0; i < count; i++)
        (void)sl_tokenizer_decode_next(tokens, ids[i], i == 0, job.text, job.capacity);
    free(job.text);
}

static void encode_check(const struct sl_tokenizer *tokens, const struct input *in,
                         struct sl_encoding job)
{
    struct sl_err err = {0};
    job.text = in->text;
    job.bytes = in->bytes;
    job.special = in->bytes % 2;
    long count = sl_tokenizer_tokenize(tokens, &job, &err);
    must(count >= 0 || (err.code == SL_BAD_INPUT && err.text[0]));
    if (count < 0)
        return;
    must((size_t)count <= sl_tokenizer_max_tokens(tokens, job.bytes + job.pair_bytes));
    job.capacity = count;
    job.ids = malloc(((size_t)count + 1) * sizeof *job.ids);
    job.offsets = malloc(((size_t)count + 1) * sizeof *job.offsets);
    must(job.ids && job.offsets);
    must(sl_tokenizer_tokenize(tokens, &job, &err) == count);
    for (long i = 0; i < count; i++) {
        must(job.ids[i] >= 0 && job.ids[i] < sl_tokenizer_size(tokens));
        offset_check(in, job.offsets[i]);
    }
    decode_check(tokens, job.ids, count);
    free(job.offsets);
    free(job.ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = (const char *)data;
    const char *stop = size > 0 ? memchr(file, '\0', size) : NULL;
    size_t length = stop ? (size_t)(stop - file) : size;
    const struct input in = {.text = stop ? stop + 1 : "", .bytes = stop ? size - length - 1 : 0};
    struct sl_err err = {0};
    struct sl_tokenizer *tokens = sl_tokenizer_json_read(file, length, &err);
    must(tokens || (err.code != SL_OK && err.text[0]));
    if (!tokens)
        return 0;
    encode_check(tokens, &in, (struct sl_encoding){0});
    encode_check(tokens, &in,
                 (struct sl_encoding){
                     .pair = in.text, .pair_bytes = in.bytes, .max_tokens = 1 + (long)size % 9});
    sl_tokenizer_destroy(tokens);
    return 0;
}
