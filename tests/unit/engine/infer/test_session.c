/* test_session.c - the memory of a session's slots. */
#include "sluice/session.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <stdio.h>
#include <unistd.h>

enum { SLOTS = 8, CONTEXT = 4096 };

static size_t resident_bytes(void)
{
    unsigned long all, resident;
    FILE *file = fopen("/proc/self/statm", "re");
    cr_assert(file);
    cr_assert_eq(fscanf(file, "%lu %lu", &all, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void feed_one_token(struct sl_session *s, int slot)
{
    struct sl_err err;
    const int32_t token = 1;
    struct sl_chunk chunk = {.slot = slot, .tokens = &token, .count = 1};
    EXPECT_OK(sl_session_run(s, &chunk, 1, &err), err);
}

/* However long the texts may become that a slot holds: a short one takes little. */
Test(session, short_texts_take_little_of_large_slots)
{
    struct sl_err err;
    struct sl_engine *engine = fixture_engine(NULL, 1);
    const struct sl_arch *arch = sl_arch_find("vanilla");
    struct sl_config config = fixture_config_for(arch, SL_TASK_COMPLETION);
    config.context_length = CONTEXT;
    config.width = 128;
    config.heads = 4;
    config.depth = 8;
    struct sl_model *m = fixture_model(engine, arch, &config);
    const struct sl_session_options options = {.max_sequences = SLOTS, .max_batch_tokens = SLOTS};
    struct sl_session *s = sl_session_create(m, &options, &err);
    cr_assert(s, "%s", err.text);

    const size_t bytes = sl_session_slot_bytes(m);
    cr_assert_geq(bytes, (size_t)config.depth * 2 * CONTEXT * (size_t)config.width * 2);
    feed_one_token(s, 0);
    const size_t before = resident_bytes();
    for (int slot = 1; slot < SLOTS; slot++)
        feed_one_token(s, slot);
    const size_t taken = resident_bytes() - before;
    if (!TEST_SANITIZED) /* whose own memory counts, too */
        cr_assert_lt(taken, (SLOTS - 1) * bytes / 8, "%zu of %zu bytes", taken,
                     (SLOTS - 1) * bytes);
    sl_session_destroy(s);
    sl_model_close(m);
    sl_engine_destroy(engine);
}
