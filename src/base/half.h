/* IEEE 754 binary16 <-> binary32, round to nearest even, infinities, NaN and subnormals kept. Bulk conversions are
 * kernels (kernels/map_load.c); these are the portable definitions. */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include "base/base.h"

float base_half_to_float(uint16_t half);
uint16_t base_float_to_half(float value);

/* Rounds once, directly to binary16 (through float would round twice). */
uint16_t base_double_to_half(double value);

#endif
