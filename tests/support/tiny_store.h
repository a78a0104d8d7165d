/* tiny_store.h - a model store with one small untrained model, made by the sluice program. */
#pragma once

#define TINY_MODEL "tiny"
/* Every character of its vocabulary, a three-byte one among them. */
#define TINY_TEXT "\n !,.?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\xE2\x82\xAC"

enum { TINY_CONTEXT = 64 };

/* Makes <store>/tiny/1. */
void tiny_store_make(const char *store);

/* Makes <store>/base/1, which was only pretrained. */
void tiny_store_make_base(const char *store);

/* Copies a directory of files, "tiny/1" say, to another name in the store, where it appears whole;
 * the directory above it is made. */
void tiny_store_copy(const char *store, const char *from, const char *to);

/* Copies a model of tests/golden/pretrained to version 4 of that name. */
void tiny_store_add_pretrained(const char *store, const char *name);

/* Imports a sentence encoder of tests/golden/sentences as version 4 of that name. */
void tiny_store_import(const char *store, const char *name);
