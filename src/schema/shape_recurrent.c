/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of RNN, LSTM and GRU: T steps, B rows in a batch, I inputs, H hidden values, D directions, G gates. */
#include <inttypes.h>

#include "schema/check.h"
#include "schema/rules.h"

struct recurrent {
    struct schema_tensor input, weight, recurrence, bias, lengths, sequence;
    struct schema_tensor states[5]; /* {1, D, B, H}: initial and final hidden and cell states */
    struct schema_tensor peephole;
    DML_RECURRENT_NETWORK_DIRECTION direction;
    UINT gates, activations, activation_count;
};

static bool check_activation_count(struct schema_check *check, const struct recurrent *net, uint32_t directions)
{
    const uint32_t want = net->activations * directions;
    if (net->activation_count == want)
        return true;
    return schema_fail(check, SCHEMA_ERROR_COUNT,
                       "ActivationDescCount = %" PRIu32 ", must be %" PRIu32 ", %" PRIu32 " for each direction",
                       net->activation_count, want, net->activations);
}

static bool check_not_owned(struct schema_check *check)
{
    for (uint32_t i = 0; i < check->op->field_count; i++) {
        const struct schema_field *field = &check->op->fields[i];
        if (field->kind != SCHEMA_INPUT)
            continue;
        const struct schema_tensor tensor = schema_tensor_of_field(field, check->desc, 0);
        if (tensor.desc && tensor.desc->Flags)
            return schema_fail(check, SCHEMA_ERROR_TENSOR_FLAGS,
                               "%s: Flags = OWNED_BY_DML (1), must be 0 in recurrent operators", tensor.name);
    }
    return true;
}

static bool check_recurrent(struct schema_check *check, const struct recurrent *net)
{
    const uint64_t one = 1, steps = net->input.desc->Sizes[1], batch = net->input.desc->Sizes[2];
    const uint64_t inputs = net->input.desc->Sizes[3], hidden = net->recurrence.desc->Sizes[3];
    const uint64_t directions = net->direction == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
    const uint64_t rows = net->gates * hidden;
    const uint64_t weight[] = { one, directions, rows, inputs }, recurrence[] = { one, directions, rows, hidden };
    const uint64_t bias[] = { one, one, directions, 2 * rows }, lengths[] = { one, one, one, batch };
    const uint64_t sequence[] = { steps, directions, batch, hidden }, state[] = { one, directions, batch, hidden };
    const uint64_t peephole[] = { one, one, directions, 3 * hidden };
    if (!schema_expect_size(check, &net->input, 0, 1, "one") ||
        !schema_expect_sizes(check, &net->weight, weight, "that of {1, directions, gates * hidden, input}") ||
        !schema_expect_sizes(check, &net->recurrence, recurrence, "that of {1, directions, gates * hidden, hidden}") ||
        !schema_expect_sizes(check, &net->bias, bias, "that of {1, 1, directions, 2 * gates * hidden}") ||
        !schema_expect_sizes(check, &net->lengths, lengths, "that of {1, 1, 1, batch}") ||
        !schema_expect_sizes(check, &net->sequence, sequence, "that of {steps, directions, batch, hidden}") ||
        !schema_expect_sizes(check, &net->peephole, peephole, "that of {1, 1, directions, 3 * hidden}"))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(net->states); i++)
        if (!schema_expect_sizes(check, &net->states[i], state, "that of {1, directions, batch, hidden}"))
            return false;
    return check_activation_count(check, net, (uint32_t)directions) && check_not_owned(check);
}

static bool check_some_output(struct schema_check *check, bool any)
{
    return any || schema_fail(check, SCHEMA_ERROR_TENSOR_COMBINATION,
                              "OutputSequenceTensor: NULL, must be given if there is no other output");
}

/* What all of them have. */
#define NET_OF(desc)                                                                                                   \
    .input = SCHEMA_TENSOR_OF(desc, InputTensor), .weight = SCHEMA_TENSOR_OF(desc, WeightTensor),                      \
    .recurrence = SCHEMA_TENSOR_OF(desc, RecurrenceTensor), .bias = SCHEMA_TENSOR_OF(desc, BiasTensor),                \
    .lengths = SCHEMA_TENSOR_OF(desc, SequenceLengthsTensor),                                                          \
    .sequence = SCHEMA_TENSOR_OF(desc, OutputSequenceTensor), .direction = (desc)->Direction,                          \
    .activation_count = (desc)->ActivationDescCount

bool schema_rule_rnn(struct schema_check *check)
{
    const DML_RNN_OPERATOR_DESC *desc = check->desc;
    const struct recurrent net = {
        NET_OF(desc),
        .states = { SCHEMA_TENSOR_OF(desc, HiddenInitTensor), SCHEMA_TENSOR_OF(desc, OutputSingleTensor) },
        .gates = 1,
        .activations = 1,
    };
    return check_recurrent(check, &net) &&
           check_some_output(check, desc->OutputSequenceTensor || desc->OutputSingleTensor);
}

bool schema_rule_lstm(struct schema_check *check)
{
    const DML_LSTM_OPERATOR_DESC *desc = check->desc;
    const struct recurrent net = {
        NET_OF(desc),
        .states = { SCHEMA_TENSOR_OF(desc, HiddenInitTensor), SCHEMA_TENSOR_OF(desc, CellMemInitTensor),
                    SCHEMA_TENSOR_OF(desc, OutputSingleTensor), SCHEMA_TENSOR_OF(desc, OutputCellSingleTensor) },
        .peephole = SCHEMA_TENSOR_OF(desc, PeepholeTensor),
        .gates = 4,
        .activations = 3,
    };
    return check_recurrent(check, &net) &&
           check_some_output(check,
                             desc->OutputSequenceTensor || desc->OutputSingleTensor || desc->OutputCellSingleTensor);
}

bool schema_rule_gru(struct schema_check *check)
{
    const DML_GRU_OPERATOR_DESC *desc = check->desc;
    const struct recurrent net = {
        NET_OF(desc),
        .states = { SCHEMA_TENSOR_OF(desc, HiddenInitTensor), SCHEMA_TENSOR_OF(desc, OutputSingleTensor) },
        .gates = 3,
        .activations = 2,
    };
    return check_recurrent(check, &net) &&
           check_some_output(check, desc->OutputSequenceTensor || desc->OutputSingleTensor);
}
