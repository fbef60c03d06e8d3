#include "frames/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "geometry/kdtree.hpp"
#include "support/parallel.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;  // taken by a thread at a time: enough work to outweigh asking
constexpr std::size_t kPairsWorthTree = std::size_t{1} << 14;  // below, all pairs are faster than a tree
constexpr Index kNobody = -1;

struct Best {
    double squared;
    Index point = kNobody;

    void offer(double candidate, Index j) {
        if (candidate < squared || (candidate == squared && point != kNobody && j < point)) {
            squared = candidate;
            point = j;
        }
    }
};

template <int D>
double squared_distance(const double* a, const double* b) {
    double squared = 0.0;
    for (int k = 0; k < D; ++k) squared += (a[k] - b[k]) * (a[k] - b[k]);
    return squared;
}

// The points of one frame, looked up one by one or in a tree where they are many.
template <int D>
class Frameful {
public:
    Frameful(Points<D> others, std::size_t pairs, Interrupt& interrupt)
        : others_(others),
          treed_(pairs > kPairsWorthTree) {
        if (treed_) tree_.build(others, interrupt);
    }

    Best nearest(const double* q, double reach, Index itself) {
        Best best{reach * reach};
        if (!treed_) {
            for (Index j = 0; j < others_.n; ++j) {
                if (j != itself) best.offer(squared_distance<D>(q, others_[j]), j);
            }
            return best;
        }
        // At one place there may be many points; then all of them are asked for.
        for (std::size_t wanted = 4;; wanted *= 4) {
            tree_.nearest(q, reach, wanted, found_);
            for (const Neighbour& one : found_) {
                const Index j = tree_.original(one.point);
                if (j != itself) best.offer(squared_distance<D>(q, others_[j]), j);
            }
            const bool more = found_.size() >= wanted;
            if (!more || (best.point != kNobody && best.squared < found_.back().distance * found_.back().distance))
                return best;
        }
    }

private:
    Points<D> others_;
    bool treed_;
    KdTree<D> tree_;
    std::vector<Neighbour> found_;
};

template <int D>
Neighbours search(const Cloud& points, const Cloud& others, double reach, bool apart, int threads,
                  const std::function<bool()>& should_stop) {
    Team team(threads, should_stop);
    const Ordered ordered(points, D, team, std::numeric_limits<double>::max());
    const Ordered ordered_others(others, D, team, std::numeric_limits<double>::max());
    const std::vector<Frame> frames = list_frames(ordered, ordered_others, team);
    const auto size = static_cast<std::size_t>(points.n);
    Neighbours found{Column<double>(size), Column<std::int64_t>(size)};
    team.run((frames.size() + kFramesAtATime - 1) / kFramesAtATime, [&](std::size_t run, int, Interrupt& interrupt) {
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t f = run * kFramesAtATime; f < end; ++f) {
            const Frame& frame = frames[f];
            const Points<D> here = ordered.cloud.points<D>(D, frame.truth_begin, frame.truth_end);
            const Points<D> there = ordered_others.cloud.points<D>(D, frame.pred_begin, frame.pred_end);
            Frameful<D> frameful(there, static_cast<std::size_t>(here.n) * static_cast<std::size_t>(there.n),
                                 interrupt);
            for (Index i = 0; i < here.n; ++i) {
                const Best best = frameful.nearest(here[i], reach, apart ? i : kNobody);
                const std::size_t row = ordered.original(frame.truth_begin + i);
                const bool any = best.point != kNobody;
                found.distance[row] = any ? std::sqrt(best.squared) : std::numeric_limits<double>::infinity();
                found.row[row] =
                    any ? static_cast<std::int64_t>(ordered_others.original(frame.pred_begin + best.point)) : -1;
            }
        }
    });
    return found;
}

}  // namespace

Neighbours neighbours_in_frames(const Cloud& points, const Cloud& others, int dim, double reach, bool apart,
                                int threads, const std::function<bool()>& should_stop) {
    return dim == 2 ? search<2>(points, others, reach, apart, threads, should_stop)
                    : search<3>(points, others, reach, apart, threads, should_stop);
}

}  // namespace flatmetric
