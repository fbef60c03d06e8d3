#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/column.hpp"
#include "transport/heap.hpp"
#include "transport/instance.hpp"
#include "transport/labels.hpp"
#include "transport/plan.hpp"
#include "transport/rows.hpp"

namespace flatmetric {

// A source whose mass must wait for a larger part, at this level of the tree or above.
struct Waiting {
    Index x;
    int level;
};

// Partial transport by successive shortest paths. From each source a Dijkstra search in the reduced costs d + p - U
// looks for the cheapest way to place its mass: at a target with room, or by having another source of the search tree
// leave mass behind instead. Raised by the distances of the search, the potentials stay feasible and tight on the plan.
//
// One thread works in one part of the target tree. A source is at least its margin away from every target outside. The
// border is therefore one more way out, with the margin as its cost: a search that ends there is undone and left to a
// larger part. So no potential U exceeds its margin, the potentials are feasible for all parts together, and what was
// placed stays placed.
//
// Fast where mass finds room nearby. Where it must be carried far past others, searches grow; the work is therefore
// limited.
template <int D>
class ShortestPaths {
public:
    CellStock stock;
    Rows<D> rows;

    // `among` is the part; without trees there is none.
    void enter(Instance<D>& instance, Plan& plan, Labels& labels, Subtree among) {
        instance_ = &instance;
        plan_ = &plan;
        labels_ = &labels;
        among_ = among;
        bordered_ = instance.has_trees() && among.node != 0;
    }

    // The easy first searches of a source: no target in reach, or room at its nearest targets, one after the other, as
    // long as it fills each of them alone, so that no other source could make way for it (a target with room has price
    // 0). False if the source needs more than that.
    bool place_at_nearest(Index x, double margin) {
        double& left = plan_->source_left[x];
        if (left == 0.0) return true;
        const auto row = rows.row(x);
        if (row.begin == row.end && !(row.horizon < instance_->reach) && !(margin < instance_->reach)) {
            instance_->source.potential[x] = instance_->reach;
            return true;
        }
        const Neighbour* last = row.begin;
        for (const Neighbour* entry = row.begin; entry != row.end && left > 0.0; ++entry) {
            double& room = plan_->target_left[entry->point];
            if (!(room > 0.0) || !(entry->distance < margin)) break;
            const bool alone = plan_->first_of_target(entry->point) == nullptr;
            const double mass = std::min(left, room);
            left -= mass;
            room -= mass;
            plan_->add(x, entry->point, mass, entry->distance, stock);
            instance_->source.potential[x] = entry->distance;
            last = entry;
            if (!alone) break;
        }
        for (const Neighbour* full = row.begin; full != last; ++full) {
            instance_->target.potential[full->point] = last->distance - full->distance;
        }
        return !(left > 0.0);
    }

    // Starts to count the looks at arcs, of which there may be `allowed`, when `share` of the work is done.
    void limit_looks(double allowed, double share) {
        looked_at_ = 0;
        allowed_ = allowed;
        first_share_ = share;
        longest_search_ = 0;
        hardest_ = kNone;
    }

    // Places the mass of a source. What must wait is added to `left`. False, with mass still unplaced, if too many arcs
    // had to be looked at, or would have to at this rate, with `share` of the work done.
    bool place(Index x, double share, std::vector<Waiting>& left) {
        while (plan_->source_left[x] > 0.0 && instance_->source.potential[x] < instance_->reach) {
            if (static_cast<double>(looked_at_) > std::max(kFirstShare, share - first_share_) * allowed_) return false;
            const std::uint64_t before = looked_at_;
            const End end = search(x);
            if (looked_at_ - before > longest_search_) {
                longest_search_ = looked_at_ - before;
                hardest_ = x;
            }
            if (end.last == kNone) {
                raise_potentials(0.0);
                left.push_back({x, end.target});
                return true;
            }
            raise_potentials(end.dist);
            if (end.target == kNone)
                instance_->source.potential[end.last] = instance_->reach;  // exactly, not to rounding
            augment(x, end);
        }
        return true;
    }

    // The source with the longest search since limit_looks; kNone if there was none.
    Index hardest() const { return hardest_; }

private:
    static constexpr double kFirstShare =
        0.1;  // of the allowed work that may be done before it is compared with what is achieved
    static constexpr double kInfinity = Labels::kInfinity;

    // Where a search ends: at `target`, entered from `last`; or, without a target, at `last`, which leaves its mass
    // behind; or, without a last source, at the border, and `target` is the level of the part that it does not bound.
    struct End {
        double dist;
        Index last;
        Index target;
        double step;  // the distance from `last` to it
    };

    // Kept out of line to keep the common path small.
    [[gnu::noinline]] End search(Index start) {
        heap_.clear();
        const double* const source_dist = labels_->source_dist.data();
        const double* const target_dist = labels_->target_dist.data();
        End end{kInfinity, kNone, kNone, 0.0};
        reach_source(start, 0.0, nullptr, end);
        for (;;) {
            Heap::Item top;
            if (!as_near_.empty()) {
                top = {target_dist[as_near_.back()], as_near_.back()};
                as_near_.pop_back();
            } else if (!heap_.empty()) {
                top = heap_.pop();
                if (top.key > target_dist[top.node]) continue;  // superseded
            } else {
                break;
            }
            if (!(top.key < end.dist)) break;
            for (Cell* cell = plan_->first_of_target(top.node); cell != nullptr; cell = cell->next_of_target) {
                if (source_dist[cell->source] == kInfinity) reach_source(cell->source, top.key, cell, end);
            }
        }
        as_near_.clear();
        return end;
    }

    void reach_source(Index x, double dist, Cell* cell, End& end) {
        labels_->source_dist[x] = dist;
        labels_->via_cell[x] = cell;
        reached_sources_.push_back(x);
        const double level = instance_->source.potential[x];
        const double quit = dist + (instance_->reach - level);
        if (quit < end.dist) end = {quit, x, kNone, 0.0};
        if (bordered_) {
            const auto margin = instance_->target.tree.margin(among_, instance_->source.points[x]);
            const double border = dist + std::max(0.0, margin.distance - level);
            if (border < end.dist) end = {border, kNone, margin.level, 0.0};
        }
        double limit = end.dist - dist + level;
        const double* const price = instance_->target.potential.data();
        const double* const left = plan_->target_left.data();
        double* const target_dist = labels_->target_dist.data();
        looked_at_ += rows.visit_cheap(x, limit, [&, price, left, target_dist](Index y, double d) {
            ++looked_at_;
            const double key = dist + std::max(0.0, d + price[y] - level);
            if (!(key < end.dist) || !(key < target_dist[y])) return;
            if (left[y] > 0.0) {
                end = {key, x, y, d};
                limit = end.dist - dist + level;
                return;
            }
            if (target_dist[y] == kInfinity) reached_targets_.push_back(y);
            target_dist[y] = key;
            labels_->via_source[y] = {x, d};
            if (key > dist) {
                heap_.push(key, y);
            } else {
                as_near_.push_back(y);
            }
        });
    }

    // Ends a search: what it reached sooner than `dist` is raised by the difference.
    void raise_potentials(double dist) {
        const auto raise = [dist](std::vector<Index>& reached, Column<double>& dist_of, Column<double>& potential) {
            for (const Index i : reached) {
                if (dist_of[i] < dist) potential[i] += dist - dist_of[i];
                dist_of[i] = kInfinity;
            }
            reached.clear();
        };
        raise(reached_sources_, labels_->source_dist, instance_->source.potential);
        raise(reached_targets_, labels_->target_dist, instance_->target.potential);
    }

    // Moves as much as the way from `start` to the end allows.
    void augment(Index start, const End& end) {
        if (end.target == kNone && end.last == start) return;
        const auto cell_of = [this](Index x) { return labels_->via_cell[x]; };
        double mass = plan_->source_left[start];
        if (end.target != kNone) mass = std::min(mass, plan_->target_left[end.target]);
        for (Index x = end.last; x != start; x = labels_->via_source[cell_of(x)->target].source)
            mass = std::min(mass, cell_of(x)->mass);
        if (end.target != kNone) {
            plan_->target_left[end.target] -= mass;
            plan_->add(end.last, end.target, mass, end.step, stock);
        } else {
            plan_->source_left[end.last] += mass;
        }
        for (Index x = end.last; x != start;) {
            const Index y = cell_of(x)->target;
            plan_->take(cell_of(x), mass, stock);
            x = labels_->via_source[y].source;
            plan_->add(x, y, mass, labels_->via_source[y].step, stock);
        }
        plan_->source_left[start] -= mass;
    }

    Instance<D>* instance_ = nullptr;
    Plan* plan_ = nullptr;
    Labels* labels_ = nullptr;
    Subtree among_{0, 0};
    bool bordered_ = false;
    std::uint64_t looked_at_ = 0;
    double allowed_ = 0.0;
    double first_share_ = 0.0;
    std::uint64_t longest_search_ = 0;
    Index hardest_ = kNone;
    // Of the current search.
    Heap heap_;
    std::vector<Index>
        as_near_;  // targets no further than the source they were reached from: they come next, without the heap
    std::vector<Index> reached_sources_;
    std::vector<Index> reached_targets_;
};

}  // namespace flatmetric
