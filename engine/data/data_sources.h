/* data_sources.h - what to train on, as a user names it. */
#pragma once

#include "data/record_reader.h"
#include "tokenizer/tokenizer.h"

/* The data sources. Either `corpus` (a language model) or `data` (a classifier) is set. Strings
 * belong to the caller. */
struct sl_data_sources {
    const char *corpus;           /* a text */
    const char *prompt_separator; /* each line of `corpus` is a prompt, this and a completion; NULL:
                                     it is one text */
    const char *data;             /* labelled texts to train on */
    const char *validation;       /* labelled texts to validate on; NULL: a fraction of `data` */
    const char *labels;           /* a file that lists the labels; NULL: those found in `data` */
    struct sl_record_options columns;
    bool translates;               /* `data` and `validation` are texts and their translations, */
    const char *source, *target;   /* in these columns; NULL: 1 and 2 */
    const char *tokenizer;         /* a kind; NULL: characters of a text, words of labelled texts */
    const char *vocabulary;        /* a file of pieces, one per line; NULL: learnt from the data */
    int vocabulary_size;           /* when learnt; 0: the kind's standard */
    bool cased;                    /* keep case and accents */
    struct sl_tokenizer *tokens;   /* instead of the four above; ownership is taken. NULL: none */
    enum sl_truncation truncation; /* of texts that are too long; the published model keeps it */
    bool keep_validation;          /* keep the validation texts after encoding */
};
