/* number_text.h - numbers as text, with bounds: command lines, files and requests alike. */
#pragma once

#include "sluice/err.h"

#include <stdint.h>

enum { SL_NUMBER_TEXT = 64 };

/* Whole numbers with all their digits, others with six. */
void sl_number_format(double value, char text[SL_NUMBER_TEXT]);

/* Reads text that is a finite number from min to max. False: it is not. */
bool sl_number_parse(const char *text, double min, double max, double *value) SL_MUST_CHECK;
/* Only whole numbers, exactly; also 1e6. */
bool sl_whole_parse(const char *text, double min, double max, int64_t *value) SL_MUST_CHECK;

/* Reads the time that training may take: 1s to 24h, as in 90, 90s, 1.5m or 2h. */
bool sl_time_limit_read(const char *field, const char *text, double *seconds, struct sl_err *err)
    SL_MUST_CHECK;

/* Fails with the field, the value and what is expected. */
bool sl_fail_number(struct sl_err *err, const char *field, const char *text, double min,
                    double max);
bool sl_fail_whole(struct sl_err *err, const char *field, const char *text, double min, double max);
