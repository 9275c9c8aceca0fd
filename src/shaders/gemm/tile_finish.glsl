// SPDX-License-Identifier: Apache-2.0
/* The result of a product by tiles, epilogue(alpha * sum + beta * C), its element `number`, row-major. */
#include "shaders/core/epilogue.glsl"

#ifdef TILE_INTEGER
void store_result(uint number, int y_at, int c_at, int sum)
{
    uint y = header.inputs;
    if (TILE_PARAMS.c >= 0)
        sum += load_int(uint(TILE_PARAMS.c), c_at);
    if (HAS_EPILOGUE)
        store_real(y, y_at, epilogue(float(sum), number, y_at));
    else
        store_int(y, y_at, sum);
}
#else
float result_of(uint number, int y_at, int c_at, float sum)
{
    sum *= TILE_PARAMS.alpha;
    if (TILE_PARAMS.c >= 0)
        sum += TILE_PARAMS.beta * load_real(uint(TILE_PARAMS.c), c_at);
    return epilogue(sum, number, y_at);
}

void store_result(uint number, int y_at, int c_at, float sum)
{
    store_real(header.inputs, y_at, result_of(number, y_at, c_at, sum));
}
#endif
