/* yaml.h - a YAML file as a tree of mappings, lists and texts, each with its line and column.
 *
 *     struct sl_yaml *yaml = sl_yaml_open(path, &kind, err);
 *     int root = sl_yaml_root(yaml);
 *     for (int i = 0; i < sl_yaml_count(yaml, root); i++)
 *         key = sl_yaml_key(yaml, root, i, err), value = sl_yaml_item(yaml, root, i);
 *
 * A node is a number from 1 on. Texts belong to the document and have no NUL. An alias is the node
 * of its anchor, so a walk whose depth is not bounded may not end. */
#pragma once

#include "sluice/err.h"

#include <stddef.h>

struct sl_yaml;

/* What a file is, for errors. */
struct sl_yaml_kind {
    const char *name;     /* "the configuration file" */
    const char *expected; /* how errors about its form end: "expected lines 'key: value'" */
    size_t bytes_max;     /* which the file must not reach */
};

/* Reads the one document of a file. NULL: it cannot be read, or is not YAML. */
struct sl_yaml *sl_yaml_open(const char *path, const struct sl_yaml_kind *kind, struct sl_err *err)
    SL_MUST_CHECK;
void sl_yaml_close(struct sl_yaml *yaml); /* NULL is fine */

/* 0: the document is empty. */
int sl_yaml_root(struct sl_yaml *yaml);

enum sl_yaml_type { SL_YAML_TEXT = 1, SL_YAML_LIST, SL_YAML_MAPPING };

/* Fails unless the node is of this type. name: what it is, for the error. */
bool sl_yaml_expect(struct sl_yaml *yaml, int node, enum sl_yaml_type type, const char *name,
                    struct sl_err *err) SL_MUST_CHECK;
/* NULL: the node is no text. */
const char *sl_yaml_text(struct sl_yaml *yaml, int node, const char *name, struct sl_err *err)
    SL_MUST_CHECK;

/* Pairs of a mapping, or items of a list; 0: of a text. */
int sl_yaml_count(struct sl_yaml *yaml, int node);
/* The key of a pair of a mapping. NULL: it is no text, or an earlier pair has it. */
const char *sl_yaml_key(struct sl_yaml *yaml, int mapping, int pair, struct sl_err *err)
    SL_MUST_CHECK;
/* The value of a pair, or an item of a list. */
int sl_yaml_item(struct sl_yaml *yaml, int node, int index);

/* Puts FILE:LINE:COLUMN of a node, or of the key of a pair of a mapping, before what err says.
 * Return false. */
bool sl_yaml_fail(struct sl_yaml *yaml, int node, struct sl_err *err);
bool sl_yaml_fail_key(struct sl_yaml *yaml, int mapping, int pair, struct sl_err *err);
