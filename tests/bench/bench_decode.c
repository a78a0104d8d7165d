/* bench_decode.c - the time of one step of decoding, for 1 to 256 streams.
 *
 *     bench_decode [CHECKPOINT [STREAMS [CONTEXT [PRECISION]]]]
 *
 * Every stream continues a text of its own, greedily, from the middle of the context to its end; of
 * CONTEXT, if it is shorter than the model's.
 * Steps grow with the text, so each time is the mean over the same positions; the best of several
 * runs is printed, the one least disturbed by others. SLUICE_ISA selects the instruction set. */
#include "base/clock.h"
#include "sluice/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 256, RUNS = 5, RUNS_OF_ONE = 40 };

static const char text[] =
    "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n\n"
    "First Citizen:\nYou are all resolved rather to die than to famish?\n\nAll:\nResolved. "
    "resolved.\n\nFirst Citizen:\nFirst, you know Caius Marcius is chief enemy to the people.\n";

/* Ends the program if something failed. */
static void *need(void *p, const struct sl_err *err)
{
    if (p)
        return p;
    (void)fprintf(stderr, "bench_decode: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static void run(struct sl_session *s, struct sl_chunk *chunks, int count)
{
    struct sl_err err;
    if (!sl_session_run(s, chunks, count, &err))
        (void)need(NULL, &err);
}

static int32_t likeliest(const float *logits, int vocab)
{
    int32_t best = 0;
    for (int i = 1; i < vocab; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* Fills every slot with `prompt` tokens, beginning at different places of the text. */
static void begin(struct sl_session *s, const int32_t *tokens, int count, int streams, int prompt)
{
    for (int i = 0; i < streams; i++) {
        struct sl_chunk chunk = {
            .slot = i, .tokens = tokens + i % (count - prompt), .count = prompt};
        sl_session_clear(s, i);
        run(s, &chunk, 1);
    }
}

struct step {
    double seconds, layers; /* the mean, and the part of the layers that were computed */
};

static struct step decode(struct sl_session *s, const struct sl_model *m, int streams, int steps)
{
    static struct sl_chunk chunks[STREAMS_MAX];
    static int32_t next[STREAMS_MAX];
    double seconds = 0, used = 0, full = 0;
    for (int i = 0; i < streams; i++)
        next[i] = 0;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < streams; i++)
            chunks[i] = (struct sl_chunk){.slot = i, .tokens = &next[i], .count = 1};
        const double begun = sl_now_seconds();
        run(s, chunks, streams);
        seconds += sl_now_seconds() - begun;
        for (int i = 0; i < streams; i++) {
            next[i] = likeliest(chunks[i].logits, sl_model_info(m)->vocab);
            used += (double)chunks[i].layers_used;
            full += (double)chunks[i].layers_full;
        }
    }
    return (struct step){seconds / steps, used / full};
}

static struct step best_step(const struct sl_model *m, int streams, int context)
{
    struct sl_err err;
    int32_t tokens[sizeof text];
    const int prompt = context / 2;
    const struct sl_session_options options = {
        .max_sequences = streams, .max_batch_tokens = streams > prompt ? streams : prompt};
    struct sl_session *s = need(sl_session_create(m, &options, &err), &err);
    const long count = sl_tokenizer_encode(sl_model_tokenizer(m), text, strlen(text),
                                           SL_UNKNOWN_FAIL, tokens, sizeof text, &err);
    if (count < 0)
        (void)need(NULL, &err);
    if (count <= prompt) {
        (void)fprintf(stderr, "bench_decode: the context of %d tokens is too long\n", context);
        exit(EXIT_FAILURE);
    }
    struct step best = {.seconds = HUGE_VAL};
    for (int i = 0; i < (streams == 1 ? RUNS_OF_ONE : RUNS); i++) {
        begin(s, tokens, (int)count, streams, prompt);
        const struct step step = decode(s, m, streams, context - prompt);
        best = step.seconds < best.seconds ? step : best;
    }
    sl_session_destroy(s);
    return best;
}

int main(int count, char **words)
{
    int streams[] = {1, 8, 64, STREAMS_MAX};
    size_t sizes = sizeof streams / sizeof *streams;
    struct sl_err err;
    const struct sl_engine_options options = {.precision = count > 4 ? words[4] : NULL};
    struct sl_engine *engine = need(sl_engine_create(&options, &err), &err);
    const char *directory = count > 1 ? words[1] : SL_SOURCE_DIR "/models/shakespeare/1";
    struct sl_model *m = need(sl_model_open(engine, directory, &err), &err);
    int context = sl_model_info(m)->context;
    double one = 0;
    if (count > 2) {
        const long wanted = strtol(words[2], NULL, 10);
        sizes = 1;
        streams[0] = wanted > 0 && wanted < STREAMS_MAX ? (int)wanted : STREAMS_MAX;
    }
    if (count > 3) {
        const long wanted = strtol(words[3], NULL, 10);
        context = wanted > 1 && wanted < context ? (int)wanted : context;
    }
    (void)printf("%s, %s, %d threads\n", sl_engine_isa(engine), sl_model_info(m)->precision,
                 sl_engine_threads(engine));
    for (size_t i = 0; i < sizes; i++) {
        const struct step step = best_step(m, streams[i], context);
        one = i == 0 ? step.seconds : one;
        (void)printf("%3d streams: %7.3f ms a step, %5.1f times that of one, %7.0f tokens/s, "
                     "%3.0f %% of the layers\n",
                     streams[i], 1e3 * step.seconds, step.seconds / one, streams[i] / step.seconds,
                     100.0 * step.layers);
    }
    sl_model_close(m);
    sl_engine_destroy(engine);
    return EXIT_SUCCESS;
}
