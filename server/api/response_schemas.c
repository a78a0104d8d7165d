/* response_schemas.c - what responses hold. */
#include "api/response_schemas.h"

#include <stddef.h>

#define LIST(of)                                                                                   \
    "object: 'list'; data: [" of "]; first_id: string|null (id of the first item of the page); "   \
    "last_id: string|null (id of the last one; the next page is after it); "                       \
    "has_more: boolean (whether there is a next page)"
#define PROBLEM_TYPES "'single_label_classification'|'multi_label_classification'"
#define DELETED(of)   "id: string; object: '" of "'; deleted: boolean"
#define DEPTH                                                                                      \
    "depth_mean: number (mean number of layers per token); "                                       \
    "layer_ops_skipped: number (fraction of token-layer operations skipped); "                     \
    "budget?: number (of the operating point, if a budget was asked for)"
#define VERSION                                                                                    \
    "version: size; state: VersionState; reason: string|null (why it is not ready); "              \
    "labels: [string]; pinned: boolean (`stable` stays on it when a higher version is loaded); "   \
    "canary_weight: size (percent of the model's requests)"

const struct sv_response_schema sv_response_schemas[] = {
    /* ---- errors ---- */
    {"OpenAIError", "error: OpenAIErrorDetail"},
    {"JinaError", "error: OpenAIErrorDetail; detail: string (the message once more)"},
    {"OpenAIErrorDetail", "message: string (what is wrong, where, and what to do); type: string; "
                          "param: string|null (field at fault); code: string|null; "
                          "index?: size (index of the text at fault)"},
    {"InferenceProtocolError",
     "error: string (what is wrong, where, and what to do); "
     "param?: string (name of the text at fault); index?: size (index of the text at fault)"},
    {"TextError", "error: string (what is wrong, where, and what to do); error_type: string; "
                  "index?: size (index of the text at fault)"},
    {"Problem", "type: string (RFC 9457); title: string (code); status: integer; "
                "detail: string (what is wrong, where, and what to do)"},

    /* ---- the daemon ---- */
    {"Index", "name: 'sluice'; version: string; description: string; endpoints: [Endpoint]"},
    {"Endpoint", "method: string; path: string"},
    {"Live", "live: boolean"},
    {"Ready", "ready: boolean"},

    /* ---- completions ---- */
    {"Completion",
     "id: string; object: 'text_completion'; created: integer (seconds since 1970); "
     "model: string (name@version); system_fingerprint: string; choices: [CompletionChoice]; "
     "usage?: CompletionUsage|null"},
    {"CompletionChoice",
     "index: size; text: string; logprobs: Logprobs|null; sluice?: TokenDepths; "
     "finish_reason: 'stop'|'length'|null (null in the events of a stream before the last)"},
    {"Logprobs", "tokens: [string]; token_logprobs: [number|null]; top_logprobs: [{number}|null]; "
                 "text_offset: [size] (in characters)"},
    {"TokenDepths", "tokens: [string]; depth: [integer|null] (layers that computed each token); "
                    "gates?: [[number]|null] (of each token, the weight with which each block, "
                    "step or expert acted on it; 0: it did not run)"},
    {"ChatCompletion",
     "id: string; object: 'chat.completion'|'chat.completion.chunk' (the latter in a stream); "
     "created: integer (seconds since 1970); model: string (name@version); "
     "system_fingerprint: string; choices: [ChatChoice]; usage?: CompletionUsage|null"},
    {"ChatChoice",
     "index: size; message?: ChatAnswer; delta?: ChatDelta (in a stream, instead); "
     "logprobs: ChatLogprobs|null; sluice?: TokenDepths; "
     "finish_reason: 'stop'|'length'|null (null in the events of a stream before the last)"},
    {"ChatAnswer", "role: 'assistant'; content: string; refusal: null"},
    {"ChatDelta", "role?: 'assistant' (in the first event); content?: string; refusal?: null"},
    {"ChatLogprobs", "content: [ChatToken]; refusal: null"},
    {"ChatToken", "token: string; logprob: number; bytes: [size]; top_logprobs: [ChatAlternative]"},
    {"ChatAlternative", "token: string; logprob: number; bytes: [size]"},
    {"CompletionUsage", "prompt_tokens: size; completion_tokens: size; total_tokens: size; "
                        "sluice: CompletionDepth"},
    {"CompletionDepth", DEPTH "; truncated?: [TruncatedPrompt]"},
    {"TruncatedPrompt", "prompt: size (index of the prompt); prompt_tokens_given: size; "
                        "prompt_tokens_used: size"},

    /* ---- decisions ---- */
    {"Decisions",
     "model: string (name@version); "
     "answers: [ChoiceAnswer|PredicateAnswer|ScoreAnswer] (in the order of the questions); "
     "sluice?: DecisionExplanation (on request); usage: DecisionUsage"},
    {"DecisionExplanation", "label: string (the most likely label); "
                            "words?: [Word] (what moved its score most); "
                            "tokens?: [TokenDepth] (with sluice.depth)"},
    {"ChoiceAnswer", "type: 'choice'; name: string|null; "
                     "choice: string|boolean (the most probable one); confidence: number; "
                     "probabilities: [ChoiceProbability] (among the choices; they sum to 1)"},
    {"ChoiceProbability", "value: string|boolean; probability: number"},
    {"PredicateAnswer", "type: 'predicate'; name: string|null; probability: number"},
    {"ScoreAnswer", "type: 'score'; name: string|null; "
                    "score: number (mean level, counted from 0); confidence: number; "
                    "probabilities: [LevelProbability]"},
    {"LevelProbability", "label: string; value: size; probability: number"},
    {"DecisionUsage", "input_tokens: size; input_tokens_details: {size}; output_tokens: size; "
                      "output_tokens_details: {size}; total_tokens: size; sluice: DecisionDepth"},
    {"DecisionDepth", DEPTH "; truncated?: TruncatedInput"},
    {"TruncatedInput", "input_tokens_given: size; input_tokens_used: size"},

    /* ---- embeddings ---- */
    {"EmbeddingList", "object: 'list'; data: [Embedding] (in the order of the texts); "
                      "model: string (name@version); usage: EmbeddingUsage"},
    {"Embedding",
     "object: 'embedding'; index: size (of the text); "
     "embedding: [number]|string (or with encoding_format base64 its fp32 numbers, little endian)"},
    {"EmbeddingUsage", "prompt_tokens: size; total_tokens: size; sluice?: EmbeddingTruncation"},
    {"EmbeddingTruncation", "truncated: [TruncatedPrompt]"},

    /* ---- models ---- */
    {"ModelList", "object: 'list'; data: [Model]"},
    {"Model", "id: string; object: 'model'; created: integer (seconds since 1970); "
              "owned_by: string; max_model_len: size (length of the context in tokens); "
              "sluice: ModelDetails"},
    {"ModelDetails",
     "version: string; versions: [ModelVersion]; architecture: string; "
     "paper: string; "
     "task: 'completion'|'classification'|'embedding'|'token_classification'|'translation'; "
     "abilities: [string] (what it can do); takes_pairs: boolean (its texts may be pairs); "
     "parameters: size (trained numbers); "
     "buffers: size (other numbers of the model, such as word vectors); depth: size; width: size; "
     "vocab: size (size of the vocabulary); gate: string (how tokens skip layers); "
     "operating_points?: [OperatingPoint] (choices of a budget, by falling budget; the first "
     "computes everything); "
     "sha256: string (digest of the weights); dimensions?: size (of embeddings); "
     "prompts?: [string] (names of texts to put before others); "
     "default_prompt_name?: string (of the prompt of texts without another); "
     "chat_template?: string (what writes conversations); "
     "pooling?: 'mean'|'weighted_mean' (how a text's tokens become one vector); "
     "problem_type?: " PROBLEM_TYPES " (of a classifier: one label or several); "
     "labels?: [string] (of a classifier of texts or tokens); "
     "training?: object (where it comes from, as in its config.json; not in the list of models)"},
    {"OperatingPoint",
     "budget: number (time as a fraction of computing everything); "
     "loss: number (nats per token or text, on unseen text); accuracy?: number (of a classifier); "
     "layer_ops_skipped: number (fraction of token-layer operations skipped); "
     "<threshold>?: number"},
    {"VersionState", "'loading'|'ready'|'draining'|'failed'|'unloaded'"},
    {"ModelVersion", VERSION},
    {"VersionList", "object: 'list'; data: [Version]; "
                    "ignored?: [IgnoredDirectory] (directories that are no versions)"},
    {"IgnoredDirectory", "directory: string (relative to the store); reason: string"},
    {"Version", "id: string (name@version); object: 'model.version'; " VERSION},
    {"DeletedModel", DELETED("model")},
    {"Label",
     "object: 'model.label'; model: string; label: string; version: integer|null; "
     "previous_version: integer|null; weight?: size (of the canary); "
     "removed_canary?: boolean (`stable` moved to the version of `canary`, so that label was "
     "removed)"},
    {"DeletedLabel", DELETED("model.label")},

    /* ---- files and jobs ---- */
    {"FileUpload", "file: binary (the file, with its name); purpose: 'fine-tune'"},
    {"FileList", LIST("File")},
    {"File", "id: string; object: 'file'; bytes: size; created_at: integer (seconds since 1970); "
             "filename: string; purpose: string; status: 'processed'"},
    {"DeletedFile", DELETED("file")},
    {"FileCheck",
     "format: string|null; columns: [string] (their names, or paths in JSON; of a table without "
     "names, their numbers); label: string|null (the columns that were read, to be used as the "
     "hyper-parameters of these names; null: the format says, or one must be chosen); "
     "text: string|null; texts: size; labels: [LabelCount]; multi_label: boolean; "
     "problem_count: size; problems: [FileProblem] (what would stop training: the first 100); "
     "warnings: [string] (what may be wrong); notes: [string] (what was assumed); "
     "records: [FileRecord] (the first that can be read)"},
    {"LabelCount", "label: string; texts: size"},
    {"FileProblem", "line: size|null (null: it concerns the whole file); message: string"},
    {"FileRecord", "line: size; labels: [string]; text: string"},
    {"JobList", LIST("Job")},
    {"Job", "id: string; object: 'fine_tuning.job'; "
            "user_provided_suffix: string (name of the model to publish); "
            "created_at: integer (seconds since 1970); "
            "finished_at: integer|null (seconds since 1970); "
            "estimated_finish: integer|null (seconds since 1970); model: string; "
            "fine_tuned_model: string|null (name@version of the published model); "
            "organization_id: string; "
            "status: 'validating_files'|'queued'|'running'|'succeeded'|'failed'|'cancelled'; "
            "paused?: boolean (it waits to be resumed; OpenAI has no status for that); "
            "hyperparameters: {string|number|boolean}; training_file: string; "
            "validation_file: string|null; result_files: [string]; trained_tokens: integer|null; "
            "seed: integer; error: JobError|null; integrations: [any]; metadata: {string}; "
            "method: JobMethod"},
    {"JobError", "code: string; message: string; param: string|null"},
    {"JobMethod", "type: 'supervised'; supervised: JobMethodOptions"},
    {"JobMethodOptions", "hyperparameters: {string|number|boolean}"},
    {"JobEventList", LIST("JobEvent")},
    {"JobEvent",
     "id: string; object: 'fine_tuning.job.event'; "
     "created_at: integer (seconds since 1970); level: 'info'|'warn'|'error'; message: string; "
     "type: 'message'|'metrics'; data: {number}"},
    {"CheckpointList", LIST("Checkpoint")},
    {"Checkpoint", "id: string; object: 'fine_tuning.job.checkpoint'; "
                   "created_at: integer (seconds since 1970); fine_tuned_model_checkpoint: string; "
                   "fine_tuning_job_id: string; step_number: size; metrics: {number}"},
    {"AuditLog", LIST("AuditEvent")},
    {"AuditEvent", "id: string; object: 'audit.event'; created_at: integer (seconds since 1970); "
                   "actor: string (key:NAME, unix:UID, anonymous or daemon); address: string|null; "
                   "request_id: string|null; action: string; target: string; detail: object|null"},

    /* ---- Text Embeddings Inference, Hugging Face ---- */
    {"Score", "label: string; score: number (probability, or logit if raw_scores); "
              "words?: [Word] (of the most likely label: what moved its score most); "
              "tokens?: [TokenDepth] (of the most likely label, with sluice.depth)"},
    {"TokenDepth", "token: string; start: size (first byte in the text); "
                   "stop: size (byte after the last); depth: size (layers that computed it); "
                   "gates?: [number] (the weight with which each block, step or expert acted on "
                   "it; 0: it did not run)"},
    {"Word", "word: string; start: size (first byte in the text); "
             "stop: size (byte after the last); "
             "contribution: number (to the label's logit less the mean of the others)"},
    {"Predictions",
     "[Score]|[[Score]] (labels of one text, the most probable first; or of each text of an "
     "array)"},
    {"PipelineResponse",
     "[[Score]]|[Score]|[Entity]|[[Entity]]|[Fill]|[[Fill]]|[[[Fill]]]|[number]|[[number]] "
     "(labels of each text, or candidate labels of one, the most probable first; entities of a "
     "text, or of each text of an array; tokens for a mask, or of several masks, texts or both in "
     "lists; similarities; embedding of each text)"},
    {"Sentences", "source_sentence: string; sentences: [string]"},
    {"Similarities", "[number] (cosine between the source and each sentence)"},
    {"Entity", "entity?: string (label of a token); entity_group?: string (label of several); "
               "score: number; index?: size (of the token); word: string; "
               "start: size (first character in the text); end: size (character after the last)"},
    {"Fill", "score: number; token: token; token_str: string; "
             "sequence: string (the text with the token)"},
    {"Embeddings", "[[number]] (embedding of each text)"},
    {"TokenEmbeddings", "[[[number]]] (vector of each token of each text)"},
    {"SparseEmbeddings", "[[SparseValue]] (sparse embedding of each text)"},
    {"SparseValue", "index: token; value: number (log of 1 + the largest logit of the token)"},
    {"Ranks", "[Rank] (the highest score first)"},
    {"Rank", "index: size (of the text); text?: string (on request); "
             "score: number (probability, or logit if raw_scores)"},
    {"Tokens", "[[Token]] (tokens of each text)"},
    {"Token",
     "id: token; text: string; special: boolean; "
     "start: integer|null (first byte in the text); stop: integer|null (byte after the last)"},
    {"Texts", "[string] (text of each list of ids)"},
    {"Info",
     "model_id: string (name@version); model_sha: string; "
     "model_dtype: 'bfloat16'|'float32'|'int8'; served_model_name: string; model_type: ModelType; "
     "max_concurrent_requests: size; max_input_length: size; max_batch_tokens: size; "
     "max_batch_requests: size; max_client_batch_size: size; auto_truncate: boolean; "
     "tokenization_workers: size; version: string; sha: string|null; docker_label: string|null; "
     "sluice: InfoDetails"},
    {"InfoDetails", "abilities: [string] (what the model can do); takes_pairs: boolean (its texts "
                    "may be pairs); max_body_bytes: size"},
    {"ModelType",
     "classifier?: ClassifierType; reranker?: ClassifierType; token_classifier?: ClassifierType; "
     "embedding?: EmbeddingType; "
     "completion?: object; translation?: object"},
    {"EmbeddingType", "pooling: 'mean'|'weighted_mean'"},
    {"ClassifierType", "id2label: {string}; label2id: {size}; problem_type?: " PROBLEM_TYPES
                       " (of texts: whether one may have several labels)"},

    /* ---- Jina, Cohere ---- */
    {"JinaRanking", "model: string (name@version); usage: RankingUsage; "
                    "results: [RankedDocument] (the highest score first)"},
    {"RankingUsage", "total_tokens: size; prompt_tokens: size"},
    {"RankedDocument", "index: size (of the document); relevance_score: number (probability); "
                       "document?: RankedText (if return_documents)"},
    {"RankedText", "text: string"},
    {"CohereRanking", "id: string (of the request); "
                      "results: [RankedDocument] (the highest score first); meta: RankingMeta"},
    {"RankingMeta", "api_version: RankingVersion; billed_units: RankingUnits"},
    {"RankingVersion", "version: string"},
    {"RankingUnits", "search_units: size (always 1)"},

    /* ---- Open Inference Protocol ---- */
    {"ServerMetadata", "name: string; version: string; extensions: [string]"},
    {"ModelMetadata",
     "name: string; versions: [string]; platform: string; "
     "inputs: [TensorMetadata]; outputs: [TensorMetadata]; parameters: ModelParameters"},
    {"TensorMetadata", "name: string; datatype: 'BYTES'|'FP32'|'INT32'; "
                       "shape: [integer] (-1 for any)"},
    {"ModelParameters",
     "labels: [string]; problem_type?: " PROBLEM_TYPES
     " (of a classifier: one label or several); abilities: [string] (what it can do); "
     "takes_pairs: boolean (shape [n, 2] is accepted); max_input_length: size; gate: string"},
    {"ModelNames", "models: [string]"},
    {"ModelConfig", "name: string; platform: string; max_batch_size: size (texts in one request); "
                    "input: [TensorConfig]; output: [TensorConfig]"},
    {"TensorConfig", "name: string; data_type: 'TYPE_STRING'|'TYPE_FP32'|'TYPE_INT32'; "
                     "dims: [size] (without that of the batch); "
                     "reshape?: {[size]} (the tensor has one dimension, that of the batch)"},
    {"ModelReady", "name: string; ready: boolean"},
    {"Inference", "model_name: string; model_version: string; id?: string (of the request); "
                  "parameters: InferenceDepth; outputs: [OutputTensor]"},
    {"InferenceDepth", DEPTH "; truncated: size (number of truncated texts); tokens_given: size; "
                             "tokens_used: size"},
    {"OutputTensor",
     "name: string; datatype: 'BYTES'|'FP32'|'INT32'; shape: [size]; "
     "parameters?: {size} (binary_data_size, instead of data); data?: [string|number]"},
    {"Statistics", "model_stats: [ModelStatistics]"},
    {"ModelStatistics",
     "name: string; version: string; "
     "last_inference: integer (milliseconds since 1970); inference_count: size (texts); "
     "execution_count: size (batches); inference_stats: {Duration}; "
     "batch_stats: [BatchStatistics]"},
    {"BatchStatistics", "batch_size: size; compute_input: Duration; compute_infer: Duration; "
                        "compute_output: Duration"},
    {"Duration", "count: size; ns: size"},
    {"RepositoryIndex", "[RepositoryVersion]"},
    {"RepositoryVersion", "name: string; "
                          "version: string (empty if the whole directory is ignored); "
                          "state: 'LOADING'|'READY'|'UNLOADING'|'UNAVAILABLE'; reason: string"},
    {"RepositoryChange", "name: string; version?: string; "
                         "removed_canary?: boolean (as of Label, if true); "
                         "ignored?: [IgnoredDirectory] (as of VersionList); "
                         "state: 'LOADING'|'READY'|'UNLOADING'|'UNAVAILABLE'"},
    {NULL, NULL},
};
