#include "frames/matching.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/grid.hpp"
#include "geometry/kdtree.hpp"
#include "support/parallel.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;    // taken by a thread at a time: enough work to outweigh asking
constexpr std::size_t kPairsWorthAGrid = 64;  // below, all pairs are faster
constexpr std::size_t kPairsWorthATree = std::size_t{1} << 16;  // below, a grid is faster
constexpr std::size_t kAhead = 6;                               // partners that a true point knows of at a time
constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Candidate {
    double distance;
    Index truth;
    Index pred;
};

bool nearer(const Candidate& a, const Candidate& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.truth != b.truth ? a.truth < b.truth : a.pred < b.pred;
}

// A cost to be compared first by the number of points left unmatched at an infinite price, then by length.
struct Cost {
    std::int64_t left;
    double length;
};
Cost operator+(Cost a, Cost b) { return {a.left + b.left, a.length + b.length}; }
Cost operator-(Cost a, Cost b) { return {a.left - b.left, a.length - b.length}; }
bool operator<(Cost a, Cost b) { return a.left != b.left ? a.left < b.left : a.length < b.length; }

// Matches one frame at a time and reuses its buffers.
template <int D>
class FrameMatcher {
public:
    FrameMatcher(Gate gate, MatchRule rule)
        : gate_(gate),
          reach_(gate.lateral * (1 + 1e-9)),
          squared_reach_(reach_ * reach_),
          rule_(rule) {}

    // Matches the rows of one frame; returns pairs in order of truth.
    const std::vector<Candidate>& match(Points<D> truth, Points<D> pred, Interrupt& interrupt) {
        matched_.clear();
        if (truth.n == 0 || pred.n == 0) return matched_;
        if (rule_.greedy && is_worth_a_tree(truth, pred)) {
            take_nearest_as_needed(truth, pred, interrupt);
            return matched_;
        }
        list_candidates(truth, pred, interrupt);
        if (rule_.greedy) {
            take_nearest_first(truth.n, pred.n);
        } else {
            take_cheapest(truth.n, pred.n, interrupt);
        }
        return matched_;
    }

private:
    static bool is_worth_a_tree(Points<D> truth, Points<D> pred) {
        return static_cast<std::size_t>(truth.n) * static_cast<std::size_t>(pred.n) > kPairsWorthATree;
    }

    // The distance of a pair that may be matched; infinite for others.
    double gated(const double* a, const double* b) const {
        const double dx = b[0] - a[0];
        const double dy = b[1] - a[1];
        double squared = dx * dx + dy * dy;
        // Most pairs are far beyond the gate; the root decides only near it.
        if (squared > squared_reach_ || !(std::sqrt(squared) <= gate_.lateral)) return kInfinite;
        if constexpr (D == 3) {
            const double dz = b[2] - a[2];
            if (!(std::abs(dz) <= gate_.axial)) return kInfinite;
            squared += dz * dz;
        }
        return std::sqrt(squared);
    }

    void consider(const double* a, const double* b, Index i, Index j) {
        const double distance = gated(a, b);
        if (distance < kInfinite) candidates_.push_back({distance, i, j});
    }

    // The searches reach slightly beyond the gate, which `consider` then applies exactly.
    void list_candidates(Points<D> truth, Points<D> pred, Interrupt& interrupt) {
        candidates_.clear();
        if (static_cast<std::size_t>(truth.n) * static_cast<std::size_t>(pred.n) <= kPairsWorthAGrid) {
            for (Index i = 0; i < truth.n; ++i) {
                for (Index j = 0; j < pred.n; ++j) consider(truth[i], pred[j], i, j);
            }
        } else if (!is_worth_a_tree(truth, pred)) {
            grid_.build(pred, Box<D>::around(pred), reach_);
            for (Index i = 0; i < truth.n; ++i) {
                grid_.visit_near(truth[i], [&](Index j, double) { consider(truth[i], pred[j], i, j); });
            }
        } else {
            lateral_.resize(2 * static_cast<std::size_t>(pred.n));
            for (Index j = 0; j < pred.n; ++j)
                std::copy_n(pred[j], 2, lateral_.data() + 2 * static_cast<std::size_t>(j));
            tree_.build({lateral_.data(), pred.n, 2}, interrupt);
            for (Index i = 0; i < truth.n; ++i) {
                interrupt.tick();
                tree_.nearest(truth[i], reach_, pred.n, near_);
                for (const Neighbour& neighbour : near_) {
                    const Index j = tree_.original(neighbour.point);
                    consider(truth[i], pred[j], i, j);
                }
            }
        }
    }

    // Uncontested pairs need no sorting.
    void take_nearest_first(Index n, Index m) {
        truth_wanted_.assign(n, 0);
        pred_wanted_.assign(m, 0);
        for (const Candidate& candidate : candidates_) {
            ++truth_wanted_[candidate.truth];
            ++pred_wanted_[candidate.pred];
        }
        taken_by_.assign(n, Candidate{0.0, kNone, kNone});
        contested_.clear();
        for (const Candidate& candidate : candidates_) {
            if (truth_wanted_[candidate.truth] == 1 && pred_wanted_[candidate.pred] == 1) {
                taken_by_[candidate.truth] = candidate;
            } else {
                contested_.push_back(candidate);
            }
        }
        std::sort(contested_.begin(), contested_.end(), nearer);
        for (const Candidate& candidate : contested_) {
            if (taken_by_[candidate.truth].pred != kNone || pred_wanted_[candidate.pred] == 0) continue;
            taken_by_[candidate.truth] = candidate;
            pred_wanted_[candidate.pred] = 0;  // taken
        }
        for (const Candidate& candidate : taken_by_) {
            if (candidate.pred != kNone) matched_.push_back(candidate);
        }
    }

    // The same without a list of all pairs, which a crowded frame has too many of: every true point knows a few of its
    // nearest free partners, a heap knows whose turn it is, and those who run out of partners ask again.
    void take_nearest_as_needed(Points<D> truth, Points<D> pred, Interrupt& interrupt) {
        free_.resize(pred.n);
        std::iota(free_.begin(), free_.end(), Index{0});
        pred_wanted_.assign(pred.n, 1);
        taken_by_.assign(truth.n, Candidate{0.0, kNone, kNone});
        ahead_.resize(kAhead * static_cast<std::size_t>(truth.n));
        ahead_left_.assign(truth.n, 0);
        build_of_free(pred, interrupt);
        std::priority_queue<Candidate, std::vector<Candidate>, Further> turns;
        for (Index i = 0; i < truth.n; ++i) {
            interrupt.tick();
            if (ask(truth, pred, i)) turns.push(next_of(i));
        }
        Index left = pred.n;
        while (!turns.empty()) {
            interrupt.tick();
            const Candidate best = turns.top();
            turns.pop();
            if (pred_wanted_[best.pred] != 0) {
                taken_by_[best.truth] = best;
                pred_wanted_[best.pred] = 0;
                --left;
                continue;
            }
            if (2 * static_cast<std::size_t>(left) < free_.size()) build_of_free(pred, interrupt);
            if (has_next(best.truth) || ask(truth, pred, best.truth)) turns.push(next_of(best.truth));
        }
        for (const Candidate& candidate : taken_by_) {
            if (candidate.pred != kNone) matched_.push_back(candidate);
        }
    }

    struct Further {
        bool operator()(const Candidate& a, const Candidate& b) const { return nearer(b, a); }
    };

    // A tree of the predicted points that nobody has taken.
    void build_of_free(Points<D> pred, Interrupt& interrupt) {
        free_.erase(std::remove_if(free_.begin(), free_.end(), [&](Index j) { return pred_wanted_[j] == 0; }),
                    free_.end());
        free_coords_.resize(D * free_.size());
        for (std::size_t k = 0; k < free_.size(); ++k) std::copy_n(pred[free_[k]], D, free_coords_.data() + D * k);
        free_tree_.build({free_coords_.data(), static_cast<Index>(free_.size()), D}, interrupt);
    }

    // The next partners of a true point, the last first; `ahead_left_` says how many there are.
    bool has_next(Index i) {
        while (ahead_left_[i] > 0 && pred_wanted_[next_of(i).pred] == 0) --ahead_left_[i];
        return ahead_left_[i] > 0;
    }
    const Candidate& next_of(Index i) const {
        return ahead_[kAhead * static_cast<std::size_t>(i) + ahead_left_[i] - 1];
    }

    // Finds the nearest free partners of a true point; false if it has none.
    bool ask(Points<D> truth, Points<D> pred, Index i) {
        const double reach = D == 3 ? std::hypot(reach_, gate_.axial) * (1 + 1e-9) : reach_;
        for (std::size_t wanted = 2 * kAhead;; wanted *= 4) {
            const double horizon = free_tree_.nearest(truth[i], reach, wanted, near_);
            candidates_.clear();
            for (const Neighbour& neighbour : near_) {
                // At the horizon there may be more, and of equally near ones the lowest comes first.
                if (!(neighbour.distance < horizon * (1 - 1e-12)) && horizon < reach) break;
                const Index j = free_[free_tree_.original(neighbour.point)];
                if (pred_wanted_[j] != 0) consider(truth[i], pred[j], i, j);
            }
            if (!candidates_.empty()) break;
            if (!(horizon < reach)) return false;
        }
        std::sort(candidates_.begin(), candidates_.end(), nearer);
        const std::size_t kept = std::min(kAhead, candidates_.size());
        std::reverse_copy(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(kept),
                          ahead_.begin() + static_cast<std::ptrdiff_t>(kAhead * static_cast<std::size_t>(i)));
        ahead_left_[i] = static_cast<Index>(kept);
        return true;
    }

    // Shortest augmenting paths: each true point in turn is matched to the predicted point that costs least after all
    // rearrangements, or a true point on the path is left unmatched at the price. Node potentials keep the costs
    // non-negative.
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
        Cost leaving{std::numeric_limits<std::int64_t>::max() / 4,
                     0.0};  // the cheapest way to leave one true point unmatched
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
            while (!queue_.empty() &&
                   (state_[queue_.top().pred] == kSettled || path_[queue_.top().pred] < queue_.top().at))
                queue_.pop();
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

    // Along the path from `start`, each row takes the next predicted point; it ends at a free one, or at the row left
    // alone.
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
        bool operator()(const Entry& a, const Entry& b) const {
            return b.at < a.at || (!(a.at < b.at) && b.pred < a.pred);
        }
    };
    enum State : char { kUnseen, kSeen, kSettled };

    Gate gate_;
    double reach_;
    double squared_reach_;
    MatchRule rule_;
    std::vector<Candidate> candidates_;
    std::vector<Candidate> matched_;
    std::vector<Index> truth_wanted_;
    std::vector<Index> pred_wanted_;
    std::vector<Candidate> contested_;
    std::vector<Candidate> taken_by_;
    Grid<D> grid_;
    std::vector<double> lateral_;
    KdTree<2> tree_;
    std::vector<Index> free_;
    std::vector<double> free_coords_;
    KdTree<D> free_tree_;
    std::vector<Candidate> ahead_;
    std::vector<Index> ahead_left_;
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

template <int D>
Matches match(const Cloud& truth, const Cloud& pred, Gate gate, MatchRule rule, int threads,
              const std::function<bool()>& should_stop) {
    Team team(threads, should_stop);
    const Ordered ordered_truth(truth, D, team, std::numeric_limits<double>::max());
    const Ordered ordered_pred(pred, D, team, std::numeric_limits<double>::max());
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred, team);
    // Each frame gets room for the most pairs it can have; the gaps are closed afterwards.
    std::vector<std::size_t> place(frames.size() + 1, 0);
    for (std::size_t k = 0; k < frames.size(); ++k) {
        place[k + 1] = place[k] + static_cast<std::size_t>(std::min(frames[k].truth_end - frames[k].truth_begin,
                                                                    frames[k].pred_end - frames[k].pred_begin));
    }
    std::vector<std::size_t> count(frames.size(), 0);
    Matches matches;
    matches.truth.resize(place.back());
    matches.pred.resize(place.back());
    matches.distance.resize(place.back());
    team.run((frames.size() + kFramesAtATime - 1) / kFramesAtATime, [&](std::size_t run, int, Interrupt& interrupt) {
        FrameMatcher<D> matcher(gate, rule);
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        for (std::size_t k = run * kFramesAtATime; k < end; ++k) {
            const Frame& frame = frames[k];
            const auto t = ordered_truth.cloud.points<D>(D, frame.truth_begin, frame.truth_end);
            const auto p = ordered_pred.cloud.points<D>(D, frame.pred_begin, frame.pred_end);
            std::size_t at = place[k];
            for (const Candidate& pair : matcher.match(t, p, interrupt)) {
                matches.truth[at] = ordered_truth.original(frame.truth_begin + pair.truth);
                matches.pred[at] = ordered_pred.original(frame.pred_begin + pair.pred);
                matches.distance[at] = pair.distance;
                ++at;
            }
            count[k] = at - place[k];
        }
    });
    const auto close_up = [&](auto& column) {
        std::size_t size = 0;
        for (std::size_t k = 0; k < frames.size(); ++k) {
            if (size != place[k]) std::copy_n(column.data() + place[k], count[k], column.data() + size);
            size += count[k];
        }
        column.resize(size);
    };
    close_up(matches.truth);
    close_up(matches.pred);
    close_up(matches.distance);
    return matches;
}

}  // namespace

Matches match_frames(const Cloud& truth, const Cloud& pred, int dim, Gate gate, MatchRule rule, int threads,
                     const std::function<bool()>& should_stop) {
    return dim == 2 ? match<2>(truth, pred, gate, rule, threads, should_stop)
                    : match<3>(truth, pred, gate, rule, threads, should_stop);
}

}  // namespace flatmetric
