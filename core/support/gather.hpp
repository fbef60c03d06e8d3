#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/column.hpp"

namespace flatmetric {

// Columns of equal length side by side as one row-major table.
Column<double> interleave_columns(const std::vector<const double*>& columns, std::size_t rows, int threads);

// Row b[k] of the table `to` minus row a[k] of `from`, for every k, column-major. All rows must exist.
Column<double> subtract_rows(const double* from, const std::int64_t* a, const double* to, const std::int64_t* b,
                             std::size_t count, int dim, int threads);

}  // namespace flatmetric
