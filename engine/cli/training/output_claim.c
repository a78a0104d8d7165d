/* output_claim.c - the claim is the lock of a writer that writes nothing. */
#include "cli/training/output_claim.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool output_claim_go_on(struct output_claim *claim, struct sl_err *err)
{
    claim->is_held = sl_manifest_begin(&claim->writer, claim->directory, err);
    return claim->is_held;
}

bool output_claim_take(struct output_claim *claim, const char *directory, struct sl_err *err)
{
    *claim = (struct output_claim){.directory = directory, .there = sl_path_there(directory)};
    return output_claim_go_on(claim, err);
}

void output_claim_pause(struct output_claim *claim)
{
    if (claim->is_held)
        sl_manifest_abandon(&claim->writer);
    claim->is_held = false;
}

void output_claim_release(struct output_claim *claim)
{
    output_claim_pause(claim);
    if (claim->directory)
        sl_directory_remove_empty(claim->directory, claim->there);
    *claim = (struct output_claim){0};
}

/* ---- signals --------------------------------------------------------------------------------- */

/* What a signal removes, if it is empty. */
static char claimed[SL_PATH_MAX], above[SL_PATH_MAX];

static void on_signal(int number)
{
    (void)rmdir(claimed);
    (void)rmdir(above);
    (void)raise(number); /* its default action */
}

void output_claim_remove_on_signals(const struct output_claim *claim)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    const char *slash = strrchr(claim->directory, '/');
    const size_t bytes = slash ? (size_t)(slash - claim->directory) : 0;
    (void)snprintf(claimed, sizeof claimed, "%s", claim->writer.tmp);
    if (bytes > claim->there)
        (void)snprintf(above, sizeof above, "%.*s", (int)bytes, claim->directory);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
}
