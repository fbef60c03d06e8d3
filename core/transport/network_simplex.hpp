#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "geometry/points.hpp"
#include "support/interrupt.hpp"

namespace flatmetric {

// Primal network simplex for partial transport.
//
// Nodes are the sources, the targets and a root. An arc source -> root of cost `reach` leaves mass behind, an arc
// root -> target of cost 0 leaves room free; these stars are the first spanning tree, "nothing moves". In any tree the arc
// between a source and its parent points up and the arc between a target and its parent points down, so the kind of the
// child tells the direction. The tree is kept strongly feasible (an arc without flow points up), which rules out cycling
// (Cunningham 1976). A target without mass stays out of the tree.
//
// Potentials: U of a source, p of a target, 0 at the root; cost + potential(head) - potential(tail) is zero on the tree.
class NetworkSimplex {
public:
    void reset(const std::vector<double>& supply, const std::vector<double>& demand, double reach) {
        reach_ = reach;
        sources_ = static_cast<Index>(supply.size());
        root_ = sources_ + static_cast<Index>(demand.size());
        nodes_.assign(static_cast<std::size_t>(root_) + 1, Node{});
        potential_.assign(static_cast<std::size_t>(root_) + 1, 0.0);
        pool_.clear();
        next_ = 0;
        for (Index v = 0; v < root_; ++v) {
            const bool source = v < sources_;
            const double mass = source ? supply[v] : demand[v - sources_];
            if (!source && mass == 0.0) {
                potential_[v] = std::numeric_limits<double>::infinity();
                continue;
            }
            nodes_[v].flow = mass;
            nodes_[v].cost = potential_[v] = source ? reach : 0.0;
            nodes_[v].depth = 1;
            link(v, root_);
            pool_.push_back(star_arc(v));
        }
    }

    // Puts an arc into the pool that `optimise_pool` looks at.
    void add_arc(Index source, Index target, double cost) { pool_.push_back({source, sources_ + target, cost}); }

    // Pivots until no arc of the pool can lower the cost.
    void optimise_pool(Interrupt& interrupt) {
        refresh_potentials();
        const auto block = std::max<std::size_t>(kSmallestBlock, static_cast<std::size_t>(std::sqrt(pool_.size())));
        for (;;) {
            interrupt.tick();
            const Arc entering = best_of_pool(block);
            if (entering.tail == kNone) return;
            pivot(entering);
        }
    }

    // Pivots until no arc at all can lower the cost; squared(source, target) gives the square of an arc's cost. A block of
    // arcs pairs a run of sources with as many targets, so that it samples the whole problem.
    template <class Squared>
    void optimise_all(Interrupt& interrupt, const Squared& squared) {
        const Index m = root_ - sources_;
        const Index block = std::max<Index>(kSmallestBlock, sources_ / 4);
        for (bool moved = true; moved;) {
            moved = false;
            refresh_potentials();
            for (Index offset = 0; offset < m; ++offset) {
                for (Index begin = 0; begin < sources_; begin += block) {
                    interrupt.tick();
                    const Index end = std::min<Index>(begin + block, sources_);
                    const Arc entering = best_of_diagonal(begin, end, offset, squared);
                    if (entering.tail == kNone) continue;
                    pivot(entering);
                    moved = true;
                }
            }
            for (Index v = 0; v < root_; ++v) {
                if (nodes_[v].parent == kNone || !(reduced_cost(star_arc(v)) < -tolerance())) continue;
                pivot(star_arc(v));
                moved = true;
            }
        }
    }

    // Reduced costs above minus this are rounding error.
    double tolerance() const { return kTolerance * reach_; }

    double source_potential(Index x) const { return potential_[x]; }
    double target_potential(Index y) const { return potential_[sources_ + y]; }
    double source_left(Index x) const { return left(x); }
    double target_left(Index y) const { return left(sources_ + y); }

    // Calls visit(source, target, mass, cost) for every arc that carries mass between the sides.
    template <class Visit>
    void visit_flow(const Visit& visit) const {
        for (Index v = 0; v < root_; ++v) {
            const Node& node = nodes_[v];
            if (node.parent == root_ || node.parent == kNone || !(node.flow > 0.0)) continue;
            if (v < sources_) {
                visit(v, node.parent - sources_, node.flow, node.cost);
            } else {
                visit(node.parent, v - sources_, node.flow, node.cost);
            }
        }
    }

private:
    static constexpr double kTolerance = 1e-14;
    static constexpr Index kSmallestBlock = 32;

    struct Arc {
        Index tail;
        Index head;
        double cost;
    };

    // flow and cost are those of the arc to the parent.
    struct Node {
        Index parent = kNone;
        Index first_child = kNone;
        Index next = kNone;
        Index previous = kNone;
        Index depth = 0;
        double flow = 0.0;
        double cost = 0.0;
    };

    bool points_up(Index v) const { return v < sources_; }
    Arc star_arc(Index v) const { return v < sources_ ? Arc{v, root_, reach_} : Arc{root_, v, 0.0}; }
    double left(Index v) const { return nodes_[v].parent == root_ ? nodes_[v].flow : 0.0; }
    double reduced_cost(const Arc& arc) const { return arc.cost + potential_[arc.head] - potential_[arc.tail]; }

    // The best arc of the first block that has an improving one, starting where the last search ended.
    Arc best_of_pool(std::size_t block) {
        Arc best{kNone, kNone, 0.0};
        double least = -tolerance();
        std::size_t left_in_block = block;
        for (std::size_t seen = 0; seen < pool_.size(); ++seen) {
            const Arc& arc = pool_[next_];
            if (++next_ == pool_.size()) next_ = 0;
            const double cost = reduced_cost(arc);
            if (cost < least) {
                least = cost;
                best = arc;
            }
            if (--left_in_block == 0) {
                if (best.tail != kNone) break;
                left_in_block = block;
            }
        }
        return best;
    }

    // The best of the arcs from source x to target x + offset (wrapping around), x in [begin, end).
    template <class Squared>
    Arc best_of_diagonal(Index begin, Index end, Index offset, const Squared& squared) const {
        const Index m = root_ - sources_;
        const double* p = potential_.data() + sources_;
        Arc best{kNone, kNone, 0.0};
        double least = -tolerance();
        auto y = static_cast<Index>((begin + static_cast<std::int64_t>(offset)) % m);
        for (Index x = begin; x < end; ++x) {
            // d + p - U < least, without a root where it fails
            const double room = potential_[x] + least - p[y];
            const double square = squared(x, y);
            if (square < room * std::abs(room)) {
                const double cost = std::sqrt(square);
                const double reduced = cost + p[y] - potential_[x];
                if (reduced < least) {
                    least = reduced;
                    best = {x, sources_ + y, cost};
                }
            }
            if (++y == m) y = 0;
        }
        return best;
    }

    void pivot(const Arc& entering) {
        const Index join = common_ancestor(entering.tail, entering.head);
        // Flow goes join -> tail -> head -> join; of the blocking arcs, the last along this cycle leaves.
        double step = std::numeric_limits<double>::infinity();
        Index leaving = kNone;
        bool on_tail_side = false;
        for (Index v = entering.tail; v != join; v = nodes_[v].parent) {
            if (points_up(v) && nodes_[v].flow < step) {
                step = nodes_[v].flow;
                leaving = v;
                on_tail_side = true;
            }
        }
        for (Index v = entering.head; v != join; v = nodes_[v].parent) {
            if (!points_up(v) && nodes_[v].flow <= step) {
                step = nodes_[v].flow;
                leaving = v;
                on_tail_side = false;
            }
        }
        if (step > 0.0) {
            for (Index v = entering.tail; v != join; v = nodes_[v].parent) nodes_[v].flow += points_up(v) ? -step : step;
            for (Index v = entering.head; v != join; v = nodes_[v].parent) nodes_[v].flow += points_up(v) ? step : -step;
        }
        const double shift = reduced_cost(entering);
        const Index inside = on_tail_side ? entering.tail : entering.head;
        const Index outside = on_tail_side ? entering.head : entering.tail;
        hang(inside, leaving, outside, step, entering.cost);
        shift_subtree(inside, on_tail_side ? shift : -shift);
    }

    Index common_ancestor(Index u, Index v) const {
        while (u != v) {
            if (nodes_[u].depth >= nodes_[v].depth) {
                u = nodes_[u].parent;
            } else {
                v = nodes_[v].parent;
            }
        }
        return u;
    }

    // Cuts the subtree of `top` off, turns it so that `inside` becomes its top, and hangs it under `outside`.
    void hang(Index inside, Index top, Index outside, double flow, double cost) {
        Index v = inside;
        Index new_parent = outside;
        for (;;) {
            const Index old_parent = nodes_[v].parent;
            unlink(v);
            std::swap(nodes_[v].flow, flow);
            std::swap(nodes_[v].cost, cost);
            link(v, new_parent);
            if (v == top) return;
            new_parent = v;
            v = old_parent;
        }
    }

    void link(Index v, Index parent) {
        Node& node = nodes_[v];
        node.parent = parent;
        node.previous = kNone;
        node.next = nodes_[parent].first_child;
        if (node.next != kNone) nodes_[node.next].previous = v;
        nodes_[parent].first_child = v;
    }

    void unlink(Index v) {
        const Node& node = nodes_[v];
        if (node.next != kNone) nodes_[node.next].previous = node.previous;
        if (node.previous != kNone) {
            nodes_[node.previous].next = node.next;
        } else {
            nodes_[node.parent].first_child = node.next;
        }
    }

    // Calls visit(v) for `top` and everything below it, parents first.
    template <class Visit>
    void visit_subtree(Index top, const Visit& visit) {
        for (Index v = top;;) {
            visit(v);
            if (nodes_[v].first_child != kNone) {
                v = nodes_[v].first_child;
                continue;
            }
            while (v != top && nodes_[v].next == kNone) v = nodes_[v].parent;
            if (v == top) return;
            v = nodes_[v].next;
        }
    }

    void shift_subtree(Index top, double shift) {
        visit_subtree(top, [&](Index v) {
            potential_[v] += shift;
            nodes_[v].depth = nodes_[nodes_[v].parent].depth + 1;
        });
    }

    // From the root down, so that the rounding of many shifts does not add up.
    void refresh_potentials() {
        visit_subtree(root_, [&](Index v) {
            if (v == root_) return;
            const double above = potential_[nodes_[v].parent];
            potential_[v] = points_up(v) ? above + nodes_[v].cost : above - nodes_[v].cost;
        });
    }

    double reach_ = 0.0;
    Index sources_ = 0;
    Index root_ = 0;
    std::vector<Node> nodes_;
    std::vector<double> potential_;
    std::vector<Arc> pool_;
    std::size_t next_ = 0;
};

}  // namespace flatmetric
