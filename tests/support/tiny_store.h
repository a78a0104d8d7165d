/* tiny_store.h - a model store with one small untrained model, made by the sluice program. */
#pragma once

#define TINY_MODEL "tiny"
/* Every character of its vocabulary, a three-byte one among them. */
#define TINY_TEXT "\n !,.?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\xE2\x82\xAC"

enum { TINY_CONTEXT = 64 };

/* Makes <store>/tiny/1. */
void tiny_store_make(const char *store);
