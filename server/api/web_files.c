/* web_files.c - files of the source tree and of the build, by the assembler's .incbin, so that the
 * daemon is one file, wherever it was copied to. */
#include "api/web_files.h"

#include <stddef.h>
#include <string.h>

#define EMBED(word, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            "sv_file_" #word ":\n"                                                                 \
            ".incbin \"" path "\"\n"                                                               \
            "sv_file_" #word "_end:\n"                                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char sv_file_##word[] __attribute__((visibility("hidden")));                      \
    extern const char sv_file_##word##_end[] __attribute__((visibility("hidden")));

#define SV_FILE(word, name, type) EMBED(word, SV_WEB_DIRECTORY "/" name)
#include "api/console_files.def"
#undef SV_FILE
#define SV_FILE(word, name, type) EMBED(word, SV_SITE_DIRECTORY "/" name)
#include SV_SITE_FILES
#undef SV_FILE

#define SV_FILE(word, name, type) {name, type, sv_file_##word, sv_file_##word##_end},
static const struct sv_web_file console_files[] = {
#include "api/console_files.def"
    {NULL, NULL, NULL, NULL}};
static const struct sv_web_file site_files[] = {
#include SV_SITE_FILES
    {NULL, NULL, NULL, NULL}};
#undef SV_FILE

static const struct sv_web_file *find(const struct sv_web_file *files, const char *name)
{
    while (files->name && strcmp(files->name, name) != 0)
        files++;
    return files->name ? files : NULL;
}

const struct sv_web_file *sv_console_file(const char *name)
{
    return find(console_files, name);
}

const struct sv_web_file *sv_site_file(const char *name)
{
    return find(site_files, name);
}
