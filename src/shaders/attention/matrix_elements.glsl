// SPDX-License-Identifier: Apache-2.0
/* Access to elements of gemm/matrix.glsl's matrices of sums: those that an invocation holds. Their layout is
 * implementation-defined; elements of one number have the same position in all matrices. */
#define ELEMENTS 8u /* of an invocation: 16 x 16 of 32 invocations */

#ifdef MATRIX_PLAIN
#define EACH_ELEMENT(X, s, j)                                                                                          \
    for (uint e = 0u; e < ELEMENTS; e++) {                                                                             \
        X(s, j, e)                                                                                                     \
    }
#define element(matrix, e)              (matrix).v[e]
#define SET_ELEMENT(matrix, e, value)   (matrix).v[e] = (value)
#define subgroup_barrier()              barrier()

MatrixSum load_sum(uint at, uint by_columns, uint stride)
{
    uint i = gl_LocalInvocationID.x % 32u;
    MatrixSum sum;
    for (uint e = 0u; e < ELEMENTS; e++) {
        uint row = i / 2u, column = i % 2u * 8u + e;
        uint line = by_columns != 0u ? column : row, within = by_columns != 0u ? row : column;
        sum.v[e] = uintBitsToFloat(tiles[at + line * stride + within / 4u][within % 4u]);
    }
    return sum;
}

MatrixSum multiply_elements(MatrixSum a, MatrixSum b)
{
    for (uint e = 0u; e < ELEMENTS; e++)
        a.v[e] *= b.v[e];
    return a;
}

#define LOAD_SUM(at, by_columns, stride) load_sum(at, by_columns, stride)

void store_factors(uint at, MatrixSum sum, uint stride)
{
    uint i = gl_LocalInvocationID.x % 32u;
    tiles[at + i / 2u * stride + i % 2u] = uvec4(pack_two(sum.v[0], sum.v[1]), pack_two(sum.v[2], sum.v[3]),
                                                 pack_two(sum.v[4], sum.v[5]), pack_two(sum.v[6], sum.v[7]));
}

#define STORE_FACTORS(at, sum, stride) store_factors(at, sum, stride)
#else
#define EACH_ELEMENT(X, s, j)                                                                                          \
    X(s, j, 0u) X(s, j, 1u) X(s, j, 2u) X(s, j, 3u) X(s, j, 4u) X(s, j, 5u) X(s, j, 6u) X(s, j, 7u)
/* Core SPIR-V: an element, the matrix with an element replaced, products of elements; below, conversion. */
spirv_instruction(id = 81) float element(MatrixSum matrix, spirv_literal uint e);
spirv_instruction(id = 82) MatrixSum with_element(float value, MatrixSum matrix, spirv_literal uint e);
spirv_instruction(id = 133) MatrixSum multiply_elements(MatrixSum a, MatrixSum b);
spirv_instruction(id = 4457) MatrixSum load_sum_at(spirv_by_reference uvec4 at, uint by_columns, uint stride,
                                                   spirv_literal uint operands, uint scope);

#define SET_ELEMENT(matrix, e, value)    matrix = with_element(value, matrix, e)
#define LOAD_SUM(at, by_columns, stride) load_sum_at(tiles[at], by_columns, stride, 0x30, WORKGROUP)
#define subgroup_barrier()               subgroupBarrier()

#ifndef PACK_SHARED
/* Sums as factors of their type. */
#define MatrixShort                                                                                                    \
    spirv_type(extensions = ["SPV_KHR_cooperative_matrix"], capabilities = [6022, 9], id = 4456, FLOAT_16, SUBGROUP,   \
               LINES, LINES, USE_SUM)
spirv_instruction(id = 115) MatrixShort shorten(MatrixSum sum);
spirv_instruction(id = 4458) void store_short_at(spirv_by_reference uvec4 at, MatrixShort sum, uint by_columns,
                                                 uint stride, spirv_literal uint operands, uint scope);
#define STORE_FACTORS(at, sum, stride) store_short_at(tiles[at], shorten(sum), ROW_MAJOR, stride, 0x28, WORKGROUP)
#endif
#endif
