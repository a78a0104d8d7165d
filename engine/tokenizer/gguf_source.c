/* gguf_source.c - the sections of tokenizer.json, in the order of Hugging Face's files. */
#include "tokenizer/gguf_source.h"

#include "base/json_writer.h"
#include "tokenizer/split_rules.h"

#include <string.h>

bool sl_gguf_is_added(const struct sl_gguf_vocabulary *v, int32_t id)
{
    return (v->types[id] == SL_GGUF_CONTROL || v->types[id] == SL_GGUF_USER) &&
           v->pieces[id].bytes > 0;
}

static void add_tokens(struct sl_json_writer *json, const struct sl_gguf_vocabulary *v)
{
    sl_json_add(json, "'added_tokens':[");
    for (int32_t id = 0; id < v->count; id++)
        if (sl_gguf_is_added(v, id))
            sl_json_add(json,
                        "{'id':%d,'content':%.*s,'single_word':false,'lstrip':false,"
                        "'rstrip':false,'normalized':false,'special':%i}",
                        id, (int)v->pieces[id].bytes, v->pieces[id].text,
                        v->types[id] == SL_GGUF_CONTROL);
    sl_json_end_array(json);
}

static void add_splitter(struct sl_json_writer *json, const struct sl_gguf_splitter *splitter)
{
    const char *expression = sl_split_rules_expression(sl_split_rules_named(splitter->rules));
    sl_json_add(json, "'pre_tokenizer':{'type':'Sequence','pretokenizers':[");
    if (splitter->digits)
        sl_json_add(json, "{'type':'Digits','individual_digits':true}");
    sl_json_add(json,
                "{'type':'Split','pattern':{'Regex':%s},'behavior':'Isolated','invert':false},"
                "{'type':'ByteLevel','add_prefix_space':false,'trim_offsets':false,"
                "'use_regex':false}]}",
                expression);
}

/* A token around a text is a part of the template. */
static void add_special(struct sl_json_writer *json, const struct sl_gguf_vocabulary *v, int32_t id)
{
    if (id >= 0)
        sl_json_add(json, "{'SpecialToken':{'id':%.*s,'type_id':0}}", (int)v->pieces[id].bytes,
                    v->pieces[id].text);
}

static void add_ids(struct sl_json_writer *json, const struct sl_gguf_vocabulary *v, int32_t id)
{
    const struct sl_piece *piece = &v->pieces[id < 0 ? 0 : id];
    if (id < 0)
        return;
    (void)sl_json_key_bytes(json, piece->text, piece->bytes);
    sl_json_add(json, "{'id':%.*s,'ids':[%d],'tokens':[%.*s]}", (int)piece->bytes, piece->text, id,
                (int)piece->bytes, piece->text);
}

static void add_template(struct sl_json_writer *json, const struct sl_gguf_vocabulary *v)
{
    const int32_t begin = v->adds_begin ? v->begin : -1, end = v->adds_end ? v->end : -1;
    if (begin < 0 && end < 0) {
        sl_json_add(json, "'post_processor':null");
        return;
    }
    sl_json_add(json, "'post_processor':{'type':'TemplateProcessing'");
    for (int both = 0; both < 2; both++) {
        sl_json_begin_array(sl_json_key(json, both ? "pair" : "single"));
        add_special(json, v, begin);
        sl_json_add(json, "{'Sequence':{'id':'A','type_id':0}}");
        add_special(json, v, end);
        if (both) {
            add_special(json, v, begin);
            sl_json_add(json, "{'Sequence':{'id':'B','type_id':0}}");
            add_special(json, v, end);
        }
        sl_json_end_array(json);
    }
    sl_json_add(json, "'special_tokens':{");
    add_ids(json, v, begin);
    if (end != begin)
        add_ids(json, v, end);
    sl_json_add(json, "}}");
}

static void add_vocabulary(struct sl_json_writer *json, const struct sl_gguf_source *s)
{
    sl_json_add(json, "'vocab':{");
    for (int32_t id = 0; id < s->vocabulary->count; id++)
        sl_json_add_int(sl_json_key_bytes(json, s->pieces[id].text, s->pieces[id].bytes), id);
    sl_json_end_object(json);
}

/* Of merges with the same rank the leftmost in a text is first, which the order of a list alone
 * cannot say. */
static void add_ranked_merges(struct sl_json_writer *json, const struct sl_gguf_source *s)
{
    sl_json_add(json, "'merges':[");
    for (size_t i = 0; i < s->merge_count; i++) {
        const struct sl_merge *m = &s->merges[i];
        sl_json_add(json, "[%.*s,%.*s]", (int)m->left.bytes, m->left.text, (int)m->right.bytes,
                    m->right.text);
    }
    sl_json_add(json, "],'sluice_ranks':[");
    for (size_t i = 0; i < s->merge_count; i++)
        sl_json_add_int(json, s->merges[i].rank);
    sl_json_end_array(json);
}

static void add_merges(struct sl_json_writer *json, const struct sl_gguf_vocabulary *v)
{
    sl_json_add(json, "'merges':[");
    for (size_t i = 0; i < v->merge_count; i++)
        sl_json_add_bytes(json, v->merges[i].text, v->merges[i].bytes);
    sl_json_end_array(json);
}

static void add_raw(struct sl_json_writer *json, const char *key, const char *text)
{
    sl_json_add_raw(sl_json_key(json, key), text, strlen(text));
}

static void print_byte_level(struct sl_json_writer *json, const struct sl_gguf_source *s)
{
    sl_json_add(json, s->splitter->composes ? "'normalizer':{'type':'NFC'}" : "'normalizer':null");
    add_splitter(json, s->splitter);
    add_template(json, s->vocabulary);
    sl_json_add(json, "'decoder':{'type':'ByteLevel','add_prefix_space':true,"
                      "'trim_offsets':true,'use_regex':true}");
    sl_json_add(json,
                "'model':{'type':'BPE','dropout':null,'unk_token':null,"
                "'continuing_subword_prefix':null,'end_of_word_suffix':null,'fuse_unk':false,"
                "'byte_fallback':false,'ignore_merges':%i",
                s->splitter->ignore_merges);
    add_vocabulary(json, s);
    add_merges(json, s->vocabulary);
    sl_json_end_object(json);
}

static void print_sections(struct sl_json_writer *json, const struct sl_gguf_source *s)
{
    const struct sl_gguf_vocabulary *v = s->vocabulary;
    add_raw(json, "normalizer", s->sections->normalizer);
    add_raw(json, "pre_tokenizer", s->sections->pre_tokenizer);
    add_template(json, v);
    add_raw(json, "decoder", s->sections->decoder);
    sl_json_begin_object(sl_json_key(json, "model"));
    sl_json_add_raw(json, s->sections->model, strlen(s->sections->model));
    if (v->unknown >= 0)
        sl_json_add(json, "'unk_token':%.*s", (int)s->pieces[v->unknown].bytes,
                    s->pieces[v->unknown].text);
    add_vocabulary(json, s);
    if (s->merges)
        add_ranked_merges(json, s);
    sl_json_end_object(json);
}

#define BLANK_SIGN "\xE2\x96\x81"
#define REPLACE                                                                                    \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" BLANK_SIGN "\"}"
#define RESTORE                                                                                    \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" BLANK_SIGN "\"},\"content\":\" \"},"        \
    "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}"
#define SCORED "\"type\":\"BPE\",\"dropout\":null,\"fuse_unk\":true,\"byte_fallback\":true"

const struct sl_gguf_sections sl_gguf_llama_sections = {
    .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\","
                  "\"prepend\":\"" BLANK_SIGN "\"}," REPLACE "]}",
    .pre_tokenizer = "null",
    .decoder = "{\"type\":\"Sequence\",\"decoders\":[" RESTORE
               ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]}",
    .model = SCORED,
};

const struct sl_gguf_sections sl_gguf_unprefixed_sections = {
    .normalizer = REPLACE,
    .pre_tokenizer = "null",
    .decoder = "{\"type\":\"Sequence\",\"decoders\":[" RESTORE "]}",
    .model = SCORED,
};

const struct sl_gguf_sections sl_gguf_bert_sections = {
    .normalizer = "{\"type\":\"BertNormalizer\",\"clean_text\":true,"
                  "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}",
    .pre_tokenizer = "{\"type\":\"BertPreTokenizer\"}",
    .decoder = "{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}",
    .model = "\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\","
             "\"max_input_chars_per_word\":100",
};

void sl_gguf_source_print(struct sl_buffer *out, const struct sl_gguf_source *source)
{
    struct sl_json_writer json = {.out = out};
    sl_json_add(&json, "{'version':'1.0','truncation':null,'padding':null");
    add_tokens(&json, source->vocabulary);
    (source->splitter ? print_byte_level : print_sections)(&json, source);
    sl_json_end_object(&json);
}
