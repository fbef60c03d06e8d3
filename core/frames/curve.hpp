#pragma once

#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// The Flat Metric as a function of lam up to some largest lam: it starts at 0 with slope `slope_at_zero`, and at each
// breakpoint, in no order, the slope changes by `change` (never upwards).
struct Curve {
    double slope_at_zero = 0.0;
    Column<double> breakpoint;
    Column<double> change;
};

// Frames, and parts of a frame that are more than 2 lam_max apart, are followed independently. Throws Interrupted.
Curve follow_lam(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads,
                 const std::function<bool()>& should_stop);

}  // namespace flatmetric
