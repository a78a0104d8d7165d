/* normal_forms.h - Unicode's normal forms NFC, NFD, NFKC and NFKD of an aligned text. */
#pragma once

#include "tokenizer/aligned_text.h"

struct sl_normal_form {
    bool compatible; /* K */
    bool composed;   /* C */
};

/* Rewrites all of `in`. */
void sl_normal_form_apply(struct sl_normal_form form, struct sl_text_editor *editor);
