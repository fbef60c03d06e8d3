#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/interrupt.hpp"
#include "support/parallel.hpp"

namespace flatmetric {

// A leaf of a tree, by number, and a lower bound on the distance to its points.
struct LeafAt {
    double distance;
    Index leaf;
};

struct Neighbour {
    double distance;
    Index point;
};

// A node of a tree and all below it.
struct Subtree {
    std::size_t node;
    int depth;
};

inline bool operator<(const Neighbour& a, const Neighbour& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.point < b.point;
}

// A balanced k-d tree over points that it stores in leaf order, so that near points are near in memory. Callers
// number points in that order; `original` maps back to the input. Each node also carries a lower bound of a price
// that the caller attaches to the points: searches for small `distance + price` skip what can't win.
template <int D>
class KdTree {
public:
    // Points in a leaf, at most, unless said otherwise; in many dimensions boxes rule out little.
    static constexpr Index kLeaf = D > 0 ? 12 : 48;

    void build(Points<D> points, Interrupt& interrupt) {
        Crew alone(interrupt);
        build(points, kLeaf, alone);
    }

    // With about so many points in a leaf, at most. All prices are 0 at first.
    void build(Points<D> points, Index leaf, Crew& crew) {
        dim_ = points.dims();
        size_ = points.n;
        depth_ = 0;
        while ((size_ >> depth_) > leaf) ++depth_;
        const std::size_t nodes = (std::size_t{2} << depth_) - 1;
        boxes_.resize(nodes * 2 * dim_);
        low_.assign(nodes, 0.0);
        handles_.resize(size_);
        over_ranges(size_, crew, [&](std::size_t begin, std::size_t end) {
            for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i)
                handles_[i] = Handle(points[i], i);
        });
        leaf_begin_.resize((std::size_t{1} << depth_) + 1);
        leaf_begin_.back() = size_;
        // Large nodes level by level, then the subtrees below them.
        const int shared_levels = levels_to_share();
        for (int level = 0; level < shared_levels; ++level) {
            crew.run(std::size_t{1} << level, [&](std::size_t k, int, Interrupt& interrupt) {
                const Subtree at = subtree(level, k);
                const auto [begin, end] = range(at);
                split(at.node, begin, end, at.depth, interrupt);
            });
        }
        crew.run(std::size_t{1} << shared_levels, [&](std::size_t k, int, Interrupt& interrupt) {
            const Subtree at = subtree(shared_levels, k);
            const auto [begin, end] = range(at);
            split_all(at.node, begin, end, at.depth, interrupt);
        });
        coords_.resize(static_cast<std::size_t>(size_) * dim_);
        original_.resize(size_);
        over_ranges(size_, crew, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                for (int k = 0; k < dims(); ++k) coords_[i * dims() + k] = handles_[i][k];
                original_[i] = handles_[i].id;
            }
        });
        if (size_ > kSharedFrom) Column<Handle>().swap(handles_);
    }

    int levels() const { return depth_; }
    Subtree whole() const { return {0, depth_}; }
    // The k-th node of a level, from 0.
    Subtree subtree(int level, std::size_t k) const { return {(std::size_t{1} << level) - 1 + k, depth_ - level}; }

    // The points of a subtree, from the first to below the second.
    std::pair<Index, Index> range(Subtree at) const {
        const int level = depth_ - at.depth;
        const std::size_t k = at.node - ((std::size_t{1} << level) - 1);
        Index begin = 0;
        Index end = size_;
        for (int up = level; up-- > 0;) {
            const Index mid = begin + (end - begin) / 2;
            if ((k >> up) & 1U) {
                begin = mid;
            } else {
                end = mid;
            }
        }
        return {begin, end};
    }

    // No point outside a subtree is closer to q than `distance`, and none outside the larger subtree of `level` is as
    // close.
    struct Margin {
        double distance;
        int level;
    };
    Margin margin(Subtree at, const double* q) const {
        double least = std::numeric_limits<double>::infinity();
        int level = 0;
        int above = depth_ - at.depth;
        for (std::size_t node = at.node; node != 0; node = (node - 1) / 2) {
            --above;
            const double squared = squared_distance_to_box(node % 2 == 1 ? node + 1 : node - 1, q);
            if (squared <= least) {
                least = squared;
                level = above;
            }
        }
        return {std::sqrt(least), level};
    }

    // The node of a level, by its k, that q lies deepest in, and the margin there.
    std::pair<std::size_t, double> home(int level, const double* q) const {
        std::size_t node = 0;
        double least = std::numeric_limits<double>::infinity();
        for (int at = 0; at < level; ++at) {
            const double left = squared_distance_to_box(2 * node + 1, q);
            const double right = squared_distance_to_box(2 * node + 2, q);
            node = left <= right ? 2 * node + 1 : 2 * node + 2;
            least = std::min(least, std::max(left, right));
        }
        return {node - ((std::size_t{1} << level) - 1), std::sqrt(least)};
    }

    // How many points lie at the place of another one in their leaf.
    Index twins(Crew& crew) const {
        std::atomic<Index> count{0};
        const Points<D> all = points();
        over_ranges(leaves(), crew, [&](std::size_t first_leaf, std::size_t last_leaf) {
            Index here = 0;
            for (std::size_t leaf = first_leaf; leaf < last_leaf; ++leaf) {
                for (Index i = leaf_begin_[leaf] + 1; i < leaf_begin_[leaf + 1]; ++i) {
                    Index j = leaf_begin_[leaf];
                    while (j < i && !std::equal(all[i], all[i] + dims(), all[j])) ++j;
                    here += j < i ? 1 : 0;
                }
            }
            count += here;
        });
        return count;
    }

    Points<D> points() const { return {coords_.data(), size_, dim_}; }
    Index original(Index i) const { return original_[i]; }
    const Index* originals() const { return original_.data(); }

    // Fills `found` with the points nearest to q among those closer than `reach`, in order of distance, about `wanted`
    // of them. Returns the horizon: every point closer than it is in `found`.
    double nearest(const double* q, double reach, std::size_t wanted, std::vector<Neighbour>& found) const {
        return nearest(whole(), q, reach, wanted, found);
    }

    // The same among the points of a subtree.
    double nearest(Subtree among, const double* q, double reach, std::size_t wanted,
                   std::vector<Neighbour>& found) const {
        found.clear();
        double squared_radius = reach * reach;
        collect(among.node, among.depth, q, wanted, squared_radius, found);
        return finish(reach, squared_radius, wanted, found);
    }

    // The same among the points of the leaves in `list` alone, which `near_leaves` made for a box around q.
    double nearest(const std::vector<LeafAt>& list, const double* q, double reach, std::size_t wanted,
                   std::vector<Neighbour>& found) const {
        found.clear();
        double squared_radius = reach * reach;
        for (const LeafAt& at : list) {
            if (!(at.distance * at.distance < squared_radius)) break;
            const std::size_t node = node_of(at.leaf);
            if (squared_distance_to_box(node, q) < squared_radius) collect_leaf(node, q, wanted, squared_radius, found);
        }
        return finish(reach, squared_radius, wanted, found);
    }

    // Squared distance from q to the nearest point.
    double least_squared(const double* q) const {
        double least = std::numeric_limits<double>::infinity();
        least_squared(0, depth_, q, least);
        return least;
    }

    // The leaf that holds a point; `guess` is looked at first.
    Index leaf_with(Index point, Index guess) const {
        if (leaf_begin_[guess] <= point && point < leaf_begin_[guess + 1]) return guess;
        return static_cast<Index>(std::upper_bound(leaf_begin_.begin(), leaf_begin_.end(), point) -
                                  leaf_begin_.begin()) -
               1;
    }
    const double* leaf_low(Index leaf) const { return box(node_of(leaf)); }
    const double* leaf_high(Index leaf) const { return box(node_of(leaf)) + dims(); }

    Index leaf_begin(Index leaf) const { return leaf_begin_[leaf]; }
    Index leaves() const { return static_cast<Index>(leaf_begin_.size()) - 1; }

    // Fills `found` with the leaves of a subtree that may hold points closer than `reach` to the box from low to high,
    // in order of distance. False, with some of them, if there are more than `most`.
    bool near_leaves(Subtree among, const double* low, const double* high, double reach, std::size_t most,
                     std::vector<LeafAt>& found) const {
        found.clear();
        collect_leaves(among.node, among.depth, low, high, reach * reach, most, found);
        std::sort(found.begin(), found.end(), [](const LeafAt& a, const LeafAt& b) {
            return a.distance != b.distance ? a.distance < b.distance : a.leaf < b.leaf;
        });
        return found.size() <= most;
    }

    // Calls visit(leaf) for the leaves of a subtree that may hold points as close as `reach` to q, but for those below
    // nodes to skip(node). The node of a leaf is leaves() - 1 + leaf, and that above a node (node - 1) / 2.
    template <class Skip, class Visit>
    void visit_leaves(Subtree among, const double* q, double reach, const Skip& skip, const Visit& visit) const {
        if (skip(among.node) || squared_distance_to_box(among.node, q) > reach * reach) return;
        if (among.depth == 0) {
            visit(static_cast<Index>(leaf_of(among.node)));
            return;
        }
        visit_leaves({2 * among.node + 1, among.depth - 1}, q, reach, skip, visit);
        visit_leaves({2 * among.node + 2, among.depth - 1}, q, reach, skip, visit);
    }

    // Sets the bounds from `price`, which may afterwards only grow until the next call.
    template <class Price>
    void bound_prices(const Price& price) {
        bound_prices(whole(), price);
    }

    // The same for the nodes of a subtree alone: prices outside, and those that nodes above it know, must not have gone
    // down.
    template <class Price>
    void bound_prices(Subtree of, const Price& price) {
        const auto [begin, end] = range(of);
        bound_prices(of.node, begin, end, of.depth, price);
    }

    // Sets all bounds, shared by a crew.
    template <class Price>
    void bound_prices(const Price& price, Crew& crew) {
        const int shared_levels = levels_to_share();
        crew.run(std::size_t{1} << shared_levels,
                 [&](std::size_t k, int, Interrupt&) { bound_prices(subtree(shared_levels, k), price); });
        for (std::size_t node = (std::size_t{1} << shared_levels) - 1; node-- > 0;) {
            low_[node] = std::min(low_[2 * node + 1], low_[2 * node + 2]);
        }
    }

    // Call where the price of one point has gone down.
    void lower_bounds(Index point, double price) {
        std::size_t node = node_of(leaf_with(point, 0));
        for (; price < low_[node]; node = (node - 1) / 2) {
            low_[node] = price;
            if (node == 0) return;
        }
    }

    // Calls visit(point, distance) at least for every point with distance >= horizon and distance + price < limit.
    // `visit` may lower `limit`. Bounds met on the way are tightened. Returns how many nodes were met.
    template <class Price, class Visit>
    std::size_t visit_cheap(const double* q, double horizon, const double& limit, const Price& price,
                            const Visit& visit) {
        return visit_cheap(whole(), q, horizon, limit, price, visit);
    }

    // The same among the points of a subtree.
    template <class Price, class Visit>
    std::size_t visit_cheap(Subtree among, const double* q, double horizon, const double& limit, const Price& price,
                            const Visit& visit) {
        return visit_cheap(among.node, among.depth, q, horizon, limit, price, visit);
    }

    // Calls visit(point, distance) at least for every point with distance + price < limit, and leaves the bounds alone.
    template <class Price, class Visit>
    void look_cheap(const double* q, const double& limit, const Price& price, const Visit& visit) const {
        look_cheap(0, depth_, q, limit, price, visit);
    }

    // The same for the points of the leaves in `list` alone, which `near_leaves` made for q.
    template <class Price, class Visit>
    std::size_t visit_cheap(const LeafAt* list, const LeafAt* list_end, const double* q, double horizon,
                            const double& limit, const Price& price, const Visit& visit) {
        const LeafAt* const begin = list;
        for (; list != list_end && list->distance < limit; ++list) {
            const std::size_t node = node_of(list->leaf);
            const double room = limit - low_[node];
            if (room > horizon && list->distance <= room) visit_leaf(node, q, horizon, limit, price, visit);
        }
        return static_cast<std::size_t>(list - begin);
    }

private:
    static constexpr Index kSharedFrom = 1 << 16;  // points of a tree that is worth a crew
    static constexpr int kSharedLevels = 6;

    int levels_to_share() const { return size_ > kSharedFrom ? std::min(depth_, kSharedLevels) : 0; }
    int dims() const { return D > 0 ? D : dim_; }
    std::size_t leaf_of(std::size_t node) const { return node - (leaf_begin_.size() - 2); }
    std::size_t node_of(Index leaf) const { return (leaf_begin_.size() - 2) + leaf; }

    struct FixedHandle {
        std::array<double, D == 0 ? 1 : D> c;
        Index id;
        FixedHandle() = default;
        FixedHandle(const double* p, Index i) : id(i) { std::copy_n(p, c.size(), c.begin()); }
        double operator[](int axis) const { return c[axis]; }
    };
    struct PointerHandle {
        const double* p;
        Index id;
        PointerHandle() = default;
        PointerHandle(const double* point, Index i) : p(point), id(i) {}
        double operator[](int axis) const { return p[axis]; }
    };
    using Handle = std::conditional_t<(D > 0), FixedHandle, PointerHandle>;

    const double* box(std::size_t node) const { return boxes_.data() + node * 2 * dims(); }

    // The box of a node, and its points halved across the widest axis.
    void split(std::size_t node, Index begin, Index end, int depth, Interrupt& interrupt) {
        double* lo = boxes_.data() + node * 2 * dims();
        double* hi = lo + dims();
        int widest = 0;
        for (int k = 0; k < dims(); ++k) {
            lo[k] = std::numeric_limits<double>::infinity();
            hi[k] = -lo[k];
            for (Index i = begin; i < end; ++i) {
                lo[k] = std::min(lo[k], handles_[i][k]);
                hi[k] = std::max(hi[k], handles_[i][k]);
            }
            if (hi[k] - lo[k] > hi[widest] - lo[widest]) widest = k;
        }
        if (end - begin > 4096) interrupt.look();
        if (depth == 0) {
            leaf_begin_[leaf_of(node)] = begin;
            return;
        }
        const Index mid = begin + (end - begin) / 2;
        std::nth_element(handles_.begin() + begin, handles_.begin() + mid, handles_.begin() + end,
                         [widest](const Handle& a, const Handle& b) {
                             return a[widest] != b[widest] ? a[widest] < b[widest] : a.id < b.id;
                         });
    }

    void split_all(std::size_t node, Index begin, Index end, int depth, Interrupt& interrupt) {
        split(node, begin, end, depth, interrupt);
        if (depth == 0) return;
        const Index mid = begin + (end - begin) / 2;
        split_all(2 * node + 1, begin, mid, depth - 1, interrupt);
        split_all(2 * node + 2, mid, end, depth - 1, interrupt);
    }

    double squared_distance_to_box(std::size_t node, const double* q) const {
        return squared_distance_to_box(node, q, q);
    }

    // Between the node's box and the one from low to high.
    double squared_distance_to_box(std::size_t node, const double* low, const double* high) const {
        const double* lo = box(node);
        const double* hi = lo + dims();
        double sum = 0.0;
        for (int k = 0; k < dims(); ++k) {
            const double outside = std::max(std::max(lo[k] - high[k], low[k] - hi[k]), 0.0);
            sum += outside * outside;
        }
        return sum;
    }

    // While points are collected their distances are squares: a tie with the furthest kept is then exact, and pruned.
    static double keep_nearest(std::size_t wanted, std::vector<Neighbour>& found) {
        const auto last = found.begin() + static_cast<std::ptrdiff_t>(wanted);
        std::nth_element(found.begin(), last, found.end());
        const double squared_radius = last->distance;
        found.erase(last, found.end());
        return squared_radius;
    }

    static double finish(double reach, double squared_radius, std::size_t wanted, std::vector<Neighbour>& found) {
        if (found.size() > wanted) squared_radius = keep_nearest(wanted, found);
        for (Neighbour& neighbour : found) neighbour.distance = std::sqrt(neighbour.distance);
        std::sort(found.begin(), found.end());
        return squared_radius < reach * reach ? std::sqrt(squared_radius) : reach;
    }

    void collect(std::size_t node, int depth, const double* q, std::size_t wanted, double& squared_radius,
                 std::vector<Neighbour>& found) const {
        if (depth == 0) {
            collect_leaf(node, q, wanted, squared_radius, found);
            return;
        }
        const double left = squared_distance_to_box(2 * node + 1, q);
        const double right = squared_distance_to_box(2 * node + 2, q);
        for (int turn = 0; turn < 2; ++turn) {
            const bool go_left = (left <= right) == (turn == 0);
            if ((go_left ? left : right) < squared_radius) {
                collect(go_left ? 2 * node + 1 : 2 * node + 2, depth - 1, q, wanted, squared_radius, found);
            }
        }
    }

    void least_squared(std::size_t node, int depth, const double* q, double& least) const {
        if (depth == 0) {
            const Points<D> all = points();
            const Index end = leaf_begin_[leaf_of(node) + 1];
            for (Index i = leaf_begin_[leaf_of(node)]; i < end; ++i)
                least = std::min(least, squared_distance<D>(q, all[i], dims()));
            return;
        }
        const double left = squared_distance_to_box(2 * node + 1, q);
        const double right = squared_distance_to_box(2 * node + 2, q);
        const std::size_t first = left <= right ? 2 * node + 1 : 2 * node + 2;
        if (std::min(left, right) < least) least_squared(first, depth - 1, q, least);
        if (std::max(left, right) < least) least_squared(4 * node + 3 - first, depth - 1, q, least);
    }

    void collect_leaf(std::size_t node, const double* q, std::size_t wanted, double& squared_radius,
                      std::vector<Neighbour>& found) const {
        const Points<D> all = points();
        const Index end = leaf_begin_[leaf_of(node) + 1];
        for (Index i = leaf_begin_[leaf_of(node)]; i < end; ++i) {
            const double squared = squared_distance<D>(q, all[i], dims());
            if (squared < squared_radius) found.push_back({squared, i});
        }
        if (found.size() >= 2 * wanted + kLeaf) squared_radius = keep_nearest(wanted, found);
    }

    void collect_leaves(std::size_t node, int depth, const double* low, const double* high, double squared_reach,
                        std::size_t most, std::vector<LeafAt>& found) const {
        const double squared = squared_distance_to_box(node, low, high);
        if (!(squared < squared_reach) || found.size() > most) return;
        if (depth > 0) {
            collect_leaves(2 * node + 1, depth - 1, low, high, squared_reach, most, found);
            collect_leaves(2 * node + 2, depth - 1, low, high, squared_reach, most, found);
            return;
        }
        found.push_back({std::sqrt(squared), static_cast<Index>(leaf_of(node))});
    }

    template <class Price, class Visit>
    void visit_leaf(std::size_t node, const double* q, double horizon, const double& limit, const Price& price,
                    const Visit& visit) {
        const Points<D> all = points();
        const Index end = leaf_begin_[leaf_of(node) + 1];
        double low = std::numeric_limits<double>::infinity();
        for (Index i = leaf_begin_[leaf_of(node)]; i < end; ++i) {
            const double at = price(i);
            low = std::min(low, at);
            const double room = limit - at;
            const double squared = squared_distance<D>(q, all[i], dims());
            if (!(squared <= room * std::abs(room))) continue;
            const double d = std::sqrt(squared);
            if (d >= horizon) visit(i, d);
        }
        low_[node] = low;
    }

    template <class Price>
    double bound_prices(std::size_t node, Index begin, Index end, int depth, const Price& price) {
        double low = std::numeric_limits<double>::infinity();
        if (depth == 0) {
            for (Index i = begin; i < end; ++i) low = std::min(low, price(i));
        } else {
            const Index mid = begin + (end - begin) / 2;
            low = std::min(bound_prices(2 * node + 1, begin, mid, depth - 1, price),
                           bound_prices(2 * node + 2, mid, end, depth - 1, price));
        }
        low_[node] = low;
        return low;
    }

    template <class Price, class Visit>
    std::size_t visit_cheap(std::size_t node, int depth, const double* q, double horizon, const double& limit,
                            const Price& price, const Visit& visit) {
        if (depth == 0) {
            visit_leaf(node, q, horizon, limit, price, visit);
            return 1;
        }
        std::size_t met = 1;
        visit_children(node, q, horizon, limit, [&](std::size_t child) {
            met += visit_cheap(child, depth - 1, q, horizon, limit, price, visit);
        });
        low_[node] = std::min(low_[2 * node + 1], low_[2 * node + 2]);
        return met;
    }

    template <class Price, class Visit>
    void look_cheap(std::size_t node, int depth, const double* q, const double& limit, const Price& price,
                    const Visit& visit) const {
        if (depth == 0) {
            const Points<D> all = points();
            const Index end = leaf_begin_[leaf_of(node) + 1];
            for (Index i = leaf_begin_[leaf_of(node)]; i < end; ++i) {
                const double room = limit - price(i);
                const double squared = squared_distance<D>(q, all[i], dims());
                if (squared <= room * std::abs(room)) visit(i, std::sqrt(squared));
            }
            return;
        }
        visit_children(node, q, 0.0, limit,
                       [&](std::size_t child) { look_cheap(child, depth - 1, q, limit, price, visit); });
    }

    // Calls visit(child), the nearer first, where points with distance >= horizon and distance + price < limit may be.
    template <class Visit>
    void visit_children(std::size_t node, const double* q, double horizon, const double& limit,
                        const Visit& visit) const {
        const double left = squared_distance_to_box(2 * node + 1, q);
        const double right = squared_distance_to_box(2 * node + 2, q);
        for (int turn = 0; turn < 2; ++turn) {
            const bool go_left = (left <= right) == (turn == 0);
            const std::size_t child = go_left ? 2 * node + 1 : 2 * node + 2;
            const double room = limit - low_[child];
            if (room > horizon && (go_left ? left : right) <= room * room) visit(child);
        }
    }

    int dim_ = D;
    Index size_ = 0;
    int depth_ = 0;
    Column<double> boxes_;
    Column<double> low_;
    Column<Handle> handles_;
    std::vector<Index> leaf_begin_;
    Column<double> coords_;
    Column<Index> original_;
};

}  // namespace flatmetric
