#pragma once

#include <cstdint>
#include <memory>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"
#include "transport/coincident.hpp"
#include "transport/measure.hpp"
#include "transport/plan.hpp"

namespace flatmetric {

// Which method solves a problem. `automatic` is the rule of `Transport`; the others are for testing each method on its
// own: shortest paths or the simplex for everything, and either of them in tiles of single points.
enum class Method { automatic, shortest_paths, simplex, paths_in_tiles, simplex_in_tiles };

// Exact partial transport between two weighted point sets where leaving a unit of mass on both sides costs `reach`:
// what is the same in any number of dimensions. `Transport` solves it in one. Buffers are kept from one problem to the
// next.
class PartialTransport {
public:
    virtual ~PartialTransport() = default;

    // Takes up a problem. Returns an upper bound on the distance between any two of its points.
    virtual double enter(const Measure& source, const Measure& target, Crew& crew) = 0;
    virtual void solve(double reach, Method method, Crew& crew) = 0;

    // How many sources the simplex has placed; those that it met again in a larger part count again.
    std::int64_t by_simplex() const { return by_simplex_; }

    // Whether points were merged, so that the pairs can't be visited by ranges of targets.
    bool merged() const { return merged_; }
    Index targets() const { return target_.n; }

    // Calls visit(source, target, mass, distance) for every pair of points that mass is moved between.
    template <class Visit>
    void visit_pairs(Index begin, Index end, const Visit& visit) const {
        plan_.visit(begin, end, [&](const Cell& cell) {
            visit(source_.row(cell.source), target_.row(cell.target), cell.mass, cell.distance);
        });
    }
    // Where points were merged: mass moved between two places is taken from the rows at one, one after the other, and
    // handed to those at the other.
    template <class Visit>
    void visit_merged_pairs(const Visit& visit) const {
        Coincident::Cursor from(places_of_sources_);
        Coincident::Cursor to(places_of_targets_);
        plan_.visit(0, targets(), [&](const Cell& cell) {
            const Index x = source_.row(cell.source);
            const Index y = target_.row(cell.target);
            for (double left = cell.mass; left > 0.0;) {
                const double mass = to.room(y, from.room(x, left));
                visit(from.row(x), to.row(y), mass, cell.distance);
                from.take(x, mass);
                to.take(y, mass);
                left -= mass;
            }
        });
    }

    // The mass that stays on each side, as terms of a sum.
    const Column<double>& source_left() const { return plan_.source_left; }
    const Column<double>& target_left() const { return plan_.target_left; }

    // Writes the potential of every point of a side.
    void write_source_potentials(double* potential, Crew& crew) const {
        write_potentials(source_, places_of_sources_, potential, crew);
    }
    void write_target_potentials(double* potential, Crew& crew) const {
        write_potentials(target_, places_of_targets_, potential, crew);
    }

protected:
    // The points of a side as they were solved; `original` is where each of them came from, null if they kept order.
    struct Solved {
        Index n = 0;
        const double* potential = nullptr;
        const Index* original = nullptr;
        Index row(Index i) const { return original == nullptr ? i : original[i]; }
    };

    Plan plan_;
    Solved source_;
    Solved target_;
    bool merged_ = false;
    Coincident places_of_sources_;
    Coincident places_of_targets_;
    std::int64_t by_simplex_ = 0;

private:
    void write_potentials(const Solved& side, const Coincident& places, double* potential, Crew& crew) const {
        over_ranges(static_cast<std::size_t>(side.n), crew, [&](std::size_t begin, std::size_t end) {
            for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                if (merged_) {
                    places.visit_rows(side.row(i), [&](Index row) { potential[row] = side.potential[i]; });
                } else {
                    potential[side.row(i)] = side.potential[i];
                }
            }
        });
    }
};

// A solver for points of `dim` coordinates.
std::unique_ptr<PartialTransport> new_transport(int dim);

}  // namespace flatmetric
