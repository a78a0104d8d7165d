/* products_peer.c - matrix products by oneDNN on one thread; one of the contenders of products.py.
 *
 *     products_peer f32|bf16 M N K
 *
 * y = x W: the weights in the layout that oneDNN chooses, packed beforehand, the result in fp32, as
 * our kernels have it. Then for each line of standard input, a number of seconds, it prints
 * {"value": GFLOP/s}. */
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void need(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    (void)fprintf(stderr, "oneDNN: %s: status %d\n", what, (int)status);
    exit(EXIT_FAILURE);
}

struct product {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[3];
    double flops;
};

static dnnl_memory_desc_t shape(int rows, int cols, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t out;
    const dnnl_dims_t dims = {rows, cols};
    need(dnnl_memory_desc_create_with_tag(&out, 2, dims, type, tag), "memory descriptor");
    return out;
}

/* In the layout that the primitive wants, all zero but for one in 97. */
static dnnl_memory_t operand(const struct product *p, const_dnnl_memory_desc_t desc)
{
    dnnl_memory_t out;
    void *data;
    need(dnnl_memory_create(&out, desc, p->engine, DNNL_MEMORY_ALLOCATE), "memory");
    need(dnnl_memory_get_data_handle(out, &data), "memory");
    const size_t bytes = dnnl_memory_desc_get_size(desc);
    memset(data, 0, bytes);
    for (size_t i = 0; i + 1 < bytes; i += 194)
        ((unsigned char *)data)[i + 1] = 0x3f; /* about 0.5, in the upper half of a number */
    return out;
}

static void create(struct product *p, dnnl_data_type_t type, int m, int n, int k)
{
    dnnl_primitive_desc_t desc;
    need(dnnl_engine_create(&p->engine, dnnl_cpu, 0), "engine");
    need(dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags), "stream");
    need(dnnl_matmul_primitive_desc_create(&desc, p->engine, shape(m, k, type, dnnl_ab),
                                           shape(k, n, type, dnnl_format_tag_any), NULL,
                                           shape(m, n, dnnl_f32, dnnl_ab), NULL),
         "matmul");
    need(dnnl_primitive_create(&p->primitive, desc), "primitive");
    static const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md,
                                           dnnl_query_dst_md};
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    for (int i = 0; i < 3; i++)
        p->args[i] = (dnnl_exec_arg_t){
            names[i], operand(p, dnnl_primitive_desc_query_md(desc, queries[i], 0))};
    p->flops = 2.0 * m * n * k;
}

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run_ns(const struct product *p, int calls)
{
    const double begun = now_ns();
    for (int i = 0; i < calls; i++)
        need(dnnl_primitive_execute(p->primitive, p->stream, 3, p->args), "execute");
    need(dnnl_stream_wait(p->stream), "wait");
    return now_ns() - begun;
}

/* GFLOP/s of the fastest run of some milliseconds. */
static double measure(const struct product *p, double seconds)
{
    int calls = 1;
    double best = HUGE_VAL;
    while (run_ns(p, calls) < 2e6)
        calls *= 2;
    for (double end = now_ns() + 1e9 * seconds; now_ns() < end;)
        best = fmin(best, run_ns(p, calls) / calls);
    return p->flops / best;
}

static int number(const char *word)
{
    char *end;
    const long value = strtol(word, &end, 10);
    if (!*end && value >= 1 && value <= 1 << 20)
        return (int)value;
    (void)fprintf(stderr, "products_peer: invalid size '%s'\n", word);
    exit(EXIT_FAILURE);
}

int main(int count, char **words)
{
    struct product p;
    char line[64];
    if (count != 5) {
        (void)fprintf(stderr, "usage: products_peer f32|bf16 M N K\n");
        return EXIT_FAILURE;
    }
    create(&p, strcmp(words[1], "bf16") == 0 ? dnnl_bf16 : dnnl_f32, number(words[2]),
           number(words[3]), number(words[4]));
    const dnnl_version_t *version = dnnl_version();
    (void)printf("{\"version\": \"%d.%d.%d\"}\n", version->major, version->minor, version->patch);
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        (void)printf("{\"value\": %.5g}\n", measure(&p, strtod(line, NULL)));
        (void)fflush(stdout);
    }
    return EXIT_SUCCESS;
}
