/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on lists of tensors: optimizer steps, _foreach_ operators, gradient scalers. Each is one graph for the
 * whole list. */
#include "index.h"

#define EW(name) DML_OPERATOR_ELEMENT_WISE_##name

static struct aten_value *like(struct aten_graph *g, const struct aten_value *x, double value)
{
    return x ? aten_scalar(g, x->type, value) : NULL;
}

/* ---- optimizers ---- */

/* Results are in the order of the elements of the written arguments. */
struct step {
    struct aten_graph *g;
    const struct aten_node *n;
    uint32_t count, at;       /* number of tensors of each list; index of this one */
    struct aten_value *skip;  /* BOOLEAN: found_inf; NULL: not used */
    struct aten_value *scale; /* of the gradients, or NULL */
};

static struct aten_value *element(const struct step *s, uint32_t list, int32_t type)
{
    const struct aten_operand *a = &s->n->args[list];
    if (a->kind != ATEN_TENSORS || s->at >= a->count || !a->values[s->at]) {
        aten_fail(s->g, "argument %u must have %u tensors", list, s->count);
        return NULL;
    }
    return aten_convert(s->g, a->values[s->at], type);
}

/* Writes element `at` of the written list that `list_before` lists precede; a skipped step keeps the old value. */
static bool written(const struct step *s, uint32_t list_before, struct aten_value *before, struct aten_value *value)
{
    if (s->skip)
        value = aten_select(s->g, s->skip, before, value);
    return aten_result(s->g, s->n, list_before * s->count + s->at, value);
}

static bool step_begin(struct aten_graph *g, const struct aten_node *n, uint32_t scale, struct step *s)
{
    *s = (struct step){ .g = g, .n = n, .count = n->args[0].count };
    if (n->args[0].kind != ATEN_TENSORS)
        return aten_fail(g, "self must be a list of tensors");
    if (aten_given(n, scale))
        s->scale = aten_in_as(g, n, scale, ATEN_FLOAT32);
    if (aten_given(n, scale + 1))
        s->skip = aten_convert(g, aten_reshape(g, aten_in(g, n, scale + 1), 0, NULL), ATEN_BOOLEAN);
    return !g->failed;
}

/* A result that is not written is an empty value: the tensor keeps its contents. */
static struct aten_value *untouched(struct aten_graph *g, int32_t type)
{
    static const int64_t none[1] = { 0 };
    return aten_new_packed(g, type, 1, none);
}

/* The unscaled gradient; if it was scaled, the result is also written back (list 1 of the written ones). */
static struct aten_value *gradient(const struct step *s, int32_t type, bool maximize)
{
    struct aten_value *grad = element(s, 1, type);
    if (s->scale) {
        grad = aten_divide(s->g, grad, aten_convert(s->g, aten_reshape(s->g, s->scale, 0, NULL), type));
        if (!aten_result(s->g, s->n, s->count + s->at, grad))
            return NULL;
    } else {
        s->n->results[s->count + s->at] = untouched(s->g, type);
    }
    return maximize ? aten_apply(s->g, EW(NEGATE), grad) : grad;
}

enum { ADAM_LR = 6, ADAM_BETA1, ADAM_BETA2, ADAM_DECAY, ADAM_EPS, ADAM_AMSGRAD, ADAM_MAXIMIZE, ADAM_SCALE };

/* m = beta * m + (1 - beta) * x */
static struct aten_value *averaged(struct aten_graph *g, struct aten_value *m, struct aten_value *x, double beta)
{
    return aten_add(g, aten_scaled(g, m, beta, 0), aten_scaled(g, x, 1 - beta, 0));
}

static bool adam_one(const struct step *s, bool decoupled)
{
    struct aten_graph *g = s->g;
    const struct aten_node *n = s->n;
    const int32_t type = aten_wide(n->outputs[s->at].type);
    const double beta1 = aten_real(g, n, ADAM_BETA1, 0.9), beta2 = aten_real(g, n, ADAM_BETA2, 0.999);
    const double decay = aten_real(g, n, ADAM_DECAY, 0), eps = aten_real(g, n, ADAM_EPS, 1e-8);
    const bool amsgrad = aten_int(g, n, ADAM_AMSGRAD, 0);
    struct aten_value *p = element(s, 0, type), *m = element(s, 2, type), *v = element(s, 3, type), *p0 = p, *m0 = m;
    struct aten_value *v0 = v, *grad = gradient(s, type, aten_int(g, n, ADAM_MAXIMIZE, 0));
    struct aten_value *lr = aten_reshape(g, aten_in_as(g, n, ADAM_LR, type), 0, NULL);
    struct aten_value *t = aten_reshape(g, element(s, 5, type), 0, NULL);
    if (decay != 0 && decoupled)
        p = aten_multiply(g, p, aten_scaled(g, lr, -decay, 1));
    else if (decay != 0)
        grad = aten_add(g, grad, aten_scaled(g, p, decay, 0));
    m = averaged(g, m, grad, beta1);
    v = averaged(g, v, aten_multiply(g, grad, grad), beta2);
    /* 1 - beta^step, as x^y of a constant and a scalar. */
    struct aten_value *bias1 = aten_scaled(g, aten_apply2(g, EW(POW), like(g, t, beta1), t), -1, 1);
    struct aten_value *bias2 = aten_scaled(g, aten_apply2(g, EW(POW), like(g, t, beta2), t), -1, 1);
    struct aten_value *most = v;
    if (amsgrad) {
        struct aten_value *most0 = element(s, 4, type);
        most = aten_apply2(g, EW(MAX), most0, v);
        if (!written(s, 4, most0, most))
            return false;
    }
    struct aten_value *root = aten_divide(g, aten_apply(g, EW(SQRT), most), aten_apply(g, EW(SQRT), bias2));
    struct aten_value *change = aten_divide(g, m, aten_scaled(g, root, 1, eps));
    p = aten_subtract(g, p, aten_multiply(g, change, aten_divide(g, lr, bias1)));
    return written(s, 0, p0, p) && written(s, 2, m0, m) && written(s, 3, v0, v);
}

/* _fused_adam_, _fused_adamw_(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, ...); parameter 1:
 * adamw. */
bool aten_build_fused_adam(struct aten_graph *g, const struct aten_node *n)
{
    struct step s;
    if (!step_begin(g, n, ADAM_SCALE, &s))
        return false;
    for (s.at = 0; s.at < s.count; s.at++)
        if (!adam_one(&s, n->parameter))
            return aten_fail(g, "unsupported arguments");
    return true;
}

enum { SGD_DECAY = 3, SGD_MOMENTUM, SGD_LR, SGD_DAMPENING, SGD_NESTEROV, SGD_MAXIMIZE, SGD_FIRST, SGD_SCALE };

static bool sgd_one(const struct step *s)
{
    struct aten_graph *g = s->g;
    const struct aten_node *n = s->n;
    const int32_t type = aten_wide(n->outputs[s->at].type);
    const double decay = aten_real(g, n, SGD_DECAY, 0), momentum = aten_real(g, n, SGD_MOMENTUM, 0);
    struct aten_value *p = element(s, 0, type), *grad = gradient(s, type, aten_int(g, n, SGD_MAXIMIZE, 0));
    struct aten_value *lr = aten_reshape(g, aten_in_as(g, n, SGD_LR, type), 0, NULL);
    if (decay != 0)
        grad = aten_add(g, grad, aten_scaled(g, p, decay, 0));
    if (momentum != 0) {
        struct aten_value *before = element(s, 2, type), *buffer = grad;
        if (!aten_int(g, n, SGD_FIRST, 0))
            buffer = aten_add(g, aten_scaled(g, before, momentum, 0),
                              aten_scaled(g, grad, 1 - aten_real(g, n, SGD_DAMPENING, 0), 0));
        if (!written(s, 2, before, buffer))
            return false;
        grad = aten_int(g, n, SGD_NESTEROV, 0) ? aten_add(g, grad, aten_scaled(g, buffer, momentum, 0)) : buffer;
    }
    return written(s, 0, p, aten_subtract(g, p, aten_multiply(g, grad, lr)));
}

/* _fused_sgd_(self, grads, momentum_buffer_list, weight_decay, momentum, lr, ...) */
bool aten_build_fused_sgd(struct aten_graph *g, const struct aten_node *n)
{
    struct step s;
    if (!step_begin(g, n, SGD_SCALE, &s))
        return false;
    for (s.at = 0; s.at < s.count; s.at++)
        if (!sgd_one(&s))
            return aten_fail(g, "unsupported arguments");
    return true;
}

enum { ADAGRAD_STEPS = 3, ADAGRAD_LR, ADAGRAD_LR_DECAY, ADAGRAD_DECAY, ADAGRAD_EPS, ADAGRAD_MAXIMIZE, ADAGRAD_SCALE };

static bool adagrad_one(const struct step *s)
{
    struct aten_graph *g = s->g;
    const struct aten_node *n = s->n;
    const int32_t type = aten_wide(n->outputs[s->at].type);
    const double decay = aten_real(g, n, ADAGRAD_DECAY, 0), slower = aten_real(g, n, ADAGRAD_LR_DECAY, 0);
    struct aten_value *p = element(s, 0, type), *sum0 = element(s, 2, type), *sum;
    struct aten_value *grad = gradient(s, type, aten_int(g, n, ADAGRAD_MAXIMIZE, 0));
    struct aten_value *lr = aten_reshape(g, aten_in_as(g, n, ADAGRAD_LR, type), 0, NULL);
    struct aten_value *t = aten_reshape(g, element(s, ADAGRAD_STEPS, type), 0, NULL);
    if (decay != 0)
        grad = aten_add(g, grad, aten_scaled(g, p, decay, 0));
    sum = aten_add(g, sum0, aten_multiply(g, grad, grad));
    lr = aten_divide(g, lr, aten_scaled(g, t, slower, 1 - slower)); /* lr / (1 + (step - 1) * lr_decay) */
    struct aten_value *root = aten_scaled(g, aten_apply(g, EW(SQRT), sum), 1, aten_real(g, n, ADAGRAD_EPS, 1e-10));
    struct aten_value *change = aten_multiply(g, aten_divide(g, grad, root), lr);
    return written(s, 0, p, aten_subtract(g, p, change)) && written(s, 2, sum0, sum);
}

/* _fused_adagrad_(self, grads, state_sums, state_steps, lr, lr_decay, weight_decay, eps, maximize, ...) */
bool aten_build_fused_adagrad(struct aten_graph *g, const struct aten_node *n)
{
    struct step s;
    if (!step_begin(g, n, ADAGRAD_SCALE, &s))
        return false;
    for (s.at = 0; s.at < s.count; s.at++)
        if (!adagrad_one(&s))
            return aten_fail(g, "unsupported arguments");
    return true;
}

/* ---- gradient scalers ---- */

/* _amp_foreach_non_finite_check_and_unscale_(self, found_inf, inv_scale) */
bool aten_build_amp_unscale(struct aten_graph *g, const struct aten_node *n)
{
    const uint32_t count = n->args[0].count;
    struct aten_value *found = aten_in(g, n, 1), *scale = aten_in_as(g, n, 2, ATEN_FLOAT32);
    found = aten_convert(g, aten_reshape(g, found, 0, NULL), ATEN_BOOLEAN);
    scale = aten_reshape(g, scale, 0, NULL);
    for (uint32_t i = 0; i < count; i++) {
        struct aten_value *x = aten_convert(g, n->args[0].values[i], aten_wide(n->outputs[i].type));
        /* x - x is NaN if x is not finite. */
        struct aten_value *odd = aten_flat(g, aten_test(g, EW(IS_NAN), aten_subtract(g, x, x), 0));
        if (x && aten_elements(x))
            found = aten_apply2(g, EW(LOGICAL_OR), found, aten_squeeze(g, aten_any(g, odd, 1), 0));
        if (!aten_result(g, n, i, aten_multiply(g, x, aten_convert(g, scale, x ? x->type : ATEN_FLOAT32))))
            return false;
    }
    return aten_result(g, n, count, aten_reshape(g, found, n->outputs[count].rank, n->outputs[count].sizes));
}

/* _amp_update_scale_(self, growth_tracker, found_inf, scale_growth_factor, scale_backoff_factor, growth_interval) */
bool aten_build_amp_update_scale(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_value *scale = aten_in(g, n, 0), *tracker = aten_in(g, n, 1);
    struct aten_value *found = aten_convert(g, aten_in(g, n, 2), ATEN_BOOLEAN);
    const double growth = aten_real(g, n, 3, 2), backoff = aten_real(g, n, 4, 0.5);
    struct aten_value *next = aten_scaled(g, tracker, 1, 1), *zero = like(g, tracker, 0);
    struct aten_value *due =
        tracker ? aten_apply2(g, EW(LOGICAL_EQUALS), next, aten_scalar_int(g, tracker->type, aten_int(g, n, 5, 2000)))
                : NULL;
    struct aten_value *grown = aten_scaled(g, scale, growth, 0);
    struct aten_value *far = aten_test(g, EW(IS_INFINITY), grown, DML_IS_INFINITY_MODE_EITHER);
    grown = aten_select(g, due, aten_select(g, far, scale, grown), scale);
    return aten_result(g, n, 0, aten_select(g, found, aten_scaled(g, scale, backoff, 0), grown)) &&
           aten_result(g, n, 1, aten_select(g, found, zero, aten_select(g, due, zero, next)));
}

/* ---- _foreach_ ---- */

/* The operands for one tensor: element i of each list; other arguments are unchanged. */
static bool operands_of(struct aten_graph *g, const struct aten_node *n, uint32_t i, struct aten_operand *out)
{
    for (uint32_t k = 0; k < n->arg_count; k++) {
        const struct aten_operand *a = &n->args[k];
        out[k] = *a;
        if (a->kind == ATEN_TENSORS) {
            if (i >= a->count || !a->values[i])
                return aten_fail(g, "argument %u has %u tensors, must have %u", k, a->count, n->args[0].count);
            out[k].kind = ATEN_TENSOR;
            out[k].count = 1;
            out[k].values = &a->values[i];
        } else if (a->kind == ATEN_NUMBERS) {
            if (i >= a->count)
                return aten_fail(g, "argument %u has %u numbers, must have %u", k, a->count, n->args[0].count);
            out[k] = (struct aten_operand){ .kind = a->numbers[i].kind, .element = i };
            out[k].integer = a->numbers[i].integer; /* copies reals, too */
        } else if (a->kind == ATEN_REALS || a->kind == ATEN_INTS) {
            if (i >= a->count)
                return aten_fail(g, "argument %u has %u numbers, must have %u", k, a->count, n->args[0].count);
            out[k] = (struct aten_operand){ .kind = a->kind == ATEN_REALS ? ATEN_REAL : ATEN_INT };
            out[k].integer = a->integers[i]; /* copies reals, too */
            g->baked = true;                 /* elements of these lists cannot be bound as inputs of a plan */
        }
    }
    return true;
}

/* The operator of one tensor with the same name; its overload follows from that of the list: Scalar, ScalarList, List,
 * Tensor. */
static const struct aten_op *single(const struct aten_node *n)
{
    const char *name = n->op->name + strlen("_foreach_"), *overload = n->op->overload;
    const bool scalar = !strncmp(overload, "Scalar", 6);
    if (!strcmp(name, "norm"))
        return aten_op_find("linalg_vector_norm", "");
    if (!strcmp(name, "pow"))
        return aten_op_find(name, !strcmp(overload, "ScalarAndTensor") ? "Scalar"
                                  : scalar                             ? "Tensor_Scalar"
                                                                       : "Tensor_Tensor");
    if (!strcmp(name, "maximum") || !strcmp(name, "minimum"))
        return scalar ? aten_op_find(name[1] == 'a' ? "clamp_min" : "clamp_max", "") : aten_op_find(name, "");
    const struct aten_op *plain = aten_op_find(name, "");
    if (plain && (scalar || !*overload))
        return plain;
    return aten_op_find(name, scalar ? "Scalar" : "Tensor");
}

bool aten_build_foreach(struct aten_graph *g, const struct aten_node *n)
{
    struct aten_operand *operands = aten_alloc(g, (n->arg_count + 1u) * sizeof(*operands));
    struct aten_node one = *n;
    one.op = single(n);
    if (!one.op || !operands)
        return aten_fail(g, "the operator is not supported for single tensors");
    one.args = operands;
    one.output_count = 1;
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->output_count; i++) {
        one.outputs = &n->outputs[i];
        one.results = &n->results[i];
        ok = operands_of(g, n, i, operands);
        ok = ok && aten_build(g, &one);
    }
    return ok;
}
