// SPDX-License-Identifier: Apache-2.0
/* The largest or smallest element of a line and its position. */
#define NONE 0xffffffffu

struct Total {
    uvec2 order;   /* of the element, all bits inverted if the smallest is requested */
    uint position; /* in the line, or NONE */
    uint unused;
};

/* Of NaN: less than every number, or greater, whether the greatest is wanted or the least. */
uvec2 order_of_nan()
{
    return uvec2(params.nan != 0u ? 0xffffffffu : 0u);
}

/* Element `at`, which is number k of its line. */
Total extreme_of(int at, uint k, bool least)
{
    uvec2 order = order_of(0u, at);
    bool nan = type_is_real(type_of(0u)) && order == uvec2(0u);
    return Total(nan ? order_of_nan() : least ? ~order : order, k, 0u);
}

/* Of equal ones, the first or the last; of NaNs, the first. */
void combine_extremes(inout Total a, Total b, bool last)
{
    if (b.position == NONE)
        return;
    last = last && !(type_is_real(type_of(0u)) && b.order == order_of_nan());
    bool nearer = last ? b.position > a.position : b.position < a.position;
    if (a.position == NONE || order_greater(b.order, a.order) || (a.order == b.order && nearer))
        a = b;
}
