/* byte_tokenizer.c - one id per byte: its value + 1; id 0 is the padding token. */
#include "tokenizer/tokenizer.h"

enum { BYTES = 256 };

static struct sl_tokenizer *bytes_learn(const char *text, size_t bytes, struct sl_err *err)
{
    (void)text;
    (void)bytes;
    char values[BYTES];
    struct sl_piece pieces[BYTES + 1] = {{.text = "", .bytes = 0}};
    for (int i = 0; i < BYTES; i++) {
        values[i] = (char)(unsigned char)i;
        pieces[i + 1] = (struct sl_piece){.text = &values[i], .bytes = 1};
    }
    return sl_tokenizer_open(&sl_tokenizer_bytes, /* lower= */ false, pieces, BYTES + 1, err);
}

static bool bytes_open(struct sl_tokenizer *tokenizer, struct sl_err *err)
{
    if (tokenizer->count != BYTES + 1)
        return sl_fail(err, SL_BAD_INPUT, "%d pieces: expected %d, an empty one and every byte",
                       tokenizer->count, BYTES + 1);
    for (int id = 0; id <= BYTES; id++) {
        const struct sl_piece *piece = &tokenizer->pieces[id];
        if (piece->bytes != (id > 0) || (id > 0 && (unsigned char)piece->text[0] != id - 1))
            return sl_fail(err, SL_BAD_INPUT, "piece %d is not byte %d", id, id - 1);
    }
    tokenizer->special[SL_SPECIAL_PAD] = 0;
    return true;
}

static bool bytes_encode(const struct sl_tokenizer *tokenizer, struct sl_encoder_output *sink,
                         struct sl_err *err)
{
    (void)tokenizer;
    (void)err;
    const struct sl_encoding *job = sink->job;
    for (size_t at = 0; at < job->bytes; at++)
        sl_encoder_emit(sink, (unsigned char)job->text[at] + 1,
                        (struct sl_token_offset){.start = at, .stop = at + 1});
    return true;
}

const struct sl_tokenizer_kind sl_tokenizer_bytes = {
    .name = "bytes",
    .size = sizeof(struct sl_tokenizer),
    .fixed = true,
    .learn = bytes_learn,
    .open = bytes_open,
    .encode = bytes_encode,
};
