#include "matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "along_x.hpp"
#include "kdtree.hpp"
#include "together.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;
constexpr std::size_t kPairsWorthSorting = 200;
constexpr std::size_t kPairsWorthATree = std::size_t{1} << 16;

struct Candidate {
    double distance;
    Index truth;
    Index pred;
};

bool nearer(const Candidate& a, const Candidate& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.truth != b.truth ? a.truth < b.truth : a.pred < b.pred;
}

// A cost to be compared first by the number of points left alone at an infinite price, then by length.
struct Cost {
    std::int64_t left;
    double length;
};
Cost operator+(Cost a, Cost b) { return {a.left + b.left, a.length + b.length}; }
Cost operator-(Cost a, Cost b) { return {a.left - b.left, a.length - b.length}; }
bool operator<(Cost a, Cost b) { return a.left != b.left ? a.left < b.left : a.length < b.length; }

// Works on one frame at a time and keeps its memory.
class FrameMatcher {
public:
    FrameMatcher(int dim, Gate gate, MatchRule rule)
        : dim_(dim), gate_(gate), squared_gate_(gate.lateral * gate.lateral * (1 + 1e-9)), rule_(rule) {}

    // The rows of one frame; answers with pairs in order of truth.
    const std::vector<Candidate>& match(const double* truth, Index n, const double* pred, Index m, Interrupt& interrupt) {
        matched_.clear();
        if (n == 0 || m == 0) return matched_;
        list_candidates(truth, n, pred, m, interrupt);
        if (rule_.greedy) {
            take_nearest_first(n, m);
        } else {
            take_cheapest(n, m, interrupt);
        }
        std::sort(matched_.begin(), matched_.end(), [](const Candidate& a, const Candidate& b) { return a.truth < b.truth; });
        return matched_;
    }

private:
    void consider(const double* a, const double* b, Index i, Index j) {
        const double dx = b[0] - a[0];
        const double dy = b[1] - a[1];
        double squared = dx * dx + dy * dy;
        // Most pairs are far beyond the gate; the root decides only near it.
        if (squared > squared_gate_ || !(std::sqrt(squared) <= gate_.lateral)) return;
        if (dim_ == 3) {
            const double dz = b[2] - a[2];
            if (!(std::abs(dz) <= gate_.axial)) return;
            squared += dz * dz;
        }
        candidates_.push_back({std::sqrt(squared), i, j});
    }

    void list_candidates(const double* truth, Index n, const double* pred, Index m, Interrupt& interrupt) {
        candidates_.clear();
        const std::size_t pairs = static_cast<std::size_t>(n) * static_cast<std::size_t>(m);
        if (pairs <= kPairsWorthSorting) {
            for (Index i = 0; i < n; ++i) {
                for (Index j = 0; j < m; ++j) consider(truth + i * dim_, pred + j * dim_, i, j);
            }
            return;
        }
        if (pairs <= kPairsWorthATree) {
            if (dim_ == 2) {
                list_along_x(truth_along_2_, pred_along_2_, truth, n, pred, m);
            } else {
                list_along_x(truth_along_3_, pred_along_3_, truth, n, pred, m);
            }
            return;
        }
        lateral_.resize(2 * static_cast<std::size_t>(m));
        for (Index j = 0; j < m; ++j) std::copy_n(pred + static_cast<std::size_t>(j) * dim_, 2, lateral_.data() + 2 * static_cast<std::size_t>(j));
        tree_.build({lateral_.data(), m, 2}, interrupt);
        // A little further than the gate, which `consider` then applies to the last bit.
        const double reach = gate_.lateral * (1 + 1e-9);
        for (Index i = 0; i < n; ++i) {
            interrupt.tick();
            const double* const point = truth + static_cast<std::size_t>(i) * dim_;
            tree_.nearest(point, reach, m, near_);
            for (const Neighbour& neighbour : near_) {
                const Index j = tree_.original(neighbour.point);
                consider(point, pred + static_cast<std::size_t>(j) * dim_, i, j);
            }
        }
    }

    template <int D>
    void list_along_x(AlongX<D>& truth_along, AlongX<D>& pred_along, const double* truth, Index n, const double* pred, Index m) {
        truth_along.sort(truth, n);
        pred_along.sort(pred, m);
        const double reach = gate_.lateral * (1 + 1e-9);
        Index first = 0;
        for (Index i = 0; i < n; ++i) {
            const auto& here = truth_along[i];
            while (first < m && pred_along[first].c[0] < here.c[0] - reach) ++first;
            for (Index j = first; j < m && pred_along[j].c[0] <= here.c[0] + reach; ++j) {
                consider(here.c, pred_along[j].c, here.id, pred_along[j].id);
            }
        }
    }

    void take_nearest_first(Index n, Index m) {
        std::sort(candidates_.begin(), candidates_.end(), nearer);
        truth_taken_.assign(n, 0);
        pred_taken_.assign(m, 0);
        for (const Candidate& candidate : candidates_) {
            if (truth_taken_[candidate.truth] || pred_taken_[candidate.pred]) continue;
            truth_taken_[candidate.truth] = pred_taken_[candidate.pred] = 1;
            matched_.push_back(candidate);
        }
    }

    // Shortest augmenting paths: each true point in turn is matched to the found point that costs least after all
    // rearrangements, or somebody on the way is left alone for the price. Node potentials keep the costs non-negative.
    void take_cheapest(Index n, Index m, Interrupt& interrupt) {
        std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return a.truth != b.truth ? a.truth < b.truth : nearer(a, b);
        });
        row_begin_.assign(n + 1, 0);
        for (const Candidate& candidate : candidates_) ++row_begin_[candidate.truth + 1];
        for (Index i = 0; i < n; ++i) row_begin_[i + 1] += row_begin_[i];
        partner_of_truth_.assign(n, kNone);
        partner_of_pred_.assign(m, kNone);
        truth_potential_.assign(n, Cost{0, 0.0});
        pred_potential_.assign(m, Cost{0, 0.0});
        path_.assign(m, Cost{0, 0.0});
        from_.assign(m, kNone);
        state_.assign(m, kUnseen);
        for (Index i = 0; i < n; ++i) {
            interrupt.tick();
            if (row_begin_[i] < row_begin_[i + 1]) insert(i);
        }
        for (const Candidate& candidate : candidates_) {
            if (partner_of_truth_[candidate.truth] == candidate.pred) matched_.push_back(candidate);
        }
    }

    Cost cost_of(const Candidate& candidate) const {
        return {0, rule_.power == 1.0 ? candidate.distance : std::pow(candidate.distance, rule_.power)};
    }

    void insert(Index start) {
        const Cost price = std::isinf(rule_.price) ? Cost{1, 0.0} : Cost{0, rule_.price};
        touched_.clear();
        settled_.clear();
        while (!queue_.empty()) queue_.pop();
        Cost leaving{std::numeric_limits<std::int64_t>::max() / 4, 0.0};  // the cheapest way to leave somebody alone
        Index left_alone = kNone;
        Index row = start;
        Cost here{0, 0.0};
        Index free = kNone;
        Cost total{0, 0.0};
        for (;;) {
            if (const Cost alone = here + price - truth_potential_[row]; alone < leaving) {
                leaving = alone;
                left_alone = row;
            }
            for (std::size_t k = row_begin_[row]; k < row_begin_[row + 1]; ++k) {
                const Candidate& candidate = candidates_[k];
                const Index j = candidate.pred;
                if (state_[j] == kSettled) continue;
                const Cost at = here + cost_of(candidate) - truth_potential_[row] - pred_potential_[j];
                if (state_[j] == kSeen && !(at < path_[j])) continue;
                if (state_[j] == kUnseen) touched_.push_back(j);
                state_[j] = kSeen;
                path_[j] = at;
                from_[j] = row;
                queue_.push({at, j});
            }
            while (!queue_.empty() && (state_[queue_.top().pred] == kSettled || path_[queue_.top().pred] < queue_.top().at)) queue_.pop();
            if (queue_.empty() || !(queue_.top().at < leaving)) {
                total = leaving;
                break;
            }
            const Index j = queue_.top().pred;
            here = queue_.top().at;
            queue_.pop();
            if (partner_of_pred_[j] == kNone) {
                free = j;
                total = here;
                break;
            }
            state_[j] = kSettled;
            settled_.push_back(j);
            row = partner_of_pred_[j];
        }
        raise_potentials(start, total);
        rearrange(start, free, left_alone);
        for (const Index j : touched_) state_[j] = kUnseen;
    }

    void raise_potentials(Index start, Cost total) {
        truth_potential_[start] = truth_potential_[start] + total;
        for (const Index j : settled_) {
            const Cost rise = total - path_[j];
            pred_potential_[j] = pred_potential_[j] - rise;
            truth_potential_[partner_of_pred_[j]] = truth_potential_[partner_of_pred_[j]] + rise;
        }
    }

    // Along the path from `start`, everybody takes the next found point; it ends in a free one, or in the row left alone.
    void rearrange(Index start, Index free, Index left_alone) {
        Index j = free;
        if (free == kNone) {
            if (left_alone == start) return;
            j = partner_of_truth_[left_alone];
            partner_of_truth_[left_alone] = kNone;
        }
        for (;;) {
            const Index row = from_[j];
            const Index before = partner_of_truth_[row];
            partner_of_truth_[row] = j;
            partner_of_pred_[j] = row;
            if (row == start) return;
            j = before;
        }
    }

    struct Entry {
        Cost at;
        Index pred;
    };
    struct Later {
        bool operator()(const Entry& a, const Entry& b) const { return b.at < a.at || (!(a.at < b.at) && b.pred < a.pred); }
    };
    enum State : char { kUnseen, kSeen, kSettled };

    int dim_;
    Gate gate_;
    double squared_gate_;
    MatchRule rule_;
    std::vector<Candidate> candidates_;
    std::vector<Candidate> matched_;
    std::vector<char> truth_taken_;
    std::vector<char> pred_taken_;
    AlongX<2> truth_along_2_;
    AlongX<2> pred_along_2_;
    AlongX<3> truth_along_3_;
    AlongX<3> pred_along_3_;
    std::vector<double> lateral_;
    KdTree<2> tree_;
    std::vector<Neighbour> near_;
    std::vector<std::size_t> row_begin_;
    std::vector<Index> partner_of_truth_;
    std::vector<Index> partner_of_pred_;
    std::vector<Cost> truth_potential_;
    std::vector<Cost> pred_potential_;
    std::vector<Cost> path_;
    std::vector<Index> from_;
    std::vector<State> state_;
    std::vector<Index> touched_;
    std::vector<Index> settled_;
    std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
};

}  // namespace

Matches match_frames(const Cloud& truth, const Cloud& pred, int dim, Gate gate, MatchRule rule, int threads,
                     const std::function<bool()>& asked_to_stop) {
    const Ordered ordered_truth(truth, dim);
    const Ordered ordered_pred(pred, dim);
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred);
    std::vector<std::vector<Candidate>> found((frames.size() + kFramesAtATime - 1) / kFramesAtATime);
    for_each_together(found.size(), threads, asked_to_stop, [&](std::size_t run, Interrupt& interrupt) {
        FrameMatcher matcher(dim, gate, rule);
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            const Frame& frame = frames[k];
            const double* const t = ordered_truth.cloud.coords + static_cast<std::size_t>(frame.truth_begin) * dim;
            const double* const p = ordered_pred.cloud.coords + static_cast<std::size_t>(frame.pred_begin) * dim;
            for (Candidate pair : matcher.match(t, frame.truth_end - frame.truth_begin, p, frame.pred_end - frame.pred_begin, interrupt)) {
                pair.truth = ordered_truth.original(frame.truth_begin + pair.truth);
                pair.pred = ordered_pred.original(frame.pred_begin + pair.pred);
                found[run].push_back(pair);
            }
        }
    });
    std::size_t count = 0;
    for (const auto& run : found) count += run.size();
    Matches matches;
    matches.truth.reserve(count);
    matches.pred.reserve(count);
    matches.distance.reserve(count);
    for (const auto& run : found) {
        for (const Candidate& pair : run) {
            matches.truth.push_back(pair.truth);
            matches.pred.push_back(pair.pred);
            matches.distance.push_back(pair.distance);
        }
    }
    return matches;
}

}  // namespace flatmetric
