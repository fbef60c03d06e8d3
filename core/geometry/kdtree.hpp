#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

#include "geometry/points.hpp"
#include "support/interrupt.hpp"

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

inline bool operator<(const Neighbour& a, const Neighbour& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.point < b.point;
}

// A balanced k-d tree over points that it stores in leaf order, so that near points are near in memory. Callers
// number points in that order; `original` maps back to the input. Each node also carries a lower bound of a price
// that the caller attaches to the points: searches for small `distance + price` skip what can't win.
template <int D>
class KdTree {
public:
    void build(Points<D> points, Interrupt& interrupt) {
        dim_ = points.dims();
        size_ = points.n;
        depth_ = 0;
        while ((size_ >> depth_) > kLeaf) ++depth_;
        const std::size_t nodes = (std::size_t{2} << depth_) - 1;
        boxes_.resize(nodes * 2 * dim_);
        low_.assign(nodes, 0.0);
        handles_.resize(size_);
        for (Index i = 0; i < size_; ++i) handles_[i] = Handle(points[i], i);
        leaf_begin_.resize((std::size_t{1} << depth_) + 1);
        leaf_begin_.back() = size_;
        split(0, 0, size_, depth_, interrupt);
        coords_.resize(static_cast<std::size_t>(size_) * dim_);
        original_.resize(size_);
        for (Index i = 0; i < size_; ++i) {
            for (int k = 0; k < dims(); ++k) coords_[static_cast<std::size_t>(i) * dims() + k] = handles_[i][k];
            original_[i] = handles_[i].id;
        }
    }

    // How many points lie at the place of another one in their leaf.
    Index twins() const {
        Index count = 0;
        const Points<D> all = points();
        for (std::size_t leaf = 0; leaf + 1 < leaf_begin_.size(); ++leaf) {
            for (Index i = leaf_begin_[leaf] + 1; i < leaf_begin_[leaf + 1]; ++i) {
                Index j = leaf_begin_[leaf];
                while (j < i && !std::equal(all[i], all[i] + dims(), all[j])) ++j;
                count += j < i ? 1 : 0;
            }
        }
        return count;
    }

    Points<D> points() const { return {coords_.data(), size_, dim_}; }
    Index original(Index i) const { return original_[i]; }

    // Fills `found` with the points nearest to q among those closer than `reach`, in order of distance, about `wanted`
    // of them. Returns the horizon: every point closer than it is in `found`.
    double nearest(const double* q, double reach, std::size_t wanted, std::vector<Neighbour>& found) const {
        found.clear();
        double squared_radius = reach * reach;
        collect(0, depth_, q, wanted, squared_radius, found);
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
        return static_cast<Index>(std::upper_bound(leaf_begin_.begin(), leaf_begin_.end(), point) - leaf_begin_.begin()) - 1;
    }
    const double* leaf_low(Index leaf) const { return box(node_of(leaf)); }
    const double* leaf_high(Index leaf) const { return box(node_of(leaf)) + dims(); }

    // Fills `found` with the leaves that may hold points closer than `reach` to the box from low to high, in order of distance.
    // False, with some of them, if there are more than `most`.
    bool near_leaves(const double* low, const double* high, double reach, std::size_t most, std::vector<LeafAt>& found) const {
        found.clear();
        collect_leaves(0, depth_, low, high, reach * reach, most, found);
        std::sort(found.begin(), found.end(), [](const LeafAt& a, const LeafAt& b) {
            return a.distance != b.distance ? a.distance < b.distance : a.leaf < b.leaf;
        });
        return found.size() <= most;
    }

    // Sets the bounds from `price`, which may afterwards only grow until the next call.
    template <class Price>
    void bound_prices(const Price& price) {
        bound_prices(0, 0, size_, depth_, price);
    }

    // Call where the price of one point has gone down.
    void lower_bounds(Index point, double price) {
        std::size_t node = node_of(leaf_with(point, 0));
        for (; price < low_[node]; node = (node - 1) / 2) {
            low_[node] = price;
            if (node == 0) return;
        }
    }

    // Calls visit(point, distance) at least for every point with distance >= horizon and distance + price < limit. `visit` may
    // lower `limit`. Bounds met on the way are tightened. Returns how many nodes were met.
    template <class Price, class Visit>
    std::size_t visit_cheap(const double* q, double horizon, const double& limit, const Price& price, const Visit& visit) {
        return visit_cheap(0, depth_, q, horizon, limit, price, visit);
    }

    // The same for the points of the leaves in `list` alone, which `near_leaves` made for q.
    template <class Price, class Visit>
    std::size_t visit_cheap(const LeafAt* list, const LeafAt* list_end, const double* q, double horizon, const double& limit,
                            const Price& price, const Visit& visit) {
        const LeafAt* const begin = list;
        for (; list != list_end && list->distance < limit; ++list) {
            const std::size_t node = node_of(list->leaf);
            const double room = limit - low_[node];
            if (room > horizon && list->distance <= room) visit_leaf(node, q, horizon, limit, price, visit);
        }
        return static_cast<std::size_t>(list - begin);
    }

private:
    static constexpr Index kLeaf = 12;

    int dims() const { return D > 0 ? D : dim_; }
    std::size_t leaf_of(std::size_t node) const { return node - (leaf_begin_.size() - 2); }
    std::size_t node_of(Index leaf) const { return (leaf_begin_.size() - 2) + leaf; }

    struct FixedHandle {
        std::array<double, D == 0 ? 1 : D> c;
        Index id = 0;
        FixedHandle() = default;
        FixedHandle(const double* p, Index i) : id(i) { std::copy_n(p, c.size(), c.begin()); }
        double operator[](int axis) const { return c[axis]; }
    };
    struct PointerHandle {
        const double* p = nullptr;
        Index id = 0;
        PointerHandle() = default;
        PointerHandle(const double* point, Index i) : p(point), id(i) {}
        double operator[](int axis) const { return p[axis]; }
    };
    using Handle = std::conditional_t<(D > 0), FixedHandle, PointerHandle>;

    const double* box(std::size_t node) const { return boxes_.data() + node * 2 * dims(); }

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
        split(2 * node + 1, begin, mid, depth - 1, interrupt);
        split(2 * node + 2, mid, end, depth - 1, interrupt);
    }

    double squared_distance_to_box(std::size_t node, const double* q) const { return squared_distance_to_box(node, q, q); }

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
            for (Index i = leaf_begin_[leaf_of(node)]; i < end; ++i) least = std::min(least, squared_distance<D>(q, all[i], dims()));
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
    std::size_t visit_cheap(std::size_t node, int depth, const double* q, double horizon, const double& limit, const Price& price,
                            const Visit& visit) {
        if (depth == 0) {
            visit_leaf(node, q, horizon, limit, price, visit);
            return 1;
        }
        std::size_t met = 1;
        const double left = squared_distance_to_box(2 * node + 1, q);
        const double right = squared_distance_to_box(2 * node + 2, q);
        for (int turn = 0; turn < 2; ++turn) {
            const bool go_left = (left <= right) == (turn == 0);
            const std::size_t child = go_left ? 2 * node + 1 : 2 * node + 2;
            const double room = limit - low_[child];
            if (!(room > horizon) || !((go_left ? left : right) <= room * room)) continue;
            met += visit_cheap(child, depth - 1, q, horizon, limit, price, visit);
        }
        low_[node] = std::min(low_[2 * node + 1], low_[2 * node + 2]);
        return met;
    }

    int dim_ = D;
    Index size_ = 0;
    int depth_ = 0;
    std::vector<double> boxes_;
    std::vector<double> low_;
    std::vector<Handle> handles_;
    std::vector<Index> leaf_begin_;
    std::vector<double> coords_;
    std::vector<Index> original_;
};

}  // namespace flatmetric
