#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "geometry/points.hpp"

namespace flatmetric {

// Finds points of small `distance + price` where prices slope across the points, as they do where mass travels far.
//
// Each node of a balanced tree holds a plane under its prices: price(y) >= rest + slope (y - centre). A norm is convex,
// so with the direction e from q to the centre, |y - q| >= |centre - q| + e (y - centre), and over the box with
// half-widths h
//
//     |y - q| + price(y)  >=  |centre - q| + rest - sum |e_k + slope_k| h_k.
//
// Along the way of the mass the slope is -e, and the bound is as sharp for a large box as for a small one. Any slope
// gives a valid bound. Points must come in an order in which neighbours are near each other.
template <int D>
class SlopeTree {
public:
    void build(Points<D> points) {
        points_ = points;
        depth_ = 0;
        while (points.n > (kLeaf << depth_)) ++depth_;
        const std::size_t nodes = (std::size_t{2} << depth_) - 1;
        planes_.resize(nodes * stride());
        leaf_begin_.resize((std::size_t{1} << depth_) + 1);
        leaf_begin_.back() = points.n;
        price_.assign(points.n, std::numeric_limits<double>::quiet_NaN());  // the first prices are new
        change_.resize(nodes);
        sums_.resize(static_cast<std::size_t>(dims()) * (dims() + 3));
        columns_.resize(static_cast<std::size_t>(points.n) * dims());
        box(0, 0, points.n, depth_);
    }

    // Prices by the points' numbers. Tells them from the last ones for `visit_fallen`.
    template <class Price>
    void set_prices(const Price& price) {
        largest_ = 0.0;
        for (std::size_t leaf = 0; leaf + 1 < leaf_begin_.size(); ++leaf) {
            Change change = Change::none;
            for (Index i = leaf_begin_[leaf]; i < leaf_begin_[leaf + 1]; ++i) {
                const double last = std::exchange(price_[i], price(i));
                if (price_[i] != last) change = std::max(change, price_[i] < last ? Change::fallen : Change::risen);
                largest_ = std::max(largest_, std::abs(price_[i]));
            }
            change_[(leaf_begin_.size() - 2) + leaf] = change;
        }
        for (std::size_t node = leaf_begin_.size() - 2; node-- > 0;)
            change_[node] = std::max(change_[2 * node + 1], change_[2 * node + 2]);
        fit(0, 0, points_.n, depth_);
    }
    double price(Index i) const { return price_[i]; }

    // Calls visit(point, distance) at least for every point with distance + price < limit, but for rounding error;
    // `visit` may lower the limit.
    template <class Visit>
    void visit_cheap(const double* q, const double& limit, const Visit& visit) const {
        if (bound(0, q, limit) < limit) walk<false>(0, depth_, q, limit, visit);
    }

    // The same where prices have fallen between the last two calls of set_prices, and perhaps a little around.
    template <class Visit>
    void visit_fallen(const double* q, const double& limit, const Visit& visit) const {
        if (change_[0] == Change::fallen && bound(0, q, limit) < limit) walk<true>(0, depth_, q, limit, visit);
    }

private:
    static constexpr Index kLeaf = D > 0 ? 32 : 128;  // points; in many dimensions bounds are dear and rule out little
    static constexpr int kSweeps = 4;                 // of the least-squares fit; any slope is valid
    static constexpr double kRounding =
        1e-15;  // relative: the rounding error of a bound; what is cheaper by less is a tie

    // What has happened to the prices of a node: a fall outweighs a rise.
    enum class Change : unsigned char { none, risen, fallen };

    int dims() const { return points_.dims(); }
    // A node's entry in planes_: the centre and the half-widths of its box, the slope, the rest, and the lowest price.
    std::size_t stride() const { return 3 * static_cast<std::size_t>(dims()) + 2; }
    double* centre(std::size_t node) { return planes_.data() + node * stride(); }
    const double* centre(std::size_t node) const { return planes_.data() + node * stride(); }

    void box(std::size_t node, Index begin, Index end, int depth) {
        for (int k = 0; k < dims(); ++k) {
            double low = std::numeric_limits<double>::infinity();
            double high = -low;
            for (Index i = begin; i < end; ++i) {
                low = std::min(low, points_[i][k]);
                high = std::max(high, points_[i][k]);
            }
            const double middle = low + (high - low) / 2.0;
            centre(node)[k] = middle;
            centre(node)[dims() + k] = std::max(high - middle, middle - low);
        }
        if (depth == 0) {
            leaf_begin_[node - (leaf_begin_.size() - 2)] = begin;
            double* column = columns_.data() + static_cast<std::size_t>(begin) * dims();
            for (int k = 0; k < dims(); ++k) {
                for (Index i = begin; i < end; ++i) *column++ = points_[i][k];
            }
            return;
        }
        const Index mid = begin + (end - begin) / 2;
        box(2 * node + 1, begin, mid, depth - 1);
        box(2 * node + 2, mid, end, depth - 1);
    }

    void fit(std::size_t node, Index begin, Index end, int depth) {
        if (change_[node] == Change::none) return;
        if (depth > 0) {
            const Index mid = begin + (end - begin) / 2;
            fit(2 * node + 1, begin, mid, depth - 1);
            fit(2 * node + 2, mid, end, depth - 1);
        }
        const int n = dims();
        const double* const c = centre(node);
        double* const slope = centre(node) + 2 * n;
        fit_slope(begin, end, slope);
        double rest = std::numeric_limits<double>::infinity();
        double low = rest;
        for (Index i = begin; i < end; ++i) {
            low = std::min(low, price_[i]);
            double above = price_[i];
            for (int k = 0; k < n; ++k) above -= slope[k] * (points_[i][k] - c[k]);
            rest = std::min(rest, above);
        }
        slope[n] = rest;
        slope[n + 1] = low;
    }

    // Least squares by a few sweeps over the normal equations.
    void fit_slope(Index begin, Index end, double* slope) {
        const int n = dims();
        double* const mean = sums_.data();
        double* const with_price = mean + n;
        double* const step = with_price + n;
        double* const squares = step + n;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        const double share = 1.0 / (end - begin);
        double mean_price = 0.0;
        for (Index i = begin; i < end; ++i) {
            mean_price += price_[i] * share;
            for (int k = 0; k < n; ++k) mean[k] += points_[i][k] * share;
        }
        for (Index i = begin; i < end; ++i) {
            for (int k = 0; k < n; ++k) {
                step[k] = points_[i][k] - mean[k];
                with_price[k] += step[k] * (price_[i] - mean_price);
                for (int j = 0; j <= k; ++j) squares[k * n + j] += step[k] * step[j];
            }
        }
        std::fill_n(slope, n, 0.0);
        for (int sweep = 0; sweep < kSweeps; ++sweep) {
            for (int k = 0; k < n; ++k) {
                double left = with_price[k];
                for (int j = 0; j < n; ++j)
                    left -= j == k ? 0.0 : squares[std::max(j, k) * n + std::min(j, k)] * slope[j];
                const double fitted = left / squares[k * n + k];
                slope[k] = std::abs(fitted) <= kSteepest ? fitted : 0.0;  // not a number where the box is flat
            }
        }
    }
    static constexpr double kSteepest = 2.0;  // prices rise no faster than distances

    double bound(std::size_t node, const double* q, double limit) const {
        const int n = dims();
        const double* const c = centre(node);
        const double* const half = c + n;
        const double* const slope = half + n;
        // The box alone first: it takes no root.
        double squares = 0.0;
        double outside = 0.0;
        for (int k = 0; k < n; ++k) {
            const double step = std::abs(c[k] - q[k]);
            const double beyond = std::max(step - half[k], 0.0);
            squares += step * step;
            outside += beyond * beyond;
        }
        const double room = limit - slope[n + 1];
        if (!(room > 0.0) || outside >= room * room) return limit;
        const double length = std::sqrt(squares);
        const double per_length = length > 0.0 ? 1.0 / length : 0.0;
        double least = length + slope[n];
        for (int k = 0; k < n; ++k) least -= std::abs((c[k] - q[k]) * per_length + slope[k]) * half[k];
        const double rounding = kRounding * (length + largest_);
        if (least + rounding >= limit) return limit;
        return std::max(least, std::sqrt(outside) + slope[n + 1]) + rounding;
    }

    template <bool kFallen, class Visit>
    void walk(std::size_t node, int depth, const double* q, const double& limit, const Visit& visit) const {
        if (depth == 0) {
            const std::size_t leaf = node - (leaf_begin_.size() - 2);
            const Index begin = leaf_begin_[leaf];
            const Index count = leaf_begin_[leaf + 1] - begin;
            // All squares first, without a branch in between.
            double squared[kLeaf];
            double allowed[kLeaf];
            const double most = limit;
            const double* column = columns_.data() + static_cast<std::size_t>(begin) * dims();
            for (Index i = 0; i < count; ++i) {
                const double room = most - price_[begin + i];
                allowed[i] = room * std::abs(room);
                squared[i] = 0.0;
            }
            for (int k = 0; k < dims(); ++k, column += count) {
                for (Index i = 0; i < count; ++i) {
                    const double step = q[k] - column[i];
                    squared[i] += step * step;
                }
            }
            for (Index i = 0; i < count; ++i) {
                if (squared[i] < allowed[i]) visit(begin + i, std::sqrt(squared[i]));
            }
            return;
        }
        std::size_t near = 2 * node + 1;
        std::size_t far = near + 1;
        const auto bound_of = [&](std::size_t child) {
            return kFallen && change_[child] != Change::fallen ? limit : bound(child, q, limit);
        };
        double near_bound = bound_of(near);
        double far_bound = bound_of(far);
        if (far_bound < near_bound) {
            std::swap(near, far);
            std::swap(near_bound, far_bound);
        }
        if (near_bound < limit) walk<kFallen>(near, depth - 1, q, limit, visit);
        if (far_bound < limit) walk<kFallen>(far, depth - 1, q, limit, visit);
    }

    Points<D> points_;
    int depth_ = 0;
    double largest_ = 0.0;
    std::vector<double> planes_;
    std::vector<double> columns_;  // the coordinates of each leaf, one axis after the other
    std::vector<Index> leaf_begin_;
    std::vector<double> price_;
    std::vector<Change> change_;
    std::vector<double> sums_;
};

}  // namespace flatmetric
