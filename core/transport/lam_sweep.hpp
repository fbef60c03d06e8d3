#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "support/exact.hpp"
#include "support/interrupt.hpp"
#include "transport/measure.hpp"
#include "transport/places.hpp"

namespace flatmetric {

// The optimal plans for every reach = 2 lam at once, in one sweep of reach from 0 upwards. For equal masses; where they
// differ, a way rarely empties a source, and LamSimplex keeps the trees that this would take apart.
//
// All sources with mass left have U = reach. Trees of tight arcs grow from them, and in these U and p rise with reach;
// everywhere else they stand still. A target that becomes tight to a tree joins it, with the sources that send it mass;
// if it has room, mass is moved along the tree to it and the tree falls apart. That is Dijkstra's search from all
// sources at once, with reach as the common distance, and so mass moves in the order of the length of its way: each way
// is a breakpoint.
template <int D>
class LamSweep {
public:
    // Calls moved(length, mass) for each way that mass takes while reach < most; lengths never decrease, but for
    // rounding. Returns the mass that has not moved then, of both sides.
    template <class Moved>
    Exact sweep(const Measure& sources, const Measure& targets, double most, Interrupt& interrupt, const Moved& moved) {
        most_ = most;
        reach_ = 0.0;
        interrupt_ = &interrupt;
        load(sources_, sources, source_);
        load(targets_, targets, target_);
        if (!source_.empty() && !target_.empty()) follow(moved);
        Exact unmoved;
        for (const Source& source : source_) unmoved += source.left;
        for (const Target& target : target_) unmoved += target.room;
        return unmoved;
    }

private:
    template <class Moved>
    void follow(const Moved& moved) {
        cells_.clear();
        unused_ = kNone;
        events_ = {};
        first_target_.assign(source_.size(), kNone);
        for (Index x = 0; x < static_cast<Index>(source_.size()); ++x) join(x, x, kNone);
        while (!events_.empty() && events_.top().time < most_) {
            interrupt_->tick();
            const Event event = events_.top();
            events_.pop();
            reach_ = std::max(reach_, event.time);
            if (event.of_source) {
                if (source_[event.source].stamp == event.source_stamp)
                    meet_from_source(event.source, event.target, moved);
            } else {
                if (target_[event.target].stamp == event.target_stamp) meet_from_target(event, moved);
            }
        }
    }

    static constexpr double kRounding = 1e-14;  // relative to reach: less slack than that is none
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    struct Source {
        Exact left;
        double potential = 0.0;  // less reach while it rises
        Index root = kNone;      // of the tree that it is in
        Index via = kNone;       // the cell by which it joined; none for a root
        Index next = kNone;      // in its tree
        Index first_cell = kNone;
        std::uint32_t stamp = 0;  // counts how often it joined or left a tree
    };

    struct Target {
        Exact room;
        double price = 0.0;  // less reach while it rises
        double step = 0.0;   // from `via`
        Index root = kNone;
        Index via = kNone;  // the source by which it joined
        Index next = kNone;
        Index first_cell = kNone;
        std::uint32_t stamp = 0;
    };

    struct Cell {
        Index source;
        Index target;
        Index next_of_source;
        Index next_of_target;
        Exact mass;
        double distance;
    };

    // A rising source and a target that stands still become tight when reach gets there. Each rising source has such an
    // event, for the first target that it meets, and each target that a tree has left behind one for the first source.
    struct Event {
        double time;
        Index source;
        Index target;
        std::uint32_t source_stamp;
        std::uint32_t target_stamp;
        bool of_source;
        bool operator<(const Event& other) const {  // the top of the queue is the largest
            if (time != other.time) return time > other.time;
            return source != other.source ? source > other.source : target > other.target;
        }
    };

    template <class Node>
    void load(Places<D>& places, const Measure& measure, std::vector<Node>& nodes) {
        places.load(measure, *interrupt_);
        nodes.assign(places.count(), Node{});
        for (Index i = 0; i < places.count(); ++i) amount(nodes[i]) = places.mass(i);
    }
    static Exact& amount(Source& source) { return source.left; }
    static Exact& amount(Target& target) { return target.room; }

    double distance_between(Index x, Index y) const {
        const Points<D> from = sources_.tree.points();
        return distance<D>(from[x], targets_.tree.points()[y], from.dims());
    }
    bool rises(Index x) const { return source_[x].root != kNone; }
    bool target_rises(Index y) const { return target_[y].root != kNone; }

    // A point that can't be met by the other side is infinitely dear.
    double source_price(Index x) const { return rises(x) ? -source_[x].potential : kInfinity; }
    double target_price(Index y) const { return target_rises(y) ? kInfinity : target_[y].price; }

    void join(Index x, Index root, Index via) {
        Source& source = source_[x];
        source.potential = std::min(source.potential - reach_, 0.0);
        source.root = root;
        source.via = via;
        ++source.stamp;
        if (x == root) {
            source.next = kNone;
            first_target_[root] = kNone;
        } else {
            source.next = source_[root].next;
            source_[root].next = x;
        }
        sources_.tree.lower_bounds(x, source_price(x));
        await_target(x);
    }

    // The first target that a rising source meets.
    void await_target(Index x) {
        const First first = first_below(most_ + source_[x].potential, targets_.tree, sources_.tree.points()[x],
                                        [this](Index y) { return target_price(y); });
        if (first.point != kNone) push(first.sum - source_[x].potential, x, first.point, true);
    }

    // The first source that a target meets while it stands still.
    void await_source(Index y) {
        const First first = first_below(most_ - target_[y].price, sources_.tree, targets_.tree.points()[y],
                                        [this](Index x) { return source_price(x); });
        if (first.point != kNone) push(first.sum + target_[y].price, first.point, y, false);
    }

    struct First {
        Index point;
        double sum;
    };

    // The point of the smallest distance + price below the limit; of equal ones the first.
    template <class Price>
    static First first_below(double limit, KdTree<D>& tree, const double* q, const Price& price) {
        First first{kNone, limit};
        tree.visit_cheap(q, 0.0, first.sum, price, [&](Index i, double d) {
            const double sum = d + price(i);
            if (sum < first.sum || (sum == first.sum && i < first.point)) first = {i, sum};
        });
        return first;
    }

    void push(double time, Index x, Index y, bool of_source) {
        events_.push({std::max(time, reach_), x, y, source_[x].stamp, target_[y].stamp, of_source});
    }

    template <class Moved>
    void meet_from_source(Index x, Index y, const Moved& moved) {
        const double d = distance_between(x, y);
        // Meanwhile the target may have become dearer, or rise itself, and then the slack stays.
        if (!target_rises(y) && !(d + target_[y].price - source_[x].potential > reach_ * (1.0 + kRounding))) {
            meet(x, y, d, moved);
            if (!rises(x)) return;
        }
        await_target(x);
    }

    template <class Moved>
    void meet_from_target(const Event& event, const Moved& moved) {
        if (source_[event.source].stamp == event.source_stamp) {
            meet(event.source, event.target, distance_between(event.source, event.target), moved);
        } else {
            await_source(event.target);  // the source stands still; all others meet the target later than now
        }
    }

    template <class Moved>
    void meet(Index x, Index y, double d, const Moved& moved) {
        if (target_[y].room.positive()) {
            move(x, y, d, moved);
        } else {
            join_target(x, y, d);
        }
    }

    void join_target(Index x, Index y, double d) {
        Target& target = target_[y];
        const Index root = source_[x].root;
        target.price = std::min(target.price - reach_, 0.0);
        ++target.stamp;
        target.root = root;
        target.via = x;
        target.step = d;
        target.next = first_target_[root];
        first_target_[root] = y;
        for (Index c = target.first_cell; c != kNone; c = cells_[c].next_of_target) {
            if (!rises(cells_[c].source)) join(cells_[c].source, root, c);
        }
    }

    // Moves as much mass as the way from the root of x over x to y allows.
    template <class Moved>
    void move(Index x, Index y, double d, const Moved& moved) {
        const Index root = source_[x].root;
        Exact mass = std::min(source_[root].left, target_[y].room);
        double length = d;
        for (Index at = x; at != root;) {
            const Cell& cell = cells_[source_[at].via];
            mass = std::min(mass, cell.mass);
            length += target_[cell.target].step - cell.distance;
            at = target_[cell.target].via;
        }
        add(x, y, mass, d);
        target_[y].room -= mass;
        for (Index at = x; at != root;) {
            const Index via = source_[at].via;
            const Index between = cells_[via].target;
            take(via, mass);
            at = target_[between].via;
            add(at, between, mass, target_[between].step);
        }
        source_[root].left -= mass;
        moved(length, mass.value());
        dissolve(root);
        if (source_[root].left.positive()) {
            source_[root].potential = reach_;
            join(root, root, kNone);
        }
    }

    // What was in the tree stands still from now on. Where other trees touch it, it joins them again.
    void dissolve(Index root) {
        const Index first = first_target_[root];
        released_.clear();
        for (Index x = root; x != kNone; x = source_[x].next) {
            source_[x].potential += reach_;
            ++source_[x].stamp;
            source_[x].root = kNone;
            released_.push_back(x);
        }
        for (Index y = first; y != kNone; y = target_[y].next) {
            target_[y].price += reach_;
            ++target_[y].stamp;
            target_[y].root = kNone;
            targets_.tree.lower_bounds(y, target_[y].price);
        }
        // A source whose mass goes to a target that still rises has to rise with it. The root rises by itself while it
        // has mass left.
        for (const Index x : released_) {
            if (source_[x].left.positive()) continue;
            for (Index c = source_[x].first_cell; c != kNone && !rises(x); c = cells_[c].next_of_source) {
                const Index root_there = target_[cells_[c].target].root;
                if (root_there != kNone) join(x, root_there, c);
            }
        }
        for (Index y = first; y != kNone; y = target_[y].next) await_source(y);
    }

    void add(Index x, Index y, const Exact& mass, double d) {
        for (Index c = source_[x].first_cell; c != kNone; c = cells_[c].next_of_source) {
            if (cells_[c].target == y) {
                cells_[c].mass += mass;
                return;
            }
        }
        Index at = unused_;
        if (at != kNone) {
            unused_ = cells_[at].next_of_source;
        } else {
            at = static_cast<Index>(cells_.size());
            cells_.emplace_back();
        }
        cells_[at] = {x, y, source_[x].first_cell, target_[y].first_cell, mass, d};
        source_[x].first_cell = at;
        target_[y].first_cell = at;
    }

    void take(Index c, const Exact& mass) {
        Cell& cell = cells_[c];
        cell.mass -= mass;
        if (cell.mass.positive()) return;
        Index* link = &source_[cell.source].first_cell;
        while (*link != c) link = &cells_[*link].next_of_source;
        *link = cell.next_of_source;
        link = &target_[cell.target].first_cell;
        while (*link != c) link = &cells_[*link].next_of_target;
        *link = cell.next_of_target;
        cell.next_of_source = unused_;
        unused_ = c;
    }

    double most_ = 0.0;
    double reach_ = 0.0;
    Interrupt* interrupt_ = nullptr;
    Places<D> sources_;
    Places<D> targets_;
    std::vector<Source> source_;
    std::vector<Target> target_;
    std::vector<Index> first_target_;  // of the tree of a root
    std::vector<Cell> cells_;
    Index unused_ = kNone;
    std::vector<Index> released_;
    std::priority_queue<Event> events_;
};

}  // namespace flatmetric
