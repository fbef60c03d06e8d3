#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "box.hpp"
#include "grid.hpp"
#include "interrupt.hpp"
#include "kdtree.hpp"
#include "points.hpp"

namespace flatmetric {

// A problem of partial transport and its dual potentials, as all solvers see it:
//
//   min  sum mass d  +  reach * (source mass left)      over plans that move at most what there is.
//
// U of the sources and p of the targets are optimal when, for some plan,
//
//   0 <= p,   U <= reach,   U(x) - p(y) <= d(x, y),   with equality where mass flows,
//   U = reach where source mass is left, p = 0 where target mass is left.
//
// Points are in the order of the trees, so that near points are near in memory; `original` leads back.
template <int D>
class Instance {
public:
    struct Side {
        Points<D> points;
        std::vector<double> mass;
        std::vector<double> potential;
        KdTree<D> tree;
    };

    Side source;
    Side target;
    double reach = 0.0;

    // Masses may be null (all 1) and may hold zeros.
    void load(Points<D> sources, const double* source_mass, Points<D> targets, const double* target_mass,
              const Box<D>& target_box, double reach_of_mass, Interrupt& interrupt) {
        reach = reach_of_mass;
        interrupt_ = &interrupt;
        has_trees_ = std::max(sources.n, targets.n) > kSmall;
        load_side(source, sources, source_mass);
        load_side(target, targets, target_mass);
        rows_.assign(sources.n, StoredRow{});
        entries_.clear();
        if (has_trees_) {
            target.tree.bound_prices([](Index) { return 0.0; });
        } else {
            list_all_rows(target_box);
        }
    }

    Interrupt& interrupt() const { return *interrupt_; }
    bool has_trees() const { return has_trees_; }
    Index original_source(Index x) const { return has_trees_ ? source.tree.original(x) : x; }
    Index original_target(Index y) const { return has_trees_ ? target.tree.original(y) : y; }

    double distance_between(Index x, Index y) const {
        return distance<D>(source.points[x], target.points[y], source.points.dims());
    }
    double squared_distance_between(Index x, Index y) const {
        return squared_distance<D>(source.points[x], target.points[y], source.points.dims());
    }

    void reset_potentials() {
        std::fill(source.potential.begin(), source.potential.end(), 0.0);
        std::fill(target.potential.begin(), target.potential.end(), 0.0);
        prices_changed();
    }

    // To be called when a price (a target's potential) went down; growing prices need no word.
    void prices_changed() {
        if (has_trees_) target.tree.bound_prices([this](Index y) { return target.potential[y]; });
    }

    // The nearest targets of a source, by distance: all that are closer than `horizon`.
    struct Row {
        const Neighbour* begin;
        const Neighbour* end;
        double horizon;
    };

    Row row(Index x) {
        StoredRow& stored = rows_[x];
        if (stored.horizon < 0.0) list_row(x, stored);
        const Neighbour* begin = entries_.data() + stored.begin;
        return {begin, begin + stored.count, stored.horizon};
    }

    // Calls visit(y, distance) at least for every target with distance + price < limit; `visit` may lower the limit.
    template <class Visit>
    void visit_cheap(Index x, const double& limit, const Visit& visit) {
        interrupt_->tick();
        const Row list = row(x);
        for (const Neighbour* entry = list.begin; entry != list.end; ++entry) {
            if (!(entry->distance < limit)) return;  // prices are never negative
            visit(entry->point, entry->distance);
        }
        if (list.horizon < reach && list.horizon < limit) {
            target.tree.visit_cheap(source.points[x], list.horizon, limit, [this](Index y) { return target.potential[y]; },
                                    visit);
        }
    }

    // Makes the potentials feasible from the distances themselves, whatever a solver left: U(x) = min(reach, min of d + p).
    // So the dual value is a proof. Points without mass constrain nobody and take the value that the others leave them.
    void tighten_potentials() {
        prices_changed();
        for (Index x = 0; x < source.points.n; ++x) {
            double least = reach;
            visit_cheap(x, least, [&](Index y, double d) {
                if (target.mass[y] > 0.0) least = std::min(least, d + target.potential[y]);
            });
            source.potential[x] = least;
        }
        if (std::find(target.mass.begin(), target.mass.end(), 0.0) != target.mass.end()) price_targets_without_mass();
    }

private:
    static constexpr Index kSmall = 256;         // up to here a grid beats a tree
    static constexpr std::size_t kPrefix = 24;  // neighbours listed at the first look at a row; the tree gives the others

    struct StoredRow {
        std::size_t begin = 0;
        std::uint32_t count = 0;
        double horizon = -1.0;  // not listed yet
    };

    void load_side(Side& side, Points<D> points, const double* mass) {
        side.points = points;
        if (has_trees_) {
            side.tree.build(points, *interrupt_);
            side.points = side.tree.points();
        }
        if (mass == nullptr) {
            side.mass.assign(points.n, 1.0);
        } else {
            side.mass.resize(points.n);
            for (Index i = 0; i < points.n; ++i) side.mass[i] = mass[has_trees_ ? side.tree.original(i) : i];
        }
        side.potential.assign(points.n, 0.0);
    }

    void list_all_rows(const Box<D>& target_box) {
        grid_.build(target.points, target_box);
        const double squared_reach = reach * reach;
        found_.resize(target.points.n);
        for (Index x = 0; x < source.points.n; ++x) {
            // Every candidate is written and only the near ones are kept: no branch for the processor to guess.
            std::size_t count = 0;
            grid_.visit_near(source.points[x], reach, [&](Index y, double squared) {
                found_[count] = {squared, y};
                count += squared < squared_reach ? 1 : 0;
            });
            rows_[x] = {entries_.size(), static_cast<std::uint32_t>(count), reach};
            for (std::size_t i = 0; i < count; ++i) found_[i].distance = std::sqrt(found_[i].distance);
            if (count > 1) std::sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
            entries_.insert(entries_.end(), found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(count));
        }
    }

    void list_row(Index x, StoredRow& stored) {
        stored.horizon = target.tree.nearest(source.points[x], reach, kPrefix, found_);
        stored.begin = entries_.size();
        stored.count = static_cast<std::uint32_t>(found_.size());
        entries_.insert(entries_.end(), found_.begin(), found_.end());
    }

    // p(y) = max(0, max of U(x) - d), found as reach - min(reach, min of d + (reach - U)).
    void price_targets_without_mass() {
        const auto complement = [this](Index x) { return reach - source.potential[x]; };
        if (has_trees_) source.tree.bound_prices(complement);
        for (Index y = 0; y < target.points.n; ++y) {
            if (target.mass[y] > 0.0) continue;
            interrupt_->tick();
            double least = reach;
            const auto visit = [&](Index x, double d) { least = std::min(least, d + complement(x)); };
            if (has_trees_) {
                source.tree.visit_cheap(target.points[y], 0.0, least, complement, visit);
            } else {
                for (Index x = 0; x < source.points.n; ++x) visit(x, distance_between(x, y));
            }
            target.potential[y] = reach - least;
        }
    }

    Interrupt* interrupt_ = nullptr;
    bool has_trees_ = false;
    Grid<D> grid_;
    std::vector<StoredRow> rows_;
    std::vector<Neighbour> entries_;
    std::vector<Neighbour> found_;
};

}  // namespace flatmetric
