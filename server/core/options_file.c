/* options_file.c - the settings of the daemon that its configuration file has: one YAML mapping. */
#include "core/options_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static const char accepted[] = "expected lines 'key: value', each key once";

/* One file being read. */
struct reader {
    const char *path, *text;
    size_t bytes; /* of text */
    yaml_parser_t parser;
    yaml_document_t *document;
    struct sv_options *options;
};

static char *read_whole(const char *path, size_t *bytes, struct sl_err *err)
{
    FILE *file = fopen(path, "rbe");
    char *text = file ? malloc(SV_CONFIG_BYTES_MAX) : NULL;
    *bytes = text ? fread(text, 1, SV_CONFIG_BYTES_MAX, file) : 0;
    bool too_long = *bytes == SV_CONFIG_BYTES_MAX, good = text && !ferror(file) && !too_long;
    const char *why = too_long ? "it is longer than a mebibyte" : strerrordesc_np(errno);
    if (file)
        (void)fclose(file);
    if (good)
        return text;
    free(text);
    (void)sl_fail(err, SL_IO, "cannot read the configuration file '%s': %s", path, why);
    sl_err_set_path(err, path);
    return NULL;
}

/* Puts file:line:column before what err says. Lines and columns count from 1. */
static bool fail_at(const struct reader *r, yaml_mark_t mark, struct sl_err *err)
{
    int line = (int)mark.line + 1, column = (int)mark.column + 1;
    sl_err_set_path(err, r->path);
    sl_err_set_place(err, line, column);
    return sl_wrap(err, "%s:%d:%d", r->path, line, column);
}

/* Whether the line of this byte begins with a space. */
static bool is_indented(const struct reader *r, size_t at)
{
    while (at > 0 && r->text[at - 1] != '\n')
        at--;
    return r->text[at] == ' ';
}

/* The text is not YAML. */
static bool fail_syntax(const struct reader *r, struct sl_err *err)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return sl_fail(err, SL_NO_MEMORY, "no memory to read %s", r->path);
    const char *problem = p->problem ? p->problem : "this is not YAML";
    char at = '\0';
    if (p->problem_mark.index < r->bytes)
        at = r->text[p->problem_mark.index];
    if (at == '\t')
        problem = "a tab cannot indent; use spaces";
    if (at == ':')
        problem = is_indented(r, p->problem_mark.index)
                      ? "the line is indented, so it continues the value above; begin it at the "
                        "margin, or quote the value"
                      : "the value contains ': '; quote it";
    if (p->error != YAML_READER_ERROR) {
        if (at == '\t' || at == ':')
            (void)sl_fail(err, SL_BAD_INPUT, "%s", problem);
        else
            (void)sl_fail(err, SL_BAD_INPUT, "%s; %s", problem, accepted);
        return fail_at(r, p->problem_mark, err);
    }
    (void)sl_fail(err, SL_BAD_INPUT, "byte %zu: %s", p->problem_offset, problem);
    sl_err_set_path(err, r->path);
    return sl_wrap(err, "%s", r->path);
}

static bool fail_kind(const struct reader *r, const yaml_node_t *node, const char *what,
                      struct sl_err *err)
{
    static const char *const kinds[] = {[YAML_NO_NODE] = "nothing",
                                        [YAML_SCALAR_NODE] = "a single value",
                                        [YAML_SEQUENCE_NODE] = "a list",
                                        [YAML_MAPPING_NODE] = "a mapping"};
    (void)sl_fail(err, SL_BAD_INPUT, "%s is %s; %s", what, kinds[node->type], accepted);
    return fail_at(r, node->start_mark, err);
}

/* A scalar's text; NULL when the node is none. */
static const char *text_of(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static const yaml_node_t *node_at(const struct reader *r, int id)
{
    return yaml_document_get_node(r->document, id);
}

/* The key's line before this pair, from 1; 0: the key is new. */
static int line_before(const struct reader *r, const yaml_node_t *root, const char *key,
                       const yaml_node_pair_t *end)
{
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; p < end; p++) {
        const yaml_node_t *node = node_at(r, p->key);
        if (strcmp(text_of(node), key) == 0) /* it was a text, or we would not be here */
            return (int)node->start_mark.line + 1;
    }
    return 0;
}

static bool set_pair(struct reader *r, const yaml_node_t *root, const yaml_node_pair_t *pair,
                     struct sl_err *err)
{
    const yaml_node_t *key = node_at(r, pair->key), *value = node_at(r, pair->value);
    const char *name = text_of(key), *text = text_of(value);
    if (!name)
        return fail_kind(r, key, "a key", err);
    if (!sv_option_find(name)) {
        (void)sv_options_unknown(name, err);
        return fail_at(r, key->start_mark, err);
    }
    int before = line_before(r, root, name, pair);
    if (before > 0) {
        (void)sl_fail(err, SL_BAD_INPUT, "'%s' is already set in line %d", name, before);
        return fail_at(r, key->start_mark, err);
    }
    if (!text)
        return fail_kind(r, value, name, err);
    if (strlen(text) != value->data.scalar.length) {
        (void)sl_fail(err, SL_BAD_INPUT, "the value of %s contains a NUL character", name);
        return fail_at(r, value->start_mark, err);
    }
    if (sv_options_set(r->options, name, text, err))
        return true;
    sl_err_set_field(err, name);
    return fail_at(r, key->start_mark, err);
}

/* An empty document has no root, or an empty one. */
static bool is_empty(const yaml_node_t *root)
{
    return !root || (root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0 &&
                     root->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
}

static bool set_all(struct reader *r, struct sl_err *err)
{
    const yaml_node_t *root = yaml_document_get_root_node(r->document);
    if (is_empty(root))
        return true;
    if (root->type != YAML_MAPPING_NODE)
        return fail_kind(r, root, "the file", err);
    const yaml_node_pair_t *end = root->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < end; pair++)
        if (!set_pair(r, root, pair, err))
            return false;
    return true;
}

/* One document, the first; after it the file must end. */
static bool read_document(struct reader *r, bool first, struct sl_err *err)
{
    yaml_document_t document;
    if (!yaml_parser_load(&r->parser, &document))
        return fail_syntax(r, err);
    bool good = true;
    r->document = &document;
    if (first)
        good = set_all(r, err);
    else if (yaml_document_get_root_node(&document)) {
        (void)sl_fail(err, SL_BAD_INPUT, "a second document begins; only one is accepted");
        good = fail_at(r, document.start_mark, err);
    }
    yaml_document_delete(&document);
    r->document = NULL;
    return good;
}

bool sv_options_file(struct sv_options *options, const char *path, struct sl_err *err)
{
    struct reader r = {.path = path, .options = options};
    size_t bytes = 0;
    char *text = read_whole(path, &bytes, err);
    if (!text)
        return false;
    r.text = text;
    r.bytes = bytes;
    bool good = yaml_parser_initialize(&r.parser) ||
                sl_fail(err, SL_NO_MEMORY, "no memory to read %s", path);
    if (good) {
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
        good = read_document(&r, true, err) && read_document(&r, false, err);
        yaml_parser_delete(&r.parser);
    }
    free(text);
    return good;
}
