// SPDX-License-Identifier: Apache-2.0
// Converts the arguments of a torch operator call to the form of the C library.
#ifndef ANYDML_TORCH_GLUE_CALL_H
#define ANYDML_TORCH_GLUE_CALL_H

#include "glue.h"

#include <memory>

#include <c10/util/SmallVector.h>

namespace dml
{

enum class Form { Functional, InPlace, Out };
enum class Kind { Tensor, Tensors, Integer, Scalar, Bool, Integers, Reals, Numbers, Bools, String, Generator, Ignored };

// Memory of one call; it allocates only for long lists.
class Arena
{
  public:
    template <typename T> T *take(size_t count)
    {
        size_t bytes = (count * sizeof(T) + 15) & ~size_t{ 15 };
        if (bytes <= sizeof(fixed) - used) {
            void *at = fixed + used;
            used += bytes;
            return static_cast<T *>(at);
        }
        more.push_back(std::make_unique<char[]>(bytes));
        return reinterpret_cast<T *>(more.back().get());
    }

  private:
    alignas(16) char fixed[6144];
    size_t used = 0;
    std::vector<std::unique_ptr<char[]>> more;
};

// The arguments of one operator call in the C library's form.
struct Call {
    Arena arena;
    c10::SmallVector<aten_arg, 24> args;
    c10::SmallVector<at::Tensor, 4> kept;    // temporary tensors made for the call
    c10::SmallVector<at::Tensor, 4> written; // outputs[0] ...: in-place, out and further written arguments
    aten_tensor *outputs = nullptr;
    uint32_t output_count = 0;
    at::Generator generator;
    int64_t random[2] = { 0, 0 };
    c10::DeviceIndex index = -1;
    const char *problem = ""; // reason if the arguments cannot be converted
};

Kind kind_of(const c10::Argument &argument);
// Returns false for complex numbers, which the C library does not accept as scalars.
bool convert_number(const at::Scalar &value, aten_arg *arg);
// The value of aten_arg.count for a number that is passed as a tensor.
uint32_t count_of_number(const at::Tensor &tensor);
bool convert_tensor(Call &call, const at::Tensor &tensor, aten_tensor *out);
void add_generator(Call &call, const c10::IValue *value); // NULL: the default generator
// Appends the next argument. Returns false if the C library has no equivalent.
bool convert(Call &call, Kind kind, const c10::IValue &value);
void append_tensors(c10::SmallVectorImpl<at::Tensor> &to, const c10::IValue &value);

// Throws the error of torch's CPU kernels if an index is out of range. Must be called before the plan runs.
void check_indices(const aten_op *row, const aten_plan *plan, const aten_arg *args);

} // namespace dml

#endif
