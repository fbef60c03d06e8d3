#pragma once

#include <cstdint>
#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// For each frame: how many points of a side have a nearest one on the other, and the sum of their squared distances to
// it.
struct Nearest {
    Column<std::int64_t> frame;
    Column<std::int64_t> truth_count;
    Column<std::int64_t> pred_count;
    Column<double> truth;
    Column<double> pred;
};

// The clouds have two or three coordinates. Throws Interrupted.
Nearest nearest_in_frames(const Cloud& truth, const Cloud& pred, int dim, int threads,
                          const std::function<bool()>& should_stop);

}  // namespace flatmetric
