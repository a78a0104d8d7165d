/* test_detokenizer.c - words and punctuation become text as people write it. */
#include "support/test.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer_trainer.h"

#include <stdlib.h>
#include <string.h>

/* Texts that come back as they were. */
static const char *const same[] = {
    "A man in a red T-shirt climbs the wall (quickly).",
    "Zwei Kinder spielen im Schnee; eines lacht: \"Halt!\"",
    "It's 3.5 metres high, isn't it?",
    "He said \"no\" and \"yes\" [twice].",
    "10,000 birds at 12:30, and/or 5%",
    "one",
    "",
};

Test(detokenizer, gives_back_what_was_written)
{
    char all[2048] = "";
    struct sl_err err;
    for (size_t i = 0; i < COUNT(same); i++)
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n", same[i]);
    const struct sl_tokenizer_options how = {.kind = "wordpiece", .size = 200, .lower = false};
    struct sl_tokenizer *tokenizer = sl_tokenizer_train(&how, all, strlen(all), &err);
    cr_assert(tokenizer, "%s", err.text);
    for (size_t i = 0; i < COUNT(same); i++) {
        int32_t ids[128];
        struct sl_buffer text = {0};
        const long count = sl_tokenizer_encode(tokenizer, same[i], strlen(same[i]), SL_UNKNOWN_FAIL,
                                               ids, 128, &err);
        cr_assert_geq(count, 0, "%s", err.text);
        sl_detokenize(&text, tokenizer, ids, (int)count);
        cr_expect_str_eq(text.data ? text.data : "", same[i]);
        sl_buffer_release(&text);
    }
    sl_tokenizer_destroy(tokenizer);
}
