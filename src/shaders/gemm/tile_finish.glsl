// SPDX-License-Identifier: Apache-2.0
/* The result of a product by tiles, epilogue(alpha * sum + beta * C), its element `number`, row-major. */
#include "shaders/core/epilogue.glsl"

void store_result(uint number, int y_at, int c_at, NUMBER sum)
{
    uint y = header.inputs;
#ifdef TILE_INTEGER
    if (TILE_PARAMS.c >= 0)
        sum += load_int(uint(TILE_PARAMS.c), c_at);
    if (HAS_EPILOGUE)
        store_real(y, y_at, epilogue(float(sum), number, y_at));
    else
        store_int(y, y_at, sum);
#else
    sum *= TILE_PARAMS.alpha;
    if (TILE_PARAMS.c >= 0)
        sum += TILE_PARAMS.beta * load_real(uint(TILE_PARAMS.c), c_at);
    store_real(y, y_at, epilogue(sum, number, y_at));
#endif
}
