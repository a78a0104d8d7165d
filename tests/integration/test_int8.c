/* test_int8.c - a daemon that serves in int8: its jobs train nevertheless, and what they make is
 * served. */
#include "support/daemon.h"
#include "support/job_client.h"
#include "support/program.h"
#include "support/test.h"

static struct daemon d;

static void start(void)
{
    job_daemon_start(&d, ARGS("--precision", "int8"));
}

static void stop(void)
{
    daemon_stop(&d);
}

TestSuite(int8, .init = start, .fini = stop);

Test(int8, a_job_trains_a_model_that_is_served_in_int8)
{
    char file[JOB_ID_MAX], id[JOB_ID_MAX];
    job_upload_reviews(&d, 120, file);
    job_create(&d, file, "mood", JOB_TINY ",\"n_epochs\":6", id);
    job_wait(&d, id, "succeeded");
    struct http_response info = http_request(&d, "GET", "/info", NULL);
    EXPECT_SAID(info.body.data, "\"model_dtype\":\"int8\"");
    http_response_release(&info);
    struct http_response response = http_request(&d, "POST", "/models/mood/predict",
                                                 "{\"inputs\":\"a lovely and great film\"}");
    cr_assert_eq(response.status, 200, "%s", response.body.data);
    json_t *classes = json_from_response(&response);
    cr_expect_str_eq(json_string_at(classes, "0/label"), "positive");
    json_decref(classes);
    http_response_release(&response);
}
