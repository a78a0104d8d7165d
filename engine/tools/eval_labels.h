/* eval_labels.h - how well a classifier knows each of its labels. */
#pragma once

#include "data/dataset.h"
#include "model/model.h"

struct json_t;

struct eval_label {
    int texts;        /* that have it */
    int right;        /* of them, those that were taken for it */
    int predicted;    /* texts that were taken for it, rightly or not */
    int mistaken;     /* texts that have it and were taken most often for another: */
    int mistaken_for; /* this one; -1: none was */
};

/* One for each class; free() them. taken_for: the label that each text was taken for. */
struct eval_label *eval_labels_count(const struct sl_dataset *set, const int32_t *taken_for,
                                     int classes, struct sl_err *err) SL_MUST_CHECK;
/* A line for each. */
void eval_labels_print(const struct sl_model *m, const struct eval_label *labels);
/* As a JSON array, the caller's. */
struct json_t *eval_labels_json(const struct sl_model *m, const struct eval_label *labels);
