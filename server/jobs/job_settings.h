/* job_settings.h - the hyper-parameters of a job. One table says of each how it is checked and how
 * the trainer gets it; any other is an option of `sluice train`. */
#pragma once

#include "jobs/job.h"

/* Checks all of them, for a spec with its model and its files, and sets the rule of promotion. */
bool sv_job_settings_check(struct sv_job_spec *spec, struct sv_error *error) SL_MUST_CHECK;
/* Sets the rule of promotion of a job whose settings were checked before. */
bool sv_job_settings_load(struct sv_job_spec *spec, struct sv_error *error) SL_MUST_CHECK;

/* Adds the options of `sluice train`. */
void sv_job_settings_add(const struct sv_job_spec *spec, struct sv_command_line *line);
/* Adds those of `sluice eval`: how the texts are read, as in training. */
void sv_job_settings_add_reading(const struct sv_job_spec *spec, struct sv_command_line *line);

/* OpenAI's, from index 0; NULL past the last. A job's object has all of them: "auto" if they were
 * not given. */
const char *sv_job_settings_openai(int index);
