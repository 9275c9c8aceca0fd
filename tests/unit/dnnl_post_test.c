/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogues that the library takes as its own post-ops. */
#include "kernels/onednn/dnnl_op.h"

#include "test.h"

#include <math.h>

#define F32 DML_TENSOR_DATA_TYPE_FLOAT32

/* What CLIP1 is lowered to: max(min(x, most), least). */
static struct kern_map clip(float least, float most)
{
    struct kern_map map = { .load_type = { F32 }, .store = { 4 }, .inst_count = 4 };
    map.inst[0] = (struct kern_map_inst){ KERN_MAP_CONST, F32, F32, { 0 }, { { .f32 = most } } };
    map.inst[1] = (struct kern_map_inst){ KERN_MAP_MIN, F32, F32, { 0, 1 } };
    map.inst[2] = (struct kern_map_inst){ KERN_MAP_CONST, F32, F32, { 0 }, { { .f32 = least } } };
    map.inst[3] = (struct kern_map_inst){ KERN_MAP_MAX, F32, F32, { 2, 3 } };
    return map;
}

/* The post-ops of an op with this epilogue; NULL when the library cannot have it. */
static dnnl_post_ops_t post_ops_of(const struct kern_map *map)
{
    const struct kern_op op = { .kind = KERN_CONV, .input_count = 2, .epilogue = map, .epilogue_input = 2 };
    struct dnnl_post post = { 0 };
    dnnl_post_ops_t ops = NULL;
    TEST(dnnl_post_ops_create(&ops) == dnnl_success);
    if (dnnl_post_epilogue(&op, ops, NULL, NULL, &post))
        return ops;
    dnnl_post_ops_destroy(ops);
    return NULL;
}

/* The values after the post-ops of a product with 1. */
static void run(const_dnnl_post_ops_t ops, float *values, int64_t count)
{
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;
    dnnl_matmul_desc_t desc;
    dnnl_memory_desc_t column, one;
    dnnl_memory_t x, w, y;
    float factor = 1;
    dnnl_memory_desc_init_by_tag(&column, 2, (dnnl_dims_t){ count, 1 }, dnnl_f32, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&one, 2, (dnnl_dims_t){ 1, 1 }, dnnl_f32, dnnl_ab);
    TEST(dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success);
    TEST(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success);
    TEST(dnnl_primitive_attr_create(&attr) == dnnl_success);
    TEST(dnnl_primitive_attr_set_post_ops(attr, ops) == dnnl_success);
    TEST(dnnl_matmul_desc_init(&desc, &column, &one, NULL, &column) == dnnl_success);
    TEST(dnnl_primitive_desc_create(&pd, &desc, attr, engine, NULL) == dnnl_success);
    TEST(dnnl_primitive_create(&primitive, pd) == dnnl_success);
    float results[16];
    TEST(count <= 16);
    TEST(dnnl_memory_create(&x, &column, engine, values) == dnnl_success);
    TEST(dnnl_memory_create(&w, &one, engine, &factor) == dnnl_success);
    TEST(dnnl_memory_create(&y, &column, engine, results) == dnnl_success);
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, x }, { DNNL_ARG_WEIGHTS, w }, { DNNL_ARG_DST, y } };
    TEST(dnnl_primitive_execute(primitive, stream, 3, args) == dnnl_success);
    TEST(dnnl_stream_wait(stream) == dnnl_success);
    memcpy(values, results, (size_t)count * sizeof(*values));
    dnnl_memory_destroy(x);
    dnnl_memory_destroy(w);
    dnnl_memory_destroy(y);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
}

static void test_clip(float least, float most)
{
    const float given[] = { -INFINITY, -7, -0.5f, 0, 0.25f, 5.5f, 6, 6.5f, 1e30f, INFINITY, NAN };
    const struct kern_map map = clip(least, most);
    dnnl_post_ops_t ops = post_ops_of(&map);
    float values[ARRAY_SIZE(given)];
    if (!TEST(ops != NULL))
        return;
    memcpy(values, given, sizeof(given));
    run(ops, values, ARRAY_SIZE(given));
    for (uint32_t i = 0; i < ARRAY_SIZE(given); i++) {
        const float bounded = given[i] < most ? given[i] : most; /* NaN: most */
        TEST_FOR(values[i] == (bounded > least ? bounded : least), "%g in [%g, %g]: %g", given[i], least, most,
                 values[i]);
    }
    dnnl_post_ops_destroy(ops);
}

/* What looks like it but is something else is left to the caller. */
static void test_refused(void)
{
    struct kern_map map = clip(6, 0);
    TEST(!post_ops_of(&map));
    map = clip(0, NAN);
    TEST(!post_ops_of(&map));
    map = clip(0, 6);
    map.inst[3].src[0] = 0;
    TEST(!post_ops_of(&map));
    map = clip(0, 6);
    map.store[0] = 2;
    TEST(!post_ops_of(&map));
    map = clip(0, 6);
    map.inst_count = 3;
    map.store[0] = 3;
    TEST(!post_ops_of(&map));
}

int main(void)
{
    test_clip(0, 6);
    test_clip(-0.5f, 0.25f);
    test_clip(0, INFINITY);
    test_clip(-INFINITY, 6);
    test_refused();
    return test_result();
}
