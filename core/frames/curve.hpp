#pragma once

#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"
#include "support/exact.hpp"

namespace flatmetric {

// The Flat Metric as a function of lam up to some largest lam: it ends with slope `slope_at_end`, the mass that stays
// on both sides, and at each breakpoint, in no order, the slope falls by `fall`. From the end backwards all terms of
// the slope are positive, so nothing cancels.
struct Curve {
    Exact slope_at_end;
    Column<double> breakpoint;
    Column<double> fall;
};

// Frames, and parts of a frame that are more than 2 lam_max apart, are followed independently. Throws Interrupted.
Curve follow_lam(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads,
                 const std::function<bool()>& should_stop);

}  // namespace flatmetric
