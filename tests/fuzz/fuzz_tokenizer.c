/* fuzz_tokenizer.c - any bytes, as a vocabulary and a text.
 *
 * The first byte says what kind the vocabulary is of, and in capitals that it is cased; the
 * vocabulary ends with the first NUL, and the rest is the text. 'l' and 'm' learn pieces or words
 * from the text instead. */
#include "base/utf8.h"
#include "formats/vocabulary.h"
#include "support/fuzz_target.h"
#include "tokenizer/tokenizer_trainer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct input {
    char mode;
    const char *vocabulary, *text;
    size_t vocabulary_bytes, bytes;
};

static struct sl_tokenizer *learn(const struct input *in, const char *kind, bool lower,
                                  struct sl_err *err)
{
    const struct sl_tokenizer_options how = {.kind = kind, .size = 64, .lower = lower};
    struct sl_tokenizer_trainer *learner = sl_tokenizer_trainer_create(&how, err);
    bool ok = learner && sl_tokenizer_trainer_add(learner, in->text, in->bytes, err);
    struct sl_tokenizer *tokens = ok ? sl_tokenizer_trainer_finish(learner, err) : NULL;
    sl_tokenizer_trainer_destroy(learner);
    return tokens;
}

static struct sl_tokenizer *tokens_make(const struct input *in, struct sl_err *err)
{
    bool lower = islower((unsigned char)in->mode);
    const char *kind = NULL;
    switch (tolower((unsigned char)in->mode)) {
    case 'l': return learn(in, "wordpiece", lower, err);
    case 'm': return learn(in, "words", lower, err);
    case 'c': kind = "characters"; break;
    case 'b': kind = "bytes"; break;
    case 'w': kind = "words"; break;
    default: kind = "wordpiece"; break;
    }
    return sl_vocabulary_read(kind, lower, in->vocabulary, in->vocabulary_bytes, err);
}

static bool begins_character(const struct input *in, size_t at)
{
    return at == in->bytes || ((unsigned char)in->text[at] & 0xC0) != 0x80;
}

static void place_check(const struct sl_tokenizer *tokens, const struct input *in,
                        struct sl_token_offset place)
{
    if (place.special) {
        must(place.start == 0 && place.stop == 0);
        return;
    }
    must(place.start < place.stop);
    must(place.stop <= in->bytes);
    if (strcmp(sl_tokenizer_kind(tokens), "bytes") == 0)
        return;
    must(begins_character(in, place.start));
    must(begins_character(in, place.stop));
}

static void decode_check(const struct sl_tokenizer *tokens, const int32_t *ids, long count,
                         bool skip_special)
{
    struct sl_err err;
    struct sl_decoding job = {.ids = ids, .count = count, .skip_special = skip_special};
    long bytes = sl_tokenizer_decode(tokens, &job, &err);
    must(bytes >= 0);
    job.capacity = (size_t)bytes;
    job.text = malloc((size_t)bytes + 1);
    must(job.text);
    must(sl_tokenizer_decode(tokens, &job, &err) == bytes);
    must(strcmp(sl_tokenizer_kind(tokens), "bytes") == 0 ||
         sl_utf8_check(job.text, (size_t)bytes, &err));
    free(job.text);
}

static void encode_check(const struct sl_tokenizer *tokens, const struct input *in)
{
    struct sl_err err = {0};
    struct sl_encoding job = {.text = in->text,
                              .bytes = in->bytes,
                              .unknown = SL_UNKNOWN_REPLACE,
                              .special = in->bytes % 2};
    long count = sl_tokenizer_tokenize(tokens, &job, &err);
    must(count >= 0 || (err.code == SL_BAD_INPUT && err.text[0]));
    if (count < 0)
        return;
    job.capacity = count;
    job.ids = malloc(((size_t)count + 1) * sizeof *job.ids);
    job.offsets = malloc(((size_t)count + 1) * sizeof *job.offsets);
    must(job.ids && job.offsets);
    must(sl_tokenizer_tokenize(tokens, &job, &err) == count);
    for (long i = 0; i < count; i++) {
        must(job.ids[i] >= 0 && job.ids[i] < sl_tokenizer_size(tokens));
        place_check(tokens, in, job.offsets[i]);
    }
    decode_check(tokens, job.ids, count, /* skip_special= */ false);
    decode_check(tokens, job.ids, count, /* skip_special= */ true);
    free(job.offsets);
    free(job.ids);
}

/* What is printed is the same vocabulary. */
static void print_check(const struct sl_tokenizer *tokens)
{
    struct sl_err err;
    char *text = sl_vocabulary_print(tokens, &err);
    must(text);
    struct sl_tokenizer *again =
        sl_vocabulary_read(sl_tokenizer_kind(tokens), tokens->lower, text, strlen(text), &err);
    must(again && sl_tokenizer_size(again) == sl_tokenizer_size(tokens));
    for (int32_t id = 0; id < sl_tokenizer_size(tokens); id++)
        must(tokens->pieces[id].bytes == again->pieces[id].bytes &&
             memcmp(tokens->pieces[id].text, again->pieces[id].text, tokens->pieces[id].bytes) ==
                 0);
    sl_tokenizer_destroy(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *all = (const char *)data + 1;
    const char *stop = memchr(all, '\0', size - 1);
    size_t length = stop ? (size_t)(stop - all) : size - 1;
    struct input in = {.mode = (char)data[0],
                       .vocabulary = all,
                       .vocabulary_bytes = length,
                       .text = stop ? stop + 1 : all,
                       .bytes = stop ? size - 2 - length : size - 1};
    struct sl_err err = {0};
    struct sl_tokenizer *tokens = tokens_make(&in, &err);
    must(tokens || (err.code != SL_OK && err.text[0]));
    if (!tokens)
        return 0;
    encode_check(tokens, &in);
    print_check(tokens);
    sl_tokenizer_destroy(tokens);
    return 0;
}
