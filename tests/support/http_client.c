/* http_client.c - requests by libcurl, and what /metrics says. */
#include "support/http_client.h"
#include "base/buffer.h"
#include "base/clock.h"

#include "support/test.h"

#include <strings.h>

size_t http_append(char *bytes, size_t size, size_t count, void *text)
{
    sl_buffer_append(text, bytes, size * count);
    return size * count;
}

void http_response_release(struct http_response *response)
{
    sl_buffer_release(&response->head);
    sl_buffer_release(&response->body);
}

struct http_response http_perform(CURL *curl)
{
    struct http_response response = {0};
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response.body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_append);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response.head);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)DAEMON_WAIT_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    response.curl_code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
    sl_buffer_append_string(&response.body, ""); /* an empty body is a string too */
    sl_buffer_append_string(&response.head, "");
    return response;
}

/* unix_socket NULL: by TCP */
static struct http_response perform(const char *url, const char *unix_socket, const char *method,
                                    const char *body, const struct curl_slist *headers)
{
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, unix_socket);
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (body) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    }
    struct curl_slist *all =
        body ? curl_slist_append(NULL, "Content-Type: application/json") : NULL;
    for (; headers; headers = headers->next)
        all = curl_slist_append(all, headers->data);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, all);
    struct http_response response = http_perform(curl);
    curl_slist_free_all(all);
    curl_easy_cleanup(curl);
    return response;
}

struct http_response http_request_with(const struct daemon *daemon, const char *method,
                                       const char *path, const char *body,
                                       const struct curl_slist *headers)
{
    char url[2048];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d%s", daemon->port, path);
    return perform(url, NULL, method, body, headers);
}

struct http_response http_admin_with(const struct daemon *daemon, const char *method,
                                     const char *path, const char *body,
                                     const struct curl_slist *headers)
{
    char url[2048], unix_socket[PATH_MAX];
    (void)snprintf(url, sizeof url, "http://localhost%s", path);
    return perform(url, daemon_admin_socket(daemon, unix_socket), method, body, headers);
}

struct http_response http_admin(const struct daemon *daemon, const char *method, const char *path,
                                const char *body)
{
    return http_admin_with(daemon, method, path, body, NULL);
}

struct http_response http_request(const struct daemon *daemon, const char *method, const char *path,
                                  const char *body)
{
    return http_request_with(daemon, method, path, body, NULL);
}

struct http_response http_complete(const struct daemon *daemon, const char *body)
{
    return http_request(daemon, "POST", "/v1/completions", body);
}

const char *http_response_header(struct http_response *response, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = response->head.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        const char *start = line + length + 1 + strspn(line + length + 1, " ");
        (void)snprintf(response->header, sizeof response->header, "%.*s",
                       (int)strcspn(start, "\r\n"), start);
        return response->header;
    }
    return NULL;
}

/* The sum of the samples whose line has `begin` before the character `next`, and this part. */
static double sum_samples(const struct daemon *daemon, const char *begin, char next,
                          const char *part)
{
    struct http_response response = http_request(daemon, "GET", "/metrics", NULL);
    cr_assert_eq(response.status, 200);
    double sum = 0;
    size_t length = strlen(begin);
    for (const char *line = response.body.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *end = line + strcspn(line, "\n"), *found = strstr(line, part);
        if (strncmp(line, begin, length) == 0 && line[length] == next && found && found < end)
            sum += strtod(memrchr(line, ' ', (size_t)(end - line)), NULL);
    }
    http_response_release(&response);
    return sum;
}

double metric_value(const struct daemon *daemon, const char *series)
{
    return sum_samples(daemon, series, ' ', "");
}

double metric_sum(const struct daemon *daemon, const char *name, const char *labels)
{
    return sum_samples(daemon, name, '{', labels);
}

double metric_completions(const struct daemon *daemon, const char *code, const char *reason)
{
    char series[256];
    (void)snprintf(series, sizeof series,
                   "sluice_requests_total{endpoint=\"/v1/completions\",model=\"" TINY_MODEL
                   "\",version=\"1\",code=\"%s\",reason=\"%s\"}",
                   code, reason);
    return metric_value(daemon, series);
}

void metric_wait(const struct daemon *daemon, const char *series, double want)
{
    int64_t until = sl_now_ns() + (int64_t)DAEMON_WAIT_MS * 1000000;
    double value;
    while ((value = metric_value(daemon, series)) != want && sl_now_ns() < until)
        sleep_ms(20);
    cr_assert_eq(value, want, "%s is %g, not %g", series, value, want);
}
