#pragma once

#include <cstdint>
#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// For each point: 1 if a point of the other cloud lies in its frame within `reach` of it (included), else 0.
// The clouds have two or three coordinates. Throws Interrupted.
Column<std::uint8_t> within_reach(const Cloud& points, const Cloud& others, int dim, double reach, int threads,
                                  const std::function<bool()>& should_stop);

}  // namespace flatmetric
