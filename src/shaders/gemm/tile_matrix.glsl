// SPDX-License-Identifier: Apache-2.0
/* Tiled GEMM in shared memory with cooperative matrices (matrix.glsl), of FLOAT16 or BFLOAT16 factors with
 * FLOAT32 sums: like tile.glsl, but load_a and load_b return the 16 bits of elements, and may be replaced by
 *   vector_a(m, k), vector_b    eight elements from a multiple of 8 on, with WIDE_A or WIDE_B: complete or absent,
 *                               guaranteed by the host to start at multiples of 16 bytes
 *   y_base                      the start of Y; with WIDE_Y eight results along n are contiguous, and are stored at once
 *   PLACE_A(m, k), PLACE_B(n, k), MOVE_A, MOVE_B
 *                               for factors that are views: the number of a vector in memory from a_base or b_base on,
 *                               and the distance in elements to that of the next k
 *   place_result(m, n, number, y_at, c_at), c_next
 *                               a result's number, position in Y and C; distance to the next one along n in C
 * A workgroup is four subgroups of 32, GROUPS_K of which share the sums of the same results: each takes its part of a
 * tile along k. A subgroup has BLOCKS_M x BLOCKS_N matrices of sums. A tile of a factor has lines along k, or across it,
 * as in memory, at distances of an odd number of vectors: eight of them use all banks of the shared memory.
 * While matrices are multiplied the next tile's vectors are loaded. */
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 3) const uint A_BY_COLUMNS = 0; /* lines of A's tiles are along m, not k */
layout(constant_id = 4) const uint B_BY_COLUMNS = 1; /* lines of B's tiles are along k, not n */

#define SIDE     16u /* of a matrix */
#define GROUPS_M (1u << (TILE_SHAPE >> 19 & 3u)) /* of subgroups */
#define GROUPS_N (1u << (TILE_SHAPE >> 21 & 3u))
#define GROUPS_K (4u / (GROUPS_M * GROUPS_N))
#define BLOCKS_M (TILE_M / SIDE / GROUPS_M)
#define BLOCKS_N (TILE_N / SIDE / GROUPS_N)
#define LOADS_A  (TILE_M * DEPTH / 8u / GROUP_SIZE) /* vectors of an invocation */
#define LOADS_B  (TILE_N * DEPTH / 8u / GROUP_SIZE)
#define STRIDE_A (A_BY_COLUMNS != 0u ? TILE_M / 8u + 1u : DEPTH / 8u + 1u) /* of lines, in vectors */
#define STRIDE_B (B_BY_COLUMNS != 0u ? DEPTH / 8u + 1u : TILE_N / 8u + 1u)
#define TILE_B   ((A_BY_COLUMNS != 0u ? DEPTH : TILE_M) * STRIDE_A) /* start of the tile of B */
#define STRIDE_Y (4u * BLOCKS_N + 1u)         /* of lines of results on their way */
#define STAGE    (SIDE * STRIDE_Y)            /* of a subgroup: one row of its matrices */

/* Both tiles; later sums on their way. */
#define TILES_SIZE (TILE_B + (B_BY_COLUMNS != 0u ? TILE_N : DEPTH) * STRIDE_B)
shared uvec4 tiles[TILES_SIZE > 4u * STAGE ? TILES_SIZE : 4u * STAGE];

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { uvec4 v[]; };

/* Flags of TILE_SHAPE. */
#define WIDE_A ((TILE_SHAPE & 0x10000u) != 0u)
#define WIDE_B ((TILE_SHAPE & 0x20000u) != 0u)
#define WIDE_Y ((TILE_SHAPE & 0x40000u) != 0u)

#include "shaders/core/epilogue_vector.glsl"
#include "shaders/gemm/matrix.glsl"
#include "shaders/gemm/tile_run.glsl"

/* The line of a tile and the vector in it of load `number`. With four vectors in a line, of eight consecutive
 * invocations four have a line that is four after the others'. */
uvec2 slot(uint number, uint size)
{
    uint i = gl_LocalInvocationID.x, line = (i >> 5) * 8u + (i >> 2 & 1u) * 4u + (i >> 3 & 3u);
    return size == 32u ? uvec2(line + 32u * number, i & 3u)
                       : uvec2(i / (size / 8u) + GROUP_SIZE * 8u / size * number, i % (size / 8u));
}

uvec4 fetch_a(uint number, uint m, uint k, uint end)
{
    uvec2 at = slot(number, A_BY_COLUMNS != 0u ? TILE_M : DEPTH);
    uvec4 v = uvec4(0u);
    uint row = A_BY_COLUMNS != 0u ? at.x : 8u * at.y;
    m += A_BY_COLUMNS != 0u ? 8u * at.y : at.x;
    if (WIDE_A) {
        if (m < size_m && k + row < end)
            v = vector_a(m, k + row);
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++) {
        uint i = A_BY_COLUMNS != 0u ? m + e : m, j = A_BY_COLUMNS != 0u ? row : row + e;
        if (i < size_m && k + j < end)
            v[e >> 1] |= load_a(i, k + j, j) << 16u * (e & 1u);
    }
    return v;
}

uvec4 fetch_b(uint number, uint n, uint k, uint end)
{
    uvec2 at = slot(number, B_BY_COLUMNS != 0u ? DEPTH : TILE_N);
    uvec4 v = uvec4(0u);
    uint row = B_BY_COLUMNS != 0u ? 8u * at.y : at.x;
    n += B_BY_COLUMNS != 0u ? at.x : 8u * at.y;
    if (WIDE_B) {
        if (n < size_n && k + row < end)
            v = vector_b(n, k + row);
        return v;
    }
    [[unroll]] for (uint e = 0u; e < 8u; e++) {
        uint i = B_BY_COLUMNS != 0u ? n : n + e, j = B_BY_COLUMNS != 0u ? row + e : row;
        if (i < size_n && k + j < end)
            v[e >> 1] |= load_b(i, k + j, j) << 16u * (e & 1u);
    }
    return v;
}

#ifdef PLACE_A
/* The vector in memory of load `number`. Lines outside the factor are replaced by others: their results are not
 * stored. */
int place_of_a(uint number, uint m, uint k)
{
    uvec2 at = slot(number, A_BY_COLUMNS != 0u ? TILE_M : DEPTH);
    if (A_BY_COLUMNS != 0u)
        return PLACE_A(min(m + 8u * at.y, size_m - 8u), k + at.x);
    return PLACE_A(min(m + at.x, size_m - 1u), k + 8u * at.y);
}

int place_of_b(uint number, uint n, uint k)
{
    uvec2 at = slot(number, B_BY_COLUMNS != 0u ? DEPTH : TILE_N);
    if (B_BY_COLUMNS != 0u)
        return PLACE_B(min(n + at.x, size_n - 1u), k + 8u * at.y);
    return PLACE_B(min(n + 8u * at.y, size_n - 8u), k + at.x);
}
#endif

void keep_a(uint number, uvec4 v)
{
    uvec2 at = slot(number, A_BY_COLUMNS != 0u ? TILE_M : DEPTH);
    tiles[at.x * STRIDE_A + at.y] = v;
}

void keep_b(uint number, uvec4 v)
{
    uvec2 at = slot(number, B_BY_COLUMNS != 0u ? DEPTH : TILE_N);
    tiles[TILE_B + at.x * STRIDE_B + at.y] = v;
}

/* The start of matrix i of A, whose elements along m and k are `line` and `k` apart; of B likewise. */
uint matrix_a(uint line, uint k)
{
    return A_BY_COLUMNS != 0u ? k * STRIDE_A + line / 8u : line * STRIDE_A + k / 8u;
}

uint matrix_b(uint line, uint k)
{
    return TILE_B + (B_BY_COLUMNS != 0u ? line * STRIDE_B + k / 8u : k * STRIDE_B + line / 8u);
}

#if defined(MATRIX_PLAIN) || defined(MATRIX_BFLOAT16)
uint pack_two(float a, float b)
{
    bool half_type = type_of(header.inputs) == TYPE_FLOAT16;
    return half_type ? float_to_half(a) | float_to_half(b) << 16
                     : float_to_bfloat(a) & 0xffffu | float_to_bfloat(b) << 16;
}
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

uint pack_two(float a, float b) /* rounds to nearest even: pipelines are created so */
{
    return packFloat2x16(f16vec2(a, b));
}
#endif

/* The start of C; read once, like the operands of an epilogue. */
uvec2 c_base;

void read_c()
{
    if (result_c >= 0)
        c_base = address_of(uint(result_c));
}

/* Eight elements of C, side by side as a rule. */
void load_c(int c_at, out vec4 low, out vec4 high)
{
    uint type = type_of(uint(result_c));
    uvec2 address = add64(c_base, scaled(c_at, 1u));
    if (type == TYPE_FLOAT16 && c_next == 1 && (address.x & 15u) == 0u) {
        uvec4 v = OperandVector(address).v;
        low = vec4(halves_to_floats(v.x), halves_to_floats(v.y));
        high = vec4(halves_to_floats(v.z), halves_to_floats(v.w));
        return;
    }
    for (uint e = 0u; e < 4u; e++) {
        low[e] = load_real(uint(result_c), c_at + int(e) * c_next);
        high[e] = load_real(uint(result_c), c_at + int(e + 4u) * c_next);
    }
}

/* Eight results from (m, n). */
void store_vector(uint m, uint n, vec4 low, vec4 high)
{
    uint number;
    int y_at, c_at;
    place_result(m, n, number, y_at, c_at);
    low *= result_alpha;
    high *= result_alpha;
    if (result_c >= 0) {
        vec4 c_low, c_high;
        load_c(c_at, c_low, c_high);
        low += result_beta * c_low;
        high += result_beta * c_high;
    }
    epilogue_vector(number, y_at, low, high);
    Vectors(y_base).v[y_at >> 3] = uvec4(pack_two(low.x, low.y), pack_two(low.z, low.w), pack_two(high.x, high.y),
                                         pack_two(high.z, high.w));
}

/* Four sums on their way: of all subgroups that share them. */
vec4 staged(uint at)
{
    vec4 sum = uintBitsToFloat(tiles[at]);
    [[unroll]] for (uint i = 1u; i < GROUPS_K; i++)
        sum += uintBitsToFloat(tiles[at + i * (GROUPS_M * GROUPS_N) * STAGE]);
    return sum;
}

/* A row of matrices from `stage`, results from m and n on, by all invocations that share their sums, of which this is
 * number `self`. */
void store_lines(uint stage, uint m, uint n, uint part, uint self)
{
    uint columns = SIDE * BLOCKS_N;
    if (WIDE_Y) {
        for (uint i = self; i < SIDE * columns / 8u; i += 32u * GROUPS_K) {
            uint row = i / (columns / 8u), at = i % (columns / 8u), from = stage + row * STRIDE_Y + 2u * at;
            if (m + row < size_m && n + 8u * at < size_n)
                store_vector(m + row, n + 8u * at, staged(from), staged(from + 1u));
        }
        return;
    }
    if (in_parts && size_n % 4u == 0u) {
        for (uint i = self; i < SIDE * columns / 4u; i += 32u * GROUPS_K) {
            uint row = i / (columns / 4u), at = i % (columns / 4u);
            uint to = (part * size_m + m + row) * size_n + n + 4u * at;
            if (m + row < size_m && n + 4u * at < size_n)
                Vectors(add64(sums_base, uvec2(4u * to, 0u))).v[0] = floatBitsToUint(staged(stage + row * STRIDE_Y + at));
        }
        return;
    }
    for (uint i = self; i < SIDE * columns; i += 32u * GROUPS_K) {
        uint row = y_along_m != 0u ? i % SIDE : i / columns, column = y_along_m != 0u ? i / SIDE : i % columns;
        float sum = staged(stage + row * STRIDE_Y + column / 4u)[column % 4u];
        if (m + row < size_m && n + column < size_n)
            store_sum(m + row, n + column, part, sum);
    }
}

/* All matrices and vectors of an invocation are separate variables, of which pipelines use as many as their tiles need:
 * arrays that a driver does not split would be in memory. */
#define EACH(X)         X(0) X(1) X(2) X(3)
#define EACH_LOAD(X)    EACH(X) X(4) X(5) X(6) X(7)
#define EACH_OF_ROW(X, i) X(i, 0) X(i, 1) X(i, 2) X(i, 3)
#define EACH_PAIR(X)    EACH_OF_ROW(X, 0) EACH_OF_ROW(X, 1) EACH_OF_ROW(X, 2) EACH_OF_ROW(X, 3)

#define DECLARE(i)      uvec4 a_next##i, b_next##i;
#define DECLARE_SUM(i, j) MatrixSum sum##i##j;
#define CLEAR_SUM(i, j)                                                                                                \
    if (i < BLOCKS_M && j < BLOCKS_N)                                                                                  \
        sum##i##j = zero_matrix();
#define KEEP(i)                                                                                                        \
    if (i < LOADS_A)                                                                                                   \
        keep_a(i, a_next##i);                                                                                          \
    if (i < LOADS_B)                                                                                                   \
        keep_b(i, b_next##i);
#define FETCH(i)                                                                                                       \
    if (i < LOADS_A)                                                                                                   \
        a_next##i = fetch_a(i, m, next, end);                                                                          \
    if (i < LOADS_B)                                                                                                   \
        b_next##i = fetch_b(i, n, next, end);
#ifdef PLACE_A
/* A whole tile along k needs only an addition for each vector. */
#define DECLARE_PLACE(i)                                                                                               \
    int a_place##i, b_place##i;                                                                                        \
    if (i < LOADS_A)                                                                                                   \
        a_place##i = place_of_a(i, m, first);                                                                          \
    if (i < LOADS_B)                                                                                                   \
        b_place##i = place_of_b(i, n, first);
#define FETCH_WHOLE(i)                                                                                                 \
    if (i < LOADS_A)                                                                                                   \
        a_next##i = Vectors(a_from).v[a_place##i];                                                                     \
    if (i < LOADS_B)                                                                                                   \
        b_next##i = Vectors(b_from).v[b_place##i];
#define FETCH_TILE                                                                                                     \
    if (WIDE_A && WIDE_B && next + DEPTH <= end) {                                                                     \
        EACH_LOAD(FETCH_WHOLE)                                                                                         \
        a_from = add64(a_from, a_move);                                                                                \
        b_from = add64(b_from, b_move);                                                                                \
    } else {                                                                                                           \
        EACH_LOAD(FETCH)                                                                                               \
    }
#else
#define FETCH_TILE EACH_LOAD(FETCH)
#endif
#define LOAD_FACTORS(i)                                                                                                \
    MatrixA a##i;                                                                                                      \
    MatrixB b##i;                                                                                                      \
    if (i < BLOCKS_M)                                                                                                  \
        a##i = LOAD_A(matrix_a(from_m + SIDE * i, STEP), A_BY_COLUMNS, STRIDE_A);                                      \
    if (i < BLOCKS_N)                                                                                                  \
        b##i = LOAD_B(matrix_b(from_n + SIDE * i, STEP), B_BY_COLUMNS, STRIDE_B);
#define MULTIPLY(i, j)                                                                                                 \
    if (i < BLOCKS_M && j < BLOCKS_N)                                                                                  \
        sum##i##j = multiply_add(a##i, b##j, sum##i##j);
#define STORE_SUM_OF(i, j)                                                                                             \
    if (j < BLOCKS_N)                                                                                                  \
        STORE_SUM(STAGE * subgroup + 4u * j, sum##i##j, STRIDE_Y);
#define STORE_ROW(i)                                                                                                   \
    if (i < BLOCKS_M) {                                                                                                \
        barrier();                                                                                                     \
        EACH_OF_ROW(STORE_SUM_OF, i)                                                                                   \
        barrier();                                                                                                     \
        store_lines(STAGE * place, m + from_m + SIDE * i, n + from_n, part, self);                                     \
    }
#define MULTIPLY_STEP(at)                                                                                              \
    {                                                                                                                  \
        uint STEP = at;                                                                                                \
        EACH(LOAD_FACTORS)                                                                                             \
        EACH_PAIR(MULTIPLY)                                                                                            \
    }

void run_tile(uint m, uint n, uint first, uint end, uint part)
{
    /* The subgroup's index among those with other results, and its part of a tile along k. */
    uint subgroup = SUBGROUP_NUMBER, place = subgroup % (GROUPS_M * GROUPS_N), from_k = subgroup / (GROUPS_M * GROUPS_N);
    uint self = gl_LocalInvocationID.x % 32u + 32u * from_k;
    uint from_m = SIDE * BLOCKS_M * (place % GROUPS_M), from_n = SIDE * BLOCKS_N * (place / GROUPS_M);
    from_k *= DEPTH / GROUPS_K;
    EACH_LOAD(DECLARE)
    EACH_PAIR(DECLARE_SUM)
    EACH_PAIR(CLEAR_SUM)
    prepare(first);
    barrier();
    uint next = first;
#ifdef PLACE_A
    uvec2 a_from = a_base, a_move = scaled(MOVE_A * int(DEPTH), 1u);
    uvec2 b_from = b_base, b_move = scaled(MOVE_B * int(DEPTH), 1u);
    EACH_LOAD(DECLARE_PLACE)
#endif
    while (true) {
        if (next < end) {
            FETCH_TILE
        }
        if (WIDE_Y && next == first) {
            read_operands();
            read_c();
        }
        if (next != first)
            [[unroll]] for (uint i = 0u; i < DEPTH / GROUPS_K / SIDE; i++)
                MULTIPLY_STEP(from_k + SIDE * i)
        if (next >= end)
            break;
        barrier();
        EACH_LOAD(KEEP)
        next += DEPTH;
        prepare(next);
        barrier();
    }
    EACH(STORE_ROW)
    barrier();
}
