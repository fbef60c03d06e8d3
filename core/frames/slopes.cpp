#include "frames/slopes.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "support/parallel.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kAtATime = std::size_t{1} << 14;  // pairs taken by a thread at a time

std::size_t parts(std::size_t count) { return (count + kAtATime - 1) / kAtATime; }

void fill_with_zeros(Column<double>& values, Team& team) {
    team.run(parts(values.size()), [&](std::size_t part, int, Interrupt&) {
        std::fill(values.begin() + part * kAtATime, values.begin() + std::min(values.size(), (part + 1) * kAtATime),
                  0.0);
    });
}

// `Dim` is the number of coordinates, or 0 where only `dim` knows it.
template <std::size_t Dim>
void add_pairs(const Cloud& truth, const Cloud& pred, std::size_t dim, const PlanRows& pairs, std::size_t begin,
               std::size_t end, bool of_truth, Slopes& slopes) {
    const std::size_t width = Dim == 0 ? dim : Dim;
    for (std::size_t k = begin; k < end; ++k) {
        // Checked here, not in a pass of its own, which would read all rows twice; below 0 is beyond the end, too.
        const auto row = static_cast<std::size_t>(pairs.truth[k]), partner = static_cast<std::size_t>(pairs.pred[k]);
        if (row >= static_cast<std::size_t>(truth.n) || partner >= static_cast<std::size_t>(pred.n))
            throw std::out_of_range("rows within the clouds");
        if (pairs.distance[k] == 0.0) continue;
        const std::size_t from = row * width, to = partner * width;
        const double factor = (pairs.mass == nullptr ? 1.0 : pairs.mass[k]) / pairs.distance[k];
        for (std::size_t d = 0; d < width; ++d) {
            const double slope = factor * (pred.coords[to + d] - truth.coords[from + d]);
            slopes.pred[to + d] += slope;
            if (of_truth) slopes.truth[from + d] -= slope;
        }
    }
}

}  // namespace

Slopes slopes_of_plan(const Cloud& truth, const Cloud& pred, int dim, const PlanRows& pairs, bool of_truth,
                      int threads) {
    const auto width = static_cast<std::size_t>(dim);
    Slopes slopes{Column<double>(of_truth ? static_cast<std::size_t>(truth.n) * width : 0),
                  Column<double>(static_cast<std::size_t>(pred.n) * width)};
    Team team(worth_threads(threads, pairs.n, 2 * kAtATime));
    fill_with_zeros(slopes.truth, team);
    fill_with_zeros(slopes.pred, team);
    const auto add = dim == 2 ? add_pairs<2> : dim == 3 ? add_pairs<3> : add_pairs<0>;
    if (pairs.mass == nullptr) {  // a point is in one pair at most, so none is written twice
        team.run(parts(pairs.n), [&](std::size_t part, int, Interrupt&) {
            add(truth, pred, width, pairs, part * kAtATime, std::min(pairs.n, (part + 1) * kAtATime), of_truth, slopes);
        });
    } else {
        add(truth, pred, width, pairs, 0, pairs.n, of_truth, slopes);
    }
    return slopes;
}

}  // namespace flatmetric
