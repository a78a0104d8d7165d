/* handle_decisions.c - POST /v1/decisions: typed questions about a text, for a classifier.
 *
 * A classifier knows its labels and does not read instructions. So a choice must be among labels, a
 * score must have all labels as its levels, and the instructions of a predicate must be a label.
 * Anything else is rejected with the list of labels.
 *
 * A model with a label for entailment takes any choices, levels and predicates: it reads the text
 * with a hypothesis about each of them. */
#include "api/classification_result.h"
#include "api/classify_request.h"
#include "api/entailment.h"
#include "api/explain_request.h"
#include "api/handlers.h"
#include "api/label_response.h"
#include "api/model_abilities.h"
#include "api/token_depths.h"
#include "base/comma_list.h"
#include "base/json_writer.h"
#include "params/decision_params.h"
#include "params/hypotheses.h"

#include "sluice/classifier.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options of questions -------------------------------------------------------------------- */

/* Choices, levels, or what a predicate says. */
static int count_options(const struct sv_question *question)
{
    switch (question->type) {
    case SV_CHOICE: return question->choices.count;
    case SV_SCORE: return question->levels.count;
    case SV_PREDICATE: break;
    }
    return 1;
}

static const struct sv_string *option_at(const struct sv_question *question, int index)
{
    const struct sv_choice *choices = question->choices.items;
    const struct sv_level *levels = question->levels.items;
    switch (question->type) {
    case SV_CHOICE: return &choices[index].value.text;
    case SV_SCORE: return &levels[index].label;
    case SV_PREDICATE: break;
    }
    return &question->instructions;
}

static bool fail_repeated(const struct sv_question *question, int index, int option,
                          struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    const bool is_choice = question->type == SV_CHOICE;
    (void)snprintf(param, sizeof param, "questions[%d].%s[%d].%s", index,
                   is_choice ? "choices" : "levels", option, is_choice ? "value" : "label");
    return sv_fail(error, SV_INVALID_VALUE, param, "'%s' repeats \"%.64s\"; %s must differ.", param,
                   option_at(question, option)->data, is_choice ? "choices" : "levels");
}

/* ---- questions to classes -------------------------------------------------------------------- */

/* A label and its class, sorted for bsearch. */
struct entry {
    const char *label;
    int class;
};

/* What maps the questions of a request to classes. */
struct labels {
    const struct sv_classification *c;
    struct entry *entries;
    int *seen; /* for each class, the last question that named it, counted from 1 */
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return strcmp(a->label, b->label);
}

/* The class of that label, or -1. */
static int class_of(const struct labels *labels, const char *label)
{
    const struct entry key = {.label = label};
    const struct entry *found = bsearch(&key, labels->entries, (size_t)labels->c->classes,
                                        sizeof *labels->entries, compare);
    return found ? found->class : -1;
}

/* Fails with as many labels as fit into the message. */
static bool fail_labels(const struct labels *labels, const char *param, const char *why,
                        struct sv_error *error)
{
    char names[512] = "";
    const struct sv_classification *c = labels->c;
    for (int i = 0; i < c->classes; i++)
        sl_list_add(names, sizeof names, c->labels[i]);
    return sv_fail(error, SV_INVALID_VALUE, param,
                   "'%s' %s; '%s' is a classifier and can choose only between its own labels: %s.",
                   param, why, c->ref->id, names);
}

static bool fail_label(const struct labels *labels, const char *param, const char *what,
                       const char *found, struct sv_error *error)
{
    char why[192];
    (void)snprintf(why, sizeof why, "%s, not \"%.64s\"", what, found);
    return fail_labels(labels, param, why, error);
}

static bool map_choices(const struct labels *labels, const struct sv_question *question, int index,
                        struct sv_error *error)
{
    struct sv_choice *choices = question->choices.items;
    char param[SV_PARAM_MAX];
    for (int i = 0; i < question->choices.count; i++) {
        const char *value = choices[i].value.text.data;
        (void)snprintf(param, sizeof param, "questions[%d].choices[%d].value", index, i);
        choices[i].class = class_of(labels, value);
        if (choices[i].class < 0)
            return fail_label(labels, param, "must be a label", value, error);
        if (labels->seen[choices[i].class] == index + 1)
            return fail_repeated(question, index, i, error);
        labels->seen[choices[i].class] = index + 1;
    }
    return true;
}

static bool map_levels(const struct labels *labels, const struct sv_question *question, int index,
                       struct sv_error *error)
{
    const struct sv_level *levels = question->levels.items;
    const struct sv_classification *c = labels->c;
    char param[SV_PARAM_MAX], why[128];
    (void)snprintf(param, sizeof param, "questions[%d].levels", index);
    if (c->classes > SV_CHOICES_MAX)
        return sv_fail(error, SV_INVALID_VALUE, param,
                       "'%s' must have all labels of '%s', which has %d; a score has at most %d.",
                       param, c->ref->id, c->classes, SV_CHOICES_MAX);
    if (question->levels.count != c->classes) {
        (void)snprintf(why, sizeof why, "has %d levels; it must have all %d labels in order",
                       question->levels.count, c->classes);
        return fail_labels(labels, param, why, error);
    }
    for (int i = 0; i < c->classes; i++)
        if (strcmp(levels[i].label.data, c->labels[i]) != 0)
            return fail_label(labels, param, "must be all labels in order", levels[i].label.data,
                              error);
    return true;
}

static bool map_question(const struct labels *labels, struct sv_question *question, int index,
                         struct sv_error *error)
{
    char param[SV_PARAM_MAX];
    switch (question->type) {
    case SV_CHOICE: return map_choices(labels, question, index, error);
    case SV_SCORE: return map_levels(labels, question, index, error);
    case SV_PREDICATE: break;
    }
    (void)snprintf(param, sizeof param, "questions[%d].instructions", index);
    question->class = class_of(labels, question->instructions.data);
    return question->class >= 0 ||
           fail_label(labels, param, "must be a label", question->instructions.data, error);
}

static bool map_questions(const struct sv_classification *c, struct sv_error *error)
{
    const struct sv_decision_params *params = c->params;
    struct sv_question *questions = params->questions.items;
    const struct labels labels = {.c = c,
                                  .entries = calloc((size_t)c->classes, sizeof *labels.entries),
                                  .seen = calloc((size_t)c->classes, sizeof *labels.seen)};
    bool ok = labels.entries && labels.seen;
    for (int i = 0; labels.entries && i < c->classes; i++)
        labels.entries[i] = (struct entry){.label = c->labels[i], .class = i};
    if (ok)
        qsort(labels.entries, (size_t)c->classes, sizeof *labels.entries, compare);
    else
        (void)sv_fail_no_memory(error);
    if (ok && params->hypothesis_template.data)
        ok = fail_labels(&labels, "sluice.hypothesis_template",
                         "is for models with a label for entailment", error);
    for (int i = 0; ok && i < params->questions.count; i++)
        ok = map_question(&labels, &questions[i], i, error);
    free(labels.entries);
    free(labels.seen);
    return ok;
}

/* ---- questions to hypotheses ----------------------------------------------------------------- */

static bool check_distinct(const struct sv_question *question, int index, struct sv_error *error)
{
    for (int i = 1; i < count_options(question); i++)
        for (int k = 0; k < i; k++)
            if (strcmp(option_at(question, i)->data, option_at(question, k)->data) == 0)
                return fail_repeated(question, index, i, error);
    return true;
}

/* The options of all questions are the candidate labels. */
static bool collect_options(struct sv_question *questions, int count, struct sv_texts *labels)
{
    for (int i = 0; i < count; i++) {
        questions[i].first_hypothesis = labels->count;
        labels->count += count_options(&questions[i]);
    }
    labels->items = calloc((size_t)labels->count + 1, sizeof *labels->items);
    for (int i = 0; labels->items && i < count; i++)
        for (int k = 0; k < count_options(&questions[i]); k++)
            labels->items[questions[i].first_hypothesis + k] = *option_at(&questions[i], k);
    return labels->items;
}

static bool make_hypotheses(struct sv_classification *c, struct sv_error *error)
{
    const struct sv_decision_params *params = c->params;
    struct sv_question *questions = params->questions.items;
    const int count = params->questions.count;
    struct sv_texts labels = {0};
    bool ok = collect_options(questions, count, &labels) || sv_fail_no_memory(error);
    ok = ok && sv_request_check_batch_size(c->request, "questions", labels.count, error) &&
         sv_hypotheses_make(c->document, &params->hypothesis_template, &labels, "input",
                            &c->input.texts, error);
    for (int i = 0; ok && i < count; i++)
        ok = check_distinct(&questions[i], i, error);
    free(labels.items);
    return ok && sv_labels_check(c, "", error);
}

/* ---- the text -------------------------------------------------------------------------------- */

/* A classifier reads one text. Its parts are joined by newlines, or by spaces if the vocabulary has
 * no newline. */
static bool join_input(const struct sv_classification *c, struct sv_error *error)
{
    struct sv_decision_params *params = c->params;
    char separator = sv_is_tokenizable(c->ref, "\n") ? '\n' : ' ';
    return sv_texts_join(c->document, &params->input, separator, &params->text, error);
}

static bool prepare(struct sv_classification *c, struct sv_error *error)
{
    return join_input(c, error) &&
           (sv_model_can(sl_model_info(c->ref->model), SV_ENTAILS) ? make_hypotheses(c, error)
                                                                   : map_questions(c, error));
}

/* ---- probabilities to answers ---------------------------------------------------------------- */

/* A boolean is returned as a boolean. */
static void add_string_or_bool(struct sl_json_writer *json, const struct sv_string_or_bool *value)
{
    if (value->is_boolean)
        sl_json_add_raw(json, value->text.data, value->text.bytes);
    else
        sl_json_add_bytes(json, value->text.data, value->text.bytes);
}

static void add_choice(struct sl_json_writer *json, const struct sv_question *question,
                       const float *probs)
{
    const struct sv_choice *choices = question->choices.items;
    int count = question->choices.count;
    int best = sl_argmax(probs, count);
    sl_json_add(json, "'choice':");
    add_string_or_bool(json, &choices[best].value);
    sl_json_add(json, "'confidence':%f,'probabilities':[", (double)probs[best]);
    for (int i = 0; i < count; i++) {
        sl_json_add(json, "{'value':");
        add_string_or_bool(json, &choices[i].value);
        sl_json_add(json, "'probability':%f}", (double)probs[i]);
    }
    sl_json_end_array(json);
}

/* The score is the mean index of the levels, from 0; the confidence is that of the most likely
 * level. */
static void add_score(struct sl_json_writer *json, const struct sv_question *question,
                      const float *probs)
{
    const struct sv_level *levels = question->levels.items;
    double mean = 0;
    for (int i = 0; i < question->levels.count; i++)
        mean += i * (double)probs[i];
    sl_json_add(json, "'score':%f,'confidence':%f,'probabilities':[", (double)(float)mean,
                (double)probs[sl_argmax(probs, question->levels.count)]);
    for (int i = 0; i < question->levels.count; i++) {
        const struct sv_string *label = &levels[i].label;
        sl_json_add(json, "{'label':%.*s,'value':%d,'probability':%f}", (int)label->bytes,
                    label->data, i, (double)probs[i]);
    }
    sl_json_end_array(json);
}

/* Of the options of a question. Those of choices and of levels sum to 1: if the model gives several
 * labels, under the condition that exactly one of them is right. */
static void find_probs(const struct sv_classification *c, const struct sv_question *question,
                       const float *class_probs, float probs[static SV_CHOICES_MAX])
{
    const struct sv_choice *choices = question->choices.items;
    const float *logits = c->task.items[0].logits;
    const int count = count_options(question);
    assert(count > 0 && count <= SV_CHOICES_MAX);
    if (c->input.texts.pairs) {
        sv_entailment_scores(c, question->first_hypothesis, count, false, probs);
        return;
    }
    if (question->type == SV_PREDICATE) {
        probs[0] = class_probs[question->class];
        return;
    }
    for (int i = 0; i < count; i++)
        probs[i] = logits[question->type == SV_CHOICE ? choices[i].class : i];
    sl_softmax(probs, count, probs);
}

static void add_answer(struct sl_json_writer *json, const struct sv_question *question,
                       const float *probs)
{
    static const char *const types[] = {
        [SV_CHOICE] = "choice", [SV_SCORE] = "score", [SV_PREDICATE] = "predicate"};
    sl_json_add(json, "{'type':%s,'name':%s", types[question->type], question->name.data);
    switch (question->type) {
    case SV_CHOICE: add_choice(json, question, probs); break;
    case SV_SCORE: add_score(json, question, probs); break;
    case SV_PREDICATE: sl_json_add(json, "'probability':%f", (double)probs[0]); break;
    }
    sl_json_end_object(json);
}

/* Tokens with OpenAI's details, which are 0 here. */
static void add_usage(struct sl_json_writer *json, const struct sv_classification *c)
{
    int64_t tokens = c->usage.prompt_tokens;
    sl_json_add(json,
                "{'input_tokens':%lld,'input_tokens_details':{'cached_tokens':0,"
                "'cache_write_tokens':0},'output_tokens':0,'output_tokens_details':{"
                "'reasoning_tokens':0},'total_tokens':%lld,'sluice':{",
                (long long)tokens, (long long)tokens);
    sv_usage_add_depth(json, &c->usage);
    if (c->truncated_count > 0)
        sl_json_add(json, "'truncated':{'input_tokens_given':%lld,'input_tokens_used':%lld}",
                    (long long)sv_classification_tokens_before_truncation(c), (long long)tokens);
    sl_json_add(json, "}}");
}

/* An explanation is of the most likely label, whatever the questions are. */
static void add_details(struct sl_json_writer *json, const struct sv_classification *c)
{
    sl_json_begin_object(json);
    sl_json_add(json, "'label':%s", c->labels[sv_explained_label(c, 0)]);
    if (c->explanations)
        sv_explain_write(sl_json_key(json, "words"), c, 0);
    if (c->input.depths)
        sv_depths_write(sl_json_key(json, "tokens"), c, 0);
    sl_json_end_object(json);
}

static enum sv_progress respond(struct sv_request *request, struct sv_classification *c)
{
    const struct sv_decision_params *params = c->params;
    const struct sv_question *questions = params->questions.items;
    struct sl_json_writer json = {.out = &request->response.body};
    float *class_probs = calloc((size_t)c->classes, sizeof *class_probs), probs[SV_CHOICES_MAX];
    json.out->failed = json.out->failed || !class_probs;
    sl_json_add(&json, "{'model':%s,'answers':[", c->ref->id);
    if (class_probs)
        sl_model_scores(c->ref->model, c->task.items[0].logits, class_probs);
    for (int i = 0; class_probs && i < params->questions.count; i++) {
        find_probs(c, &questions[i], class_probs, probs);
        add_answer(&json, &questions[i], probs);
    }
    sl_json_end_array(&json);
    if (c->explanations || c->input.depths)
        add_details(sl_json_key(&json, "sluice"), c);
    add_usage(sl_json_key(&json, "usage"), c);
    sl_json_end_object(&json);
    free(class_probs);
    return sv_classification_respond(request, c, "application/json");
}

/* ---- the request ----------------------------------------------------------------------------- */

static struct sv_json_document *read(struct sv_request *request, const struct sv_field *fields,
                                     void *to, struct sv_classify_input *input,
                                     struct sv_error *error)
{
    (void)fields;
    struct sv_decision_params *params = to;
    struct sv_json_document *document = sv_decision_params_read(&request->body, params, error);
    if (!document)
        return NULL;
    (void)snprintf(input->model, sizeof input->model, "%s", params->model.data);
    input->texts = (struct sv_texts){.count = 1, .items = &params->text};
    input->tokenize = &params->tokenize;
    input->explain = (int)params->explain;
    input->depths = params->depths;
    input->budget = &params->budget;
    return document;
}

enum sv_progress sv_handle_decisions(struct sv_request *request)
{
    static const struct sv_classify_format decisions = {.params_size =
                                                            sizeof(struct sv_decision_params),
                                                        .body_names_model = true,
                                                        .texts_field = "input",
                                                        .read = read,
                                                        .prepare = prepare,
                                                        .respond = respond};
    return sv_classify(request, &decisions);
}
