/* routing_output.c - prints tables, and JSON. */
#include "cli/routing/routing_output.h"

#include "base/explained_words.h"
#include "cli/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS_SHOWN = 20, TOKENS_JSON = 200 };

static const char *const headings[ROUTING_KINDS] = {
    [ROUTING_ALL] = "",
    [ROUTING_CLASS] = "by the token's first character",
    [ROUTING_FREQUENCY] = "by how often the token occurs in this text",
    [ROUTING_ENTROPY] = "by the entropy of the prediction after the token"};

/* ---- text ------------------------------------------------------------------------------------ */

static void print_columns(const struct routing_output *o)
{
    char name[32];
    printf("\n  %-22s %8s %6s %6s ", "", "tokens", "run", "weight");
    for (int p = 0; p < o->sums->parts; p++) {
        (void)snprintf(name, sizeof name, p == 0 ? "%s 1" : "%.0s%d", routing_part(o), p + 1);
        printf(" %7s", name);
    }
    printf("\n");
}

static void print_group(const struct routing_output *o, const struct routing_group *group)
{
    printf("  %-22s %8" PRId64 " %6.2f %6.2f ", group->name, group->tokens,
           routing_group_ran(o->sums, group), routing_group_weight(o->sums, group));
    for (int p = 0; p < o->sums->parts; p++)
        printf(" %7.3f", group->weight[p] / (double)group->tokens);
    printf("\n");
}

static void print_token(const struct routing_output *o, const struct routing_token *token)
{
    size_t bytes = 0;
    const char *piece = sl_tokenizer_piece(o->sums->tokenizer, token->id, &bytes);
    printf("  %8" PRId64 " %6.2f %6.2f  \"", token->tokens, token->ran / (double)token->tokens,
           token->weight / (double)token->tokens);
    if (bytes == 1 && piece[0] == '\n')
        printf("\\n");
    else
        sl_print_text(piece, bytes);
    printf("\"\n");
}

void routing_print(const struct routing_output *o)
{
    const struct routing_sums *s = o->sums;
    printf("%s%zu tokens of %s, %d %ss\n", o->text->is_cut ? "the first " : "", o->text->count,
           o->text_path, s->parts, routing_part(o));
    printf("run: %ss that act on a token; weight: the sum of their weights; then the mean weight "
           "of each %s\n",
           routing_part(o), routing_part(o));
    enum routing_kind kind = ROUTING_KINDS;
    for (int g = 0; g < ROUTING_GROUPS; g++) {
        const struct routing_group *group = &s->groups[g];
        if (group->tokens == 0)
            continue;
        if (group->kind == ROUTING_ALL)
            print_columns(o);
        else if (group->kind != kind)
            printf("\n%s\n", headings[group->kind]);
        kind = group->kind;
        print_group(o, group);
    }
    printf("\nthe most frequent tokens\n  %8s %6s %6s  token\n", "tokens", "run", "weight");
    for (int i = 0; i < s->distinct && i < TOKENS_SHOWN; i++)
        print_token(o, s->ranked[i]);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_means(struct sl_json_writer *json, const struct routing_sums *s, const char *key,
                        const double *sums, int64_t tokens)
{
    sl_json_begin_array(sl_json_key(json, key));
    for (int p = 0; p < s->parts; p++)
        sl_json_printf(json, "%.6g", sums[p] / (double)tokens);
    sl_json_end_array(json);
}

static void write_group(struct sl_json_writer *json, const struct routing_sums *s,
                        const struct routing_group *group)
{
    if (group->tokens == 0)
        return;
    sl_json_add(json, "{'by':%s,'group':%s,'tokens':%lld,'run':%.6g,'weight':%.6g",
                routing_kind_names[group->kind], group->name, (long long)group->tokens,
                routing_group_ran(s, group), routing_group_weight(s, group));
    write_means(json, s, "run_by_part", group->ran, group->tokens);
    write_means(json, s, "weight_by_part", group->weight, group->tokens);
    sl_json_end_object(json);
}

static void write_token(struct sl_json_writer *json, const struct routing_sums *s,
                        const struct routing_token *token)
{
    size_t bytes = 0;
    const char *piece = sl_tokenizer_piece(s->tokenizer, token->id, &bytes);
    sl_json_add(json, "{'id':%d,'token':%.*s,'tokens':%lld,'run':%.6g,'weight':%.6g}", token->id,
                (int)bytes, piece, (long long)token->tokens, token->ran / (double)token->tokens,
                token->weight / (double)token->tokens);
}

void routing_print_json(const struct routing_output *o)
{
    const struct routing_sums *s = o->sums;
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text, .line_depth = 2};
    sl_json_add(&json,
                "{'architecture':%s,'routes_to':%s,'parts':%d,'tokens':%zu,'truncated':%i,"
                "'groups':[",
                o->model->arch->name, routing_part(o), s->parts, o->text->count, o->text->is_cut);
    for (int g = 0; g < ROUTING_GROUPS; g++)
        write_group(&json, s, &s->groups[g]);
    sl_json_add(&json, "],'most_frequent':[");
    for (int i = 0; i < s->distinct && i < TOKENS_JSON; i++)
        write_token(&json, s, s->ranked[i]);
    sl_json_add(&json, "]}");
    command_print_json(&text);
}
