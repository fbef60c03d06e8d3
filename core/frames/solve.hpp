#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "frames/order.hpp"
#include "support/column.hpp"
#include "transport/flat_metric.hpp"

namespace flatmetric {

struct Solution {
    std::vector<Frame> frames;
    std::vector<Parts> parts;  // of each frame
    Parts total;
    Pairs pairs;  // by frame, then truth, then pred
    Column<double> truth_potential;
    Column<double> pred_potential;
};

// A frame whose masses differ while lam is infinite: its distance would be infinite.
struct UnequalMasses {
    std::int64_t frame;
    double truth_mass;
    double pred_mass;
};

// Solves every frame on its own, spread over `threads` threads; the result does not depend on their number. All costs
// in it are divided by `divisor`. `should_stop` is polled from the calling thread. Throws Interrupted, UnequalMasses or
// BeyondLimit.
Solution solve_frames(const Cloud& truth, const Cloud& pred, int dim, double lam, double divisor, Method method,
                      int threads, const std::function<bool()>& should_stop);

}  // namespace flatmetric
