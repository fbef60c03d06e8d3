#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"

namespace flatmetric {

// Where the neighbours of a source are listed (see Rows).
struct ListedRow {
    std::size_t begin = 0;
    std::size_t leaves_begin = 0;
    std::uint32_t count = 0;
    std::uint32_t leaves_count = 0;
    double horizon = -1.0;  // not listed yet
};

// A problem of partial transport and its dual potentials, as all solvers see it:
//
//   min  sum mass d  +  reach * (source mass left)      over plans that move at most what there is.
//
// U of the sources and p of the targets are optimal when, for some plan,
//
//   0 <= p,   U <= reach,   U(x) - p(y) <= d(x, y),   with equality where mass flows,
//   U = reach where source mass is left, p = 0 where target mass is left.
//
// Points are in tree order, so that near points are near in memory, where there are trees, which map back.
template <int D>
class Instance {
public:
    struct Side {
        Points<D> points;
        Column<double> mass;
        Column<double> potential;
        KdTree<D> tree;
    };

    Side source;
    Side target;
    Column<ListedRow> rows;  // of the sources
    double reach = 0.0;

    // Masses may be null (all 1) and may hold zeros. `leaf` is the most points in a leaf of the trees; kNone: no trees.
    void load(Points<D> sources, const double* source_mass, Points<D> targets, const double* target_mass,
              double reach_of_mass, Index leaf, Crew& crew) {
        reach = reach_of_mass;
        has_trees_ = leaf != kNone;
        load_side(source, sources, source_mass, leaf, crew);
        load_side(target, targets, target_mass, leaf, crew);
        rows.resize(sources.n);
        over_ranges(sources.n, crew, [this](std::size_t begin, std::size_t end) {
            std::fill(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                      rows.begin() + static_cast<std::ptrdiff_t>(end), ListedRow{});
        });
    }

    bool has_trees() const { return has_trees_; }

    // Whether a good part of the points of a side lie where another one does. Small problems don't ask.
    bool many_coincide(Crew& crew) const {
        const auto many = [&](const Side& side) { return kManyTwins * side.tree.twins(crew) >= side.points.n; };
        return has_trees_ && (many(source) || many(target));
    }

    double distance_between(Index x, Index y) const {
        return distance<D>(source.points[x], target.points[y], source.points.dims());
    }
    double squared_distance_between(Index x, Index y) const {
        return squared_distance<D>(source.points[x], target.points[y], source.points.dims());
    }

    // The potential of a source with mass, made feasible from the distances themselves, whatever a solver left: U(x) =
    // min of d + p, with what is left behind at `quit`. So the dual value is a proof. search(limit, visit) calls
    // visit(y, distance) at least for every target with mass and distance + price < limit; `visit` lowers the limit.
    template <class Search>
    void tighten(Index x, double quit, const Search& search) {
        double least = std::min(quit, source.potential[x] + kSlack * reach);
        search(least, [&](Index y, double d) {
            if (target.mass[y] > 0.0) least = std::min(least, d + target.potential[y]);
        });
        source.potential[x] = least;
    }

    // Points without mass impose no constraint and take a value that the others allow.
    void price_points_without_mass(Crew& crew) {
        const auto price = [this](Index y) { return target.mass[y] > 0.0 ? target.potential[y] : reach; };
        price_where_empty(source, target, price, [](double least) { return least; }, crew);
        // p(y) = max(0, max of U(x) - d), found as reach - min(reach, min of d + (reach - U)).
        const auto complement = [this](Index x) { return reach - source.potential[x]; };
        price_where_empty(target, source, complement, [this](double least) { return reach - least; }, crew);
    }

private:
    static constexpr Index kManyTwins = 4;   // one in so many points
    static constexpr double kSlack = 1e-12;  // more than the rounding error of a potential

    void load_side(Side& side, Points<D> points, const double* mass, Index leaf, Crew& crew) {
        side.points = points;
        if (has_trees_) {
            side.tree.build(points, leaf, crew);
            side.points = side.tree.points();
        }
        side.mass.resize(points.n);
        side.potential.resize(points.n);
        over_ranges(points.n, crew, [&](std::size_t begin, std::size_t end) {
            std::fill(side.potential.begin() + static_cast<std::ptrdiff_t>(begin),
                      side.potential.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
            for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                side.mass[i] = mass == nullptr ? 1.0 : mass[has_trees_ ? side.tree.original(i) : i];
            }
        });
    }

    // Sets the potential of the points of a side that have no mass from min(reach, min of distance + price) over the
    // others.
    template <class Price, class Potential>
    void price_where_empty(Side& side, Side& others, const Price& price, const Potential& potential, Crew& crew) {
        if (std::find(side.mass.begin(), side.mass.end(), 0.0) == side.mass.end()) return;
        if (has_trees_) others.tree.bound_prices(price, crew);
        over_ranges(side.points.n, crew, [&](std::size_t begin, std::size_t end) {
            for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                if (side.mass[i] > 0.0) continue;
                double least = reach;
                const auto visit = [&](Index other, double d) { least = std::min(least, d + price(other)); };
                if (has_trees_) {
                    others.tree.look_cheap(side.points[i], least, price, visit);
                } else {
                    for (Index other = 0; other < others.points.n; ++other) {
                        visit(other, distance<D>(side.points[i], others.points[other], side.points.dims()));
                    }
                }
                side.potential[i] = potential(least);
            }
        });
    }

    bool has_trees_ = false;
};

}  // namespace flatmetric
