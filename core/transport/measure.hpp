#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "geometry/points.hpp"
#include "support/exact.hpp"
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
    // The integral of f, without loss.
    template <class F>
    Exact integral(const F& f, Crew& crew) const {
        std::vector<Exact> sums((points.n + kRange - 1) / kRange);
        crew.run(sums.size(), [&](std::size_t k, int, Interrupt&) {
            const std::size_t end = std::min<std::size_t>(points.n, (k + 1) * kRange);
            for (std::size_t i = k * kRange; i < end; ++i)
                sums[k] += mass == nullptr ? Exact(f(i)) : Exact::product(mass[i], f(i));
        });
        Exact sum;
        for (const Exact& part : sums) sum += part;
        return sum;
    }
};

}  // namespace flatmetric
