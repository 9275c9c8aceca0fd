/* SPDX-License-Identifier: Apache-2.0 */
/* The serialised form of subgraphs: what is read is what was written, and damaged bytes never do harm. Half of the
 * damaged ones get their hash made right, so that the reader and the converter behind it see them. */
#include "context.h"
#include "ep.h"

#include "base/hash.h"
#include "unit/test.h"

#include <stdlib.h>

#define HERE "anydml-context=1;device=cpu;version=0.1.0;name=here"

static const float weights[4 * 6] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const int64_t target[2] = { -1, 4 };
static const float scale[1] = { 0.5f };
static const int64_t axes[1] = { 1 };
static const char *const words[2] = { "one", "two" };
static const float numbers[3] = { 1, 2, 3 };

static struct onnx_tensor initializers[] = {
    { "w", ONNX_FLOAT, 2, { 4, 6 }, weights, sizeof(weights) },
    { "target", ONNX_INT64, 1, { 2 }, target, sizeof(target) },
    { "unused", ONNX_INT4, 1, { 3 }, weights, 2 },
};
static const struct onnx_tensor scale_tensor = { "", ONNX_FLOAT, 0, { 0 }, scale, sizeof(scale) };
static const struct onnx_attribute gemm_attributes[] = { { .name = "transB", .i = 1 }, { .name = "alpha", .f = 2 } };
static const struct onnx_attribute scale_attributes[] = { { .name = "value", .t = &scale_tensor } };
static const struct onnx_attribute other_attributes[] = {
    { .name = "axes", .ints = axes, .count = 1 },
    { .name = "words", .strings = words, .count = 2 },
    { .name = "numbers", .floats = numbers, .count = 3 },
    { .name = "text", .s = "nearest" },
    { .name = "keepdims", .i = 1 },
};
static const char *names[] = { "x", "w", "", "g", "g", "target", "r", "s", "r", "s", "m", "m", "y" };
static struct onnx_node nodes[] = {
    { "Gemm", "", "gemm", names, names + 3, 3, 1, gemm_attributes, 2, 13 },
    { "Reshape", "", "reshape", names + 4, names + 6, 2, 1, NULL, 0, 13 },
    { "Constant", "", "constant", names, names + 7, 0, 1, scale_attributes, 1, 13 },
    { "Mul", "", "mul", names + 8, names + 10, 2, 1, NULL, 0, 14 },
    { "ReduceMean", "", "mean", names + 11, names + 12, 1, 1, other_attributes, 5, 13 },
};
static struct onnx_value_info inputs[] = {
    { .name = "x", .type = ONNX_FLOAT, .rank = 2, .has_shape = true, .dims = { -1, 6 } }
};
static struct onnx_value_info outputs[] = {
    { .name = "y", .type = ONNX_FLOAT, .rank = 2, .has_shape = true, .dims = { -1, 1 } }
};
static const struct onnx_model model = {
    .nodes = nodes,
    .node_count = ARRAY_SIZE(nodes),
    .initializers = initializers,
    .initializer_count = ARRAY_SIZE(initializers),
    .inputs = inputs,
    .input_count = 1,
    .outputs = outputs,
    .output_count = 1,
};

/* Two subgraphs one after the other, in exactly so much aligned memory. */
static uint8_t *two_parts(size_t *out_size)
{
    void *first, *second;
    size_t a, b;
    TEST(ep_context_write(&model, "first", HERE, &first, &a));
    TEST(ep_context_write(&model, "second", HERE, &second, &b));
    uint8_t *all = aligned_alloc(EP_CONTEXT_ALIGNMENT, a + b);
    memcpy(all, first, a);
    memcpy(all + a, second, b);
    free(first);
    free(second);
    *out_size = a + b;
    return all;
}

static void test_round_trip(void)
{
    struct onnx_error error;
    struct onnx_model *got = NULL;
    void *again;
    size_t size, bytes;
    uint8_t *data = two_parts(&size);
    TEST(SUCCEEDED(ep_context_read(data, size, "second", HERE, &got, &error)));
    if (got) {
        TEST(ep_context_write(got, "second", HERE, &again, &bytes));
        TEST(bytes <= size && !memcmp(again, data + size - bytes, bytes));
        TEST((uintptr_t)got->initializers[1].data % EP_CONTEXT_ALIGNMENT == 0);
        free(again);
    }
    ep_model_destroy(got);
    TEST(ep_context_read(data, size, "third", HERE, &got, &error) == E_INVALIDARG);
    TEST(!got && strstr(error.text, "third"));
    TEST(ep_context_read(data, size, "first", "anydml-context=1;device=gpu;x", &got, &error) == E_INVALIDARG);
    TEST(strstr(error.text, "another kind of device"));
    free(data);
}

static void test_fit(void)
{
    TEST(ep_context_fit(HERE, HERE) == EP_CONTEXT_SAME);
    TEST(ep_context_fit("anydml-context=1;device=cpu;version=9", HERE) == EP_CONTEXT_FITS);
    TEST(ep_context_fit("anydml-context=1;device=cpux;version=9", HERE) == EP_CONTEXT_FOREIGN);
    TEST(ep_context_fit("anydml-context=2;device=cpu;version=9", HERE) == EP_CONTEXT_FOREIGN);
    TEST(ep_context_fit("anydml-context=1;device=cpu", HERE) == EP_CONTEXT_FOREIGN);
    TEST(ep_context_fit("", HERE) == EP_CONTEXT_FOREIGN);
}

static uint32_t below(uint64_t *state, uint32_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % count;
}

/* A value that decides something: bits, bytes, and whole numbers at their limits. */
static void damage(uint8_t *data, size_t size, uint64_t *state)
{
    static const uint32_t limits[] = { 0, 1, 8, 9, 16, 17, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };
    uint32_t at = below(state, (uint32_t)size), kind = below(state, 4);
    uint32_t number = limits[below(state, ARRAY_SIZE(limits))];
    if (kind == 0)
        data[at] ^= (uint8_t)(1u << below(state, 8));
    else if (kind == 1)
        data[at] = (uint8_t)below(state, 256);
    else if (kind == 2)
        data[at] = (uint8_t)(data[at] + (below(state, 2) ? 1 : -1));
    else
        memcpy(data + BASE_MIN((size_t)at, size - 4), &number, 4);
}

static void seal(uint8_t *data, size_t size)
{
    uint64_t claimed;
    memcpy(&claimed, data + 16, 8);
    if (claimed > size || claimed < 48)
        return;
    struct base_hash hash = base_hash(data + 48, (size_t)claimed - 48);
    memcpy(data + 32, &hash.low, 8);
    memcpy(data + 40, &hash.high, 8);
}

/* As a session uses it: with any sizes for those that are not known. */
static bool compile(const struct onnx_model *m, struct onnx_device *device)
{
    struct onnx_error error;
    struct onnx_program *program = NULL;
    struct onnx_input *in = calloc(m->input_count + 1, sizeof(*in));
    for (uint32_t i = 0; i < m->input_count; i++) {
        in[i].rank = m->inputs[i].has_shape ? m->inputs[i].rank : 2;
        for (uint32_t d = 0; d < in[i].rank; d++)
            in[i].dims[d] = m->inputs[i].has_shape && m->inputs[i].dims[d] >= 0 ? m->inputs[i].dims[d] : 4;
    }
    bool ok = SUCCEEDED(onnx_compile(m, in, device->dml, 0, &program, &error));
    onnx_program_destroy(program);
    free(in);
    return ok;
}

static void test_damage(struct onnx_device *device, uint64_t seed, uint32_t count)
{
    size_t whole;
    uint32_t read = 0, compiled = 0;
    void *good;
    TEST(ep_context_write(&model, "part", HERE, &good, &whole));
    for (uint32_t i = 0; i < count; i++) {
        struct onnx_error error;
        struct onnx_model *got = NULL;
        uint64_t state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
        size_t size = below(&state, 8) ? whole : below(&state, (uint32_t)whole);
        bool sealed = below(&state, 8) > 0;
        uint8_t *data = aligned_alloc(EP_CONTEXT_ALIGNMENT, base_align_up(size + 1, EP_CONTEXT_ALIGNMENT));
        uint8_t *exact = data + base_align_up(size + 1, EP_CONTEXT_ALIGNMENT) - size;
        /* Its end is the memory's end, where overruns are seen; aligned when nothing was cut off. */
        exact = size % EP_CONTEXT_ALIGNMENT ? exact : data;
        memcpy(exact, good, size);
        for (uint32_t k = below(&state, 3) + 1; size > 48 && k > 0; k--)
            damage(exact, size, &state);
        bool same = size == whole && !memcmp(exact, good, size);
        if (sealed && size > 48)
            seal(exact, size);
        HRESULT hr = ep_context_read(exact, size, "part", HERE, &got, &error);
        TEST(SUCCEEDED(hr) == (got != NULL) && (got || strchr(error.text, '\n') == NULL));
        TEST(same || sealed || !got);
        read += got != NULL;
        compiled += got && compile(got, device);
        ep_model_destroy(got);
        free(data);
    }
    printf("seed %llu: %u damaged, %u could be read, %u compiled\n", (unsigned long long)seed, count, read, compiled);
    TEST(read > 0 && compiled > 0 && compiled < count);
    free(good);
}

/* The seed of fuzz_context: ep_context write tests/fuzz/corpus_context/model */
static int write_seed(const char *path)
{
    size_t bytes;
    void *data;
    FILE *file = fopen(path, "wb");
    bool ok = file && ep_context_write(&model, "part", HERE, &data, &bytes) && fwrite(data, 1, bytes, file) == bytes;
    return file && !fclose(file) && ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct onnx_device *device = NULL;
    struct onnx_error error;
    if (argc == 3 && !strcmp(argv[1], "write"))
        return write_seed(argv[2]);
    test_fit();
    test_round_trip();
    TEST(SUCCEEDED(onnx_device_open(0, &device, &error)));
    if (device)
        test_damage(device, argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
                    argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3000);
    onnx_device_close(device);
    return test_result();
}
