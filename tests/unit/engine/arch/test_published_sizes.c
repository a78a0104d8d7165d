/* test_published_sizes.c - as many parameters as the papers say, at the sizes of the papers. */
#include "layers/builder.h"
#include "support/model_fixture.h"
#include "support/test.h"

#include <string.h>

/* Of a model that is only described: drawing the numbers of large ones takes seconds. */
static int64_t parameters_of(const struct sl_arch *arch, const struct sl_config *config)
{
    struct sl_err err;
    struct sl_arena structs;
    struct sl_builder b;
    int64_t count = 0;
    EXPECT_OK(sl_arena_init_growing(&structs, 1 << 20, &err), err);
    sl_builder_init(&b, &structs, false);
    void *self = sl_arena_take(&structs, 1, arch->size);
    memset(self, 0, arch->size);
    arch->build(&b, self, config);
    for (int i = 0; i < b.count; i++)
        count += (int64_t)sl_parameter_floats(&b.parameters[i]);
    sl_arena_release(&structs);
    return count;
}

Test(published_sizes, are_those_of_the_papers)
{
    static const struct {
        const char *name;
        enum sl_task task;
        /* width, depth, heads, hidden, classes, blocks, mixing; 0: the standard, of classes 2 */
        int vocab, context, sizes[7];
        int64_t count;
    } published[] = {
        {"vanilla", SL_TASK_COMPLETION, 65, 128, {0}, 4782336},
        {"tsa", SL_TASK_COMPLETION, 65, 128, {0}, 4864901},
        {"early_exit", SL_TASK_COMPLETION, 65, 128, {0}, 4784896},
        {"vanilla", SL_TASK_COMPLETION, 6064, 256, {0}, 6350848},
        {"tsa", SL_TASK_COMPLETION, 6064, 256, {0}, 6433413},
        {"encoder", SL_TASK_CLASSIFICATION, 30522, 512, {0}, 386186},
        {"epsilon", SL_TASK_CLASSIFICATION, 30522, 512, {0}, 369184},
        {"eam", SL_TASK_CLASSIFICATION, 10000, 256, {0}, 1610502},
        /* EAM's transformer has no norm before pooling: 2 x 128 less. */
        {"encoder", SL_TASK_CLASSIFICATION, 10000, 256, {128, 3, 4, 1024}, 2269826 + 256},
        /* TransEvolve on IMDb and AG News: random rotations in one block, in two; full likewise. */
        {"transevolve", SL_TASK_CLASSIFICATION, 20002, 512, {0, 0, 0, 0, 2, 1, 1}, 6062337},
        {"transevolve", SL_TASK_CLASSIFICATION, 20002, 512, {0, 0, 0, 0, 2, 2, 1}, 6587137},
        {"transevolve", SL_TASK_CLASSIFICATION, 20002, 512, {0, 0, 0, 0, 2, 1, 0}, 9200385},
        {"transevolve", SL_TASK_CLASSIFICATION, 20002, 512, {0, 0, 0, 0, 2, 2, 0}, 9725185},
        {"transevolve", SL_TASK_CLASSIFICATION, 30522, 128, {0, 0, 0, 0, 4, 1, 1}, 8756228},
        {"transevolve", SL_TASK_CLASSIFICATION, 30522, 128, {0, 0, 0, 0, 4, 2, 1}, 9281028},
        {"transevolve", SL_TASK_CLASSIFICATION, 30522, 128, {0, 0, 0, 0, 4, 1, 0}, 11894276},
        {"transevolve", SL_TASK_CLASSIFICATION, 30522, 128, {0, 0, 0, 0, 4, 2, 0}, 12419076},
        /* On ListOps and on bytes. */
        {"transevolve", SL_TASK_CLASSIFICATION, 20, 2000, {0, 0, 0, 0, 10, 1, 1}, 949258},
        {"transevolve", SL_TASK_CLASSIFICATION, 20, 2000, {0, 0, 0, 0, 10, 2, 1}, 1474058},
        {"transevolve", SL_TASK_CLASSIFICATION, 20, 2000, {0, 0, 0, 0, 10, 1, 0}, 4087306},
        {"transevolve", SL_TASK_CLASSIFICATION, 20, 2000, {0, 0, 0, 0, 10, 2, 0}, 4612106},
        {"transevolve", SL_TASK_CLASSIFICATION, 256, 4000, {0, 0, 0, 0, 2, 1, 1}, 1007361},
        {"transevolve", SL_TASK_CLASSIFICATION, 256, 4000, {0, 0, 0, 0, 2, 2, 1}, 1532161},
        {"transevolve", SL_TASK_CLASSIFICATION, 256, 4000, {0, 0, 0, 0, 2, 1, 0}, 4145409},
        {"transevolve", SL_TASK_CLASSIFICATION, 256, 4000, {0, 0, 0, 0, 2, 2, 0}, 4670209},
        /* Translating, with a vocabulary of 32,000: the paper says 27, 33, 53 and 59 million. */
        {"transevolve", SL_TASK_TRANSLATION, 32000, 64, {512, 6, 8, 2048, 0, 1, 1}, 27497472},
        {"transevolve", SL_TASK_TRANSLATION, 32000, 64, {512, 6, 8, 2048, 0, 2, 1}, 33790976},
        {"transevolve", SL_TASK_TRANSLATION, 32000, 64, {512, 6, 8, 2048, 0, 1, 0}, 52632576},
        {"transevolve", SL_TASK_TRANSLATION, 32000, 64, {512, 6, 8, 2048, 0, 2, 0}, 58926080},
    };

    for (size_t i = 0; i < COUNT(published); i++) {
        struct sl_err err;
        struct sl_config c;
        const struct sl_arch *arch = sl_arch_find(published[i].name);
        const int *sizes = published[i].sizes;
        sl_config_set_defaults(arch, &c);
        c.task = published[i].task;
        c.classes = c.task == SL_TASK_CLASSIFICATION ? (sizes[4] ? sizes[4] : 2) : 0;
        c.vocab = published[i].vocab;
        c.context_length = published[i].context;
        c.width = sizes[0] ? sizes[0] : c.width;
        c.depth = sizes[1] ? sizes[1] : c.depth;
        c.heads = sizes[2] ? sizes[2] : c.heads;
        c.ffn_width = sizes[3] ? sizes[3] : c.ffn_width;
        if (sizes[5]) {
            fixture_set(arch, &c, "blocks", sizes[5]);
            fixture_set(arch, &c, "feed_forward", sizes[6]);
        }
        EXPECT_OK(sl_config_check(arch, &c, &err), err);
        const int64_t count = parameters_of(arch, &c);
        cr_expect_eq(count, published[i].count, "%s: %lld", published[i].name, (long long)count);
    }
}
