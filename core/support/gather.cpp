#include "support/gather.hpp"

#include "support/parallel.hpp"

namespace flatmetric {
namespace {

// Calls body(begin, end) for ranges of rows.
template <class Body>
void over_rows(std::size_t rows, int threads, const Body& body) {
    Team team(worth_threads(threads, rows, kRange));
    over_ranges(rows, team, body);
}

}  // namespace

Column<double> interleave_columns(const std::vector<const double*>& columns, std::size_t rows, int threads) {
    const std::size_t dim = columns.size();
    Column<double> table(rows * dim);
    over_rows(rows, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t k = 0; k < dim; ++k) table[i * dim + k] = columns[k][i];
        }
    });
    return table;
}

Column<double> subtract_rows(const double* from, const std::int64_t* a, const double* to, const std::int64_t* b,
                             std::size_t count, int dim, int threads) {
    Column<double> differences(count * static_cast<std::size_t>(dim));
    over_rows(count, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            for (int k = 0; k < dim; ++k)
                differences[static_cast<std::size_t>(k) * count + i] = to[b[i] * dim + k] - from[a[i] * dim + k];
        }
    });
    return differences;
}

}  // namespace flatmetric
