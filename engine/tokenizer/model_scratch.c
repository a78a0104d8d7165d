/* model_scratch.c - memory that lasts from word to word. */
#include "tokenizer/model_scratch.h"

#include "base/dynarray.h"

#include <stdlib.h>

void sl_model_scratch_release(struct sl_model_scratch *scratch)
{
    free(scratch->tokens);
    free(scratch->symbols);
    free(scratch->heap);
    free(scratch->nodes);
    *scratch = (struct sl_model_scratch){0};
}

void sl_model_scratch_add(struct sl_model_scratch *scratch, struct sl_model_token token)
{
    if (sl_dynarray_reserve(&scratch->tokens, &scratch->capacity, scratch->count + 1,
                            sizeof *scratch->tokens, NULL))
        scratch->tokens[scratch->count++] = token;
    else
        scratch->failed = true;
}
