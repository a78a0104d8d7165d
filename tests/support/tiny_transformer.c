/* tiny_transformer.c - a small transformer, as a checkpoint. */
#include "support/tiny_transformer.h"

#include "checkpoint/checkpoint.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

static const char *const labels[FIXTURE_CLASSES] = {"good", "bad", "plain"};

static void make(const char *directory, const char *architecture, enum sl_task task)
{
    struct sl_err err;
    char text[] = "good bad plain the film a day one more word it was 0 1 2 3 4 5 6 7 8 9",
         none[] = "{}";
    const struct sl_tokenizer_options how = {.kind = "wordpiece", .size = 200, .lower = true};
    const struct sl_arch *arch = sl_arch_find(architecture);
    struct sl_engine *engine = fixture_engine("portable", 1);
    struct sl_tokenizer *tokens = sl_tokenizer_train(&how, text, strlen(text), &err);
    cr_assert(tokens, "%s", err.text);
    struct sl_config config = fixture_config_for(arch, task);
    config.vocab = sl_tokenizer_size(tokens);
    config.classes = sl_task_classifies(task) ? FIXTURE_CLASSES : 0;
    EXPECT_OK(sl_config_check(arch, &config, &err), err);
    struct sl_model *model = fixture_model(engine, arch, &config);
    const struct sl_model_config described = {.arch = arch,
                                              .hyper = config,
                                              .labels = (char **)(uintptr_t)labels,
                                              .policy = sl_policy_defaults(arch),
                                              .tokenizer = sl_tokenizer_kind(tokens),
                                              .training = none};
    const struct sl_checkpoint_parts parts = {.model_config = &described,
                                              .tokens = tokens,
                                              .parameters = model->state_dict,
                                              .count = model->state_dict_count};
    EXPECT_OK(sl_checkpoint_write(directory, &parts, &err), err);
    sl_model_close(model);
    sl_tokenizer_destroy(tokens);
    sl_engine_destroy(engine);
}

void tiny_transformer_make(const char *directory, enum sl_task task)
{
    make(directory, "transformer", task);
}

void tiny_adaptive_make(const char *directory, enum sl_task task)
{
    make(directory, "adaptive_transformer", task);
}

void tiny_texts_write(const char *path, int count)
{
    static const char *const words[] = {"good", "bad", "plain", "the film", "a day", "it was"};
    FILE *file = fopen(path, "we");
    cr_assert(file);
    for (int i = 0; i < count; i++)
        cr_assert_gt(
            fprintf(file, "%s %s %s %d\n", words[i % 6], words[i / 6 % 6], words[i / 36 % 6], i),
            0);
    cr_assert_eq(fclose(file), 0);
}
