#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "box.hpp"
#include "points.hpp"

namespace flatmetric {

// Points of a small set, counted into about as many cells along the first two axes. Cheaper than any tree up to a few
// hundred points.
template <int D>
class Grid {
public:
    void build(Points<D> points, const Box<D>& box) {
        dim_ = points.dims();
        const Index n = points.n;
        const double width = box.high[0] - box.low[0];
        const double height = dim_ > 1 ? box.high[1] - box.low[1] : 0.0;
        // Square cells of one point each on average, but at most n along an axis.
        const double side = std::max(std::sqrt(width * height / n), std::max(width, height) / n);
        first_ = axis(box.low[0], width, side);
        second_ = axis(dim_ > 1 ? box.low[1] : 0.0, height, side);
        start_.assign(static_cast<std::size_t>(first_.cells) * second_.cells + 1, 0);
        cell_.resize(n);
        for (Index i = 0; i < n; ++i) {
            cell_[i] = first_.cell(points[i][0]) * second_.cells + (dim_ > 1 ? second_.cell(points[i][1]) : 0);
            ++start_[cell_[i]];
        }
        // Ends of the cells first; filling backwards turns them into starts.
        for (std::size_t c = 1; c < start_.size(); ++c) start_[c] += start_[c - 1];
        coords_.resize(static_cast<std::size_t>(n) * dim_);
        original_.resize(n);
        for (Index i = n; i-- > 0;) {
            const Index at = --start_[cell_[i]];
            std::copy_n(points[i], dim_, coords_.data() + static_cast<std::size_t>(at) * dim_);
            original_[at] = i;
        }
    }

    // Calls visit(point, squared distance) for every point that may be closer to q than `reach`.
    template <class Visit>
    void visit_near(const double* q, double reach, const Visit& visit) const {
        const Index first_end = first_.cell(q[0] + reach);
        const Index low = dim_ > 1 ? second_.cell(q[1] - reach) : 0;
        const Index high = dim_ > 1 ? second_.cell(q[1] + reach) : 0;
        for (Index row = first_.cell(q[0] - reach); row <= first_end; ++row) {
            const Index begin = start_[row * second_.cells + low];
            const Index end = start_[row * second_.cells + high + 1];
            for (Index i = begin; i < end; ++i) {
                visit(original_[i],
                      squared_distance<D>(q, coords_.data() + static_cast<std::size_t>(i) * (D > 0 ? D : dim_), dim_));
            }
        }
    }

private:
    struct Axis {
        double low = 0.0;
        double per_length = 0.0;
        Index cells = 1;

        // Monotone in x, so a range of x is a range of cells whatever the rounding.
        Index cell(double x) const {
            return static_cast<Index>(std::clamp((x - low) * per_length, 0.0, static_cast<double>(cells - 1)));
        }
    };

    static Axis axis(double low, double extent, double side) {
        const double cells = side > 0.0 ? std::floor(extent / side) : 0.0;
        if (!(cells >= 2.0)) return {low, 0.0, 1};
        return {low, cells / extent, static_cast<Index>(cells)};
    }

    int dim_ = D;
    Axis first_;
    Axis second_;
    std::vector<Index> start_;
    std::vector<Index> cell_;
    std::vector<double> coords_;
    std::vector<Index> original_;
};

}  // namespace flatmetric
