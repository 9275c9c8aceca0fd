// SPDX-License-Identifier: Apache-2.0
/* Matrices B of gemm/matrix.glsl as vectors: each invocation's eight elements, in the device's own order, so that a
 * matrix that was packed once is one load of 16 bytes. FLOAT16 only. PACK_B packs one of `tiles`, whose lines are along
 * k. */
#ifdef MATRIX_PLAIN
/* All subgroups take part: the vectors are in `tiles` from `at` on, 32 for each subgroup. */
MatrixB unpack_matrix(uvec4 v, uint at)
{
    at += gl_LocalInvocationID.x / 32u * 32u;
    barrier();
    tiles[at + gl_LocalInvocationID.x % 32u] = v;
    barrier();
    return MatrixB(at, 2u, true);
}

#define PACK_B(v, at, stride) v = tiles[(at) + gl_LocalInvocationID.x % 32u / 2u * stride + gl_LocalInvocationID.x % 2u];
#define UNPACK_B(m, v, at)    m = unpack_matrix(v, at);
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
spirv_instruction(id = 80) MatrixB matrix_b_of(float16_t x);
spirv_instruction(id = 81) float16_t element_b(MatrixB matrix, spirv_literal uint e);
spirv_instruction(id = 82) MatrixB with_element_b(float16_t value, MatrixB matrix, spirv_literal uint e);

#define TWO_OF(m, e) packFloat2x16(f16vec2(element_b(m, e), element_b(m, e + 1u)))
#define SET_TWO(m, e, bits)                                                                                            \
    m = with_element_b(unpackFloat2x16(bits).x, m, e);                                                                 \
    m = with_element_b(unpackFloat2x16(bits).y, m, e + 1u);
#define PACK_B(v, at, stride)                                                                                          \
    {                                                                                                                  \
        MatrixB m = LOAD_B(at, 1u, stride);                                                                            \
        v = uvec4(TWO_OF(m, 0u), TWO_OF(m, 2u), TWO_OF(m, 4u), TWO_OF(m, 6u));                                         \
    }
#define UNPACK_B(m, v, at)                                                                                             \
    m = matrix_b_of(float16_t(0.0));                                                                                   \
    SET_TWO(m, 0u, (v).x)                                                                                              \
    SET_TWO(m, 2u, (v).y)                                                                                              \
    SET_TWO(m, 4u, (v).z)                                                                                              \
    SET_TWO(m, 6u, (v).w)
#endif
