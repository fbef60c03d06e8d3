#include "rows.hpp"

#include <algorithm>

#include "together.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kRowsAtATime = std::size_t{1} << 16;

// Calls body(begin, end) for stretches of the rows; a short table is not worth a thread.
template <class Body>
void over_rows(std::size_t rows, int threads, const Body& body) {
    const std::size_t stretches = (rows + kRowsAtATime - 1) / kRowsAtATime;
    const int useful = static_cast<int>(std::min<std::size_t>(threads, std::max<std::size_t>(stretches, 1)));
    for_each_together(stretches, useful, {}, [&](std::size_t k, Interrupt&) {
        body(k * kRowsAtATime, std::min(rows, (k + 1) * kRowsAtATime));
    });
}

}  // namespace

Column<double> interleaved(const std::vector<const double*>& columns, std::size_t rows, int threads) {
    const std::size_t dim = columns.size();
    Column<double> table(rows * dim);
    over_rows(rows, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t k = 0; k < dim; ++k) table[i * dim + k] = columns[k][i];
        }
    });
    return table;
}

Column<double> differences(const double* from, const std::int64_t* a, const double* to, const std::int64_t* b, std::size_t count, int dim,
                           int threads) {
    Column<double> found(count * static_cast<std::size_t>(dim));
    over_rows(count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (int k = 0; k < dim; ++k) found[static_cast<std::size_t>(k) * count + i] = to[b[i] * dim + k] - from[a[i] * dim + k];
        }
    });
    return found;
}

}  // namespace flatmetric
