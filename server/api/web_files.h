/* web_files.h - files for browsers that are part of the program: the web console, and the
 * documentation. */
#pragma once

struct sv_web_file {
    const char *name, *content_type;
    const char *data, *end;
};

/* Of clients/web/, and of what docs/site/make_site.py makes. NULL: there is no such file. Any
 * thread. */
const struct sv_web_file *sv_console_file(const char *name);
const struct sv_web_file *sv_site_file(const char *name);
