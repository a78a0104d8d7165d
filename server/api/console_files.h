/* console_files.h - the files of the web console, which are part of the program. */
#pragma once

struct sv_console_file {
    const char *name, *content_type;
    const char *data, *end;
};

/* NULL: there is no such file. Any thread. */
const struct sv_console_file *sv_console_file(const char *name);
