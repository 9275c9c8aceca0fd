// SPDX-License-Identifier: Apache-2.0
/* Matrices of factors of gemm/matrix.glsl as vectors: each invocation's eight elements, in whatever order the device has
 * them, so that a matrix that was packed once takes one load of 16 bytes from memory. FLOAT16 only. Both sides of a
 * dispatch do the same to elements of the same numbers; only the order of pairs within a vector is chosen, as the
 * registers of a device want them that is known. PACK_ loads a matrix from `tiles` as LOAD_ does. */
#ifdef MATRIX_PLAIN
/* Lines along k of two vectors. */
uvec4 pack_matrix(uint at, bool along_k, uint stride)
{
    uint i = gl_LocalInvocationID.x % 32u, line = i / 2u;
    uvec4 v = uvec4(0u);
    if (along_k)
        return tiles[at + line * stride + i % 2u];
    for (uint e = 0u; e < 8u; e++) {
        uint bits = tiles[at + (i % 2u * 8u + e) * stride + line / 8u][line / 2u % 4u] >> 16u * (line % 2u) & 0xffffu;
        v[e >> 1] |= bits << 16u * (e & 1u);
    }
    return v;
}

/* All subgroups take part: the vectors lie in `tiles` from `at` on, 32 for each subgroup. */
MatrixA unpack_matrix(uvec4 v, uint at, bool by_columns)
{
    at += gl_LocalInvocationID.x / 32u * 32u;
    barrier();
    tiles[at + gl_LocalInvocationID.x % 32u] = v;
    barrier();
    return MatrixA(at, 2u, by_columns);
}

#define PACK_A(v, at, by_columns, stride) v = pack_matrix(at, (by_columns) == 0u, stride);
#define PACK_B(v, at, by_columns, stride) v = pack_matrix(at, (by_columns) != 0u, stride);
#define UNPACK_A(m, v, at)                m = unpack_matrix(v, at, false);
#define UNPACK_B(m, v, at)                m = unpack_matrix(v, at, true);
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
spirv_instruction(id = 80) MatrixA matrix_a_of(float16_t x);
spirv_instruction(id = 81) float16_t element_a(MatrixA matrix, spirv_literal uint e);
spirv_instruction(id = 82) MatrixA with_element_a(float16_t value, MatrixA matrix, spirv_literal uint e);
spirv_instruction(id = 80) MatrixB matrix_b_of(float16_t x);
spirv_instruction(id = 81) float16_t element_b(MatrixB matrix, spirv_literal uint e);
spirv_instruction(id = 82) MatrixB with_element_b(float16_t value, MatrixB matrix, spirv_literal uint e);

#define TWO_OF_A(m, e) packFloat2x16(f16vec2(element_a(m, e), element_a(m, e + 1u)))
#define TWO_OF_B(m, e) packFloat2x16(f16vec2(element_b(m, e), element_b(m, e + 1u)))
#define SET_TWO(with_element, m, e, bits)                                                                              \
    m = with_element(unpackFloat2x16(bits).x, m, e);                                                                   \
    m = with_element(unpackFloat2x16(bits).y, m, e + 1u);
#define PACK_A(v, at, by_columns, stride)                                                                              \
    {                                                                                                                  \
        MatrixA m = LOAD_A(at, by_columns, stride);                                                                    \
        v = uvec4(TWO_OF_A(m, 0u), TWO_OF_A(m, 4u), TWO_OF_A(m, 2u), TWO_OF_A(m, 6u));                                 \
    }
#define PACK_B(v, at, by_columns, stride)                                                                              \
    {                                                                                                                  \
        MatrixB m = LOAD_B(at, by_columns, stride);                                                                    \
        v = uvec4(TWO_OF_B(m, 0u), TWO_OF_B(m, 2u), TWO_OF_B(m, 4u), TWO_OF_B(m, 6u));                                 \
    }
#define UNPACK_A(m, v, at)                                                                                             \
    m = matrix_a_of(float16_t(0.0));                                                                                   \
    SET_TWO(with_element_a, m, 0u, (v).x)                                                                              \
    SET_TWO(with_element_a, m, 4u, (v).y)                                                                              \
    SET_TWO(with_element_a, m, 2u, (v).z)                                                                              \
    SET_TWO(with_element_a, m, 6u, (v).w)
#define UNPACK_B(m, v, at)                                                                                             \
    m = matrix_b_of(float16_t(0.0));                                                                                   \
    SET_TWO(with_element_b, m, 0u, (v).x)                                                                              \
    SET_TWO(with_element_b, m, 2u, (v).y)                                                                              \
    SET_TWO(with_element_b, m, 4u, (v).z)                                                                              \
    SET_TWO(with_element_b, m, 6u, (v).w)
#endif
