#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "geometry/points.hpp"

namespace flatmetric {

// Points at the same place as one point with the sum of their masses. Where many coincide, every way is a tie, and
// solvers would try them all.
template <int D>
class Coincident {
public:
    // Masses may be null (all 1).
    void merge(Points<D> points, const double* mass) {
        const int dim = points.dims();
        rows_.resize(points.n);
        std::iota(rows_.begin(), rows_.end(), 0);
        std::sort(rows_.begin(), rows_.end(), [&](Index a, Index b) {
            const double* const p = points[a];
            const double* const q = points[b];
            for (int k = 0; k < dim; ++k) {
                if (p[k] != q[k]) return p[k] < q[k];
            }
            return a < b;
        });
        begin_.clear();
        coords_.clear();
        mass_.clear();
        row_mass_.resize(points.n);
        for (Index i = 0; i < points.n; ++i) {
            const double* const p = points[rows_[i]];
            if (i == 0 || !std::equal(p, p + dim, points[rows_[i - 1]])) {
                begin_.push_back(i);
                coords_.insert(coords_.end(), p, p + dim);
                mass_.push_back(0.0);
            }
            row_mass_[i] = mass == nullptr ? 1.0 : mass[rows_[i]];
            mass_.back() += row_mass_[i];
        }
        begin_.push_back(points.n);
        dim_ = dim;
    }

    Points<D> points() const { return {coords_.data(), static_cast<Index>(mass_.size()), dim_}; }
    const double* mass() const { return mass_.data(); }
    std::size_t rows() const { return rows_.size(); }

    // Calls visit(row) for every row at a place.
    template <class Visit>
    void visit_rows(Index place, const Visit& visit) const {
        for (Index i = begin_[place]; i < begin_[place + 1]; ++i) visit(rows_[i]);
    }

    // Where mass is taken from next, while the mass at a place is handed out to its rows one after the other.
    class Cursor {
    public:
        explicit Cursor(const Coincident& of)
            : of_(of),
              at_(of.begin_.begin(), of.begin_.end() - 1),
              left_(at_.size()) {
            for (std::size_t place = 0; place < at_.size(); ++place) left_[place] = of.row_mass_[at_[place]];
        }
        Index row(Index place) const { return of_.rows_[at_[place]]; }

        // Mass that the current row may still take; all that comes, if it is the last.
        double room(Index place, double wanted) {
            Index& at = at_[place];
            while (at + 1 < of_.begin_[place + 1]) {
                if (left_[place] > kRounding * of_.row_mass_[at]) return std::min(left_[place], wanted);
                left_[place] = of_.row_mass_[++at];
            }
            return wanted;
        }
        void take(Index place, double mass) { left_[place] -= mass; }

    private:
        static constexpr double kRounding = 1e-15;  // relative: a smaller rest is the rounding error of a subtraction

        const Coincident& of_;
        std::vector<Index> at_;
        std::vector<double> left_;
    };

private:
    int dim_ = D;
    std::vector<Index> rows_;  // by place
    std::vector<double> row_mass_;
    std::vector<Index> begin_;
    std::vector<double> coords_;
    std::vector<double> mass_;
};

}  // namespace flatmetric
