/* SPDX-License-Identifier: Apache-2.0 */
// Builds a graph with DirectMLX.h, runs it on the cpu adapter with inputs given as doubles, and compares what comes out
// with doubles that a test computed by plain loops.
#ifndef DIRECTMLX_HARNESS_H
#define DIRECTMLX_HARNESS_H

#include <DirectMLX.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

constexpr DML_TENSOR_DATA_TYPE F32 = DML_TENSOR_DATA_TYPE_FLOAT32, U8 = DML_TENSOR_DATA_TYPE_UINT8,
                               I8 = DML_TENSOR_DATA_TYPE_INT8, U32 = DML_TENSOR_DATA_TYPE_UINT32,
                               I32 = DML_TENSOR_DATA_TYPE_INT32;

using Sizes = std::vector<uint32_t>;
using Values = std::vector<double>;

struct Tensor {
    DML_TENSOR_DATA_TYPE type = F32;
    Sizes sizes;
    Values values;
    DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE;

    /* An element by its indices. */
    template <typename... I> double at(I... indices) const
    {
        size_t offset = 0, i = 0;
        ((offset = offset * sizes[i++] + indices), ...);
        return values[offset];
    }
};

using In = std::vector<dml::Expression>;
using Out = std::vector<dml::Expression>;
using Build = std::function<Out(dml::Graph &, const In &)>;

IDMLDevice *device();

/* Values between low and high that are the same in every run; whole numbers for integer types. */
Tensor random_tensor(Sizes sizes, double low = -2, double high = 2, DML_TENSOR_DATA_TYPE type = F32);
Values map(const Tensor &x, const std::function<double(double)> &f);
Values zip(const Tensor &a, const Tensor &b, const std::function<double(double, double)> &f);

/* The graph's outputs, of which a missing one makes the test fail. */
std::vector<Tensor> run(const std::string &name, const std::vector<Tensor> &inputs, const Build &build,
                        const dml::TensorPolicy &policy = dml::TensorPolicy::Default());

void fail(const std::string &message);
/* Sizes, if there are any, and values up to `tolerance` times what is greater: 1 or the value. */
void expect(const std::string &name, const Tensor &result, const Values &expected, const Sizes &sizes = {},
            double tolerance = 2e-5);
void expect_true(const std::string &name, bool fine);

void test_graph();
void test_math();
void test_activation();
void test_dense();
void test_norm();
void test_data();

#endif
