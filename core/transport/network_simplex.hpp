#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "geometry/points.hpp"
#include "support/exact.hpp"
#include "support/interrupt.hpp"
#include "transport/spanning_tree.hpp"

namespace flatmetric {

// The arcs that the simplex looks at, besides those of the root: those of source x are the entries from begin[x] to
// begin[x + 1].
struct ArcPool {
    std::vector<std::size_t> begin;
    std::vector<Index> target;
    std::vector<double> cost;

    // Appends the arcs of the next source, x, of another pool.
    void copy_arcs(const ArcPool& other, Index x) {
        target.insert(target.end(), other.target.begin() + static_cast<std::ptrdiff_t>(other.begin[x]),
                      other.target.begin() + static_cast<std::ptrdiff_t>(other.begin[x + 1]));
        cost.insert(cost.end(), other.cost.begin() + static_cast<std::ptrdiff_t>(other.begin[x]),
                    other.cost.begin() + static_cast<std::ptrdiff_t>(other.begin[x + 1]));
        begin.push_back(target.size());
    }
};

// Primal network simplex for partial transport.
//
// Nodes are the sources, the targets and a root. An arc source -> root leaves mass behind, an arc root -> target of
// cost 0 leaves room free. In any tree the arc between a source and its parent points up and the arc between a target
// and its parent points down, so the kind of the child tells the direction. The tree is kept strongly feasible (an arc
// without flow points up), which rules out cycling (Cunningham 1976).
//
// Potentials: U of a source, p of a target; cost + potential(head) - potential(tail) is zero on the tree. The nodes of
// a subtree follow each other in a list, so that its potentials are shifted in one walk; where it holds more than half
// of all nodes, the others are shifted.
class NetworkSimplex {
public:
    // Starts from a tree; quit[source] is the cost of leaving its mass behind, cost(source, target) that of an arc
    // between the sides.
    void start(const SpanningTree& tree, const std::vector<double>& quit, Index targets,
               const std::function<double(Index, Index)>& cost);

    void list_arcs(SpanningTree& tree) const;

    // Pivots until no arc of the pool and of the root can lower the cost by more than `tolerance` a unit, or `most`
    // times. Returns how often.
    std::size_t optimise(const ArcPool& pool, double tolerance, std::size_t most, Interrupt& interrupt);

    double source_potential(Index x) const { return potential_[x]; }
    double target_potential(Index y) const { return potential_[sources_ + y]; }

private:
    static constexpr std::size_t kSmallestBlock = 64;
    static constexpr std::size_t kWorkPerLook = 8;  // nodes that a pivot touches for each arc that is looked at before

    struct Arc {
        Index tail;
        Index head;
        double cost;
    };

    // flow and cost are those of the arc to the parent.
    struct Node {
        Exact flow;
        double cost = 0.0;
        Index parent = kNone;
        Index previous = kNone;  // in the list of all nodes
        Index last = kNone;      // of its subtree in that list
        Index size = 1;          // of its subtree
    };

    bool points_up(Index v) const { return v < sources_; }
    double reduced_cost(const Arc& arc) const { return arc.cost + potential_[arc.head] - potential_[arc.tail]; }

    // The best arc of the first block that has an improving one, starting where the last search ended: at a source with
    // all its arcs, or at a target with the one from the root.
    Arc best_arc(const ArcPool& pool, double tolerance, std::size_t block);
    static constexpr std::size_t kSourceCosts = 4;  // turning to a source, in arcs

    void pivot(const Arc& entering);

    void push(Index v, bool against, const Exact& step) {
        if (against) {
            nodes_[v].flow -= step;
        } else {
            nodes_[v].flow += step;
        }
    }

    // A smaller subtree is never above a larger one.
    Index common_ancestor(Index u, Index v) const;

    // Cuts the subtree of `top` off, turns it so that `inside` becomes its top, and hangs it under `outside`.
    void hang(Index inside, Index top, Index outside, Index join, Exact flow, double cost);

    void follow(Index node, Index next) {
        next_[node] = next;
        nodes_[next].previous = node;
    }

    void shift_subtree(Index top, double shift);

    // Puts all nodes into a ring, each followed by its subtree.
    void list_nodes();

    // From the root down, so that the rounding of many shifts does not add up.
    void refresh_potentials();

    // A node on the way that is turned round, and its place in the list before.
    struct OnPath {
        Index node;
        Index previous;
        Index last;
        Index after;
    };

    std::vector<double> quit_;  // of the sources
    Index sources_ = 0;
    Index root_ = 0;
    Index cursor_ = 0;  // where the next search for an arc starts
    std::size_t pivots_ = 0;
    std::size_t work_ = 0;  // nodes that pivots have touched
    std::vector<Node> nodes_;
    std::vector<Index> next_;
    std::vector<double> potential_;
    std::vector<OnPath> path_;
    // Of list_nodes.
    std::vector<Index> first_child_;
    std::vector<Index> sibling_;
    std::vector<Index> stack_;
    std::vector<Index> order_;
};

}  // namespace flatmetric
