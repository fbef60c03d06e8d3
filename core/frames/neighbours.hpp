#pragma once

#include <cstdint>
#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// For each point: the distance to the nearest one of the other cloud in its frame, and the row of that one; infinite
// and -1 where none is closer than `reach`. Of equally near ones the first row is taken.
struct Neighbours {
    Column<double> distance;
    Column<std::int64_t> row;
};

// The clouds have two or three coordinates. `apart`: both clouds are the same, and no point is its own neighbour.
// Throws Interrupted.
Neighbours neighbours_in_frames(const Cloud& points, const Cloud& others, int dim, double reach, bool apart,
                                int threads, const std::function<bool()>& should_stop);

}  // namespace flatmetric
