/* test_automatic_jobs.c - jobs without an architecture: `sluice train` chooses the recipe. */
#include "support/daemon.h"
#include "support/file_sha256.h"
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"
#include "support/tiny_transformer.h"

#include <signal.h>

static struct daemon d;

static void start(void)
{
    job_daemon_start(&d, ARGS("--jobs-queued", "3"));
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(automatic_jobs, .init = start, .fini = stop);

/* more: further members of the request. */
static void create(const char *file, const char *name, const char *more, char id[static JOB_ID_MAX])
{
    char body[JOB_BODY_MAX];
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\",\"suffix\":\"%s\"%s}", file, name,
                   more);
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *object = json_from_response(&response);
    (void)snprintf(id, JOB_ID_MAX, "%s", json_string_at(object, "id"));
    json_decref(object);
    http_response_release(&response);
}

static void refuse(const char *body, const char *param, const char *part)
{
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, 400, "%s", response.body.data);
    json_t *error = json_from_response(&response);
    cr_assert_str_eq(json_string_at(error, "error/param"), param);
    EXPECT_SAID(json_string_at(error, "error/message"), part);
    json_decref(error);
    http_response_release(&response);
}

static void expect_result(const json_t *job, int number, const char *part)
{
    char path[128], member[32];
    (void)snprintf(member, sizeof member, "result_files/%d", number);
    (void)snprintf(path, sizeof path, "/v1/files/%s/content", json_string_at(job, member));
    struct http_response file = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(file.status, 200, "%s", file.body.data);
    EXPECT_SAID(file.body.data, part);
    http_response_release(&file);
}

Test(automatic_jobs, a_job_without_a_model_makes_one)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 120, file);
    create(file, "mood", "", id);
    job_wait(&d, id, "succeeded");
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "model"), "auto");
    cr_assert_str_eq(json_string_at(job, "fine_tuned_model"), "mood@1");
    cr_assert_gt(json_integer_at(job, "trained_tokens"), 1000);
    expect_result(job, 0, "valid_loss,valid_mean_token_accuracy\n1,,,");
    expect_result(job, 1, "<h1>mood</h1>");
    expect_result(job, 1, "<h2>Would more texts help?</h2>");
    json_decref(job);
    cr_assert(job_has_event(&d, id, "The report is a file: `sluicectl files download file-"));
    job_expect_label(&d, "mood", "a lovely and great film", "positive");
    job_expect_label(&d, "mood@1", "a dull and weak film", "negative");
    json_t *page = job_get(&d, id, "checkpoints");
    cr_assert_eq(json_array_size(json_at(page, "data")), 1);
    cr_assert_gt(json_number_at(page, "data/0/metrics/full_valid_mean_token_accuracy"), 0.4);
    json_decref(page);
    page = job_get(&d, id, "events?order=asc&limit=5");
    EXPECT_SAID(json_string_at(page, "data/4/message"), "Step 1/");
    EXPECT_SAID(json_string_at(page, "data/4/message"), "validation accuracy=");
    EXPECT_SAID(json_string_at(page, "data/4/message"), "ridge: words");
    cr_assert(json_at(page, "data/4/data/valid_loss"));
    cr_assert_gt(json_integer_at(page, "data/4/data/total_steps"), 4);
    json_decref(page);
}

/* A loaded encoder is among the recipes. */
Test(automatic_jobs, a_job_begins_with_an_encoder)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], encoder[PATH_MAX], body[JOB_BODY_MAX];
    tiny_transformer_make(test_path(encoder, d.store, "vectors/1"), SL_TASK_PRETRAINING);
    struct http_response response =
        http_admin(&d, "POST", "/v2/repository/models/vectors/load", "{}");
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
    job_upload_reviews(&d, 120, file);
    create(file, "mood", ",\"model\":\"vectors\"", id);
    job_wait(&d, id, "succeeded");
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "fine_tuned_model"), "mood@1");
    json_decref(job);
    cr_assert(job_has_event(&d, id, "encoder, fine-tuned ("));
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\",\"model\":\"vectors\"}", file);
    refuse(body, "suffix", "the name of the model to publish");
}

/* A paused job is ended at once and starts again: to the same bits. */
Test(automatic_jobs, pausing_and_killing_change_nothing)
{
    enum { TEXTS = TEST_SANITIZED ? 600 : 3000 };

    char file[JOB_ID_MAX], whole[JOB_ID_MAX], stopped[JOB_ID_MAX], digests[2][65];
    static const char *const models[] = {"whole/1/model.safetensors",
                                         "stopped/1/model.safetensors"};
    job_upload_reviews(&d, TEXTS, file);
    create(file, "whole", "", whole);
    job_wait(&d, whole, "succeeded");
    create(file, "stopped", "", stopped);
    job_wait_event(&d, stopped, "Step 1/");
    cr_assert_eq(job_act(&d, stopped, "pause"), 200);
    job_wait_event(&d, stopped, "Job paused");
    cr_assert_eq(job_act(&d, stopped, "resume"), 200);
    (void)kill(job_wait_trainer(&d), SIGKILL);
    job_wait_event(&d, stopped, "killed by signal 9 (Killed); it starts again");
    job_wait(&d, stopped, "succeeded");
    for (size_t i = 0; i < COUNT(models); i++)
        file_sha256(digests[i], d.store, models[i]);
    cr_assert_str_eq(digests[0], digests[1]);
}

Test(automatic_jobs, a_job_is_cancelled)
{
    enum { TEXTS = 3000 };

    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, TEXTS, file);
    create(file, "mood", ",\"model\":\"auto\"", id);
    job_wait_event(&d, id, "Step 1/");
    cr_assert_eq(job_act(&d, id, "cancel"), 200);
    job_wait(&d, id, "cancelled");
}

Test(automatic_jobs, a_model_is_replaced_only_by_a_better_one)
{
    char file[JOB_ID_MAX], more[JOB_ID_MAX], id[JOB_ID_MAX], settings[256];
    file_upload_text(&d, "few.tsv",
                     "label\ttext\npositive\tlovely\npositive\tgreat\nnegative\tdull\n"
                     "negative\tweak\n",
                     file);
    create(file, "mood", "", id);
    job_wait(&d, id, "succeeded");
    job_upload_reviews(&d, 120, more);
    (void)snprintf(settings, sizeof settings,
                   ",\"validation_file\":\"%s\",\"hyperparameters\":{\"promotion\":\"if_better\","
                   "\"time\":\"0.3m\"}",
                   file);
    create(more, "mood", settings, id);
    job_wait(&d, id, "succeeded");
    cr_assert(job_has_event(&d, id, "on the validation data the new version scores"));
    job_expect_label(&d, "mood@2", "a dull and weak film", "negative");
}

Test(automatic_jobs, what_is_wrong_with_the_data_is_an_event)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], settings[128];
    file_upload_text(&d, "few.tsv",
                     "label\ttext\ngood\tlovely\ngood\tgreat\nbad\tdull\nbad\tweak\n\tnone\n"
                     "bad\tGreat\n",
                     file);
    (void)snprintf(settings, sizeof settings, ",\"validation_file\":\"%s\"", file);
    create(file, "mood", settings, id);
    job_wait(&d, id, "succeeded");
    cr_assert(job_has_event(&d, id, "1 record is left out, in line 6: 'label' is empty"));
    cr_assert(job_has_event(&d, id,
                            "1 text repeats an earlier one with another label: line 3 has 'good', "
                            "line 7 'bad'; correct the wrong one"));
    cr_assert(job_has_event(&d, id, "5 of 5 validation texts are in the training texts, too"));
    cr_assert(!job_has_event(&d, id, "are perhaps one"));
    cr_assert(!job_has_event(&d, id, "of other labels"));

    file_upload_text(&d, "labels.tsv",
                     "label\ttext\ngood\tlovely\nGood\tgreat\nbad\tdull\nbad\tweak\n"
                     "good|bad\tgreat but dull\nbad|good\tweak but lovely\n",
                     file);
    create(file, "labels", "", id);
    job_wait(&d, id, "succeeded");
    cr_assert(
        job_has_event(&d, id, "the labels 'Good' and 'good' (first in line 2) are perhaps one"));
    cr_assert(job_has_event(&d, id,
                            " and 1 other seem to join several; if a text may have several, "
                            "give label_separator '|'"));
}

Test(automatic_jobs, what_is_refused_is_named)
{
    char file[JOB_ID_MAX], text[JOB_ID_MAX], body[512];
    job_upload_reviews(&d, 20, file);
    file_upload_text(&d, "a.txt", "Some plain text.\n", text);
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\"}", file);
    refuse(body, "suffix", "the name of the model to publish");
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\",\"suffix\":\"mine\"}", text);
    refuse(body, "model", "A plain text needs a 'model'");
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"suffix\":\"mine\",\"hyperparameters\":"
                   "{\"n_epochs\":\"auto\",\"width\":8}}",
                   file);
    refuse(body, "hyperparameters.width",
           "the hyper-parameters are: label, label_separator, text, format");
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"suffix\":\"mine\",\"hyperparameters\":"
                   "{\"time\":\"soon\"}}",
                   file);
    refuse(body, "hyperparameters.time", "invalid time 'soon': expected 1s to 24h");
    (void)snprintf(body, sizeof body,
                   "{\"training_file\":\"%s\",\"model\":\"encoder\",\"hyperparameters\":"
                   "{\"time\":\"1m\"}}",
                   file);
    refuse(body, "hyperparameters.time", "only without a model");
}
