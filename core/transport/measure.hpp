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
struct Measure {
    Points<0> points;
    const double* mass = nullptr;

    double total() const {
        if (mass == nullptr) return points.n;
        return sum_of(points.n, [this](std::size_t i) { return mass[i]; });
    }
    // The integral of f: of masses without loss, of points by a compensated sum.
    template <class F>
    Exact integral(const F& f, Crew& crew) const {
        if (mass == nullptr) return sum_of(points.n, crew, f);
        const auto sum_from = [&](std::size_t begin, std::size_t end) {
            Exact sum;
            for (std::size_t i = begin; i < end; ++i) sum += Exact::product(mass[i], f(i));
            return sum;
        };
        const auto n = static_cast<std::size_t>(points.n);
        if (n <= kRange) return sum_from(0, n);
        std::vector<Exact> sums((n + kRange - 1) / kRange);
        crew.run(sums.size(), [&](std::size_t k, int, Interrupt&) {
            sums[k] = sum_from(k * kRange, std::min(n, (k + 1) * kRange));
        });
        Exact sum;
        for (const Exact& part : sums) sum += part;
        return sum;
    }
    // The mass of the whole, without loss.
    Exact whole(Crew& crew) const {
        return mass == nullptr ? Exact(points.n) : integral([](std::size_t) { return 1.0; }, crew);
    }
};

}  // namespace flatmetric
