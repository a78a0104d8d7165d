/* complete.c - continues a prompt, printing text as it is generated.
 *
 *     cc complete.c -o complete $(pkg-config --cflags --libs sluice)
 *     ./complete models/shakespeare/1 "ROMEO:" */
#include <sluice/sluice.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 200, CHUNK_TOKENS = 512 };

/* Runs the generation in slot 0 of the session until it is finished. */
static bool generate(struct sl_generation *g, struct sl_session *session, struct sl_err *err)
{
    size_t printed = 0, bytes;
    while (!sl_generation_finished(g)) {
        struct sl_chunk chunk = {.slot = 0};
        sl_generation_next_chunk(g, session, CHUNK_TOKENS, &chunk);
        if (!sl_session_run(session, &chunk, 1, err))
            return false;
        sl_generation_accept(g, &chunk);
        const char *text = sl_generation_text(g, &bytes);
        fwrite(text + printed, 1, bytes - printed, stdout);
        fflush(stdout);
        printed = bytes;
    }
    putchar('\n');
    return sl_generation_finish(g) != SL_FINISH_ERROR;
}

static bool complete(const struct sl_model *model, const char *prompt, struct sl_err *err)
{
    int context = sl_model_info(model)->context;
    int32_t *ids = malloc((size_t)context * sizeof *ids);
    long count = ids ? sl_tokenizer_encode(sl_model_tokenizer(model), prompt, strlen(prompt),
                                           SL_UNKNOWN_REPLACE, ids, context, err)
                     : -1;
    struct sl_session_options room = {.max_sequences = 1, .max_batch_tokens = CHUNK_TOKENS};
    struct sl_generation_options options = {.prompt = ids,
                                            .prompt_count = count < context ? (int)count : context,
                                            .max_tokens = MAX_TOKENS,
                                            .sampling = {.temperature = 0.8f, .top_p = 1.0f},
                                            .seed = 1,
                                            .echo = true};
    struct sl_session *session = count >= 0 ? sl_session_create(model, &room, err) : NULL;
    struct sl_generation *g = session ? sl_generation_create(model, &options, err) : NULL;
    bool ok = g && generate(g, session, err);
    sl_generation_destroy(g);
    sl_session_destroy(session);
    free(ids);
    return ok;
}

int main(int argc, char **argv)
{
    struct sl_err err = {0};
    struct sl_engine_options options = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: complete MODEL-DIR PROMPT\n");
        return 2;
    }
    struct sl_engine *engine = sl_engine_create(&options, &err);
    struct sl_model *model = engine ? sl_model_open(engine, argv[1], &err) : NULL;
    bool ok = model && complete(model, argv[2], &err);
    if (!ok)
        fprintf(stderr, "complete: %s\n", err.text);
    sl_model_close(model);
    sl_engine_destroy(engine);
    return ok ? 0 : 1;
}
