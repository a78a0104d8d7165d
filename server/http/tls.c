/* tls.c - the certificate and the key of the daemon's TCP listeners. */
#include "http/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PEM_BYTES_MAX = 1 << 20, PEM_PATH_MAX = 2 * SV_OPTION_TEXT_MAX };

static bool check_mode(FILE *stream, bool is_secret, struct sl_err *err)
{
    struct stat found;
    if (fstat(fileno(stream), &found) != 0)
        return sl_fail(err, SL_IO, "%s", strerrordesc_np(errno));
    if (!S_ISREG(found.st_mode) || found.st_size <= 0 || found.st_size > PEM_BYTES_MAX)
        return sl_fail(err, SL_BAD_INPUT, "it is not a file of 1 to %d bytes", PEM_BYTES_MAX);
    return !is_secret || !(found.st_mode & (S_IROTH | S_IWOTH)) ||
           sl_fail(err, SL_BAD_INPUT, "every user may read or write it; use chmod o-rw");
}

static bool read_stream(FILE *stream, bool is_secret, char **text, struct sl_err *err)
{
    *text = calloc(1, PEM_BYTES_MAX + 1);
    if (!*text)
        return sl_fail(err, SL_NO_MEMORY, "out of memory");
    return check_mode(stream, is_secret, err) &&
           (fread(*text, 1, PEM_BYTES_MAX, stream) > 0 ||
            sl_fail(err, SL_IO, "%s", strerrordesc_np(errno)));
}

/* The path of the option's file, or of the credential of the same name; "" if there is none. */
static void find_file(const char *option, const char *name, char path[static PEM_PATH_MAX])
{
    const char *directory = getenv("CREDENTIALS_DIRECTORY"); // NOLINT(concurrency-mt-unsafe)
    int length = snprintf(path, PEM_PATH_MAX, "%s", option);
    if (length == 0 && directory)
        length = snprintf(path, PEM_PATH_MAX, "%s/%s", directory, name);
    if (!option[0] && (length >= PEM_PATH_MAX || access(path, F_OK) != 0))
        path[0] = '\0';
}

/* *text is NULL if there is no file. */
static bool read_file(const char *option, const char *name, bool is_secret, char **text,
                      struct sl_err *err)
{
    char path[PEM_PATH_MAX];
    find_file(option, name, path);
    if (!path[0])
        return true;
    FILE *stream = fopen(path, "re");
    bool good = stream ? read_stream(stream, is_secret, text, err)
                       : sl_fail(err, SL_IO, "%s", strerrordesc_np(errno));
    if (stream)
        (void)fclose(stream);
    return good || sl_wrap(err, "%s '%s'", name, path);
}

static gnutls_datum_t datum(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

static bool check_pair(const struct sv_tls *tls, struct sl_err *err)
{
    gnutls_certificate_credentials_t pair;
    const gnutls_datum_t certificate = datum(tls->certificate), key = datum(tls->key);
    int status = gnutls_certificate_allocate_credentials(&pair);
    if (status >= 0) {
        status = gnutls_certificate_set_x509_key_mem(pair, &certificate, &key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(pair);
    }
    return status >= 0 ||
           sl_fail(err, SL_BAD_INPUT, "tls_certificate and tls_key: %s", gnutls_strerror(status));
}

bool sv_tls_load(const struct sv_options *options, struct sv_tls *out, struct sl_err *err)
{
    *out = (struct sv_tls){0};
    if (!read_file(options->tls_certificate, "tls_certificate", false, &out->certificate, err) ||
        !read_file(options->tls_key, "tls_key", true, &out->key, err))
        return false;
    if (!out->certificate != !out->key)
        return sl_fail(err, SL_BAD_INPUT, "%s is set and %s is not; TLS needs both",
                       out->key ? "tls_key" : "tls_certificate",
                       out->key ? "tls_certificate" : "tls_key");
    return !out->certificate || check_pair(out, err);
}

void sv_tls_release(struct sv_tls *tls)
{
    if (tls->key)
        explicit_bzero(tls->key, PEM_BYTES_MAX);
    free(tls->certificate);
    free(tls->key);
    *tls = (struct sv_tls){0};
}
