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
#include "transport/instance.hpp"

namespace flatmetric {

// The targets around sources, as one thread looks at them: lists of the nearest, made when a source is first asked for,
// and the tree beyond.
template <int D>
class Rows {
public:
    // For a problem without trees: lists everything in reach of every source.
    void list_all(Instance<D>& instance, const Box<D>& target_box, Interrupt& interrupt) {
        instance_ = &instance;
        interrupt_ = &interrupt;
        listed_.clear();
        const Points<D> sources = instance.source.points;
        const Points<D> targets = instance.target.points;
        const double reach = instance.reach;
        const bool tiny = targets.n <= kTiny;
        if (!tiny) grid_.build(targets, target_box, reach);
        const double squared_reach = reach * reach;
        std::size_t used = 0;
        for (Index x = 0; x < sources.n; ++x) {
            // Every candidate is written and only the near ones are kept: no branch to mispredict.
            if (entries_.size() < used + targets.n) entries_.resize(2 * (used + targets.n));
            Neighbour* const row = entries_.data() + used;
            Neighbour* end = row;
            const auto keep_if_near = [&](Index y, double squared) {
                *end = {squared, y};
                end += squared < squared_reach ? 1 : 0;
            };
            if (tiny) {
                for (Index y = 0; y < targets.n; ++y) keep_if_near(y, instance.squared_distance_between(x, y));
            } else {
                grid_.visit_near(sources[x], keep_if_near);
            }
            for (Neighbour* entry = row; entry != end; ++entry) entry->distance = std::sqrt(entry->distance);
            sort_row(row, end);
            instance.rows[x] = {used, 0, static_cast<std::uint32_t>(end - row), 0, reach};
            used += static_cast<std::size_t>(end - row);
        }
    }

    // For a problem with trees: looks at the targets of one subtree alone.
    void enter(Instance<D>& instance, Subtree among, Interrupt& interrupt) {
        instance_ = &instance;
        interrupt_ = &interrupt;
        among_ = among;
        const auto [begin, end] = instance.target.tree.range(among);
        most_leaves_ = kLeaves * static_cast<std::size_t>(end - begin);
        shared_leaf_ = kNone;
    }
    void leave() {
        for (const Index x : listed_) instance_->rows[x] = ListedRow{};
        listed_.clear();
        entries_.clear();
        leaves_.clear();
    }

    // The nearest targets of a source, by distance: all that are closer than `horizon`. Valid until the next row is
    // listed.
    struct Row {
        const Neighbour* begin;
        const Neighbour* end;
        double horizon;
    };

    Row row(Index x) {
        ListedRow& listed = instance_->rows[x];
        if (listed.horizon < 0.0) list_row(x);
        const Neighbour* begin = entries_.data() + listed.begin;
        return {begin, begin + listed.count, listed.horizon};
    }

    // Calls visit(y, distance) at least for every target with distance + price < limit; `visit` may lower the limit.
    // Prices must not have gone down since the tree was told. Returns how much it took to find them, beyond the visits
    // themselves.
    template <class Visit>
    std::size_t visit_cheap(Index x, const double& limit, const Visit& visit) {
        interrupt_->tick();
        const Row list = row(x);
        for (const Neighbour* entry = list.begin; entry != list.end; ++entry) {
            if (!(entry->distance < limit)) return 0;  // prices are never negative
            visit(entry->point, entry->distance);
        }
        return list.horizon < instance_->reach && list.horizon < limit ? visit_beyond(x, list.horizon, limit, visit)
                                                                       : 0;
    }

private:
    static constexpr Index kTiny = 12;  // up to here looking at every target beats a grid
    static constexpr std::size_t kPrefix =
        32;  // neighbours listed at the first look at a row; the tree gives the others
    static constexpr std::size_t kShared =
        48;  // leaves that a leaf's sources may share; beyond that, each searches on its own

    // A row that is searched beyond its listed neighbours gets a list of leaves, while all lists hold at most this per
    // target.
    static constexpr std::size_t kLeaves = 128;

    static constexpr std::size_t kListing = 4;  // listing a leaf takes as long as so many looks

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

    // The part of visit_cheap that the list of neighbours does not cover.
    template <class Visit>
    std::size_t visit_beyond(Index x, double horizon, const double& limit, const Visit& visit) {
        const auto price = [this](Index y) { return instance_->target.potential[y]; };
        const double* q = instance_->source.points[x];
        KdTree<D>& tree = instance_->target.tree;
        ListedRow& listed = instance_->rows[x];
        std::size_t met = 0;
        if (listed.leaves_count == 0 && leaves_.size() <= most_leaves_) {
            tree.near_leaves(among_, q, q, instance_->reach, std::numeric_limits<std::size_t>::max(), near_leaves_);
            listed.leaves_begin = leaves_.size();
            listed.leaves_count = static_cast<std::uint32_t>(near_leaves_.size());
            leaves_.insert(leaves_.end(), near_leaves_.begin(), near_leaves_.end());
            met += kListing * near_leaves_.size();
        }
        if (listed.leaves_count > 0) {
            const LeafAt* begin = leaves_.data() + listed.leaves_begin;
            return met + tree.visit_cheap(begin, begin + listed.leaves_count, q, horizon, limit, price, visit);
        }
        return met + tree.visit_cheap(among_, q, horizon, limit, price, visit);
    }

    // Kept out of line, so that looking up a listed row costs nothing.
    [[gnu::noinline]] void list_row(Index x) {
        interrupt_->tick();
        ListedRow& listed = instance_->rows[x];
        listed.horizon = list_nearest(x);
        listed.begin = entries_.size();
        listed.count = static_cast<std::uint32_t>(neighbours_.size());
        entries_.insert(entries_.end(), neighbours_.begin(), neighbours_.end());
        listed_.push_back(x);
    }

    // Sources of one leaf are listed one after the other, as a rule, and share the leaves of targets around them.
    double list_nearest(Index x) {
        const KdTree<D>& sources = instance_->source.tree;
        const KdTree<D>& targets = instance_->target.tree;
        const double reach = instance_->reach;
        const double* const q = instance_->source.points[x];
        const Index leaf = sources.leaf_with(x, shared_leaf_ == kNone ? 0 : shared_leaf_);
        if (leaf != shared_leaf_) {
            shared_leaf_ = leaf;
            share_leaves_ = targets.near_leaves(among_, sources.leaf_low(leaf), sources.leaf_high(leaf), reach, kShared,
                                                shared_leaves_);
        }
        if (!share_leaves_) return targets.nearest(among_, q, reach, kPrefix, neighbours_);
        return targets.nearest(shared_leaves_, q, reach, kPrefix, neighbours_);
    }

    Instance<D>* instance_ = nullptr;
    Interrupt* interrupt_ = nullptr;
    Subtree among_{0, 0};
    Grid<D> grid_;
    std::vector<Index> listed_;
    std::vector<Neighbour> entries_;
    std::vector<Neighbour> neighbours_;
    std::size_t most_leaves_ = 0;
    std::vector<LeafAt> leaves_;
    std::vector<LeafAt> near_leaves_;
    Index shared_leaf_ = kNone;
    bool share_leaves_ = false;
    std::vector<LeafAt> shared_leaves_;
};

}  // namespace flatmetric
