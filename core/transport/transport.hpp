#pragma once

#include <cmath>
#include <limits>

#include "geometry/box.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/instance.hpp"
#include "transport/multiscale_simplex.hpp"
#include "transport/plan.hpp"
#include "transport/shortest_paths.hpp"

namespace flatmetric {

// Which method solves a problem. `automatic` is the rule below; the others are for testing each method on its own.
enum class Method { automatic, shortest_paths, simplex };

// Exact partial transport between two weighted point sets where leaving a unit of mass on both sides costs `reach`.
//
// Shortest paths come first. A local problem takes a few arc visits per point; where they need more than
// kFreeLooks + kLooks N^1.5, mass has to travel far past others, and the network simplex, whose cost depends little on
// that, starts afresh.
template <int D>
class Transport {
public:
    void solve(Points<D> sources, const double* source_mass, Points<D> targets, const double* target_mass,
               const Box<D>& target_box, double reach, Method method, Interrupt& interrupt) {
        instance_.load(sources, source_mass, targets, target_mass, target_box, reach, interrupt);
        plan_.reset(instance_.source.mass, instance_.target.mass);
        by_simplex_ = method == Method::simplex || !shortest_paths_.solve(instance_, plan_, allowed_looks(method));
        if (by_simplex_) {
            simplex_.solve(instance_, plan_);
        } else {
            instance_.tighten_potentials();
        }
    }

    const Instance<D>& instance() const { return instance_; }
    Plan& plan() { return plan_; }
    bool by_simplex() const { return by_simplex_; }

private:
    static constexpr double kLooks = 8.0;
    static constexpr double kFreeLooks = 2000.0;  // looks that are cheaper than a start of the simplex

    double allowed_looks(Method method) const {
        if (method == Method::shortest_paths) return std::numeric_limits<double>::infinity();
        const double points = instance_.source.points.n + static_cast<double>(instance_.target.points.n);
        return kFreeLooks + kLooks * points * std::sqrt(points);
    }

    Instance<D> instance_;
    Plan plan_;
    bool by_simplex_ = false;
    ShortestPaths<D> shortest_paths_;
    MultiscaleSimplex<D> simplex_;
};

}  // namespace flatmetric
