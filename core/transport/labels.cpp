#include "transport/labels.hpp"

#include <algorithm>

namespace flatmetric {

void Labels::reset(Index sources, Index targets, Crew& crew) {
    source_dist.resize(sources);
    target_dist.resize(targets);
    via_cell.resize(sources);
    via_source.resize(targets);
    const auto fill = [&](Column<double>& dist) {
        over_ranges(dist.size(), crew, [&](std::size_t begin, std::size_t end) {
            std::fill(dist.data() + begin, dist.data() + end, kInfinity);
        });
    };
    fill(source_dist);
    fill(target_dist);
}

}  // namespace flatmetric
