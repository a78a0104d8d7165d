/* request_framing.c - where each request on a connection begins and ends. */
#include "http/request_framing.h"
#include "core/limits.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct line {
    char *at;
    size_t bytes; /* without CR LF */
};

static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "!#$%&'*+-.^_`|~";

static bool fail(struct sv_framing *f, enum sv_error_kind kind, const char *message)
{
    f->heads += f->state == SV_FRAMING_START || f->state == SV_FRAMING_HEADERS;
    f->state = SV_FRAMING_FAILED;
    f->error = kind;
    f->message = message;
    return false;
}

static bool fail_bad(struct sv_framing *f, const char *message)
{
    return fail(f, SV_BAD_REQUEST, message);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool is_token(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!text[i] || !strchr(token, text[i]))
            return false;
    return bytes > 0;
}

/* Bytes from 0x80 are accepted: no program takes them for syntax. */
static bool is_text(const char *text, size_t bytes, bool spaces)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == 0x7f || (c < 0x21 && !(spaces && (c == ' ' || c == '\t'))))
            return false;
    }
    return true;
}

/* Without the spaces before it. Those after it stay: libmicrohttpd 0.9.75 does not remove them, so
 * to it "chunked " is not chunked. */
static struct line skip_spaces(struct line line)
{
    for (; line.bytes > 0 && (*line.at == ' ' || *line.at == '\t'); line.bytes--)
        line.at++;
    return line;
}

static bool equals(struct line line, const char *text)
{
    return line.bytes == strlen(text) && strncasecmp(line.at, text, line.bytes) == 0;
}

/* ---- the first line -------------------------------------------------------------------------- */

static void keep_segment(struct sv_framing *f, struct line target)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t bytes = 1;
    f->segment[0] = '\0';
    if (target.bytes == 0 || target.at[0] != '/')
        return;
    while (bytes < target.bytes && target.at[bytes] && strchr(plain, target.at[bytes]))
        bytes++;
    if (bytes >= sizeof f->segment || (bytes < target.bytes && !strchr("/?", target.at[bytes])))
        return;
    memcpy(f->segment, target.at, bytes);
    f->segment[bytes] = '\0';
}

static bool read_version(struct sv_framing *f, struct line version)
{
    f->is_http_1_1 = version.bytes == 8 && memcmp(version.at, "HTTP/1.1", 8) == 0;
    return f->is_http_1_1 || (version.bytes == 8 && memcmp(version.at, "HTTP/1.0", 8) == 0) ||
           fail_bad(f, "The request line does not end with HTTP/1.1 or HTTP/1.0.");
}

/* METHOD target HTTP/1.1, with one space between them. */
static bool read_start(struct sv_framing *f, struct line line)
{
    struct line target = {0}, version = {0};
    char *space = memchr(line.at, ' ', line.bytes), *end = line.at + line.bytes;
    if (space) {
        target = (struct line){space + 1, (size_t)(end - space - 1)};
        space = memchr(target.at, ' ', target.bytes);
    }
    if (space) {
        target.bytes = (size_t)(space - target.at);
        version = (struct line){space + 1, (size_t)(end - space - 1)};
    }
    keep_segment(f, target);
    if (target.bytes == 0 || version.bytes == 0 ||
        !is_token(line.at, (size_t)(target.at - line.at - 1)))
        return fail_bad(f, "The request line is not: METHOD path HTTP/1.1, with single spaces.");
    if (!is_text(target.at, target.bytes, false))
        return fail_bad(f, "The path has a control character.");
    f->state = SV_FRAMING_HEADERS;
    return read_version(f, version);
}

/* ---- headers --------------------------------------------------------------------------------- */

static bool read_length(struct sv_framing *f, struct line value)
{
    enum { DIGITS_MAX = 18 };

    f->length = 0;
    for (size_t i = 0; i < value.bytes; i++) {
        if (value.at[i] < '0' || value.at[i] > '9' || value.bytes > DIGITS_MAX)
            return fail_bad(f, "Content-Length is not a number of up to 18 digits.");
        f->length = 10 * f->length + (uint64_t)(value.at[i] - '0');
    }
    if (value.bytes == 0)
        return fail_bad(f, "Content-Length is empty.");
    return f->lengths++ == 0 || fail_bad(f, "There is more than one Content-Length header.");
}

static bool read_coding(struct sv_framing *f, struct line value)
{
    f->has_chunks = true;
    if (f->codings++ > 0)
        return fail_bad(f, "There is more than one Transfer-Encoding header.");
    if (value.bytes == 0)
        return fail_bad(f, "Transfer-Encoding is empty.");
    return equals(value, "chunked") ||
           fail(f, SV_NOT_IMPLEMENTED, "The only supported transfer encoding is chunked.");
}

static bool read_host(struct sv_framing *f, struct line value)
{
    while (value.bytes > 0 && strchr(" \t", value.at[value.bytes - 1]))
        value.bytes--;
    for (size_t i = 0; i < value.bytes; i++)
        if (!isalnum((unsigned char)value.at[i]) && !strchr("-._~:[]", value.at[i]))
            return fail_bad(f, "The Host header is not a name or an address.");
    return f->hosts++ == 0 || fail_bad(f, "There is more than one Host header.");
}

static bool read_authorization(struct sv_framing *f)
{
    return f->authorizations++ == 0 || fail_bad(f, "There is more than one Authorization header.");
}

static bool read_header(struct sv_framing *f, struct line line)
{
    char *colon = memchr(line.at, ':', line.bytes);
    struct line name = {line.at, colon ? (size_t)(colon - line.at) : 0};
    if (line.at[0] == ' ' || line.at[0] == '\t')
        return fail_bad(f, "A header line begins with a space: folded lines are not accepted.");
    if (!colon || !is_token(name.at, name.bytes))
        return fail_bad(f, "A header's name is empty, has an invalid character or a space before "
                           "its colon, or the colon is missing.");
    struct line value = {colon + 1, line.bytes - name.bytes - 1};
    if (!is_text(value.at, value.bytes, true))
        return fail_bad(f, "A header's value has a control character.");
    value = skip_spaces(value);
    if (f->state == SV_FRAMING_TRAILERS)
        return true; /* they are not used */
    if (equals(name, "Host"))
        return read_host(f, value);
    if (equals(name, "Authorization"))
        return read_authorization(f);
    if (equals(name, "Content-Length"))
        return read_length(f, value);
    return !equals(name, "Transfer-Encoding") || read_coding(f, value);
}

static bool end_head(struct sv_framing *f)
{
    if (f->is_http_1_1 && f->hosts == 0)
        return fail_bad(f, "HTTP/1.1 needs a Host header.");
    if (f->lengths > 0 && f->codings > 0)
        return fail_bad(f, "Content-Length and Transfer-Encoding give the length of the body "
                           "twice.");
    if (f->codings > 0 && !f->is_http_1_1)
        return fail_bad(f, "HTTP/1.0 has no transfer encodings.");
    f->heads++;
    f->left = f->length;
    f->state = f->has_chunks ? SV_FRAMING_CHUNK_SIZE : SV_FRAMING_BODY;
    f->is_unit_complete = true;
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef", capitals[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL, *capital = c ? strchr(capitals, c) : NULL;
    if (at)
        return (int)(at - digits);
    return capital ? (int)(capital - capitals) : -1;
}

/* Extensions are not used, and libmicrohttpd 1.0.1 rejects some: zeros take their place. */
static void remove_extension(struct line line, size_t digits)
{
    memmove(line.at + line.bytes - digits, line.at, digits);
    memset(line.at, '0', line.bytes - digits);
}

/* Hexadecimal digits, perhaps with an extension. */
static bool read_chunk_size(struct sv_framing *f, struct line line)
{
    enum { DIGITS_MAX = 8 };

    size_t digits = 0;
    f->left = 0;
    for (int digit; digits < line.bytes && (digit = hex_digit(line.at[digits])) >= 0; digits++)
        f->left = digits < DIGITS_MAX ? 16 * f->left + (uint64_t)digit : 0;
    if (digits == 0 || digits > DIGITS_MAX)
        return fail_bad(f, "The size of a chunk is not a number of 1 to 8 hexadecimal digits.");
    struct line rest = {line.at + digits, line.bytes - digits};
    if (rest.bytes > 0 && (rest.at[0] != ';' || !is_text(rest.at, rest.bytes, true)))
        return fail_bad(f, "The size of a chunk is followed by something else than an extension.");
    remove_extension(line, digits);
    f->state = f->left > 0 ? SV_FRAMING_CHUNK_DATA : SV_FRAMING_TRAILERS;
    f->is_unit_complete = f->left > 0;
    return true;
}

static bool end_chunk(struct sv_framing *f, struct line line)
{
    if (line.bytes > 0)
        return fail_bad(f, "A chunk is not as long as its size says.");
    f->state = SV_FRAMING_CHUNK_SIZE;
    return true;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool begin_request(struct sv_framing *f)
{
    *f = (struct sv_framing){.heads = f->heads, .unit = f->unit, .is_unit_complete = true};
    return true;
}

static bool read_line(struct sv_framing *f, struct line line)
{
    bool is_empty = line.bytes == 0;
    switch (f->state) {
    case SV_FRAMING_START:
        f->is_unit_complete = is_empty; /* ignored, as RFC 9112 recommends */
        return is_empty || read_start(f, line);
    case SV_FRAMING_HEADERS: return is_empty ? end_head(f) : read_header(f, line);
    case SV_FRAMING_CHUNK_SIZE: return read_chunk_size(f, line);
    case SV_FRAMING_CHUNK_END: return end_chunk(f, line);
    case SV_FRAMING_TRAILERS: return is_empty ? begin_request(f) : read_header(f, line);
    case SV_FRAMING_BODY:
    case SV_FRAMING_CHUNK_DATA:
    case SV_FRAMING_FAILED: break;
    }
    assert(false && "a state without lines");
    return false;
}

/* Whether the unit that is being read has grown too long. */
static bool check_unit(struct sv_framing *f, size_t bytes)
{
    bool in_head = f->state == SV_FRAMING_START || f->state == SV_FRAMING_HEADERS;
    if (in_head)
        return bytes <= SV_HEAD_BYTES_MAX ||
               fail(f, SV_HEAD_TOO_LARGE, "The request line and the headers are too long.");
    return bytes <= SV_CHUNK_HEAD_BYTES_MAX ||
           fail_bad(f, "The extension of a chunk, or the trailers, are too long.");
}

/* Reads the line at the end of the unit. False: it is not complete, or wrong. */
static bool read_unit(struct sv_framing *f, char *bytes, size_t count)
{
    char *at = bytes + f->unit, *end = memchr(at, '\n', count - f->unit);
    if (f->unit == 0)
        f->unit_state = f->state;
    if (!check_unit(f, end ? (size_t)(end + 1 - bytes) : count) || !end)
        return false;
    if (end == at || end[-1] != '\r')
        return fail_bad(f, "A line ends without a carriage return.");
    f->unit = (size_t)(end + 1 - bytes);
    return read_line(f, (struct line){at, (size_t)(end - 1 - at)});
}

static size_t read_body(struct sv_framing *f, size_t count)
{
    size_t taken = count < f->left ? count : (size_t)f->left;
    f->left -= taken;
    if (f->left == 0 && f->state == SV_FRAMING_CHUNK_DATA)
        f->state = SV_FRAMING_CHUNK_END;
    return taken;
}

static bool in_body(const struct sv_framing *f)
{
    return f->state == SV_FRAMING_BODY || f->state == SV_FRAMING_CHUNK_DATA;
}

size_t sv_framing_read(struct sv_framing *f, char *bytes, size_t count)
{
    size_t passed = 0;
    while (f->state != SV_FRAMING_FAILED) {
        if (in_body(f) && f->left == 0)
            (void)begin_request(f);
        if (passed == count)
            break;
        if (in_body(f)) {
            passed += read_body(f, count - passed);
            continue;
        }
        if (!read_unit(f, bytes + passed, count - passed))
            break;
        if (f->is_unit_complete) {
            passed += f->unit;
            f->unit = 0;
            f->is_unit_complete = false;
        }
    }
    return passed;
}

void sv_framing_end(struct sv_framing *f)
{
    if (f->state != SV_FRAMING_FAILED)
        (void)fail_bad(f, "The connection ended in the middle of a request.");
}

size_t sv_framing_substitute(const struct sv_framing *f, char out[static SV_FRAMING_SUBSTITUTE_MAX])
{
    assert(f->state == SV_FRAMING_FAILED);
    const char *segment = f->segment[0] ? f->segment : "/";
    switch (f->unit_state) {
    case SV_FRAMING_START:
    case SV_FRAMING_HEADERS:
        return (size_t)snprintf(out, SV_FRAMING_SUBSTITUTE_MAX, "GET %s HTTP/1.0\r\n\r\n", segment);
    case SV_FRAMING_CHUNK_END:
        return (size_t)snprintf(out, SV_FRAMING_SUBSTITUTE_MAX, "\r\n0\r\n\r\n");
    case SV_FRAMING_CHUNK_SIZE:
    case SV_FRAMING_TRAILERS:
    case SV_FRAMING_BODY:
    case SV_FRAMING_CHUNK_DATA:
    case SV_FRAMING_FAILED: break;
    }
    return (size_t)snprintf(out, SV_FRAMING_SUBSTITUTE_MAX, "0\r\n\r\n");
}
