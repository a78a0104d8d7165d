/* tokenizer_json_normalizers.c - the normalizers and pre-tokenizers of tokenizer.json: a function
 * per type, and two tables of them. */
#include "formats/tokenizer_json_parts.h"

#include "formats/json_io.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* -- normalizers ------------------------------------------------------------------------------ */

static bool normalizer_add(struct sl_pipeline_parts *parts, struct sl_normalizer_step step,
                           struct sl_err *err)
{
    if (parts->normalizer_count == SL_PIPELINE_STEPS_MAX)
        return sl_fail(err, SL_CORRUPT, "more than %d steps", SL_PIPELINE_STEPS_MAX);
    parts->normalizers[parts->normalizer_count++] = step;
    return true;
}

static bool kind_add(struct sl_pipeline_parts *parts, int kind, struct sl_err *err)
{
    const struct sl_normalizer_step step = {.kind = (enum sl_normalizer_kind)kind};
    return normalizer_add(parts, step, err);
}

static bool bert_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    bool clean = true, ideographs = true, lower = true;
    if (!sl_member_flag(step, "clean_text", &clean, err) ||
        !sl_member_flag(step, "handle_chinese_chars", &ideographs, err) ||
        !sl_member_flag(step, "lowercase", &lower, err))
        return false;
    bool strip = lower;
    if (!sl_member_flag(step, "strip_accents", &strip, err))
        return false;
    parts->is_bert = parts->normalizer_count == 0 && clean && ideographs && strip == lower;
    parts->bert_lower = lower;
    return (!clean || kind_add(parts, SL_NORMALIZE_CLEAN, err)) &&
           (!ideographs || kind_add(parts, SL_NORMALIZE_IDEOGRAPHS, err)) &&
           (!strip || (kind_add(parts, SL_NORMALIZE_NFD, err) &&
                       kind_add(parts, SL_NORMALIZE_NONSPACING, err))) &&
           (!lower || kind_add(parts, SL_NORMALIZE_LOWERCASE, err));
}

static bool strip_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_normalizer_step strip = {.kind = SL_NORMALIZE_STRIP, .left = true, .right = true};
    return sl_member_flag(step, "strip_left", &strip.left, err) &&
           sl_member_flag(step, "strip_right", &strip.right, err) &&
           normalizer_add(parts, strip, err);
}

static bool prepend_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_normalizer_step prepend = {.kind = SL_NORMALIZE_PREPEND};
    return sl_member_short(step, "prepend", 0, &prepend.content, err) &&
           normalizer_add(parts, prepend, err);
}

/* A pattern is {"String": text} or {"Regex": expression}. */
static const char *regex_of(const json_t *pattern)
{
    return json_string_value(json_object_get(pattern, "Regex"));
}

static bool replace_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_normalizer_step replace = {.kind = SL_NORMALIZE_REPLACE};
    const json_t *pattern = sl_json_object(step, "pattern", err);
    if (!pattern || !sl_member_short(step, "content", 0, &replace.content, err))
        return false;
    const char *regex = regex_of(pattern);
    if (regex && (replace.run = sl_run_find(regex)) == SL_RUN_NONE)
        return sl_fail(err, SL_CORRUPT, "unknown regular expression '%.200s'", regex);
    return (regex || sl_member_short(pattern, "String", 1, &replace.pattern, err)) &&
           normalizer_add(parts, replace, err);
}

/* The value of a digit of base 64 (RFC 4648); -1: none. */
static int digit_of(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* free() the result; NULL: not base 64, or no memory. */
static char *base64_read(const char *text, size_t bytes, size_t *count)
{
    char *out = malloc(bytes / 4 * 3 + 3);
    uint32_t held = 0;
    int bits = 0;
    *count = 0;
    while (bytes > 0 && text[bytes - 1] == '=')
        bytes--;
    for (size_t i = 0; out && i < bytes; i++) {
        int digit = digit_of(text[i]);
        if (digit < 0) {
            free(out);
            return NULL;
        }
        held = held << 6 | (uint32_t)digit;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        out[(*count)++] = (char)(unsigned char)(held >> bits);
    }
    return out;
}

static bool map_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_normalizer_step map = {.kind = SL_NORMALIZE_MAP};
    const char *text = sl_json_text(step, "precompiled_charsmap", err);
    size_t count;
    if (!text)
        return false;
    char *data = base64_read(text, strlen(text), &count);
    if (!data)
        return sl_fail(err, SL_CORRUPT, "'precompiled_charsmap' is not base 64");
    map.map = sl_character_map_create(data, count, err);
    free(data);
    if (!map.map)
        return false;
    bool added = normalizer_add(parts, map, err);
    if (!added)
        sl_character_map_destroy(map.map);
    return added;
}

static const struct sl_step_type normalizers[] = {
    {"BertNormalizer", bert_build, 0},
    {"NFC", NULL, SL_NORMALIZE_NFC},
    {"NFD", NULL, SL_NORMALIZE_NFD},
    {"NFKC", NULL, SL_NORMALIZE_NFKC},
    {"NFKD", NULL, SL_NORMALIZE_NFKD},
    {"Lowercase", NULL, SL_NORMALIZE_LOWERCASE},
    {"StripAccents", NULL, SL_NORMALIZE_MARKS},
    {"Strip", strip_build, 0},
    {"Prepend", prepend_build, 0},
    {"Replace", replace_build, 0},
    {"Precompiled", map_build, 0},
    {"Nmt", NULL, SL_NORMALIZE_NMT},
    {0},
};

const struct sl_step_section sl_normalizer_section = {"normalizer", "normalizers", normalizers,
                                                      kind_add};

/* -- pre-tokenizers --------------------------------------------------------------------------- */

static bool splitter_add(struct sl_pipeline_parts *parts, struct sl_pre_tokenizer_step step,
                         struct sl_err *err)
{
    if (parts->model.byte_level)
        return sl_fail(err, SL_CORRUPT, "a step after ByteLevel: expected ByteLevel last");
    if (parts->pre_tokenizer_count == SL_PIPELINE_STEPS_MAX)
        return sl_fail(err, SL_CORRUPT, "more than %d steps", SL_PIPELINE_STEPS_MAX);
    parts->pre_tokenizers[parts->pre_tokenizer_count++] = step;
    return true;
}

static bool splitter_kind_add(struct sl_pipeline_parts *parts, int kind, struct sl_err *err)
{
    const struct sl_pre_tokenizer_step step = {.kind = (enum sl_pre_tokenizer_kind)kind};
    return splitter_add(parts, step, err);
}

static bool behavior_read(const json_t *step, enum sl_match_behavior *behavior, struct sl_err *err)
{
    const char *name = NULL;
    if (!sl_member_text(step, "behavior", &name, err))
        return false;
    return !name || sl_match_behavior_find(name, behavior) ||
           sl_fail(err, SL_CORRUPT, "unknown behavior '%.64s'", name);
}

static bool punctuation_build(const json_t *step, struct sl_pipeline_parts *parts,
                              struct sl_err *err)
{
    struct sl_pre_tokenizer_step split = {.kind = SL_SPLIT_PUNCTUATION,
                                          .behavior = SL_MATCH_ISOLATED};
    return behavior_read(step, &split.behavior, err) && splitter_add(parts, split, err);
}

static bool digits_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_pre_tokenizer_step split = {.kind = SL_SPLIT_DIGITS};
    bool individual = false;
    if (!sl_member_flag(step, "individual_digits", &individual, err))
        return false;
    split.behavior = individual ? SL_MATCH_ISOLATED : SL_MATCH_CONTIGUOUS;
    return splitter_add(parts, split, err);
}

static bool split_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_pre_tokenizer_step split = {.kind = SL_SPLIT_TEXT, .behavior = SL_MATCH_ISOLATED};
    const json_t *pattern = sl_json_object(step, "pattern", err);
    if (!pattern || !behavior_read(step, &split.behavior, err) ||
        !sl_member_flag(step, "invert", &split.invert, err))
        return false;
    const char *regex = regex_of(pattern);
    if (!regex)
        return sl_member_short(pattern, "String", 1, &split.text, err) &&
               splitter_add(parts, split, err);
    split.kind = SL_SPLIT_RULES;
    split.rules = sl_split_rules_find(regex);
    if (!split.rules)
        return sl_fail(err, SL_CORRUPT, "unknown regular expression '%.400s'", regex);
    return splitter_add(parts, split, err);
}

bool sl_prepend_scheme_read(const json_t *step, enum sl_prepend_scheme *scheme, struct sl_err *err)
{
    static const char *const names[] = {
        [SL_PREPEND_ALWAYS] = "always", [SL_PREPEND_FIRST] = "first", [SL_PREPEND_NEVER] = "never"};
    const char *name = names[SL_PREPEND_ALWAYS];
    bool adds = true;
    if (!sl_member_text(step, "prepend_scheme", &name, err) ||
        !sl_member_flag(step, "add_prefix_space", &adds, err))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *scheme = adds ? (enum sl_prepend_scheme)i : SL_PREPEND_NEVER;
            return true;
        }
    return sl_fail(err, SL_CORRUPT, "unknown prepend_scheme '%.64s'", name);
}

static bool metaspace_build(const json_t *step, struct sl_pipeline_parts *parts, struct sl_err *err)
{
    struct sl_pre_tokenizer_step split = {.kind = SL_SPLIT_METASPACE, .splits = true};
    return sl_member_short(step, "replacement", 1, &split.text, err) &&
           sl_prepend_scheme_read(step, &split.scheme, err) &&
           sl_member_flag(step, "split", &split.splits, err) && splitter_add(parts, split, err);
}

static bool byte_level_build(const json_t *step, struct sl_pipeline_parts *parts,
                             struct sl_err *err)
{
    const struct sl_pre_tokenizer_step words = {.kind = SL_SPLIT_RULES,
                                                .rules = sl_split_rules_named("gpt-2"),
                                                .behavior = SL_MATCH_ISOLATED};
    bool prefix = true, regex = true;
    if (!sl_member_flag(step, "add_prefix_space", &prefix, err) ||
        !sl_member_flag(step, "use_regex", &regex, err) ||
        (prefix && !splitter_kind_add(parts, SL_SPLIT_PREFIX, err)) ||
        (regex && !splitter_add(parts, words, err)))
        return false;
    if (parts->model.byte_level)
        return sl_fail(err, SL_CORRUPT, "a second ByteLevel");
    parts->model.byte_level = true;
    return true;
}

static const struct sl_step_type pre_tokenizers[] = {
    {"BertPreTokenizer", NULL, SL_SPLIT_BERT},
    {"Whitespace", NULL, SL_SPLIT_WORDS},
    {"WhitespaceSplit", NULL, SL_SPLIT_SPACES},
    {"ByteLevel", byte_level_build, 0},
    {"Metaspace", metaspace_build, 0},
    {"Split", split_build, 0},
    {"Digits", digits_build, 0},
    {"Punctuation", punctuation_build, 0},
    {0},
};

const struct sl_step_section sl_pre_tokenizer_section = {"pre_tokenizer", "pretokenizers",
                                                         pre_tokenizers, splitter_kind_add};
