/* hosts.c - which hosts a request may be for. */
#include "access/hosts.h"
#include "access/api_keys.h"
#include "access/word_list.h"
#include "core/options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Without user, port, brackets and a final dot. False: it is too long to be one. */
static bool read_name(const char *host, char name[static SV_OPTION_TEXT_MAX], bool *has_brackets)
{
    const char *user = strrchr(host, '@');
    host = user ? user + 1 : host;
    *has_brackets = host[0] == '[';
    size_t length = strcspn(host + *has_brackets, *has_brackets ? "]" : ":");
    if (length >= SV_OPTION_TEXT_MAX)
        return false;
    (void)snprintf(name, SV_OPTION_TEXT_MAX, "%.*s", (int)length, host + *has_brackets);
    if (length > 0 && name[length - 1] == '.')
        name[length - 1] = '\0';
    return true;
}

static bool is_address(const char *name, bool has_brackets)
{
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(has_brackets ? AF_INET6 : AF_INET, name, address) == 1;
}

static bool is_automatic(const struct sv_server *server)
{
    return strcmp(server->options->allowed_hosts, "auto") == 0;
}

/* Whether names are checked at all. */
static bool are_checked(const struct sv_server *server)
{
    if (is_automatic(server))
        return !sv_api_keys_are_required(server->keys) && !server->options->insecure;
    return strcmp(server->options->allowed_hosts, "*") != 0;
}

static bool is_allowed(const struct sv_server *server, const char *name)
{
    return strcasecmp(name, "localhost") == 0 ||
           (!is_automatic(server) && sv_word_is_listed(server->options->allowed_hosts, name));
}

bool sv_host_check(const struct sv_request *request, const char *host, struct sv_error *error)
{
    char name[SV_OPTION_TEXT_MAX];
    bool has_brackets;
    if (!host || request->caller.is_unix || !are_checked(request->server))
        return true;
    if (read_name(host, name, &has_brackets) &&
        (is_address(name, has_brackets) || is_allowed(request->server, name)))
        return true;
    return sv_fail(error, SV_HOST_NOT_ALLOWED, NULL,
                   "Requests for the host \"%.100s\" are not answered; an administrator can add it "
                   "to the option allowed_hosts.",
                   host);
}
