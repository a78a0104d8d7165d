/* report_evaluation.c - the HTML page of `sluice eval --report`. */
#include "cli/report/report_evaluation.h"

#include "cli/report/prediction_list.h"
#include "cli/report/report_html.h"

#include <math.h>

static bool write_page(struct sl_buffer *out, const struct report_evaluation *r, struct sl_err *err)
{
    const struct label_evaluation *v = r->evaluation;
    const struct report_predictions p = {
        .model = r->of, .evaluation = v, .tokens = r->of->tokenizer};
    const int depth = r->of->config.depth;
    report_begin(out, r->title, r->what, r->facts->set->path);
    report_figures(out, &p, depth > 0 ? 1.0 - v->e.layers_mean / depth : (double)NAN, r->how);
    if (r->log && !report_training_curves(out, r->log, err))
        return false;
    report_dataset(out, r->facts, r->of->config.context_length);
    if (!report_predictions(out, &p, err))
        return false;
    html_end(out);
    return true;
}

bool report_evaluation_write(const struct report_evaluation *r, const char *directory,
                             struct sl_err *err)
{
    struct sl_buffer page = {0};
    bool ok = write_page(&page, r, err) && html_write(&page, directory, err) &&
              (r->log || prediction_list_write(&r->evaluation->predictions, directory, err));
    sl_buffer_release(&page);
    return ok;
}
