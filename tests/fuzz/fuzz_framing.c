/* fuzz_framing.c - any bytes, as what a client sends: however they are cut, the same is passed on.
 *
 * The first byte is the length of the pieces; 0: all at once. */
#include "http/request_framing.h"
#include "support/fuzz_target.h"

#include <stdlib.h>
#include <string.h>

struct outcome {
    struct sv_framing framing;
    char *passed;
    size_t count;
};

/* In pieces of `step` bytes, as receiver.c gives them: what was not passed on comes again. */
static void feed(struct outcome *o, const uint8_t *data, size_t size, size_t step)
{
    char *bytes = malloc(size + 1);
    must(bytes && (o->passed = malloc(size + 1)));
    memcpy(bytes, data, size);
    for (size_t end = 0; end < size && o->framing.state != SV_FRAMING_FAILED;) {
        end = size - end < step ? size : end + step;
        size_t count = sv_framing_read(&o->framing, bytes + o->count, end - o->count);
        must(count <= end - o->count);
        memcpy(o->passed + o->count, bytes + o->count, count);
        o->count += count;
    }
    free(bytes);
}

static void check_substitute(const struct sv_framing *f)
{
    char substitute[SV_FRAMING_SUBSTITUTE_MAX];
    if (f->state != SV_FRAMING_FAILED)
        return;
    must(f->message && f->error != SV_OK && f->heads > 0);
    must(sv_framing_substitute(f, substitute) < sizeof substitute);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole = {0}, pieces = {0};
    if (size == 0)
        return 0;
    feed(&whole, data + 1, size - 1, size);
    feed(&pieces, data + 1, size - 1, data[0] ? data[0] : 1);
    must(whole.count == pieces.count && memcmp(whole.passed, pieces.passed, whole.count) == 0);
    must(whole.framing.state == pieces.framing.state &&
         whole.framing.heads == pieces.framing.heads);
    must(whole.framing.message == pieces.framing.message);
    check_substitute(&whole.framing);
    check_substitute(&pieces.framing);
    free(whole.passed);
    free(pieces.passed);
    return 0;
}
