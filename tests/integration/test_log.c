/* test_log.c - the daemon's log: each line is an event, as text or as JSON, and a request's names
 * what its client called it. */
#include "support/http_client.h"
#include "support/json_query.h"
#include "support/test.h"

#include <signal.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"

static void start(struct daemon *d, char path[PATH_MAX], const char *format)
{
    daemon_make_store(d);
    (void)daemon_keep_log(d, path);
    daemon_serve(d, (const char *const[]){"--log-level", "debug", "--log-format", format, NULL});
}

static void send_request(const struct daemon *d, const char *id, const char *trace)
{
    struct curl_slist *headers = curl_slist_append(NULL, id);
    headers = curl_slist_append(headers, trace);
    struct http_response response = http_request_with(
        d, "POST", "/v1/completions",
        "{\"model\":\"" TINY_MODEL "\",\"prompt\":\"ab\",\"max_tokens\":2}", headers);
    cr_assert_eq(response.status, 200);
    cr_assert_null(http_response_header(&response, "traceparent"), "it is not forwarded");
    http_response_release(&response);
    curl_slist_free_all(headers);
    metric_wait(d, "sluice_requests_in_flight", 0); /* it is logged before */
}

/* The line of a request, in line, which has 1024 bytes. All lines of the log are checked. */
static void find_line(const char *path, const char *id, char *line, bool (*is_well_formed)(char *))
{
    char each[1024];
    FILE *file = fopen(path, "r");
    cr_assert(file);
    line[0] = '\0';
    while (fgets(each, sizeof each, file)) {
        cr_assert_eq(each[strlen(each) - 1], '\n', "cut: %s", each);
        if (strstr(each, id))
            memcpy(line, each, sizeof each);
        cr_assert(is_well_formed(each), "%s", each);
    }
    (void)fclose(file);
    cr_assert(line[0], "no line of %s", id);
}

static bool is_json(char *line)
{
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_string(json_object_get(object, "time")) &&
                json_is_string(json_object_get(object, "level")) &&
                json_is_string(json_object_get(object, "event"));
    json_decref(object);
    return good;
}

/* 2026-01-02T03:04:05.678Z level event key=value... */
static bool is_text(char *line)
{
    char level[8];
    int year, ms;
    return sscanf(line, "%d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ %7s", &year, &ms, level) == 3 &&
           strstr("error warn info debug", level);
}

Test(logging, a_request_is_logged_with_its_id_and_the_id_of_its_trace)
{
    static struct daemon d;
    char path[PATH_MAX], line[1024];
    start(&d, path, "json");
    send_request(&d, "x-request-id: mine-1", "traceparent: 00-" TRACE "-b7ad6b7169203331-01");
    find_line(path, "mine-1", line, is_json);
    json_t *object = json_loads(line, 0, NULL);
    cr_assert_str_eq(json_string_at(object, "event"), "request");
    cr_assert_str_eq(json_string_at(object, "request_id"), "mine-1");
    cr_assert_str_eq(json_string_at(object, "trace_id"), TRACE);
    cr_assert_str_eq(json_string_at(object, "endpoint"), "/v1/completions");
    cr_assert_str_eq(json_string_at(object, "model"), TINY_MODEL);
    cr_assert_str_eq(json_string_at(object, "version"), "1");
    cr_assert_eq(json_integer_value(json_object_get(object, "code")), 200);
    json_decref(object);
    send_request(&d, "x-request-id: mine-2", "traceparent: 00-" TRACE "-b7ad6b7169203331-0");
    find_line(path, "mine-2", line, is_json);
    cr_assert_not(strstr(line, "trace_id"), "%s", line);
    daemon_stop(&d);
}

Test(logging, text_has_the_same_fields)
{
    static struct daemon d;
    char path[PATH_MAX], line[1024];
    start(&d, path, "text");
    send_request(&d, "x-request-id: mine-3", "traceparent: 00-" TRACE "-b7ad6b7169203331-01");
    find_line(path, "mine-3", line, is_text);
    cr_assert(strstr(line, " debug request endpoint=/v1/completions request_id=mine-3 "), "%s",
              line);
    cr_assert(strstr(line, " trace_id=" TRACE), "%s", line);
    daemon_stop(&d);
}

Test(logging, a_name_that_could_forge_a_line_is_replaced)
{
    static struct daemon d;
    char path[PATH_MAX], line[1024];
    start(&d, path, "text");
    send_request(&d, "x-request-id: mine level=error", "X-Other: 1");
    find_line(path, "request_id=req-", line, is_text);
    cr_assert_not(strstr(line, "level=error"), "%s", line);
    daemon_stop(&d);
}
