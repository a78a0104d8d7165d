/* yaml.c - a YAML file as a tree, by libyaml. */
#include "base/yaml.h"

#include "base/allocate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct sl_yaml {
    struct sl_yaml_kind kind;
    char *path, *text;
    size_t bytes; /* of text */
    yaml_document_t document;
    bool has_document;
};

/* ---- the file -------------------------------------------------------------------------------- */

static bool read_whole(struct sl_yaml *y, struct sl_err *err)
{
    FILE *file = fopen(y->path, "rbe");
    y->text = file ? malloc(y->kind.bytes_max) : NULL;
    y->bytes = y->text ? fread(y->text, 1, y->kind.bytes_max, file) : 0;
    bool too_long = y->bytes == y->kind.bytes_max, good = y->text && !ferror(file) && !too_long;
    const char *why = strerrordesc_np(errno);
    if (file)
        (void)fclose(file);
    if (good)
        return true;
    if (too_long)
        (void)sl_fail(err, SL_IO, "cannot read %s '%s': expected fewer than %zu bytes",
                      y->kind.name, y->path, y->kind.bytes_max);
    else
        (void)sl_fail(err, SL_IO, "cannot read %s '%s': %s", y->kind.name, y->path, why);
    return sl_err_set_path(err, y->path);
}

/* Lines and columns count from 1. */
static bool fail_at(const struct sl_yaml *y, yaml_mark_t mark, struct sl_err *err)
{
    int line = (int)mark.line + 1, column = (int)mark.column + 1;
    sl_err_set_path(err, y->path);
    sl_err_set_place(err, line, column);
    return sl_wrap(err, "%s:%d:%d", y->path, line, column);
}

/* Whether the line of this byte begins with a space. */
static bool is_indented(const struct sl_yaml *y, size_t at)
{
    while (at > 0 && y->text[at - 1] != '\n')
        at--;
    return y->text[at] == ' ';
}

/* The text is not YAML. */
static bool fail_syntax(const struct sl_yaml *y, const yaml_parser_t *p, struct sl_err *err)
{
    if (p->error == YAML_MEMORY_ERROR)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read %s", y->path);
    const char *problem = p->problem ? p->problem : "this is not YAML";
    char at = '\0';
    if (p->problem_mark.index < y->bytes)
        at = y->text[p->problem_mark.index];
    if (at == '\t')
        problem = "a tab cannot indent; use spaces";
    if (at == ':')
        problem = is_indented(y, p->problem_mark.index)
                      ? "the line is indented, so it continues the value above; begin it at the "
                        "margin, or quote the value"
                      : "the value contains ': '; quote it";
    if (p->error != YAML_READER_ERROR) {
        if (at == '\t' || at == ':')
            (void)sl_fail(err, SL_BAD_INPUT, "%s", problem);
        else
            (void)sl_fail(err, SL_BAD_INPUT, "%s; %s", problem, y->kind.expected);
        return fail_at(y, p->problem_mark, err);
    }
    (void)sl_fail(err, SL_BAD_INPUT, "byte %zu: %s", p->problem_offset, problem);
    sl_err_set_path(err, y->path);
    return sl_wrap(err, "%s", y->path);
}

/* After the document the file must end. */
static bool expect_end(const struct sl_yaml *y, yaml_parser_t *parser, struct sl_err *err)
{
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next))
        return fail_syntax(y, parser, err);
    bool good = !yaml_document_get_root_node(&next);
    if (!good) {
        (void)sl_fail(err, SL_BAD_INPUT, "a second document begins; only one is accepted");
        (void)fail_at(y, next.start_mark, err);
    }
    yaml_document_delete(&next);
    return good;
}

static bool parse(struct sl_yaml *y, struct sl_err *err)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return sl_fail(err, SL_NO_MEMORY, "no memory to read %s", y->path);
    yaml_parser_set_input_string(&parser, (const unsigned char *)y->text, y->bytes);
    y->has_document = yaml_parser_load(&parser, &y->document);
    bool good = y->has_document ? expect_end(y, &parser, err) : fail_syntax(y, &parser, err);
    yaml_parser_delete(&parser);
    return good;
}

struct sl_yaml *sl_yaml_open(const char *path, const struct sl_yaml_kind *kind, struct sl_err *err)
{
    struct sl_yaml *y = sl_new(sizeof *y, kind->name, err);
    if (!y)
        return NULL;
    y->kind = *kind;
    y->path = strdup(path);
    bool good = y->path || sl_fail(err, SL_NO_MEMORY, "no memory to read %s", path);
    if (good && read_whole(y, err) && parse(y, err))
        return y;
    sl_yaml_close(y);
    return NULL;
}

void sl_yaml_close(struct sl_yaml *y)
{
    if (!y)
        return;
    if (y->has_document)
        yaml_document_delete(&y->document);
    free(y->text);
    free(y->path);
    free(y);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static const yaml_node_t *node_at(struct sl_yaml *y, int id)
{
    return yaml_document_get_node(&y->document, id);
}

/* An empty document has no root, or an empty one. */
int sl_yaml_root(struct sl_yaml *y)
{
    const yaml_node_t *root = yaml_document_get_root_node(&y->document);
    bool is_empty = !root || (root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0 &&
                              root->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
    return is_empty ? 0 : 1;
}

bool sl_yaml_fail(struct sl_yaml *y, int node, struct sl_err *err)
{
    return fail_at(y, node_at(y, node)->start_mark, err);
}

bool sl_yaml_expect(struct sl_yaml *y, int node, enum sl_yaml_type type, const char *name,
                    struct sl_err *err)
{
    static const struct {
        yaml_node_type_t type;
        const char *name;
    } types[] = {[SL_YAML_TEXT] = {YAML_SCALAR_NODE, "a single value"},
                 [SL_YAML_LIST] = {YAML_SEQUENCE_NODE, "a list"},
                 [SL_YAML_MAPPING] = {YAML_MAPPING_NODE, "a mapping"}};

    const char *is = "nothing";
    for (size_t i = SL_YAML_TEXT; i <= SL_YAML_MAPPING; i++)
        if (types[i].type == node_at(y, node)->type)
            is = types[i].name;
    if (is == types[type].name)
        return true;
    (void)sl_fail(err, SL_BAD_INPUT, "%s is %s; %s", name, is, y->kind.expected);
    return sl_yaml_fail(y, node, err);
}

const char *sl_yaml_text(struct sl_yaml *y, int node, const char *name, struct sl_err *err)
{
    if (!sl_yaml_expect(y, node, SL_YAML_TEXT, name, err))
        return NULL;
    const yaml_node_t *scalar = node_at(y, node);
    const char *text = (const char *)scalar->data.scalar.value;
    if (strlen(text) == scalar->data.scalar.length)
        return text;
    (void)sl_fail(err, SL_BAD_INPUT, "the value of %s contains a NUL character", name);
    (void)sl_yaml_fail(y, node, err);
    return NULL;
}

int sl_yaml_count(struct sl_yaml *y, int node)
{
    const yaml_node_t *at = node_at(y, node);
    if (at->type == YAML_MAPPING_NODE)
        return (int)(at->data.mapping.pairs.top - at->data.mapping.pairs.start);
    if (at->type == YAML_SEQUENCE_NODE)
        return (int)(at->data.sequence.items.top - at->data.sequence.items.start);
    return 0;
}

int sl_yaml_item(struct sl_yaml *y, int node, int index)
{
    const yaml_node_t *at = node_at(y, node);
    return at->type == YAML_MAPPING_NODE ? at->data.mapping.pairs.start[index].value
                                         : at->data.sequence.items.start[index];
}

static int key_node(struct sl_yaml *y, int mapping, int pair)
{
    return node_at(y, mapping)->data.mapping.pairs.start[pair].key;
}

bool sl_yaml_fail_key(struct sl_yaml *y, int mapping, int pair, struct sl_err *err)
{
    return sl_yaml_fail(y, key_node(y, mapping, pair), err);
}

const char *sl_yaml_key(struct sl_yaml *y, int mapping, int pair, struct sl_err *err)
{
    const char *key = sl_yaml_text(y, key_node(y, mapping, pair), "a key", err);
    for (int i = 0; key && i < pair; i++) {
        const yaml_node_t *before = node_at(y, key_node(y, mapping, i));
        if (before->type == YAML_SCALAR_NODE &&
            strcmp((const char *)before->data.scalar.value, key) == 0) {
            (void)sl_fail(err, SL_BAD_INPUT, "'%s' is already set in line %d", key,
                          (int)before->start_mark.line + 1);
            (void)sl_yaml_fail_key(y, mapping, pair, err);
            return NULL;
        }
    }
    return key;
}
