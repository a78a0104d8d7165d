/* field_types.h - types of fields that several requests have: texts, prompts, tensors, messages.
 *
 * Arrays hold `min` to `max` elements, which the document owns. */
#pragma once

#include "json/json_schema.h"

#include "sluice/tokenizer.h"

/* One prompt: text, or token ids when `ids` is not NULL. */
struct sv_prompt {
    struct sv_string text;
    const struct sl_byte_range *plain; /* parts of it without special tokens */
    int plain_count;
    const int32_t *ids;
    int id_count;
};

struct sv_prompts {
    int count;
    bool is_array;           /* the client sent an array, even of one */
    struct sv_prompt *items; /* the document's, as are the ids */
};

struct sv_logit_bias {
    int32_t id;
    float value;
};

struct sv_logit_biases {
    int count;
    struct sv_logit_bias *items; /* the document's */
};

struct sv_texts {
    int count;
    struct sv_string *items; /* the document's */
    /* The second text of each that is a pair; of others its data is NULL. NULL: there are none. */
    struct sv_string *pairs;
    bool is_array;  /* the client sent an array, even of one */
    size_t columns; /* of each row, when they came in rows; else 0 */
};

/* A text as an object. */
struct sv_pair {
    struct sv_string text, pair; /* pair.data NULL: it is no pair */
};

/* The second text of a pair; NULL: it is none. */
const struct sv_string *sv_texts_pair(const struct sv_texts *texts, int index);

enum { SV_SHAPE_MAX = 8 };

struct sv_shape {
    int count;
    int64_t sizes[SV_SHAPE_MAX];
};

/* A string or a boolean, whose text is "true" or "false". */
struct sv_string_or_bool {
    struct sv_string text;
    bool is_boolean;
};

/* struct sv_prompts: texts or token ids; or token ids only. */
extern const struct sv_field_type sv_type_prompts, sv_type_ids;
/* struct sv_logit_biases, each from `min` to `max`. */
extern const struct sv_field_type sv_type_logit_bias;
/* struct sv_texts. The first accepts "a", the pair ["a", "b"], three or more strings, which are
 * texts, and [["a"], ["b", "c"]], a text and a pair; the second ["a", "b"] and [["a"], ["b"]]. */
extern const struct sv_field_type sv_type_predict_inputs, sv_type_tensor_data;
/* struct sv_texts: one string or an array of them; or, of the second type, of objects with the
 * subfields of a struct sv_pair, too. */
extern const struct sv_field_type sv_type_texts, sv_type_pairs;
/* The same, always an array. */
extern const struct sv_field_type sv_type_text_list, sv_type_documents;
/* struct sv_shape */
extern const struct sv_field_type sv_type_shape;
/* struct sv_string: a text, or `min` to `max` parts joined as its lines; `subfields` are
 * sv_part_fields. */
extern const struct sv_field_type sv_type_content;
/* struct sv_texts: the parts of one text, from a string or from an array: of parts, or of messages
 * that have them. Their subfields are these. */
extern const struct sv_field sv_part_fields[], sv_message_fields[];
extern const struct sv_field_type sv_type_parts, sv_type_messages;
/* The subfields of a message of a conversation, a struct sv_message. */
extern const struct sv_field sv_chat_message_fields[];
/* Whatever it is. */
extern const struct sv_field_type sv_type_ignored;
/* struct sv_string_or_bool, at most `max` bytes */
extern const struct sv_field_type sv_type_string_or_bool;

/* Joins texts, at least one, with a separator. The document owns the result. */
bool sv_texts_join(struct sv_json_document *document, const struct sv_texts *texts, char separator,
                   struct sv_string *whole, struct sv_error *error);
