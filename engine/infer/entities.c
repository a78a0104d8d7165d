/* entities.c - the rules of TokenClassificationPipeline in Hugging Face's transformers. */
#include "sluice/entities.h"

#include "base/buffer.h"
#include "base/utf8.h"
#include "sluice/logits.h"

#include <stdlib.h>
#include <string.h>

const char *const sl_aggregations[] = {
    [SL_AGGREGATE_NONE] = "none",   [SL_AGGREGATE_SIMPLE] = "simple",
    [SL_AGGREGATE_FIRST] = "first", [SL_AGGREGATE_AVERAGE] = "average",
    [SL_AGGREGATE_MAX] = "max",     NULL};

/* A token, or a word, or an entity. */
struct span {
    int label;
    float score;
    size_t start, stop;     /* in characters */
    size_t word, word_stop; /* within the words */
    int token;
    bool continues; /* it is no first token of a word */
};

struct finder {
    const struct sl_model *model;
    const struct sl_tokenizer *tokenizer;
    const struct sl_classified_tokens *tokens;
    enum sl_aggregation how;
    int classes;
    float *scores; /* of each span that is a token, a row of probabilities; then a row to use */
    struct span *spans;
    int count;
    struct sl_piece *pieces; /* to join */
    struct sl_buffer words;
    size_t byte, character; /* of the text: the same place */
};

/* -- tokens ----------------------------------------------------------------------------------- */

/* The character at a byte. Tokens ascend, but those of one character begin at the same. */
static size_t character_at(struct finder *f, size_t byte)
{
    if (byte < f->byte)
        f->byte = f->character = 0;
    f->character += sl_utf8_count(f->tokens->text + f->byte, byte - f->byte);
    f->byte = byte;
    return f->character;
}

static struct sl_piece text_of(const struct finder *f, const struct sl_token_offset *offset)
{
    return (struct sl_piece){f->tokens->text + offset->start, offset->stop - offset->start};
}

static bool has_space(const struct finder *f, size_t byte)
{
    return byte < f->tokens->bytes && f->tokens->text[byte] == ' ';
}

/* Where pieces within a word are marked, a token without its mark is as long as its text. */
static bool is_continuation(const struct finder *f, const struct span *s, struct sl_piece piece,
                            const struct sl_token_offset *offset)
{
    if (sl_tokenizer_marks_continuations(f->tokenizer))
        return sl_utf8_count(piece.text, piece.bytes) != s->stop - s->start;
    return offset->start > 0 && !has_space(f, offset->start - 1) && !has_space(f, offset->start);
}

static void append(struct finder *f, struct span *s, struct sl_piece text)
{
    s->word = f->words.bytes;
    sl_buffer_append(&f->words, text.text, text.bytes);
    s->word_stop = f->words.bytes;
}

static float *scores_of(const struct finder *f, int row)
{
    return f->scores + (size_t)row * (size_t)f->classes;
}

static void set_best(const struct finder *f, struct span *s, const float *scores)
{
    s->label = sl_argmax(scores, f->classes);
    s->score = scores[s->label];
}

static void add_token(struct finder *f, int i)
{
    const struct sl_token_offset *offset = &f->tokens->offsets[i];
    const int32_t id = f->tokens->ids[i];
    const bool unknown = id == sl_tokenizer_special(f->tokenizer, SL_SPECIAL_UNKNOWN);
    struct span *s = &f->spans[f->count];
    struct sl_piece piece, source = text_of(f, offset);
    piece.text = sl_tokenizer_piece(f->tokenizer, id, &piece.bytes);
    *s = (struct span){.token = i, .start = character_at(f, offset->start)};
    s->stop = s->start + sl_utf8_count(source.text, source.bytes);
    s->continues = !unknown && is_continuation(f, s, piece, offset);
    append(f, s, unknown ? source : piece);
    float *scores = scores_of(f, f->count++);
    sl_softmax(f->tokens->logits + (size_t)i * (size_t)f->classes, f->classes, scores);
    set_best(f, s, scores);
}

/* -- several become one ----------------------------------------------------------------------- */

/* The words of spans, as the tokenizer joins them. */
static bool join(struct finder *f, int first, int count, struct span *s, struct sl_err *err)
{
    size_t room = 16;
    for (int i = 0; i < count; i++) {
        const struct span *part = &f->spans[first + i];
        f->pieces[i] = (struct sl_piece){f->words.data + part->word, part->word_stop - part->word};
        room += 3 * f->pieces[i].bytes + 1; /* a byte may become U+FFFD */
    }
    char *text = malloc(room);
    if (!text)
        return sl_fail(err, SL_NO_MEMORY, "no memory for a word of %zu bytes", room);
    const struct sl_decoding decoding = {
        .pieces = f->pieces, .count = count, .text = text, .capacity = room};
    long bytes = sl_tokenizer_decode(f->tokenizer, &decoding, err);
    if (bytes >= 0)
        append(f, s, (struct sl_piece){text, (size_t)bytes < room ? (size_t)bytes : room});
    free(text);
    return bytes >= 0;
}

/* Of the tokens of a word, by the strategy. */
static void set_label_of_word(struct finder *f, int first, int count, struct span *s)
{
    float *mean = scores_of(f, f->tokens->count);
    const struct span *surest = &f->spans[first];
    for (int i = 1; i < count && f->how == SL_AGGREGATE_MAX; i++)
        if (f->spans[first + i].score > surest->score)
            surest = &f->spans[first + i];
    s->label = surest->label;
    s->score = surest->score;
    if (f->how != SL_AGGREGATE_AVERAGE)
        return;
    for (int c = 0; c < f->classes; c++) {
        double sum = 0.0;
        for (int i = 0; i < count; i++)
            sum += (double)scores_of(f, first + i)[c];
        mean[c] = (float)(sum / count);
    }
    set_best(f, s, mean);
}

/* The spans are those of words or of tokens, side by side. */
static void set_label_of_entity(struct finder *f, int first, int count, struct span *s)
{
    double sum = 0.0;
    for (int i = 0; i < count; i++)
        sum += (double)f->spans[first + i].score;
    s->label = f->spans[first].label;
    s->score = (float)(sum / count);
}

/* A label without B- or I-, and whether it begins an entity. */
static const char *tag_of(const char *label, bool *begins)
{
    *begins = strncmp(label, "B-", 2) == 0;
    return *begins || strncmp(label, "I-", 2) == 0 ? label + 2 : label;
}

static const char *label_of(const struct finder *f, const struct span *s)
{
    return sl_model_info(f->model)->labels[s->label];
}

static bool is_same_word(const struct finder *f, int index)
{
    return f->spans[index].continues;
}

static bool is_same_entity(const struct finder *f, int index)
{
    bool begins, before;
    const char *tag = tag_of(label_of(f, &f->spans[index]), &begins);
    return strcmp(tag, tag_of(label_of(f, &f->spans[index - 1]), &before)) == 0 && !begins;
}

/* Runs of spans become one each, in place. */
static bool fuse(struct finder *f, bool (*is_same)(const struct finder *f, int index),
                 void (*set_label)(struct finder *f, int first, int count, struct span *s),
                 struct sl_err *err)
{
    int fused = 0;
    for (int first = 0, next; first < f->count; first = next) {
        for (next = first + 1; next < f->count && is_same(f, next);)
            next++;
        struct span s = {.start = f->spans[first].start, .stop = f->spans[next - 1].stop};
        set_label(f, first, next - first, &s);
        if (!join(f, first, next - first, &s, err))
            return false;
        f->spans[fused++] = s;
    }
    f->count = fused;
    return true;
}

/* -- all of it -------------------------------------------------------------------------------- */

static bool allocate(struct finder *f, struct sl_err *err)
{
    const size_t count = (size_t)f->tokens->count + 1;
    f->scores = calloc(count * (size_t)f->classes, sizeof *f->scores);
    f->spans = calloc(count, sizeof *f->spans);
    f->pieces = calloc(count, sizeof *f->pieces);
    return (f->scores && f->spans && f->pieces) ||
           sl_fail(err, SL_NO_MEMORY, "no memory for the labels of %d tokens", f->tokens->count);
}

static bool find(struct finder *f, struct sl_err *err)
{
    for (int i = 0; i < f->tokens->count; i++)
        if (!f->tokens->offsets[i].special)
            add_token(f, i);
    if (!sl_buffer_check(&f->words, err))
        return false;
    if (f->how > SL_AGGREGATE_SIMPLE && !fuse(f, is_same_word, set_label_of_word, err))
        return false;
    return f->how == SL_AGGREGATE_NONE || fuse(f, is_same_entity, set_label_of_entity, err);
}

/* Without what is before the first -, as it is in names of entities. */
static const char *printed_label(const struct finder *f, const struct span *s)
{
    const char *label = label_of(f, s), *dash = strchr(label, '-');
    return f->how == SL_AGGREGATE_NONE || !dash ? label : dash + 1;
}

static bool is_ignored(const char *label, const char *const *ignored)
{
    while (*ignored && strcmp(*ignored, label) != 0)
        ignored++;
    return *ignored != NULL;
}

static bool take(struct finder *f, const char *const *ignored, struct sl_entities *entities,
                 struct sl_err *err)
{
    if (!sl_buffer_check(&f->words, err))
        return false;
    entities->words = sl_buffer_take(&f->words);
    entities->items = calloc((size_t)f->count + 1, sizeof *entities->items);
    if (!entities->items)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d entities", f->count);
    for (int i = 0; i < f->count; i++) {
        const struct span *s = &f->spans[i];
        const char *label = printed_label(f, s);
        if (is_ignored(label, ignored))
            continue;
        entities->items[entities->count++] =
            (struct sl_entity){.label = label,
                               .word = {entities->words + s->word, s->word_stop - s->word},
                               .score = s->score,
                               .start = s->start,
                               .stop = s->stop,
                               .token = s->token};
    }
    return true;
}

bool sl_entities_find(const struct sl_model *model, const struct sl_classified_tokens *tokens,
                      enum sl_aggregation how, const char *const *ignored,
                      struct sl_entities *entities, struct sl_err *err)
{
    struct finder f = {.model = model,
                       .tokenizer = sl_model_tokenizer(model),
                       .tokens = tokens,
                       .how = how,
                       .classes = sl_model_info(model)->classes};
    *entities = (struct sl_entities){0};
    bool ok = allocate(&f, err) && find(&f, err) && take(&f, ignored, entities, err);
    free(f.scores);
    free(f.spans);
    free(f.pieces);
    sl_buffer_release(&f.words);
    return ok;
}

void sl_entities_release(struct sl_entities *entities)
{
    free(entities->items);
    free(entities->words);
    *entities = (struct sl_entities){0};
}
