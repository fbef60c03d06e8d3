#pragma once

#include <limits>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"
#include "transport/plan.hpp"

namespace flatmetric {

// What searches note about each point. Threads share it, each for points of its own.
class Labels {
public:
    struct Via {
        Index source;
        double step;
    };
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    // The distance of each reached point, and how it was reached.
    Column<double> source_dist;
    Column<double> target_dist;
    Column<Cell*> via_cell;
    Column<Via> via_source;

    void reset(Index sources, Index targets, Crew& crew);
};

}  // namespace flatmetric
