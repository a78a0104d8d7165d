/* family.h - the families of published models: what their config.json says, in the words of the
 * architecture `transformer`, and what their tensors are called.
 *
 * A family is one file in pretrained/ and one row in the table of families.c. Names of
 * hyper-parameters are those of the architecture's table (arch/transformer/transformer.c). A list
 * ends with a row of NULLs. */
#pragma once

#include "sluice/model.h"

#include <stdbool.h>

enum { SL_FAMILY_LIST = 256 };

/* A hyper-parameter that all models of a family have. */
struct sl_family_fact {
    const char *hyper, *value;
};

/* A hyper-parameter from a member of config.json: a number, a flag, or the name of an activation
 * function. Keys are paths, "a.b"; of alternatives, "a|b", the first that is there. */
struct sl_family_field {
    const char *key;
    const char *hyper;   /* what it is here */
    const char *missing; /* the hyper-parameter's value without the member; NULL: it is required */
    int divisor;         /* the number is divided by this; 0: it is not */
};

/* A member that must have this value, if it is there and not null: with another the model computes
 * something else. Keys are as above. */
struct sl_family_demand {
    const char *key, *value; /* JSON */
};

/* How a tensor of theirs becomes a parameter of ours. */
enum {
    SL_WEIGHT_TRANSPOSED = 1, /* theirs has a column for each row of ours */
    SL_WEIGHT_FIRST = 2,      /* ours are its first rows */
    SL_WEIGHT_LAST = 4        /* its last rows */
};

/* Names without their last part, ".weight" or ".bias". %d is the number of the layer. */
struct sl_family_weight {
    const char *ours;
    const char *theirs[2]; /* with a second one, its rows come after those of the first */
    unsigned how;
};

/* What a class of Hugging Face's library computes. */
struct sl_family_task {
    const char *architecture; /* "BertForSequenceClassification" */
    enum sl_task task;
    const struct sl_family_fact *facts;
    const struct sl_family_weight *weights; /* besides those of the family */
    const char *const *unused; /* tensors that it may have and that are not used, as patterns of
                                  fnmatch; ends with NULL */
};

struct sl_family {
    const char *model_type;
    const char *prefix; /* that names of tensors have, or not */
    const struct sl_family_fact *facts;
    const struct sl_family_field *fields;
    const struct sl_family_demand *demands;
    const struct sl_family_weight *weights;
    const struct sl_family_task *tasks;
    int ffn_widths; /* without its member, ffn_width is this many widths; 0: it is required */
};

/* NULL when there is none; the names, for errors. */
const struct sl_family *sl_family_find(const char *model_type);
const char *sl_family_list(char list[SL_FAMILY_LIST]);
const struct sl_family_task *sl_family_task_find(const struct sl_family *family,
                                                 const char *architecture);

extern const struct sl_family sl_family_bert, sl_family_distilbert, sl_family_roberta,
    sl_family_xlm_roberta, sl_family_electra, sl_family_modernbert, sl_family_gpt2, sl_family_llama,
    sl_family_qwen2;
