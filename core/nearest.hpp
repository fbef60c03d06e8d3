#pragma once

#include <functional>

#include "column.hpp"
#include "frame_order.hpp"

namespace flatmetric {

// For each point the squared distance to the nearest point of the other side in its frame; infinite where there is none.
struct Nearest {
    Column<double> truth;
    Column<double> pred;
};

// The clouds have two or three coordinates. Throws Interrupted.
Nearest nearest_in_frames(const Cloud& truth, const Cloud& pred, int dim, int threads, const std::function<bool()>& asked_to_stop);

}  // namespace flatmetric
