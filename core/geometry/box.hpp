#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "geometry/points.hpp"
#include "support/parallel.hpp"
#include "support/simd.hpp"

namespace flatmetric {

// The smallest box with sides along the axes around some points.
template <int D>
struct Box {
    using Corner = std::conditional_t<(D > 0), std::array<double, D>, std::vector<double>>;
    Corner low{};
    Corner high{};

    void include(const double* point, int dim) {
        for (int k = 0; k < dim; ++k) {
            low[k] = std::min(low[k], point[k]);
            high[k] = std::max(high[k], point[k]);
        }
    }

    // Both coordinates of a point at once, and four points in turn.
    void include_all(Points<2> points) {
        constexpr Index kTurns = 4;
        Double2 lows[kTurns];
        Double2 highs[kTurns];
        std::fill_n(lows, kTurns, load2(low.data()));
        std::fill_n(highs, kTurns, load2(high.data()));
        const auto take = [&](Index i, Index turn) {
            const Double2 point = load2(points[i]);
            lows[turn] = min2(point, lows[turn]);
            highs[turn] = max2(point, highs[turn]);
        };
        Index i = 0;
        for (; i + kTurns <= points.n; i += kTurns) {
            for (Index turn = 0; turn < kTurns; ++turn) take(i + turn, turn);
        }
        for (; i < points.n; ++i) take(i, 0);
        for (Index turn = 1; turn < kTurns; ++turn) {
            lows[0] = min2(lows[turn], lows[0]);
            highs[0] = max2(highs[turn], highs[0]);
        }
        store2(low.data(), lows[0]);
        store2(high.data(), highs[0]);
    }

    static Box around(Points<D> points, Crew& crew) {
        const auto count = static_cast<std::size_t>(points.n);
        if (count <= kRange) return around(points);
        std::vector<Box> boxes((count + kRange - 1) / kRange);
        crew.run(boxes.size(), [&](std::size_t k, int, Interrupt&) {
            const auto begin = static_cast<Index>(k * kRange);
            const auto size = static_cast<Index>(std::min(kRange, count - k * kRange));
            boxes[k] = around({points[begin], size, points.dim});
        });
        for (const Box& box : boxes) {
            boxes[0].include(box.low.data(), points.dims());
            boxes[0].include(box.high.data(), points.dims());
        }
        return boxes[0];
    }

    static Box around(Points<D> points) {
        Box box;
        const int dim = points.dims();
        if constexpr (D == 0) {
            box.low.resize(dim);
            box.high.resize(dim);
        }
        for (int k = 0; k < dim; ++k) {
            box.low[k] = std::numeric_limits<double>::infinity();
            box.high[k] = -std::numeric_limits<double>::infinity();
        }
        if constexpr (D == 2) {
            box.include_all(points);
            return box;
        }
        Box other = box;  // two boxes in turn, so that a comparison need not wait for the last one
        Index i = 0;
        for (; i + 1 < points.n; i += 2) {
            box.include(points[i], dim);
            other.include(points[i + 1], dim);
        }
        if (i < points.n) box.include(points[i], dim);
        for (int k = 0; k < dim; ++k) {
            box.low[k] = std::min(box.low[k], other.low[k]);
            box.high[k] = std::max(box.high[k], other.high[k]);
        }
        return box;
    }
};

// An upper bound on the distance between any two points in the two boxes.
template <int D>
double diameter_bound(const Box<D>& a, const Box<D>& b) {
    double squares = 0.0;
    for (std::size_t k = 0; k < a.low.size(); ++k) {
        const double extent = std::max(a.high[k], b.high[k]) - std::min(a.low[k], b.low[k]);
        squares += extent * extent;
    }
    return std::sqrt(squares);
}

}  // namespace flatmetric
