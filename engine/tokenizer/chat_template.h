/* chat_template.h - how published models write a conversation as one text.
 *
 * A row per way of writing. A model's own template, a program in Jinja, is not run: it is
 * recognised by its digest, and the row writes the same text. */
#pragma once

#include "base/buffer.h"
#include "sluice/chat.h"
#include "tokenizer/tokenizer.h"

enum {
    SL_CHAT_DIGESTS_MAX = 4,
    SL_CHAT_SPECIAL_MAX = 4,
    SL_CHAT_TOKEN_MAX = 64,
    SL_END_TOKENS_MAX = 16
};

/* In texts of a row, {bos} and {eos} stand for the model's tokens of these names. */
struct sl_chat_template {
    const char *name;
    const char *digests[SL_CHAT_DIGESTS_MAX]; /* SHA-256 of templates, without a final newline */
    const char *begin;                        /* before all messages */

    struct {
        const char *before, *after;
    } roles[SL_CHAT_ROLES];

    const char *answer;         /* what the answer follows */
    const char *default_system; /* when the first message is not the system's; NULL: none */
    const char *special[SL_CHAT_SPECIAL_MAX]; /* tokens that only the template may write, the last
                                                 of which ends an answer; NULL at the end */
    bool trims;                               /* white space around a message is left out */
    bool joins_system; /* the system's message is the beginning of the user's first one;
                                   user and assistant take turns */
};

/* What a model says of conversations, and where its texts end. */
struct sl_chat_facts {
    const struct sl_chat_template *template; /* NULL: none that is known */
    char unknown[65];                        /* SHA-256 of one that is not known; "": none */
    char bos[SL_CHAT_TOKEN_MAX], eos[SL_CHAT_TOKEN_MAX];
    int32_t end_tokens[SL_END_TOKENS_MAX]; /* ids; a completion ends with one of them */
    int end_token_count;
};

/* By name; NULL: there is none. The names, for errors. */
const struct sl_chat_template *sl_chat_template_named(const char *name);
const char *sl_chat_template_list(char list[256]);

/* Sets the template, or `unknown`, from the model's own. */
void sl_chat_facts_set(struct sl_chat_facts *facts, const char *text, size_t bytes);
/* Ids that are there already are left out, as are those that do not fit. */
void sl_chat_facts_add_end(struct sl_chat_facts *facts, int64_t id);
/* The token that ends an answer by the template ends one of the model. */
void sl_chat_facts_complete(struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer);
bool sl_chat_facts_ends(const struct sl_chat_facts *facts, int32_t id);

/* Fails when there is no template, when a message is not as it wants it, or when the tokenizer does
 * not have its special tokens. */
bool sl_chat_write(const struct sl_chat_facts *facts, const struct sl_tokenizer *tokenizer,
                   const struct sl_chat *chat, struct sl_chat_prompt *prompt, struct sl_err *err)
    SL_MUST_CHECK;
