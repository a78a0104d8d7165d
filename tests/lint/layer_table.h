/* layer_table.h - the folders of the programs from the bottom up, and which folders each may
 * include besides itself. A row only names folders of earlier rows, so there is no circle; `tidy
 * --self-test` checks it. A name without a program's folder is of the same program. */
#pragma once

static const struct {
    const char *folder, *below;
} layers[] = {
    {"engine/base", ""},
    {"engine/kernels", "base"},
    {"engine/autograd", "base kernels"},
    {"engine/ops", "base kernels autograd"},
    {"engine/layers", "base kernels autograd ops"},
    {"engine/arch", "base kernels autograd ops layers"},
    {"engine/tokenizer", "base"},
    {"engine/model", "base kernels autograd ops layers arch tokenizer"},
    {"engine/formats", "base tokenizer"},
    {"engine/pretrained", "base kernels autograd ops layers arch tokenizer formats"},
    {"engine/checkpoint",
     "base kernels autograd ops layers arch tokenizer model formats pretrained"},
    {"engine/data", "base tokenizer"},
    {"engine/infer", "base kernels autograd ops layers arch tokenizer model"},
    {"engine/vectors", "base kernels autograd model tokenizer data"},
    {"engine/train",
     "base kernels autograd ops layers arch model formats checkpoint infer tokenizer data vectors"},
    {"engine/linear",
     "base kernels autograd ops layers arch model formats checkpoint infer tokenizer data vectors"},
    {"engine/tuning",
     "base kernels autograd ops layers arch model formats checkpoint infer tokenizer data vectors "
     "train linear"},
    {"engine/cli",
     "base kernels autograd ops layers arch model formats pretrained checkpoint infer tokenizer "
     "data vectors train linear tuning"},
    {"server/core", ""},
    {"server/json", "core"},
    {"server/params", "core json"},
    {"server/registry", "core json"},
    {"server/state", "core json"},
    {"server/jobs", "core json params registry state"},
    {"server/serve", "core json params registry"},
    {"server/access", "core"},
    {"server/http", "core access"},
    {"server/api", "core json params registry state jobs serve access http"},
    {"clients/common", ""},
    {"clients/bench", "common"},
    {"clients/top", "common"},
    {"clients/sluicectl", "common bench top"},
};
