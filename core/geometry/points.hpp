#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace flatmetric {

using Index = std::int32_t;
constexpr Index kNone = -1;

// Row-major coordinates of n points. D > 0 fixes the dimension at compile time; D == 0 reads it from `dim`.
template <int D>
struct Points {
    const double* data = nullptr;
    Index n = 0;
    int dim = D;

    int dims() const {
        if constexpr (D > 0) {
            return D;
        } else {
            return dim;
        }
    }
    const double* operator[](Index i) const { return data + static_cast<std::size_t>(i) * dims(); }

    // The same points for code that knows their dimension, or that takes any.
    template <int E>
    Points<E> in() const {
        return {data, n, dims()};
    }
};

template <int D>
double squared_distance(const double* a, const double* b, int dim) {
    const int d = D > 0 ? D : dim;
    double sum = 0.0;
    for (int k = 0; k < d; ++k) {
        const double delta = a[k] - b[k];
        sum += delta * delta;
    }
    return sum;
}

template <int D>
double distance(const double* a, const double* b, int dim) {
    return std::sqrt(squared_distance<D>(a, b, dim));
}

}  // namespace flatmetric
