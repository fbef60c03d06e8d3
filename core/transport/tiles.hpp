#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/parallel.hpp"
#include "transport/instance.hpp"

namespace flatmetric {

// How a large problem is cut: the targets by the nodes of one level of their tree, the tiles, and each source to the
// tile that it lies deepest in. The cut depends on the points alone, never on the number of threads.
template <int D>
class Tiles {
public:
    struct Source {
        Index x;
        double margin;  // no target outside the tile is closer
    };

    // Tiles of at most `most` targets, as long as the tree is deep enough.
    void cut(const Instance<D>& instance, Index most, Crew& crew) {
        const auto& tree = instance.target.tree;
        levels_ = 0;
        while (levels_ < tree.levels() && (instance.target.points.n >> levels_) > most) ++levels_;
        const auto sources = static_cast<std::size_t>(instance.source.points.n);
        const std::size_t ranges = (sources + kRange - 1) / kRange;
        tile_of_.resize(sources);
        margin_.resize(sources);
        sources_.resize(sources);
        std::vector<std::vector<Index>> place(ranges);  // of each range's next source, by tile
        crew.run(ranges, [&](std::size_t r, int, Interrupt&) {
            place[r].assign(count(), 0);
            for (std::size_t x = r * kRange; x < std::min(sources, (r + 1) * kRange); ++x) {
                const auto [tile, margin] = tree.home(levels_, instance.source.points[static_cast<Index>(x)]);
                tile_of_[x] = static_cast<Index>(tile);
                margin_[x] = margin;
                ++place[r][tile];
            }
        });
        begin_.assign(count() + 1, 0);
        Index at = 0;
        for (std::size_t tile = 0; tile < count(); ++tile) {
            begin_[tile] = at;
            for (std::size_t r = 0; r < ranges; ++r) {
                const Index here = place[r][tile];
                place[r][tile] = at;
                at += here;
            }
        }
        begin_.back() = at;
        crew.run(ranges, [&](std::size_t r, int, Interrupt&) {
            for (std::size_t x = r * kRange; x < std::min(sources, (r + 1) * kRange); ++x) {
                sources_[place[r][tile_of_[x]]++] = {static_cast<Index>(x), margin_[x]};
            }
        });
    }

    // Level 0 is the whole problem, and each node of a level joins two of the next; the tiles are the nodes of the last
    // level.
    int levels() const { return levels_; }

    // The sources of the k-th node of a level, in ascending order within each tile.
    const Source* begin(int level, std::size_t k) const { return sources_.data() + begin_[k << (levels_ - level)]; }
    const Source* end(int level, std::size_t k) const { return begin(level, k + 1); }

    // Whether a source belongs to it.
    bool holds(int level, std::size_t k, Index x) const {
        return static_cast<std::size_t>(tile_of_[x]) >> (levels_ - level) == k;
    }

private:
    std::size_t count() const { return std::size_t{1} << levels_; }

    int levels_ = 0;
    Column<Index> tile_of_;
    Column<double> margin_;
    Column<Source> sources_;
    std::vector<Index> begin_;
};

}  // namespace flatmetric
