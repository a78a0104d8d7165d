/* ctl_registry.c - the commands that change which versions of models are served: versions, load,
 * unload, label, rollback. */
#include "base/json_writer.h"
#include "base/model_names.h"
#include "sluicectl/ctl_connection.h"
#include "sluicectl/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char notes[] = "If the daemon rejects a change, all stays as it was.\n";

/* ---- versions -------------------------------------------------------------------------------- */

static bool run_versions(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_request request = {.path = "/v1/models/{}/versions",
                                           .argument = ctl->operands[0]};
    return ctl_check_operands(ctl, 1, 1, "versions MODEL", failure) &&
           ctl_request(ctl, ctl_client(ctl, failure), &request, print_versions, failure);
}

const struct ctl_command ctl_versions = {.name = "versions",
                                         .operand = "MODEL",
                                         .help = "list a model's versions, states and labels",
                                         .example = "mood",
                                         .run = run_versions};

/* ---- load and unload ------------------------------------------------------------------------- */

/* One version if the operand names it, else the whole model. */
static bool change_model(const struct ctl_options *ctl, const char *usage, const char *const *paths,
                         struct client_error *failure)
{
    const char *operand = ctl->operands[0];
    if (!ctl_check_operands(ctl, 1, 1, usage, failure))
        return false;
    size_t bytes = strcspn(operand, "@:");
    char *model = strndup(operand, bytes);
    if (!model)
        return client_error_no_memory(failure);
    const struct client_request request = {.path = paths[operand[bytes] != '\0'],
                                           .argument = model,
                                           .second = operand[bytes] ? operand + bytes + 1 : NULL,
                                           .body = "{}"};
    bool good = ctl_request(ctl, ctl_admin_client(ctl, failure), &request, print_loaded, failure);
    free(model);
    return good;
}

static bool run_load(const struct ctl_options *ctl, struct client_error *failure)
{
    static const char *const paths[] = {"/v2/repository/models/{}/load",
                                        "/v2/repository/models/{}/versions/{}/load"};
    return change_model(ctl, "load MODEL[@VERSION]", paths, failure);
}

static bool run_unload(const struct ctl_options *ctl, struct client_error *failure)
{
    static const char *const paths[] = {"/v2/repository/models/{}/unload",
                                        "/v2/repository/models/{}/versions/{}/unload"};
    return change_model(ctl, "unload MODEL[@VERSION]", paths, failure);
}

const struct ctl_command ctl_load = {
    .name = "load",
    .operand = "MODEL[@VERSION]",
    .help = "load a version; without @VERSION, load the highest and serve it by default",
    .example = "mood@7",
    .notes = notes,
    .run = run_load};

const struct ctl_command ctl_unload = {.name = "unload",
                                       .operand = "MODEL[@VERSION]",
                                       .help = "unload a model, or one version of it",
                                       .example = "mood@7",
                                       .notes = notes,
                                       .run = run_unload};

/* ---- label and rollback ---------------------------------------------------------------------- */

struct label_arguments {
    struct sl_given_int weight;
    bool remove;
};

static const struct sl_option label_rows[] = {
    {"weight", "PERCENT",
     "only with the label canary: the percentage that it serves of the requests that name no "
     "version [unchanged]",
     SL_OPTION_GIVEN_INT, offsetof(struct label_arguments, weight), 0, 100},
    {"remove", NULL, "remove the label", SL_OPTION_FLAG, offsetof(struct label_arguments, remove),
     0, 0},
    {0}};

static bool set_label(const struct ctl_options *ctl, const struct label_arguments *a,
                      struct client_error *failure)
{
    struct sl_buffer body = {0};
    struct sl_json_writer json = {.out = &body};
    const char *version = ctl->operand_count > 2 ? ctl->operands[2] : NULL;
    long number = version ? sl_version_parse(version) : 0;
    if (version && number == 0)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "invalid version '%s': " SL_VERSION_RULE
                                "; usage: sluicectl label MODEL LABEL [VERSION]",
                                version);
    sl_json_begin_object(&json);
    if (version)
        sl_json_add(&json, "'version':%lld", (long long)number);
    if (a->weight.given)
        sl_json_add(&json, "'weight':%lld", (long long)a->weight.value);
    sl_json_end_object(&json);
    const struct client_request request = {.method = "PUT",
                                           .path = "/v1/models/{}/labels/{}",
                                           .argument = ctl->operands[0],
                                           .second = ctl->operands[1],
                                           .body = body.data};
    bool good = body.failed ? client_error_no_memory(failure)
                            : ctl_request(ctl, ctl_admin_client(ctl, failure), &request,
                                          print_label, failure);
    sl_buffer_release(&body);
    return good;
}

static bool run_label(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct label_arguments *a = ctl->values;
    const struct client_request removal = {.method = "DELETE",
                                           .path = "/v1/models/{}/labels/{}",
                                           .argument = ctl->operands[0],
                                           .second = ctl->operands[1]};
    if (!ctl_check_operands(ctl, 2, 3, "label MODEL LABEL [VERSION]", failure))
        return false;
    if (a->remove && ctl->operand_count > 2)
        return client_error_set(failure, EXIT_BAD_INPUT,
                                "--remove takes no version: a label is on one version only");
    if (a->remove && a->weight.given)
        return client_error_set(failure, EXIT_BAD_INPUT, "--weight has no effect with --remove");
    if (!a->remove)
        return set_label(ctl, a, failure);
    return ctl_request(ctl, ctl_admin_client(ctl, failure), &removal, print_deleted, failure);
}

const struct ctl_command ctl_label = {
    .name = "label",
    .operand = "MODEL LABEL [VERSION]",
    .help = "move a label to a version",
    .example = "mood canary 7 --weight 10",
    .takes_many = true,
    .notes =
        "`stable` is the version that serves requests without a version; `canary` serves a\n"
        "percentage of them; other labels are names for requests to use, as in mood:LABEL. A\n"
        "version that is not loaded is loaded first. Without VERSION:\n"
        "  label MODEL canary --weight N   changes only the percentage\n"
        "  label MODEL stable              pins `stable` to its present version\n"
        "A pinned `stable` stays when a higher version is loaded. Moving it to a VERSION pins it,\n"
        "too. `sluicectl load MODEL` unpins it and moves it to the highest version.\n"
        "When `stable` moves to the version of `canary`, the label canary is removed.\n"
        "If the daemon rejects a change, all stays as it was.\n",
    .rows = label_rows,
    .values_bytes = sizeof(struct label_arguments),
    .run = run_label};

static bool run_rollback(const struct ctl_options *ctl, struct client_error *failure)
{
    const struct client_request request = {
        .path = "/v1/models/{}/rollback", .argument = ctl->operands[0], .body = ""};
    return ctl_check_operands(ctl, 1, 1, "rollback MODEL", failure) &&
           ctl_request(ctl, ctl_admin_client(ctl, failure), &request, print_label, failure);
}

const struct ctl_command ctl_rollback = {.name = "rollback",
                                         .operand = "MODEL",
                                         .help = "go back to the version that was served before",
                                         .example = "mood",
                                         .notes = notes,
                                         .run = run_rollback};
