/* sluice.h - the whole public interface of the engine.
 *
 *     struct sl_err err;
 *     struct sl_engine *engine = sl_engine_create(&(struct sl_engine_options){0}, &err);
 *     struct sl_model *model = engine ? sl_model_open(engine, "models/sentiment/1", &err) : NULL;
 *     if (!model)
 *         fprintf(stderr, "%s\n", err.text);
 *     ...                       sl_classifier_run (classifier.h) or sl_session_run (session.h)
 *     sl_model_close(model);
 *     sl_engine_destroy(engine);
 *
 * Functions that can fail return bool or a pointer, and on failure fill `err` with a code and a
 * message. Free what X_create, X_open or X_load returns with X_destroy or X_close; these accept
 * NULL. All other results belong to the object that returned them. Compile and link with
 * `pkg-config --cflags --libs sluice`. Complete programs are in examples/. */
#pragma once

#include "sluice/chat.h"
#include "sluice/classifier.h"
#include "sluice/dataset.h"
#include "sluice/engine.h"
#include "sluice/err.h"
#include "sluice/explanation.h"
#include "sluice/generation.h"
#include "sluice/logits.h"
#include "sluice/model.h"
#include "sluice/sampling.h"
#include "sluice/session.h"
#include "sluice/tokenizer.h"
#include "sluice/trainer.h"
