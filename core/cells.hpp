#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "points.hpp"

namespace flatmetric {

// Equal cells over the common box of two point sets, a few points of the first in each. Good for points that are spread
// evenly; `crowded` tells when they are not.
template <int D>
class Cells {
public:
    static constexpr int kRings = 4;         // of cells around a point that are searched
    static constexpr Index kCrowd = 64;      // points in one cell that make trees the better choice
    static constexpr double kPerCell = 2.0;  // points aimed at

    void build(Points<D> points, const double* low, const double* high) {
        points_ = points;
        // Axes along which all points lie within one cell do not count.
        std::array<bool, D> divided;
        divided.fill(true);
        double side = 0.0;
        for (bool again = true; again;) {
            again = false;
            double volume = kPerCell / points.n;
            int axes = 0;
            for (int k = 0; k < D; ++k) {
                if (!divided[k]) continue;
                volume *= high[k] - low[k];
                ++axes;
            }
            side = axes == 0 ? 0.0 : std::pow(volume, 1.0 / axes);
            for (int k = 0; k < D; ++k) {
                if (divided[k] && !(high[k] - low[k] > side)) {
                    divided[k] = false;
                    again = true;
                }
            }
        }
        std::size_t cells = 1;
        for (int k = 0; k < D; ++k) {
            low_[k] = low[k];
            const double extent = high[k] - low[k];
            count_[k] = divided[k] ? static_cast<Index>(std::ceil(extent / side)) : 1;
            side_[k] = extent > 0 ? extent / count_[k] : 1.0;
            cells *= static_cast<std::size_t>(count_[k]);
        }
        begin_.assign(cells + 1, 0);
        std::vector<std::size_t> cell(points.n);
        for (Index i = 0; i < points.n; ++i) {
            cell[i] = flat(place(points[i]));
            ++begin_[cell[i] + 1];
        }
        most_ = *std::max_element(begin_.begin(), begin_.end());
        for (std::size_t c = 0; c < cells; ++c) begin_[c + 1] += begin_[c];
        coords_.resize(static_cast<std::size_t>(points.n) * D);
        original_.resize(points.n);
        std::vector<Index> next(begin_.begin(), begin_.end() - 1);
        for (Index i = 0; i < points.n; ++i) {
            const Index at = next[cell[i]]++;
            std::copy_n(points[i], D, coords_.data() + static_cast<std::size_t>(at) * D);
            original_[at] = i;
        }
    }

    bool crowded() const { return most_ > kCrowd; }
    Points<D> points() const { return {coords_.data(), points_.n, D}; }  // cell by cell
    Index original(Index i) const { return original_[i]; }

    // Squared distance from q to the nearest point; negative when the nearest cells do not decide it.
    double least_squared(const double* q) const {
        const Place here = place(q);
        double least = std::numeric_limits<double>::infinity();
        double margin = std::numeric_limits<double>::infinity();  // from q to the walls of its cell
        for (int k = 0; k < D; ++k) {
            if (count_[k] == 1) continue;  // no wall to look behind
            const double inside = q[k] - low_[k] - here[k] * side_[k];
            margin = std::min(margin, std::min(inside, side_[k] - inside));
        }
        double narrowest = std::numeric_limits<double>::infinity();
        for (int k = 0; k < D; ++k) {
            if (count_[k] > 1) narrowest = std::min(narrowest, side_[k]);
        }
        for (int ring = 0; ring <= kRings; ++ring) {
            visit(here, ring, q, least);
            const double seen = std::max(0.0, margin) + (ring == 0 ? 0.0 : ring * narrowest);
            if (least <= seen * seen * kSafety) return least;
        }
        return -1.0;
    }

private:
    static constexpr double kSafety = 1.0 - 1e-9;  // for the rounding of a cell's walls
    using Place = std::array<Index, D>;

    Place place(const double* p) const {
        Place at;
        for (int k = 0; k < D; ++k) {
            at[k] = static_cast<Index>(std::clamp(std::floor((p[k] - low_[k]) / side_[k]), 0.0, count_[k] - 1.0));
        }
        return at;
    }

    std::size_t flat(const Place& at) const {
        std::size_t cell = 0;
        for (int k = D - 1; k >= 0; --k) cell = cell * static_cast<std::size_t>(count_[k]) + static_cast<std::size_t>(at[k]);
        return cell;
    }

    // The cells whose largest offset along an axis is exactly `ring`.
    void visit(const Place& here, int ring, const double* q, double& least) const {
        Place at = here;
        if constexpr (D == 2) {
            rows(here, at, ring, true, q, least);
        } else {
            for (int dz = -ring; dz <= ring; ++dz) {
                at[2] = here[2] + dz;
                if (at[2] < 0 || at[2] >= count_[2]) continue;
                rows(here, at, ring, std::abs(dz) < ring, q, least);
            }
        }
    }

    void rows(const Place& here, Place at, int ring, bool hollow, const double* q, double& least) const {
        for (int dy = -ring; dy <= ring; ++dy) {
            at[1] = here[1] + dy;
            if (at[1] < 0 || at[1] >= count_[1]) continue;
            const Index first = std::max<Index>(here[0] - ring, 0);
            const Index last = std::min<Index>(here[0] + ring, count_[0] - 1);
            if (!hollow || std::abs(dy) == ring) {
                at[0] = first;
                const std::size_t start = flat(at);
                look(start, start + static_cast<std::size_t>(last - first), q, least);
                continue;
            }
            for (const Index x : {here[0] - ring, here[0] + ring}) {
                if (x < 0 || x >= count_[0]) continue;
                at[0] = x;
                look(flat(at), flat(at), q, least);
            }
        }
    }

    // Cells that follow each other along the first axis lie together in memory.
    void look(std::size_t first, std::size_t last, const double* q, double& least) const {
        for (Index i = begin_[first]; i < begin_[last + 1]; ++i) {
            least = std::min(least, squared_distance<D>(q, coords_.data() + static_cast<std::size_t>(i) * D, D));
        }
    }

    Points<D> points_;
    std::array<double, D> low_{};
    std::array<double, D> side_{};
    std::array<Index, D> count_{};
    Index most_ = 0;
    std::vector<Index> begin_;
    std::vector<double> coords_;
    std::vector<Index> original_;
};

}  // namespace flatmetric
