/* option_help.h - prints the help text that argp wrote, one line per option without gaps. */
#pragma once

#include <stdio.h>

/* text: the output of argp_help. */
void sl_option_help_print(const char *text, FILE *out);
