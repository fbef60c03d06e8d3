#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/points.hpp"

namespace flatmetric {

// Points of a small set, binned into cells along the first two axes that are no narrower than `reach`: any point closer
// than that to a position lies in its cell or those around it. Cheaper than any tree up to a few hundred points.
template <int D>
class Grid {
public:
    void build(Points<D> points, const Box<D>& box, double reach) {
        dim_ = points.dims();
        const Index n = points.n;
        const double width = box.high[0] - box.low[0];
        const double height = dims() > 1 ? box.high[1] - box.low[1] : 0.0;
        const double most = kCells * n;
        // A little wider than reach, for the rounding of the cells' borders.
        const double side =
            std::max(reach * (1.0 + 1e-9), std::max(std::sqrt(width * height / most), std::max(width, height) / most));
        first_ = axis(box.low[0], width, side);
        second_ = axis(dims() > 1 ? box.low[1] : 0.0, height, side);
        start_.assign(static_cast<std::size_t>(first_.cells) * second_.cells + 1, 0);
        cell_.resize(n);
        for (Index i = 0; i < n; ++i) {
            cell_[i] =
                first_.inner_cell(points[i][0]) * second_.cells + (dims() > 1 ? second_.inner_cell(points[i][1]) : 0);
            ++start_[cell_[i]];
        }
        // Ends of the cells first; filling backwards turns them into starts.
        Index end = 0;
        for (Index& count : start_) count = end += count;
        coords_.resize(static_cast<std::size_t>(n) * dims());
        original_.resize(n);
        for (Index i = n; i-- > 0;) {
            const Index at = --start_[cell_[i]];
            for (int k = 0; k < dims(); ++k) coords_[static_cast<std::size_t>(at) * dims() + k] = points[i][k];
            original_[at] = i;
        }
    }

    // Calls visit(point, squared distance) for every point that may be closer to q than `reach`.
    template <class Visit>
    void visit_near(const double* q, const Visit& visit) const {
        const Index row = first_.cell(q[0]);
        const Index column = dims() > 1 ? second_.cell(q[1]) : 0;
        const Index low = std::max<Index>(column - 1, 0);
        const Index high = std::min<Index>(column + 2, second_.cells);
        const Index last = std::min<Index>(row + 1, first_.cells - 1);
        for (Index r = std::max<Index>(row - 1, 0); r <= last; ++r) {
            const Index end = start_[r * second_.cells + high];
            for (Index i = start_[r * second_.cells + low]; i < end; ++i) {
                visit(original_[i],
                      squared_distance<D>(q, coords_.data() + static_cast<std::size_t>(i) * dims(), dims()));
            }
        }
    }

private:
    static constexpr double kCells = 4.0;  // at most this many per point

    int dims() const { return D > 0 ? D : dim_; }

    struct Axis {
        double low = 0.0;
        double per_length = 0.0;
        Index cells = 1;

        // The cell of an x between low and high.
        Index inner_cell(double x) const { return std::min(static_cast<Index>((x - low) * per_length), cells - 1); }

        // A place outside belongs to the cell at the border.
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
