#pragma once

#include <cstddef>

#include "geometry/points.hpp"
#include "support/parallel.hpp"
#include "support/sums.hpp"

namespace flatmetric {

// One side of a problem: coordinates, and masses or null where every point has mass 1.
template <int D>
struct Measure {
    Points<D> points;
    const double* mass = nullptr;

    double total() const {
        if (mass == nullptr) return points.n;
        return sum_of(points.n, [this](std::size_t i) { return mass[i]; });
    }
    double integral(const double* f, Crew& crew) const {
        if (mass == nullptr) return sum_of(points.n, crew, [f](std::size_t i) { return f[i]; });
        return sum_of(points.n, crew, [this, f](std::size_t i) { return mass[i] * f[i]; });
    }
};

}  // namespace flatmetric
