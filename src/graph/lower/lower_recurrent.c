/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM: the inputs of all steps and both directions are one GEMM; the recurrent steps are one op after
 * it. */
#include "graph/lower/lower.h"

#include "graph/ir/program.h"
#include "graph/ir/uses.h"

/* Arranging R in panels pays off from this many rows in a batch, and this many rows of all steps unless it is done
 * once.
 */
#define PANELS_MIN_BATCH 4
#define PANELS_MIN_ROWS  64
/* The largest R that is surely laid out at compile time when it is constant. */
#define PANELS_CONSTANT_BYTES (UINT64_C(4) << 20)

struct recurrent {
    struct graph_lowering *lowering;
    enum kern_cell cell;
    uint32_t steps, batch, inputs, hidden, gates, directions;
    const struct graph_operand *input, *weight, *recurrence, *bias, *hidden_init, *memory_init, *lengths, *peepholes;
    const struct graph_operand *sequence, *last_hidden, *last_memory;
    DML_RECURRENT_NETWORK_DIRECTION direction;
    const DML_OPERATOR_DESC *activations;
    uint32_t activation_count; /* of one direction */
    bool linear_before_reset, couple, has_clip;
    float clip;
};

/* The operand with these sizes, in `type`; copied to a temporary if its strides do not allow it. */
static struct graph_operand reshaped(const struct recurrent *net, const struct graph_operand *operand,
                                     DML_TENSOR_DATA_TYPE type, uint32_t rank, const uint32_t *sizes)
{
    struct graph_operand result = *operand;
    if (type == operand->view.type && graph_view_reshape(&operand->view, rank, sizes, &result.view))
        return result;
    struct graph_operand dense = graph_temp(net->lowering->graph, type, operand->view.rank, operand->view.sizes);
    if (type == operand->view.type) {
        lower_move(net->lowering, *operand, dense);
    } else {
        struct lower_map map;
        lower_map_begin(&map, net->lowering, operand, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
        lower_map_end(&map, &dense, 0);
    }
    kern_view_set_packed(&dense.view, type, rank, sizes);
    return dense;
}

static struct graph_operand sliced(const struct graph_operand *operand, const uint32_t *start, const uint32_t *sizes)
{
    struct graph_operand result = *operand;
    result.view = graph_view_slice(&operand->view, start, sizes, NULL);
    return result;
}

/* Both biases of gates `first` to `first` + `count` - 1 as one; the recurrent one is left out unless `both`. */
static void add_biases(const struct recurrent *net, const struct graph_operand *bias, const struct graph_operand *sum,
                       uint32_t first, uint32_t count, bool both)
{
    const uint32_t sizes[] = { net->directions, 1, count, net->hidden }, start[] = { 0, 0, first, 0 };
    const uint32_t second[] = { 0, 1, first, 0 };
    struct graph_operand in[] = { sliced(bias, start, sizes), sliced(bias, second, sizes) };
    struct graph_operand out = sliced(sum, start, sizes);
    struct lower_map map;
    lower_map_begin(&map, net->lowering, in, both ? 2 : 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    lower_map_end(&map, &out, both ? lower_emit2(&map, KERN_MAP_ADD, 0, 1) : 0);
}

/* [D, 2, G, H] */
static struct graph_operand bias_parts(const struct recurrent *net)
{
    const uint32_t sizes[] = { net->directions, 2, net->gates, net->hidden };
    return reshaped(net, net->bias, net->bias->view.type, 4, sizes);
}

/* Added to the GEMM of the inputs: [1, D * G * H]. */
static struct graph_operand bias_sum(const struct recurrent *net)
{
    const uint32_t sizes[] = { net->directions, 1, net->gates, net->hidden };
    const uint32_t flat[] = { 1, net->directions * net->gates * net->hidden };
    struct graph_operand parts = bias_parts(net);
    struct graph_operand sum = graph_temp(net->lowering->graph, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    uint32_t whole = net->linear_before_reset ? 2 : net->gates;
    add_biases(net, &parts, &sum, 0, whole, true);
    if (whole < net->gates) /* the candidate's recurrent bias passes through the reset gate */
        add_biases(net, &parts, &sum, whole, net->gates - whole, false);
    kern_view_set_packed(&sum.view, DML_TENSOR_DATA_TYPE_FLOAT32, 2, flat);
    return sum;
}

/* y = x w^T + bias, if that is not NULL. */
static void multiply_inputs(const struct recurrent *net, const struct graph_operand *x, const struct graph_operand *w,
                            const struct graph_operand *bias, const struct graph_operand *y)
{
    struct graph_operand in[3] = { *x, *w };
    in[1].view = graph_view_permute(&w->view, (const uint32_t[]){ 1, 0 });
    if (bias)
        in[2] = lower_broadcast(bias, &y->view);
    struct graph_op *op = lower_op(net->lowering, KERN_GEMM, in, bias ? 3 : 2, y, 1);
    if (op)
        op->k.u.gemm = (struct kern_gemm){ .alpha = 1, .beta = bias != NULL, .has_c = bias != NULL };
}

/* X W^T + biases for all steps: [T, B, D, G, H]. Matrices of two directions that are not adjacent in memory, as of
 * transposed tensors, are multiplied one by one rather than copied. */
static struct graph_operand input_product(const struct recurrent *net)
{
    const DML_TENSOR_DATA_TYPE f32 = DML_TENSOR_DATA_TYPE_FLOAT32;
    const uint32_t rows = net->steps * net->batch, some = net->gates * net->hidden, columns = net->directions * some;
    const uint32_t a_sizes[] = { rows, net->inputs }, whole[] = { columns, net->inputs };
    const uint32_t y_sizes[] = { rows, columns }, each[] = { net->directions, some, net->inputs };
    const uint32_t split[] = { net->steps, net->batch, net->directions, net->gates, net->hidden };
    struct graph_operand x = reshaped(net, net->input, f32, 2, a_sizes), bias, w = *net->weight;
    struct graph_operand y = graph_temp(net->lowering->graph, f32, 2, y_sizes);
    struct kern_view joined;
    const bool has_bias = lower_present(net->bias);
    if (has_bias)
        bias = bias_sum(net);
    const bool apart = w.view.type == f32 && !graph_view_reshape(&w.view, 2, whole, &joined) &&
                       graph_view_reshape(&w.view, 3, each, &joined);
    if (!apart) {
        w = reshaped(net, &w, f32, 2, whole);
        multiply_inputs(net, &x, &w, has_bias ? &bias : NULL, &y);
    }
    for (uint32_t d = 0; apart && d < net->directions; d++) {
        const uint32_t start[] = { 0, d * some }, matrix[] = { some, net->inputs };
        struct graph_operand part = { w.value, graph_view_slice(&joined, (uint32_t[]){ d, 0, 0 },
                                                                (uint32_t[]){ 1, some, net->inputs }, NULL) };
        const struct graph_operand out = sliced(&y, start, (uint32_t[]){ rows, some });
        struct graph_operand row = has_bias ? sliced(&bias, start, (uint32_t[]){ 1, some }) : out;
        graph_view_reshape(&part.view, 2, matrix, &part.view);
        multiply_inputs(net, &x, &part, has_bias ? &row : NULL, &out);
    }
    kern_view_set_packed(&y.view, f32, 5, split);
    return y;
}

/* [D, G, H, K] with its rows contiguous, or [D, G, H / 32, K, 32] in FLOAT32. */
static struct graph_operand recurrence(const struct recurrent *net, bool panels)
{
    struct graph *graph = net->lowering->graph;
    const uint32_t sizes[] = { net->directions, net->gates, net->hidden, net->hidden };
    struct graph_operand r = reshaped(net, net->recurrence, net->recurrence->view.type, 4, sizes);
    if (!panels && (r.view.strides[3] == 1 || net->hidden == 1))
        return r;
    if (!panels) {
        struct graph_operand dense = lower_temp_like(net->lowering, &r);
        lower_move(net->lowering, r, dense);
        return dense;
    }
    const uint32_t count = (net->hidden - 1) / KERN_RECURRENT_PANEL + 1, width = count * KERN_RECURRENT_PANEL;
    const uint32_t split[] = { net->directions, net->gates, count, KERN_RECURRENT_PANEL, net->hidden };
    r = reshaped(net, &r, DML_TENSOR_DATA_TYPE_FLOAT32, 4, sizes);
    if (width != net->hidden) {
        const uint32_t padded[] = { net->directions, net->gates, width, net->hidden };
        struct graph_operand wide = graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, 4, padded);
        struct graph_op *pad = lower_op(net->lowering, KERN_PAD, &r, 1, &wide, 1);
        if (pad)
            pad->k.u.pad.mode = DML_PADDING_MODE_CONSTANT;
        r = wide;
    }
    r = reshaped(net, &r, DML_TENSOR_DATA_TYPE_FLOAT32, 5, split);
    r.view = graph_view_permute(&r.view, (const uint32_t[]){ 0, 1, 2, 4, 3 });
    struct graph_operand out = graph_temp(graph, DML_TENSOR_DATA_TYPE_FLOAT32, 5, r.view.sizes);
    lower_move(net->lowering, r, out);
    return out;
}

/* The matrix is dequantised from bytes, which weights_recurrent.c may let the kernel read: not from panels. */
static bool stays_bytes(const struct recurrent *net)
{
    const struct graph *graph = net->lowering->graph;
    const uint32_t value = net->recurrence->value;
    if (!(graph->flags & (uint32_t)ANYDML_EXECUTION_FLAG_BYTE_ACTIVATIONS) || graph->values[value].place != GRAPH_TEMP)
        return false;
    for (uint32_t i = graph->op_count; i-- > 0;)
        if (graph_op_writes(graph->ops[i], value))
            return graph_dequantizes(graph->ops[i]);
    return false;
}

static bool wants_panels(const struct recurrent *net)
{
    const struct graph_value *value = &net->lowering->graph->values[net->recurrence->value];
    bool once = value->place == GRAPH_CONSTANT && value->size_bytes <= PANELS_CONSTANT_BYTES;
    if ((net->lowering->graph->flags & GRAPH_FLAG_NO_PANELS) || stays_bytes(net))
        return false;
    return net->batch >= PANELS_MIN_BATCH && (once || (uint64_t)net->steps * net->batch >= PANELS_MIN_ROWS);
}

static bool make_activation(const struct recurrent *net, const DML_OPERATOR_DESC *desc, struct kern_activation *out)
{
    struct lower_map map;
    if (desc->Type == DML_OPERATOR_ACTIVATION_HARDMAX) {
        out->mode = KERN_ACTIVATION_HARDMAX;
        return true;
    }
    lower_map_begin(&map, net->lowering, net->input, 1, DML_TENSOR_DATA_TYPE_FLOAT32);
    uint32_t reg = lower_emit_activation(&map, 0, desc);
    out->mode = reg == 0 ? KERN_ACTIVATION_IDENTITY : KERN_ACTIVATION_MAP;
    out->inst = map.program.inst[0];
    /* A known client leaves the steepness of a recurrent operator's activation zero. */
    if (desc->Type == DML_OPERATOR_ACTIVATION_SOFTPLUS && out->inst.imm[0].f32 == 0)
        out->inst.imm[0].f32 = 1;
    return map.program.inst_count == (reg != 0);
}

struct tensors {
    struct graph_operand in[KERN_TENSORS_MAX], out[KERN_TENSORS_MAX];
    uint32_t in_count, out_count;
};

/* Adds an optional input with its leading dimension dropped or regrouped; its index, 0 when absent. */
static uint8_t add_input(const struct recurrent *net, struct tensors *tensors, const struct graph_operand *operand,
                         uint32_t rank, const uint32_t *sizes)
{
    if (!operand || !lower_present(operand))
        return 0;
    tensors->in[tensors->in_count] = reshaped(net, operand, operand->view.type, rank, sizes);
    return (uint8_t)tensors->in_count++;
}

/* The same for an output; its number among the outputs, from 1 on. Dropping a dimension of size 1 always works. */
static uint8_t add_output(struct tensors *tensors, const struct graph_operand *operand, uint32_t rank,
                          const uint32_t *sizes)
{
    if (!operand || !lower_present(operand))
        return 0;
    tensors->out[tensors->out_count] = *operand;
    graph_view_reshape(&operand->view, rank, sizes, &tensors->out[tensors->out_count].view);
    return (uint8_t)++tensors->out_count;
}

static uint8_t output_index(uint8_t number, uint32_t input_count)
{
    return number ? (uint8_t)(input_count + number - 1) : 0;
}

/* All tensors and their slots. */
static void add_tensors(const struct recurrent *net, struct tensors *tensors, struct kern_recurrent *out)
{
    const uint32_t sequence[] = { net->steps, net->directions, net->batch, net->hidden }, *state = sequence + 1;
    const uint32_t peepholes[] = { net->directions, 3, net->hidden }, reset[] = { net->directions, net->hidden };
    out->panels = wants_panels(net);
    tensors->in[0] = input_product(net);
    tensors->in[1] = recurrence(net, out->panels);
    tensors->in_count = 2;
    if (net->linear_before_reset && lower_present(net->bias)) {
        const uint32_t start[] = { 0, 1, 2, 0 }, sizes[] = { net->directions, 1, 1, net->hidden };
        struct graph_operand parts = bias_parts(net), slice = sliced(&parts, start, sizes);
        out->reset_bias = add_input(net, tensors, &slice, 2, reset);
    }
    out->hidden = add_input(net, tensors, net->hidden_init, 3, state);
    out->memory = add_input(net, tensors, net->memory_init, 3, state);
    out->lengths = add_input(net, tensors, net->lengths, 1, &net->batch);
    out->peepholes = add_input(net, tensors, net->peepholes, 3, peepholes);
    uint8_t numbers[] = { add_output(tensors, net->sequence, 4, sequence),
                          add_output(tensors, net->last_hidden, 3, state),
                          add_output(tensors, net->last_memory, 3, state) };
    out->sequence = output_index(numbers[0], tensors->in_count);
    out->last_hidden = output_index(numbers[1], tensors->in_count);
    out->last_memory = output_index(numbers[2], tensors->in_count);
}

static bool sizes_fit(const struct recurrent *net)
{
    uint64_t rows, columns, gates = (uint64_t)net->directions * net->gates;
    return base_mul_u64(net->steps, net->batch, &rows) && rows <= UINT32_MAX &&
           base_mul_u64(gates, (uint64_t)net->hidden + KERN_RECURRENT_PANEL, &columns) && columns <= UINT32_MAX;
}

static HRESULT lower_recurrent(struct recurrent *net)
{
    struct graph_lowering *lowering = net->lowering;
    struct kern_recurrent params;
    struct tensors tensors = { .in_count = 0 };
    memset(&params, 0, sizeof(params));
    net->input = &lowering->inputs[0];
    net->weight = &lowering->inputs[1];
    net->recurrence = &lowering->inputs[2];
    net->bias = &lowering->inputs[3];
    net->hidden_init = &lowering->inputs[4];
    net->sequence = &lowering->outputs[0];
    net->last_hidden = &lowering->outputs[1];
    net->steps = net->input->view.sizes[1];
    net->batch = net->input->view.sizes[2];
    net->inputs = net->input->view.sizes[3];
    net->hidden = net->recurrence->view.sizes[3];
    net->directions = net->direction == DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL ? 2 : 1;
    if (!sizes_fit(net))
        return E_OUTOFMEMORY;
    params.cell = net->cell;
    params.reverse[0] = net->direction == DML_RECURRENT_NETWORK_DIRECTION_BACKWARD;
    params.reverse[1] = net->directions == 2;
    params.linear_before_reset = net->linear_before_reset;
    params.couple = net->couple;
    params.has_clip = net->has_clip;
    params.clip.code = KERN_MAP_CLAMP;
    params.clip.type = params.clip.to_type = DML_TENSOR_DATA_TYPE_FLOAT32;
    params.clip.imm[0].f32 = -net->clip;
    params.clip.imm[1].f32 = net->clip;
    for (uint32_t i = 0; i < net->directions * net->activation_count; i++)
        if (!make_activation(net, &net->activations[i],
                             &params.activations[i / net->activation_count][i % net->activation_count]))
            return lower_unsupported(lowering, "this activation");
    add_tensors(net, &tensors, &params);
    struct graph_op *op =
        lower_op(lowering, KERN_RECURRENT, tensors.in, tensors.in_count, tensors.out, tensors.out_count);
    if (op)
        op->k.u.recurrent = params;
    return lower_done(lowering);
}

HRESULT lower_rnn(struct graph_lowering *lowering)
{
    const DML_RNN_OPERATOR_DESC *desc = LOWER_DESC(lowering, RNN);
    struct recurrent net = { .lowering = lowering, .cell = KERN_CELL_RNN, .gates = 1, .activation_count = 1 };
    net.direction = desc->Direction;
    net.activations = desc->ActivationDescs;
    net.lengths = &lowering->inputs[5];
    return lower_recurrent(&net);
}

HRESULT lower_gru(struct graph_lowering *lowering)
{
    const DML_GRU_OPERATOR_DESC *desc = LOWER_DESC(lowering, GRU);
    struct recurrent net = { .lowering = lowering, .cell = KERN_CELL_GRU, .gates = 3, .activation_count = 2 };
    net.direction = desc->Direction;
    net.activations = desc->ActivationDescs;
    net.lengths = &lowering->inputs[5];
    net.linear_before_reset = desc->LinearBeforeReset;
    return lower_recurrent(&net);
}

HRESULT lower_lstm(struct graph_lowering *lowering)
{
    const DML_LSTM_OPERATOR_DESC *desc = LOWER_DESC(lowering, LSTM);
    struct recurrent net = { .lowering = lowering, .cell = KERN_CELL_LSTM, .gates = 4, .activation_count = 3 };
    net.direction = desc->Direction;
    net.activations = desc->ActivationDescs;
    net.memory_init = &lowering->inputs[5];
    net.lengths = &lowering->inputs[6];
    net.peepholes = &lowering->inputs[7];
    net.last_memory = &lowering->outputs[2];
    net.couple = desc->CoupleInputForget;
    net.has_clip = desc->UseClipThreshold;
    net.clip = desc->ClipThreshold;
    return lower_recurrent(&net);
}
