/* console_files.c - the files of clients/web/, by the assembler's .incbin: so the daemon is one
 * file, wherever it was copied to. */
#include "api/console_files.h"

#include <stddef.h>
#include <string.h>

#define SV_FILE(word, name, type)                                                                  \
    __asm__(".pushsection .rodata\n"                                                               \
            "sv_file_" #word ":\n"                                                                 \
            ".incbin \"" SV_WEB_DIRECTORY "/" name "\"\n"                                          \
            "sv_file_" #word "_end:\n"                                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char sv_file_##word[] __attribute__((visibility("hidden")));                      \
    extern const char sv_file_##word##_end[] __attribute__((visibility("hidden")));
#include "api/console_files.def"
#undef SV_FILE

#define SV_FILE(word, name, type) {name, type, sv_file_##word, sv_file_##word##_end},
static const struct sv_console_file files[] = {
#include "api/console_files.def"
};
#undef SV_FILE

const struct sv_console_file *sv_console_file(const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    return NULL;
}
