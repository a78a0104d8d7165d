/* automatic_report.c - see automatic_report.h. */
#include "cli/automatic_report.h"

#include "base/random.h"
#include "checkpoint/json_io.h"
#include "data/name_list.h"
#include "sluice/logits.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LABELS_SHOWN = 20, BINS = 15 };

/* ---- the texts ------------------------------------------------------------------------------- */

/* A text by what it says, to find equal ones. */
struct said {
    uint64_t hash;
    int32_t text;
};

static int compare_said(const void *a, const void *b)
{
    const struct said *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

static int compare_ints(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Equal texts: how many too many, how many with another label, and where the first such pair is. */
struct repeats {
    int duplicates, conflicts;
    int64_t lines[2];
};

static struct repeats find_repeats(const struct sl_dataset *set, struct said *said)
{
    struct repeats found = {0};
    for (int i = 0; i < set->count; i++) {
        int count;
        const int32_t *ids = sl_dataset_ids(set, i, &count);
        said[i] = (struct said){sl_random_key(0, "texts"), i};
        for (int j = 0; j < count; j++)
            said[i].hash = sl_random_bits(said[i].hash, (uint64_t)ids[j]);
    }
    qsort(said, (size_t)set->count, sizeof *said, compare_said);
    for (int i = 1; i < set->count; i++) {
        const struct sl_example *before = &set->examples[said[i - 1].text],
                                *here = &set->examples[said[i].text];
        if (said[i].hash != said[i - 1].hash)
            continue;
        found.duplicates++;
        if (here->label == before->label)
            continue;
        if (found.conflicts++ == 0) {
            found.lines[0] = before->line;
            found.lines[1] = here->line;
        }
    }
    return found;
}

static void print_repeats(const struct sl_dataset *set)
{
    struct said *said = malloc((size_t)set->count * sizeof *said);
    if (!said)
        return;
    struct repeats found = find_repeats(set, said);
    free(said);
    if (found.duplicates > 0)
        printf("%d texts repeat an earlier one\n", found.duplicates);
    if (found.conflicts > 0)
        printf("%d of them have another label than before: lines %lld and %lld, for example\n",
               found.conflicts, (long long)found.lines[0], (long long)found.lines[1]);
}

static void print_lengths(const struct sl_dataset *set, int context)
{
    int32_t *lengths = malloc((size_t)set->count * sizeof *lengths);
    if (!lengths)
        return;
    for (int i = 0; i < set->count; i++)
        lengths[i] = set->examples[i].tokens;
    qsort(lengths, (size_t)set->count, sizeof *lengths, compare_ints);
    printf("%d texts of %d to %d tokens, median %d\n", set->count, lengths[0],
           lengths[set->count - 1], lengths[set->count / 2]);
    if (set->truncated > 0)
        printf("%d texts are truncated to %d tokens\n", set->truncated, context);
    free(lengths);
}

static void print_labels(const struct sl_dataset *set)
{
    const struct sl_labels *labels = &set->labels;
    char name[SL_NAME_SHORT];
    int *texts = calloc((size_t)labels->count, sizeof *texts);
    if (!texts)
        return;
    for (int i = 0; i < set->count; i++)
        texts[set->examples[i].label]++;
    printf("%d labels:", labels->count);
    for (int i = 0; i < labels->count && i < LABELS_SHOWN; i++)
        printf("%s %s %d", i ? "," : "",
               sl_name_shorten(labels->list[i].name, strlen(labels->list[i].name), name), texts[i]);
    if (labels->count > LABELS_SHOWN)
        printf(" and %d more", labels->count - LABELS_SHOWN);
    printf("\n");
    free(texts);
}

void automatic_report_texts(const struct sl_linear_training *l, const char *why_no_base, bool json)
{
    const struct sl_bag_of_words *parts = l->base->self;
    if (json)
        return;
    print_lengths(&l->set, l->base->config.context_length);
    print_labels(&l->set);
    print_repeats(&l->set);
    if (l->base_is_foreign)
        printf(
            "no word vectors: the base model lacks too many of the words; perhaps the texts are in "
            "another language\n");
    else if (!parts->vectors)
        printf("no word vectors: %s\n", why_no_base);
    (void)fflush(stdout);
}

/* ---- the trials ------------------------------------------------------------------------------ */

static const char *loss_name(enum sl_linear_loss loss)
{
    return loss == SL_LOSS_LOGISTIC ? "logistic" : "squared";
}

enum { RECIPE_TEXT = 128 };

static const char *describe(const struct sl_linear_recipe *r, char text[RECIPE_TEXT])
{
    char vectors[32] = "", ngrams[56] = "";
    const bool has_ngrams = r->sparse_c > 0.0f, has_vectors = r->dense_c > 0.0f;
    if (has_ngrams)
        (void)snprintf(ngrams, sizeof ngrams, "%s%s (C %g)%s",
                       r->ngrams.order == 1 ? "words" : "words, bigrams",
                       r->ngrams.characters ? ", characters" : "", (double)r->sparse_c,
                       has_vectors ? ", " : "");
    if (has_vectors)
        (void)snprintf(vectors, sizeof vectors, "word vectors (C %g)", (double)r->dense_c);
    (void)snprintf(text, RECIPE_TEXT, "%s: %s%s", loss_name(r->loss), ngrams, vectors);
    return text;
}

static json_t *trial_json(const struct sl_linear_trial *trial)
{
    return json_pack("{s:s, s:i, s:b, s:f, s:f, s:f, s:f, s:f}", "objective",
                     loss_name(trial->recipe.loss), "ngram_order", trial->recipe.ngrams.order,
                     "character_ngrams", (int)trial->recipe.ngrams.characters, "ngram_c",
                     (double)trial->recipe.sparse_c, "vector_c", (double)trial->recipe.dense_c,
                     "accuracy", trial->accuracy, "loss", trial->loss, "seconds", trial->seconds);
}

static void print_json(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
    printf("%s\n", text ? text : "");
    free(text);
    json_decref(object);
}

void automatic_report_trial(void *context, const struct sl_linear_search *search)
{
    const bool *json = context;
    const struct sl_linear_trial *trial = &search->trials[search->count - 1];
    char text[RECIPE_TEXT];
    if (*json) {
        print_json(trial_json(trial));
    } else {
        if (search->count == 1)
            printf("\n%-66s accuracy    loss\n",
                   search->folds_predicted > 1 ? "tried, by cross-validation" : "tried, held out");
        printf("%-66s %6.2f %%  %6.4f\n", describe(&trial->recipe, text), 100.0 * trial->accuracy,
               trial->loss);
    }
    (void)fflush(stdout);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Of the texts that were predicted. */
struct predicted {
    struct sl_dataset set; /* their labels; borrows nothing else */
    int32_t *labels;
    float *scores;
};

static bool predicted_open(struct predicted *p, const struct sl_linear_training *l,
                           struct sl_err *err)
{
    size_t texts = (size_t)l->set.count;
    const int classes = l->set.labels.count;
    *p = (struct predicted){0};
    p->set.examples = calloc(texts, sizeof *p->set.examples);
    p->labels = calloc(texts, sizeof *p->labels);
    p->scores = calloc(texts, sizeof *p->scores);
    if (!p->set.examples || !p->labels || !p->scores)
        return sl_fail(err, SL_NO_MEMORY, "no memory for the predictions of %zu texts", texts);
    for (int i = 0; i < l->set.count; i++) {
        const float *row = l->search.probabilities + (size_t)i * (size_t)classes;
        if (!sl_linear_search_has(&l->search, i))
            continue;
        int at = p->set.count++;
        p->set.examples[at] = l->set.examples[i];
        p->labels[at] = sl_argmax(row, classes);
        p->scores[at] = row[p->labels[at]];
    }
    return true;
}

static void predicted_close(struct predicted *p)
{
    free(p->set.examples);
    free(p->labels);
    free(p->scores);
}

/* Guo et al. 2017, section 2: the mean over bins of |accuracy - score|. */
static double calibration_error(const struct predicted *p)
{
    double difference[BINS] = {0}, sum = 0.0;
    for (int i = 0; i < p->set.count; i++) {
        int bin = (int)fmin(BINS - 1, floor((double)p->scores[i] * BINS));
        difference[bin] +=
            (double)(p->labels[i] == p->set.examples[i].label) - (double)p->scores[i];
    }
    for (int i = 0; i < BINS; i++)
        sum += fabs(difference[i]);
    return sum / p->set.count;
}

/* Wilson 1927. */
static void set_interval(struct automatic_report *r)
{
    const double z = 1.959964, n = r->texts, p = r->correct / n;
    double centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    r->low = fmax(centre - half, 0.0);
    r->high = fmin(centre + half, 1.0);
}

/* A prediction. */
struct scored {
    float score;
    bool right;
};

static int compare_scored(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* The lowest score above which predictions are precise enough. */
static bool set_least_score(struct automatic_report *r, const struct predicted *p,
                            struct sl_err *err)
{
    struct scored *all = malloc(((size_t)p->set.count + 1) * sizeof *all);
    if (!all)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d scores", p->set.count);
    for (int i = 0; i < p->set.count; i++)
        all[i] = (struct scored){p->scores[i], p->labels[i] == p->set.examples[i].label};
    qsort(all, (size_t)p->set.count, sizeof *all, compare_scored);
    for (int i = 0, right = 0; i < p->set.count; i++) {
        right += all[i].right;
        bool ties = i + 1 < p->set.count && all[i + 1].score >= all[i].score;
        if (ties || right < r->least_precision * (i + 1))
            continue;
        r->confident = i + 1;
        r->least_score = (double)all[i].score;
    }
    free(all);
    return true;
}

bool automatic_report_open(struct automatic_report *r, const struct sl_linear_training *l,
                           double least_precision, struct sl_err *err)
{
    struct predicted p;
    *r = (struct automatic_report){.l = l, .least_precision = least_precision};
    if (predicted_open(&p, l, err) && (!(least_precision > 0.0) || set_least_score(r, &p, err)))
        r->labels = label_metrics_count(&p.set, p.labels, l->set.labels.count, err);
    if (r->labels) {
        r->texts = p.set.count;
        for (int i = 0; i < p.set.count; i++)
            r->correct += p.labels[i] == p.set.examples[i].label;
        r->loss = l->search.loss;
        r->calibration = calibration_error(&p);
        set_interval(r);
    }
    predicted_close(&p);
    return r->labels;
}

void automatic_report_close(struct automatic_report *r)
{
    free(r->labels);
}

static json_t *result_json(const struct automatic_report *r)
{
    const struct sl_linear_search *search = &r->l->search;
    json_t *o = json_pack("{s:s, s:i, s:i, s:f, s:[ff], s:f, s:f}", "method",
                          search->folds_predicted > 1 ? "cross-validation" : "held out", "texts",
                          r->texts, "folds", search->folds, "accuracy",
                          (double)r->correct / r->texts, "accuracy_interval", r->low, r->high,
                          "loss", r->loss, "calibration_error", r->calibration);
    if (r->least_precision > 0.0)
        (void)json_object_set_new(o, "confident",
                                  json_pack("{s:f, s:f, s:i}", "least_precision",
                                            r->least_precision, "least_score", r->least_score,
                                            "texts", r->confident));
    (void)json_object_set_new(o, "recipe", trial_json(&search->trials[search->best]));
    (void)json_object_set_new(o, "labels", label_metrics_json(r->l->model, r->labels));
    return o;
}

char *automatic_report_provenance(const struct automatic_report *r, const char *data,
                                  struct sl_err *err)
{
    json_t *o = json_pack("{s:o, s:i, s:I, s:f, s:f, s:o}", "data", sl_json_string(data), "texts",
                          r->l->set.count, "finished", (json_int_t)time(NULL),
                          "validation_accuracy", (double)r->correct / r->texts, "validation_loss",
                          r->loss, "validation", result_json(r));
    char *text = o ? json_dumps(o, JSON_REAL_PRECISION(SL_JSON_SHORT)) : NULL;
    json_decref(o);
    if (!text)
        sl_fail(err, SL_NO_MEMORY, "no memory for the provenance of the model");
    return text;
}

static void print_least_score(const struct automatic_report *r)
{
    if (r->least_precision > 0.0 && r->confident > 0)
        printf("of the labels with a score of %.4f or more, at least %.1f %% are right; %.1f %% of "
               "the texts reach that score\n",
               r->least_score, 100.0 * r->least_precision, 100.0 * r->confident / r->texts);
    else if (r->least_precision > 0.0)
        printf("no score is high enough for %.1f %% to be right\n", 100.0 * r->least_precision);
}

void automatic_report_print(const struct automatic_report *r, const char *directory, bool json)
{
    const struct sl_linear_search *search = &r->l->search;
    char text[RECIPE_TEXT];
    if (json) {
        json_t *o = result_json(r);
        (void)json_object_set_new(o, "published", sl_json_string(directory));
        print_json(o);
        return;
    }
    printf("\nchosen: %s\n", describe(&search->trials[search->best].recipe, text));
    printf("accuracy %.2f %% (95 %% interval %.2f to %.2f), loss %.4f, calibration error %.4f\n",
           100.0 * r->correct / r->texts, 100.0 * r->low, 100.0 * r->high, r->loss, r->calibration);
    if (search->folds_predicted > 1)
        printf("on all texts, each predicted without it in %d-fold cross-validation\n",
               search->folds);
    else
        printf("on %d texts that were held out; then all were trained on\n", r->texts);
    print_least_score(r);
    label_metrics_print(r->l->model, r->labels);
    printf("\npublished to %s\n", directory);
}
