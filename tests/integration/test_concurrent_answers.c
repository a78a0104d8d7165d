/* test_concurrent_answers.c - every answer belongs to its question: many requests at once, of two
 * models, four families and all sizes, some with texts to be cut, some bad, some abandoned, each
 * answer known beforehand to the last digit.
 *
 *     SLUICE_ANSWERS=100000 build/release/tests/test_concurrent_answers      the long run */
#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "support/daemon.h"
#include "support/http_client.h"
#include "support/in_process_classifier.h"
#include "support/json_query.h"
#include "support/test.h"
#include "support/tiny_classifiers.h"

#include <math.h>
#include <time.h>

enum { CLIENTS = 32, TEXTS_MAX = 256, TEXT_BYTES = 96 };

/* How many questions. Each costs a model run of our own for every text, alone. */
enum { QUESTIONS = TEST_SANITIZED ? 150 : 1000 };

static struct daemon d;
static struct in_process_classifier oracles[2];
static const char *const models[] = {MOOD, PLAIN};
static const char *const *const labels[] = {mood_labels, plain_labels};
static const int contexts[] = {MOOD_CONTEXT, PLAIN_CONTEXT};

/* ---- questions, each a function of its number ------------------------------------------------ */

enum family { TEI, HF, OIP, DECISIONS, FAMILIES };

/* What is wrong with one text of a bad question, or with the number of its texts. */
enum fault { NO_FAULT, TOO_LONG, EMPTY, UNKNOWN, NO_TEXT, TOO_MANY, OVERFLOWS, FAULTS };

struct question {
    uint64_t number;
    int model, count;
    enum family family;
    enum fault fault;
    int bad; /* which text */
    char texts[TEXTS_MAX + 1][TEXT_BYTES];
    bool cuts, from_left; /* texts may be cut, and some must be */
    bool left;            /* the client leaves before the answer, */
    int64_t patience_ns;  /* after so long */
};

/* A text that no other question has: its number in letters, and some more. */
static void write_text(const struct question *q, int index, char *text)
{
    uint64_t key = sl_random_key(q->number, "text");
    uint64_t rest = q->number * (TEXTS_MAX + 1) + (uint64_t)index;
    int length = 0, more = (int)sl_random_below(key, (uint64_t)index, 12);
    for (; rest > 0 || length == 0; rest /= 26)
        text[length++] = (char)('a' + rest % 26);
    for (int i = 0; i < more; i++)
        text[length++] = "abcdefghij klm.,?"[sl_random_below(key, 1000 + (uint64_t)i, 17)];
    text[length++] = 'z'; /* no blank at the end */
    text[length] = '\0';
}

/* By so many letters that there is something to cut. */
static void lengthen(const struct question *q, int index, char *text)
{
    uint64_t key = sl_random_key(q->number * (TEXTS_MAX + 1) + (uint64_t)index, "length");
    int length = (int)strlen(text);
    int wanted = contexts[q->model] + 10 + (int)sl_random_below(key, 0, 30);
    for (; length < wanted; length++)
        text[length] = (char)('a' + sl_random_below(key, 1000 + (uint64_t)length, 26));
    text[length] = '\0';
}

static void spoil(struct question *q)
{
    char *text = q->texts[q->bad];
    switch (q->fault) {
    case NO_FAULT:
    case NO_TEXT:
    case TOO_MANY:
    case FAULTS: break;
    case TOO_LONG: lengthen(q, q->bad, text); break;
    case EMPTY: text[0] = '\0'; break;
    case UNKNOWN: memcpy(text, "\xC3\xA9", 3); break;
    case OVERFLOWS: text[0] = '!'; break;
    }
}

/* Of which family, and with how many texts: most are small, some are not, and now and then one is
 * as large as may be. */
static void draw_size(struct question *q, uint64_t key)
{
    bool is_large = q->number % 40 == 0;
    bool has_many = is_large || q->fault == TOO_MANY;
    q->family = (enum family)sl_random_below(key, 2, has_many ? DECISIONS : FAMILIES);
    q->count = 1 + (int)sl_random_below(key, 4, sl_random_below(key, 3, 10) ? 12 : 64);
    if (is_large)
        q->count = 65 + (int)sl_random_below(key, 4, TEXTS_MAX - 64);
    if (q->fault == TOO_MANY)
        q->count = TEXTS_MAX + 1;
    if (q->family == DECISIONS)
        q->count = 1;
}

static enum fault draw_fault(uint64_t key)
{
    int which = 1 + (int)sl_random_below(key, 7, FAULTS);
    if (sl_random_below(key, 6, 7) > 0)
        return NO_FAULT;
    return which < FAULTS ? (enum fault)which : OVERFLOWS;
}

static void make_question(struct question *q, uint64_t number)
{
    uint64_t key = sl_random_key(test_seed(), "questions") + number * 64;
    *q = (struct question){.number = number};
    q->model = (int)sl_random_below(key, 1, 2);
    q->fault = draw_fault(key);
    if (q->fault == OVERFLOWS || q->fault == EMPTY || q->fault == UNKNOWN)
        q->model = q->fault == OVERFLOWS; /* only `plain` overflows, only `mood` has the others */
    draw_size(q, key);
    q->bad = (int)sl_random_below(key, 5, (uint64_t)q->count);
    q->cuts = q->fault == NO_FAULT && sl_random_below(key, 10, 6) == 0;
    q->from_left = sl_random_below(key, 11, 2);
    q->left = sl_random_below(key, 8, 12) == 0;
    q->patience_ns = (int64_t)sl_random_below(key, 9, 3000000);
    for (int i = 0; i < q->count; i++) {
        write_text(q, i, q->texts[i]);
        if (q->cuts && (i == q->bad || sl_random_below(key, 100 + (uint64_t)i, 4) == 0))
            lengthen(q, i, q->texts[i]);
    }
    spoil(q);
}

/* The texts hold nothing that JSON would escape. */
static void write_texts(const struct question *q, struct sl_buffer *body)
{
    const char *before = q->family == TEI ? "[\"" : "\"", *after = q->family == TEI ? "\"]" : "\"";
    for (int i = 0; i < q->count; i++)
        if (q->fault == NO_TEXT && i == q->bad)
            sl_buffer_append_string(body, i ? ",7" : "7");
        else
            sl_buffer_printf(body, "%s%s%s%s", i ? "," : "", before, q->texts[i], after);
}

static void write_cuts(const struct question *q, struct sl_buffer *body)
{
    if (q->cuts)
        sl_buffer_printf(body, "\"truncate\":true,\"truncation_direction\":\"%s\"",
                         q->from_left ? "Left" : "Right");
}

/* A choice among all labels, in their order, and a predicate for each. */
static void write_decision(const struct question *q, struct sl_buffer *body)
{
    int classes = sl_model_info(oracles[q->model].model)->classes;
    sl_buffer_printf(body, "{\"model\":\"%s\",\"input\":", models[q->model]);
    write_texts(q, body);
    sl_buffer_append_string(body, q->cuts ? "," : "");
    write_cuts(q, body);
    sl_buffer_append_string(
        body, ",\"questions\":[{\"type\":\"choice\",\"instructions\":\"?\",\"choices\":[");
    for (int i = 0; i < classes; i++) {
        sl_buffer_append_string(body, i ? ",{\"value\":" : "{\"value\":");
        sl_json_quote(body, labels[q->model][i]);
        sl_buffer_append_string(body, "}");
    }
    sl_buffer_append_string(body, "]}");
    for (int i = 0; i < classes; i++) {
        sl_buffer_append_string(body, ",{\"type\":\"predicate\",\"instructions\":");
        sl_json_quote(body, labels[q->model][i]);
        sl_buffer_append_string(body, "}");
    }
    sl_buffer_append_string(body, "]}");
}

static void write_body(const struct question *q, struct sl_buffer *body)
{
    static const struct {
        const char *begin, *end, *parameters, *finish;
    } forms[] = {
        [TEI] = {"{\"inputs\":[", "]", ",", "}"},
        [HF] = {"{\"inputs\":[", "]", ",\"parameters\":{", "}}"},
        [OIP] = {"\"datatype\":\"BYTES\",\"data\":[",
                 "]}],\"outputs\":[{\"name\":\"logits\"},{\"name\":\"depth\"},"
                 "{\"name\":\"truncated\"}]",
                 ",\"parameters\":{", "}}"},
    };

    if (q->family == DECISIONS) {
        write_decision(q, body);
        return;
    }
    if (q->family == OIP)
        sl_buffer_printf(body, "{\"id\":\"%llu\",\"inputs\":[{\"name\":\"text\",\"shape\":[%d],",
                         (unsigned long long)q->number, q->count);
    sl_buffer_append_string(body, forms[q->family].begin);
    write_texts(q, body);
    sl_buffer_append_string(body, forms[q->family].end);
    sl_buffer_append_string(body, q->cuts ? forms[q->family].parameters : "");
    write_cuts(q, body);
    sl_buffer_append_string(body, q->cuts ? forms[q->family].finish : "}");
}

static void write_url(const struct question *q, char *url, size_t room)
{
    static const struct {
        const char *before, *after;
    } paths[] = {[TEI] = {"/models/", "/predict"},
                 [HF] = {"/hf/", ""},
                 [OIP] = {"/v2/models/", "/infer"},
                 [DECISIONS] = {"/v1/decisions", ""}};

    (void)snprintf(url, room, "http://127.0.0.1:%d%s%s%s", d.port, paths[q->family].before,
                   q->family == DECISIONS ? "" : models[q->model], paths[q->family].after);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct {
    int good, cut, refused, broken, abandoned;
    int64_t texts, max_texts;
} tally;

static void expect_scores(const struct question *q, const struct classification *v,
                          const json_t *list)
{
    cr_assert_eq(json_array_size(list), (size_t)v->classes);
    for (size_t i = 0; i < (size_t)v->classes; i++) {
        const json_t *one = json_array_get(list, i);
        float score = (float)json_number_at(one, "score");
        int class = 0;
        while (class < v->classes &&
               strcmp(labels[q->model][class], json_string_at(one, "label")) != 0)
            class ++;
        cr_assert_lt(class, v->classes);
        cr_assert_eq(score, v->probs[class], "question %llu: %.9g, not %.9g",
                     (unsigned long long)q->number, (double)score, (double)v->probs[class]);
    }
}

/* A number that is written with a few digits. */
static void expect_rounded(const struct question *q, double found, double wanted)
{
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%.4f", wanted);
    cr_assert_eq(found, strtod(digits, NULL), "question %llu: %g, not %s",
                 (unsigned long long)q->number, found, digits);
}

static void expect_tensors(const struct question *q, const struct classification *results,
                           const json_t *root)
{
    char id[32];
    const json_t *logits = json_at(root, "outputs/0/data"),
                 *depths = json_at(root, "outputs/1/data");
    const json_t *lost = json_at(root, "outputs/2/data");
    size_t count = (size_t)q->count, classes = (size_t)results->classes;
    (void)snprintf(id, sizeof id, "%llu", (unsigned long long)q->number);
    cr_assert_str_eq(json_string_at(root, "id"), id);
    cr_assert_eq(json_array_size(logits), count * classes);
    cr_assert_eq(json_array_size(depths), count);
    cr_assert_eq(json_array_size(lost), count);
    for (size_t i = 0; i < count; i++) {
        const struct classification *v = &results[i];
        for (size_t k = 0; k < classes; k++)
            cr_assert_eq((float)json_number_value(json_array_get(logits, i * classes + k)),
                         v->logits[k], "question %s, text %zu", id, i);
        expect_rounded(q, json_number_value(json_array_get(depths, i)), v->depth);
        cr_assert_eq(json_integer_value(json_array_get(lost, i)), v->given - v->tokens,
                     "question %s, text %zu", id, i);
    }
}

static void expect_decision(const struct question *q, const struct classification *v,
                            const json_t *root)
{
    const json_t *answers = json_at(root, "answers");
    cr_assert_eq(json_array_size(answers), (size_t)v->classes + 1);
    cr_assert_str_eq(json_string_at(root, "answers/0/choice"), labels[q->model][v->best]);
    for (size_t i = 0; i < (size_t)v->classes; i++) {
        const json_t *one = json_array_get(json_at(root, "answers/0/probabilities"), i);
        const json_t *predicate = json_array_get(answers, i + 1);
        cr_assert_str_eq(json_string_at(one, "value"), labels[q->model][i]);
        cr_assert_eq((float)json_number_at(one, "probability"), v->probs[i]);
        cr_assert_eq((float)json_number_at(predicate, "probability"), v->probs[i]);
    }
    cr_assert_eq(json_number_at(root, "usage/input_tokens"), v->tokens);
    expect_rounded(q, json_number_at(root, "usage/sluice/depth_mean"), v->depth);
    if (v->given > v->tokens)
        cr_assert_eq(json_number_at(root, "usage/sluice/truncated/input_tokens_given"), v->given);
    else
        cr_assert_null(json_at(root, "usage/sluice/truncated"));
}

/* The header holds this, or is not there when this is nothing. */
static void expect_header(const struct question *q, struct http_response *answer, const char *name,
                          const struct sl_buffer *wanted)
{
    const char *found = http_response_header(answer, name);
    cr_assert_eq(found != NULL, wanted->bytes > 0, "question %llu: %s is %s",
                 (unsigned long long)q->number, name, found ? found : "not there");
    cr_assert(!found || strcmp(found, wanted->data) == 0, "question %llu: %s is %s, not %s",
              (unsigned long long)q->number, name, found, wanted->data);
}

/* How deep each text went, and how long each was when some were cut. */
static void expect_headers(const struct question *q, const struct classification *results,
                           struct http_response *answer)
{
    struct sl_buffer depths = {0}, given = {0}, cut = {0};
    int cuts = 0;
    for (int i = 0; i < q->count; i++) {
        sl_buffer_printf(&depths, "%s%.2f", i ? "," : "", results[i].depth);
        sl_buffer_printf(&given, "%s%d", i ? "," : "", results[i].given);
        cuts += results[i].given > results[i].tokens;
    }
    if (cuts > 0)
        sl_buffer_printf(&cut, "%d", cuts);
    else
        sl_buffer_clear(&given);
    cr_assert_eq(cuts > 0, q->cuts);
    expect_header(q, answer, "x-sluice-depth", &depths);
    expect_header(q, answer, "x-sluice-truncated", &cut);
    expect_header(q, answer, "x-sluice-tokens-given", &given);
    sl_buffer_release(&depths);
    sl_buffer_release(&given);
    sl_buffer_release(&cut);
}

static void check_good(const struct question *q, struct http_response *answer)
{
    static struct classification results[TEXTS_MAX];
    json_t *root = json_from_response(answer);
    for (int i = 0; i < q->count; i++)
        results[i] = in_process_classify_truncated(&oracles[q->model], q->texts[i], q->from_left);
    expect_headers(q, results, answer);
    if (q->family == OIP)
        expect_tensors(q, results, root);
    else if (q->family == DECISIONS)
        expect_decision(q, results, root);
    else
        cr_assert_eq(json_array_size(root), (size_t)q->count);
    for (int i = 0; i < q->count && q->family <= HF; i++)
        expect_scores(q, &results[i], json_array_get(root, (size_t)i));
    json_decref(root);
    tally.good++;
    tally.cut += q->cuts;
    tally.texts += q->count;
    tally.max_texts = q->count > tally.max_texts ? q->count : tally.max_texts;
}

static long status_of(const struct question *q)
{
    bool is_tei = q->family <= HF;
    switch (q->fault) {
    case NO_FAULT:
    case FAULTS: break;
    case TOO_LONG:
    case UNKNOWN:
    case NO_TEXT:
    case TOO_MANY: return is_tei ? 422 : 400;
    case EMPTY: return 400;
    case OVERFLOWS: return is_tei ? 424 : 500;
    }
    return 200;
}

static void check_answer(const struct question *q, struct http_response *answer)
{
    cr_assert_eq(answer->status, status_of(q), "question %llu (fault %d): %ld %s",
                 (unsigned long long)q->number, (int)q->fault, answer->status, answer->body.data);
    if (q->fault == NO_FAULT)
        check_good(q, answer);
    tally.refused += q->fault != NO_FAULT && q->fault != OVERFLOWS;
    tally.broken += q->fault == OVERFLOWS;
}

/* ---- clients --------------------------------------------------------------------------------- */

struct client {
    CURL *curl;
    struct question question;
    struct sl_buffer body;
    struct http_response answer;
    int64_t leaves_ns; /* 0: stays to the end */
    bool busy;
};

static struct client clients[CLIENTS];

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void begin(CURLM *multi, struct client *c, uint64_t number, const struct curl_slist *headers)
{
    char url[128];
    make_question(&c->question, number);
    sl_buffer_clear(&c->body);
    sl_buffer_clear(&c->answer.head);
    sl_buffer_clear(&c->answer.body);
    sl_buffer_append_string(&c->answer.body, "");
    write_body(&c->question, &c->body);
    write_url(&c->question, url, sizeof url);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)c->body.bytes);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, c->body.data);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, http_append);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->answer.body);
    curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, http_append);
    curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, &c->answer.head);
    curl_easy_setopt(c->curl, CURLOPT_PRIVATE, c);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    c->leaves_ns = c->question.left ? now_ns() + c->question.patience_ns : 0;
    c->busy = true;
    cr_assert_eq(curl_multi_add_handle(multi, c->curl), CURLM_OK);
}

/* Closes the connection of one whose patience is over: curl does when a transfer is given up. */
static void leave(CURLM *multi, struct client *c)
{
    cr_assert_eq(curl_multi_remove_handle(multi, c->curl), CURLM_OK);
    c->busy = false;
    tally.abandoned++;
}

static void collect(CURLM *multi)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        struct client *c = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &c->answer.status);
        cr_assert_eq(code, CURLE_OK, "%s", curl_easy_strerror(code));
        curl_multi_remove_handle(multi, c->curl);
        c->busy = false;
        check_answer(&c->question, &c->answer);
    }
}

static void run_all(CURLM *multi, uint64_t count, const struct curl_slist *headers)
{
    int running = 1;
    uint64_t next = 0;
    bool busy = true;
    while (busy || next < count) {
        for (int i = 0; i < CLIENTS; i++)
            if (!clients[i].busy && next < count)
                begin(multi, &clients[i], next++, headers);
        cr_assert_eq(curl_multi_perform(multi, &running), CURLM_OK);
        collect(multi);
        busy = false;
        for (int i = 0; i < CLIENTS; i++) {
            struct client *c = &clients[i];
            if (c->busy && c->leaves_ns > 0 && now_ns() > c->leaves_ns)
                leave(multi, c);
            busy = busy || c->busy;
        }
        curl_multi_poll(multi, NULL, 0, 1, NULL);
    }
}

/* What the questions were meant to bring about has come about in the daemon. */
static void expect_use(void)
{
    double all = 0;
    metric_wait(&d, "sluice_requests_in_flight", 0);
    for (int i = 0; i < 2; i++) {
        char series[96], label[32];
        (void)snprintf(series, sizeof series,
                       "sluice_sequences_waiting{model=\"%s\",version=\"4\"}", models[i]);
        metric_wait(&d, series, 0);
        (void)snprintf(series, sizeof series, "sluice_admitted_tokens{model=\"%s\",version=\"4\"}",
                       models[i]);
        metric_wait(&d, series, 0);
        (void)snprintf(label, sizeof label, "model=\"%s\"", models[i]);
        double batches = metric_sum(&d, "sluice_batch_size_count", label);
        cr_assert_gt(metric_sum(&d, "sluice_batch_size_sum", label), batches, "texts stand alone");
        all += batches;
    }
    cr_assert_lt(all, tally.good, "texts of different calls share no batches");
    cr_assert_gt(metric_sum(&d, "sluice_requests_total", "reason=\"cancelled\""), 0,
                 "the daemon noticed no disconnect");
    cr_assert_gt(metric_sum(&d, "sluice_classified_texts_total", "outcome=\"cancelled\""), 0,
                 "it went on with all their texts");
}

Test(concurrent_answers, every_answer_belongs_to_its_question)
{
    const char *text = getenv("SLUICE_ANSWERS");
    uint64_t count = text ? strtoull(text, NULL, 10) : QUESTIONS;
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, (const char *const[]){
                         "--max-client-batch-size", "256", "--classify-max-batch-size", "48",
                         "--classify-max-batch-tokens", "500", "--threads", "2", NULL});
    for (int i = 0; i < 2; i++)
        oracles[i] = in_process_open(d.store, models[i]);
    CURLM *multi = curl_multi_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    for (int i = 0; i < CLIENTS; i++)
        clients[i].curl = curl_easy_init();
    run_all(multi, count, headers);
    (void)printf("%d good with %lld texts, %d of them cut; %d refused, %d broken, %d abandoned; "
                 "seed %llu\n",
                 tally.good, (long long)tally.texts, tally.cut, tally.refused, tally.broken,
                 tally.abandoned, (unsigned long long)test_seed());
    cr_assert_eq((uint64_t)(tally.good + tally.refused + tally.broken + tally.abandoned), count);
    cr_assert_gt(tally.good, (int)(count / 2));
    cr_assert_gt(tally.cut, 0);
    cr_assert_gt(tally.max_texts, 64);
    cr_assert_gt(tally.refused, 0);
    cr_assert_gt(tally.broken, 0);
    cr_assert_gt(tally.abandoned, 0);
    for (int i = 0; i < CLIENTS; i++) {
        curl_easy_cleanup(clients[i].curl);
        sl_buffer_release(&clients[i].body);
        http_response_release(&clients[i].answer);
    }
    curl_slist_free_all(headers);
    curl_multi_cleanup(multi);
    expect_use();
    for (int i = 0; i < 2; i++)
        in_process_close(&oracles[i]);
    daemon_stop(&d);
}
