/* test_bench_text_requests.c - the texts of a benchmark: the lines of a file, whatever bytes it
 * holds. */
#include "bench/bench_text_requests.h"
#include "support/test.h"

static char directory[PATH_MAX], path[PATH_MAX];

static void begin(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "texts");
}

static void end(void)
{
    test_directory_remove(directory);
}

TestSuite(bench_text_requests, .init = begin, .fini = end);

static bool read_bytes(struct bench_text_requests *texts, const char *data, size_t bytes,
                       struct client_error *fault)
{
    FILE *file = fopen(path, "we");
    cr_assert(file);
    cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
    cr_assert_eq(fclose(file), 0);
    *fault = (struct client_error){0};
    return bench_text_requests_read(texts, path, 2, false, fault);
}

#define READ(texts, data, fault) read_bytes((texts), (data), sizeof(data) - 1, (fault))

Test(bench_text_requests, lines_are_sent_round_robin)
{
    struct bench_text_requests texts;
    struct client_error fault;
    cr_assert(READ(&texts, "one\n\n\"two\"\r\n\r\nthree", &fault), "%s", fault.err.text);
    cr_assert_eq(texts.count, 3);
    static const char *const wanted[] = {"[[\"one\"],[\"\\\"two\\\"\"]]", "[[\"three\"],[\"one\"]]",
                                         "[[\"\\\"two\\\"\"],[\"three\"]]"};
    for (int i = 0; i < 6; i++) {
        char *body = bench_text_requests_body(&texts, i);
        cr_assert(strstr(body, wanted[i % 3]), "%d: %s", i, body);
        free(body);
    }
    texts.embeds = true;
    char *body = bench_text_requests_body(&texts, 1);
    cr_assert(strstr(body, "\"inputs\":[\"three\",\"one\"]}"), "%s", body);
    free(body);
    bench_text_requests_release(&texts);
}

Test(bench_text_requests, a_bad_line_is_named)
{
    struct bench_text_requests texts;
    struct client_error fault;
    char zeros[4096];
    cr_assert_not(READ(&texts, "one\n\n\ntw\xff\n", &fault));
    cr_assert(strstr(fault.err.text, ":4: the line is not UTF-8"), "%s", fault.err.text);
    cr_assert_not(READ(&texts, "one\n\ntw\0o\n", &fault));
    cr_assert(strstr(fault.err.text, ":3: the line contains a NUL byte"), "%s", fault.err.text);
    memset(zeros, 0, sizeof zeros);
    cr_assert_not(read_bytes(&texts, zeros, sizeof zeros, &fault));
    cr_assert(strstr(fault.err.text, ":1: the line contains a NUL byte"), "%s", fault.err.text);
    for (size_t i = 0; i < sizeof zeros; i += 2)
        zeros[i] = 'a';
    cr_assert_not(read_bytes(&texts, zeros, sizeof zeros, &fault));
    cr_assert(strstr(fault.err.text, ":1: the line contains a NUL byte"), "%s", fault.err.text);
    cr_assert_eq(texts.count, 0);
    cr_assert_null(texts.lines, "nothing is kept");
}

Test(bench_text_requests, a_file_without_text_is_rejected)
{
    struct bench_text_requests texts;
    struct client_error fault;
    cr_assert_not(READ(&texts, "", &fault));
    cr_assert(strstr(fault.err.text, "no lines with text"), "%s", fault.err.text);
    cr_assert_not(READ(&texts, "\r\n\n", &fault));
    cr_assert(strstr(fault.err.text, "no lines with text"), "%s", fault.err.text);
}
