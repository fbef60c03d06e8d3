#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"
#include "transport/coincident.hpp"
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
        merged_ = instance_.many_coincide();
        if (merged_) {
            places_of_sources_.merge(sources, source_mass);
            places_of_targets_.merge(targets, target_mass);
            instance_.load(places_of_sources_.points(), places_of_sources_.mass(), places_of_targets_.points(),
                           places_of_targets_.mass(), target_box, reach, interrupt);
        }
        plan_.reset(instance_.source.mass, instance_.target.mass);
        by_simplex_ = method == Method::simplex || !shortest_paths_.solve(instance_, plan_, allowed_looks(method));
        if (by_simplex_) {
            simplex_.solve(instance_, plan_);
        } else {
            instance_.tighten_potentials();
        }
    }

    bool by_simplex() const { return by_simplex_; }

    // At most so many pairs are visited.
    std::size_t most_pairs() const {
        return plan_.size() + (merged_ ? places_of_sources_.rows() + places_of_targets_.rows() : 0);
    }

    // Calls visit(source, target, mass, distance) for every pair of points that mass is moved between.
    template <class Visit>
    void visit_pairs(const Visit& visit) {
        if (merged_) {
            split_plan(visit);
        } else {
            plan_.visit([&](const Cell& cell) {
                visit(instance_.original_source(cell.source), instance_.original_target(cell.target), cell.mass, cell.distance);
            });
        }
    }

    // The mass that stays on each side, as terms of a sum.
    const std::vector<double>& source_left() const { return plan_.source_left; }
    const std::vector<double>& target_left() const { return plan_.target_left; }

    // Calls visit(point, potential) for every point of a side.
    template <class Visit>
    void visit_source_potentials(const Visit& visit) const {
        visit_potentials(instance_.source, places_of_sources_, [this](Index x) { return instance_.original_source(x); }, visit);
    }
    template <class Visit>
    void visit_target_potentials(const Visit& visit) const {
        visit_potentials(instance_.target, places_of_targets_, [this](Index y) { return instance_.original_target(y); }, visit);
    }

private:
    static constexpr double kLooks = 8.0;
    static constexpr double kMostLooks = 400.0;   // for a point, where that is less than kLooks N^0.5
    static constexpr double kFreeLooks = 2000.0;  // looks that are cheaper than a start of the simplex

    double allowed_looks(Method method) const {
        if (method == Method::shortest_paths) return std::numeric_limits<double>::infinity();
        const double points = instance_.source.points.n + static_cast<double>(instance_.target.points.n);
        return kFreeLooks + points * std::min(kMostLooks, kLooks * std::sqrt(points));
    }

    // Mass moved between two places is taken from the rows at one, one after the other, and handed to those at the other.
    template <class Visit>
    void split_plan(const Visit& visit) {
        typename Coincident<D>::Cursor from(places_of_sources_);
        typename Coincident<D>::Cursor to(places_of_targets_);
        plan_.visit([&](const Cell& cell) {
            const Index x = instance_.original_source(cell.source);
            const Index y = instance_.original_target(cell.target);
            for (double left = cell.mass; left > 0.0;) {
                const double mass = to.room(y, from.room(x, left));
                visit(from.row(x), to.row(y), mass, cell.distance);
                from.take(x, mass);
                to.take(y, mass);
                left -= mass;
            }
        });
    }

    template <class Original, class Visit>
    void visit_potentials(const typename Instance<D>::Side& side, const Coincident<D>& places, const Original& original,
                          const Visit& visit) const {
        for (Index i = 0; i < side.points.n; ++i) {
            const double potential = side.potential[i];
            if (merged_) {
                places.visit_rows(original(i), [&](Index row) { visit(row, potential); });
            } else {
                visit(original(i), potential);
            }
        }
    }

    Instance<D> instance_;
    Plan plan_;
    bool merged_ = false;
    Coincident<D> places_of_sources_;
    Coincident<D> places_of_targets_;
    bool by_simplex_ = false;
    ShortestPaths<D> shortest_paths_;
    MultiscaleSimplex<D> simplex_;
};

}  // namespace flatmetric
