/* SPDX-License-Identifier: Apache-2.0 */
/* DirectMLX.h: basic types. Spans, optional values, errors, tensor descriptions and policies. */
#ifndef ANYDML_DMLX_TYPES_H
#define ANYDML_DMLX_TYPES_H

#include "../DirectML.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wrl/client.h>

#if DML_TARGET_VERSION < 0x2100
#error "DirectMLX.h makes graphs, which DML_TARGET_VERSION has from 0x2100"
#endif

namespace dml
{

using Microsoft::WRL::ComPtr;

template <typename T> using Optional = std::optional<T>;
inline constexpr std::nullopt_t NullOpt = std::nullopt;
using StringView = std::string_view;
using Byte = std::byte;
template <typename T, size_t N> using SmallVector = std::vector<T>;

/* A view of consecutive elements, from anything that std::data accepts (including std::span), or from a braced list,
 * which lives until the end of the full expression. One type for all standards: std::span does not accept lists before
 * C++26. */
template <typename T> class Span
{
    template <typename C>
    using IfElements = std::enable_if_t<std::is_convertible_v<decltype(std::data(std::declval<C &>())), T *>>;

  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr Span() = default;
    constexpr Span(T *data, size_t size) : m_data(data), m_size(size)
    {
    }
    constexpr Span(std::initializer_list<value_type> list) : m_size(list.size())
    {
        m_data = list.begin();
    }
    template <typename C, typename = IfElements<C>>
    constexpr Span(C &&container) : m_data(std::data(container)), m_size(std::size(container))
    {
    }
    constexpr T *data() const
    {
        return m_data;
    }
    constexpr size_t size() const
    {
        return m_size;
    }
    constexpr bool empty() const
    {
        return m_size == 0;
    }
    constexpr T *begin() const
    {
        return m_data;
    }
    constexpr T *end() const
    {
        return m_data + m_size;
    }
    constexpr T &operator[](size_t i) const
    {
        return m_data[i];
    }

  private:
    T *m_data = nullptr;
    size_t m_size = 0;
};

using TensorDimensions = SmallVector<uint32_t, 4>;
using TensorStrides = SmallVector<uint32_t, 4>;

/* The exception type: a std::runtime_error with its HRESULT. */
class Error : public std::runtime_error
{
  public:
    Error(HRESULT code, const std::string &what) : std::runtime_error(what), m_code(code)
    {
    }
    HRESULT Code() const
    {
        return m_code;
    }

  private:
    HRESULT m_code;
};

/* DMLX_FAIL(hr, text) must not return. */
#ifndef DMLX_FAIL
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define DMLX_FAIL(hr, text) throw ::dml::Error(hr, text)
#else
#define DMLX_FAIL(hr, text) (std::fprintf(stderr, "%s\n", std::string(text).c_str()), std::abort())
#endif
#endif

namespace detail
{

[[noreturn]] inline void Fail(HRESULT hr, const std::string &what)
{
    char code[16];
    std::snprintf(code, sizeof(code), ": 0x%08x", static_cast<unsigned>(hr));
    DMLX_FAIL(hr, "DirectMLX: " + what + code);
}

/* Only errors that would break the header itself are checked here; CreateOperator checks and reports the rest. */
inline void Check(bool fine, const char *rule)
{
    if (!fine)
        Fail(E_INVALIDARG, rule);
}

inline uint32_t BitsOf(DML_TENSOR_DATA_TYPE type)
{
    switch (type) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
    case DML_TENSOR_DATA_TYPE_UINT64:
    case DML_TENSOR_DATA_TYPE_INT64:
        return 64;
    case DML_TENSOR_DATA_TYPE_FLOAT32:
    case DML_TENSOR_DATA_TYPE_UINT32:
    case DML_TENSOR_DATA_TYPE_INT32:
        return 32;
    case DML_TENSOR_DATA_TYPE_UINT8:
    case DML_TENSOR_DATA_TYPE_INT8:
        return 8;
#if DML_TARGET_VERSION >= 0x6300
    case DML_TENSOR_DATA_TYPE_UINT4:
    case DML_TENSOR_DATA_TYPE_INT4:
        return 4;
#endif
    case DML_TENSOR_DATA_TYPE_UNKNOWN:
        Fail(E_INVALIDARG, "a tensor's data type must not be UNKNOWN");
    default: /* FLOAT16, UINT16, INT16, and the library's own 16-bit types */
        return 16;
    }
}

/* Up to the last element that sizes and strides reach, rounded up to 4 bytes as DirectML requires. */
inline uint64_t BytesOf(DML_TENSOR_DATA_TYPE type, Span<const uint32_t> sizes, const uint32_t *strides)
{
    uint64_t elements = 1;
    if (strides) {
        for (size_t i = 0; i < sizes.size(); i++)
            elements += (static_cast<uint64_t>(sizes[i]) - 1) * strides[i];
    } else {
        for (uint32_t size : sizes)
            elements *= size;
    }
    return (elements * BitsOf(type) + 31) / 32 * 4;
}

} /* namespace detail */

struct TensorProperties {
    Optional<TensorStrides> strides;
    uint64_t totalTensorSizeInBytes = 0;
    uint32_t guaranteedBaseOffsetAlignment = 0;
};

/* The memory layout of tensors: a function from type, flags and sizes to strides, bytes and alignment. */
class TensorPolicy
{
  public:
    using Func = std::function<TensorProperties(DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, Span<const uint32_t>)>;

    TensorPolicy() = default;
    TensorPolicy(Func function) : m_function(std::move(function))
    {
    }

    TensorProperties Get(DML_TENSOR_DATA_TYPE type, DML_TENSOR_FLAGS flags, Span<const uint32_t> sizes) const
    {
        if (m_function)
            return m_function(type, flags, sizes);
        return { NullOpt, detail::BytesOf(type, sizes, nullptr), 0 };
    }

    /* Packed, the last dimension innermost. */
    static TensorPolicy Default()
    {
        return {};
    }

    /* NHWC: packed, with the channels of [N, C, spatial...] innermost. */
    static TensorPolicy InterleavedChannel()
    {
        return TensorPolicy(Interleave);
    }

  private:
    static TensorProperties Interleave(DML_TENSOR_DATA_TYPE type, DML_TENSOR_FLAGS, Span<const uint32_t> sizes)
    {
        TensorStrides strides(sizes.size());
        uint32_t stride = sizes.size() > 1 ? sizes[1] : 1;
        for (size_t i = sizes.size(); i-- > 0;) {
            strides[i] = i == 1 ? 1 : stride;
            stride *= i == 1 ? 1 : sizes[i];
        }
        uint64_t bytes = detail::BytesOf(type, sizes, strides.data());
        return { std::move(strides), bytes, 0 };
    }

    Func m_function;
};

struct TensorDesc {
    using Dimensions = TensorDimensions;
    using Strides = TensorStrides;

    DML_TENSOR_DATA_TYPE dataType = DML_TENSOR_DATA_TYPE_UNKNOWN;
    DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE;
    TensorDimensions sizes;
    Optional<TensorStrides> strides;
    uint64_t totalTensorSizeInBytes = 0;
    uint32_t guaranteedBaseOffsetAlignment = 0;

    TensorDesc() = default;

    TensorDesc(DML_TENSOR_DATA_TYPE type, TensorDimensions dimensions, const TensorPolicy &policy = {})
        : TensorDesc(type, DML_TENSOR_FLAG_NONE, std::move(dimensions), policy)
    {
    }

    TensorDesc(DML_TENSOR_DATA_TYPE type, DML_TENSOR_FLAGS tensorFlags, TensorDimensions dimensions,
               const TensorPolicy &policy = {})
        : dataType(type), flags(tensorFlags), sizes(std::move(dimensions))
    {
        TensorProperties properties = policy.Get(dataType, flags, sizes);
        strides = std::move(properties.strides);
        totalTensorSizeInBytes = properties.totalTensorSizeInBytes;
        guaranteedBaseOffsetAlignment = properties.guaranteedBaseOffsetAlignment;
    }

    TensorDesc(DML_TENSOR_DATA_TYPE type, DML_TENSOR_FLAGS tensorFlags, TensorDimensions dimensions,
               Optional<TensorStrides> tensorStrides, uint64_t bytes, uint32_t alignment)
        : dataType(type), flags(tensorFlags), sizes(std::move(dimensions)), strides(std::move(tensorStrides)),
          totalTensorSizeInBytes(bytes), guaranteedBaseOffsetAlignment(alignment)
    {
    }

    TensorDesc(const DML_TENSOR_DESC &desc)
    {
        detail::Check(desc.Type == DML_TENSOR_TYPE_BUFFER && desc.Desc, "a tensor must be a buffer tensor");
        const auto &buffer = *static_cast<const DML_BUFFER_TENSOR_DESC *>(desc.Desc);
        dataType = buffer.DataType;
        flags = buffer.Flags;
        sizes.assign(buffer.Sizes, buffer.Sizes + buffer.DimensionCount);
        if (buffer.Strides)
            strides = TensorStrides(buffer.Strides, buffer.Strides + buffer.DimensionCount);
        totalTensorSizeInBytes = buffer.TotalTensorSizeInBytes;
        guaranteedBaseOffsetAlignment = buffer.GuaranteedBaseOffsetAlignment;
    }

    /* This as a DML_TENSOR_DESC or DML_BUFFER_TENSOR_DESC that points into this object, until either changes. */
    template <typename T> T *AsPtr()
    {
        static_assert(std::is_same_v<T, DML_TENSOR_DESC> || std::is_same_v<T, DML_BUFFER_TENSOR_DESC>);
        detail::Check(!strides || strides->size() == sizes.size(), "a tensor must have as many strides as sizes");
        m_buffer = { dataType,
                     flags,
                     static_cast<UINT>(sizes.size()),
                     sizes.data(),
                     strides ? strides->data() : nullptr,
                     totalTensorSizeInBytes,
                     guaranteedBaseOffsetAlignment };
        m_tensor = { DML_TENSOR_TYPE_BUFFER, &m_buffer };
        if constexpr (std::is_same_v<T, DML_TENSOR_DESC>)
            return &m_tensor;
        else
            return &m_buffer;
    }

  private:
    DML_BUFFER_TENSOR_DESC m_buffer = {};
    DML_TENSOR_DESC m_tensor = {};
};

} /* namespace dml */

#endif
