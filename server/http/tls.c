/* tls.c - the certificate and the key of the daemon's TCP listeners, replaced while they serve. */
#include "http/tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PEM_BYTES_MAX = 1 << 20 };

/* ---- files ----------------------------------------------------------------------------------- */

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

/* *text is NULL if there is no file. */
static bool read_file(const char *option, const char *name, bool is_secret, char **text,
                      struct sl_err *err)
{
    char path[SV_CREDENTIAL_PATH_MAX];
    sv_option_file(option, name, path);
    if (!path[0])
        return true;
    FILE *stream = fopen(path, "re");
    bool good = stream ? read_stream(stream, is_secret, text, err)
                       : sl_fail(err, SL_BAD_INPUT, "%s", strerrordesc_np(errno));
    if (stream)
        (void)fclose(stream);
    return good || sl_wrap(err, "%s '%s'", name, path);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

struct sv_tls_pair {
    gnutls_x509_crt_t *chain; /* its own certificate first */
    unsigned count;
    gnutls_x509_privkey_t key;
};

void sv_tls_pair_destroy(struct sv_tls_pair *pair)
{
    if (!pair)
        return;
    for (unsigned i = 0; i < pair->count; i++)
        gnutls_x509_crt_deinit(pair->chain[i]);
    gnutls_free(pair->chain);
    gnutls_x509_privkey_deinit(pair->key);
    free(pair);
}

int64_t sv_tls_not_after(const struct sv_tls_pair *pair)
{
    return gnutls_x509_crt_get_expiration_time(pair->chain[0]);
}

static gnutls_datum_t datum(char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

/* GnuTLS checks that they belong together, and orders the chain. */
static int parse(const gnutls_datum_t *certificate, const gnutls_datum_t *key,
                 struct sv_tls_pair *pair)
{
    gnutls_certificate_credentials_t credentials;
    int status = gnutls_certificate_allocate_credentials(&credentials);
    if (status < 0)
        return status;
    status =
        gnutls_certificate_set_x509_key_mem(credentials, certificate, key, GNUTLS_X509_FMT_PEM);
    if (status >= 0)
        status = gnutls_certificate_get_x509_key(credentials, 0, &pair->key);
    if (status >= 0)
        status = gnutls_certificate_get_x509_crt(credentials, 0, &pair->chain, &pair->count);
    gnutls_certificate_free_credentials(credentials);
    return status;
}

static bool read_pair(char *certificate, char *key, struct sv_tls_pair **out, struct sl_err *err)
{
    struct sv_tls_pair *pair = calloc(1, sizeof *pair);
    if (!pair)
        return sl_fail(err, SL_NO_MEMORY, "TLS certificate");
    const gnutls_datum_t certificate_datum = datum(certificate), key_datum = datum(key);
    int status = parse(&certificate_datum, &key_datum, pair);
    if (status >= 0) {
        *out = pair;
        return true;
    }
    sv_tls_pair_destroy(pair);
    return sl_fail(
        err, SL_BAD_INPUT,
        "tls_certificate and tls_key are not a PEM certificate and the PEM private key that "
        "belongs to it (GnuTLS: %s)",
        gnutls_strerror(status));
}

bool sv_tls_read(const struct sv_options *options, struct sv_tls_pair **out, struct sl_err *err)
{
    char *certificate = NULL, *key = NULL;
    *out = NULL;
    bool good = read_file(options->tls_certificate, "tls_certificate", false, &certificate, err) &&
                read_file(options->tls_key, "tls_key", true, &key, err);
    if (good && !certificate != !key)
        good = sl_fail(err, SL_BAD_INPUT, "%s is set and %s is not; TLS needs both",
                       key ? "tls_key" : "tls_certificate", key ? "tls_certificate" : "tls_key");
    good = good && (!certificate || read_pair(certificate, key, out, err));
    if (key)
        explicit_bzero(key, PEM_BYTES_MAX); /* no copy of it stays in freed memory */
    free(certificate);
    free(key);
    return good;
}

/* ---- the pair in use ------------------------------------------------------------------------- */

/* GnuTLS calls back without a context of ours. */
static struct {
    pthread_mutex_t lock;
    struct sv_tls_pair *pair;
} in_use = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sv_tls_use(struct sv_tls_pair *pair)
{
    (void)pthread_mutex_lock(&in_use.lock);
    struct sv_tls_pair *before = in_use.pair;
    in_use.pair = pair;
    (void)pthread_mutex_unlock(&in_use.lock);
    sv_tls_pair_destroy(before);
}

static void free_certificates(gnutls_pcert_st *certificates, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        gnutls_pcert_deinit(&certificates[i]);
    gnutls_free(certificates);
}

/* A copy of the chain, which GnuTLS frees after the handshake; NULL: it failed. */
static gnutls_pcert_st *copy_chain(const struct sv_tls_pair *pair)
{
    gnutls_pcert_st *copy = gnutls_calloc(pair->count, sizeof *copy);
    for (unsigned i = 0; copy && i < pair->count; i++)
        if (gnutls_pcert_import_x509(&copy[i], pair->chain[i], 0) < 0) {
            free_certificates(copy, i);
            return NULL;
        }
    return copy;
}

static gnutls_privkey_t copy_key(const struct sv_tls_pair *pair)
{
    gnutls_privkey_t copy;
    if (gnutls_privkey_init(&copy) < 0)
        return NULL;
    if (gnutls_privkey_import_x509(copy, pair->key, GNUTLS_PRIVKEY_IMPORT_COPY) >= 0)
        return copy;
    gnutls_privkey_deinit(copy);
    return NULL;
}

// NOLINTNEXTLINE(readability-function-size): the parameters are GnuTLS's choice
int sv_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **certificates, unsigned *count, gnutls_ocsp_data_st **ocsp,
                    unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    (void)pthread_mutex_lock(&in_use.lock);
    const struct sv_tls_pair *pair = in_use.pair;
    *certificates = pair ? copy_chain(pair) : NULL;
    *count = pair ? pair->count : 0;
    *key = *certificates ? copy_key(pair) : NULL;
    (void)pthread_mutex_unlock(&in_use.lock);
    *ocsp = NULL;
    *ocsp_count = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    if (*key)
        return 0;
    if (*certificates)
        free_certificates(*certificates, *count);
    return -1;
}
