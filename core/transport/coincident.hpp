#pragma once

#include <cstddef>
#include <vector>

#include "geometry/points.hpp"

namespace flatmetric {

// Points at the same place as one point with the sum of their masses. Where many coincide, every way is a tie, and
// solvers would try them all.
class Coincident {
public:
    // Masses may be null (all 1).
    void merge(Points<0> points, const double* mass);

    Points<0> points() const { return {coords_.data(), static_cast<Index>(mass_.size()), dim_}; }
    const double* mass() const { return mass_.data(); }

    // Calls visit(row) for every row at a place.
    template <class Visit>
    void visit_rows(Index place, const Visit& visit) const {
        for (Index i = begin_[place]; i < begin_[place + 1]; ++i) visit(rows_[i]);
    }

    // Where mass is taken from next, while the mass at a place is handed out to its rows one after the other.
    class Cursor {
    public:
        explicit Cursor(const Coincident& of);
        Index row(Index place) const { return of_.rows_[at_[place]]; }

        // Mass that the current row may still take; all that comes, if it is the last.
        double room(Index place, double wanted);
        void take(Index place, double mass) { left_[place] -= mass; }

    private:
        static constexpr double kRounding = 1e-15;  // relative: a smaller rest is the rounding error of a subtraction

        const Coincident& of_;
        std::vector<Index> at_;
        std::vector<double> left_;
    };

private:
    int dim_ = 0;
    std::vector<Index> rows_;  // by place
    std::vector<double> row_mass_;
    std::vector<Index> begin_;
    std::vector<double> coords_;
    std::vector<double> mass_;
};

}  // namespace flatmetric
