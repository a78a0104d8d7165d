/* tls.h - the certificate and the key of the daemon's TCP listeners, replaced while they serve. */
#pragma once

#include "core/options.h"

#include "sluice/err.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

/* A certificate with its chain, and its key. */
struct sv_tls_pair;

/* Reads the files of the options tls_certificate and tls_key; where those are "", systemd's
 * credentials of these names. *out is NULL if there are none. Fails if one is there without the
 * other, if they do not belong together, or if every user may read the key. */
bool sv_tls_read(const struct sv_options *options, struct sv_tls_pair **out, struct sl_err *err)
    SL_MUST_CHECK;
void sv_tls_pair_destroy(struct sv_tls_pair *pair); /* NULL is fine */
/* The certificate's end of validity, in seconds since 1970. */
int64_t sv_tls_not_after(const struct sv_tls_pair *pair);

/* From now on, connections begin with this pair, in all listeners; it is owned. Those that are open
 * go on as they are. NULL: there is none any more. Any thread. */
void sv_tls_use(struct sv_tls_pair *pair);

/* Gives a handshake the pair in use: what libmicrohttpd hands on to GnuTLS. */
int sv_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                    gnutls_pcert_st **certificates, unsigned *count, gnutls_ocsp_data_st **ocsp,
                    unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags);
