#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/grid.hpp"
#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/interrupt.hpp"

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
// Points are in tree order, so that near points are near in memory; `original_source` and `original_target` map back.
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
        if (has_trees_) {
            entries_.clear();
            leaves_.clear();
            shared_leaf_ = kNone;
            target.tree.bound_prices([](Index) { return 0.0; });
        } else {
            list_all_rows(target_box);
        }
    }

    Interrupt& interrupt() const { return *interrupt_; }
    bool has_trees() const { return has_trees_; }
    Index original_source(Index x) const { return has_trees_ ? source.tree.original(x) : x; }
    Index original_target(Index y) const { return has_trees_ ? target.tree.original(y) : y; }

    // Whether a good part of the points of a side lie where another one does. Small problems don't ask.
    bool many_coincide() const {
        return has_trees_ && (kManyTwins * source.tree.twins() >= source.points.n || kManyTwins * target.tree.twins() >= target.points.n);
    }

    double distance_between(Index x, Index y) const {
        return distance<D>(source.points[x], target.points[y], source.points.dims());
    }
    double squared_distance_between(Index x, Index y) const {
        return squared_distance<D>(source.points[x], target.points[y], source.points.dims());
    }

    // Call after a price (a target's potential) has gone down; increases need no call.
    void prices_changed() {
        if (has_trees_) target.tree.bound_prices([this](Index y) { return target.potential[y]; });
    }

    // The nearest targets of a source, by distance: all that are closer than `horizon`. Valid until the next row is listed.
    struct Row {
        const Neighbour* begin;
        const Neighbour* end;
        double horizon;
    };

    Row row(Index x) {
        StoredRow& stored = rows_[x];
        if (stored.horizon < 0.0) list_row(x);
        const Neighbour* begin = entries_.data() + stored.begin;
        return {begin, begin + stored.count, stored.horizon};
    }

    // Calls visit(y, distance) at least for every target with distance + price < limit; `visit` may lower the limit. Returns how much it
    // took to find them, beyond the visits themselves.
    template <class Visit>
    std::size_t visit_cheap(Index x, const double& limit, const Visit& visit) {
        interrupt_->tick();
        const Row list = row(x);
        for (const Neighbour* entry = list.begin; entry != list.end; ++entry) {
            if (!(entry->distance < limit)) return 0;  // prices are never negative
            visit(entry->point, entry->distance);
        }
        return list.horizon < reach && list.horizon < limit ? visit_beyond(x, list.horizon, limit, visit) : 0;
    }

    // Makes the potentials feasible from the distances themselves, whatever a solver left: U(x) = min(reach, min of d + p).
    // So the dual value is a proof. Points without mass impose no constraint and take a value that the others allow.
    void tighten_potentials() {
        prices_changed();
        tighten_potentials([this](Index x, const double& limit, const auto& visit) { visit_cheap(x, limit, visit); });
    }

    // The same with another search: search(x, limit, visit) does what `visit_cheap` does, for targets with mass at least.
    template <class Search>
    void tighten_potentials(const Search& search) {
        for (Index x = 0; x < source.points.n; ++x) {
            double least = reach;
            search(x, least, [&](Index y, double d) {
                if (target.mass[y] > 0.0) least = std::min(least, d + target.potential[y]);
            });
            source.potential[x] = least;
        }
        if (std::find(target.mass.begin(), target.mass.end(), 0.0) != target.mass.end()) price_targets_without_mass();
    }

private:
    static constexpr Index kTiny = 12;           // up to here looking at every target beats a grid
    static constexpr Index kSmall = 512;         // up to here a grid beats a tree
    static constexpr std::size_t kPrefix = 32;  // neighbours listed at the first look at a row; the tree gives the others

    static constexpr std::size_t kShared = 48;  // leaves that a leaf's sources may share; beyond that, each searches on its own

    // A row that is searched beyond its listed neighbours gets a list of leaves, while all lists hold at most this per point.
    static constexpr std::size_t kLeaves = 64;

    static constexpr Index kManyTwins = 4;  // one in so many points

    struct StoredRow {
        std::size_t begin = 0;
        std::size_t leaves_begin = 0;
        std::uint32_t count = 0;
        std::uint32_t leaves_count = 0;
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
        const bool tiny = target.points.n <= kTiny;
        if (!tiny) grid_.build(target.points, target_box, reach);
        const double squared_reach = reach * reach;
        std::size_t used = 0;
        for (Index x = 0; x < source.points.n; ++x) {
            // Every candidate is written and only the near ones are kept: no branch to mispredict.
            if (entries_.size() < used + target.points.n) entries_.resize(2 * (used + target.points.n));
            Neighbour* const row = entries_.data() + used;
            Neighbour* end = row;
            const auto keep_if_near = [&](Index y, double squared) {
                *end = {squared, y};
                end += squared < squared_reach ? 1 : 0;
            };
            if (tiny) {
                for (Index y = 0; y < target.points.n; ++y) keep_if_near(y, squared_distance_between(x, y));
            } else {
                grid_.visit_near(source.points[x], keep_if_near);
            }
            for (Neighbour* entry = row; entry != end; ++entry) entry->distance = std::sqrt(entry->distance);
            sort_row(row, end);
            rows_[x] = {used, 0, static_cast<std::uint32_t>(end - row), 0, reach};
            used += static_cast<std::size_t>(end - row);
        }
    }

    // Insertion sort for short rows, the usual case in small problems.
    static void sort_row(Neighbour* begin, Neighbour* end) {
        if (end - begin > 16) {
            std::sort(begin, end);
            return;
        }
        for (Neighbour* next = begin + 1; next < end; ++next) {
            const Neighbour moved = *next;
            Neighbour* hole = next;
            for (; hole != begin && moved < hole[-1]; --hole) *hole = hole[-1];
            *hole = moved;
        }
    }

    // The part of visit_cheap that its neighbours' list does not cover.
    template <class Visit>
    std::size_t visit_beyond(Index x, double horizon, const double& limit, const Visit& visit) {
        const auto price = [this](Index y) { return target.potential[y]; };
        const double* q = source.points[x];
        StoredRow& stored = rows_[x];
        if (stored.leaves_count == 0 && leaves_.size() <= kLeaves * (rows_.size() + target.mass.size())) {
            target.tree.near_leaves(q, q, reach, std::numeric_limits<std::size_t>::max(), near_leaves_);
            stored.leaves_begin = leaves_.size();
            stored.leaves_count = static_cast<std::uint32_t>(near_leaves_.size());
            leaves_.insert(leaves_.end(), near_leaves_.begin(), near_leaves_.end());
        }
        if (stored.leaves_count > 0) {
            const LeafAt* begin = leaves_.data() + stored.leaves_begin;
            return target.tree.visit_cheap(begin, begin + stored.leaves_count, q, horizon, limit, price, visit);
        }
        return target.tree.visit_cheap(q, horizon, limit, price, visit);
    }

    // Kept out of line, so that looking up a listed row costs nothing.
    [[gnu::noinline]] void list_row(Index x) {
        interrupt_->tick();
        StoredRow& stored = rows_[x];
        stored.horizon = list_nearest(x);
        stored.begin = entries_.size();
        stored.count = static_cast<std::uint32_t>(neighbours_.size());
        entries_.insert(entries_.end(), neighbours_.begin(), neighbours_.end());
    }

    // Sources of one leaf are listed one after the other, as a rule, and share the leaves of targets around them.
    double list_nearest(Index x) {
        const Index leaf = source.tree.leaf_with(x, shared_leaf_ == kNone ? 0 : shared_leaf_);
        if (leaf != shared_leaf_) {
            shared_leaf_ = leaf;
            share_leaves_ = target.tree.near_leaves(source.tree.leaf_low(leaf), source.tree.leaf_high(leaf), reach, kShared,
                                                    shared_leaves_);
        }
        if (!share_leaves_) return target.tree.nearest(source.points[x], reach, kPrefix, neighbours_);
        return target.tree.nearest(shared_leaves_, source.points[x], reach, kPrefix, neighbours_);
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
    std::vector<Neighbour> neighbours_;
    std::vector<LeafAt> leaves_;
    std::vector<LeafAt> near_leaves_;
    Index shared_leaf_ = kNone;
    bool share_leaves_ = false;
    std::vector<LeafAt> shared_leaves_;
};

}  // namespace flatmetric
