#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "points.hpp"

namespace flatmetric {

// Points of a small set, counted into about n strips along the first axis: listing what may lie within a distance of
// a place is one contiguous range. Cheaper than any tree up to a few hundred points.
template <int D>
class Strips {
public:
    void build(Points<D> points) {
        dim_ = points.dims();
        const Index n = points.n;
        low_ = std::numeric_limits<double>::infinity();
        double high = -low_;
        for (Index i = 0; i < n; ++i) {
            low_ = std::min(low_, points[i][0]);
            high = std::max(high, points[i][0]);
        }
        last_ = n - 1;
        per_length_ = high > low_ ? n / (high - low_) : 0.0;
        if (!std::isfinite(per_length_)) per_length_ = 0.0;
        start_.assign(static_cast<std::size_t>(n) + 1, 0);
        for (Index i = 0; i < n; ++i) ++start_[strip(points[i][0]) + 1];
        for (Index s = 0; s < n; ++s) start_[s + 1] += start_[s];
        fill_.assign(start_.begin(), start_.end() - 1);
        coords_.resize(static_cast<std::size_t>(n) * dim_);
        original_.resize(n);
        for (Index i = 0; i < n; ++i) {
            const Index at = fill_[strip(points[i][0])]++;
            std::copy_n(points[i], dim_, coords_.data() + static_cast<std::size_t>(at) * dim_);
            original_[at] = i;
        }
    }

    // Calls visit(point, squared distance) for every point that may be closer to q than `reach`.
    template <class Visit>
    void visit_near(const double* q, double reach, const Visit& visit) const {
        const Index begin = start_[strip(q[0] - reach)];
        const Index end = start_[strip(q[0] + reach) + 1];
        for (Index i = begin; i < end; ++i) {
            visit(original_[i],
                  squared_distance<D>(q, coords_.data() + static_cast<std::size_t>(i) * (D > 0 ? D : dim_), dim_));
        }
    }

private:
    // Monotone in x, so a range of x is a range of strips whatever the rounding.
    Index strip(double x) const {
        return static_cast<Index>(std::clamp((x - low_) * per_length_, 0.0, static_cast<double>(last_)));
    }

    int dim_ = D;
    Index last_ = 0;
    double low_ = 0.0;
    double per_length_ = 0.0;
    std::vector<Index> start_;
    std::vector<Index> fill_;
    std::vector<double> coords_;
    std::vector<Index> original_;
};

}  // namespace flatmetric
