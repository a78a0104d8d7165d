/* sluice.h - the whole public interface of the engine. */
#pragma once

#include "sluice/classify.h"
#include "sluice/engine.h"
#include "sluice/err.h"
#include "sluice/generate.h"
#include "sluice/infer.h"
#include "sluice/logits.h"
#include "sluice/model.h"
#include "sluice/tokens.h"
