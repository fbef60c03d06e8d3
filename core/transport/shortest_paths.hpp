#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "transport/heap.hpp"
#include "transport/instance.hpp"
#include "transport/plan.hpp"

namespace flatmetric {

// Partial transport by successive shortest paths. From each source a Dijkstra search in the reduced costs d + p - U looks for
// the cheapest way to place its mass: at a target with room, or by having another source of the search tree leave
// mass behind instead. Raised by the distances of the search, the potentials stay feasible and tight on the plan.
//
// Fast where mass finds room nearby. Where it must be carried far past others, searches grow; the work is therefore limited.
template <int D>
class ShortestPaths {
public:
    // False, with nothing useful in plan and potentials, if more than `allowed` arcs had to be looked at, or would have to at this rate.
    bool solve(Instance<D>& instance, Plan& plan, double allowed) {
        instance_ = &instance;
        plan_ = &plan;
        looked_at_ = 0;
        unplaced_.clear();
        for (Index x = 0; x < instance.source.points.n; ++x) place_at_nearest(x);
        if (unplaced_.empty()) return true;
        source_dist_.assign(instance.source.points.n, kInfinity);
        target_dist_.assign(instance.target.points.n, kInfinity);
        via_cell_.resize(instance.source.points.n);
        via_source_.resize(instance.target.points.n);
        for (std::size_t done = 0; done < unplaced_.size(); ++done) {
            const Index x = unplaced_[done];
            const double share = std::max(kFirstShare, static_cast<double>(done + 1) / static_cast<double>(unplaced_.size()));
            while (plan.source_left[x] > 0.0 && instance.source.potential[x] < instance.reach) {
                const End end = search(x);
                raise_potentials(end);
                augment(x, end);
                if (static_cast<double>(looked_at_) > share * allowed) return false;
            }
        }
        return true;
    }

private:
    static constexpr double kFirstShare = 0.25;  // of the allowed work that may be done before it is compared with what is achieved
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    struct Via {
        Index source;
        double step;
    };

    // Where a search ends: at `target`, entered from `last`, or, without a target, at `last`, which leaves its mass behind.
    struct End {
        double dist;
        Index last;
        Index target;
        double step;  // the distance from `last` to it
    };

    // The easy first searches of a source: no target in reach, or room at its nearest targets, one after the other, as long as
    // it fills each of them alone, so that no other source could make way for it (a target with room has price 0). Sources that
    // need more than that go to `unplaced_`.
    void place_at_nearest(Index x) {
        double& left = plan_->source_left[x];
        if (left == 0.0) return;
        const auto row = instance_->row(x);
        if (row.begin == row.end && !(row.horizon < instance_->reach)) {
            instance_->source.potential[x] = instance_->reach;
            return;
        }
        const Neighbour* last = row.begin;
        for (const Neighbour* entry = row.begin; entry != row.end && left > 0.0; ++entry) {
            double& room = plan_->target_left[entry->point];
            if (!(room > 0.0)) break;
            const bool alone = plan_->first_of_target(entry->point) == kNone;
            const double mass = std::min(left, room);
            left -= mass;
            room -= mass;
            plan_->add(x, entry->point, mass, entry->distance);
            instance_->source.potential[x] = entry->distance;
            last = entry;
            if (!alone) break;
        }
        for (const Neighbour* full = row.begin; full != last; ++full) {
            instance_->target.potential[full->point] = last->distance - full->distance;
        }
        if (left > 0.0) unplaced_.push_back(x);
    }

    // Kept out of line to keep the common path small.
    [[gnu::noinline]] End search(Index start) {
        heap_.clear();
        End end{kInfinity, kNone, kNone, 0.0};
        reach_source(start, 0.0, kNone, end);
        for (;;) {
            Heap::Item top;
            if (!as_near_.empty()) {
                top = {target_dist_[as_near_.back()], as_near_.back()};
                as_near_.pop_back();
            } else if (!heap_.empty()) {
                top = heap_.pop();
                if (top.key > target_dist_[top.node]) continue;  // superseded
            } else {
                break;
            }
            if (!(top.key < end.dist)) break;
            for (Index c = plan_->first_of_target(top.node); c != kNone; c = plan_->cell(c).next_of_target) {
                const Index x = plan_->cell(c).source;
                if (source_dist_[x] == kInfinity) reach_source(x, top.key, c, end);
            }
        }
        as_near_.clear();
        return end;
    }

    void reach_source(Index x, double dist, Index cell, End& end) {
        source_dist_[x] = dist;
        via_cell_[x] = cell;
        reached_sources_.push_back(x);
        const double level = instance_->source.potential[x];
        const double quit = dist + (instance_->reach - level);
        if (quit < end.dist) end = {quit, x, kNone, 0.0};
        double limit = end.dist - dist + level;
        const double* const price = instance_->target.potential.data();
        const double* const left = plan_->target_left.data();
        double* const target_dist = target_dist_.data();
        looked_at_ += instance_->visit_cheap(x, limit, [&, price, left, target_dist](Index y, double d) {
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
            via_source_[y] = {x, d};
            if (key > dist) {
                heap_.push(key, y);
            } else {
                as_near_.push_back(y);
            }
        });
    }

    void raise_potentials(const End& end) {
        for (const Index x : reached_sources_) {
            if (source_dist_[x] < end.dist) instance_->source.potential[x] += end.dist - source_dist_[x];
            source_dist_[x] = kInfinity;
        }
        reached_sources_.clear();
        for (const Index y : reached_targets_) {
            if (target_dist_[y] < end.dist) instance_->target.potential[y] += end.dist - target_dist_[y];
            target_dist_[y] = kInfinity;
        }
        reached_targets_.clear();
        if (end.target == kNone) instance_->source.potential[end.last] = instance_->reach;  // exactly, not to rounding
    }

    // Moves as much as the way from `start` to the end allows.
    void augment(Index start, const End& end) {
        if (end.target == kNone && end.last == start) return;
        double mass = plan_->source_left[start];
        if (end.target != kNone) mass = std::min(mass, plan_->target_left[end.target]);
        for (Index x = end.last; x != start; x = via_source_[plan_->cell(via_cell_[x]).target].source) {
            mass = std::min(mass, plan_->cell(via_cell_[x]).mass);
        }
        if (end.target != kNone) {
            plan_->target_left[end.target] -= mass;
            plan_->add(end.last, end.target, mass, end.step);
        } else {
            plan_->source_left[end.last] += mass;
        }
        for (Index x = end.last; x != start;) {
            const Index y = plan_->cell(via_cell_[x]).target;
            plan_->take(via_cell_[x], mass);
            x = via_source_[y].source;
            plan_->add(x, y, mass, via_source_[y].step);
        }
        plan_->source_left[start] -= mass;
    }

    Instance<D>* instance_ = nullptr;
    Plan* plan_ = nullptr;
    std::uint64_t looked_at_ = 0;
    Heap heap_;
    std::vector<Index> as_near_;  // targets no further than the source they were reached from: they come next, without the heap
    std::vector<Index> unplaced_;
    // Of the current search: the distance of each reached node, and how it was reached.
    std::vector<double> source_dist_;
    std::vector<double> target_dist_;
    std::vector<Index> via_cell_;
    std::vector<Via> via_source_;
    std::vector<Index> reached_sources_;
    std::vector<Index> reached_targets_;
};

}  // namespace flatmetric
