#include "frames/curve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "geometry/kdtree.hpp"
#include "support/parallel.hpp"
#include "transport/flat_metric.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 16;
constexpr std::size_t kPairsWorthATree = std::size_t{1} << 16;
constexpr double kFirstLam = 0x1p-40;  // relative to lam_max: points closer than twice this count as coincident
constexpr double kRounding = 1e-12;    // relative; lines that differ by less are one

// The cost of one plan as a function of lam: a fixed cost of moving, plus lam for each unit of mass left.
struct Line {
    double displaced;
    double left;  // mass
    double at(double lam) const { return displaced + left * lam; }
};

// Connected components of the points, linked by pairs within reach.
class Groups {
public:
    void reset(Index n) {
        parent_.resize(n);
        std::iota(parent_.begin(), parent_.end(), 0);
    }
    Index find(Index i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(Index i, Index j) {
        i = find(i);
        j = find(j);
        parent_[std::max(i, j)] = std::min(i, j);
    }

private:
    std::vector<Index> parent_;
};

template <int D>
class Follower {
public:
    Follower(int dim, double lam_max) : dim_(dim), lam_max_(lam_max) {}

    void follow(const Cloud& truth, const Cloud& pred, const Frame& frame, Curve& curve, Interrupt& interrupt) {
        const auto true_points = truth.points<D>(dim_, frame.truth_begin, frame.truth_end);
        const auto pred_points = pred.points<D>(dim_, frame.pred_begin, frame.pred_end);
        const double* const true_mass = truth.mass ? truth.mass + frame.truth_begin : nullptr;
        const double* const pred_mass = pred.mass ? pred.mass + frame.pred_begin : nullptr;
        connect(true_points, pred_points, interrupt);
        const Index n = true_points.n;
        order_.resize(n + pred_points.n);
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](Index a, Index b) { return root_[a] < root_[b]; });
        for (std::size_t begin = 0, end = 0; begin < order_.size(); begin = end) {
            sides_[0].clear();
            sides_[1].clear();
            for (end = begin; end < order_.size() && root_[order_[end]] == root_[order_[begin]]; ++end) {
                const Index i = order_[end];
                if (i < n) {
                    sides_[0].add(true_points[i], dim_, true_mass ? true_mass[i] : 1.0);
                } else {
                    sides_[1].add(pred_points[i - n], dim_, pred_mass ? pred_mass[i - n] : 1.0);
                }
            }
            follow_group(curve, truth.mass != nullptr, interrupt);
        }
    }

private:
    struct Side {
        std::vector<double> coords;
        std::vector<double> mass;
        std::vector<double> potential;
        void clear() {
            coords.clear();
            mass.clear();
        }
        void add(const double* point, int dim, double weight) {
            coords.insert(coords.end(), point, point + dim);
            mass.push_back(weight);
        }
        Index n() const { return static_cast<Index>(mass.size()); }
    };

    void connect(const Points<D>& truth, const Points<D>& pred, Interrupt& interrupt) {
        const Index n = truth.n;
        groups_.reset(n + pred.n);
        const double reach = 2 * lam_max_;
        if (static_cast<std::size_t>(n) * static_cast<std::size_t>(pred.n) <= kPairsWorthATree) {
            for (Index i = 0; i < n; ++i) {
                for (Index j = 0; j < pred.n; ++j) {
                    if (squared_distance<D>(truth[i], pred[j], dim_) < reach * reach) groups_.join(i, n + j);
                }
            }
        } else {
            tree_.build(pred, interrupt);
            for (Index i = 0; i < n; ++i) {
                interrupt.tick();
                tree_.nearest(truth[i], reach, pred.n, near_);
                for (const Neighbour& neighbour : near_) groups_.join(i, n + tree_.original(neighbour.point));
            }
        }
        root_.resize(n + pred.n);
        for (Index i = 0; i < n + pred.n; ++i) root_[i] = groups_.find(i);
    }

    void follow_group(Curve& curve, bool weighted, Interrupt& interrupt) {
        double mass = 0.0;
        for (const Side& side : sides_) mass += std::accumulate(side.mass.begin(), side.mass.end(), 0.0);
        if (sides_[0].n() == 0 || sides_[1].n() == 0) {
            curve.slope_at_zero += mass;
            return;
        }
        weighted_ = weighted;
        const double first = lam_max_ * kFirstLam;
        const Line start = solve(first, interrupt);
        curve.slope_at_zero += start.left;
        between(start, first, solve(lam_max_, interrupt), lam_max_, curve, interrupt);
    }

    // The lower envelope of all plans' lines between two lams whose optimal lines are known: where these two meet, either
    // nothing is lower and that is the only breakpoint, or a new line splits the range in two.
    void between(Line left, double left_lam, Line right, double right_lam, Curve& curve, Interrupt& interrupt) {
        if (!(left.left - right.left > kRounding * std::abs(left.left))) return;
        const double meeting = std::clamp((right.displaced - left.displaced) / (left.left - right.left), left_lam, right_lam);
        const Line here = solve(meeting, interrupt);
        const bool new_line = here.at(meeting) < left.at(meeting) * (1 - kRounding) && here.left < left.left * (1 - kRounding) &&
                              here.left > right.left + kRounding * std::abs(left.left);
        if (!new_line) {
            curve.breakpoint.push_back(meeting);
            curve.change.push_back(right.left - left.left);
            return;
        }
        between(left, left_lam, here, meeting, curve, interrupt);
        between(here, meeting, right, right_lam, curve, interrupt);
    }

    Line solve(double lam, Interrupt& interrupt) {
        interrupt.tick();
        Measure<D> measures[2];
        for (int s = 0; s < 2; ++s) {
            sides_[s].potential.resize(sides_[s].mass.size());
            measures[s] = {{sides_[s].coords.data(), sides_[s].n(), dim_}, weighted_ ? sides_[s].mass.data() : nullptr};
        }
        pairs_.resize(0, false);
        const auto same = [](Index i) { return i; };
        const Parts parts = solver_.solve(measures[0], measures[1], lam, Method::automatic, sides_[0].potential.data(),
                                          sides_[1].potential.data(), same, same, pairs_, interrupt);
        const double left = (parts.missed + parts.false_) / lam;
        return {parts.displaced, weighted_ ? left : std::round(left)};
    }

    int dim_;
    double lam_max_;
    bool weighted_ = false;
    FlatMetric<D> solver_;
    Pairs pairs_;
    Side sides_[2];
    Groups groups_;
    std::vector<Index> root_;
    std::vector<Index> order_;
    KdTree<D> tree_;
    std::vector<Neighbour> near_;
};

template <int D>
Curve follow(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads, const std::function<bool()>& should_stop) {
    Team team(threads, should_stop);
    const Ordered ordered_truth(truth, dim, team);
    const Ordered ordered_pred(pred, dim, team);
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred, team);
    std::vector<Curve> curves((frames.size() + kFramesAtATime - 1) / kFramesAtATime);
    team.run(curves.size(), [&](std::size_t run, int, Interrupt& interrupt) {
        Follower<D> follower(dim, lam_max);
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            follower.follow(ordered_truth.cloud, ordered_pred.cloud, frames[k], curves[run], interrupt);
        }
    });
    Curve curve;
    for (const Curve& part : curves) {
        curve.slope_at_zero += part.slope_at_zero;
        curve.breakpoint.insert(curve.breakpoint.end(), part.breakpoint.begin(), part.breakpoint.end());
        curve.change.insert(curve.change.end(), part.change.begin(), part.change.end());
    }
    return curve;
}

}  // namespace

Curve follow_lam(const Cloud& truth, const Cloud& pred, int dim, double lam_max, int threads, const std::function<bool()>& should_stop) {
    switch (dim) {
        case 1:
            return follow<1>(truth, pred, dim, lam_max, threads, should_stop);
        case 2:
            return follow<2>(truth, pred, dim, lam_max, threads, should_stop);
        case 3:
            return follow<3>(truth, pred, dim, lam_max, threads, should_stop);
        default:
            return follow<0>(truth, pred, dim, lam_max, threads, should_stop);
    }
}

}  // namespace flatmetric
