/* tei_formats.h - the formats of Text Embeddings Inference that / has, too. Constant. */
#pragma once

#include "api/classification.h"

extern const struct sv_classify_format sv_tei_predict, sv_tei_embed, sv_tei_rerank;
