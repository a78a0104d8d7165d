/* limits.h - every bound of the server that is not an option, in one place. */
#pragma once

enum {
    SV_OPTION_TEXT_MAX = 256,      /* one option's value, with its end */
    SV_CONFIG_BYTES_MAX = 1 << 20, /* of a configuration file */

    SV_MODELS_MAX = 64,
    SV_MODEL_ID_MAX = 96, /* a model's name with its @version, and the end */
    SV_VERSION_MAX = 16,  /* the version, with the end */
    SV_MODEL_NAME_BYTES_MAX = SV_MODEL_ID_MAX - 1 - SV_VERSION_MAX, /* the name alone, without it */
    SV_REASON_MAX = 512,

    /* libmicrohttpd's memory for one connection. Above 32 KiB it is mapped, so it goes back to the
     * system when the connection ends. */
    SV_CONNECTION_BYTES = 64 * 1024,
    SV_CONNECTION_IDLE_SECONDS = 60, /* silent for so long, in any phase, is gone */
    SV_FIRST_REQUEST_SECONDS = 15,   /* for the head of a connection's first request to be there */
    SV_BUSY_TIMEOUT_MS = 2000,       /* the same, of all of this, when most connections are taken */
    SV_BACKLOG = 1024,               /* connections the kernel keeps before we accept them */
    SV_BODIES_BYTES_MAX = 256 << 20, /* request bodies of all connections together */
    SV_BODY_CHUNK_BYTES = 64 << 10,  /* so much of a body, or the rest of it, has to come */
    SV_BODY_CHUNK_SECONDS = 15,      /* within so long */
    SV_RESPONSES_BYTES_MAX = 256 << 20,      /* responses not read by clients yet, together; */
    SV_RESPONSE_SMALL_BYTES = 4096,          /* one so small is always given */
    SV_RESPONSE_SECONDS = 60,                /* for an answer to be taken, */
    SV_RESPONSE_BYTES_PER_SECOND = 64 << 10, /* and longer by its length */
    SV_DISCARD_BYTES_MAX = 8 << 20, /* of a refused body, read to be polite before the answer */
    SV_LINGER_BYTES_MAX = 64 << 20, /* and after it, so that the answer arrives, */
    SV_LINGER_SECONDS = 5,          /* for so long at most, */
    SV_LINGERING_MAX = 32,          /* from so many clients */
    SV_PATH_MAX = 512,              /* a request's path, with its end */
    SV_PATH_PARAMS_MAX = 2,         /* {} in a path */
    SV_REQUEST_ID_MAX = 64,         /* a client's own, without the end */
    SV_HEADERS_MAX = 16,            /* of one answer, beside those of HTTP itself */
    SV_LONG_HEADERS_MAX = 2,        /* and of any length */
    SV_HEADER_VALUE_MAX = 96,
    SV_HTTP_THREADS = 2,

    SV_JSON_DEPTH_MAX = 64,
    SV_JSON_CONTAINERS_MAX = 1 << 17, /* arrays and objects: 400 questions have 102,400 choices */
    SV_JSON_MEMBERS_MAX = 1 << 18,    /* of all objects together */
    SV_PROMPTS_MAX = 512,             /* in one request */
    SV_CLIENT_BATCH_MAX =
        65536, /* to classify, in one request; max_client_batch_size is at most this */
    SV_SCORES_MAX = 1 << 18, /* texts times labels of a request: an answer is written at once */
    SV_TOKENIZE_TOKENS_MAX =
        1 << 18, /* tokens in one answer of /tokenize, or asked for of /decode */
    SV_HEADER_LIST_MAX =
        256, /* texts told one by one in two headers, 12 bytes each: nginx takes 4 KiB */
    SV_OUTPUTS_MAX = 16,          /* of one inference */
    SV_CLASSIFY_BATCH_MAX = 4096, /* in one batch */
    SV_QUESTIONS_MAX = 400,       /* about one text */
    SV_CHOICES_MAX = 255,         /* of one question */
    SV_PARTS_MAX = 256,           /* of one message, and messages of one input */
    SV_KEYWORD_BYTES_MAX = 64,    /* of one word out of a few: a role, a type, a datatype */
    SV_NAME_BYTES_MAX = 256,      /* of names, ids and labels that clients give */
    SV_TEXT_BYTES_MAX = 64 << 20,
    SV_N_MAX = 128,          /* n: answers to one prompt */
    SV_TOKENS_MAX = 1000000, /* max_tokens */
    SV_TOP_K_MAX = 1000000,
    SV_BIAS_MAX = 1024, /* entries of logit_bias */
    SV_QUOTE_MAX = 64,  /* bytes of a client's value repeated in a message */

    SV_STREAM_TEXT_BYTES = 4096, /* waiting for one slow reader, per choice */
    SV_STREAM_TOKENS = 64,       /* and with log probabilities, so many tokens */

    SV_SERIES_MAX = 1024, /* label combinations of one metric */

    SV_IDLE_MS = 500, /* the dispatcher's and the watcher's longest sleep */
    SV_SWEEP_MS = 50, /* how often deadlines are looked at, by both */
    /* A dispatcher silent for longer, with work waiting, is not alive. */
    SV_HEARTBEAT_SECONDS_MAX = 30,
    SV_FLUSH_SECONDS = 5, /* for last words to reach clients after the drain's deadline */
    SV_RETRY_MS_MIN = 50,
    SV_RETRY_MS_MAX = 60000 /* the openai client ignores longer waits */
};
