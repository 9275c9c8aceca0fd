/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of attention. Tokens are {[1], [1], batch, sequence, heads * size}, heads {[1], batch, heads, sequence, size}.
 */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

struct attention {
    struct schema_tensor query, key, value, query_key, key_value, query_key_value;
    struct schema_tensor bias, mask, relative_bias, past_key, past_value, past_lengths;
    struct schema_tensor output, present_key, present_value;
    UINT query_heads, key_heads;
    DML_MULTIHEAD_ATTENTION_MASK_TYPE mask_type;
    bool cached; /* the present outputs contain the past; PastSequenceLengthsTensor has its lengths */
    uint64_t batch, sequence, keys, past, total, head_size, value_size;
};

#define ATTENTION_OF(DESC, QUERY_HEADS, KEY_HEADS)                                                                     \
    {                                                                                                                  \
        .query = SCHEMA_TENSOR_OF(DESC, QueryTensor), .key = SCHEMA_TENSOR_OF(DESC, KeyTensor),                        \
        .value = SCHEMA_TENSOR_OF(DESC, ValueTensor), .query_key = SCHEMA_TENSOR_OF(DESC, StackedQueryKeyTensor),      \
        .key_value = SCHEMA_TENSOR_OF(DESC, StackedKeyValueTensor),                                                    \
        .query_key_value = SCHEMA_TENSOR_OF(DESC, StackedQueryKeyValueTensor),                                         \
        .bias = SCHEMA_TENSOR_OF(DESC, BiasTensor), .mask = SCHEMA_TENSOR_OF(DESC, MaskTensor),                        \
        .relative_bias = SCHEMA_TENSOR_OF(DESC, RelativePositionBiasTensor),                                           \
        .past_key = SCHEMA_TENSOR_OF(DESC, PastKeyTensor), .past_value = SCHEMA_TENSOR_OF(DESC, PastValueTensor),      \
        .output = SCHEMA_TENSOR_OF(DESC, OutputTensor), .present_key = SCHEMA_TENSOR_OF(DESC, OutputPresentKeyTensor), \
        .present_value = SCHEMA_TENSOR_OF(DESC, OutputPresentValueTensor), .query_heads = QUERY_HEADS,                 \
        .key_heads = KEY_HEADS, .mask_type = (DESC)->MaskType,                                                         \
    }

/* The size of a tensor `back` dimensions before its end; 0 if it is not inferred yet. */
static uint64_t size_at(const struct schema_tensor *tensor, uint32_t back)
{
    if (tensor->desc->DimensionCount < back)
        return 0;
    return tensor->desc->Sizes[tensor->desc->DimensionCount - back];
}

/* The sources of query, key and value: the given tensors, as bits in the order of the struct. */
enum {
    QUERY = 1 << 0,
    KEY = 1 << 1,
    VALUE = 1 << 2,
    QUERY_KEY = 1 << 3,
    KEY_VALUE = 1 << 4,
    QUERY_KEY_VALUE = 1 << 5,
};

static unsigned sources_of(const struct attention *at)
{
    return (at->query.desc ? QUERY : 0) | (at->key.desc ? KEY : 0) | (at->value.desc ? VALUE : 0) |
           (at->query_key.desc ? QUERY_KEY : 0) | (at->key_value.desc ? KEY_VALUE : 0) |
           (at->query_key_value.desc ? QUERY_KEY_VALUE : 0);
}

static bool check_sources(struct schema_check *check, const struct attention *at)
{
    const unsigned given = sources_of(at);
    const bool past = at->past_key.desc && at->past_value.desc;
    if (!at->past_key.desc != !at->past_value.desc)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION, "%s: NULL, must be given with %s",
                           at->past_key.desc ? at->past_value.name : at->past_key.name,
                           at->past_key.desc ? at->past_key.name : at->past_value.name);
    if (given == (QUERY | KEY | VALUE) || given == (QUERY_KEY | VALUE) || given == (QUERY | KEY_VALUE) ||
        given == QUERY_KEY_VALUE || (given == QUERY && past)) /* the last attends to cached keys only */
        return true;
    return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                       "%s: the given tensors (0x%x) do not define exactly one source of query, key and value",
                       given & QUERY ? at->query.name : at->query_key_value.name, given);
}

static bool check_heads(struct schema_check *check, const struct attention *at)
{
    if (at->query_heads % at->key_heads)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "KeyValueHeadCount = %" PRIu32 ", must divide QueryHeadCount (%" PRIu32 ")", at->key_heads,
                           at->query_heads);
    if ((at->query_key.desc || at->query_key_value.desc) && at->key_heads != at->query_heads)
        return schema_fail(check, SCHEMA_ERROR_ATTRIBUTE_RANGE,
                           "KeyValueHeadCount = %" PRIu32 ", must equal QueryHeadCount (%" PRIu32
                           ") with stacked query and key",
                           at->key_heads, at->query_heads);
    return true;
}

static bool check_cache(struct schema_check *check, struct attention *at)
{
    if (!at->past_lengths.desc)
        return true;
    if (at->past_key.desc)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "PastSequenceLengthsTensor: given, must be NULL with PastKeyTensor");
    if (!at->present_key.desc || !at->present_value.desc)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "%s: NULL, must be given with PastSequenceLengthsTensor",
                           at->present_key.desc ? at->present_value.name : at->present_key.name);
    at->cached = true;
    return true;
}

/* The lengths that determine the other sizes; indivisible sizes are detected when they are compared. */
static void find_lengths(struct attention *at)
{
    const struct schema_tensor *stacked = at->query_key.desc ? &at->query_key : &at->query_key_value;
    const struct schema_tensor *first = at->query.desc ? &at->query : stacked;
    const uint32_t trailing = at->query.desc ? 3 : 5;
    at->batch = size_at(first, trailing);
    at->sequence = size_at(first, trailing - 1);
    at->head_size = at->query.desc ? size_at(first, 1) / at->query_heads : size_at(first, 1);

    if (at->key.desc)
        at->keys = size_at(&at->key, 2);
    else if (at->key_value.desc)
        at->keys = size_at(&at->key_value, 4);
    else
        at->keys = at->query.desc ? 0 : at->sequence;

    at->value_size = at->head_size;
    if (at->value.desc)
        at->value_size = size_at(&at->value, 1) / at->key_heads;
    else if (at->past_value.desc && !at->key_value.desc && !at->query_key_value.desc)
        at->value_size = size_at(&at->past_value, 1);

    at->past = at->past_key.desc ? size_at(&at->past_key, 2) : 0;
    at->total = at->cached ? size_at(&at->present_key, 2) : at->past + at->keys;
}

static bool check_tokens(struct schema_check *check, const struct attention *at)
{
    const uint64_t query[] = { at->batch, at->sequence, at->query_heads * at->head_size };
    const uint64_t key[] = { at->batch, at->keys, at->key_heads * at->head_size };
    const uint64_t value[] = { at->batch, at->keys, at->key_heads * at->value_size };
    const uint64_t query_key[] = { at->batch, at->sequence, at->query_heads, 2, at->head_size };
    const uint64_t key_value[] = { at->batch, at->keys, at->key_heads, 2, at->head_size };
    const uint64_t query_key_value[] = { at->batch, at->sequence, at->query_heads, 3, at->head_size };
    const uint64_t bias[] = { query[2] + key[2] + value[2] };
    const uint64_t output[] = { at->batch, at->sequence, at->query_heads * at->value_size };
    schema_infer_rank(check, &at->output, at->query.desc ? at->query.desc->DimensionCount : 3);
    return schema_expect_trailing(check, &at->query, 3, query, "that of {batch, sequence, heads * size}") &&
           schema_expect_trailing(check, &at->key, 3, key, "that of {batch, keys, heads * size}") &&
           schema_expect_trailing(check, &at->value, 3, value, "that of {batch, keys, heads * size}") &&
           schema_expect_trailing(check, &at->query_key, 5, query_key, "that of {batch, sequence, heads, 2, size}") &&
           schema_expect_trailing(check, &at->key_value, 5, key_value, "that of {batch, keys, heads, 2, size}") &&
           schema_expect_trailing(check, &at->query_key_value, 5, query_key_value,
                                  "that of {batch, sequence, heads, 3, size}") &&
           schema_expect_trailing(check, &at->bias, 1, bias, "the sum of query, key and value") &&
           schema_expect_trailing(check, &at->output, 3, output, "that of {batch, sequence, heads * value size}");
}

static bool check_caches(struct schema_check *check, const struct attention *at)
{
    const uint64_t past_key[] = { at->batch, at->key_heads, at->past, at->head_size };
    const uint64_t past_value[] = { at->batch, at->key_heads, at->past, at->value_size };
    const uint64_t present_key[] = { at->batch, at->key_heads, at->total, at->head_size };
    const uint64_t present_value[] = { at->batch, at->key_heads, at->total, at->value_size };
    const uint64_t relative[] = { at->batch, at->query_heads, at->sequence, at->total };
    const uint64_t lengths[] = { at->batch };
    if (at->cached && at->total && at->total < at->keys)
        return schema_fail(check, SCHEMA_ERROR_SIZE_MISMATCH,
                           "%s: has room for %" PRIu64 " keys, must be at least the new ones (%" PRIu64 ")",
                           at->present_key.name, at->total, at->keys);
    return schema_expect_trailing(check, &at->past_key, 4, past_key, "that of {batch, heads, past, size}") &&
           schema_expect_trailing(check, &at->past_value, 4, past_value, "that of {batch, heads, past, size}") &&
           schema_expect_trailing(check, &at->present_key, 4, present_key,
                                  "that of {batch, heads, past + keys, size}") &&
           schema_expect_trailing(check, &at->present_value, 4, present_value,
                                  "that of {batch, heads, past + keys, size}") &&
           schema_expect_trailing(check, &at->relative_bias, 4, relative,
                                  "that of {batch, heads, sequence, past + keys}") &&
           schema_expect_trailing(check, &at->past_lengths, 1, lengths, "the batch");
}

static bool check_mask(struct schema_check *check, const struct attention *at)
{
    const bool wanted = at->mask_type != DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE;
    if (!at->mask.desc != !wanted)
        return schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                           "MaskTensor: %s with MaskType = %" PRIu32 ", must be %s", at->mask.desc ? "given" : "NULL",
                           (uint32_t)at->mask_type, wanted ? "given" : "NULL");
    const uint64_t length[] = { at->batch };
    const uint64_t end_start[] = { 2, at->batch };
    const uint64_t packed[] = { 3 * at->batch + 2 };
    const uint64_t boolean[] = { at->batch, at->query_heads, at->sequence, at->total };
    switch (at->mask_type) {
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE:
        break;
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH:
        return schema_expect_trailing(check, &at->mask, 1, length, "that of {1, batch}");
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START:
        return schema_expect_trailing(check, &at->mask, 2, end_start, "that of {2, batch}");
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END:
        return schema_expect_trailing(check, &at->mask, 1, packed, "that of {3 * batch + 2}");
    case DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN:
        return schema_expect_trailing(check, &at->mask, 4, boolean, "that of {batch, heads, sequence, past + keys}");
    }
    return true;
}

static bool check_attention(struct schema_check *check, struct attention *at)
{
    if (!check_sources(check, at) || !check_heads(check, at) || !check_cache(check, at))
        return false;
    find_lengths(at);
    return check_tokens(check, at) && check_caches(check, at) && check_mask(check, at);
}

bool schema_rule_multihead_attention(struct schema_check *check)
{
    const DML_MULTIHEAD_ATTENTION_OPERATOR_DESC *desc = check->desc;
    struct attention at = ATTENTION_OF(desc, desc->HeadCount, desc->HeadCount);
    return check_attention(check, &at);
}

bool schema_rule_multihead_attention1(struct schema_check *check)
{
    const DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC *desc = check->desc;
    struct attention at = ATTENTION_OF(desc, desc->QueryHeadCount, desc->KeyValueHeadCount);
    at.past_lengths = SCHEMA_TENSOR_OF(desc, PastSequenceLengthsTensor);
    return check_attention(check, &at);
}
