/* tls.h - the certificate and the key of the daemon's TCP listeners. */
#pragma once

#include "core/options.h"

#include "sluice/err.h"

/* Both are texts in PEM, or both NULL: no TLS. */
struct sv_tls {
    char *certificate, *key;
};

/* Reads the files of the options tls_certificate and tls_key; where those are "", systemd's
 * credentials of these names. Fails if one is there without the other, if they do not belong
 * together, or if every user may read the key. Release `out` in any case. */
bool sv_tls_load(const struct sv_options *options, struct sv_tls *out, struct sl_err *err)
    SL_MUST_CHECK;
void sv_tls_release(struct sv_tls *tls); /* the key leaves no trace in memory */
