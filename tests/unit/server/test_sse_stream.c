/* test_sse_stream.c - streams: whatever the timing, one ending, whole characters, all of the
 * text. */
#include "base/buffer.h"
#include "core/limits.h"
#include "serve/sse_stream.h"
#include "support/test.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_trainer.h"

#include <jansson.h>
#include <pthread.h>

enum { CHOICES = 3 };

static int rooms; /* calls of on_space */

static void count_room(void *context)
{
    (void)context;
    rooms++;
}

static struct sv_sse_stream *make(int choices, bool include_usage)
{
    struct sl_err err;
    struct sv_sse_stream *stream;
    const struct sv_sse_stream_options options = {
        .head = {.format = &sv_text_format,
                 .id = "cmpl-1",
                 .model = "m@1",
                 .fingerprint = "fp_0",
                 .created = 7},
        .choices = choices,
        .include_usage = include_usage,
        .on_space = count_room,
    };
    EXPECT_OK((stream = sv_sse_stream_create(&options, &err)), err);
    return stream;
}

/* What a client has made of a stream. */
struct heard {
    struct sl_buffer raw;
    struct sl_buffer texts[CHOICES];
    int finishes[CHOICES], errors, dones, usages, pings;
};

static void hear_release(struct heard *heard)
{
    sl_buffer_release(&heard->raw);
    for (int i = 0; i < CHOICES; i++)
        sl_buffer_release(&heard->texts[i]);
}

static void hear_chunk(struct heard *heard, const char *json)
{
    json_error_t error;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    cr_assert(root, "%s: %s", error.text, json); /* jansson also checks the UTF-8 */
    size_t i;
    json_t *choice;
    heard->errors += json_object_get(root, "error") != NULL;
    heard->usages += json_is_object(json_object_get(root, "usage"));
    json_array_foreach (json_object_get(root, "choices"), i, choice) {
        json_int_t index = json_integer_value(json_object_get(choice, "index"));
        cr_assert_eq(heard->finishes[index], 0, "text after its finish");
        sl_buffer_append_string(&heard->texts[index],
                                json_string_value(json_object_get(choice, "text")));
        heard->finishes[index] += json_is_string(json_object_get(choice, "finish_reason"));
    }
    json_decref(root);
}

/* Takes the events apart. */
static void hear_all(struct heard *heard)
{
    char *rest = heard->raw.data;
    for (char *event; rest && *rest; rest = event + 2) {
        event = strstr(rest, "\n\n");
        cr_assert(event, "half an event: %s", rest);
        *event = '\0';
        cr_assert_eq(heard->dones, 0, "'%s' after [DONE]", rest);
        if (strcmp(rest, "data: [DONE]") == 0)
            heard->dones++;
        else if (rest[0] == ':')
            heard->pings++;
        else if (strncmp(rest, "data: ", 6) == 0)
            hear_chunk(heard, rest + 6);
        else
            cr_assert(false, "not an event: %s", rest);
    }
}

/* Pulls at most `most` bytes at a time until there is nothing. True: it has ended. */
static bool pull_all(struct sv_sse_stream *stream, struct heard *heard, size_t max)
{
    char bytes[4096];
    for (;;) {
        ssize_t taken = sv_sse_stream_pull(stream, bytes, max < sizeof bytes ? max : sizeof bytes);
        if (taken <= 0)
            return taken == SV_PULL_END;
        sl_buffer_append(&heard->raw, bytes, (size_t)taken);
    }
}

Test(stream, one_choice)
{
    struct sv_sse_stream *stream = make(1, false);
    struct heard heard = {0};
    cr_assert_not(sv_sse_stream_has_begun(stream));
    cr_assert(sv_sse_stream_put(stream, 0, "ab", 2, NULL, 0));
    cr_assert(sv_sse_stream_has_begun(stream));
    cr_assert_not(pull_all(stream, &heard, 7));
    cr_assert(sv_sse_stream_put(stream, 0, "abc", 3, NULL, 0));
    sv_sse_stream_usage(stream, &(struct sv_usage){.prompt_tokens = 1, .completion_tokens = 3});
    sv_sse_stream_finish(stream, 0, SL_FINISH_LENGTH);
    cr_assert(pull_all(stream, &heard, 7));
    cr_assert(strstr(heard.raw.data,
                     "data: {\"id\":\"cmpl-1\",\"object\":\"text_completion\",\"created\":7,"
                     "\"model\":\"m@1\",\"system_fingerprint\":\"fp_0\",\"choices\":[{\"index\":0,"
                     "\"text\":\"ab\",\"logprobs\":null,\"finish_reason\":null}]}\n\n"),
              "%s", heard.raw.data);
    hear_all(&heard);
    cr_assert_str_eq(heard.texts[0].data, "abc");
    cr_assert_eq(heard.finishes[0], 1);
    cr_assert_eq(heard.usages, 1, "the last chunk says what was used");
    cr_assert_eq(heard.dones, 1);
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

Test(stream, usage_in_its_own_event)
{
    struct sv_sse_stream *stream = make(1, true);
    struct heard heard = {0};
    cr_assert(sv_sse_stream_put(stream, 0, "ab", 2, NULL, 0));
    sv_sse_stream_usage(stream, &(struct sv_usage){.layers_used = 3, .layers_full = 4, .depth = 2});
    sv_sse_stream_finish(stream, 0, SL_FINISH_STOP);
    cr_assert(pull_all(stream, &heard, 4096));
    cr_assert(strstr(heard.raw.data, "\"finish_reason\":\"stop\"}],\"usage\":null}"));
    cr_assert(strstr(heard.raw.data, "\"choices\":[],\"usage\":{"));
    cr_assert(strstr(heard.raw.data, "{\"depth_mean\":1.5000,\"layer_ops_skipped\":0.2500}"));
    hear_all(&heard);
    cr_assert_eq(heard.usages, 1);
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

Test(stream, failure_after_text)
{
    struct sv_sse_stream *stream = make(2, false);
    struct heard heard = {0};
    struct sv_error error, second;
    (void)sv_fail(&error, SV_DRAINING, NULL, "Going away.");
    (void)sv_fail(&second, SV_INTERNAL, NULL, "Not this one.");
    sv_sse_stream_fail(stream, &error);
    sv_sse_stream_fail(stream, &second);
    cr_assert_not(sv_sse_stream_has_begun(stream), "it can still become an error response");
    cr_assert(sv_sse_stream_put(stream, 1, "x", 1, NULL, 0));
    cr_assert(pull_all(stream, &heard, 4096));
    cr_assert(strstr(heard.raw.data, "data: {\"error\":{\"message\":\"Going away.\""));
    hear_all(&heard);
    cr_assert_str_eq(heard.texts[1].data, "x");
    cr_assert_eq(heard.errors, 1);
    cr_assert_eq(heard.finishes[0] + heard.finishes[1], 0);
    cr_assert_eq(heard.dones, 1);
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

Test(stream, a_failure_after_the_last_finish_is_too_late)
{
    struct sv_sse_stream *stream = make(1, false);
    struct heard heard = {0};
    struct sv_error error;
    (void)sv_fail(&error, SV_CLIENT_DISCONNECTED, NULL, "Left.");
    cr_assert(sv_sse_stream_put(stream, 0, "x", 1, NULL, 0));
    sv_sse_stream_finish(stream, 0, SL_FINISH_STOP);
    sv_sse_stream_fail(stream, &error);
    cr_assert_not(sv_sse_stream_is_delivered(stream));
    cr_assert(pull_all(stream, &heard, 4096));
    cr_assert(sv_sse_stream_is_delivered(stream));
    hear_all(&heard);
    cr_assert_eq(heard.finishes[0], 1);
    cr_assert_eq(heard.errors, 0);
    cr_assert_eq(heard.dones, 1);
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

Test(stream, ping)
{
    struct sv_sse_stream *stream = make(1, false);
    struct heard heard = {0};
    sv_sse_stream_ping(stream);
    cr_assert(sv_sse_stream_has_begun(stream));
    cr_assert_not(pull_all(stream, &heard, 4096));
    cr_assert_str_eq(heard.raw.data, ": ping\n\n");
    cr_assert_not(pull_all(stream, &heard, 4096));
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

Test(stream, full_buffer_takes_no_more_until_there_is_room)
{
    enum { BYTES = SV_STREAM_TEXT_BYTES + 11 };

    struct sv_sse_stream *stream = make(1, false);
    struct heard heard = {0};
    char text[BYTES + 1];
    for (int i = 0; i < BYTES; i++) /* two-byte characters, one odd: the cut must not split one */
        text[i] = "\xA9\xC3"[i % 2];
    text[0] = 'a';
    text[BYTES] = '\0';
    rooms = 0;
    cr_assert_not(sv_sse_stream_put(stream, 0, text, BYTES, NULL, 0));
    cr_assert_not(sv_sse_stream_put(stream, 0, text, BYTES, NULL, 0));
    cr_assert_not(pull_all(stream, &heard, 4096));
    cr_assert_eq(rooms, 1);
    cr_assert(sv_sse_stream_put(stream, 0, text, BYTES, NULL, 0));
    sv_sse_stream_finish(stream, 0, SL_FINISH_LENGTH);
    cr_assert(pull_all(stream, &heard, 4096));
    cr_assert_eq(rooms, 1);
    hear_all(&heard);
    cr_assert_str_eq(heard.texts[0].data, text);
    hear_release(&heard);
    sv_sse_stream_destroy(stream);
}

/* The putting side of the race below: text in random steps, now and then a failure. */
struct writer {
    struct sv_sse_stream *stream;
    uint64_t seed;
    bool fails;
    struct sl_buffer texts[CHOICES];
};

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void *write_choices(void *argument)
{
    static const char *const characters[] = {"a",        "\"",           "\n",
                                             "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    struct writer *w = argument;
    bool finished[CHOICES] = {false};
    for (int left = CHOICES; left > 0;) {
        int choice = (int)(draw(&w->seed) % CHOICES);
        struct sl_buffer *text = &w->texts[choice];
        if (finished[choice])
            continue;
        for (uint64_t i = draw(&w->seed) % 40; i > 0; i--)
            sl_buffer_append_string(text, characters[draw(&w->seed) % 6]);
        while (!sv_sse_stream_put(w->stream, choice, text->bytes ? text->data : "", text->bytes,
                                  NULL, 0))
            (void)sched_yield();
        if (w->fails && draw(&w->seed) % 50 == 0) {
            struct sv_error error;
            (void)sv_fail(&error, SV_INTERNAL, NULL, "Broken.");
            sv_sse_stream_fail(w->stream, &error);
            return NULL;
        }
        if (draw(&w->seed) % 60 == 0) {
            finished[choice] = true;
            if (--left == 0)
                sv_sse_stream_usage(w->stream, &(struct sv_usage){0});
            sv_sse_stream_finish(w->stream, choice, SL_FINISH_STOP);
        }
    }
    return NULL;
}

static void expect_one_ending(const struct writer *w, struct heard *heard)
{
    int finishes = 0;
    hear_all(heard);
    for (int i = 0; i < CHOICES; i++) {
        const char *got = heard->texts[i].bytes ? heard->texts[i].data : "";
        const char *put = w->texts[i].bytes ? w->texts[i].data : "";
        cr_assert_str_eq(got, put, "choice %d", i);
        finishes += heard->finishes[i];
    }
    cr_assert_eq(heard->dones, 1);
    cr_assert(heard->errors + (finishes == CHOICES) == 1, "%d errors, %d finishes", heard->errors,
              finishes);
    cr_assert_eq(heard->usages, finishes == CHOICES);
}

/* Whatever the interleaving: all text, exactly one ending, [DONE], and nothing after it. */
Test(stream, ends_once_whatever_the_timing)
{
    for (uint64_t round = 0; round < 60; round++) {
        struct writer w = {.stream = make(CHOICES, round % 2),
                           .seed = test_seed() + round,
                           .fails = round % 3 == 0};
        struct heard heard = {0};
        uint64_t seed = round;
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, write_choices, &w), 0);
        while (!pull_all(w.stream, &heard, 1 + draw(&seed) % 3000))
            (void)sched_yield();
        cr_assert_eq(pthread_join(thread, NULL), 0);
        expect_one_ending(&w, &heard);
        hear_release(&heard);
        for (int i = 0; i < CHOICES; i++)
            sl_buffer_release(&w.texts[i]);
        sv_sse_stream_destroy(w.stream);
    }
}

/* Two bytes of one character, and two that are none. */
Test(response_stream, bytes_have_names_of_their_own_and_offsets_of_whole_characters)
{
    static const char text[] = "a\xC3\xA9\xE2\x82";

    enum { TOKENS = sizeof text - 1 };
    struct sl_err err;
    struct sl_buffer out = {0};
    json_error_t error;
    struct sl_token_logprob records[TOKENS] = {0};
    struct sl_tokenizer *bytes = sl_tokenizer_train_default("bytes", "a", 1, &err);
    EXPECT_OK(bytes, err);
    for (int i = 0; i < TOKENS; i++)
        records[i] = (struct sl_token_logprob){.id = 1 + (unsigned char)text[i],
                                               .text_offset = (size_t)i,
                                               .top_count = 2,
                                               .top_ids = {1 + 0xE2, 1 + 0x82}};
    const struct sv_completion_choice piece = {.text = text,
                                               .bytes = TOKENS,
                                               .facts = {.logprobs = true},
                                               .tokens = bytes,
                                               .records = records,
                                               .record_count = TOKENS};
    sv_text_format.whole(&(struct sl_json_writer){.out = &out}, &piece);
    json_t *root = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
    cr_assert(root, "%s: %s", error.text, out.data);
    cr_assert(strstr(out.data,
                     "{\"tokens\":[\"a\",\"bytes:\\\\xc3\",\"bytes:\\\\xa9\",\"bytes:\\\\xe2\","
                     "\"bytes:\\\\x82\"]"),
              "%s", out.data);
    cr_assert(strstr(out.data, "\"text_offset\":[0,1,1,2,3]"), "%s", out.data);
    json_decref(root);
    sl_buffer_release(&out);
    sl_tokenizer_destroy(bytes);
}
