/* test_answers.c - every answer belongs to its question: many calls at once, of two models, three
 * families and all sizes, some of them bad, some of them abandoned, each answer known beforehand to
 * the last digit.
 *
 *     SLUICE_ANSWERS=100000 build/release/tests/test_answers      the long run */
#include "json_answer.h"
#include "oracle.h"
#include "tiny_classifier.h"

#include <math.h>

enum { CLIENTS = 32, TEXTS_MAX = 64, TEXT_BYTES = 24, BODY_MAX = 1 << 15 };

/* How many questions. Each costs a model run of our own for every text, alone. */
enum { QUESTIONS = TEST_SANITIZED ? 150 : 1000 };

static struct daemon d;
static struct oracle oracles[2];
static const char *const models[] = {MOOD, PLAIN};
static const char *const *const labels[] = {mood_labels, plain_labels};

/* ---- questions, each a function of its number ------------------------------------------------ */

enum family { TEI, HF, OIP, FAMILIES };

/* What is wrong with one text of a bad question. */
enum fault { NO_FAULT, TOO_LONG, EMPTY, OVERFLOWS, FAULTS };

struct question {
    uint64_t number;
    int model, count;
    enum family family;
    enum fault fault;
    int bad; /* which text */
    char texts[TEXTS_MAX][TEXT_BYTES * 4];
    bool left;           /* the client leaves before the answer, */
    int64_t patience_ns; /* after so long */
};

/* A text that no other question has: its number in letters, and some more. */
static void write_text(const struct question *q, int index, char *text)
{
    uint64_t key = sl_random_key(q->number, "text"), rest = q->number * TEXTS_MAX + (uint64_t)index;
    int length = 0, more = (int)sl_random_below(key, (uint64_t)index, 12);
    for (; rest > 0 || length == 0; rest /= 26)
        text[length++] = (char)('a' + rest % 26);
    for (int i = 0; i < more; i++)
        text[length++] = "abcdefghij klm.,?"[sl_random_below(key, (uint64_t)(1000 + i), 17)];
    text[length++] = 'z'; /* no blank at the end */
    text[length] = '\0';
}

static void spoil(struct question *q)
{
    char *text = q->texts[q->bad];
    switch (q->fault) {
    case NO_FAULT:
    case FAULTS: break;
    case TOO_LONG:
        memset(text, 'a', TEXT_BYTES * 4 - 1);
        text[TEXT_BYTES * 4 - 1] = '\0';
        break;
    case EMPTY: text[0] = '\0'; break;
    case OVERFLOWS: text[0] = '!'; break;
    }
}

static void make_question(struct question *q, uint64_t number)
{
    uint64_t key = sl_random_key(test_seed(), "questions") + number * 64;
    *q = (struct question){.number = number};
    q->model = (int)sl_random_below(key, 1, 2);
    q->family = (enum family)sl_random_below(key, 2, FAMILIES);
    int most = sl_random_below(key, 3, 8) ? 12 : TEXTS_MAX;
    q->count = 1 + (int)sl_random_below(key, 4, (uint64_t)most);
    q->bad = (int)sl_random_below(key, 5, (uint64_t)q->count);
    if (sl_random_below(key, 6, 10) == 0)
        q->fault = (enum fault)(1 + sl_random_below(key, 7, FAULTS - 1));
    if (q->fault == OVERFLOWS || q->fault == EMPTY)
        q->model = q->fault == OVERFLOWS; /* only `plain` overflows, only `mood` has empty texts */
    q->left = sl_random_below(key, 8, 12) == 0;
    q->patience_ns = (int64_t)sl_random_below(key, 9, 3000000);
    for (int i = 0; i < q->count; i++)
        write_text(q, i, q->texts[i]);
    spoil(q);
}

/* The texts hold nothing that JSON would escape. */
static void write_body(const struct question *q, struct sv_text *body)
{
    static const struct {
        const char *begin, *before, *after, *end;
    } forms[] = {
        [TEI] = {"{\"inputs\":[", "[\"", "\"]", "]}"},
        [HF] = {"{\"inputs\":[", "\"", "\"", "]}"},
        [OIP] = {"\"datatype\":\"BYTES\",\"data\":[", "\"", "\"",
                 "]}],\"outputs\":[{\"name\":\"logits\"}]}"},
    };

    if (q->family == OIP)
        sv_text_print(body, "{\"id\":\"%llu\",\"inputs\":[{\"name\":\"text\",\"shape\":[%d],",
                      (unsigned long long)q->number, q->count);
    sv_text_adds(body, forms[q->family].begin);
    for (int i = 0; i < q->count; i++)
        sv_text_print(body, "%s%s%s%s", i ? "," : "", forms[q->family].before, q->texts[i],
                      forms[q->family].after);
    sv_text_adds(body, forms[q->family].end);
}

static void write_url(const struct question *q, char *url, size_t room)
{
    static const struct {
        const char *before, *after;
    } paths[] = {
        [TEI] = {"/models/", "/predict"}, [HF] = {"/hf/", ""}, [OIP] = {"/v2/models/", "/infer"}};

    (void)snprintf(url, room, "http://127.0.0.1:%d%s%s%s", d.port, paths[q->family].before,
                   models[q->model], paths[q->family].after);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct {
    int good, refused, broken, abandoned;
    int64_t texts;
} tally;

static void expect_scores(const struct question *q, int index, const json_t *list)
{
    struct verdict v = oracle_ask(&oracles[q->model], q->texts[index]);
    cr_assert_eq(json_array_size(list), (size_t)v.classes);
    for (size_t i = 0; i < (size_t)v.classes; i++) {
        const json_t *one = json_array_get(list, i);
        float score = (float)number_at(one, "score");
        int class = 0;
        while (class < v.classes && strcmp(labels[q->model][class], text_at(one, "label")) != 0)
            class ++;
        cr_assert_lt(class, v.classes);
        cr_assert_eq(score, v.probs[class], "question %llu, text %d: %.9g, not %.9g",
                     (unsigned long long)q->number, index, (double)score, (double)v.probs[class]);
    }
}

static void expect_logits(const struct question *q, const json_t *root)
{
    char id[32];
    const json_t *data = at(root, "outputs/0/data");
    (void)snprintf(id, sizeof id, "%llu", (unsigned long long)q->number);
    cr_assert_str_eq(text_at(root, "id"), id);
    for (int i = 0; i < q->count; i++) {
        struct verdict v = oracle_ask(&oracles[q->model], q->texts[i]);
        cr_assert_eq(json_array_size(data), (size_t)(q->count * v.classes));
        for (int k = 0; k < v.classes; k++)
            cr_assert_eq(
                (float)json_number_value(json_array_get(data, (size_t)(i * v.classes + k))),
                v.logits[k], "question %s, text %d", id, i);
    }
}

static long status_of(const struct question *q)
{
    static const long statuses[FAMILIES][FAULTS] = {
        [TEI] = {200, 422, 400, 424}, [HF] = {200, 422, 400, 424}, [OIP] = {200, 400, 400, 500}};
    return statuses[q->family][q->fault];
}

static void check_answer(const struct question *q, long status, const struct sv_text *body)
{
    cr_assert_eq(status, status_of(q), "question %llu (fault %d): %ld %s",
                 (unsigned long long)q->number, (int)q->fault, status, body->data);
    tally.good += q->fault == NO_FAULT;
    tally.refused += q->fault == TOO_LONG || q->fault == EMPTY;
    tally.broken += q->fault == OVERFLOWS;
    if (q->fault != NO_FAULT)
        return;
    json_t *root = json_loads(body->data, 0, NULL);
    cr_assert(root, "%s", body->data);
    tally.texts += q->count;
    if (q->family == OIP)
        expect_logits(q, root);
    else
        cr_assert_eq(json_array_size(root), (size_t)q->count);
    for (int i = 0; i < q->count && q->family != OIP; i++)
        expect_scores(q, i, json_array_get(root, (size_t)i));
    json_decref(root);
}

/* ---- clients --------------------------------------------------------------------------------- */

struct client {
    CURL *curl;
    struct question question;
    struct sv_text body, answer;
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
    sv_text_clear(&c->body);
    sv_text_clear(&c->answer);
    sv_text_adds(&c->answer, "");
    write_body(&c->question, &c->body);
    write_url(&c->question, url, sizeof url);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)c->body.bytes);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, c->body.data);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->answer);
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
        long status = 0;
        CURLcode told = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&c);
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        cr_assert_eq(told, CURLE_OK, "%s", curl_easy_strerror(told));
        curl_multi_remove_handle(multi, c->curl);
        c->busy = false;
        check_answer(&c->question, status, &c->answer);
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

Test(answers, every_answer_belongs_to_its_question)
{
    const char *text = getenv("SLUICE_ANSWERS");
    uint64_t count = text ? strtoull(text, NULL, 10) : QUESTIONS;
    daemon_make_store(&d);
    tiny_classifiers_make(d.store);
    daemon_serve(&d, (const char *const[]){"--classify-items", "48", "--classify-rows", "500",
                                           "--threads", "2", NULL});
    for (int i = 0; i < 2; i++)
        oracles[i] = oracle_open(d.store, models[i]);
    CURLM *multi = curl_multi_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    for (int i = 0; i < CLIENTS; i++)
        clients[i].curl = curl_easy_init();
    run_all(multi, count, headers);
    (void)printf("%d good with %lld texts, %d refused, %d broken, %d abandoned; seed %llu\n",
                 tally.good, (long long)tally.texts, tally.refused, tally.broken, tally.abandoned,
                 (unsigned long long)test_seed());
    cr_assert_eq((uint64_t)(tally.good + tally.refused + tally.broken + tally.abandoned), count);
    cr_assert_gt(tally.good, (int)(count / 2));
    cr_assert_gt(tally.refused, 0);
    cr_assert_gt(tally.broken, 0);
    cr_assert_gt(tally.abandoned, 0);
    for (int i = 0; i < CLIENTS; i++) {
        curl_easy_cleanup(clients[i].curl);
        sv_text_release(&clients[i].body);
        sv_text_release(&clients[i].answer);
    }
    curl_slist_free_all(headers);
    curl_multi_cleanup(multi);
    wait_for_metric(&d, "sluice_calls_in_flight", 0);
    wait_for_metric(&d, "sluice_requests_waiting{model=\"mood\",version=\"4\"}", 0);
    wait_for_metric(&d, "sluice_admitted_tokens{model=\"plain\",version=\"4\"}", 0);
    for (int i = 0; i < 2; i++)
        oracle_close(&oracles[i]);
    daemon_stop(&d);
}
