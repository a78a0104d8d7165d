/* model_path.c - checks paths of models given on the command line, before any work is done. */
#include "cli/model_path.h"

#include "base/model_names.h"
#include "checkpoint/manifest.h"
#include "pretrained/pretrained.h"

#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ADVICE_BYTES = SL_PATH_MAX + 2 + SL_VERSION_DIGITS_MAX };

static bool has_manifest(const char *directory)
{
    char path[SL_PATH_MAX];
    struct sl_err ignored;
    return sl_manifest_path(path, directory, &ignored) && access(path, F_OK) == 0;
}

static bool is_topmost(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, ".") == 0;
}

static void parent_of(const char *path, char parent[SL_PATH_MAX])
{
    char copy[SL_PATH_MAX];
    (void)snprintf(copy, sizeof copy, "%s", path);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's writes to its argument alone
    (void)snprintf(parent, SL_PATH_MAX, "%s", dirname(copy));
}

/* The nearest existing directory above the path, or what is in its place, such as a link to
 * nothing. */
static void nearest_of(const char *path, char nearest[SL_PATH_MAX])
{
    struct stat status;
    (void)snprintf(nearest, SL_PATH_MAX, "%s", path);
    do {
        parent_of(nearest, nearest);
    } while (lstat(nearest, &status) != 0 && errno == ENOENT && !is_topmost(nearest));
}

/* Resolves links in the part of the path that exists. */
static bool plain_path(const char *path, char plain[PATH_MAX], struct sl_err *err)
{
    char there[SL_PATH_MAX];
    if (realpath(path, plain))
        return true;
    nearest_of(path, there);
    if (!realpath(there, plain))
        return sl_fail(err, SL_IO, "'%s': %s", path, strerrordesc_np(errno));
    size_t used = strlen(plain), known = strcmp(there, ".") == 0 ? 0 : strlen(there);
    bool below = path[0] == '.' && path[1] == '/' && known == 0;
    const char *rest = path + known + (below ? 2 : 0);
    rest += strspn(rest, "/");
    int length = snprintf(plain + used, PATH_MAX - used, "/%s", rest);
    if (length >= (int)(PATH_MAX - used))
        return sl_fail(err, SL_BAD_INPUT, "path '%s' is too long", path);
    for (size_t end = used + (size_t)length; end > 1 && plain[end - 1] == '/'; end--)
        plain[end - 1] = '\0';
    return true;
}

/* Publishing replaces the output directory, so that may not contain the run. */
static bool check_apart(const char *out, const char *run, struct sl_err *err)
{
    char model[PATH_MAX], state[PATH_MAX];
    if (!plain_path(out, model, err) || !plain_path(run, state, err))
        return false;
    size_t bytes = strlen(state);
    bool inside = strncmp(model, state, bytes) == 0 && (!model[bytes] || model[bytes] == '/');
    return !inside ||
           sl_fail(err, SL_BAD_INPUT,
                   "--output '%s' is inside --run-dir '%s'; choose another directory", out, run);
}

/* Suggests a path with a version. A last component such as v3 was meant as one; any other is taken
 * for the model's name. */
static void advise_version(const char *out, char advice[ADVICE_BYTES])
{
    char copy[SL_PATH_MAX];
    (void)snprintf(copy, sizeof copy, "%s", out);
    const char *name = basename(copy), *digits = name + (name[0] == 'v');
    bool meant = isdigit((unsigned char)digits[0]) && !digits[strspn(digits, "0123456789.")];
    long version = sl_version_parse(digits + strspn(digits, "0"));
    size_t bytes = strlen(out);
    if (meant && name > copy)
        (void)snprintf(advice, ADVICE_BYTES, "%.*s%ld", (int)(name - copy), out,
                       version > 0 ? version : 1);
    else
        (void)snprintf(advice, ADVICE_BYTES, "%s%s1", out,
                       bytes > 0 && out[bytes - 1] == '/' ? "" : "/");
}

/* The daemon only serves models at <store>/<model>/<version>. */
static bool check_version(const char *out, struct sl_err *err)
{
    char copy[SL_PATH_MAX], above[SL_PATH_MAX], advice[ADVICE_BYTES];
    (void)snprintf(copy, sizeof copy, "%s", out);
    if (sl_version_parse(basename(copy)) == 0) {
        advise_version(out, advice);
        return sl_fail(err, SL_BAD_INPUT,
                       "invalid --output '%s': the last part must be a version, " SL_VERSION_FORM
                       "; try %s",
                       out, advice);
    }
    nearest_of(out, above);
    return !has_manifest(above) ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid --output '%s': '%s' holds a model; give <store>/<model>/<version>", out,
                   above);
}

static bool check_writable(const char *out, struct sl_err *err)
{
    char nearest[SL_PATH_MAX];
    struct stat status;
    nearest_of(out, nearest);
    if (stat(nearest, &status) == 0 && !S_ISDIR(status.st_mode))
        return sl_fail(err, SL_BAD_INPUT, "--output: '%s' is a file: expected a directory",
                       nearest);
    return access(nearest, W_OK | X_OK) == 0 ||
           sl_fail(err, SL_IO, "--output: cannot write to '%s': %s", nearest,
                   strerrordesc_np(errno));
}

/* The directory above the version is the model. */
static bool check_model_name(const char *out, struct sl_err *err)
{
    char plain[PATH_MAX], above[SL_PATH_MAX];
    if (!plain_path(out, plain, err))
        return false;
    parent_of(plain, above);
    const char *model = basename(above);
    return sl_model_name_is_valid(model) ||
           sl_fail(err, SL_BAD_INPUT,
                   "invalid --output '%s': '%s' cannot be the model's name: " SL_MODEL_NAME_RULE,
                   out, model);
}

bool model_path_check_output(const char *out, const char *run, struct sl_err *err)
{
    if (strlen(out) >= SL_PATH_MAX)
        return sl_fail(err, SL_BAD_INPUT, "the path of --output is too long");
    return (!run || check_apart(out, run, err)) && check_version(out, err) &&
           check_writable(out, err) && check_model_name(out, err) &&
           (sl_manifest_may_replace(out, err) || sl_wrap(err, "--output"));
}

bool model_path_check_new(const char *out, const char *otherwise, struct sl_err *err)
{
    char model[SL_PATH_MAX];
    if (!has_manifest(out))
        return true;
    parent_of(out, model);
    return sl_fail(
        err, SL_BAD_INPUT, "--output '%s' already has a model; give the next version, %s/%ld%s%s",
        out, model, sl_version_next(model), otherwise ? ", " : "", otherwise ? otherwise : "");
}

/* Suggests the latest version of the same model, if there is one. */
static bool fail_absent(const char *directory, struct sl_err *err)
{
    char model[SL_PATH_MAX];
    const char *why = strerrordesc_np(errno);
    parent_of(directory, model);
    long latest = sl_version_latest(model);
    if (latest > 0)
        return sl_fail(err, SL_NOT_FOUND, "no model in '%s': %s; did you mean %s/%ld?", directory,
                       why, model, latest);
    return sl_fail(err, SL_NOT_FOUND, "no model in '%s': %s", directory, why);
}

bool model_path_check_input(const char *directory, struct sl_err *err)
{
    if (has_manifest(directory) || sl_pretrained_is(directory))
        return true;
    if (access(directory, F_OK) != 0)
        return fail_absent(directory, err);
    struct stat status;
    if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
        return sl_fail(err, SL_NOT_FOUND, "'%s' is a file; give the directory of a model",
                       directory);
    size_t bytes = strlen(directory);
    long latest = sl_version_latest(directory);
    if (latest > 0)
        return sl_fail(err, SL_NOT_FOUND, "no model in '%s'; did you mean %s%s%ld?", directory,
                       directory, bytes > 0 && directory[bytes - 1] == '/' ? "" : "/", latest);
    return sl_fail(err, SL_NOT_FOUND,
                   "no model in '%s': it has no manifest.json, nor a config.json with a "
                   "'model_type', nor a GGUF file",
                   directory);
}
