/* json_document.c - what a request's strings and arrays belong to. */
#include "json/json_document.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

/* Memory that a document owns. */
struct block {
    struct block *next;
    max_align_t memory[];
};

struct sv_json_document {
    json_t *root;
    struct block *blocks;
};

struct sv_json_document *sv_json_document_create(json_t *root, struct sv_error *error)
{
    struct sv_json_document *document = calloc(1, sizeof *document);
    if (document)
        document->root = root;
    else {
        json_decref(root);
        (void)sv_fail_no_memory(error);
    }
    return document;
}

void *sv_json_document_alloc(struct sv_json_document *document, size_t count, size_t size,
                             struct sv_error *error)
{
    struct block *block = size > 0 && count > (SIZE_MAX - sizeof *block) / size - 1
                              ? NULL
                              : calloc(1, sizeof *block + (count > 0 ? count * size : 1));
    if (!block) {
        (void)sv_fail_no_memory(error);
        return NULL;
    }
    block->next = document->blocks;
    document->blocks = block;
    return block->memory;
}

void sv_json_document_release(struct sv_json_document *document)
{
    if (!document)
        return;
    for (struct block *block = document->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    json_decref(document->root);
    free(document);
}
