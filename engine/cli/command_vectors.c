/* command_vectors.c - `sluice vectors`: learns word vectors from a plain text. */
#include "base/option_parser.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "formats/vocabulary.h"
#include "linear/linear_base.h"
#include "model/engine.h"
#include "vectors/document_vectors.h"
#include "vectors/word_vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct arguments {
    const char *corpus, *vocabulary, *out, *known, *base, *isa;
    bool cased, json;
    int threads;
    struct sl_word_vectors_options vectors;
};

static const struct sl_option rows[] = {
    {"corpus", "FILE", "UTF-8 text, also .gz or .xz; an empty line ends a document",
     SL_OPTION_STRING, offsetof(struct arguments, corpus), 0, 0},
    {"vocab-file", "FILE", "vocabulary that `sluice vocab wordpiece` wrote", SL_OPTION_STRING,
     offsetof(struct arguments, vocabulary), 0, 0},
    {"cased", NULL, "keep case and accents; needed if the vocabulary was made with --cased",
     SL_OPTION_FLAG, offsetof(struct arguments, cased), 0, 0},
    {"output", "FILE", "file to write the learnt vectors to, in word2vec's text format",
     SL_OPTION_STRING, offsetof(struct arguments, out), 0, 0},
    {"base", "DIR",
     "new model to create from the vectors, as in models/base/1; `sluice train --data` "
     "starts from it with --init-from",
     SL_OPTION_STRING, offsetof(struct arguments, base), 0, 0},
    {"vectors", "FILE",
     "do not learn: read these word vectors, of --width numbers, and write them as the model "
     "--base; --corpus then only says how frequent words are. With --document-steps: begin with "
     "them",
     SL_OPTION_STRING, offsetof(struct arguments, known), 0, 0},
    THREADS_OPTION(struct arguments),
    ISA_OPTION(struct arguments),
    {"json", NULL, "print JSON", SL_OPTION_FLAG, offsetof(struct arguments, json), 0, 0},
    {0}};

static struct sl_option_parser parser_of(struct arguments *a)
{
    return (struct sl_option_parser){.tables = {{.rows = rows, .values = a},
                                                {.heading = "Hyper-parameters",
                                                 .numbers = sl_word_vectors_rows,
                                                 .values = a ? &a->vectors : NULL}}};
}

static void options(const char *operand)
{
    (void)operand;
    struct sl_option_parser parser = parser_of(NULL);
    command_help(&command_vectors, &parser);
    printf("\nExample:\n  sluice vectors --corpus my.txt --vocab-file vocab.txt --output my.vec\n");
}

static void live_line(void *context, const struct sl_word_vectors_progress *p)
{
    (void)context;
    if (!isatty(STDERR_FILENO))
        return;
    int left = p->fraction > 0.0 ? (int)(p->seconds / p->fraction - p->seconds) : 0;
    (void)fprintf(stderr, "\r\033[K%.1f %%  loss %.4f  %d:%02d left%s", 100.0 * p->fraction,
                  p->loss, left / 60, left % 60, p->fraction < 1.0 ? "" : "\n");
}

static const struct sl_word_vectors_report report = {.report = live_line};

static int width_of(const struct arguments *a)
{
    const struct sl_word_vectors_options *v = &a->vectors;
    return v->width + (v->document_steps > 0 ? v->skip_gram_width : 0);
}

static void print_result(const struct arguments *a, int vocab, int64_t tokens)
{
    struct sl_buffer text = {0};
    struct sl_json_writer json = {.out = &text};
    if (!a->json) {
        printf("%s: %d vectors of width %d from %lld tokens\n", a->out, vocab, width_of(a),
               (long long)tokens);
        return;
    }
    sl_json_add(&json, "{'file':%s,'vectors':%d,'width':%d,'tokens':%lld}", a->out, vocab,
                width_of(a), (long long)tokens);
    command_print_json(&text);
}

/* Skip-gram, or known vectors to go on from. */
static bool begin(const struct arguments *a, const struct sl_tokenizer *tokens,
                  const struct sl_documents *documents, const struct sl_engine *engine,
                  const struct sl_parameter *table, struct sl_err *err)
{
    if (a->known)
        return sl_word_vectors_apply(a->known, tokens, table, err);
    return sl_word_vectors_train(documents, &a->vectors, engine->kernels, &report, table, err);
}

/* Skip-gram vectors that documents do not tune, of a width of their own. */
static bool append_skip_gram(const struct arguments *a, const struct sl_documents *documents,
                             const struct sl_engine *engine, const struct sl_parameter *tuned,
                             float *out, struct sl_err *err)
{
    struct sl_word_vectors_options options = a->vectors;
    options.width = a->vectors.skip_gram_width;
    struct sl_parameter table = {.rows = tuned->rows, .cols = options.width};
    table.data = calloc(sl_parameter_floats(&table), sizeof *table.data);
    if (!table.data)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d vectors", table.rows);
    bool ok = sl_word_vectors_train(documents, &options, engine->kernels, &report, &table, err);
    if (ok)
        sl_word_vectors_append(tuned->data, tuned->cols, table.data, table.cols, table.rows, out);
    free(table.data);
    return ok;
}

static bool learn(const struct arguments *a, const struct sl_tokenizer *tokens,
                  const struct sl_documents *documents, const struct sl_engine *engine,
                  struct sl_err *err)
{
    const int vocab = sl_tokenizer_size(tokens), width = a->vectors.width, all = width_of(a);
    float *vectors = calloc((size_t)vocab, (size_t)(width + all) * sizeof *vectors);
    if (!vectors)
        return sl_fail(err, SL_NO_MEMORY, "no memory for %d vectors", vocab);
    const struct sl_parameter table = {.data = vectors, .rows = vocab, .cols = width};
    float *out = all > width ? vectors + sl_parameter_floats(&table) : vectors;
    bool ok = begin(a, tokens, documents, engine, &table, err) &&
              (a->vectors.document_steps == 0 ||
               sl_document_vectors_train(documents, &a->vectors, engine, &report, &table, err)) &&
              (out == vectors || append_skip_gram(a, documents, engine, &table, out, err)) &&
              sl_word_vectors_write(a->out, tokens, out, all, err);
    free(vectors);
    if (ok)
        print_result(a, vocab, documents->count);
    return ok;
}

static bool write_base(const struct arguments *a, const struct sl_tokenizer *tokens,
                       const struct sl_documents *documents, struct sl_engine *engine,
                       struct sl_err *err)
{
    const struct sl_linear_base_options options = {.engine = engine,
                                                   .tokens = tokens,
                                                   .vectors = a->out ? a->out : a->known,
                                                   .width = width_of(a),
                                                   .embedding_width = a->out ? a->vectors.width : 0,
                                                   .documents = documents};
    return !a->base || sl_linear_base_write(a->base, &options, err);
}

/* Either vectors are learnt into a file, or they are there and become a base. */
static bool check(const struct arguments *a, struct sl_err *err)
{
    const char *missing = !a->corpus           ? "--corpus FILE"
                          : !a->vocabulary     ? "--vocab-file FILE"
                          : a->out || a->known ? NULL
                                               : "--output FILE, to learn vectors, or --vectors "
                                                 "FILE and --base DIR, to make a model of known "
                                                 "ones";
    if (missing)
        return fail_missing(&command_vectors, missing, err);
    if (a->out && a->known && a->vectors.document_steps == 0)
        return sl_fail(err, SL_BAD_INPUT,
                       "give --output, to learn vectors, or --vectors, to take known ones; both "
                       "need --document-steps, to tune known ones");
    if (a->known && !a->out && a->vectors.document_steps > 0)
        return sl_fail(err, SL_BAD_INPUT, "--document-steps needs --output FILE, for the vectors");
    if (a->known && !a->out && !a->base)
        return sl_fail(err, SL_BAD_INPUT, "--vectors needs --base DIR: the model to write");
    return !a->base || (model_path_check_output(a->base, NULL, err) &&
                        model_path_check_new(a->base, NULL, err));
}

static bool run(int count, char **words, struct sl_err *err)
{
    struct arguments a = {0};
    sl_params_set_defaults(sl_word_vectors_rows, &a.vectors);
    struct sl_option_parser parser = parser_of(&a);
    if (!sl_options_parse(&parser, count, words, err))
        return false;
    if (!check(&a, err))
        return false;
    struct sl_documents documents = {0};
    struct sl_tokenizer *tokens = sl_vocabulary_open("wordpiece", !a.cased, a.vocabulary, err);
    struct sl_engine *engine = tokens ? command_engine(a.threads, a.isa, NULL, err) : NULL;
    bool ok =
        engine &&
        (!a.out || sl_word_vectors_check_size(sl_tokenizer_size(tokens), width_of(&a), err)) &&
        sl_documents_open(&documents, a.corpus, tokens, err) &&
        (!a.out || learn(&a, tokens, &documents, engine, err)) &&
        write_base(&a, tokens, &documents, engine, err);
    sl_documents_close(&documents);
    sl_engine_destroy(engine);
    sl_tokenizer_destroy(tokens);
    return ok;
}

const struct command command_vectors = {
    .name = "vectors",
    .operands = "--corpus FILE --vocab-file FILE --output FILE [--base DIR]\n"
                "--corpus FILE --vocab-file FILE --vectors FILE --base DIR",
    .help = "learn word vectors from a text, for `sluice train --vectors`",
    .run = run,
    .print_help = options,
};
