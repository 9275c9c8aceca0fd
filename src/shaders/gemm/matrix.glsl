// SPDX-License-Identifier: Apache-2.0
/* Cooperative matrices of 16 x 16 elements (SPV_KHR_cooperative_matrix), by the SPIR-V instructions themselves: glslang
 * 12 does not support them. Elements of factors have 16 bits, those of sums are FLOAT32; matrices are loaded from and
 * stored to `tiles`, an array of uvec4 in shared memory, at element `at` of it, with lines `stride` elements apart. The
 * first number of a type encodes the type of its elements; pack.c replaces it by a type.
 *
 * With MATRIX_PLAIN no device support is needed: the 32 invocations that would share a matrix have 8 sums each, and
 * factors stay in shared memory. This is for tests. */
const uint FLOAT_16 = 16, BFLOAT_16 = 17, FLOAT_32 = 32, SUBGROUP = 3, LINES = 16, USE_A = 0, USE_B = 1, USE_SUM = 2;
const uint WORKGROUP = 2, ROW_MAJOR = 0; /* COLUMN_MAJOR = 1 */

#ifdef MATRIX_PLAIN
struct MatrixA {
    uint at, stride;
    bool by_columns;
};
#define MatrixB MatrixA
struct MatrixSum {
    float v[8];
};

MatrixA load_matrix(uint at, uint by_columns, uint stride)
{
    return MatrixA(at, stride, by_columns != 0u);
}

#define LOAD_A(at, by_columns, stride) load_matrix(at, by_columns, stride)
#define LOAD_B(at, by_columns, stride) load_matrix(at, by_columns, stride)

float element_of(MatrixA matrix, uint row, uint column)
{
    uint line = matrix.by_columns ? column : row, within = matrix.by_columns ? row : column;
    uint bits = tiles[matrix.at + line * matrix.stride + within / 8u][within / 2u % 4u] >> 16u * (within % 2u) & 0xffffu;
    return type_of(0u) == TYPE_FLOAT16 ? half_to_float(bits) : bfloat_to_float(bits);
}

/* Those of an invocation are adjacent in a row. */
MatrixSum multiply_add(MatrixA a, MatrixB b, MatrixSum sum)
{
    uint i = gl_LocalInvocationID.x % 32u, row = i / 2u, column = i % 2u * 8u;
    for (uint k = 0u; k < SIDE; k++) {
        float factor = element_of(a, row, k);
        for (uint j = 0u; j < 8u; j++)
            sum.v[j] += factor * element_of(b, k, column + j);
    }
    return sum;
}

MatrixSum zero_matrix()
{
    MatrixSum sum;
    for (uint j = 0u; j < 8u; j++)
        sum.v[j] = 0.0;
    return sum;
}

void store_matrix(uint at, MatrixSum sum, uint stride)
{
    uint i = gl_LocalInvocationID.x % 32u, to = at + i / 2u * stride + i % 2u * 2u;
    for (uint j = 0u; j < 2u; j++)
        tiles[to + j] = floatBitsToUint(vec4(sum.v[4u * j], sum.v[4u * j + 1u], sum.v[4u * j + 2u], sum.v[4u * j + 3u]));
}

#define STORE_SUM(at, sum, stride) store_matrix(at, sum, stride)
#define SUBGROUP_NUMBER (gl_LocalInvocationID.x / 32u)
#else
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
#ifdef MATRIX_BFLOAT16
#define FACTOR_TYPE(use)                                                                                               \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix", "SPV_KHR_bfloat16"], capabilities = [6022, 5116, 5118],     \
               id = 4456, BFLOAT_16, SUBGROUP, LINES, LINES, use)
#else
#define FACTOR_TYPE(use)                                                                                               \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, FLOAT_16, SUBGROUP,   \
               LINES, LINES, use)
#endif
#define MatrixA FACTOR_TYPE(USE_A)
#define MatrixB FACTOR_TYPE(USE_B)
#define MatrixSum                                                                                                      \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022], id = 4456, FLOAT_32, SUBGROUP,      \
               LINES, LINES, USE_SUM)

/* Memory operands, literal: values that other invocations of the workgroup stored (0x30), or will load (0x28). */
spirv_instruction(id = 4457) MatrixA load_a_at(spirv_by_reference uvec4 at, uint by_columns, uint stride,
                                               spirv_literal uint operands, uint scope);
spirv_instruction(id = 4457) MatrixB load_b_at(spirv_by_reference uvec4 at, uint by_columns, uint stride,
                                               spirv_literal uint operands, uint scope);
spirv_instruction(id = 4458) void store_sum_at(spirv_by_reference uvec4 at, MatrixSum sum, uint by_columns, uint stride,
                                               spirv_literal uint operands, uint scope);
spirv_instruction(id = 4459) MatrixSum multiply_add(MatrixA a, MatrixB b, MatrixSum sum);
spirv_instruction(id = 80) MatrixSum matrix_of(float x);

#define LOAD_A(at, by_columns, stride) load_a_at(tiles[at], by_columns, stride, 0x30, WORKGROUP)
#define LOAD_B(at, by_columns, stride) load_b_at(tiles[at], by_columns, stride, 0x30, WORKGROUP)
#define STORE_SUM(at, sum, stride)     store_sum_at(tiles[at], sum, ROW_MAJOR, stride, 0x28, WORKGROUP)
#define zero_matrix()                  matrix_of(0.0)
#define SUBGROUP_NUMBER                gl_SubgroupID
#endif
