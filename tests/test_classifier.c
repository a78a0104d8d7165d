/* test_classifier.c - runs of texts: whatever keeps the promises of classify.h has room. */
#include "net_fixture.h"

#include "sluice/classify.h"

enum { ITEMS = 64, BATCH_ROWS = 990, LONG = 200 };

/* Ever longer texts, as many as fit, so that both the rows and the items of a run are used up. */
static int lengths_of(int *counts, int items, int longest)
{
    int rows = 0;
    for (int i = 0; i < items; i++)
        rows += counts[i] = 1;
    for (int i = 0; i < items && rows < BATCH_ROWS; i++) {
        int more = longest - 1 < BATCH_ROWS - rows ? longest - 1 : BATCH_ROWS - rows;
        counts[i] += more;
        rows += more;
    }
    return rows;
}

static void run(struct sl_classifier *c, int items, int longest)
{
    static int32_t tokens[LONG];
    struct sl_err err;
    struct sl_item list[ITEMS] = {0};
    int counts[ITEMS], rows = lengths_of(counts, items, longest);
    for (int i = 0; i < items; i++)
        list[i] = (struct sl_item){.tokens = tokens, .count = counts[i]};
    EXPECT_OK(sl_classifier_run(c, list, items, &err), err);
    cr_expect(rows == BATCH_ROWS || items * longest < BATCH_ROWS);
    for (int i = 0; i < items; i++)
        cr_expect(list[i].finite, "text %d of %d", i, items);
}

static void runs_of_all_shapes(const struct sl_arch *arch, struct sl_engine *engine)
{
    struct sl_err err;
    struct sl_config config = fixture_config_for(arch, SL_TASK_CLASSIFICATION);
    config.context = LONG;
    struct sl_model *m = fixture_model(engine, arch, &config);
    struct sl_classifier_options options = {.items = ITEMS, .batch_rows = BATCH_ROWS};
    struct sl_classifier *c = sl_classifier_create(m, &options, &err);
    cr_assert(c, "%s", err.text);
    for (int items = 1; items <= ITEMS; items += 9)
        for (int longest = 1; longest <= LONG; longest += longest / 3 + 1)
            run(c, items, longest);
    run(c, ITEMS, 16);
    run(c, ITEMS, LONG);
    sl_classifier_destroy(c);
    sl_model_close(m);
}

/* An arena that is too small aborts. */
Test(classifier, has_room_for_every_run)
{
    struct sl_engine *engine = fixture_engine(NULL, 2);
    for (int a = 0; sl_arch_at(a); a++)
        if (sl_arch_at(a)->tasks & SL_CLASSIFIES)
            runs_of_all_shapes(sl_arch_at(a), engine);
    sl_engine_destroy(engine);
}
