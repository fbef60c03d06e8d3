#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "geometry/kdtree.hpp"
#include "geometry/points.hpp"
#include "geometry/slope_tree.hpp"
#include "support/exact.hpp"
#include "support/interrupt.hpp"
#include "transport/measure.hpp"
#include "transport/places.hpp"

namespace flatmetric {

// The optimal plans for every reach = 2 lam at once: a parametric network simplex, with reach from 0 upwards.
//
// Sources and targets hang together in trees of tight arcs, which carry the plan. The root of a tree is either a source
// with mass left, and then all potentials in the tree rise with reach, or a target with room (perhaps none), and then
// they stand still. At first every point is a tree of its own. When a source that rises becomes tight to a target that
// stands still, mass moves from the root of the one tree to that of the other, as much as the way between them allows,
// and what is cut off by that hangs on the other tree from then on. Mass moves in the order of the length of its way,
// and each way is a breakpoint.
//
// An arc without mass leads from a parent to its child; of arcs that block a move, the first on the way from the root
// with mass is cut. So a move without mass only makes more points rise, and no tree comes back.
//
// Prices never fall, so a list of the arcs of a source with little slack holds all that can become tight until its
// potential has risen by that slack.
template <int D>
class LamSimplex {
public:
    // Calls moved(length, mass) for each way that mass takes while reach < most; lengths never decrease, but for
    // rounding. Returns the mass that has not moved then, of both sides.
    template <class Moved>
    Exact sweep(const Measure& sources, const Measure& targets, double most, Interrupt& interrupt, const Moved& moved) {
        interrupt_ = &interrupt;
        most_ = most;
        reach_ = 0.0;
        mass_.clear();
        load(from_, sources);
        load(to_, targets);
        sources_ = from_.count();
        targets_ = to_.count();
        if (sources_ > 0 && targets_ > 0) {
            start();
            while (go_to_next_meeting()) follow_meetings(moved);
        }
        Exact unmoved;
        for (const Exact& mass : mass_) unmoved += mass;
        return unmoved;
    }

private:
    static constexpr double kRounding = 1e-14;  // relative to reach: less slack than that is none
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // Listed arcs of a source: fewer make it look farther next time, more less far. Half and twice these change the
    // time by a fifth, with Pareto weights or with equal ones.
    static constexpr std::size_t kIdle = 8;  // lists for each source without a meeting before they are all made anew
    static constexpr std::size_t kFewArcs = 4;
    static constexpr std::size_t kManyArcs = 16;
    static constexpr std::size_t kMostArcs = 256;  // a longer list is given up
    static constexpr Index kSamples = 16;          // sources that tell how far to look first

    // A tight arc that holds two trees together; its ends are the source and the target.
    struct Cell {
        Index end[2];
        Index next[2];
        Index previous[2];
        Exact mass;
        double distance;
    };

    struct Arc {
        Index target;
        double distance;
    };
    struct BackArc {
        Index source;
        std::uint32_t version;  // of the list that holds it
        double distance;
    };

    // The arcs of a source whose distance + price was less than `none_below` when they were listed; no other is now.
    struct List {
        std::vector<Arc> arcs;
        double none_below = 0.0;
        double slack = 0.0;  // how far to look
        std::uint32_t version = 0;
    };

    struct Event {
        double time;
        Index source;
        bool operator<(const Event& other) const {  // the top of the queue is the largest
            return time != other.time ? time > other.time : source > other.source;
        }
    };

    void load(Places<D>& places, const Measure& measure) {
        places.load(measure, *interrupt_);
        for (Index i = 0; i < places.count(); ++i) mass_.emplace_back(places.mass(i));
    }

    void start() {
        const std::size_t nodes = mass_.size();
        potential_.assign(nodes, 0.0);
        rises_.assign(nodes, 0);
        std::fill_n(rises_.begin(), sources_, 1);
        parent_.assign(nodes, kNone);
        first_cell_.assign(nodes, kNone);
        cells_.clear();
        unused_ = kNone;
        lists_.assign(sources_, {});
        back_arcs_.assign(targets_, {});
        kept_.assign(targets_, 0);
        soonest_.assign(sources_, kInfinity);
        least_.assign(sources_, kInfinity);
        still_price_.assign(targets_, 0.0);
        events_ = {};
        prices_.build(to_.tree.points());
        set_prices();
        moves_ = 0;
    }

    bool is_source(Index node) const { return node < sources_; }
    double distance_between(Index x, Index y) const {
        const Points<D> from = from_.tree.points();
        return distance<D>(from[x], to_.tree.points()[y], from.dims());
    }
    // Of a source or target, at the present reach.
    double potential_of(Index node) const { return rises_[node] != 0 ? potential_[node] + reach_ : potential_[node]; }
    double price_of(Index y) const { return potential_of(sources_ + y); }

    // Goes on to where a source meets a target next, and lists arcs anew from there. False where nothing meets.
    bool go_to_next_meeting() {
        const auto price = [this](Index y) { return still_price_[y]; };
        to_.tree.bound_prices(price);
        double next = most_;
        for (Index x = 0; x < sources_; ++x) {
            interrupt_->tick();
            if (rises_[x] == 0) continue;
            const double offset = potential_[x];
            double limit = next + offset;
            to_.tree.look_cheap(from_.tree.points()[x], limit, price, [&](Index y, double d) {
                const double sum = d + price(y);
                if (sum >= limit) return;
                limit = sum;
                next = sum - offset;
            });
        }
        if (!(next < most_)) return false;
        reach_ = std::max(reach_, next);
        if (moves_ == 0) guess_slack();
        refresh_potentials();
        events_ = {};
        for (Index x = 0; x < sources_; ++x) {
            least_[x] = least_sum(x);
            if (rises_[x] != 0) await(x);
        }
        return true;
    }

    // How far the nearest few targets of some sources are.
    void guess_slack() {
        const Index step = std::max<Index>(1, sources_ / kSamples);
        const auto few = std::min<std::size_t>(kFewArcs + kManyArcs, 2 * static_cast<std::size_t>(targets_)) / 2 - 1;
        std::vector<double> distances(targets_);
        std::vector<double> looks;
        for (Index x = 0; x < sources_; x += step) {
            for (Index y = 0; y < targets_; ++y) distances[y] = distance_between(x, y);
            std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(few), distances.end());
            looks.push_back(distances[few] - reach_);
        }
        std::nth_element(looks.begin(), looks.begin() + static_cast<std::ptrdiff_t>(looks.size() / 2), looks.end());
        const double slack = std::max(looks[looks.size() / 2], kRounding * (1.0 + reach_));
        for (List& list : lists_) list.slack = slack;
    }

    // From the roots down, so that the rounding of many steps does not add up.
    void refresh_potentials() {
        for (Index v = 0; v < static_cast<Index>(mass_.size()); ++v) {
            if (parent_[v] != kNone) continue;
            potential_[v] = 0.0;
            visit_below(v, [this](Index node, Index above, const Cell& cell) {
                potential_[node] =
                    is_source(node) ? potential_[above] + cell.distance : potential_[above] - cell.distance;
            });
        }
        for (Index y = 0; y < targets_; ++y) {
            if (rises_[sources_ + y] == 0) still_price_[y] = potential_[sources_ + y];
        }
    }

    // Calls visit(node, parent, cell) for every node below one, parents first.
    template <class Visit>
    void visit_below(Index top, const Visit& visit) {
        stack_.assign(1, top);
        while (!stack_.empty()) {
            const Index v = stack_.back();
            stack_.pop_back();
            const int side = is_source(v) ? 0 : 1;
            for (Index c = first_cell_[v]; c != kNone; c = cells_[c].next[side]) {
                if (c == parent_[v]) continue;
                const Index below = cells_[c].end[1 - side];
                visit(below, v, cells_[c]);
                stack_.push_back(below);
            }
        }
    }

    // Follows what sources meet, until they rise for long without meeting anything.
    template <class Moved>
    void follow_meetings(const Moved& moved) {
        std::size_t idle = 0;  // lists since the last meeting
        while (!events_.empty() && idle <= kIdle * static_cast<std::size_t>(sources_)) {
            interrupt_->tick();
            const Event event = events_.top();
            if (!(event.time < most_)) return;
            events_.pop();
            const Index x = event.source;
            if (rises_[x] == 0 || event.time != soonest_[x]) continue;
            const double now = std::max(reach_, event.time);
            least_[x] = least_sum(x);
            if (least_[x] - potential_[x] > now * (1.0 + kRounding)) {
                await(x);
                continue;
            }
            reach_ = now;
            const Arc* const arc = arc_of(x, least_[x]);
            if (arc == nullptr) {  // the end of the list
                ++idle;
                list(x);
            } else {
                idle = 0;
                meet(x, arc->target, arc->distance, moved);
            }
            if (rises_[x] != 0) await(x);
        }
    }

    // The least distance + price of the targets that stand still; of those that are not listed, what it is at least.
    double least_sum(Index x) const {
        double least = lists_[x].none_below;
        for (const Arc& arc : lists_[x].arcs) least = std::min(least, arc.distance + still_price_[arc.target]);
        return least;
    }
    const Arc* arc_of(Index x, double sum) const {
        for (const Arc& arc : lists_[x].arcs) {
            if (arc.distance + still_price_[arc.target] == sum) return &arc;
        }
        return nullptr;
    }

    // Sets when a source that rises may meet something next.
    void await(Index x) {
        soonest_[x] = least_[x] - potential_[x];
        events_.push({soonest_[x], x});
    }

    // Lists the arcs of a source of little slack.
    void list(Index x) {
        if (listed_ >= sources_ / 4 + 64) set_prices();
        ++listed_;
        List& list = lists_[x];
        ++list.version;
        const double potential = potential_of(x);
        std::size_t loose = 0;  // arcs that are far from tight: those of a tree may be many
        for (;;) {
            list.arcs.clear();
            loose = 0;
            double limit = potential + list.slack;
            // Prices have only risen since they were set.
            prices_.visit_cheap(from_.tree.points()[x], limit, [&](Index y, double d) {
                const double slack = d + price_of(y) - potential;
                if (!(slack < list.slack)) return;
                list.arcs.push_back({y, d});
                if (slack > list.slack / 2.0 && ++loose > kMostArcs) limit = -kInfinity;
            });
            if (loose <= kMostArcs || list.slack <= kRounding * (1.0 + reach_)) break;
            list.slack /= 4.0;
        }
        list.none_below = potential + list.slack;
        least_[x] = least_sum(x);
        if (loose < kFewArcs) list.slack *= 2.0;
        if (loose > kManyArcs) list.slack /= 2.0;
        for (const Arc& arc : list.arcs) {
            std::vector<BackArc>& back = back_arcs_[arc.target];
            if (back.size() > 2 * kept_[arc.target] + kManyArcs) drop_old(arc.target);
            back.push_back({x, list.version, arc.distance});
        }
    }

    void set_prices() {
        prices_.set_prices([this](Index y) { return price_of(y); });
        listed_ = 0;
    }

    void drop_old(Index y) {
        std::vector<BackArc>& back = back_arcs_[y];
        back.erase(std::remove_if(back.begin(), back.end(),
                                  [this](const BackArc& arc) { return lists_[arc.source].version != arc.version; }),
                   back.end());
        kept_[y] = back.size();
    }

    // A source that rises has become tight to a target that stands still.
    template <class Moved>
    void meet(Index x, Index y, double d, const Moved& moved) {
        ++moves_;
        const Index target = sources_ + y;
        // The way from the root of x to x, from its end; mass is taken from the cells of sources that hang on targets.
        Exact mass = kInfinity;
        Index cut = kNone;  // the node whose cell to its parent is cut; a root where that is what hangs on nothing
        bool cut_here = true;
        double length = d;
        Index root = x;
        for (; parent_[root] != kNone; root = above(root)) {
            const Cell& cell = cells_[parent_[root]];
            length += is_source(root) ? -cell.distance : cell.distance;
            if (is_source(root) && cell.mass <= mass) {
                mass = cell.mass;
                cut = root;
            }
        }
        if (mass_[root] <= mass) {
            mass = mass_[root];
            cut = root;
        }
        // The way from y to its root; mass is taken from the cells of targets that hang on sources.
        Index end = target;
        for (; parent_[end] != kNone; end = above(end)) {
            const Cell& cell = cells_[parent_[end]];
            length += is_source(end) ? cell.distance : -cell.distance;
            if (!is_source(end) && cell.mass < mass) {
                mass = cell.mass;
                cut = end;
                cut_here = false;
            }
        }
        if (mass_[end] < mass) {
            mass = mass_[end];
            cut = end;
            cut_here = false;
        }
        if (mass.positive()) {
            for (Index v = x; parent_[v] != kNone; v = above(v)) change(parent_[v], mass, !is_source(v));
            for (Index v = target; parent_[v] != kNone; v = above(v)) change(parent_[v], mass, is_source(v));
            mass_[root] -= mass;
            mass_[end] -= mass;
            moved(length, mass.value());
        }
        const Index lower = cut_here ? x : target;
        const Index old = hang(lower, cut, add_cell(x, target, mass, d));
        if (old != kNone) remove_cell(old);
        part_.assign(1, lower);
        visit_below(lower, [this](Index node, Index, const Cell&) { part_.push_back(node); });
        if (cut_here) {
            settle();
        } else {
            raise();
        }
    }

    Index above(Index v) const { return cells_[parent_[v]].end[is_source(v) ? 1 : 0]; }

    void change(Index c, const Exact& mass, bool more) {
        if (more) {
            cells_[c].mass += mass;
        } else {
            cells_[c].mass -= mass;
        }
    }

    // Turns the way from `lower` up to `top` round and hangs it on a new cell; returns the cell by which top hung.
    Index hang(Index lower, Index top, Index cell) {
        for (Index v = lower;;) {
            const Index old = std::exchange(parent_[v], cell);
            if (v == top) return old;
            v = cells_[old].end[is_source(v) ? 1 : 0];
            cell = old;
        }
    }

    // part_ stands still from now on: sources that rise may meet its targets.
    void settle() {
        for (const Index v : part_) {
            potential_[v] += reach_;
            rises_[v] = 0;
            if (!is_source(v)) still_price_[v - sources_] = potential_[v];
        }
        for (const Index v : part_) {
            if (is_source(v)) continue;
            std::vector<BackArc>& back = back_arcs_[v - sources_];
            std::size_t count = 0;
            for (const BackArc& arc : back) {
                if (lists_[arc.source].version != arc.version) continue;
                back[count++] = arc;
                const double sum = arc.distance + potential_[v];
                if (!(sum < least_[arc.source])) continue;
                least_[arc.source] = sum;
                if (rises_[arc.source] != 0) await(arc.source);
            }
            back.resize(count);
            kept_[v - sources_] = count;
        }
    }

    void raise() {
        for (const Index v : part_) {
            potential_[v] -= reach_;
            rises_[v] = 1;
            if (!is_source(v)) still_price_[v - sources_] = kInfinity;
        }
        for (const Index v : part_) {
            if (is_source(v)) await(v);
        }
    }

    Index add_cell(Index source, Index target, const Exact& mass, double d) {
        Index at = unused_;
        if (at != kNone) {
            unused_ = cells_[at].next[0];
        } else {
            at = static_cast<Index>(cells_.size());
            cells_.emplace_back();
        }
        cells_[at] = {{source, target}, {first_cell_[source], first_cell_[target]}, {kNone, kNone}, mass, d};
        for (int side = 0; side < 2; ++side) {
            const Index next = cells_[at].next[side];
            if (next != kNone) cells_[next].previous[side] = at;
            first_cell_[cells_[at].end[side]] = at;
        }
        return at;
    }

    void remove_cell(Index c) {
        for (int side = 0; side < 2; ++side) {
            const Index next = cells_[c].next[side];
            const Index previous = cells_[c].previous[side];
            if (next != kNone) cells_[next].previous[side] = previous;
            (previous != kNone ? cells_[previous].next[side] : first_cell_[cells_[c].end[side]]) = next;
        }
        cells_[c].next[0] = unused_;
        unused_ = c;
    }

    double most_ = 0.0;
    double reach_ = 0.0;
    Interrupt* interrupt_ = nullptr;
    Places<D> from_;
    Places<D> to_;
    Index sources_ = 0;
    Index targets_ = 0;
    // Of the sources, then the targets.
    std::vector<Exact> mass_;        // left, or room
    std::vector<double> potential_;  // U of sources and p of targets, less reach while it rises
    std::vector<char> rises_;
    std::vector<Index> parent_;  // the cell by which it hangs on its parent
    std::vector<Index> first_cell_;
    std::vector<Cell> cells_;
    Index unused_ = kNone;
    std::vector<List> lists_;
    std::vector<std::vector<BackArc>> back_arcs_;  // of the targets; some are of lists that are gone
    std::vector<std::size_t> kept_;                // how many were left when those were dropped last
    std::vector<double> soonest_;                  // when a source that rises meets something; perhaps later
    std::vector<double> least_;        // distance + price of the first target that a source may meet; perhaps more
    std::vector<double> still_price_;  // of the targets; infinite where it rises
    std::priority_queue<Event> events_;
    SlopeTree<D> prices_;  // of the targets, as they were some time ago
    Index listed_ = 0;     // since then
    std::size_t moves_ = 0;
    std::vector<Index> stack_;
    std::vector<Index> part_;
};

}  // namespace flatmetric
