#pragma once

#include <functional>

#include "frames/order.hpp"
#include "support/column.hpp"

namespace flatmetric {

// Which pairs may be matched: the first two coordinates no further apart than `lateral`, the third than `axial`. Both
// bounds are included.
struct Gate {
    double lateral;
    double axial;
};

struct MatchRule {
    bool greedy;   // take the nearest pair, repeatedly; otherwise the cheapest matching
    double power;  // a pair costs its distance to this power
    double price;  // of leaving a pair unmatched; infinite: as many pairs as possible, then the cheapest
};

struct Matches {
    Column<std::int64_t> truth;  // row numbers in the input
    Column<std::int64_t> pred;
    Column<double> distance;  // over all coordinates
};

// Matches the points of every frame one to one, frame by frame, in order of the true rows within each. Ties go to the
// lower true row, then to the lower predicted one. The clouds have two or three coordinates. Throws Interrupted.
Matches match_frames(const Cloud& truth, const Cloud& pred, int dim, Gate gate, MatchRule rule, int threads,
                     const std::function<bool()>& should_stop);

}  // namespace flatmetric
