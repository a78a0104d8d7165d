/* import_costs.c - what bf16 and int8 cost an imported model. */
#include "cli/import_costs.h"

#include "base/allocate.h"
#include "base/dynarray.h"
#include "base/json_writer.h"
#include "data/line_reader.h"
#include "infer/logits.h"
#include "model/model.h"
#include "sluice/classifier.h"
#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };

/* Of several kinds and lengths, so that no precision looks better than it is. */
static const char *const sample[] = {
    "The parliament passed the budget late on Thursday after two weeks of argument.",
    "Shares of the airline fell by 4.6 per cent when it cut its forecast for the winter.",
    "How do I reset my password?",
    "My parcel arrived broken and nobody answers the phone, so I would like a refund.",
    "A warm, funny and surprisingly sad film, with the best performance of her career.",
    "Two hours of my life that I will never get back.",
    "The patient was given 40 mg twice a day and reported no side effects.",
    "Galaxies that lie further away recede faster: this is what Hubble found in 1929.",
    "Whisk the eggs with the sugar until pale, then fold in the flour.",
    "She scored twice in the last ten minutes and the home side won 3-2.",
    "Ok.",
    "error: connection refused (os error 111) while contacting the upstream server",
    "for i in range(10): print(i ** 2)",
    "The lease ends on 31 March 2027 unless either party gives notice of three months.",
    "Why is the sky blue, and why are sunsets red?",
    "Le train de nuit pour Vienne part du quai numéro sept.",
    "Das Wetter bleibt bis zum Wochenende wechselhaft, mit Schauern an der Küste.",
    "El precio de la vivienda ha subido un doce por ciento en un año.",
    "The museum is closed on Mondays; on other days it opens at ten.",
    "great phone, terrible battery",
    "Alan Turing was born in London and studied mathematics at King's College, Cambridge.",
    "Customers who bought this kettle also bought a toaster, which says a lot about breakfast.",
    "Nobody expected the quiet village by the lake to become the centre of an argument about "
    "water, tourism and who may build what where; yet within a year three ministers had visited, "
    "two newspapers had sent reporters, and the only baker had doubled his prices.",
    "The committee recommends that the proposal be accepted, with the changes listed below.",
};

/* A copy of the model in one precision and what is compared: rows of numbers, which are vectors or
 * probabilities of labels, or of a language model its loss. */
struct run {
    struct sl_engine *engine; /* NULL: this CPU does not have the precision */
    struct sl_model *model;
    const struct sl_tokenizer *tokens;
    float *numbers;
    size_t rows, width, room;
    double loss;
};

struct texts {
    char **lines;
    size_t room;
    int count;
};

static void texts_release(struct texts *t)
{
    for (int i = 0; i < t->count; i++)
        free(t->lines[i]);
    free(t->lines);
}

static bool texts_add(struct texts *t, const char *text, size_t bytes, struct sl_err *err)
{
    if (!sl_dynarray_reserve(&t->lines, &t->room, (size_t)t->count + 1, sizeof *t->lines, err))
        return false;
    t->lines[t->count] = strndup(text, bytes);
    return t->lines[t->count++] || sl_fail(err, SL_NO_MEMORY, "no memory for texts");
}

static bool texts_read(struct texts *t, const char *file, struct sl_err *err)
{
    for (size_t i = 0; !file && i < sizeof sample / sizeof *sample; i++)
        if (!texts_add(t, sample[i], strlen(sample[i]), err))
            return false;
    if (!file)
        return true;
    struct sl_line_reader *lines =
        sl_line_reader_open(file, NULL, &(struct sl_data_limits){0}, err);
    struct sl_line line = {0};
    bool ok = lines;
    while (ok && t->count < TEXTS_MAX) {
        ok = sl_line_reader_next_nonempty(lines, &line, err);
        if (!ok || !line.text)
            break;
        ok = texts_add(t, line.text, line.bytes, err);
    }
    sl_line_reader_close(lines);
    if (ok && t->count == 0)
        ok = sl_fail_value(err, "texts", file, "expected a text on each line, this file has none");
    return ok;
}

/* -- results in one precision ----------------------------------------------------------------- */

/* Returns how many ids a text has, 0 if none for this tokenizer; -1: err. */
static long encode(const struct run *r, const char *text, bool special, int32_t *ids, size_t room,
                   struct sl_err *err)
{
    struct sl_encoding encoding = {
        .text = text,
        .bytes = strlen(text),
        .unknown = SL_UNKNOWN_REPLACE,
        .special = special,
        .max_tokens = special ? r->model->config.context_length : 0,
        .capacity = (long)room,
    };
    encoding.ids = ids;
    return sl_tokenizer_tokenize(r->tokens, &encoding, err);
}

static size_t ids_max(const struct sl_tokenizer *tokens, const struct texts *t)
{
    size_t most = 1;
    for (int i = 0; i < t->count; i++)
        most += sl_tokenizer_max_tokens(tokens, strlen(t->lines[i]));
    return most;
}

static bool add_rows(struct run *r, const struct sl_classifier_item *item, struct sl_err *err)
{
    for (int i = 0; i < item->rows; i++) {
        if (!sl_dynarray_reserve(&r->numbers, &r->room, (r->rows + 1) * r->width,
                                 sizeof *r->numbers, err))
            return false;
        const float *from = item->logits + (size_t)i * r->width;
        float *to = r->numbers + r->rows++ * r->width;
        if (sl_model_info(r->model)->dimensions > 0)
            memcpy(to, from, r->width * sizeof *to);
        else
            sl_model_scores(r->model, from, to);
    }
    return true;
}

static bool run_texts(struct run *r, const struct texts *t, int32_t *ids, size_t room,
                      struct sl_err *err)
{
    const struct sl_model_info *info = sl_model_info(r->model);
    const struct sl_classifier_options options = {.max_batch_size = 1,
                                                  .max_batch_tokens = info->context};
    struct sl_classifier_item item = {.tokens = ids, .output = sl_model_main_output(info)};
    struct sl_classifier *classifier = sl_classifier_create(r->model, &options, err);
    bool ok = classifier;
    r->width = (size_t)info->output_size[item.output];
    for (int i = 0; ok && i < t->count; i++) {
        item.count = (int)encode(r, t->lines[i], true, ids, room, err);
        ok = item.count >= 0;
        if (ok && item.count > 0)
            ok = sl_classifier_run(classifier, &item, 1, err) && add_rows(r, &item, err);
    }
    sl_classifier_destroy(classifier);
    return ok;
}

/* The loss of all texts as one. */
static bool run_loss(struct run *r, const struct texts *t, int32_t *ids, size_t room,
                     struct sl_err *err)
{
    struct sl_evaluation e = {.loss = (double)NAN};
    size_t count = 0;
    for (int i = 0; i < t->count; i++) {
        const long more = encode(r, t->lines[i], false, ids + count, room - count, err);
        if (more < 0)
            return false;
        count += (size_t)more;
    }
    const struct sl_span all = {ids, (int64_t)count};
    bool ok = count < 2 || sl_evaluate_corpus(r->model, all, NULL, &e, err);
    r->loss = e.loss;
    return ok;
}

static bool run_model(struct run *r, const struct sl_model *model, const struct texts *t,
                      struct sl_err *err)
{
    r->model = sl_model_copy(model, r->engine, r->engine->precision, err);
    if (!r->model)
        return false;
    sl_model_discard_values(r->model);
    const size_t room = ids_max(r->tokens, t);
    int32_t *ids = calloc(room, sizeof *ids);
    if (!ids)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %zu tokens", room);
    bool ok = r->model->config.task == SL_TASK_COMPLETION ? run_loss(r, t, ids, room, err)
                                                          : run_texts(r, t, ids, room, err);
    free(ids);
    return ok;
}

static void run_release(struct run *r)
{
    if (r->model)
        sl_model_close(r->model);
    sl_engine_destroy(r->engine);
    free(r->numbers);
}

/* -- results compared ------------------------------------------------------------------------- */

/* Two numbers of each precision, with their names in JSON and in words. */
struct cost {
    const char *keys[2], *words[2];
    double values[2];
    double change; /* how much results change */
};

static struct cost loss_cost(const struct run *x, const struct run *y)
{
    const double increase = y->loss / x->loss - 1.0;
    return (struct cost){.keys = {"loss", "loss_increase"},
                         .words = {"loss", "relative increase"},
                         .values = {y->loss, increase},
                         .change = increase};
}

static struct cost vector_cost(const struct run *x, const struct run *y)
{
    double sum = 0, lowest = 1.0;
    for (size_t i = 0; i < x->rows; i++) {
        const double one =
            sl_cosine(x->numbers + i * x->width, y->numbers + i * x->width, (int)x->width, 1.0);
        sum += one;
        lowest = fmin(lowest, one);
    }
    const double mean = sum / (double)x->rows;
    return (struct cost){.keys = {"cosine", "lowest_cosine"},
                         .words = {"mean cosine", "lowest"},
                         .values = {mean, lowest},
                         .change = 1.0 - mean};
}

static struct cost label_cost(const struct run *x, const struct run *y)
{
    double changes = 0, same = 0;
    for (size_t i = 0; i < x->rows; i++) {
        const float *a = x->numbers + i * x->width, *b = y->numbers + i * x->width;
        const int label = sl_argmax(a, (int)x->width);
        changes += fabs((double)a[label] - (double)b[label]);
        same += sl_argmax(b, (int)x->width) == label;
    }
    const double rows = (double)x->rows;
    return (struct cost){.keys = {"same_label", "probability_change"},
                         .words = {"share of labels that stay", "mean change of their probability"},
                         .values = {same / rows, changes / rows},
                         .change = changes / rows};
}

static struct cost cost_of(const struct run *x, const struct run *y)
{
    if (x->model->config.task == SL_TASK_COMPLETION)
        return loss_cost(x, y);
    return sl_model_info(x->model)->dimensions > 0 ? vector_cost(x, y) : label_cost(x, y);
}

/* What there is to measure with, and where the results go. */
struct measurement {
    const struct sl_model *model;
    const struct sl_tokenizer *tokens;
    struct texts texts;
    struct sl_json_writer json;
    struct sl_buffer words;
};

static struct run run_in(const struct measurement *m, const char *precision, struct sl_err *err)
{
    const struct sl_engine_options options = {.precision = precision};
    return (struct run){.engine = sl_engine_create(&options, err), .tokens = m->tokens};
}

/* Adds what a precision costs, unless this CPU does not have it. */
static bool add_cost(struct measurement *m, const struct run *fp32, const char *precision,
                     struct sl_precision_cost *cost, struct sl_err *err)
{
    struct run r = run_in(m, precision, err);
    bool ok = !r.engine || run_model(&r, m->model, &m->texts, err);
    if (r.engine && ok) {
        const struct cost c = cost_of(fp32, &r);
        sl_json_add(&m->json, "%s:{%s:%.6g,%s:%.6g}", precision, c.keys[0], c.values[0], c.keys[1],
                    c.values[1]);
        sl_buffer_printf(&m->words, "%s: %s %.6g, %s %.6g\n", precision, c.words[0], c.values[0],
                         c.words[1], c.values[1]);
        *cost = (struct sl_precision_cost){isfinite(c.change), c.change};
    }
    run_release(&r);
    return ok;
}

static bool measure(struct measurement *m, struct import_costs *costs, struct sl_err *err)
{
    struct run fp32 = run_in(m, "fp32", err);
    sl_json_add(&m->json, "{'texts':%d", m->texts.count);
    bool ok = fp32.engine && run_model(&fp32, m->model, &m->texts, err) &&
              add_cost(m, &fp32, "bf16", &costs->bf16, err) &&
              add_cost(m, &fp32, "int8", &costs->int8, err);
    sl_json_add(&m->json, "}");
    run_release(&fp32);
    return ok && sl_buffer_check(m->json.out, err) && sl_buffer_check(&m->words, err);
}

bool import_costs_measure(struct import_costs *costs, const struct sl_model *model,
                          const struct sl_tokenizer *tokens, const char *file, struct sl_err *err)
{
    struct sl_buffer text = {0};
    struct measurement m = {.model = model, .tokens = tokens, .json = {.out = &text}};
    *costs = (struct import_costs){0};
    bool ok = texts_read(&m.texts, file, err) && measure(&m, costs, err);
    costs->texts = m.texts.count;
    texts_release(&m.texts);
    costs->json = text.data;
    costs->words = m.words.data;
    if (!ok)
        import_costs_release(costs);
    return ok;
}

void import_costs_release(struct import_costs *costs)
{
    free(costs->json);
    free(costs->words);
    costs->json = costs->words = NULL;
}
