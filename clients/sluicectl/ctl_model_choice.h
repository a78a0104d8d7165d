/* ctl_model_choice.h - the model of a command that names none. */
#pragma once

#include "common/client.h"
#include "sluicectl/print.h"

/* The name of the model to use: `name`, or the only language model loaded. To be freed. */
char *ctl_model(struct client *client, const char *name, struct client_error *failure)
    SL_MUST_CHECK;
/* The same, of the models that give embeddings. */
char *ctl_embedder(struct client *client, const char *name, struct client_error *failure)
    SL_MUST_CHECK;
/* The same, of the models that translate. */
char *ctl_translator(struct client *client, const char *name, struct client_error *failure)
    SL_MUST_CHECK;
/* The classifier to use: `name`, or the daemon's default. Release it with print_info_release. */
bool ctl_classifier(struct client *client, const char *name, struct print_info *info,
                    struct client_error *failure) SL_MUST_CHECK;
