/* print_classifications.c - classified texts as a table, as rows, or as JSON. */
#include "base/explained_words.h"
#include "sluicectl/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64 };

/* One text's part of the outputs of a response. */
struct classification {
    const char *text;
    const json_t *top; /* value:class:label, of all texts */
    size_t first, count;
    bool has_none; /* no label: the first item has the highest score */
    double depth;
    int64_t tokens_cut;
    json_t *explanation, *tokens; /* arrays; NULL: not requested */
    struct sl_explained_word words[WORDS_MAX];
    int word_count;
};

const json_t *print_output(const json_t *response, const char *name)
{
    const json_t *outputs = json_object_get(response, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *one = json_array_get(outputs, i);
        const char *own = json_string_value(json_object_get(one, "name"));
        if (own && strcmp(own, name) == 0)
            return json_object_get(one, "data");
    }
    return NULL;
}

/* Splits value:class:label. */
static const char *label_of(const json_t *item, double *value)
{
    char *rest;
    const char *text = json_string_value(item);
    *value = strtod(text ? text : "", &rest);
    rest += *rest == ':';
    (void)strtol(rest, &rest, 10);
    return rest + (*rest == ':');
}

static void print_object(const struct classification *v)
{
    json_t *labels = json_array();
    for (size_t i = 0; i < v->count && !v->has_none; i++) {
        double value;
        const char *label = label_of(json_array_get(v->top, v->first + i), &value);
        (void)json_array_append_new(labels,
                                    json_pack("{s:s, s:f}", "label", label, "score", value));
    }
    json_t *object = json_pack("{s:s, s:o, s:f, s:I}", "text", v->text, "labels", labels, "depth",
                               v->depth, "tokens_cut", (json_int_t)v->tokens_cut);
    if (v->explanation)
        (void)json_object_set(object, "words", v->explanation);
    if (v->tokens)
        (void)json_object_set(object, "tokens", v->tokens);
    (void)json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    (void)putchar('\n');
    json_decref(object);
}

/* Rounded to six digits a score near 1 would be 1, which no classifier means. */
static const char *read_label(const struct classification *v, size_t index, double *score)
{
    const char *label = label_of(json_array_get(v->top, v->first + index), score);
    *score = sl_printed_score(*score);
    return v->has_none ? "" : label;
}

static void print_text(const struct classification *v)
{
    const bool colors = sl_output_has_colors();
    if (v->tokens && colors)
        print_text_in_depths(v->text, v->tokens);
    else
        sl_print_colored(v->text, strlen(v->text), v->words, colors ? v->word_count : 0);
}

/* A line for each label; the first has the text. */
static void print_lines(const struct classification *v)
{
    for (size_t i = 0; i < v->count; i++) {
        double value;
        const char *label = read_label(v, i, &value);
        (void)printf("%-20s %11.6g", label, value);
        if (i == 0) {
            if (v->depth > 0.0)
                (void)printf(" %7.2f  ", v->depth);
            else
                (void)printf(" %7s  ", "-"); /* a model without layers */
            print_text(v);
            (void)fputs(v->tokens_cut > 0 ? "  [cut]" : "", stdout);
        }
        (void)putchar('\n');
    }
}

void print_cell(const char *text, char end)
{
    sl_print_text(text, strlen(text));
    (void)putchar(end);
}

static void print_rows(const struct classification *v)
{
    for (size_t i = 0; i < v->count; i++) {
        double value;
        print_cell(read_label(v, i, &value), '\t');
        (void)printf("%.6g\t", value);
        sl_print_text(v->text, strlen(v->text));
        if (v->explanation)
            (void)putchar('\t');
        if (i == 0)
            sl_print_words(v->text, v->words, v->word_count);
        if (v->tokens)
            (void)putchar('\t');
        if (i == 0)
            print_depth_words(v->text, v->tokens);
        (void)putchar('\n');
    }
}

static void print_classification(struct class_printer *printer,
                                 const struct classification *classification)
{
    static void (*const print[])(const struct classification *) = {
        [PRINT_TABLE] = print_lines, [PRINT_ROWS] = print_rows, [PRINT_OBJECTS] = print_object};

    if (printer->texts == 0 && printer->format == PRINT_TABLE)
        (void)printf("%-20s %11s %7s  %s\n", "LABEL", "SCORE", "DEPTH", "TEXT");
    print[printer->format](classification);
    printer->texts++;
    printer->truncated += classification->tokens_cut > 0;
}

/* Leaves out the labels whose score is too low. */
static void choose_labels(struct classification *v, double score_min)
{
    double value;
    while (v->count > 0) {
        (void)label_of(json_array_get(v->top, v->first + v->count - 1), &value);
        if (value >= score_min)
            return;
        v->count--;
    }
    v->has_none = true;
    v->count = 1;
}

/* The outputs "words" and "tokens" have an array in a string for each text. */
static json_t *read_array(const json_t *output, size_t index)
{
    const char *text = json_string_value(json_array_get(output, index));
    json_error_t error;
    return text ? json_loads(text, 0, &error) : NULL;
}

static void read_words(const json_t *output, size_t index, struct classification *v)
{
    size_t bytes = strlen(v->text);
    v->explanation = read_array(output, index);
    for (size_t i = 0; i < json_array_size(v->explanation) && i < WORDS_MAX; i++) {
        const json_t *word = json_array_get(v->explanation, i);
        json_int_t start = json_integer_value(json_object_get(word, "start"));
        json_int_t stop = json_integer_value(json_object_get(word, "stop"));
        if (start >= 0 && start <= stop && (size_t)stop <= bytes)
            v->words[v->word_count++] = (struct sl_explained_word){
                .start = (size_t)start,
                .stop = (size_t)stop,
                .contribution = json_number_value(json_object_get(word, "contribution"))};
    }
}

bool print_classes(struct class_printer *printer, const struct sl_buffer *body,
                   const char *const *texts, int count, struct client_error *failure)
{
    json_error_t error;
    json_t *response = json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
    const json_t *top = print_output(response, "probs"), *depths = print_output(response, "depth");
    const json_t *cut = print_output(response, "truncated");
    const json_t *words = print_output(response, "words"),
                 *tokens = print_output(response, "tokens");
    size_t texts_count = (size_t)count, classes = json_array_size(top) / texts_count;
    bool good = classes > 0 && json_array_size(depths) == texts_count &&
                json_array_size(cut) == texts_count;
    for (size_t i = 0; good && i < texts_count; i++) {
        struct classification classification = {
            .text = texts[i],
            .top = top,
            .first = i * classes,
            .count = classes,
            .depth = json_number_value(json_array_get(depths, i)),
            .tokens = read_array(tokens, i),
            .tokens_cut = json_integer_value(json_array_get(cut, i))};
        choose_labels(&classification, printer->score_min);
        read_words(words, i, &classification);
        print_classification(printer, &classification);
        json_decref(classification.explanation);
        json_decref(classification.tokens);
    }
    json_decref(response);
    return good ||
           client_error_set(failure, EXIT_FAILED, "malformed response: no classification in it");
}

bool print_info(struct print_info *info, const struct sl_buffer *body, struct client_error *failure)
{
    json_error_t error;
    json_t *response = json_loadb(body->data ? body->data : "", body->bytes, 0, &error);
    const json_t *limits = json_object_get(response, "sluice");
    const json_t *type = json_object_get(response, "model_type");
    const json_t *reranker = json_object_get(type, "reranker");
    const json_t *classifier = reranker ? reranker : json_object_get(type, "classifier");
    const char *problem = json_string_value(json_object_get(classifier, "problem_type"));
    const char *model = json_string_value(json_object_get(response, "model_id"));
    *info = (struct print_info){
        .model = model ? strdup(model) : NULL,
        .classifies = classifier,
        .tags = json_object_get(type, "token_classifier"),
        .reranks = reranker,
        .multi_label = problem && strcmp(problem, "multi_label_classification") == 0,
        .embeds = json_object_get(type, "embedding"),
        .translates = json_object_get(type, "translation"),
        .texts_max = json_integer_value(json_object_get(response, "max_client_batch_size")),
        .bytes_max = json_integer_value(json_object_get(limits, "max_body_bytes"))};
    json_decref(response);
    if (info->model && info->texts_max > 0 && info->bytes_max > 0)
        return true;
    print_info_release(info);
    return client_error_set(failure, EXIT_FAILED,
                            "malformed response of /info: model or limits are missing");
}

void print_info_release(struct print_info *info)
{
    free(info->model);
    *info = (struct print_info){0};
}
