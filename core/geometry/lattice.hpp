#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/simd.hpp"

namespace flatmetric {

// Equal cells over a box.
template <int D>
struct Lattice {
    using Place = std::array<Index, D>;

    std::array<double, D> low{};
    std::array<double, D> side{};
    std::array<double, D> per_length{};  // cells
    std::array<Index, D> count{};

    // About `per_cell` of n evenly spread points in each cell.
    static Lattice over(const double* low, const double* high, Index n, double per_cell) {
        // Axes along which all points lie within one cell do not count.
        std::array<bool, D> divided;
        divided.fill(true);
        double side = 0.0;
        for (bool again = true; again;) {
            again = false;
            double volume = per_cell / n;
            int axes = 0;
            for (int k = 0; k < D; ++k) {
                if (!divided[k]) continue;
                volume *= high[k] - low[k];
                ++axes;
            }
            side = axes == 0 ? 0.0 : std::pow(volume, 1.0 / axes);
            for (int k = 0; k < D; ++k) {
                if (divided[k] && !(high[k] - low[k] > std::max(side, kSmallest))) {
                    divided[k] = false;
                    again = true;
                }
            }
        }
        Lattice lattice;
        for (int k = 0; k < D; ++k) {
            lattice.low[k] = low[k];
            const double extent = high[k] - low[k];
            lattice.count[k] = divided[k] ? static_cast<Index>(std::ceil(extent / side)) : 1;
            lattice.side[k] = extent / lattice.count[k];
            lattice.per_length[k] = divided[k] ? 1.0 / lattice.side[k] : 0.0;
        }
        return lattice;
    }

    std::size_t cells() const {
        std::size_t product = 1;
        for (const Index c : count) product *= static_cast<std::size_t>(c);
        return product;
    }

    Place place(const double* p) const {
        Place at;
        for (int k = 0; k < D; ++k) {
            const auto cell = static_cast<Index>((p[k] - low[k]) * per_length[k]);
            at[k] = cell < count[k] ? cell : count[k] - 1;
        }
        return at;
    }

    // Cells that follow each other along the first axis have consecutive numbers: a row.
    std::size_t number(const Place& at) const {
        std::size_t cell = 0;
        for (int k = D - 1; k >= 0; --k)
            cell = cell * static_cast<std::size_t>(count[k]) + static_cast<std::size_t>(at[k]);
        return cell;
    }
    std::size_t rows() const { return cells() / static_cast<std::size_t>(count[0]); }

    // The wall of a cell towards smaller coordinates.
    double wall(int axis, Index cell) const { return low[axis] + cell * side[axis]; }

    // How far on the wrong side of a wall a point may lie because of rounding.
    double slack(int axis) const { return 1e-9 * side[axis]; }

    // Every point closer to q than this lies within `rings` rings of cells around q's own, wherever q is in its cell.
    double seen(int rings) const {
        double margin = std::numeric_limits<double>::infinity();
        for (int k = 0; k < D; ++k) {
            if (count[k] > 1)
                margin = std::min(margin, rings * side[k] - slack(k));  // else there is no wall to look behind
        }
        return margin;
    }

private:
    static constexpr double kSmallest = 1e-150;  // lengths whose squares do not underflow
};

// The points of one set in the order of their cells, a column for each coordinate. A sentinel at infinity follows the
// last point, so that points can be processed in pairs.
template <int D>
class CellPoints {
public:
    // Points are first put on shelves, one for each run of cells, and each shelf is then sorted, in a core's cache. Put
    // into their cells at once, every point would wait for memory: a million take twice as long.
    void build(Points<D> points, const Lattice<D>& lattice) {
        const std::size_t cells = lattice.cells();
        int shift = kLeastShift;
        while ((cells >> shift) > kMostShelves) ++shift;
        Column<std::uint32_t> cell(points.n);
        std::vector<Index> end((cells >> shift) + 2, 0);  // of each shelf; its begin at first
        for (Index i = 0; i < points.n; ++i) {
            cell[i] = static_cast<std::uint32_t>(lattice.number(lattice.place(points[i])));
            ++end[(cell[i] >> shift) + 1];
        }
        for (std::size_t s = 1; s < end.size(); ++s) end[s] += end[s - 1];
        Column<Shelved> shelved(points.n);
        for (Index i = 0; i < points.n; ++i) {
            Shelved& to = shelved[end[cell[i] >> shift]++];
            std::copy_n(points[i], D, to.at.begin());
            to.cell = cell[i];
        }
        for (auto& column : axis_) {
            column.resize(points.n + 1);
            column.back() = std::numeric_limits<double>::infinity();
        }
        begin_.assign(cells + 1, 0);
        begin_.back() = points.n;
        most_ = 0;
        for (std::size_t s = 0; s << shift < cells; ++s) {
            const Index first = s == 0 ? 0 : end[s - 1];
            for (Index i = first; i < end[s]; ++i) ++begin_[shelved[i].cell];
            // Ends of the cells first; filling backwards turns them into begins.
            Index count = first;
            for (std::size_t c = s << shift; c < std::min(cells, (s + 1) << shift); ++c) {
                most_ = std::max(most_, begin_[c]);
                begin_[c] = count += begin_[c];
            }
            for (Index i = end[s]; i-- > first;) {
                const Index at = --begin_[shelved[i].cell];
                for (int k = 0; k < D; ++k) axis_[k][at] = shelved[i].at[k];
            }
        }
    }

    Index most() const { return most_; }  // points in one cell
    const Index* begins(std::size_t cell) const { return begin_.data() + cell; }
    const double* axis(int k) const { return axis_[k].data(); }

    // The smallest of `least` and the squared distances from q to the points from `begin` to `end`. May look at one
    // more.
    double least_among(Index begin, Index end, const std::array<double, D>& q, double least) const {
        Double2 nearest = broadcast(least);
        for (Index j = begin; j < end; j += 2) {
            Double2 squared = broadcast(0.0);
            for (int k = 0; k < D; ++k) {
                const Double2 step = load2(axis_[k].data() + j) - broadcast(q[k]);
                squared = squared + step * step;
            }
            nearest = min2(squared, nearest);
        }
        return lower_lane(nearest);
    }

    std::array<double, D> point(Index i) const {
        std::array<double, D> p;
        for (int k = 0; k < D; ++k) p[k] = axis_[k][i];
        return p;
    }

private:
    static constexpr int kLeastShift = 10;             // of 1024 cells, with some 50 kB of points
    static constexpr std::size_t kMostShelves = 1024;  // that are filled at the same time

    struct Shelved {
        std::array<double, D> at;
        std::uint32_t cell;
    };

    Index most_ = 0;
    Column<Index> begin_;
    std::array<Column<double>, D> axis_;
};

}  // namespace flatmetric
