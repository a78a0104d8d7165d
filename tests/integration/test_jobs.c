/* test_jobs.c - /v1/fine_tuning/jobs: from files to models that are served, and what is refused. */
#include "base/model_names.h"
#include "core/limits.h"
#include "support/daemon.h"
#include "support/file_upload.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

#include <signal.h>

static struct daemon d;
static char data[PATH_MAX];

#define OPTIONS ARGS("--data-directory", data, "--jobs-queued", "3")

static void start(void)
{
    daemon_make_store(&d);
    (void)test_path(data, d.directory, "data");
    cr_assert_eq(mkdir(data, 0700), 0);
    job_daemon_restart(&d, OPTIONS);
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(jobs, .init = start, .fini = stop);

static const char *version_of(const char *model, char version[static 32])
{
    char path[128];
    (void)snprintf(path, sizeof path, "/v1/models/%s", model);
    struct http_response response = http_request(&d, "GET", path, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *object = json_from_response(&response);
    (void)snprintf(version, 32, "%s", json_string_at(object, "sluice/version"));
    json_decref(object);
    http_response_release(&response);
    return version;
}

Test(jobs, a_job_makes_a_model_that_is_served)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[128];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":6", id);
    job_wait(&d, id, "succeeded");
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "object"), "fine_tuning.job");
    cr_assert_str_eq(json_string_at(job, "model"), "encoder");
    cr_assert_str_eq(json_string_at(job, "fine_tuned_model"), "mood@1");
    cr_assert_str_eq(json_string_at(job, "training_file"), file);
    cr_assert_eq(json_integer_at(job, "hyperparameters/n_epochs"), 6);
    cr_assert_eq(json_integer_at(job, "method/supervised/hyperparameters/width"), 16);
    cr_assert_eq(json_integer_at(job, "seed"), 7);
    cr_assert_gt(json_integer_at(job, "trained_tokens"), 1000);
    cr_assert_geq(json_integer_at(job, "finished_at"), json_integer_at(job, "created_at"));
    cr_assert(json_is_null(json_at(job, "error")));
    (void)snprintf(path, sizeof path, "/v1/files/%s/content",
                   json_string_at(job, "result_files/0"));
    json_decref(job);
    struct http_response csv = http_admin(&d, "GET", path, NULL);
    EXPECT_SAID(csv.body.data,
                "step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy\n1,");
    EXPECT_SAID(csv.body.data, "\n84,");
    http_response_release(&csv);
    job_expect_label(&d, "mood", "a lovely and great film", "positive");
    job_expect_label(&d, "mood@1", "a dull and weak film", "negative");
    cr_assert_eq(metric_sum(&d, "sluice_train_step", id), 0, "the series of an ended job is left");
}

Test(jobs, events_tell_what_happens_and_have_pages)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[256];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":6", id);
    job_wait(&d, id, "succeeded");
    json_t *page = job_get(&d, id, "events?order=asc&limit=3");
    EXPECT_SAID(json_string_at(page, "data/0/message"), "Created fine-tuning job");
    EXPECT_SAID(json_string_at(page, "data/1/message"), file);
    EXPECT_SAID(json_string_at(page, "data/2/message"), "Files found, moving job to queued state");
    cr_assert(json_is_true(json_at(page, "has_more")));
    (void)snprintf(path, sizeof path, "events?order=asc&limit=2&after=%s",
                   json_string_at(page, "last_id"));
    json_decref(page);
    page = job_get(&d, id, path);
    EXPECT_SAID(json_string_at(page, "data/0/message"), "started");
    cr_assert_str_eq(json_string_at(page, "data/1/type"), "metrics");
    cr_assert_eq(json_integer_at(page, "data/1/data/step"), 1);
    cr_assert_eq(json_integer_at(page, "data/1/data/total_steps"), 84);
    cr_assert_gt(json_number_at(page, "data/1/data/train_loss"), 0);
    json_decref(page);
    page = job_get(&d, id, "events");
    cr_assert_eq(json_array_size(json_at(page, "data")), 20);
    EXPECT_SAID(json_string_at(page, "data/0/message"), "successfully completed");
    json_decref(page);
    page = job_get(&d, id, "checkpoints");
    cr_assert_eq(json_integer_at(page, "data/0/step_number"), 84);
    cr_assert_str_eq(json_string_at(page, "data/0/fine_tuning_job_id"), id);
    cr_assert_gt(json_number_at(page, "data/0/metrics/full_valid_mean_token_accuracy"), 0.4);
    cr_assert_eq(json_integer_at(page, "data/1/step_number"), 80);
    json_decref(page);
    (void)snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/events?stream=true", id);
    struct http_response stream = http_admin(&d, "GET", path, NULL);
    EXPECT_SAID(stream.head.data, "text/event-stream");
    EXPECT_SAID(stream.body.data, "Created fine-tuning job");
    EXPECT_SAID(stream.body.data, "successfully completed");
    cr_assert_str_eq(stream.body.data + stream.body.bytes - 14, "data: [DONE]\n\n");
    http_response_release(&stream);
}

Test(jobs, a_stream_follows_a_job_to_its_end)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[256];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":60", id);
    (void)snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/events?stream=true", id);
    struct http_response stream = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(stream.curl_code, CURLE_OK);
    EXPECT_SAID(stream.body.data, "Created fine-tuning job");
    EXPECT_SAID(stream.body.data, "successfully completed");
    cr_assert_str_eq(stream.body.data + stream.body.bytes - 14, "data: [DONE]\n\n");
    http_response_release(&stream);
}

Test(jobs, a_stream_cannot_follow_an_event_of_another_job)
{
    char file[JOB_ID_MAX], one[JOB_ID_MAX], other[JOB_ID_MAX], path[256];
    job_upload_reviews(&d, 40, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", one);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":2", other);
    json_t *page = job_get(&d, one, "events?order=asc");
    (void)snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/events?stream=true&after=%s", other,
                   json_string_at(page, "data/0/id"));
    json_decref(page);
    struct http_response stream = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(stream.status, 400, "%ld: %s", stream.status, stream.body.data);
    EXPECT_SAID(stream.body.data, "is not the id of an event of this job");
    http_response_release(&stream);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refused(const char *body, long status, const char *param, const char *part)
{
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, status, "%s: %s", body, response.body.data);
    json_t *error = json_from_response(&response);
    if (param)
        cr_assert_str_eq(json_string_at(error, "error/param"), param);
    EXPECT_SAID(json_string_at(error, "error/message"), part);
    json_decref(error);
    http_response_release(&response);
}

static void expect_refused_with(const char *file, const char *fields, long status,
                                const char *param, const char *part)
{
    char body[2 * JOB_BODY_MAX];
    (void)snprintf(body, sizeof body, "{\"training_file\":\"%s\",%s}", file, fields);
    expect_refused(body, status, param, part);
}

static void expect_refused_setting(const char *file, const char *setting, const char *name,
                                   const char *part)
{
    char fields[JOB_BODY_MAX], param[64];
    (void)snprintf(fields, sizeof fields, "\"model\":\"encoder\",\"hyperparameters\":{%s}",
                   setting);
    (void)snprintf(param, sizeof param, "hyperparameters.%s", name);
    expect_refused_with(file, fields, 400, param, part);
}

Test(jobs, what_is_refused_is_named)
{
    char file[JOB_ID_MAX], text[JOB_ID_MAX];
    job_upload_reviews(&d, 20, file);
    file_upload_text(&d, "a.txt", "Some plain text.\n", text);
    expect_refused("{\"model\":\"encoder\"}", 400, "training_file", "required");
    expect_refused("[]", 400, NULL, "object");
    expect_refused_with("file-0123", "\"model\":\"encoder\"", 404, "training_file", "No file");
    expect_refused_with(file, "\"model\":\"gpt-5\"", 404, "model", "encoder");
    expect_refused_with(file, "\"model\":\"early_exit\"", 400, "model",
                        "'early_exit' cannot classify, and 'reviews.jsonl' is for classification; "
                        "choose one of: ");
    expect_refused_with(file, "\"model\":\"tiny\"", 400, "training_file", "language model");
    expect_refused_with(text, "\"model\":\"encoder\"", 400, "model",
                        "'encoder' cannot complete texts, and 'a.txt' is for completion; ");
    expect_refused_with(text, "\"model\":\"tsa\",\"validation_file\":\"file-1\"", 400,
                        "validation_file", "labelled");
    expect_refused_with(file, "\"model\":\"encoder\",\"suffix\":\"tiny\"", 400, "suffix",
                        "The model 'tiny' is a language model; publish the classifier under");
    expect_refused_with(file, "\"model\":\"encoder\",\"suffix\":\"../x\"", 400, "suffix",
                        SL_MODEL_NAME_RULE);
    expect_refused_with(file, "\"model\":\"encoder\",\"seed\":-1", 400, "seed", "0");
    expect_refused_with(file, "\"model\":\"encoder\",\"metadata\":{\"a\":1}", 400, "metadata.a",
                        "string");
    expect_refused_with(file, "\"model\":\"encoder\",\"colour\":1", 400, "colour", "colour");
    expect_refused_setting(file, "\"width\":0", "width", "from");
    expect_refused_setting(file, "\"width\":\"wide\"", "width", "number");
    expect_refused_setting(file, "\"n_epochs\":-1", "n_epochs", "invalid n_epochs '-1': expected");
    expect_refused_setting(file, "\"promotion_margin\":-1", "promotion_margin",
                           "invalid promotion_margin '-1': expected a number from 0 to 100");
    expect_refused_setting(file, "\"bf16\":7", "bf16", "invalid bf16 '7': expected true or false");
    expect_refused_setting(file, "\"colour\":1", "colour", "unknown");
    expect_refused_setting(file, "\"resume\":true", "resume", "unknown");
    expect_refused_setting(file, "\"output\":\"/tmp/x\"", "output", "unknown");
    expect_refused_setting(file, "\"tokenizer\":\"magic\"", "tokenizer", "wordpiece");
    expect_refused_setting(file, "\"steps\":5,\"n_epochs\":5", "steps", "not both");
    expect_refused_setting(file, "\"epochs\":5,\"n_epochs\":3", "epochs", "not both");
    expect_refused_setting(file, "\"width\":\"auto\"", "width", "number");
    expect_refused_setting(file, "\"promotion\":\"canary\",\"promotion_weight\":10.7",
                           "promotion_weight", "a whole number from 1 to 99");
    expect_refused_with(file,
                        "\"model\":\"encoder\",\"hyperparameters\":{\"width\":16},"
                        "\"method\":{\"supervised\":{\"hyperparameters\":{\"width\":16}}}",
                        400, NULL, "are the same; give one of them");
    expect_refused_with(file,
                        "\"model\":\"encoder\",\"method\":{\"supervised\":{"
                        "\"hyperparameters\":{\"width\":0}}}",
                        400, "method.supervised.hyperparameters.width", "from");
    expect_refused_setting(file, "\"learning-rate\":0.1", "learning-rate", "'_'");
    expect_refused_setting(file, "\"promotion\":\"always\"", "promotion", "never");
    expect_refused_setting(file, "\"promotion\":\"if_better\"", "promotion", "validation file");
    expect_refused_setting(file, "\"train_fraction\":0.5", "train_fraction",
                           "no effect on labelled texts; set 'validation_fraction'");
    expect_refused_setting(file, "\"time\":\"1m\"", "time", "only without a model");
    expect_refused_setting(file, "\"cased\":\"yes\"", "cased", "expected true or false");
    expect_refused_setting(file, "\"promotion_margin\":0.1", "promotion_margin", "if_better");
    expect_refused_setting(file, "\"promotion_weight\":5", "promotion_weight", "canary");
    char both[256];
    (void)snprintf(both, sizeof both,
                   "\"model\":\"encoder\",\"validation_file\":\"%s\",\"hyperparameters\":{"
                   "\"promotion\":\"if_better\",\"promotion_margin\":2}",
                   file);
    expect_refused_with(file, both, 400, "hyperparameters.promotion_margin", "from 0 to 1");
    (void)snprintf(both, sizeof both,
                   "\"model\":\"encoder\",\"validation_file\":\"%s\",\"hyperparameters\":{"
                   "\"validation_fraction\":0.2}",
                   file);
    expect_refused_with(file, both, 400, "hyperparameters.validation_fraction",
                        "no effect with a validation file");
    expect_refused_with(text, "\"model\":\"tsa\",\"hyperparameters\":{\"label\":\"1\"}", 400,
                        "hyperparameters.label", "an effect only on labelled texts");
    json_t *page = job_get(&d, "", "");
    cr_assert_eq(json_array_size(json_at(page, "data")), 0);
    json_decref(page);
    char jobs[PATH_MAX];
    cr_assert_eq(test_count_entries(test_path(jobs, d.directory, "state/jobs")), 0);
}

Test(jobs, a_bad_file_fails_the_job_with_the_trainers_reason)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    file_upload_text(&d, "a.jsonl", "{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\"}\n", file);
    double failed = metric_value(&d, "sluice_train_jobs_ended_total{status=\"failed\"}");
    job_create(&d, file, "mood", JOB_TINY, id);
    job_wait(&d, id, "failed");
    metric_wait(&d, "sluice_train_jobs_ended_total{status=\"failed\"}", failed + 1);
    json_t *job = job_get(&d, id, "");
    cr_assert_str_eq(json_string_at(job, "error/code"), "invalid_training_file");
    cr_assert_str_eq(json_string_at(job, "error/param"), "training_file");
    cr_assert_str_eq(
        json_string_at(job, "error/message"),
        "'a.jsonl': the only label is 'x'; a classifier needs at least 2 labels; check that "
        "label is their column");
    cr_assert(json_is_null(json_at(job, "fine_tuned_model")));
    json_decref(job);
    cr_assert(job_has_event(&d, id, "The job failed: 'a.jsonl': the only label"));
}

static void expect_bad_validation(const char *text, const char *said)
{
    char file[JOB_ID_MAX], validation[JOB_ID_MAX], id[JOB_ID_MAX], body[1024];
    file_upload_text(&d, "a.jsonl",
                     "{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\",\"label\":\"y\"}\n"
                     "{\"text\":\"c\",\"label\":\"y\"}\n",
                     file);
    file_upload_text(&d, "checked.jsonl", text, validation);
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"encoder\",\"training_file\":\"%s\",\"validation_file\":\"%s\","
                   "\"hyperparameters\":{" JOB_TINY "}}",
                   file, validation);
    job_submit(&d, body, id);
    job_wait(&d, id, "failed");
    json_t *job = job_get(&d, id, "");
    cr_expect_str_eq(json_string_at(job, "error/code"), "invalid_validation_file");
    cr_expect_str_eq(json_string_at(job, "error/param"), "validation_file");
    EXPECT_SAID(json_string_at(job, "error/message"), said);
    json_decref(job);
}

Test(jobs, a_bad_validation_file_is_named)
{
    expect_bad_validation("{\"text\":\"a\",\"label\":\"z\"}\n",
                          "'checked.jsonl' line 1: unknown label 'z': expected one of: 'x', 'y'");
    expect_bad_validation(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"conten"
        "t\":\"x\"}]}"
        "\n\n \n\n{\"messages\":[{\"role\":\"assistant\",\"content\":null}]}\n",
        "line 5: messages[0].content is null or missing");
}

Test(jobs, local_files_stay_in_their_directory)
{
    char path[PATH_MAX], id[JOB_ID_MAX];
    struct sl_buffer text = {0};
    for (int i = 0; i < 40; i++)
        sl_buffer_printf(&text, "%s\ta %s film\n", i % 2 ? "bad" : "good", i % 2 ? "dull" : "fine");
    test_write_file(test_path(path, data, "reviews.tsv"), text.data);
    test_write_file(test_path(path, d.directory, "secret.tsv"), text.data);
    sl_buffer_release(&text);
    cr_assert_eq(symlink(path, test_path(path, data, "link.tsv")), 0);
    expect_refused_with("local:../secret.tsv", "\"model\":\"encoder\"", 404, "training_file",
                        "in the daemon's data_directory");
    expect_refused_with("local:link.tsv", "\"model\":\"encoder\"", 404, "training_file",
                        "There is no file");
    expect_refused_with("local:", "\"model\":\"encoder\"", 404, "training_file",
                        "There is no file");
    expect_refused_with("local:/etc/passwd", "\"model\":\"encoder\"", 404, "training_file",
                        "There is no file");
    job_create(&d, "local:reviews.tsv", "local", JOB_TINY ",\"label\":\"1\",\"text\":\"2\"", id);
    job_wait(&d, id, "succeeded");
    job_expect_label(&d, "local", "a fine film", "good");
}

static void train_on_chats(const char *start)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    struct sl_buffer text = {0};
    sl_buffer_append_string(&text, start);
    for (int i = 0; i < 40; i++)
        sl_buffer_printf(&text,
                         "{\"messages\":[{\"role\":\"system\",\"content\":\"Classify.\"},"
                         "{\"role\":\"user\",\"content\":\"a %s film\"},"
                         "{\"role\":\"assistant\",\"content\":\" %s\"}]}\n",
                         i % 2 ? "dull" : "fine", i % 2 ? "bad" : "good");
    file_upload_text(&d, "chat.jsonl", text.data, file);
    sl_buffer_release(&text);
    job_create(&d, file, "chat", JOB_TINY, id);
    job_wait(&d, id, "succeeded");
    job_expect_label(&d, "chat", "a dull film", "bad");
}

Test(jobs, openai_style_files_become_labelled_texts)
{
    train_on_chats("");
}

Test(jobs, a_file_may_begin_with_a_byte_order_mark)
{
    train_on_chats("\xEF\xBB\xBF");
}

Test(jobs, a_text_makes_a_language_model)
{
    char file[JOB_ID_MAX], body[JOB_BODY_MAX], id[JOB_ID_MAX];
    struct sl_buffer text = {0};
    for (int i = 0; i < 200; i++)
        sl_buffer_printf(&text, "%d green bottles hanging on the wall\n", i % 10);
    file_upload_text(&d, "bottles.txt", text.data, file);
    sl_buffer_release(&text);
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"vanilla\",\"training_file\":\"%s\",\"suffix\":\"bottles\","
                   "\"hyperparameters\":{\"width\":16,\"depth\":1,\"heads\":2,\"ffn_width\":32,"
                   "\"context_length\":16,\"batch_size\":4,\"steps\":20}}",
                   file);
    job_submit(&d, body, id);
    job_wait(&d, id, "succeeded");
    struct http_response response =
        http_request(&d, "POST", "/v1/completions",
                     "{\"model\":\"bottles\",\"prompt\":\"3 green\",\"max_tokens\":4}");
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
}

/* ---- the queue ------------------------------------------------------------------------------- */

Test(jobs, jobs_wait_for_their_turn_in_order)
{
    char file[JOB_ID_MAX], first[JOB_ID_MAX], second[JOB_ID_MAX], third[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "first", JOB_LONG, first);
    job_create(&d, file, "second", JOB_LONG, second);
    job_create(&d, file, "third", JOB_TINY ",\"n_epochs\":2", third);
    job_wait(&d, first, "running");
    job_wait(&d, second, "queued");
    double cancelled = metric_value(&d, "sluice_train_jobs_ended_total{status=\"cancelled\"}");
    cr_assert_eq(job_act(&d, first, "cancel"), 200);
    job_wait(&d, first, "cancelled");
    cr_assert_eq(metric_value(&d, "sluice_train_jobs_ended_total{status=\"cancelled\"}"),
                 cancelled + 1);
    job_wait(&d, second, "running");
    json_t *job = job_get(&d, third, "");
    cr_assert_str_eq(json_string_at(job, "status"), "queued", "the order was not kept");
    json_decref(job);
    cr_assert_eq(job_act(&d, first, "cancel"), 409);
    cr_assert_eq(job_act(&d, first, "pause"), 409);
    cr_assert_eq(job_act(&d, "ftjob-0", "cancel"), 404);
    cr_assert_eq(job_act(&d, second, "cancel"), 200);
    job_wait(&d, third, "succeeded");
    json_t *page = job_get(&d, "", "");
    cr_assert_eq(json_array_size(json_at(page, "data")), 3);
    cr_assert_str_eq(json_string_at(page, "data/0/id"), third);
    json_decref(page);
}

Test(jobs, a_paused_job_gives_its_place_to_others)
{
    char file[JOB_ID_MAX], first[JOB_ID_MAX], second[JOB_ID_MAX], path[128];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "first", JOB_LONG, first);
    job_create(&d, file, "second", JOB_TINY ",\"n_epochs\":2", second);
    job_wait_event(&d, first, "Step");
    cr_assert_eq(job_act(&d, first, "resume"), 409);
    cr_assert_eq(job_act(&d, first, "pause"), 200);
    json_t *job = job_get(&d, first, "");
    cr_assert_str_eq(json_string_at(job, "status"), "queued");
    cr_assert(json_is_true(json_at(job, "paused")));
    json_decref(job);
    cr_assert_eq(job_act(&d, first, "pause"), 409);
    job_wait_event(&d, first, "Job paused at step");
    job_wait(&d, second, "succeeded");
    /* The uploaded file may go: the job has a link of its own. */
    (void)snprintf(path, sizeof path, "/v1/files/%s", file);
    struct http_response deleted = http_admin(&d, "DELETE", path, NULL);
    cr_assert_eq(deleted.status, 200, "%s", deleted.body.data);
    http_response_release(&deleted);
    cr_assert_eq(job_act(&d, first, "resume"), 200);
    job_wait(&d, first, "running");
    job_wait_event(&d, first, "Training continues from step");
    cr_assert_eq(job_act(&d, first, "cancel"), 200);
    for (int i = 0; job_trainer(&d) > 0; i++) {
        cr_assert_lt(i, DAEMON_WAIT_MS / 5, "the trainer of a cancelled job still runs");
        sleep_ms(5);
    }
}

Test(jobs, the_queue_is_bounded)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], body[JOB_BODY_MAX];
    job_upload_reviews(&d, 60, file);
    for (int i = 0; i < 4; i++)
        job_create(&d, file, "mood", JOB_LONG, id);
    (void)snprintf(body, sizeof body, "{\"model\":\"encoder\",\"training_file\":\"%s\"}", file);
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, 429, "%s", response.body.data);
    cr_assert(http_response_header(&response, "Retry-After"));
    http_response_release(&response);
}

Test(jobs, the_same_key_makes_one_job)
{
    char file[JOB_ID_MAX], body[JOB_BODY_MAX], other[JOB_BODY_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"encoder\",\"training_file\":\"%s\",\"hyperparameters\":{" JOB_LONG
                   "}}",
                   file);
    (void)snprintf(other, sizeof other, "{\"model\":\"encoder\",\"training_file\":\"%s\"}", file);
    for (int i = 0; i < 3; i++) {
        struct http_response response = job_post(&d, body, "once");
        cr_assert_eq(response.status, 200, "%s", response.body.data);
        json_t *job = json_from_response(&response);
        if (i == 0)
            (void)snprintf(id, sizeof id, "%s", json_string_at(job, "id"));
        cr_assert_str_eq(json_string_at(job, "id"), id);
        json_decref(job);
        http_response_release(&response);
        if (i == 1) {
            job_daemon_kill(&d);
            job_daemon_restart(&d, OPTIONS);
        }
    }
    struct http_response response = job_post(&d, other, "once");
    cr_assert_eq(response.status, 409, "%s", response.body.data);
    cr_assert_str_eq(http_response_header(&response, "x-should-retry"), "false");
    http_response_release(&response);
    json_t *page = job_get(&d, "", "");
    cr_assert_eq(json_array_size(json_at(page, "data")), 1);
    json_decref(page);
}

/* Makes another job of a job's record, with an id that counts. */
static void copy_job(const char *id, int number)
{
    char path[PATH_MAX], directory[PATH_MAX], name[96], text[8192];
    (void)snprintf(name, sizeof name, "state/jobs/%.63s/job.json", id);
    test_read_file(text, sizeof text, test_path(path, d.directory, name));
    char *at = strstr(text, id);
    cr_assert(at);
    (void)snprintf(name, sizeof name, "%0*d", (int)(strlen(id) - strlen("ftjob-")), number);
    for (size_t i = 0; name[i]; i++)
        at[strlen("ftjob-") + i] = name[i];
    (void)snprintf(name, sizeof name, "state/jobs/%.*s", (int)strlen(id), at);
    cr_assert_eq(mkdir(test_path(directory, d.directory, name), 0700), 0);
    test_write_file(test_path(path, directory, "job.json"), text);
}

/* A client's member cannot make a job look as if it had not ended. */
Test(jobs, of_those_that_ended_the_oldest_are_forgotten)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "mood", JOB_LONG ",\"finished_at\":null", id);
    cr_assert_eq(job_act(&d, id, "cancel"), 200);
    job_daemon_kill(&d);
    for (int i = 0; i < SV_JOBS_ENDED_MAX; i++)
        copy_job(id, i);
    job_daemon_restart(&d, OPTIONS);
    for (int i = 0;; i++, sleep_ms(10)) {
        struct http_response response =
            http_admin(&d, "GET", "/v1/fine_tuning/jobs?limit=1000", NULL);
        json_t *page = json_from_response(&response);
        bool has_more = json_is_true(json_at(page, "has_more"));
        json_decref(page);
        http_response_release(&response);
        if (!has_more)
            break;
        cr_assert_lt(i, DAEMON_WAIT_MS / 10);
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

Test(jobs, a_served_model_is_fine_tuned_and_promoted_if_it_is_better)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], body[JOB_BODY_MAX], version[32];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":1", id);
    job_wait(&d, id, "succeeded");
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"mood\",\"training_file\":\"%s\",\"hyperparameters\":{"
                   "\"batch_size\":8,\"learning_rate\":0.01,\"n_epochs\":6}}",
                   file);
    expect_refused_with(file, "\"model\":\"mood\",\"hyperparameters\":{\"vocab_size\":99}", 400,
                        "hyperparameters.vocab_size", "keeps its vocabulary");
    struct http_response response = job_post(&d, body, NULL);
    json_t *job = json_from_response(&response);
    cr_assert_str_eq(json_string_at(job, "model"), "mood@1");
    (void)snprintf(id, sizeof id, "%s", json_string_at(job, "id"));
    json_decref(job);
    http_response_release(&response);
    job_wait(&d, id, "succeeded");
    cr_assert_str_eq(version_of("mood", version), "1", "it was promoted without a rule");
    cr_assert(job_has_event(&d, id, "mood@1 still serves requests that name no version"));
    job_expect_label(&d, "mood@2", "a lovely and great film", "positive");
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"mood@1\",\"training_file\":\"%s\",\"validation_file\":\"%s\","
                   "\"hyperparameters\":{\"batch_size\":8,\"learning_rate\":0.01,\"n_epochs\":6,"
                   "\"promotion\":\"if_better\",\"promotion_margin\":0.05}}",
                   file, file);
    job_submit(&d, body, id);
    job_wait(&d, id, "succeeded");
    cr_assert_str_eq(version_of("mood", version), "3");
    cr_assert(job_has_event(&d, id, "Promoted: mood@3"));
    response = http_admin(&d, "GET", "/v1/audit?action=job.promote", NULL);
    EXPECT_SAID(response.body.data, "\"actor\":\"sluiced\"");
    EXPECT_SAID(response.body.data, "\"target\":\"mood@3\"");
    http_response_release(&response);
    /* The same again is not better. */
    job_submit(&d, body, id);
    job_wait(&d, id, "succeeded");
    cr_assert_str_eq(version_of("mood", version), "3");
    cr_assert(job_has_event(&d, id, " and mood@3 "));
    cr_assert_not(job_has_event(&d, id, "sluicectl load"), "it would serve the worse one");
}

Test(jobs, records_that_are_left_out_are_reported_once)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    struct sl_buffer text = {0};
    for (int i = 0; i < 40; i++)
        sl_buffer_printf(&text, "{\"text\":\"film %d\",\"label\":\"%s\"}\n", i,
                         i < 2   ? ""
                         : i % 2 ? "good"
                                 : "bad");
    file_upload_text(&d, "some.jsonl", text.data, file);
    sl_buffer_release(&text);
    job_create(&d, file, "mood", JOB_LONG, id);
    job_wait_event(&d, id, "2 records are left out, the first in line 1: 'label' is empty");
    job_wait_event(&d, id, "Step");
    cr_assert_eq(job_act(&d, id, "pause"), 200);
    job_wait_event(&d, id, "Job paused at step");
    cr_assert_eq(job_act(&d, id, "resume"), 200);
    job_wait_event(&d, id, "Training continues from step");
    json_t *events = job_get(&d, id, "events?limit=100");
    int reports = 0;
    for (size_t i = 0; i < json_array_size(json_at(events, "data")); i++)
        reports += strstr(json_string_value(json_object_get(
                              json_array_get(json_at(events, "data"), i), "message")),
                          "left out") != NULL;
    cr_assert_eq(reports, 1);
    json_decref(events);
}

Test(jobs, after_the_highest_version_there_is_none)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], path[PATH_MAX];
    cr_assert_eq(mkdir(test_path(path, d.store, "mood"), 0700), 0);
    cr_assert_eq(mkdir(test_path(path, d.store, "mood/9223372036854775807"), 0700), 0);
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"steps\":1", id);
    job_wait(&d, id, "failed");
    cr_assert(job_has_event(&d, id, "the highest possible version"));
}

Test(jobs, a_canary_gets_its_share)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX], version[32];
    job_upload_reviews(&d, 60, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":1", id);
    job_wait(&d, id, "succeeded");
    job_create(&d, file, "mood",
               JOB_TINY ",\"n_epochs\":2,\"promotion\":\"canary\",\"promotion_weight\":25", id);
    job_wait(&d, id, "succeeded");
    cr_assert(job_has_event(&d, id, "mood@2 is the canary and gets 25 %"));
    struct http_response response = http_admin(&d, "GET", "/v1/models/mood:canary", NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    EXPECT_SAID(response.body.data, "\"version\":\"2\"");
    http_response_release(&response);
    cr_assert_str_eq(version_of("mood:stable", version), "1");
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void create_with_metadata(const char *file, const char *metadata)
{
    char body[JOB_BODY_MAX];
    (void)snprintf(body, sizeof body,
                   "{\"model\":\"encoder\",\"training_file\":\"%s\",\"suffix\":\"m\",%s"
                   "\"hyperparameters\":{" JOB_LONG "}}",
                   file, metadata);
    struct http_response response = job_post(&d, body, NULL);
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    http_response_release(&response);
}

static void expect_listed(const char *query, size_t want)
{
    char path[512];
    (void)snprintf(path, sizeof path, "/v1/fine_tuning/jobs?%s", query);
    struct http_response response = http_admin(&d, "GET", path, NULL);
    cr_assert_eq(response.status, 200, "%s: %s", query, response.body.data);
    json_t *page = json_from_response(&response);
    cr_assert_eq(json_array_size(json_at(page, "data")), want, "%s: %s", query, response.body.data);
    json_decref(page);
    http_response_release(&response);
}

Test(jobs, lists_are_filtered_by_metadata)
{
    static const struct {
        const char *query;
        size_t want;
    } cases[] = {
        {"", 4},
        {"metadata[team]=films", 2},
        {"metadata%5Bteam%5D=films", 2},
        {"metadata[team]=films&metadata[note]=a%20b%22c", 1},
        {"metadata[team]=films&metadata[note]=a+b%22c", 1},
        {"metadata[team]=films&metadata[note]=other", 0},
        {"metadata[team]=books&limit=5", 1},
        {"metadata[none]=films", 0},
        {"metadata[note]=", 1},
        {"metadata=null", 1},
        {"metadata[team]=films&limit=1", 1},
    };

    static const char *const bad[] = {"metadata=films", "metadata[team=films", "metadata[]=films",
                                      "metadata[team]=%00", "metadata[a]=b&metadata=null"};
    char file[JOB_ID_MAX], path[256];
    job_upload_reviews(&d, 60, file);
    create_with_metadata(file, "\"metadata\":{\"team\":\"films\",\"note\":\"a b\\\"c\"},");
    create_with_metadata(file, "\"metadata\":{\"team\":\"films\"},");
    create_with_metadata(file, "\"metadata\":{\"team\":\"books\",\"note\":\"\"},");
    create_with_metadata(file, "");
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_listed(cases[i].query, cases[i].want);
    for (size_t i = 0; i < COUNT(bad); i++) {
        (void)snprintf(path, sizeof path, "/v1/fine_tuning/jobs?%s", bad[i]);
        struct http_response response = http_admin(&d, "GET", path, NULL);
        cr_assert_eq(response.status, 400, "%s: %s", bad[i], response.body.data);
        http_response_release(&response);
    }
}
