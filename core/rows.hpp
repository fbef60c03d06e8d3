#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "column.hpp"

namespace flatmetric {

// Columns of equal length as the rows of a table: row-major.
Column<double> interleaved(const std::vector<const double*>& columns, std::size_t rows, int threads);

// Row b[k] of the table `to` minus row a[k] of `from`, for every k: column by column. The rows must be there.
Column<double> differences(const double* from, const std::int64_t* a, const double* to, const std::int64_t* b, std::size_t count, int dim,
                           int threads);

}  // namespace flatmetric
