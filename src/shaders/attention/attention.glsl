// SPDX-License-Identifier: Apache-2.0
/* What the shaders of KERN_ATTENTION share: which keys there are, and scores. Tensors: 0 Q, 1 K, 2 V, masks, Y. */

/* Where the queries are. */
uint batch, head;

/* The head of K and V. */
uint group_of_head()
{
    return head / (view(0).sizes[1] / view(1).sizes[1]);
}

int offset4(uint t, uint h, uint i)
{
    return int(batch) * view(t).strides[0] + int(h) * view(t).strides[1] + int(i) * view(t).strides[2];
}

int vector_element(uint t)
{
    return int(Words(place_of(t, int(batch) * view(t).strides[0]).address).v);
}

/* How many keys exist for this query (kernels/attention/attention.h). */
uint existing_keys(uint row)
{
    uint total = view(1).sizes[2];
    if (params.end != 0u && params.skips_masked != 0u)
        total = min(total, uint(max(vector_element(params.end), 0)));
    if (params.past == 0u)
        return total;
    int past = vector_element(params.past);
    uint before = type_of(params.past) == TYPE_UINT32 ? uint(past) : uint(max(past, 0));
    uint fresh = params.causal != 0u ? min(row + 1u, params.new_keys) : params.new_keys;
    return before >= total ? total : min(before + fresh, total);
}

/* Of a query and a key, whose vectors' product is `sum`. */
REAL score(REAL sum, uint row, uint key)
{
    sum *= REAL(params.scale);
    bool masked = params.start != 0u && int(key) < vector_element(params.start);
    if (params.end != 0u)
        masked = masked || int(key) >= vector_element(params.end);
    if (params.keep != 0u) {
        int at = offset4(params.keep, head, row) + int(key) * view(params.keep).strides[3];
        masked = masked || load_int(params.keep, at) == 0;
    }
    if (params.mask != 0u)
        sum += load_real(params.mask, offset4(params.mask, head, row) + int(key) * view(params.mask).strides[3]);
    return masked ? sum + REAL(params.filter_by) : sum;
}
