/* test_checkpoint.c - checkpoints and training states: all or nothing, and nothing believed. */
#include "base/file.h"
#include "base/sha256.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/training_state.h"
#include "support/model_fixture.h"
#include "support/test.h"
#include "tokenizer/tokenizer_trainer.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char directory[PATH_MAX], model[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(model, directory, "1");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

/* ---- a small model -------------------------------------------------------------------------- */

enum { PARAMETERS = 4, NUMBERS = 40 };

/* Four parameters of the shapes that occur: matrix, table, bias, and a matrix of one row. */
struct fixture {
    float data[PARAMETERS][NUMBERS];
    struct sl_parameter parameters[PARAMETERS];
    struct sl_tokenizer *tokens;
    struct sl_model_config model_config;
    struct sl_checkpoint_parts parts;
};

static void fixture_init(struct fixture *f, float start)
{
    static const struct sl_parameter shapes[PARAMETERS] = {
        {.name = "token_embedding.weight", .rows = 4, .cols = 8, .product = true},
        {.name = "position_embedding.weight", .rows = 5, .cols = 8},
        {.name = "layers.0.up.weight", .rows = 1, .cols = 8, .product = true},
        {.name = "layers.0.up.bias", .rows = 1, .cols = 8},
    };
    static char training[] = "{\"seed\": 7}";
    struct sl_err err;
    *f = (struct fixture){0};
    for (int i = 0; i < PARAMETERS; i++) {
        f->parameters[i] = shapes[i];
        f->parameters[i].data = f->data[i];
        for (int j = 0; j < NUMBERS; j++)
            f->data[i][j] = start + (float)(i * NUMBERS + j) / 64.0f;
    }
    EXPECT_OK((f->tokens = sl_tokenizer_train_default("characters", "\n ab", 4, &err)), err);
    f->model_config =
        (struct sl_model_config){.arch = sl_arch_find("tsa"), .tokenizer = "characters"};
    f->model_config.policy = sl_policy_defaults(f->model_config.arch);
    sl_config_set_defaults(f->model_config.arch, &f->model_config.hyper);
    f->model_config.hyper.vocab = 4;
    f->model_config.training = training;
    f->parts = (struct sl_checkpoint_parts){.model_config = &f->model_config,
                                            .tokens = f->tokens,
                                            .parameters = f->parameters,
                                            .count = PARAMETERS,
                                            .created = 1700000000};
}

static void fixture_release(struct fixture *f)
{
    sl_tokenizer_destroy(f->tokens);
}

static void fixture_write(struct fixture *f, float start)
{
    struct sl_err err;
    fixture_init(f, start);
    EXPECT_OK(sl_checkpoint_write(model, &f->parts, &err), err);
}

/* Opens, binds and closes. */
static bool load(struct fixture *f, struct sl_err *err)
{
    struct sl_checkpoint checkpoint;
    if (!sl_checkpoint_open(&checkpoint, model, err))
        return false;
    bool ok = sl_checkpoint_load(&checkpoint, f->parameters, PARAMETERS, err);
    sl_checkpoint_close(&checkpoint);
    return ok;
}

static void numbers_wipe(struct fixture *f)
{
    for (int i = 0; i < PARAMETERS; i++)
        for (int j = 0; j < NUMBERS; j++)
            f->data[i][j] = -1.0f;
}

/* The model on disk is whole and is the one that was written with this start. */
static void expect_model(float start)
{
    struct fixture want, have;
    struct sl_err err;
    fixture_init(&want, start);
    fixture_init(&have, 0.0f);
    numbers_wipe(&have);
    EXPECT_OK(load(&have, &err), err);
    for (int i = 0; i < PARAMETERS; i++) {
        int count = want.parameters[i].rows * want.parameters[i].cols;
        for (int j = 0; j < NUMBERS; j++)
            cr_assert_eq(have.data[i][j], j < count ? want.data[i][j] : -1.0f, "%s[%d]",
                         want.parameters[i].name, j);
    }
    fixture_release(&want);
    fixture_release(&have);
}

/* Not sl_file_replace: thousands of fsyncs take their time. */
static void file_change(const char *name, const char *data, size_t size)
{
    char path[PATH_MAX];
    FILE *file = fopen(test_path(path, model, name), "we");
    cr_assert(file, "%s", path);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static char *file_read(const char *name, size_t *size)
{
    char path[PATH_MAX];
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, test_path(path, model, name), &err), err);
    char *data = malloc(map.size + 1);
    cr_assert(data);
    memcpy(data, map.data, map.size);
    data[map.size] = '\0';
    *size = map.size;
    sl_map_close(&map);
    return data;
}

/* ---- round trips ---------------------------------------------------------------------------- */

Test(checkpoint, what_is_written_comes_back, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_checkpoint checkpoint;
    struct sl_err err;
    fixture_write(&f, 0.5f);
    expect_model(0.5f);
    EXPECT_OK(sl_checkpoint_open(&checkpoint, model, &err), err);
    cr_assert_eq(checkpoint.created, 1700000000);
    cr_assert_eq(strlen(checkpoint.sha256), 64);
    cr_assert_eq(checkpoint.model_config.arch, f.model_config.arch);
    cr_assert_eq(sl_tokenizer_size(checkpoint.tokens), 4);
    cr_assert(strstr(checkpoint.model_config.training, "\"seed\":7"));
    struct sl_tokenizer *kept = checkpoint.tokens;
    checkpoint.tokens = NULL;
    sl_checkpoint_close(&checkpoint);
    sl_checkpoint_close(&checkpoint);
    cr_assert_str_eq(sl_tokenizer_kind(kept), "characters");
    sl_tokenizer_destroy(kept);
    cr_assert_eq(test_count_entries(model), 4);
    cr_assert_eq(test_count_entries(directory), 1);
    fixture_release(&f);
}

Test(checkpoint, the_same_model_gives_the_same_bytes, .init = setup, .fini = teardown)
{
    static const char *const names[] = {"config.json", "vocab.json", "model.safetensors",
                                        "manifest.json"};
    struct fixture f;
    char *before[COUNT(names)];
    size_t sizes[COUNT(names)];
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(names); i++)
        before[i] = file_read(names[i], &sizes[i]);
    fixture_release(&f);
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t size;
        char *after = file_read(names[i], &size);
        cr_assert_eq(size, sizes[i]);
        cr_assert_eq(memcmp(before[i], after, size), 0, "%s", names[i]);
        free(after);
        free(before[i]);
    }
    fixture_release(&f);
}

Test(checkpoint, matrices_may_be_narrow, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_checkpoint checkpoint;
    struct sl_err err;
    fixture_init(&f, 1.0f);
    f.parts.matrices = SL_DTYPE_BF16;
    f.data[0][0] = 0x1.01p0f; /* not a BF16 */
    f.data[3][0] = 0x1.01p0f;
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    EXPECT_OK(sl_checkpoint_open(&checkpoint, model, &err), err);

    static const enum sl_dtype want[] = {SL_DTYPE_BF16, SL_DTYPE_BF16, SL_DTYPE_BF16, SL_DTYPE_F32};

    static const int ranks[] = {2, 2, 2, 1};
    for (int i = 0; i < PARAMETERS; i++) {
        const struct sl_safetensor *t =
            sl_safetensors_find(&checkpoint.weights, f.parameters[i].name);
        cr_assert_eq(t->dtype, want[i], "%s", t->name);
        cr_assert_eq(t->rank, ranks[i], "%s", t->name);
    }
    EXPECT_OK(sl_checkpoint_load(&checkpoint, f.parameters, PARAMETERS, &err), err);
    cr_assert_eq(f.data[0][0], 1.0f);
    cr_assert_eq(f.data[3][0], 0x1.01p0f);
    sl_checkpoint_close(&checkpoint);
    fixture_release(&f);
}

/* ---- hands in the directory ----------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *damage; /* "remove", "add" or new contents */
    enum sl_code code;
    const char *want;
} damages[] = {
    {"manifest.json", "remove", SL_NOT_FOUND, "manifest.json'"},
    {"config.json", "remove", SL_NOT_FOUND, "it has no config.json"},
    {"vocab.json", "remove", SL_NOT_FOUND, "it has no vocab.json"},
    {"model.safetensors", "remove", SL_NOT_FOUND, "it has no model.safetensors"},
    {"notes.txt", "add", SL_CORRUPT, "file 'notes.txt' is not in the manifest"},
    {"config.json", "{}", SL_CORRUPT,
     "'config.json': the file is damaged or was changed: copy or publish the model "
     "again (2 bytes, expected "},
    {"manifest.json", "{}", SL_CORRUPT, "'manifest.json': 'format' is missing"},
    {"manifest.json", "{\"format\":\"sluice-1\",\"created\":1,\"files\":{}}", SL_CORRUPT,
     "file 'config.json' is missing from the manifest"},
    {"manifest.json", "{\"format\":\"sluice-1\",\"created\":1,\"files\":{\"../x\":{}}}", SL_CORRUPT,
     "the manifest lists the unexpected file '../x'"},
    {"manifest.json", "{\"format\":\"sluice-1\",\"created\":1,\"files\":{\"config.json\":1}}",
     SL_CORRUPT, "the manifest's entry of 'config.json' is a whole number: expected an object"},
    {"manifest.json",
     "{\"format\":\"sluice-1\",\"created\":1,\"files\":{\"config.json\":{\"size\":-1,\"sha256\":"
     "\"\"},\"vocab.json\":{},\"model.safetensors\":{}}}",
     SL_CORRUPT, "invalid 'size' -1"},
    {"manifest.json", "{\"format\":\"sluice-1\",\"files\":{}}", SL_CORRUPT,
     "'created' is missing: expected a whole number"},
    {"manifest.json", "{\"format\":\"sluice-1\",\"created\":1,\"files\":{},\"by\":1}", SL_CORRUPT,
     "unknown key 'by'"},
};

Test(checkpoint, damage_is_named, .init = setup, .fini = teardown)
{
    for (size_t i = 0; i < COUNT(damages); i++) {
        struct fixture f;
        struct sl_err err;
        char path[PATH_MAX];
        fixture_write(&f, 0.5f);
        (void)test_path(path, model, damages[i].name);
        if (strcmp(damages[i].damage, "remove") == 0)
            cr_assert_eq(unlink(path), 0);
        else
            test_write_file(path, damages[i].damage);
        EXPECT_FAIL(load(&f, &err), err, damages[i].code, damages[i].want);
        cr_assert(strstr(err.text, model), "%s", err.text);
        fixture_release(&f);
        test_directory_remove(model);
    }
}

/* What is not ours is not written over: not a file of somebody's, nor a directory, nor a model with
 * a note in it. */
Test(checkpoint, other_things_stay, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    char path[PATH_MAX];
    fixture_write(&f, 0.5f);
    test_write_file(test_path(path, model, "notes.txt"), "mine");
    EXPECT_FAIL(sl_checkpoint_write(model, &f.parts, &err), err, SL_BAD_INPUT,
                "contains 'notes.txt'");
    cr_assert_eq(unlink(path), 0);
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    cr_assert_eq(mkdir(path, S_IRWXU), 0);
    EXPECT_FAIL(sl_checkpoint_write(model, &f.parts, &err), err, SL_BAD_INPUT,
                "contains 'notes.txt'");
    test_directory_remove(model);
    cr_assert_eq(mkdir(model, S_IRWXU), 0);
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    (void)test_path(path, directory, "1.tmp");
    cr_assert_eq(mkdir(path, S_IRWXU), 0);
    test_write_file(test_path(path, directory, "1.tmp/precious"), "mine");
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    cr_assert_eq(access(path, F_OK), 0);
    fixture_release(&f);
}

Test(checkpoint, directories_without_a_checkpoint, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_init(&f, 0.5f);
    EXPECT_FAIL(load(&f, &err), err, SL_NOT_FOUND, "manifest.json'");
    test_write_file(model, "a file");
    EXPECT_FAIL(load(&f, &err), err, SL_NOT_FOUND, strerrordesc_np(ENOTDIR));
    EXPECT_FAIL(sl_checkpoint_write(model, &f.parts, &err), err, SL_IO, strerrordesc_np(ENOTDIR));
    cr_assert_eq(test_count_entries(directory), 1, "the failure left something behind");
    fixture_release(&f);
}

Test(checkpoint, a_directory_without_permission_is_named, .init = setup, .fini = teardown)
{
    if (geteuid() == 0) {
        teardown(); /* which a skipped test does not reach */
        cr_skip_test("root may read everything");
    }
    struct fixture f;
    struct sl_err err;
    fixture_write(&f, 0.5f);
    cr_assert_eq(chmod(model, 0), 0);
    EXPECT_FAIL(load(&f, &err), err, SL_IO, strerrordesc_np(EACCES));
    cr_assert_eq(chmod(model, S_IRWXU), 0);
    fixture_release(&f);
}

static const char *const files[] = {"config.json", "vocab.json", "model.safetensors",
                                    "manifest.json"};

Test(checkpoint, every_truncation_is_noticed, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(files); i++) {
        size_t size;
        char *data = file_read(files[i], &size);
        /* The manifest ends in a line break that says nothing. */
        for (size_t cut = 0; cut + 1 < size; cut++) {
            file_change(files[i], data, cut);
            EXPECT_FAIL(load(&f, &err), err, SL_CORRUPT, files[i]);
        }
        file_change(files[i], data, size);
        free(data);
    }
    expect_model(0.5f);
    fixture_release(&f);
}

Test(checkpoint, every_flipped_byte_is_noticed, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(files) - 1; i++) {
        size_t size;
        char *data = file_read(files[i], &size);
        for (size_t at = 0; at < size; at++) {
            data[at] = (char)(data[at] ^ 1 << at % 8);
            file_change(files[i], data, size);
            EXPECT_FAIL(load(&f, &err), err, SL_CORRUPT, "expected ");
            data[at] = (char)(data[at] ^ 1 << at % 8);
        }
        file_change(files[i], data, size);
        free(data);
    }
    fixture_release(&f);
}

/* A manifest has no digest of its own; but what it says of the others must still hold. */
Test(checkpoint, a_flipped_byte_of_the_manifest_changes_nothing, .init = setup, .fini = teardown)
{
    struct fixture f;
    size_t size;
    fixture_write(&f, 0.5f);
    char *data = file_read("manifest.json", &size);
    for (size_t at = 0; at < size; at++) {
        struct sl_err err = {0};
        data[at] = (char)(data[at] ^ 4);
        file_change("manifest.json", data, size);
        if (load(&f, &err))
            expect_model(0.5f);
        else
            cr_assert(err.code == SL_CORRUPT || err.code == SL_NOT_FOUND, "%s", err.text);
        data[at] = (char)(data[at] ^ 4);
    }
    free(data);
    fixture_release(&f);
}

/* ---- tensors that do not fit ---------------------------------------------------------------- */

/* What a model wants that the file of `fixture` does not have. */
static const struct {
    int parameter;
    struct sl_parameter instead;
    int count;
    const char *want;
} misfits[] = {
    {0,
     {.name = "token_embedding.weight", .rows = 5, .cols = 8, .product = true},
     PARAMETERS,
     "tensor 'token_embedding.weight': shape 4x8: expected 5x8"},
    {0,
     {.name = "token_embedding.weight", .rows = 8, .cols = 4, .product = true},
     PARAMETERS,
     "tensor 'token_embedding.weight': shape 4x8: expected 8x4"},
    {3,
     {.name = "layers.0.up.bias", .rows = 1, .cols = 9},
     PARAMETERS,
     "tensor 'layers.0.up.bias': shape 8: expected 9"},
    {3,
     {.name = "layers.0.up.bias", .rows = 8, .cols = 1},
     PARAMETERS,
     "tensor 'layers.0.up.bias': shape 8: expected 8x1"},
    {2,
     {.name = "layers.0.up.weights", .rows = 1, .cols = 8, .product = true},
     PARAMETERS,
     "tensor 'layers.0.up.weights' (1x8) is missing"},
    {0,
     {.name = "token_embedding.weight", .rows = 4, .cols = 8, .product = true},
     PARAMETERS - 1,
     "tensor 'layers.0.up.bias' (8) is unexpected; 4 tensors: expected 3"},
};

Test(checkpoint, tensors_that_do_not_fit_are_named, .init = setup, .fini = teardown)
{
    struct fixture f;
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(misfits); i++) {
        struct sl_checkpoint checkpoint;
        struct sl_parameter parameters[PARAMETERS];
        struct sl_err err;
        memcpy(parameters, f.parameters, sizeof parameters);
        float *data = parameters[misfits[i].parameter].data;
        parameters[misfits[i].parameter] = misfits[i].instead;
        parameters[misfits[i].parameter].data = data;
        EXPECT_OK(sl_checkpoint_open(&checkpoint, model, &err), err);
        EXPECT_FAIL(sl_checkpoint_load(&checkpoint, parameters, misfits[i].count, &err), err,
                    SL_CORRUPT, misfits[i].want);
        sl_checkpoint_close(&checkpoint);
    }
    fixture_release(&f);
}

/* A bias may be stored with two dimensions, and a matrix of one row with one. */
Test(checkpoint, one_row_fits_with_one_dimension_or_two, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_init(&f, 0.5f);
    f.parameters[2].product = false;
    f.parameters[3].product = true;
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    expect_model(0.5f);
    fixture_release(&f);
}

static const struct {
    float value;
    bool bf16;
    const char *want;
} not_finite[] = {
    {NAN, false, "tensor 'token_embedding.weight': element 5 is nan"},
    {INFINITY, false, "tensor 'token_embedding.weight': element 5 is inf"},
    {-INFINITY, true, "tensor 'token_embedding.weight': element 5 is -inf"},
    {0x1.FFp127f, true, "element 5 is 3.39618e+38, too large for BF16"},
};

Test(checkpoint, what_is_not_finite_is_not_written, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_write(&f, 0.5f);
    for (size_t i = 0; i < COUNT(not_finite); i++) {
        f.data[0][5] = not_finite[i].value;
        f.parts.matrices = not_finite[i].bf16 ? SL_DTYPE_BF16 : SL_DTYPE_F32;
        EXPECT_FAIL(sl_checkpoint_write(model, &f.parts, &err), err, SL_NOT_FINITE,
                    not_finite[i].want);
        expect_model(0.5f);
        cr_assert_eq(test_count_entries(directory), 1, "the failure left something behind");
    }
    fixture_release(&f);
}

/* Puts the digest of a changed model.safetensors in the manifest: only the number is wrong then. */
static void weights_forge(const char *data, size_t size)
{
    size_t manifest_size;
    char hex[65];
    char *manifest = file_read("manifest.json", &manifest_size);
    char *at = strstr(strstr(manifest, "model.safetensors"), "\"sha256\": \"");
    cr_assert(at);
    sl_sha256_hex(data, size, hex);
    memcpy(at + strlen("\"sha256\": \""), hex, 64);
    file_change("model.safetensors", data, size);
    file_change("manifest.json", manifest, manifest_size);
    free(manifest);
}

Test(checkpoint, what_is_not_finite_is_not_read, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    size_t size;
    fixture_write(&f, 0.5f);
    char *data = file_read("model.safetensors", &size);
    static const float bad = NAN;
    memcpy(data + size - sizeof bad, &bad, sizeof bad);
    weights_forge(data, size);
    EXPECT_FAIL(load(&f, &err), err, SL_NOT_FINITE, "tensor 'layers.0.up.bias': element 7 is nan");
    free(data);
    fixture_release(&f);
}

Test(checkpoint, vocabulary_and_config_must_agree, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_init(&f, 0.5f);
    /* Written whole, as a model of three characters, and then given the other's vocabulary. */
    char other[PATH_MAX], from[PATH_MAX], to[PATH_MAX], manifests[2][PATH_MAX];
    struct sl_tokenizer *three = NULL;
    EXPECT_OK((three = sl_tokenizer_train_default("characters", "abc", 3, &err)), err);
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    f.model_config.hyper.vocab = 3;
    f.parts.tokens = three;
    EXPECT_OK(sl_checkpoint_write(test_path(other, directory, "2"), &f.parts, &err), err);
    (void)test_path(from, other, "config.json");
    (void)test_path(to, model, "config.json");
    cr_assert_eq(rename(from, to), 0);
    (void)test_path(manifests[0], model, "manifest.json");
    (void)test_path(manifests[1], other, "manifest.json");
    size_t size;
    char *ours = file_read("manifest.json", &size);
    cr_assert_eq(rename(manifests[1], manifests[0]), 0);
    char *theirs = file_read("manifest.json", &size);
    /* Their entry of the config, our entry of the vocabulary: same lengths but for the sizes. */
    char *vocab = strstr(theirs, "\"vocab.json\""), *model_at = strstr(ours, "\"vocab.json\"");
    char mixed[4096];
    int length = snprintf(mixed, sizeof mixed, "%.*s%s", (int)(vocab - theirs), theirs, model_at);
    file_change("manifest.json", mixed, (size_t)length);
    EXPECT_FAIL(load(&f, &err), err, SL_CORRUPT,
                "'vocab.json' has 4 pieces, but 'vocab_size' in 'config.json' is 3");
    free(theirs);
    free(ours);
    sl_tokenizer_destroy(three);
    fixture_release(&f);
}

/* ---- the disk ------------------------------------------------------------------------------- */

Test(checkpoint, a_full_disk_leaves_the_old_model, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    struct rlimit limit;
    int failures = 0;
    fixture_write(&f, 0.5f);
    for (int i = 0; i < PARAMETERS; i++)
        f.data[i][0] = 9.0f;
    (void)signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (rlim_t max = 0;; max += 16) {
        const struct rlimit small = {.rlim_cur = max, .rlim_max = limit.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        bool ok = sl_checkpoint_write(model, &f.parts, &err);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        cr_assert_eq(test_count_entries(directory), 1, "something was left behind");
        if (ok)
            break;
        cr_assert_eq(err.code, SL_NO_SPACE, "%s", err.text);
        cr_assert(strstr(err.text, "File too large"), "%s", err.text);
        expect_model(0.5f);
        failures++;
    }
    cr_assert_gt(failures, 20);
    numbers_wipe(&f);
    EXPECT_OK(load(&f, &err), err);
    cr_assert_eq(f.data[0][0], 9.0f);
    fixture_release(&f);
}

Test(checkpoint, what_a_dead_writer_left_is_no_obstacle, .init = setup, .fini = teardown)
{
    struct fixture f;
    char stale[PATH_MAX], file[PATH_MAX];
    (void)test_path(stale, directory, "1.sluice-tmp");
    cr_assert_eq(mkdir(stale, S_IRWXU), 0);
    test_write_file(test_path(file, stale, "config.json.AbCdEf"), "half");
    fixture_write(&f, 0.25f);
    expect_model(0.25f);
    cr_assert_eq(test_count_entries(directory), 1);
    fixture_release(&f);
}

Test(checkpoint, a_directory_has_one_writer_at_a_time, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    struct sl_manifest_writer other;
    char file[PATH_MAX];
    fixture_write(&f, 0.5f);
    EXPECT_OK(sl_manifest_begin(&other, model, &err), err);
    test_write_file(test_path(file, other.tmp, "config.json"), "half");
    EXPECT_FAIL(sl_checkpoint_write(model, &f.parts, &err), err, SL_BUSY,
                "another process is writing");
    cr_expect_eq(access(file, F_OK), 0, "what the other writes is gone");
    expect_model(0.5f);
    sl_manifest_abandon(&other);
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    cr_assert_eq(test_count_entries(directory), 1);
    fixture_release(&f);
}

Test(checkpoint, a_slash_at_the_end_changes_nothing, .init = setup, .fini = teardown)
{
    struct fixture f;
    struct sl_err err;
    fixture_init(&f, 0.5f);
    (void)test_path(model, directory, "1//");
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    EXPECT_OK(sl_checkpoint_write(model, &f.parts, &err), err);
    expect_model(0.5f);
    cr_assert_eq(test_count_entries(directory), 1);
    fixture_release(&f);
}

/* ---- training states ------------------------------------------------------------------------ */

enum { COUNTERS = 4 };

struct trainer {
    struct fixture model;
    float moments[2][PARAMETERS][NUMBERS];
    float *first[PARAMETERS], *second[PARAMETERS];
    struct sl_state_entry counters[COUNTERS];
    struct sl_training_state state;
};

static void trainer_init(struct trainer *t, float start)
{
    fixture_init(&t->model, start);
    for (int i = 0; i < PARAMETERS; i++) {
        t->first[i] = t->moments[0][i];
        t->second[i] = t->moments[1][i];
        for (int j = 0; j < NUMBERS; j++) {
            t->first[i][j] = start + 1e-3f * (float)j;
            t->second[i][j] = start * 1e-39f + 1e-12f * (float)(i + j);
        }
    }
    static const struct sl_state_entry counters[COUNTERS] = {
        {.name = "step", .kind = SL_ENTRY_INTEGER, .whole = 4321},
        {.name = "seed", .kind = SL_ENTRY_INTEGER, .whole = INT64_MIN},
        {.name = "best", .kind = SL_ENTRY_REAL, .number = 0x1.8765432101234p0},
        {.name = "worst", .kind = SL_ENTRY_REAL, .number = (double)INFINITY},
    };
    memcpy(t->counters, counters, sizeof counters);
    t->state = (struct sl_training_state){.parameters = t->model.parameters,
                                          .first = t->first,
                                          .second = t->second,
                                          .count = PARAMETERS,
                                          .counters = t->counters,
                                          .counters_count = COUNTERS};
}

Test(state, what_is_written_comes_back_bit_for_bit, .init = setup, .fini = teardown)
{
    struct trainer t, again;
    struct sl_err err;
    trainer_init(&t, 0x1.234568p0f);
    trainer_init(&again, 2.0f);
    for (int i = 0; i < COUNTERS; i++) {
        again.counters[i].whole = 0;
        again.counters[i].number = 0;
    }
    EXPECT_OK(sl_training_state_write(model, &t.state, &err), err);
    EXPECT_OK(sl_training_state_read(model, &again.state, &err), err);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t bytes = sizeof(float) * (size_t)(t.model.parameters[i].rows) *
                       (size_t)t.model.parameters[i].cols;
        cr_assert_eq(memcmp(t.model.data[i], again.model.data[i], bytes), 0);
        cr_assert_eq(memcmp(t.first[i], again.first[i], bytes), 0);
        cr_assert_eq(memcmp(t.second[i], again.second[i], bytes), 0);
    }
    for (int i = 0; i < COUNTERS; i++) {
        cr_assert_eq(t.counters[i].whole, again.counters[i].whole);
        cr_assert_eq(t.counters[i].number, again.counters[i].number);
    }
    fixture_release(&t.model);
    fixture_release(&again.model);
}

static const struct {
    struct sl_state_entry counters[2];
    int count;
    const char *want;
} bad_counters[] = {
    {{{.name = "step"}, {.name = "epoch"}}, 2, "'epoch' is missing: expected a whole number"},
    {{{.name = "step"}, {.name = "loss", .kind = SL_ENTRY_REAL}},
     2,
     "'loss' is nothing: expected a number"},
    {{{.name = "best"}}, 1, "'best' is a real number: expected a whole number"},
    {{{.name = "step"}}, 1, "4 counters: expected 1"},
};

Test(state, counters_that_do_not_fit_are_named, .init = setup, .fini = teardown)
{
    struct trainer t;
    struct sl_err err;
    trainer_init(&t, 1.0f);
    EXPECT_OK(sl_training_state_write(model, &t.state, &err), err);
    for (size_t i = 0; i < COUNT(bad_counters); i++) {
        memcpy(t.counters, bad_counters[i].counters, sizeof bad_counters[i].counters);
        t.state.counters_count = bad_counters[i].count;
        EXPECT_FAIL(sl_training_state_read(model, &t.state, &err), err, SL_CORRUPT,
                    bad_counters[i].want);
    }
    fixture_release(&t.model);
}

Test(state, another_model_does_not_fit, .init = setup, .fini = teardown)
{
    struct trainer t;
    struct sl_err err;
    trainer_init(&t, 1.0f);
    EXPECT_OK(sl_training_state_write(model, &t.state, &err), err);
    t.model.parameters[1].rows = 4;
    EXPECT_FAIL(sl_training_state_read(model, &t.state, &err), err, SL_CORRUPT,
                "tensor 'parameter.position_embedding.weight': shape 5x8: expected 4x8");
    t.model.parameters[1].rows = 5;
    t.state.count--;
    EXPECT_FAIL(sl_training_state_read(model, &t.state, &err), err, SL_CORRUPT, "is unexpected");
    fixture_release(&t.model);
}

Test(state, a_state_is_not_a_checkpoint, .init = setup, .fini = teardown)
{
    struct trainer t;
    struct sl_err err;
    trainer_init(&t, 1.0f);
    EXPECT_OK(sl_training_state_write(model, &t.state, &err), err);
    EXPECT_FAIL(load(&t.model, &err), err, SL_CORRUPT, "unexpected file");
    EXPECT_OK(sl_checkpoint_write(model, &t.model.parts, &err), err);
    EXPECT_FAIL(sl_training_state_read(model, &t.state, &err), err, SL_CORRUPT, "unexpected file");
    fixture_release(&t.model);
}

Test(state, a_failed_write_leaves_the_old_state, .init = setup, .fini = teardown)
{
    struct trainer t;
    struct sl_err err;
    trainer_init(&t, 1.0f);
    EXPECT_OK(sl_training_state_write(model, &t.state, &err), err);
    t.second[2][3] = NAN;
    EXPECT_FAIL(sl_training_state_write(model, &t.state, &err), err, SL_NOT_FINITE,
                "tensor 'exp_avg_sq.layers.0.up.weight': element 3 is nan");
    EXPECT_OK(sl_training_state_read(model, &t.state, &err), err);
    cr_assert(isfinite(t.second[2][3]));
    cr_assert_eq(test_count_entries(directory), 1);
    fixture_release(&t.model);
}
