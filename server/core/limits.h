/* limits.h - every bound of the server that is not an option, in one place. */
#pragma once

#include "base/model_names.h"

enum {
    SV_OPTION_TEXT_MAX = 256,      /* one option's value, with its NUL */
    SV_CONFIG_BYTES_MAX = 1 << 20, /* of a configuration file */

    SV_MODELS_MAX = 64,
    SV_VERSIONS_MAX = 256,  /* of one model in the index; beyond that, unused ones are left out */
    SV_EXECUTORS_MAX = 256, /* versions loaded at the same time, of all models */
    SV_CHANGES_MAX = 32,    /* loads and other changes of the registry that wait */
    SV_LOADER_NICE = 15,    /* added for the thread that loads versions while others are served */
    SV_LABELS_MAX = 16,     /* of one model */
    SV_WEIGHT_MAX = 100,    /* of a canary, in percent */
    SV_VERSION_MAX = SL_VERSION_DIGITS_MAX + 1,                     /* with its NUL */
    SV_MODEL_ID_MAX = SL_MODEL_NAME_BYTES_MAX + 1 + SV_VERSION_MAX, /* name@version, too */
    SV_IGNORED_MAX = 64, /* directories of the store that are reported as no model or version */
    SV_REASON_MAX = 512,

    /* libmicrohttpd's buffer per connection. Above 32 KiB it is mapped, so it returns to the system
     * when the connection closes. */
    SV_CONNECTION_BYTES = 64 * 1024,
    SV_CONNECTION_IDLE_SECONDS = 60, /* idle connections are closed after this time */
    SV_FIRST_REQUEST_SECONDS = 15,   /* time for the first request's head to arrive */
    SV_BUSY_TIMEOUT_MS =
        2000, /* replaces these times when three quarters of the connections are in use */
    SV_HEAD_BYTES_MAX = 16 << 10,       /* the request line and the headers */
    SV_CHUNK_HEAD_BYTES_MAX = 4 << 10,  /* the line before a chunk; the end of a chunked body */
    SV_DESCRIPTORS_MAX = 1 << 17,       /* of connections */
    SV_BACKLOG = 1024,                  /* listen(2)'s backlog */
    SV_BODIES_BYTES_MAX = 256 << 20,    /* request bodies of all connections together */
    SV_BODY_CHUNK_BYTES = 64 << 10,     /* this much of a body, or its rest, must arrive */
    SV_BODY_CHUNK_SECONDS = 15,         /* within this time */
    SV_RESPONSES_BYTES_MAX = 256 << 20, /* responses not read by clients yet, together; */
    SV_RESPONSE_SMALL_BYTES = 4096,     /* smaller ones are always sent */
    SV_RESPONSE_SECONDS = 60,           /* time for a response to be read, */
    SV_RESPONSE_BYTES_PER_SECOND = 64 << 10, /* plus its length at this rate */
    SV_DISCARD_BYTES_MAX = 8 << 20,          /* of a rejected body, discarded before the response */
    SV_LINGER_BYTES_MAX = 64 << 20, /* and after it, so that the response is not lost to a reset, */
    SV_LINGER_SECONDS = 5,          /* for at most this time, */
    SV_LINGERING_MAX = 32,          /* for at most this many connections */
    SV_PATH_MAX = 512,              /* a request's path, with its NUL */
    SV_PATH_PARAMS_MAX = 2,         /* {} in a path */
    SV_REQUEST_ID_MAX = 64,         /* an id from the client, without NUL */
    SV_HEADERS_MAX = 16,            /* our headers in one response */
    SV_LONG_HEADERS_MAX = 2,        /* and those of any length */
    SV_HEADER_VALUE_MAX = 96,
    SV_HTTP_THREADS = 2, /* of the inference listener; each address of the admin listener has one */
    SV_ADMIN_ADDRESSES_MAX = 4,
    SV_ADMIN_CONNECTIONS_MAX = 64,    /* at each address of the admin listener */
    SV_ADMIN_BODIES_BYTES = 64 << 20, /* more room for bodies of the admin listener */
    SV_ADMIN_SLICE_NS = 100000,       /* time slice of its threads; see base/thread_priority.h */
    SV_KEYS_MAX = 1024,               /* API keys */
    SV_KEY_LINE_MAX = 512,            /* a line of the keys file, with newline and NUL */
    SV_CALLER_NAME_MAX = 64,
    SV_CALLER_ADDRESS_MAX = 64,
    SV_UNIX_PATH_MAX = 108, /* a socket's path, with its NUL */
    SV_UNIX_SOCKET_MODE = 0660,

    SV_JSON_DEPTH_MAX = 64,
    SV_JSON_CONTAINERS_MAX = 1 << 17, /* arrays and objects: 400 questions have 102,400 choices */
    SV_JSON_MEMBERS_MAX = 1 << 18,    /* of all objects together */
    SV_PROMPTS_MAX = 512,             /* in one request */
    SV_CLIENT_BATCH_MAX =
        65536, /* to classify, in one request; max_client_batch_size is at most this */
    SV_SCORES_MAX =
        1 << 18, /* texts times labels of a request, whose response is written at once; */
    SV_EMBEDDED_MAX = 1 << 21, /* or texts times dimensions, if it is written in slices */
    SV_DIMENSIONS_MAX = 8192,
    SV_EMBEDDED_SLICE = 1 << 15, /* of so many numbers */
    SV_TOKENIZE_TOKENS_MAX =
        1 << 18,               /* tokens in one response of /tokenize or one request of /decode */
    SV_HEADER_LIST_MAX = 256,  /* texts listed in two headers, 12 bytes each: nginx accepts 4 KiB */
    SV_EXPLAIN_WORDS_MAX = 64, /* words in the explanation of one result */
    SV_OUTPUTS_MAX = 16,       /* of one inference */
    SV_CLASSIFY_BATCH_MAX = 4096, /* in one batch */
    SV_QUESTIONS_MAX = 400,       /* about one text */
    SV_CHOICES_MAX = 255,         /* of one question */
    SV_PARTS_MAX = 256,           /* of one message, and messages of one input */
    SV_MESSAGES_MAX = 1024,       /* of one conversation */
    SV_NAME_BYTES_MAX = 256,      /* of names, ids and labels from clients */
    SV_TEXT_BYTES_MAX = 64 << 20,
    SV_QUERIES_BYTES_MAX = 16 << 20, /* of pairs: a query or label, once for each text */
    SV_TOKENIZE_SLICE_BYTES =
        32 << 10, /* of texts, tokenized before other requests have their turn */
    SV_TEXT_WORK_BYTES_MAX = 4 << 20, /* bodies of /tokenize and /decode in progress, together */
    SV_N_MAX = 128,                   /* n: completions per prompt */
    SV_TOKENS_MAX = 1000000,          /* max_tokens */
    SV_TOP_K_MAX = 1000000,
    SV_BIAS_MAX = 1024, /* entries of logit_bias */
    SV_QUOTE_MAX = 64,  /* bytes of a client's value repeated in a message */

    SV_STREAM_TEXT_BYTES = 4096, /* buffered for one slow reader, per choice */
    SV_STREAM_TOKENS = 64,       /* and, with log probabilities, this many tokens */

    SV_STATE_PATH_MAX = 512,    /* of the state directory, with its NUL */
    SV_KILLED_DAEMON_MS = 1000, /* waited for children of a daemon that was killed */
    SV_WORKER_TASKS_MAX = 64,   /* waiting for the disk thread */
    SV_FILES_MAX = 10000,
    SV_UPLOADS_MAX = 16,              /* at the same time */
    SV_JSON_LINE_BYTES_MAX = 4 << 20, /* of a file in JSON Lines */
    SV_AUDIT_FAILURES_MAX = 100,      /* recorded at once; then one a second */

    SV_JOBS_ENDED_MAX = 1000,       /* kept; then the oldest are forgotten */
    SV_JOBS_RUNNING_MAX = 16,       /* largest value of the option jobs_running */
    SV_JOB_EVENTS_MAX = 10000,      /* of one job; half of them with metrics */
    SV_JOB_EVENTS_OF_A_KIND = 1000, /* approximately, however many steps a job has */
    SV_JOB_STOPPED_SECONDS = 20,    /* for a trainer that a signal stopped to go on */
    SV_JOB_STOP_SECONDS = 30,       /* for a trainer to save its state when the daemon ends */
    SV_IDEMPOTENCY_SECONDS = 24 * 3600,
    SV_IDEMPOTENCY_KEY_MAX = 255, /* bytes */
    SV_IDEMPOTENCY_KEYS_MAX = 1024,
    SV_JOB_POLL_MS = 50, /* how often trainers are polled */

    SV_FILE_CHECKS_MAX = 2,            /* at the same time */
    SV_FILE_CHECK_SECONDS = 60,        /* for one; */
    SV_FILE_CHECK_BYTES_MAX = 8 << 20, /* its result */

    SV_SERIES_MAX = 1024, /* label combinations of one metric */

    SV_IDLE_MS = 500, /* longest sleep of the scheduler and of the watcher */
    SV_SWEEP_MS = 50, /* how often both check deadlines */
    /* A scheduler with work and without progress for longer is not alive. */
    SV_HEARTBEAT_SECONDS_MAX = 30,
    SV_OPEN_SECONDS_MAX = 120, /* to open one version at start; systemd waits as long */
    /* After SIGTERM: clients with an open connection have this long to send one more request. */
    SV_LEAVE_QUIET_MS = 1000,
    SV_FLUSH_SECONDS = 5, /* time to flush responses after drain_timeout */
    SV_RETRY_MS_MIN = 50,
    SV_RETRY_MS_MAX = 60000 /* the openai client ignores longer waits */
};

/* The least budget of a request; less than any operating point takes. */
#define SV_BUDGET_MIN 0.01
