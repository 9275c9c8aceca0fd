// SPDX-License-Identifier: Apache-2.0
/* The result of a tiled GEMM, epilogue(alpha * sum + beta * C), its element `number`, row-major. */
#include "shaders/core/epilogue.glsl"

/* From the parameters, read once: after each store a compiler would have to reload them. */
float result_alpha, result_beta;
int result_c;

void read_finish()
{
    result_alpha = TILE_PARAMS.alpha;
    result_beta = TILE_PARAMS.beta;
    result_c = TILE_PARAMS.c;
}

#ifdef TILE_INTEGER
void store_result(uint number, int y_at, int c_at, int sum)
{
    uint y = header.inputs;
    if (result_c >= 0)
        sum += load_int(uint(result_c), c_at);
    if (HAS_EPILOGUE)
        store_real(y, y_at, epilogue(float(sum), number, y_at));
    else
        store_int(y, y_at, sum);
}
#else
/* Before the epilogue. */
float scaled_sum(int c_at, float sum)
{
    sum *= result_alpha;
    if (result_c >= 0)
        sum += result_beta * load_real(uint(result_c), c_at);
    return sum;
}

void store_result(uint number, int y_at, int c_at, float sum)
{
    store_real(header.inputs, y_at, epilogue(scaled_sum(c_at, sum), number, y_at));
}
#endif
