#include "frames/curve.hpp"

#include <algorithm>
#include <functional>
#include <vector>

#include "support/magnitude.hpp"
#include "support/parallel.hpp"
#include "transport/lam_simplex.hpp"
#include "transport/lam_sweep.hpp"
#include "transport/measure.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 16;  // taken by a thread at a time; a curve costs more than a solve

bool has_equal_masses(const Measure& measure) {
    return measure.mass == nullptr || std::adjacent_find(measure.mass, measure.mass + measure.points.n,
                                                         std::not_equal_to<>()) == measure.mass + measure.points.n;
}

// What a thread follows frames with.
template <int D>
struct Follower {
    LamSweep<D> sweep;
    LamSimplex<D> simplex;
};

// Adds what one frame contributes to the curve.
template <int D>
void follow_frame(const Measure& truth, const Measure& pred, double lam_max, Follower<D>& follower, Curve& curve,
                  Interrupt& interrupt) {
    const double truth_mass = truth.total();
    const double pred_mass = pred.total();
    // From the side with less mass, since the sweep has to carry on where mass stays.
    const bool from_pred = pred_mass < truth_mass;
    const Measure& from = from_pred ? pred : truth;
    const Measure& to = from_pred ? truth : pred;
    const auto moved = [&](double length, double mass) {
        if (!(length > 0.0)) return;
        curve.breakpoint.push_back(length / 2.0);
        curve.fall.push_back(2.0 * mass);
    };
    curve.slope_at_end += has_equal_masses(truth) && has_equal_masses(pred)
                              ? follower.sweep.sweep(from, to, 2.0 * lam_max, interrupt, moved)
                              : follower.simplex.sweep(from, to, 2.0 * lam_max, interrupt, moved);
}

template <int D>
Curve follow(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads,
             const std::function<bool()>& should_stop) {
    Team team(threads, should_stop);
    const Ordered ordered_truth(truth, dim, team, kLargest);
    const Ordered ordered_pred(pred, dim, team, kLargest);
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred, team);
    std::vector<Curve> curves((frames.size() + kFramesAtATime - 1) / kFramesAtATime);
    team.run(curves.size(), [&](std::size_t run, int, Interrupt& interrupt) {
        Follower<D> follower;
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            const Frame& frame = frames[k];
            follow_frame(ordered_truth.cloud.measure(dim, frame.truth_begin, frame.truth_end),
                         ordered_pred.cloud.measure(dim, frame.pred_begin, frame.pred_end), lam_max, follower,
                         curves[run], interrupt);
        }
    });
    Curve curve;
    for (const Curve& part : curves) {
        curve.slope_at_end += part.slope_at_end;
        curve.breakpoint.insert(curve.breakpoint.end(), part.breakpoint.begin(), part.breakpoint.end());
        curve.fall.insert(curve.fall.end(), part.fall.begin(), part.fall.end());
    }
    return curve;
}

}  // namespace

Curve follow_lam(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads,
                 const std::function<bool()>& should_stop) {
    switch (dim) {
        case 2:
            return follow<2>(truth, pred, dim, lam_max, threads, should_stop);
        case 3:
            return follow<3>(truth, pred, dim, lam_max, threads, should_stop);
        default:
            return follow<0>(truth, pred, dim, lam_max, threads, should_stop);
    }
}

}  // namespace flatmetric
