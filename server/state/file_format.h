/* file_format.h - the format of an uploaded file, by its name or its content. */
#pragma once

#include "core/request_error.h"
#include "state/file_store.h"

#include <stdbool.h>
#include <stddef.h>

/* The format that the name of a data file ends with, and its compression: ".jsonl.gz". NULL: it has
 * none that training reads. */
const char *sv_file_extension(const char *filename, char extension[static SV_FILE_EXTENSION_MAX]);
/* Checks that a file is text, and JSON Lines if its name says so. A name without a format gets that
 * of the content, if the content shows it. */
bool sv_file_format_check(char filename[static SV_FILE_NAME_MAX], const char *content, size_t bytes,
                          struct sv_error *error);
