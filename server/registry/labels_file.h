/* labels_file.h - a model's labels in the store. */
#pragma once

#include "registry/version_labels.h"

#include "sluice/err.h"

/* Reads <store>/<model>/labels.json. A missing file is one without labels. */
bool sv_labels_read(const char *store, const char *model, struct sv_labels *labels,
                    struct sl_err *err) SL_MUST_CHECK;
/* Replaces it. */
bool sv_labels_write(const char *store, const char *model, const struct sv_labels *labels,
                     struct sl_err *err) SL_MUST_CHECK;
