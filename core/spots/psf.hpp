#pragma once

#include <cstddef>

#include "support/column.hpp"

namespace flatmetric {

// A spot known at samples in space, as the coefficients (planes, rows, columns) of a cubic B-spline; `per_pixel`
// samples lie along a pixel.
struct SampledSpot {
    const double* coefficients;
    std::size_t planes;
    std::size_t rows;
    std::size_t columns;
    std::size_t per_pixel;
};

// The spot in squares of side x side pixels. The k-th square has its first pixel at places[3 k], places[3 k + 1] and
// places[3 k + 2], in samples along z, y and x; one that would reach beyond the samples is moved back. The result holds
// for each square the values of its pixels and, with `slopes`, their derivatives by z, by y and by x.
Column<double> spot_boxes(const SampledSpot& spot, const double* places, std::size_t count, std::size_t side,
                          bool slopes);

}  // namespace flatmetric
