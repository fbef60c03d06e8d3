#include "support/binned.hpp"

#include <algorithm>
#include <cstdint>

#include "support/parallel.hpp"

namespace flatmetric {
namespace {

// Of ascending limits; without a branch that could be mispredicted.
std::size_t limits_reached(const std::vector<double>& limits, double value) {
    const double* first = limits.data();
    for (std::size_t left = limits.size(); left > 0;) {
        const std::size_t half = left / 2;
        const bool reached = !(value < first[half]);
        first += reached ? half + 1 : 0;
        left = reached ? left - half - 1 : half;
    }
    return static_cast<std::size_t>(first - limits.data());
}

}  // namespace

Column<double> sum_in_bins(const double* values, const bool* counted, std::size_t rows,
                           const std::vector<double>& limits, const std::vector<const double*>& columns, int threads) {
    const std::size_t bins = limits.size() + 1;
    Team team(worth_threads(threads, rows, kRange));
    Column<std::uint32_t> bin(rows);  // the one behind the last for rows that are left out
    over_ranges(rows, team, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            bin[i] = static_cast<std::uint32_t>(counted[i] ? limits_reached(limits, values[i]) : bins);
        }
    });
    Column<double> sums((columns.size() + 1) * bins);
    // A thread for each column, which it adds up from the first row to the last: the same bits for any number of them.
    team.run(columns.size() + 1, [&](std::size_t k, int, Interrupt&) {
        std::vector<double> own(bins + 1, 0.0);
        for (std::size_t i = 0; i < rows; ++i) own[bin[i]] += k == 0 ? 1.0 : columns[k - 1][i];
        std::copy_n(own.begin(), bins, sums.data() + k * bins);
    });
    return sums;
}

}  // namespace flatmetric
