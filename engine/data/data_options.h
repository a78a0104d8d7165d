/* data_options.h - the options that say how labelled texts are read: rows of a table, for `sluice
 * train` and for settings by name. */
#pragma once

#include "base/option_parser.h"
#include "tokenizer/tokenizer.h"

#define SL_LABEL_HELP                                                                              \
    "column of the label: a name, a path such as meta.label, or a number from 1; several, such "   \
    "as sport,food, hold 0 or 1 each [label]"
#define SL_TEXT_HELP "columns of the text, joined if several, as in title,body [text]"
#define SL_FORMAT_HELP                                                                             \
    "file format: tsv, csv, jsonl, json or fasttext, or what the objects of JSON are: chat, "      \
    "sharegpt, gemini, completions, alpaca, prodigy, label-studio, spacy or doccano [from the "    \
    "file]"

/* place(member): the offset of this member of a struct sl_data_sources. */
#define SL_DATA_OPTIONS(place)                                                                     \
    SL_OPTION_ROW("label", "COLUMN", SL_LABEL_HELP, SL_OPTION_STRING, place(columns.label), 0, 0), \
        SL_OPTION_ROW("text", "COLUMNS", SL_TEXT_HELP, SL_OPTION_STRING, place(columns.text), 0,   \
                      0),                                                                          \
        SL_OPTION_ROW(                                                                             \
            "label-separator", "TEXT",                                                             \
            "separator between the labels of texts that may have several, such as '|'; then an "   \
            "empty field means that it has none [a field is one label]",                           \
            SL_OPTION_STRING, place(columns.label_separator), 0, 0),                               \
        SL_OPTION_ROW("format", "NAME", SL_FORMAT_HELP, SL_OPTION_STRING, place(columns.format),   \
                      0, 0),                                                                       \
        SL_OPTION_ROW(                                                                             \
            "tokenizer", "KIND",                                                                   \
            "characters, bytes, words or wordpiece [--corpus: characters; --data: words; "         \
            "without an architecture: wordpiece]",                                                 \
            SL_OPTION_STRING, place(tokenizer), 0, 0),                                             \
        SL_OPTION_ROW(                                                                             \
            "vocab-size", "N",                                                                     \
            "vocabulary size to learn (tokens) [30000; words without an architecture: 200000]",    \
            SL_OPTION_INT, place(vocabulary_size), 8, SL_VOCAB_MAX),                               \
        SL_OPTION_ROW("cased", NULL,                                                               \
                      "words and wordpiece: keep case and accents [lower-case, strip accents]",    \
                      SL_OPTION_FLAG, place(cased), 0, 0)
