#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "points.hpp"

namespace flatmetric {

// Equal cells over a box.
template <int D>
struct Lattice {
    using Place = std::array<Index, D>;

    std::array<double, D> low{};
    std::array<double, D> side{};
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
                if (divided[k] && !(high[k] - low[k] > side)) {
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
            lattice.side[k] = extent > 0 ? extent / lattice.count[k] : 1.0;
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
        for (int k = 0; k < D; ++k) at[k] = static_cast<Index>(std::clamp(std::floor((p[k] - low[k]) / side[k]), 0.0, count[k] - 1.0));
        return at;
    }

    // Cells that follow each other along the first axis have consecutive numbers.
    std::size_t number(const Place& at) const {
        std::size_t cell = 0;
        for (int k = D - 1; k >= 0; --k) cell = cell * static_cast<std::size_t>(count[k]) + static_cast<std::size_t>(at[k]);
        return cell;
    }

    Place place_of(std::size_t cell) const {
        Place at;
        for (int k = 0; k < D; ++k) {
            at[k] = static_cast<Index>(cell % static_cast<std::size_t>(count[k]));
            cell /= static_cast<std::size_t>(count[k]);
        }
        return at;
    }

    // Every point closer to q than this lies within `rings` rings of cells around q's own.
    double seen(const double* q, const Place& here, int rings) const {
        double margin = std::numeric_limits<double>::infinity();
        for (int k = 0; k < D; ++k) {
            if (count[k] == 1) continue;  // no wall to look behind
            const double inside = q[k] - low[k] - here[k] * side[k];
            margin = std::min(margin, std::max(0.0, std::min(inside, side[k] - inside)) + rings * side[k]);
        }
        return margin * kSafety;
    }

    static constexpr double kSafety = 1.0 - 1e-9;  // for the rounding of a cell's walls
};

// The points of one set in the order of their cells.
template <int D>
class CellPoints {
public:
    using Place = typename Lattice<D>::Place;

    void build(Points<D> points, const Lattice<D>& lattice) {
        lattice_ = lattice;
        std::vector<std::size_t> cell(points.n);
        begin_.assign(lattice.cells() + 1, 0);
        for (Index i = 0; i < points.n; ++i) {
            cell[i] = lattice.number(lattice.place(points[i]));
            ++begin_[cell[i] + 1];
        }
        most_ = *std::max_element(begin_.begin(), begin_.end());
        for (std::size_t c = 0; c + 1 < begin_.size(); ++c) begin_[c + 1] += begin_[c];
        coords_.resize(static_cast<std::size_t>(points.n) * D);
        original_.resize(points.n);
        std::vector<Index> next(begin_.begin(), begin_.end() - 1);
        for (Index i = 0; i < points.n; ++i) {
            const Index at = next[cell[i]]++;
            std::copy_n(points[i], D, coords_.data() + static_cast<std::size_t>(at) * D);
            original_[at] = i;
        }
    }

    Index most() const { return most_; }  // points in one cell
    Index begin(std::size_t cell) const { return begin_[cell]; }
    Index end(std::size_t cell) const { return begin_[cell + 1]; }
    const double* operator[](Index i) const { return coords_.data() + static_cast<std::size_t>(i) * D; }
    Index original(Index i) const { return original_[i]; }

    // Squared distance from q to the nearest point in its own cell, at `here`, and those that touch it. Its own row of cells
    // comes first, so that most other rows turn out to be too far away.
    double least_around(const double* q, const Place& here) const {
        double least = std::numeric_limits<double>::infinity();
        const Index first = std::max<Index>(here[0] - 1, 0);
        const std::size_t width = static_cast<std::size_t>(std::min<Index>(here[0] + 1, lattice_.count[0] - 1) - first);
        Place start = here;
        start[0] = first;
        const std::size_t own = lattice_.number(start);
        look(own, width, q, least);
        double below[D];  // squared distances to the neighbours along an axis; infinite where there are none
        double above[D];
        for (int k = 1; k < D; ++k) {
            const double inside = q[k] - lattice_.low[k] - here[k] * lattice_.side[k];
            below[k] = here[k] > 0 ? squared_gap(inside) : std::numeric_limits<double>::infinity();
            above[k] = here[k] + 1 < lattice_.count[k] ? squared_gap(lattice_.side[k] - inside) : std::numeric_limits<double>::infinity();
        }
        const std::size_t row = static_cast<std::size_t>(lattice_.count[0]);
        if (below[1] < least) look(own - row, width, q, least);
        if (above[1] < least) look(own + row, width, q, least);
        if constexpr (D == 3) {
            const std::size_t plane = row * static_cast<std::size_t>(lattice_.count[1]);
            if (below[2] < least) {
                look(own - plane, width, q, least);
                if (below[2] + below[1] < least) look(own - plane - row, width, q, least);
                if (below[2] + above[1] < least) look(own - plane + row, width, q, least);
            }
            if (above[2] < least) {
                look(own + plane, width, q, least);
                if (above[2] + below[1] < least) look(own + plane - row, width, q, least);
                if (above[2] + above[1] < least) look(own + plane + row, width, q, least);
            }
        }
        return least;
    }

    // Calls use(first, end) for the points of each row of cells within `rings` rings around a place.
    template <class Use>
    void rows_around(const Place& here, int rings, const Use& use) const {
        Place at = here;
        const Index first = std::max<Index>(here[0] - rings, 0);
        const Index last = std::min<Index>(here[0] + rings, lattice_.count[0] - 1);
        const Index low_z = D == 3 ? std::max<Index>(here[D - 1] - rings, 0) : 0;
        const Index high_z = D == 3 ? std::min<Index>(here[D - 1] + rings, lattice_.count[D - 1] - 1) : 0;
        for (Index z = low_z; z <= high_z; ++z) {
            if constexpr (D == 3) at[2] = z;
            for (Index y = std::max<Index>(here[1] - rings, 0); y <= std::min<Index>(here[1] + rings, lattice_.count[1] - 1); ++y) {
                at[1] = y;
                at[0] = first;
                const std::size_t cell = lattice_.number(at);
                use(begin_[cell], begin_[cell + static_cast<std::size_t>(last - first) + 1]);
            }
        }
    }

private:
    static double squared_gap(double gap) { return gap > 0 ? gap * gap * Lattice<D>::kSafety : 0.0; }

    void look(std::size_t cell, std::size_t width, const double* q, double& least) const {
        const Index end = begin_[cell + width + 1];
        for (Index i = begin_[cell]; i < end; ++i) least = std::min(least, squared_distance<D>(q, (*this)[i], D));
    }

    Lattice<D> lattice_;
    Index most_ = 0;
    std::vector<Index> begin_;
    std::vector<double> coords_;
    std::vector<Index> original_;
};

}  // namespace flatmetric
