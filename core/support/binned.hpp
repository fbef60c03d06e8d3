#pragma once

#include <cstddef>
#include <vector>

#include "support/column.hpp"

namespace flatmetric {

// How many rows lie in each bin, then what each column adds up to there, one after the other. The bin of a row is the
// number of limits that its value reaches; limits ascend. Rows that are not counted are left out.
Column<double> sum_in_bins(const double* values, const bool* counted, std::size_t rows,
                           const std::vector<double>& limits, const std::vector<const double*>& columns, int threads);

}  // namespace flatmetric
