// SPDX-License-Identifier: Apache-2.0
/* Shared by the shaders of KERN_ATTENTION: which keys are visible, and scores. Tensors: 0 Q, 1 K, 2 V, masks, Y. */

/* Numbers of the tensors mask, keep, end, start and past, 4 bits each, for pipelines specialised by INPUTS_KNOWN. Code
 * for absent tensors is then removed; it would slow the loops down even though it is skipped. */
layout(constant_id = 6) const uint INPUTS = 0;

uint input_of(uint which, uint number)
{
    return INPUTS != 0u ? INPUTS >> 4u * which & 15u : number;
}

#define MASK  input_of(0u, params.mask)
#define KEEP  input_of(1u, params.keep)
#define END   input_of(2u, params.end)
#define START input_of(3u, params.start)
#define PAST  input_of(4u, params.past)

/* The positions of the queries. */
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
    if (END != 0u && params.skips_masked != 0u)
        total = min(total, uint(max(vector_element(END), 0)));
    if (PAST == 0u)
        return total;
    int past = vector_element(PAST);
    uint before = type_of(PAST) == TYPE_UINT32 ? uint(past) : uint(max(past, 0));
    uint fresh = params.causal != 0u ? min(row + 1u, params.new_keys) : params.new_keys;
    return before >= total ? total : min(before + fresh, total);
}

/* Of a query and a key with dot product `sum`. */
REAL score(REAL sum, uint row, uint key)
{
    sum *= REAL(params.scale);
    bool masked = START != 0u && int(key) < vector_element(START);
    if (END != 0u)
        masked = masked || int(key) >= vector_element(END);
    if (KEEP != 0u) {
        int at = offset4(KEEP, head, row) + int(key) * view(KEEP).strides[3];
        masked = masked || load_int(KEEP, at) == 0;
    }
    if (MASK != 0u)
        sum += load_real(MASK, offset4(MASK, head, row) + int(key) * view(MASK).strides[3]);
    return masked ? sum + REAL(params.filter_by) : sum;
}
