#include "transport/network_simplex.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace flatmetric {

void NetworkSimplex::start(const SpanningTree& tree, const std::vector<double>& quit, Index targets,
                           const std::function<double(Index, Index)>& cost) {
    quit_ = quit;
    sources_ = static_cast<Index>(quit.size());
    root_ = sources_ + targets;
    cursor_ = 0;
    pivots_ = 0;
    work_ = 0;
    nodes_.assign(static_cast<std::size_t>(root_) + 1, Node{});
    potential_.assign(static_cast<std::size_t>(root_) + 1, 0.0);
    for (const TreeArc& arc : tree.arcs) {
        const Index tail = arc.source == kNone ? root_ : arc.source;
        const Index head = arc.target == kNone ? root_ : sources_ + arc.target;
        Node& child = nodes_[arc.up ? tail : head];
        child.parent = arc.up ? head : tail;
        child.flow = arc.flow;
        child.cost = head == root_ ? quit_[tail] : tail == root_ ? 0.0 : cost(arc.source, arc.target);
    }
    list_nodes();
    refresh_potentials();
}

void NetworkSimplex::list_arcs(SpanningTree& tree) const {
    tree.arcs.clear();
    for (Index v = 0; v < root_; ++v) {
        const Index parent = nodes_[v].parent;
        if (v < sources_) {
            tree.arcs.push_back({v, parent == root_ ? kNone : parent - sources_, true, nodes_[v].flow});
        } else {
            tree.arcs.push_back({parent == root_ ? kNone : parent, v - sources_, false, nodes_[v].flow});
        }
    }
}

std::size_t NetworkSimplex::optimise(const ArcPool& pool, double tolerance, std::size_t most, Interrupt& interrupt) {
    std::size_t count = 0;
    for (; count < most; ++count) {
        interrupt.tick();
        // Where a pivot moves much, a better arc is worth a longer look.
        const std::size_t block = std::max(kSmallestBlock, pivots_ == 0 ? 0 : work_ / (kWorkPerLook * pivots_));
        const Arc entering = best_arc(pool, tolerance, block);
        if (entering.tail == kNone) break;
        pivot(entering);
    }
    refresh_potentials();
    return count;
}

NetworkSimplex::Arc NetworkSimplex::best_arc(const ArcPool& pool, double tolerance, std::size_t block) {
    Arc best{kNone, kNone, 0.0};
    double least = -tolerance;
    std::size_t looked_at = 0;
    const double* const p = potential_.data() + sources_;
    const double at_root = potential_[root_];
    for (Index seen = 0; seen < root_; ++seen) {
        const Index v = cursor_;
        if (++cursor_ == root_) cursor_ = 0;
        if (points_up(v)) {
            double limit = potential_[v] + least;
            const double before = limit;
            if (quit_[v] + at_root < limit) {
                limit = quit_[v] + at_root;
                best = {v, root_, quit_[v]};
            }
            const std::size_t end = pool.begin[v + 1];
            for (std::size_t k = pool.begin[v]; k < end; ++k) {
                const double sum = pool.cost[k] + p[pool.target[k]];
                if (sum < limit) {
                    limit = sum;
                    best = {v, sources_ + pool.target[k], pool.cost[k]};
                }
            }
            if (limit < before) least = limit - potential_[v];
            looked_at += kSourceCosts + (end - pool.begin[v]);
        } else {
            if (potential_[v] - at_root < least) {
                least = potential_[v] - at_root;
                best = {root_, v, 0.0};
            }
            ++looked_at;
        }
        if (looked_at >= block) {
            if (best.tail != kNone) break;
            looked_at = 0;
        }
    }
    return best;
}

void NetworkSimplex::pivot(const Arc& entering) {
    const Index join = common_ancestor(entering.tail, entering.head);
    // Flow goes join -> tail -> head -> join; of the blocking arcs, the last along this cycle leaves.
    Exact step = std::numeric_limits<double>::infinity();
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
    if (step.positive()) {
        for (Index v = entering.tail; v != join; v = nodes_[v].parent) push(v, points_up(v), step);
        for (Index v = entering.head; v != join; v = nodes_[v].parent) push(v, !points_up(v), step);
    }
    const double shift = reduced_cost(entering);
    const Index inside = on_tail_side ? entering.tail : entering.head;
    const Index outside = on_tail_side ? entering.head : entering.tail;
    hang(inside, leaving, outside, join, step, entering.cost);
    shift_subtree(inside, on_tail_side ? shift : -shift);
    ++pivots_;
}

Index NetworkSimplex::common_ancestor(Index u, Index v) const {
    while (u != v) {
        const Index size_u = nodes_[u].size;
        const Index size_v = nodes_[v].size;
        if (size_u <= size_v) u = nodes_[u].parent;
        if (size_v <= size_u) v = nodes_[v].parent;
    }
    return u;
}

void NetworkSimplex::hang(Index inside, Index top, Index outside, Index join, Exact flow, double cost) {
    const Index size = nodes_[top].size;
    const Index top_last = nodes_[top].last;
    const Index before = nodes_[top].previous;
    const Index above = nodes_[top].parent;
    for (Index v = above; v != join; v = nodes_[v].parent) nodes_[v].size -= size;
    for (Index v = outside; v != join; v = nodes_[v].parent) nodes_[v].size += size;
    follow(before, next_[top_last]);
    for (Index v = above; v != kNone && nodes_[v].last == top_last; v = nodes_[v].parent) nodes_[v].last = before;

    // From `inside` to `top` each node's parent becomes its child. What is listed for the parent before and after
    // the child's subtree comes after that subtree now.
    path_.clear();
    Index below = 0;
    Index new_parent = outside;
    for (Index v = inside;;) {
        Node& node = nodes_[v];
        const Index old_parent = node.parent;
        path_.push_back({v, node.previous, node.last, next_[node.last]});
        std::swap(node.flow, flow);
        std::swap(node.cost, cost);
        below = std::exchange(node.size, size - below);
        node.parent = new_parent;
        if (v == top) break;
        new_parent = v;
        v = old_parent;
    }
    Index end = nodes_[inside].last;
    for (std::size_t i = 1; i < path_.size(); ++i) {
        const OnPath& child = path_[i - 1];
        follow(end, path_[i].node);
        end = child.previous;
        if (path_[i].last != child.last) {
            follow(end, child.after);
            end = path_[i].last;
        }
    }
    for (const OnPath& at : path_) nodes_[at.node].last = end;

    const Index after = next_[outside];
    const bool was_leaf = nodes_[outside].last == outside;
    follow(outside, inside);
    follow(end, after);
    if (was_leaf) {
        for (Index v = outside; v != kNone && nodes_[v].last == outside; v = nodes_[v].parent) nodes_[v].last = end;
    }
    work_ += path_.size();
}

void NetworkSimplex::shift_subtree(Index top, double shift) {
    const Index size = nodes_[top].size;
    const Index others = root_ + 1 - size;
    if (size <= others) {
        Index v = top;
        for (Index left = size; left > 0; --left, v = next_[v]) potential_[v] += shift;
    } else {
        // The list is a ring: behind the subtree it leads past the root back to it.
        Index v = next_[nodes_[top].last];
        for (Index left = others; left > 0; --left, v = next_[v]) potential_[v] -= shift;
    }
    work_ += static_cast<std::size_t>(std::min(size, others));
}

void NetworkSimplex::list_nodes() {
    const std::size_t count = nodes_.size();
    first_child_.assign(count, kNone);
    sibling_.assign(count, kNone);
    for (Index v = 0; v < root_; ++v) {
        sibling_[v] = first_child_[nodes_[v].parent];
        first_child_[nodes_[v].parent] = v;
    }
    next_.resize(count);
    stack_.assign(1, root_);
    order_.clear();
    while (!stack_.empty()) {
        const Index v = stack_.back();
        stack_.pop_back();
        order_.push_back(v);
        for (Index child = first_child_[v]; child != kNone; child = sibling_[child]) stack_.push_back(child);
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
        nodes_[order_[i]].last = order_[i];
        follow(order_[i], order_[i + 1 < order_.size() ? i + 1 : 0]);
    }
    for (std::size_t i = order_.size(); i-- > 1;) {
        const Node& node = nodes_[order_[i]];
        Node& parent = nodes_[node.parent];
        if (parent.size == 1) parent.last = node.last;
        parent.size += node.size;
    }
}

void NetworkSimplex::refresh_potentials() {
    potential_[root_] = 0.0;
    for (Index v = next_[root_]; v != root_; v = next_[v]) {
        const double above = potential_[nodes_[v].parent];
        potential_[v] = points_up(v) ? above + nodes_[v].cost : above - nodes_[v].cost;
    }
}

}  // namespace flatmetric
