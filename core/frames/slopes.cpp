#include "frames/slopes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flatmetric {

Slopes slopes_of_plan(const Cloud& truth, const Cloud& pred, int dim, const PlanRows& pairs) {
    const auto width = static_cast<std::size_t>(dim);
    Slopes slopes{Column<double>(static_cast<std::size_t>(truth.n) * width), Column<double>(static_cast<std::size_t>(pred.n) * width)};
    std::fill(slopes.truth.begin(), slopes.truth.end(), 0.0);
    std::fill(slopes.pred.begin(), slopes.pred.end(), 0.0);
    for (std::size_t k = 0; k < pairs.n; ++k) {
        const std::size_t from = static_cast<std::size_t>(pairs.truth[k]) * width;
        const std::size_t to = static_cast<std::size_t>(pairs.pred[k]) * width;
        double squared = 0.0;
        for (std::size_t d = 0; d < width; ++d) {
            const double step = pred.coords[to + d] - truth.coords[from + d];
            squared += step * step;
        }
        if (squared == 0.0) continue;
        const double factor = (pairs.mass == nullptr ? 1.0 : pairs.mass[k]) / std::sqrt(squared);
        for (std::size_t d = 0; d < width; ++d) {
            const double slope = factor * (pred.coords[to + d] - truth.coords[from + d]);
            slopes.pred[to + d] += slope;
            slopes.truth[from + d] -= slope;
        }
    }
    return slopes;
}

}  // namespace flatmetric
