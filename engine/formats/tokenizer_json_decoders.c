/* tokenizer_json_decoders.c - the post-processors and decoders of tokenizer.json: a function per
 * type, and two tables of them. */
#include "formats/tokenizer_json_parts.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <string.h>

/* -- post-processors -------------------------------------------------------------------------- */

static bool part_add(struct sl_template *template, struct sl_template_part part, struct sl_err *err)
{
    return sl_template_add(template, part) ||
           sl_fail(err, SL_CORRUPT, "more than %d parts", SL_TEMPLATE_PARTS_MAX);
}

static bool trim_add(struct sl_pipeline_parts *parts, bool prefix_space, struct sl_err *err)
{
    if (parts->post.trim_count == SL_TRIMS_MAX)
        return sl_fail(err, SL_CORRUPT, "more than %d steps that trim offsets", SL_TRIMS_MAX);
    parts->post.trims[parts->post.trim_count++] = (struct sl_trim){prefix_space};
    return true;
}

/* The id in a pair [text, id]. */
static bool pair_id(const json_t *step, const char *key, int32_t *id, struct sl_err *err)
{
    const json_t *number = json_array_get(json_object_get(step, key), 1);
    json_int_t value = json_integer_value(number);
    if (!json_is_integer(number) || value < 0 || value >= SL_VOCAB_MAX)
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected [text, id]", key,
                       sl_json_type(json_object_get(step, key)));
    *id = (int32_t)value;
    return true;
}

static bool has_template(const struct sl_pipeline_parts *parts)
{
    return parts->post.single.count > 0;
}

static bool fail_second(struct sl_err *err)
{
    return sl_fail(err, SL_CORRUPT, "a second template: expected at most one");
}

static bool bert_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    int32_t begin = -1, end = -1;
    if (has_template(parts))
        return fail_second(err);
    if (!pair_id(step, "cls", &begin, err) || !pair_id(step, "sep", &end, err))
        return false;
    sl_post_processor_init(&parts->post, begin, end);
    return true;
}

static bool roberta_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    bool trims = true, prefix = true;
    int32_t begin = -1, end = -1;
    if (has_template(parts))
        return fail_second(err);
    if (!pair_id(step, "cls", &begin, err) || !pair_id(step, "sep", &end, err) ||
        !sl_member_flag(step, "trim_offsets", &trims, err) ||
        !sl_member_flag(step, "add_prefix_space", &prefix, err) ||
        (trims && !trim_add(parts, prefix, err)))
        return false;
    const struct sl_template_part first = {.kind = SL_TEMPLATE_FIRST},
                                  second = {.kind = SL_TEMPLATE_SECOND},
                                  start = {.kind = SL_TEMPLATE_SPECIAL, .id = begin},
                                  stop = {.kind = SL_TEMPLATE_SPECIAL, .id = end};
    parts->post.single = (struct sl_template){.parts = {start, first, stop}, .count = 3};
    parts->post.pair =
        (struct sl_template){.parts = {start, first, stop, stop, second, stop}, .count = 6};
    return true;
}

static bool byte_level_trim_build(const json_t *step, struct sl_pipeline_parts *parts,
                                  struct sl_err *err)
{
    bool trims = true, prefix = true;
    return sl_member_flag(step, "trim_offsets", &trims, err) &&
           sl_member_flag(step, "add_prefix_space", &prefix, err) &&
           (!trims || trim_add(parts, prefix, err));
}

/* The tokens of one special token of a template. */
static bool special_read(const json_t *specials, const char *name, int type,
                         struct sl_template *template, struct sl_err *err)
{
    const json_t *ids = json_object_get(json_object_get(specials, name), "ids"), *id;
    size_t i;
    if (!json_is_array(ids))
        return sl_fail(err, SL_CORRUPT, "special_tokens: no 'ids' of '%.64s'", name);
    json_array_foreach (ids, i, id) {
        json_int_t value = json_integer_value(id);
        if (!json_is_integer(id) || value < 0 || value >= SL_VOCAB_MAX)
            return sl_fail(err, SL_CORRUPT, "special_tokens: invalid id of '%.64s'", name);
        struct sl_template_part part = {SL_TEMPLATE_SPECIAL, (int32_t)value, type};
        if (!part_add(template, part, err))
            return false;
    }
    return true;
}

static bool template_part_read(const json_t *part, const json_t *specials,
                               struct sl_template *template, struct sl_err *err)
{
    const json_t *sequence = json_object_get(part, "Sequence");
    const json_t *special = json_object_get(part, "SpecialToken");
    const json_t *either = sequence ? sequence : special;
    int type = 0;
    const char *id = json_is_object(either) ? sl_json_text(either, "id", err) : NULL;
    if (!json_is_object(either) || json_object_size(part) != 1)
        return sl_fail(err, SL_CORRUPT, "expected either Sequence or SpecialToken");
    if (!id || !sl_member_whole(either, "type_id", 1 << 15, &type, err))
        return false;
    if (special)
        return special_read(specials, id, type, template, err);
    bool second = strcmp(id, "B") == 0;
    if (!second && strcmp(id, "A") != 0)
        return sl_fail(err, SL_CORRUPT, "unknown sequence '%.64s': expected A or B", id);
    return part_add(
        template,
        (struct sl_template_part){second ? SL_TEMPLATE_SECOND : SL_TEMPLATE_FIRST, -1, type}, err);
}

static bool template_read(const json_t *step, const char *key, struct sl_template *template,
                          struct sl_err *err)
{
    const json_t *list = json_object_get(step, key), *part;
    const json_t *specials = json_object_get(step, "special_tokens");
    size_t i;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return sl_fail(err, SL_CORRUPT, "'%s' is %s: expected an array of parts", key,
                       sl_json_type(list));
    json_array_foreach (list, i, part)
        if (!template_part_read(part, specials, template, err))
            return sl_wrap(err, "%s[%zu]", key, i);
    return true;
}

static bool template_has(const struct sl_template *template, enum sl_template_kind kind)
{
    for (int i = 0; i < template->count; i++)
        if (template->parts[i].kind == kind)
            return true;
    return false;
}

/* A text that has no place would be ignored without a word. */
static bool template_check(const struct sl_post_processor *post, struct sl_err *err)
{
    if (template_has(&post->single, SL_TEMPLATE_SECOND))
        return sl_fail(err, SL_CORRUPT, "'single' has a second text");
    if (!template_has(&post->single, SL_TEMPLATE_FIRST))
        return sl_fail(err, SL_CORRUPT, "'single' lacks the sequence A");
    return (template_has(&post->pair, SL_TEMPLATE_FIRST) &&
            template_has(&post->pair, SL_TEMPLATE_SECOND)) ||
           sl_fail(err, SL_CORRUPT, "'pair' lacks one of the sequences A and B");
}

static bool template_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    if (has_template(parts))
        return fail_second(err);
    return template_read(step, "single", &parts->post.single, err) &&
           template_read(step, "pair", &parts->post.pair, err) && template_check(&parts->post, err);
}

static const struct sl_step_type post_processors[] = {
    {"TemplateProcessing", template_build, 0},
    {"BertProcessing", bert_build, 0},
    {"RobertaProcessing", roberta_build, 0},
    {"ByteLevel", byte_level_trim_build, 0},
    {0},
};

const struct sl_step_section sl_post_processor_section = {"post_processor", "processors",
                                                          post_processors, NULL};

/* -- decoders --------------------------------------------------------------------------------- */

static bool decoder_add(struct sl_pipeline_parts *parts, struct sl_decoder_step step,
                        struct sl_err *err)
{
    if (parts->decoder.count == SL_DECODER_STEPS_MAX)
        return sl_fail(err, SL_CORRUPT, "more than %d steps", SL_DECODER_STEPS_MAX);
    parts->decoder.steps[parts->decoder.count++] = step;
    return true;
}

static bool decoder_kind_add(struct sl_pipeline_parts *parts, int kind, struct sl_err *err)
{
    return decoder_add(parts, (struct sl_decoder_step){.kind = (enum sl_decoder_kind)kind}, err);
}

static bool wordpiece_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_decoder_step decode = {.kind = SL_DECODE_WORDPIECE, .cleanup = true};
    return sl_member_short(step, "prefix", 0, &decode.text, err) &&
           sl_member_flag(step, "cleanup", &decode.cleanup, err) && decoder_add(parts, decode, err);
}

static bool metaspace_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_decoder_step decode = {.kind = SL_DECODE_METASPACE};
    return sl_member_short(step, "replacement", 1, &decode.text, err) &&
           sl_prepend_scheme_read(step, &decode.scheme, err) && decoder_add(parts, decode, err);
}

static bool suffix_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_decoder_step decode = {.kind = SL_DECODE_SUFFIX};
    return sl_member_short(step, "suffix", 1, &decode.text, err) && decoder_add(parts, decode, err);
}

static bool replace_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_decoder_step decode = {.kind = SL_DECODE_REPLACE};
    const json_t *pattern = sl_json_object(step, "pattern", err);
    return pattern && sl_member_short(pattern, "String", 1, &decode.text, err) &&
           sl_member_short(step, "content", 0, &decode.content, err) &&
           decoder_add(parts, decode, err);
}

static bool strip_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_decoder_step decode = {.kind = SL_DECODE_STRIP};
    return sl_member_short(step, "content", 1, &decode.text, err) &&
           sl_member_whole(step, "start", 1 << 10, &decode.start, err) &&
           sl_member_whole(step, "stop", 1 << 10, &decode.stop, err) &&
           decoder_add(parts, decode, err);
}

static const struct sl_step_type decoders[] = {
    {"ByteLevel", NULL, SL_DECODE_BYTE_LEVEL},
    {"WordPiece", wordpiece_build, 0},
    {"Metaspace", metaspace_build, 0},
    {"BPEDecoder", suffix_build, 0},
    {"Replace", replace_build, 0},
    {"Strip", strip_build, 0},
    {"Fuse", NULL, SL_DECODE_FUSE},
    {"ByteFallback", NULL, SL_DECODE_BYTE_FALLBACK},
    {0},
};

const struct sl_step_section sl_decoder_section = {"decoder", "decoders", decoders,
                                                   decoder_kind_add};
