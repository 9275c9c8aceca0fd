#include "kernels/product.h"

#define PRODUCT_LANES 4
#if defined(__aarch64__) /* twice the registers */
#define PRODUCT_VECS 4
#define PRODUCT_ROWS 6
#else
#define PRODUCT_VECS 2
#define PRODUCT_ROWS 4
#endif
typedef float number;
typedef float vec __attribute__((vector_size(16)));

DENSE_INLINE vec product_set(const char *from)
{
    const float value = *(const float *)from;
    return (vec){ value, value, value, value };
}

DENSE_INLINE vec product_get(const char *from)
{
    vec value;
    memcpy(&value, from, sizeof(value));
    return value;
}

DENSE_INLINE vec product_add(vec sums, vec a, vec b)
{
    return sums + a * b;
}

#include "kernels/product_body.h"

const struct product_isa product_f32 = { PRODUCT_ROWS, PRODUCT_COLUMNS, 1, sizeof(number), tile, NULL };
