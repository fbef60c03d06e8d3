#include "frames/slopes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "support/parallel.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kAtATime = std::size_t{1} << 14;

std::size_t parts(std::size_t count) { return (count + kAtATime - 1) / kAtATime; }

void fill_with_zeros(Column<double>& values, Team& team) {
    team.run(parts(values.size()), [&](std::size_t part, int, Interrupt&) {
        std::fill(values.begin() + part * kAtATime, values.begin() + std::min(values.size(), (part + 1) * kAtATime), 0.0);
    });
}

void add_pairs(const Cloud& truth, const Cloud& pred, std::size_t width, const PlanRows& pairs, std::size_t begin, std::size_t end,
               bool of_truth, Slopes& slopes) {
    for (std::size_t k = begin; k < end; ++k) {
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
            if (of_truth) slopes.truth[from + d] -= slope;
        }
    }
}

}  // namespace

Slopes slopes_of_plan(const Cloud& truth, const Cloud& pred, int dim, const PlanRows& pairs, bool of_truth, int threads) {
    const auto width = static_cast<std::size_t>(dim);
    Slopes slopes{Column<double>(of_truth ? static_cast<std::size_t>(truth.n) * width : 0), Column<double>(static_cast<std::size_t>(pred.n) * width)};
    Team team(threads);
    fill_with_zeros(slopes.truth, team);
    fill_with_zeros(slopes.pred, team);
    if (pairs.mass == nullptr) {  // a point is in one pair at most, so none is written twice
        team.run(parts(pairs.n), [&](std::size_t part, int, Interrupt&) {
            add_pairs(truth, pred, width, pairs, part * kAtATime, std::min(pairs.n, (part + 1) * kAtATime), of_truth, slopes);
        });
    } else {
        add_pairs(truth, pred, width, pairs, 0, pairs.n, of_truth, slopes);
    }
    return slopes;
}

}  // namespace flatmetric
