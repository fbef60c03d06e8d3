#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "geometry/points.hpp"
#include "support/interrupt.hpp"

namespace flatmetric {

// Points halved again and again across the widest axis, down to single ones: every range of places that this leads to
// holds points that lie together. A range from begin to end is halved at `middle`, and no two ranges at the same place.
template <int D>
class Halving {
public:
    // Halves those of the points that are listed, in ascending order.
    void build(Points<D> points, std::vector<Index> listed, Interrupt& interrupt) {
        points_ = points;
        order_ = std::move(listed);
        axis_.assign(order_.size(), 0);
        halve(0, size(), interrupt);
    }

    Index size() const { return static_cast<Index>(order_.size()); }
    Index point(Index place) const { return order_[place]; }
    int axis(Index middle) const { return axis_[middle]; }
    static Index middle(Index begin, Index end) { return begin + (end - begin) / 2; }

private:
    void halve(Index begin, Index end, Interrupt& interrupt) {
        if (end - begin < 2) return;
        interrupt.tick();
        if (end - begin > 4096) interrupt.look();
        int widest = 0;
        double width = -1.0;
        for (int k = 0; k < points_.dims(); ++k) {
            double low = std::numeric_limits<double>::infinity();
            double high = -low;
            for (Index i = begin; i < end; ++i) {
                low = std::min(low, points_[order_[i]][k]);
                high = std::max(high, points_[order_[i]][k]);
            }
            if (high - low > width) {
                width = high - low;
                widest = k;
            }
        }
        const Index mid = middle(begin, end);
        axis_[mid] = static_cast<std::uint16_t>(widest);
        std::nth_element(order_.begin() + begin, order_.begin() + mid, order_.begin() + end, [&](Index a, Index b) {
            const double first = points_[a][widest];
            const double second = points_[b][widest];
            return first != second ? first < second : a < b;
        });
        halve(begin, mid, interrupt);
        halve(mid, end, interrupt);
    }

    Points<D> points_;
    std::vector<Index> order_;
    std::vector<std::uint16_t> axis_;
};

}  // namespace flatmetric
