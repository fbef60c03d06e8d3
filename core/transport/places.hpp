#pragma once

#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/coincident.hpp"
#include "transport/measure.hpp"

namespace flatmetric {

// The places of a measure that have mass, in tree order; points at one place are one.
template <int D>
class Places {
public:
    KdTree<D> tree;

    void load(const Measure& measure, Interrupt& interrupt) {
        merged_.merge(measure.points, measure.mass);
        const Points<0> points = merged_.points();
        const int dim = points.dims();
        packed_.clear();
        mass_.clear();
        for (Index i = 0; i < points.n; ++i) {
            const double mass = merged_.mass()[i];
            if (mass == 0.0) continue;
            packed_.insert(packed_.end(), points[i], points[i] + dim);
            mass_.push_back(mass);
        }
        tree.build({packed_.data(), count(), dim}, interrupt);
    }

    Index count() const { return static_cast<Index>(mass_.size()); }
    double mass(Index i) const { return mass_[tree.original(i)]; }

private:
    Coincident merged_;
    std::vector<double> packed_;
    std::vector<double> mass_;
};

}  // namespace flatmetric
