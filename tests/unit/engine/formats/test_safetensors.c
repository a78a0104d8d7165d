/* test_safetensors.c - the file format: what comes back, what is refused, what is written. */
#include "formats/safetensors.h"
#include "formats/tensor_io.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static char directory[PATH_MAX], path[PATH_MAX];

static void setup(void)
{
    test_directory_create(directory);
    (void)test_path(path, directory, "x.safetensors");
}

static void teardown(void)
{
    test_directory_remove(directory);
}

/* A file in memory: a header, and a body of as many bytes 1, 2, 3, ... Exactly as large as it is,
 * so that the address sanitizer sees a byte too many. */
struct image {
    char *data;
    size_t size;
};

static struct image image_make(const char *header, size_t body)
{
    uint64_t length = strlen(header);
    struct image image = {.size = sizeof length + (size_t)length + body};
    image.data = malloc(image.size);
    cr_assert(image.data);
    memcpy(image.data, &length, sizeof length);
    memcpy(image.data + sizeof length, header, (size_t)length);
    for (size_t i = 0; i < body; i++)
        image.data[sizeof length + length + i] = (char)(i + 1);
    return image;
}

static struct image image_read(const char *from)
{
    struct sl_map map;
    struct sl_err err;
    EXPECT_OK(sl_map_open(&map, from, &err), err);
    struct image image = {.data = malloc(map.size), .size = map.size};
    cr_assert(image.data);
    memcpy(image.data, map.data, map.size);
    sl_map_close(&map);
    return image;
}

/* ---- round trips ---------------------------------------------------------------------------- */

static const float square[] = {1.0f, -2.5f, 0.0f, 3e38f, 1e-45f, -0.0f};
static const float row[] = {0.5f, 1.5f, -3.0f};

static const struct sl_safetensor_source some_tensors[] = {
    {"narrow", row, SL_DTYPE_BF16, 1, {3}, NULL},
    {"layers.0.wide", square, SL_DTYPE_F32, 2, {2, 3}, NULL},
    {"quoted \"\\ \xC3\xA9", row, SL_DTYPE_F32, 2, {1, 3}, NULL},
};

static const struct sl_metadata_entry some_metadata[] = {{"architecture", "tsa"}, {"note", "\"\n"}};

static void some_write(struct image *image)
{
    const struct sl_safetensors_content content = {.tensors = some_tensors,
                                                   .count = COUNT(some_tensors),
                                                   .metadata = some_metadata,
                                                   .entries = COUNT(some_metadata)};
    struct sl_err err;
    EXPECT_OK(sl_safetensors_write(path, &content, &err), err);
    *image = image_read(path);
}

Test(safetensors, what_is_written_comes_back, .init = setup, .fini = teardown)
{
    struct image image;
    struct sl_safetensors file;
    struct sl_err err;
    some_write(&image);
    EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
    cr_assert_eq(file.count, (int)COUNT(some_tensors));
    for (size_t i = 0; i < COUNT(some_tensors); i++) {
        const struct sl_safetensor_source *want = &some_tensors[i];
        const struct sl_safetensor *have = sl_safetensors_find(&file, want->name);
        float numbers[6];
        cr_assert(have, "%s", want->name);
        cr_assert_eq(have->dtype, want->dtype);
        cr_assert_eq(have->rank, want->rank);
        cr_assert_eq(have->shape[0], want->shape[0]);
        sl_safetensor_read(have, numbers);
        cr_assert_eq(memcmp(numbers, want->data, have->count * sizeof(float)), 0, "%s", want->name);
    }
    cr_assert_null(sl_safetensors_find(&file, "other"));
    cr_assert_str_eq(sl_safetensors_metadata(&file, "architecture"), "tsa");
    cr_assert_str_eq(sl_safetensors_metadata(&file, "note"), "\"\n");
    cr_assert_null(sl_safetensors_metadata(&file, "other"));
    sl_safetensors_close(&file);
    sl_safetensors_close(&file);
    free(image.data);
}

Test(safetensors, tensors_are_aligned_and_fp32_comes_first, .init = setup, .fini = teardown)
{
    struct image image;
    struct sl_safetensors file;
    struct sl_err err;
    some_write(&image);
    uint64_t length;
    memcpy(&length, image.data, sizeof length);
    cr_assert_eq(length % 8, 0);
    cr_assert_eq(image.data[8], '{');
    EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
    const char *body = image.data + 8 + length;
    cr_assert_eq(file.tensors[0].data - body, 0);
    cr_assert_eq(file.tensors[1].data - body, 24);
    cr_assert_eq(file.tensors[2].data - body, 36);
    cr_assert_str_eq(file.tensors[2].name, "narrow");
    sl_safetensors_close(&file);
    free(image.data);
}

Test(safetensors, nothing_is_also_a_file, .init = setup, .fini = teardown)
{
    const struct sl_safetensors_content empty = {0};
    struct sl_safetensors file;
    struct sl_err err;
    EXPECT_OK(sl_safetensors_write(path, &empty, &err), err);
    struct image image = image_read(path);
    EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
    cr_assert_eq(file.count, 0);
    cr_assert_null(sl_safetensors_metadata(&file, "note"));
    sl_safetensors_close(&file);
    free(image.data);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static const struct {
    uint32_t from;
    uint16_t want;
} narrowings[] = {
    {0x3F800000, 0x3F80},                       /* 1 */
    {0x3F808000, 0x3F80},                       /* half way: to even, down */
    {0x3F818000, 0x3F82},                       /* half way: to even, up */
    {0x3F808001, 0x3F81},                       /* just above half way */
    {0x3F807FFF, 0x3F80},                       /* just below */
    {0x3FFFFFFF, 0x4000},                       /* carries into the exponent */
    {0x80000000, 0x8000},                       /* -0 */
    {0x00000001, 0x0000},                       /* the least subnormal */
    {0x7F7F0000, 0x7F7F},                       /* the largest that stays finite */
    {0x7F800000, 0x7F80},                       /* infinity */
    {0xFF800000, 0xFF80}, {0x7F800001, 0x7FC0}, /* a NaN whose upper half alone would be infinity */
};

Test(safetensors, bf16_is_the_nearest_even, .init = setup, .fini = teardown)
{
    float values[COUNT(narrowings)];
    struct sl_err err;
    for (size_t i = 0; i < COUNT(narrowings); i++)
        memcpy(&values[i], &narrowings[i].from, sizeof values[i]);
    const struct sl_safetensor_source tensor = {"x", values, SL_DTYPE_BF16, 1, {COUNT(narrowings)},
                                                NULL};
    const struct sl_safetensors_content content = {.tensors = &tensor, .count = 1};
    EXPECT_OK(sl_safetensors_write(path, &content, &err), err);
    struct image image = image_read(path);
    for (size_t i = 0; i < COUNT(narrowings); i++) {
        uint16_t have;
        memcpy(&have, image.data + image.size - 2 * (COUNT(narrowings) - i), sizeof have);
        cr_assert_eq(have, narrowings[i].want, "%08X: %04X, want %04X", narrowings[i].from, have,
                     narrowings[i].want);
    }
    free(image.data);
}

static const struct {
    uint16_t from;
    float want;
} halves[] = {
    {0x0000, 0.0f},     {0x3C00, 1.0f},      {0xC000, -2.0f},        {0x3555, 0x1.554p-2f},
    {0x7BFF, 65504.0f}, {0x0400, 0x1p-14f},  {0x03FF, 0x1.FF8p-15f}, /* the largest subnormal */
    {0x0001, 0x1p-24f}, {0x8001, -0x1p-24f}, {0x7C00, INFINITY},     {0xFC00, -INFINITY},
};

Test(safetensors, f16_is_read)
{
    struct image image =
        image_make("{\"h\":{\"dtype\":\"F16\",\"shape\":[13],\"data_offsets\":[0,26]}}", 26);
    char *body = image.data + image.size - 26;
    static const uint16_t minus_zero = 0x8000, not_a_number = 0x7E01;
    for (size_t i = 0; i < COUNT(halves); i++)
        memcpy(body + 2 * i, &halves[i].from, 2);
    memcpy(body + 22, &minus_zero, 2);
    memcpy(body + 24, &not_a_number, 2);

    struct sl_safetensors file;
    struct sl_err err;
    float have[13];
    EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
    sl_safetensor_read(sl_safetensors_find(&file, "h"), have);
    for (size_t i = 0; i < COUNT(halves); i++)
        cr_assert_eq(have[i], halves[i].want, "%04X: %a", halves[i].from, (double)have[i]);
    cr_assert(have[11] == 0.0f && signbit(have[11]));
    cr_assert(isnan(have[12]));
    sl_safetensors_close(&file);
    free(image.data);
}

/* ---- what is refused ------------------------------------------------------------------------ */

#define TENSOR(name, dtype, shape, begin, end)                                                     \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end \
    "]}"

static const struct {
    const char *header;
    size_t body;
    const char *want;
} bad_headers[] = {
    {"", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {"{", 0, "header: not JSON"},
    {"{}{}", 0, "header: not JSON"},
    {"{\"a\":1}", 0, "tensor 'a' is a whole number: expected an object"},
    {"{\"\":{}}", 0, "name is 0 bytes: expected 1 to 255"},
    {"{\"a\":{}}", 0, "tensor 'a': 'dtype' is missing: expected a string"},
    {"{" TENSOR("a", "F32", "[1]", 0, 4) "," TENSOR("a", "F32", "[1]", 0, 4) "}", 4, "not JSON"},
    {"{" TENSOR("a", "C64", "[1]", 0, 8) "}", 8, "invalid dtype 'C64': expected F32, F16 or BF16"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"size\":4}}", 4,
     "tensor 'a': unknown key 'size': expected one of: dtype, shape, data_offsets"},
    {"{" TENSOR("a", "F32", "4", 0, 4) "}", 4, "'shape' is a whole number: expected an array"},
    {"{" TENSOR("a", "F32", "[1.0]", 0, 4) "}", 4, "shape[0] is a real number"},
    {"{" TENSOR("a", "F32", "[1,\"1\"]", 0, 4) "}", 4, "shape[1] is a string"},
    {"{" TENSOR("a", "F32", "[-1]", 0, 4) "}", 4, "invalid shape[0] -1: expected 0 or more"},
    {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4,
     "9 dimensions: expected at most 8"},
    {"{" TENSOR("a", "F32", "[4294967296,4294967296]", 0, 4) "}", 4, "overflows"},
    {"{" TENSOR("a", "F32", "[4611686018427387905]", 0, 4) "}", 4, "4 bytes for 46116860184273"},
    {"{" TENSOR("a", "F32", "[99999999999999999999]", 0, 4) "}", 4, "header: not JSON"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
     "'data_offsets' is an array of 1: expected an array of 2"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":{}}}", 4,
     "'data_offsets' is an object"},
    {"{" TENSOR("a", "F32", "[1]", 0, 8) "}", 4, "invalid data_offsets 0 to 8: expected at most 4"},
    {"{" TENSOR("a", "F32", "[1]", 4, 0) "}", 4, "invalid data_offsets 4 to 0: expected at most 4"},
    {"{" TENSOR("a", "F32", "[1]", -4, 0) "}", 4, "invalid data_offsets[0] -4"},
    {"{" TENSOR("a", "F32", "[1]", 9223372036854775804, 9223372036854775807) "}", 4,
     "invalid data_offsets 9223372036854775804 to 9223372036854775807"},
    {"{" TENSOR("a", "F32", "[2,3]", 0, 20) "}", 20, "tensor 'a': 20 bytes for 2x3 of F32"},
    {"{" TENSOR("a", "BF16", "[]", 0, 4) "}", 4, "4 bytes for scalar of BF16"},
    {"{" TENSOR("a", "F32", "[2]", 0, 8) "," TENSOR("b", "F32", "[2]", 4, 12) "}", 12,
     "tensor 'b' begins at byte 4, inside tensor 'a'"},
    {"{" TENSOR("a", "F32", "[2]", 0, 8) "," TENSOR("b", "F32", "[2]", 0, 8) "}", 8, "inside"},
    {"{" TENSOR("b", "F32", "[1]", 8, 12) "," TENSOR("a", "F32", "[1]", 0, 4) "}", 12,
     "bytes 4 to 8 before tensor 'b' belong to none"},
    {"{" TENSOR("a", "F32", "[1]", 0, 4) "}", 5, "the tensors have 4 bytes: expected 5"},
    {"{}", 1, "the tensors have 0 bytes: expected 1"},
    {"{\"__metadata__\":[]}", 0, "'__metadata__' is an array: expected an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "'__metadata__': 'a' is a whole number: expected a string"},
    {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "'a' contains a NUL character"},
    {"{\"a\\u0000\":{}}", 0, "header: not JSON"},
    {"{\"\xFF\":{}}", 0, "header: not JSON"},
};

/* Other programs keep tables of positions beside their weights. */
Test(safetensors, whole_numbers_are_known_but_fill_no_matrix)
{
    static const char header[] = "{" TENSOR("a", "I64", "[1]", 0, 8) "}";
    float value;
    const struct sl_tensor_slot slot = {
        .name = "a", .data = &value, .rows = 1, .cols = 1, .vector = true};
    struct image image = image_make(header, 8);
    struct sl_safetensors file;
    struct sl_err err;
    EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
    EXPECT_FAIL(sl_tensors_read(&file, (struct sl_tensor_slots){&slot, 1}, NULL, &err), err,
                SL_CORRUPT, "tensor 'a' is of I64: expected F32, F16, BF16 or I8");
    sl_safetensors_close(&file);
    free(image.data);
}

Test(safetensors, bad_headers_are_rejected)
{
    for (size_t i = 0; i < COUNT(bad_headers); i++) {
        struct image image = image_make(bad_headers[i].header, bad_headers[i].body);
        struct sl_safetensors file;
        struct sl_err err;
        EXPECT_FAIL(sl_safetensors_parse(&file, image.data, image.size, &err), err, SL_CORRUPT,
                    bad_headers[i].want);
        free(image.data);
    }
}

/* ---- I8 ------------------------------------------------------------------------------------- */

static const float multiples[] = {127.0f, -64.0f, 0.4f, 0.0f, 0.0f, 0.0f, -0.5f, 0.25f, 0.002f};

static struct image whole_image(struct sl_safetensors *file)
{
    static float values[COUNT(multiples)];
    const struct sl_tensor_slot slot = {
        .name = "x", .data = values, .rows = 3, .cols = 3, .dtype = SL_DTYPE_I8};
    struct sl_err err;
    memcpy(values, multiples, sizeof values);
    EXPECT_OK(sl_tensors_write(path, (struct sl_tensor_slots){&slot, 1}, NULL, 0, &err), err);
    struct image image = image_read(path);
    EXPECT_OK(sl_safetensors_parse(file, image.data, image.size, &err), err);
    return image;
}

static bool whole_read(const struct sl_safetensors *file, float values[COUNT(multiples)],
                       struct sl_err *err)
{
    const struct sl_tensor_slot slot = {.name = "x", .data = values, .rows = 3, .cols = 3};
    return sl_tensors_read(file, (struct sl_tensor_slots){&slot, 1}, NULL, err);
}

Test(safetensors, a_row_of_i8_is_its_multiples_of_a_scale, .init = setup, .fini = teardown)
{
    static const float want[] = {127.0f, -64.0f, 0.0f, 0.0f, 0.0f, 0.0f, -0.5f, 0.25f, 0.002f};
    struct sl_safetensors file;
    struct sl_err err;
    float values[COUNT(multiples)];
    struct image image = whole_image(&file);
    cr_assert_eq(file.count, 2);
    cr_assert_str_eq(sl_dtype_name(sl_safetensors_find(&file, "x")->dtype), "I8");
    EXPECT_OK(whole_read(&file, values, &err), err);
    for (size_t i = 0; i < COUNT(multiples); i++)
        cr_expect_float_eq(values[i], want[i], 0.5 / 127.0 * 0.5 + 1e-7, "%zu: %g", i,
                           (double)values[i]);
    cr_expect_eq(values[0], 127.0f);
    cr_expect_eq(values[2], 0.0f);
    cr_expect_eq(values[6], -0.5f);
    sl_safetensors_close(&file);
    free(image.data);
}

/* Written again, they are the same bytes. */
Test(safetensors, i8_is_kept_as_it_is, .init = setup, .fini = teardown)
{
    struct sl_safetensors file;
    struct sl_err err;
    float values[COUNT(multiples)];
    struct image image = whole_image(&file);
    EXPECT_OK(whole_read(&file, values, &err), err);
    const struct sl_tensor_slot slot = {
        .name = "x", .data = values, .rows = 3, .cols = 3, .dtype = SL_DTYPE_I8};
    EXPECT_OK(sl_tensors_write(path, (struct sl_tensor_slots){&slot, 1}, NULL, 0, &err), err);
    struct image again = image_read(path);
    cr_assert_eq(again.size, image.size);
    cr_expect_eq(memcmp(again.data, image.data, image.size), 0);
    sl_safetensors_close(&file);
    free(image.data);
    free(again.data);
}

static const struct {
    const char *header;
    const char *want;
} bad_scales[] = {
    {"{" TENSOR("x", "I8", "[3,3]", 0, 9) "}", "tensor 'x' is of I8, and 'x_scale' is missing"},
    {"{" TENSOR("x", "I8", "[3,3]", 0, 9) "," TENSOR("x_scale", "F32", "[2]", 9, 17) "}",
     "tensor 'x_scale': expected a vector of 3 numbers of F32"},
    {"{" TENSOR("x", "I8", "[3,3]", 0, 9) "," TENSOR("x_scale", "F16", "[3]", 9, 15) "}",
     "tensor 'x_scale': expected a vector of 3 numbers of F32"},
    {"{" TENSOR("x", "F16", "[3,3]", 0, 18) "," TENSOR("x_scale", "F32", "[3]", 18, 30) "}",
     "tensor 'x_scale' (3) is unexpected; 2 tensors: expected 1"},
};

Test(safetensors, bad_scales_are_rejected)
{
    static const size_t bodies[] = {9, 17, 15, 30};
    for (size_t i = 0; i < COUNT(bad_scales); i++) {
        float values[COUNT(multiples)];
        struct sl_safetensors file;
        struct sl_err err;
        struct image image = image_make(bad_scales[i].header, bodies[i]);
        EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
        EXPECT_FAIL(whole_read(&file, values, &err), err, SL_CORRUPT, bad_scales[i].want);
        sl_safetensors_close(&file);
        free(image.data);
    }
}

/* ---- what is accepted ----------------------------------------------------------------------- */

Test(safetensors, unusual_headers_are_accepted)
{
    static const struct {
        const char *header;
        size_t body;
        int tensors;
    } fine[] = {
        {"{}", 0, 0},
        {"{}      ", 0, 0},
        {"{\"__metadata__\":{}}", 0, 0},
        {"{" TENSOR("a", "F32", "[]", 0, 4) "}", 4, 1},
        {"{" TENSOR("a", "F32", "[0,7]", 0, 0) "}", 0, 1},
        {"{" TENSOR("z", "F32", "[1]", 0, 4) "," TENSOR("e", "F32", "[0]", 4,
                                                        4) "," TENSOR("f", "F16", "[0]", 0, 0) "}",
         4, 3},
        {"{" TENSOR("b", "F32", "[1]", 2, 6) "," TENSOR("a", "BF16", "[1]", 0, 2) "}", 6, 2},
    };

    for (size_t i = 0; i < COUNT(fine); i++) {
        struct image image = image_make(fine[i].header, fine[i].body);
        struct sl_safetensors file;
        struct sl_err err;
        EXPECT_OK(sl_safetensors_parse(&file, image.data, image.size, &err), err);
        cr_assert_eq(file.count, fine[i].tensors);
        for (int t = 0; t < file.count; t++) {
            float numbers[8] = {0};
            sl_safetensor_read(&file.tensors[t], numbers);
        }
        sl_safetensors_close(&file);
        free(image.data);
    }
}

Test(safetensors, wrong_lengths_are_rejected)
{
    static const uint64_t lengths[] = {3,         10,         (4 << 20) + 1, UINT32_MAX,
                                       INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct image image = image_make("{}", 0);
        struct sl_safetensors file;
        struct sl_err err;
        memcpy(image.data, &lengths[i], sizeof lengths[i]);
        EXPECT_FAIL(sl_safetensors_parse(&file, image.data, image.size, &err), err, SL_CORRUPT,
                    "the header ");
        free(image.data);
    }
}

Test(safetensors, every_truncation_is_rejected, .init = setup, .fini = teardown)
{
    struct image whole;
    some_write(&whole);
    for (size_t size = 0; size < whole.size; size++) {
        struct sl_safetensors file;
        struct sl_err err;
        char *cut = malloc(size + !size);
        cr_assert(cut);
        memcpy(cut, whole.data, size);
        EXPECT_FAIL(sl_safetensors_parse(&file, cut, size, &err), err, SL_CORRUPT, "");
        free(cut);
    }
    free(whole.data);
}

/* A flipped bit may go unnoticed here (the manifest's digest is for that), but what is then read
 * must lie within the file. */
Test(safetensors, flipped_bits_never_lead_astray, .init = setup, .fini = teardown)
{
    struct image image;
    some_write(&image);
    for (size_t bit = 0; bit < image.size * 8; bit++) {
        struct sl_safetensors file;
        struct sl_err err = {0};
        image.data[bit / 8] = (char)(image.data[bit / 8] ^ 1 << bit % 8);
        if (sl_safetensors_parse(&file, image.data, image.size, &err)) {
            for (int t = 0; t < file.count; t++) {
                float *numbers = calloc(file.tensors[t].count + 1, sizeof *numbers);
                cr_assert(numbers);
                sl_safetensor_read(&file.tensors[t], numbers);
                free(numbers);
            }
            sl_safetensors_close(&file);
        } else {
            cr_assert_eq(err.code, SL_CORRUPT, "bit %zu: %s", bit, err.text);
        }
        image.data[bit / 8] = (char)(image.data[bit / 8] ^ 1 << bit % 8);
    }
    free(image.data);
}

/* ---- the disk ------------------------------------------------------------------------------- */

Test(safetensors, a_full_disk_leaves_the_old_file, .init = setup, .fini = teardown)
{
    struct image before;
    struct sl_err err;
    some_write(&before);
    static float many[4096];
    const struct sl_safetensor_source tensor = {"many", many, SL_DTYPE_F32, 2, {64, 64}, NULL};
    const struct sl_safetensors_content content = {.tensors = &tensor, .count = 1};
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (rlim_t max = 0; max < 16384; max += 1000) {
        const struct rlimit small = {.rlim_cur = max, .rlim_max = limit.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        EXPECT_FAIL(sl_safetensors_write(path, &content, &err), err, SL_NO_SPACE, "File too large");
    }
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct image after = image_read(path);
    cr_assert_eq(after.size, before.size);
    cr_assert_eq(memcmp(after.data, before.data, after.size), 0);
    free(after.data);
    free(before.data);
}

Test(safetensors, a_missing_directory_is_named, .init = setup, .fini = teardown)
{
    const struct sl_safetensors_content empty = {0};
    struct sl_err err;
    EXPECT_FAIL(sl_safetensors_write("/nonexistent/x.safetensors", &empty, &err), err, SL_NOT_FOUND,
                "'/nonexistent/x.safetensors'");
}
