#pragma once

#include <cstddef>
#include <cstdint>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// Pairs of a transport plan: rows of both clouds, how far they are apart, and the mass between them; without masses
// each pair carries 1.
struct PlanRows {
    const std::int64_t* truth;
    const std::int64_t* pred;
    const double* distance;
    const double* mass;
    std::size_t n;
};

// How the cost of a plan changes with every coordinate of its points, which have `dim` each: the mass of a pair times
// the unit vector along it, 0 for pairs at the same place. Those of the truth are left empty where nobody wants them.
struct Slopes {
    Column<double> truth;
    Column<double> pred;
};

Slopes slopes_of_plan(const Cloud& truth, const Cloud& pred, int dim, const PlanRows& pairs, bool of_truth,
                      int threads);

}  // namespace flatmetric
