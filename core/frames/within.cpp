#include "frames/within.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "geometry/kdtree.hpp"
#include "support/parallel.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;
constexpr std::size_t kPairsWorthTree = std::size_t{1} << 14;

template <int D>
bool any_within(const double* at, Points<D> others, double squared_reach) {
    for (Index j = 0; j < others.n; ++j) {
        double squared = 0.0;
        for (int k = 0; k < D; ++k) squared += (others[j][k] - at[k]) * (others[j][k] - at[k]);
        if (squared <= squared_reach) return true;
    }
    return false;
}

template <int D>
Column<std::uint8_t> search(const Cloud& points, const Cloud& others, double reach, int threads, const std::function<bool()>& should_stop) {
    const Ordered ordered(points, D);
    const Ordered ordered_others(others, D);
    const std::vector<Frame> frames = list_frames(ordered, ordered_others);
    Column<std::uint8_t> found(static_cast<std::size_t>(points.n));
    const double squared_reach = reach * reach;
    parallel_for((frames.size() + kFramesAtATime - 1) / kFramesAtATime, threads, should_stop, [&](std::size_t run, int, Interrupt& interrupt) {
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t f = run * kFramesAtATime; f < end; ++f) {
            const Frame& frame = frames[f];
            const Points<D> here = ordered.cloud.points<D>(D, frame.truth_begin, frame.truth_end);
            const Points<D> there = ordered_others.cloud.points<D>(D, frame.pred_begin, frame.pred_end);
            const std::size_t pairs = static_cast<std::size_t>(here.n) * static_cast<std::size_t>(there.n);
            KdTree<D> tree;
            if (pairs > kPairsWorthTree) tree.build(there, interrupt);
            for (Index i = 0; i < here.n; ++i) {
                const bool near = pairs > kPairsWorthTree ? tree.least_squared(here[i]) <= squared_reach : any_within<D>(here[i], there, squared_reach);
                found[ordered.original(frame.truth_begin + i)] = near ? 1 : 0;
            }
        }
    });
    return found;
}

}  // namespace

Column<std::uint8_t> within_reach(const Cloud& points, const Cloud& others, int dim, double reach, int threads,
                                  const std::function<bool()>& should_stop) {
    return dim == 2 ? search<2>(points, others, reach, threads, should_stop) : search<3>(points, others, reach, threads, should_stop);
}

}  // namespace flatmetric
