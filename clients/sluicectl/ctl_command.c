/* ctl_command.c - the operands of the commands of sluicectl. */
#include "sluicectl/ctl_command.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ctl_reads_input(const struct ctl_options *ctl)
{
    return ctl->operand_count == 0 ||
           (ctl->operand_count == 1 && strcmp(ctl->operands[0], "-") == 0);
}

bool ctl_check_operands(const struct ctl_options *ctl, int min, int max, const char *usage,
                        struct client_error *failure)
{
    return (ctl->operand_count >= min && ctl->operand_count <= max) ||
           client_error_set(
               failure, EXIT_BAD_INPUT, "%s; usage: sluicectl %s",
               ctl->operand_count < min ? "an argument is missing" : "too many arguments", usage);
}

bool ctl_check_file(const char *path, struct client_error *failure)
{
    struct stat info;
    if (access(path, R_OK) != 0 || stat(path, &info) != 0)
        return client_error_set(failure, EXIT_BAD_INPUT, "cannot read '%s': %s", path,
                                strerrordesc_np(errno));
    return !S_ISDIR(info.st_mode) ||
           client_error_set(failure, EXIT_BAD_INPUT, "cannot read '%s': it is a directory", path);
}
