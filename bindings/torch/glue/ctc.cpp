// SPDX-License-Identifier: Apache-2.0
// The connectionist temporal classification loss and its gradient: sums over all paths through the target, step by
// step, as compositions over the batch and the states.
#include "glue.h"

#include <limits>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

namespace dml
{
namespace
{

using at::Tensor;

constexpr double kNone = -std::numeric_limits<double>::infinity(); // log(0)

// States are the target's labels, with a blank before, between and after them.
struct States {
    Tensor probs;          // {steps, batch, classes}
    Tensor labels;         // {batch, states}
    Tensor each;           // {steps, batch, states}: log probability of each state's label
    Tensor skips;          // {batch, states}: whether the state may follow the state two positions earlier
    Tensor lasts;          // {batch, states}: whether a path may end in the state
    Tensor steps, targets; // {batch, 1}: lengths
    int64_t count;
};

Tensor lengths_on(const Tensor &like, at::IntArrayRef lengths)
{
    return at::tensor(lengths, at::TensorOptions().dtype(at::kLong)).to(like.device());
}

// {steps, batch, classes}, in float64 if the device supports it: the rounding errors of the logarithms accumulate over
// the steps, and the gradient is the exponential of their sums.
Tensor precise(const Tensor &log_probs)
{
    Tensor probs = log_probs.dim() == 2 ? log_probs.unsqueeze(1) : log_probs;
    return aten_has_type(device(probs.device().index()), ATEN_FLOAT64) ? probs.to(at::kDouble) : probs;
}

// {batch, longest}: consecutive or padded targets, each filled up with blanks.
Tensor padded_targets(const Tensor &targets, at::IntArrayRef lengths, int64_t blank)
{
    auto batch = static_cast<int64_t>(lengths.size());
    int64_t longest = 0, total = 0;
    for (int64_t length : lengths) {
        TORCH_CHECK(length >= 0, "Expected target_lengths to have value at least 0, but got ", length);
        longest = std::max(longest, length);
        total += length;
    }
    Tensor all = at::full({ batch, longest }, blank, targets.options());
    if (targets.dim() == 1) {
        TORCH_CHECK(targets.size(0) == total, "Expected tensor to have size ", total, " at dimension 0, but got size ",
                    targets.size(0), " (while checking arguments for ctc_loss)");
    } else {
        TORCH_CHECK(targets.size(0) == batch && targets.size(1) >= longest, "Expected targets of {", batch,
                    ", at least ", longest, "}, but got ", targets.sizes(), " (while checking arguments for ctc_loss)");
    }
    for (int64_t n = 0, at = 0; n < batch; at += lengths[static_cast<size_t>(n++)]) {
        int64_t length = lengths[static_cast<size_t>(n)];
        Tensor from = targets.dim() == 1 ? targets.narrow(0, at, length) : targets[n].narrow(0, 0, length);
        all[n].narrow(0, 0, length).copy_(from);
    }
    return all;
}

States states_of(const Tensor &log_probs, const Tensor &targets, at::IntArrayRef steps, at::IntArrayRef lengths,
                 int64_t blank)
{
    int64_t batch = log_probs.size(1), classes = log_probs.size(2);
    TORCH_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
    TORCH_CHECK(static_cast<int64_t>(steps.size()) == batch, "input_lengths must be of size batch_size");
    TORCH_CHECK(static_cast<int64_t>(lengths.size()) == batch, "target_lengths must be of size batch_size");
    for (int64_t length : steps)
        TORCH_CHECK(length >= 0 && length <= log_probs.size(0), "Expected input_lengths to have value at most ",
                    log_probs.size(0), ", but got value ", length);
    States s;
    s.probs = log_probs;
    Tensor plain = padded_targets(targets.to(log_probs.device(), at::kLong), lengths, blank);
    s.count = 2 * plain.size(1) + 1;
    s.labels = at::full({ batch, s.count }, blank, plain.options());
    if (plain.size(1))
        s.labels.slice(1, 1, s.count, 2).copy_(plain);
    s.each = log_probs.gather(2, s.labels.unsqueeze(0).expand({ log_probs.size(0), batch, s.count }));
    s.steps = lengths_on(log_probs, steps).unsqueeze(1);
    s.targets = lengths_on(log_probs, lengths).unsqueeze(1);
    s.skips = at::zeros({ batch, s.count }, plain.options().dtype(at::kBool));
    if (s.count > 2)
        s.skips.slice(1, 2).copy_(
            s.labels.slice(1, 2).ne(s.labels.slice(1, 0, -2)).logical_and(s.labels.slice(1, 2).ne(blank)));
    Tensor at = at::arange(s.count, plain.options()).unsqueeze(0);
    s.lasts = at.eq(s.targets * 2).logical_or(at.eq(s.targets * 2 - 1));
    return s;
}

// Shifts the states' values by `by` positions: positive towards the end, negative towards the beginning; the rest is
// log(0).
Tensor moved(const Tensor &x, int64_t by)
{
    int64_t count = x.size(1), rest = std::max<int64_t>(count - std::abs(by), 0);
    Tensor none = at::full({ x.size(0), count - rest }, kNone, x.options());
    return by > 0 ? at::cat({ none, x.narrow(1, 0, rest) }, 1) : at::cat({ x.narrow(1, count - rest, rest), none }, 1);
}

Tensor total(const Tensor &a, const Tensor &b)
{
    return at::logaddexp(a, b);
}

std::tuple<Tensor, Tensor> forward(const Tensor &log_probs, const Tensor &targets, at::IntArrayRef steps,
                                   at::IntArrayRef lengths, int64_t blank, bool)
{
    Tensor probs = precise(log_probs);
    States s = states_of(probs, targets, steps, lengths, blank);
    int64_t batch = probs.size(1), most = probs.size(0);
    Tensor first = at::full({ batch, s.count }, kNone, probs.options());
    if (most) {
        first.select(1, 0).copy_(s.each[0].select(1, 0));
        if (s.count > 1)
            first.select(1, 1).copy_(at::where(s.targets.squeeze(1).gt(0), s.each[0].select(1, 1), kNone));
    }
    std::vector<Tensor> ways = { first };
    for (int64_t t = 1; t < most; t++) {
        const Tensor &before = ways.back();
        Tensor here = total(before, moved(before, 1));
        here = at::where(s.skips, total(here, moved(before, 2)), here) + s.each[t];
        ways.push_back(here);
    }
    Tensor all = at::stack(ways, 1); // {batch, steps, states}
    Tensor at = (s.steps - 1).clamp_min(0).unsqueeze(2).expand({ batch, 1, s.count });
    Tensor end = all.gather(1, at).squeeze(1);
    Tensor loss = -at::logsumexp(end.masked_fill(s.lasts.logical_not(), kNone), { 1 });
    // With zero steps there is exactly one path to an empty target and none to any other.
    Tensor empty = at::where(s.targets.squeeze(1).eq(0), at::zeros_like(loss), at::full_like(loss, -kNone));
    at::ScalarType type = log_probs.scalar_type();
    return { at::where(s.steps.squeeze(1).eq(0), empty, loss).to(type), all.to(type) };
}

// Log probability of all paths from each state to the end, {batch, steps, states}.
Tensor ways_back(const States &s)
{
    int64_t most = s.probs.size(0), batch = s.probs.size(1);
    Tensor none = at::full({ batch, s.count }, kNone, s.probs.options()), here = none;
    Tensor skipped = at::cat({ s.skips.slice(1, std::min<int64_t>(2, s.count)),
                               at::zeros({ batch, std::min<int64_t>(2, s.count) }, s.skips.options()) },
                             1);
    std::vector<Tensor> ways(static_cast<size_t>(most));
    for (int64_t t = most; t-- > 0;) {
        Tensor after = total(here, moved(here, -1));
        after = at::where(skipped, total(after, moved(here, -2)), after);
        Tensor begins = s.steps.eq(t + 1); // samples for which this is the last step
        after = at::where(begins, at::where(s.lasts, 0.0, kNone).to(after.scalar_type()), after);
        here = (after + s.each[t]).masked_fill(s.steps.le(t), kNone);
        ways[static_cast<size_t>(t)] = here;
    }
    return at::stack(ways, 1);
}

Tensor backward(const Tensor &grad, const Tensor &log_probs, const Tensor &targets, at::IntArrayRef steps,
                at::IntArrayRef lengths, const Tensor &loss, const Tensor &ways, int64_t blank, bool zero_infinity)
{
    bool single = log_probs.dim() == 2;
    Tensor probs = precise(log_probs);
    if (!probs.size(0))
        return at::zeros_like(log_probs);
    States s = states_of(probs, targets, steps, lengths, blank);
    auto column = [](const Tensor &t) { return t.reshape({ -1, 1, 1 }); };
    Tensor both = (ways + ways_back(s)).transpose(0, 1), nothing = both.eq(kNone);
    Tensor share = (both - s.each + column(loss).transpose(0, 1)).masked_fill(nothing, kNone).exp();
    Tensor labels = s.labels.unsqueeze(0).expand_as(share);
    Tensor dx = probs.exp() - at::zeros_like(probs, at::MemoryFormat::Contiguous).scatter_add(2, labels, share);
    dx = dx * column(grad).transpose(0, 1);
    Tensor at = at::arange(probs.size(0), s.steps.options()).reshape({ -1, 1, 1 });
    dx = dx.masked_fill(at.ge(column(s.steps).transpose(0, 1)), 0);
    if (zero_infinity)
        dx = dx.masked_fill(column(loss).transpose(0, 1).eq(-kNone), 0);
    dx = dx.to(log_probs.scalar_type());
    return single ? dx.squeeze(1) : dx;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("_ctc_loss", forward);
    m.impl("_ctc_loss_backward", backward);
}

} // namespace
} // namespace dml
