#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "flow.hpp"
#include "heap.hpp"
#include "interrupt.hpp"
#include "kdtree.hpp"
#include "points.hpp"
#include "strips.hpp"

namespace flatmetric {

// Exact partial transport between two weighted point sets where leaving a unit of mass on both sides costs `reach`:
//
//   min  sum mass d  +  reach * (source mass left)      over plans that move at most what there is,
//
// by successive shortest paths. U on the sources and p on the targets are the dual potentials, kept such that
//
//   0 <= p,   U <= reach,   U(x) - p(y) <= d(x, y),   with equality where mass flows.
//
// The plan is optimal as soon as every source with free mass has U = reach ("gave up") and every target with free mass
// has p = 0. A search from a source that has not given up is a Dijkstra search in the reduced costs d + p - U; it ends at a
// target with free mass or at a source that gives up in its stead. The mirror image of this search, from a target with
// p > 0, is the same code with the sides exchanged (level = reach - p, price = reach - U).
template <int D>
class Transport {
public:
    // Masses may be null (all 1) and may hold zeros.
    void solve(Points<D> sources, Points<D> targets, const double* source_mass, const double* target_mass, double reach,
               Interrupt& interrupt) {
        interrupt_ = &interrupt;
        reach_ = reach;
        use_tree_ = std::max(sources.n, targets.n) > kSmall;
        load(source_, sources, source_mass);
        load(target_, targets, target_mass);
        flow_.reset(sources.n, targets.n);
        if (use_tree_) {
            target_.tree.bound_prices([](Index) { return 0.0; });
        } else {
            list_all_rows();
        }
        for (Index x = 0; x < sources.n; ++x) drain<true>(x);
        make_potentials_tight();
    }

    Index source_original(Index x) const { return use_tree_ ? source_.tree.original(x) : x; }
    Index target_original(Index y) const { return use_tree_ ? target_.tree.original(y) : y; }
    double source_left(Index x) const { return source_.free[x]; }
    double target_left(Index y) const { return target_.free[y]; }
    double source_potential(Index x) const { return source_.potential[x]; }
    double target_potential(Index y) const { return target_.potential[y]; }

    // Calls visit(source, target, mass, distance) for every cell of the plan.
    template <class Visit>
    void visit_plan(const Visit& visit) const {
        for (Index x = 0; x < source_.points.n; ++x) {
            for (Index c = flow_.first_of_source(x); c != kNone; c = flow_[c].next_of_source) {
                const Index y = flow_[c].target;
                visit(x, y, flow_[c].mass, distance<D>(source_.points[x], target_.points[y], source_.points.dims()));
            }
        }
    }

private:
    static constexpr Index kSmall = 256;         // up to here strips beat a tree
    static constexpr std::size_t kPrefix = 24;  // neighbours listed at first touch of a row; more come from the tree
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    // The nearest neighbours of a point on the other side, by distance: all that are closer than `horizon`.
    struct Row {
        std::size_t begin = 0;
        std::uint32_t count = 0;
        double horizon = -1.0;  // not listed yet
    };

    struct Side {
        Points<D> points;
        KdTree<D> tree;
        std::vector<double> mass;
        std::vector<double> free;
        std::vector<double> potential;
        std::vector<Row> rows;
        std::vector<Neighbour> entries;
        // Of the current search: the distance of each reached node, and how it was reached.
        std::vector<double> dist;
        std::vector<Index> via;
        std::vector<Index> reached;
    };

    void load(Side& side, Points<D> points, const double* mass) {
        side.points = points;
        if (use_tree_) {
            side.tree.build(points, *interrupt_);
            side.points = side.tree.points();
        }
        side.mass.resize(points.n);
        for (Index i = 0; i < points.n; ++i) {
            side.mass[i] = mass == nullptr ? 1.0 : mass[use_tree_ ? side.tree.original(i) : i];
        }
        side.free = side.mass;
        side.potential.assign(points.n, 0.0);
        side.rows.assign(points.n, Row{});
        side.entries.clear();
        side.dist.assign(points.n, kInfinity);
        side.via.resize(points.n);
        side.reached.clear();
    }

    void list_all_rows() {
        strips_.build(target_.points);
        const double squared_reach = reach_ * reach_;
        auto& entries = source_.entries;
        for (Index x = 0; x < source_.points.n; ++x) {
            const std::size_t begin = entries.size();
            strips_.visit_near(source_.points[x], reach_, [&](Index y, double squared) {
                if (squared < squared_reach) entries.push_back({std::sqrt(squared), y});
            });
            std::sort(entries.begin() + static_cast<std::ptrdiff_t>(begin), entries.end());
            source_.rows[x] = {begin, static_cast<std::uint32_t>(entries.size() - begin), reach_};
        }
    }

    template <bool Forward>
    Side& from() {
        return Forward ? source_ : target_;
    }
    template <bool Forward>
    Side& to() {
        return Forward ? target_ : source_;
    }
    template <bool Forward>
    double level(Index a) const {
        return Forward ? source_.potential[a] : reach_ - target_.potential[a];
    }
    template <bool Forward>
    double price(Index b) const {
        return Forward ? target_.potential[b] : reach_ - source_.potential[b];
    }

    template <bool Forward>
    const Row& row(Index a) {
        Row& row = from<Forward>().rows[a];
        if (row.horizon < 0.0) list_row<Forward>(a, row);
        return row;
    }

    template <bool Forward>
    void list_row(Index a, Row& row) {
        Side& side = from<Forward>();
        if (use_tree_) {
            row.horizon = to<Forward>().tree.nearest(side.points[a], reach_, kPrefix, found_);
        } else {
            found_.clear();
            const Points<D> others = to<Forward>().points;
            for (Index b = 0; b < others.n; ++b) {
                const double d = distance<D>(side.points[a], others[b], others.dims());
                if (d < reach_) found_.push_back({d, b});
            }
            std::sort(found_.begin(), found_.end());
            row.horizon = reach_;
        }
        row.begin = side.entries.size();
        row.count = static_cast<std::uint32_t>(found_.size());
        side.entries.insert(side.entries.end(), found_.begin(), found_.end());
    }

    // Calls visit(b, distance) at least for every b with distance + price(b) < limit; `visit` may lower the limit.
    template <bool Forward, class Visit>
    void visit_cheap(Index a, const double& limit, const Visit& visit) {
        interrupt_->tick();
        const Row& list = row<Forward>(a);
        const Neighbour* entry = from<Forward>().entries.data() + list.begin;
        for (std::uint32_t i = 0; i < list.count; ++i) {
            if (!(entry[i].distance < limit)) return;  // prices are never negative
            visit(entry[i].point, entry[i].distance);
        }
        if (list.horizon < reach_ && list.horizon < limit) {
            to<Forward>().tree.visit_cheap(from<Forward>().points[a], list.horizon, limit,
                                           [this](Index b) { return price<Forward>(b); }, visit);
        }
    }

    // Where a search ends: at `node` of the other side, entered from `last`, or, if node is kNone, at `last`, which gives up.
    struct End {
        double dist;
        Index last;
        Index node;
    };

    // Moves the free mass of node a until none is left or it gives up.
    template <bool Forward>
    void drain(Index a) {
        while (from<Forward>().free[a] > 0.0 && level<Forward>(a) < reach_) {
            const End end = search<Forward>(a);
            raise_potentials<Forward>(a, end);
            augment<Forward>(a, end);
        }
    }

    template <bool Forward>
    End search(Index start) {
        Side& near = from<Forward>();
        Side& far = to<Forward>();
        heap_.clear();
        End end{kInfinity, kNone, kNone};
        near.dist[start] = 0.0;
        near.reached.push_back(start);
        scan<Forward>(start, end);
        while (!heap_.empty()) {
            const Heap::Item top = heap_.pop();
            if (!(top.key < end.dist)) break;
            const Index b = top.node;
            if (top.key > far.dist[b]) continue;  // superseded
            for (Index c = Forward ? flow_.first_of_target(b) : flow_.first_of_source(b); c != kNone;
                 c = Forward ? flow_[c].next_of_target : flow_[c].next_of_source) {
                const Index a = Forward ? flow_[c].source : flow_[c].target;
                if (near.dist[a] < kInfinity) continue;
                near.dist[a] = top.key;
                near.via[a] = c;
                near.reached.push_back(a);
                scan<Forward>(a, end);
            }
        }
        return end;
    }

    template <bool Forward>
    void scan(Index a, End& end) {
        Side& far = to<Forward>();
        const double dist = from<Forward>().dist[a];
        const double height = level<Forward>(a);
        const double quit = dist + (reach_ - height);
        if (quit < end.dist) end = {quit, a, kNone};
        double limit = end.dist - dist + height;
        visit_cheap<Forward>(a, limit, [&](Index b, double d) {
            const double key = dist + std::max(0.0, d + price<Forward>(b) - height);
            if (!(key < end.dist) || !(key < far.dist[b])) return;
            if (far.free[b] > 0.0) {
                end = {key, a, b};
                limit = end.dist - dist + height;
                return;
            }
            if (far.dist[b] == kInfinity) far.reached.push_back(b);
            far.dist[b] = key;
            far.via[b] = a;
            heap_.push(key, b);
        });
    }

    template <bool Forward>
    void raise_potentials(Index start, const End& end) {
        const double sign = Forward ? 1.0 : -1.0;
        Side& near = from<Forward>();
        for (const Index a : near.reached) {
            if (near.dist[a] < end.dist) near.potential[a] += sign * (end.dist - near.dist[a]);
            near.dist[a] = kInfinity;
        }
        near.reached.clear();
        Side& far = to<Forward>();
        for (const Index b : far.reached) {
            if (far.dist[b] < end.dist) far.potential[b] += sign * (end.dist - far.dist[b]);
            far.dist[b] = kInfinity;
        }
        far.reached.clear();
        if (end.node == kNone) near.potential[end.last] = Forward ? reach_ : 0.0;  // gave up: exactly, not to rounding
        (void)start;
    }

    template <bool Forward>
    void augment(Index start, const End& end) {
        Side& near = from<Forward>();
        Side& far = to<Forward>();
        if (end.node == kNone && end.last == start) return;
        double mass = near.free[start];
        if (end.node != kNone) mass = std::min(mass, far.free[end.node]);
        for (Index a = end.last; a != start;) {
            const Cell& cell = flow_[near.via[a]];
            mass = std::min(mass, cell.mass);
            a = far.via[Forward ? cell.target : cell.source];
        }
        if (end.node != kNone) {
            far.free[end.node] -= mass;
            add_flow<Forward>(end.last, end.node, mass);
        } else {
            near.free[end.last] += mass;
        }
        for (Index a = end.last; a != start;) {
            const Index cell = near.via[a];
            const Index b = Forward ? flow_[cell].target : flow_[cell].source;
            flow_.take(cell, mass);
            a = far.via[b];
            add_flow<Forward>(a, b, mass);
        }
        near.free[start] -= mass;
    }

    template <bool Forward>
    void add_flow(Index a, Index b, double mass) {
        flow_.add(Forward ? a : b, Forward ? b : a, mass);
    }

    // The least of reach and distance + price over the other side.
    template <bool Forward>
    double cheapest(Index a) {
        double best = reach_;
        visit_cheap<Forward>(a, best, [&](Index b, double d) { best = std::min(best, d + price<Forward>(b)); });
        return best;
    }

    // U(x) = min(reach, min over y of d + p) from the distances themselves: whatever the searches did, the potentials are
    // now feasible, so that the dual value is a proof. A target without mass takes the price that its neighbours leave it.
    void make_potentials_tight() {
        if (use_tree_) target_.tree.bound_prices([this](Index y) { return price<true>(y); });
        for (Index x = 0; x < source_.points.n; ++x) source_.potential[x] = cheapest<true>(x);
        if (use_tree_) source_.tree.bound_prices([this](Index x) { return price<false>(x); });
        for (Index y = 0; y < target_.points.n; ++y) {
            if (target_.mass[y] == 0.0) target_.potential[y] = reach_ - cheapest<false>(y);
        }
    }

    Interrupt* interrupt_ = nullptr;
    double reach_ = 0.0;
    bool use_tree_ = false;
    Side source_;
    Side target_;
    Flow flow_;
    Strips<D> strips_;
    Heap heap_;
    std::vector<Neighbour> found_;
};

}  // namespace flatmetric
