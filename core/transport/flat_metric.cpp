#include "transport/flat_metric.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "support/exact.hpp"
#include "support/sums.hpp"

namespace flatmetric {
namespace {

// What is lost of a mass, 1e-16 of it, costs lam: less than 1e-12 of the value up to here, unless most mass stays
// put.
constexpr double kDearLam = 1e3;     // times the diameter
constexpr double kManyMasses = 1e8;  // times the least mass

double least_mass(const Measure& truth, const Measure& pred) {
    double least = std::numeric_limits<double>::infinity();
    for (const Measure* side : {&truth, &pred}) {
        for (Index i = 0; side->mass != nullptr && i < side->points.n; ++i) {
            if (side->mass[i] > 0.0) least = std::min(least, side->mass[i]);
        }
    }
    return least;
}

Parts solve_one_sided(const Measure& truth, const Measure& pred, double lam, double* truth_potential,
                      double* pred_potential) {
    const double level = std::isinf(lam) ? 0.0 : lam;
    std::fill_n(truth_potential, truth.points.n, level);
    std::fill_n(pred_potential, pred.points.n, -level);
    Parts parts;
    parts.missed = level * truth.total();
    parts.false_ = level * pred.total();
    parts.lower_bound = parts.missed + parts.false_;
    return parts;
}

}  // namespace

Parts FlatMetric::solve(const Measure& truth, const Measure& pred, double lam, Method method, double* truth_potential,
                        double* pred_potential, Crew& crew) {
    with_mass_ = false;
    pairs_.clear();
    if (truth.points.n == 0 || pred.points.n == 0)
        return solve_one_sided(truth, pred, lam, truth_potential, pred_potential);

    // Searches start from the side with less mass: the other keeps free points, prices stay low and searches short.
    const double truth_total = truth.total();
    const double pred_total = pred.total();
    const bool from_pred = pred_total < truth_total;
    const Measure& source = from_pred ? pred : truth;
    const Measure& target = from_pred ? truth : pred;
    const double source_total = std::min(truth_total, pred_total);
    const double target_total = std::max(truth_total, pred_total);

    // Beyond half the diameter every pair is worth moving and lam only prices the surplus of mass; capping
    // lam at the diameter keeps the plans, loses no digits, and covers lam = infinity.
    const double enough = transport_->enter(source, target, crew);
    const double effective = std::min(lam, enough > 0.0 ? enough : 1.0);
    // Shortest paths carry masses as doubles, the simplex with twice the digits.
    const bool rounding_costs =
        !std::isinf(lam) &&
        (lam > kDearLam * effective || std::max(truth_total, pred_total) > kManyMasses * least_mass(truth, pred));
    const bool has_masses = truth.mass != nullptr || pred.mass != nullptr;
    transport_->solve(2.0 * effective,
                      method == Method::automatic && has_masses && rounding_costs ? Method::simplex : method, crew);

    Parts parts;
    parts.by_simplex = transport_->by_simplex();
    const bool units = truth.mass == nullptr && pred.mass == nullptr;  // then each point is moved whole or not at all
    with_mass_ = !units;
    list_pairs(from_pred, units ? std::min(truth.points.n, pred.points.n) : kNone, crew);
    sort_pairs(truth.points.n, crew);
    parts.displaced =
        sum_of(pairs_.size(), crew, [this](std::size_t i) { return pairs_[i].mass * pairs_[i].distance; });
    const double left_costs = std::isinf(lam) ? 0.0 : lam;
    const auto moved = static_cast<double>(pairs_.size());
    const auto sum = [&](const Column<double>& terms) {
        return sum_of(terms.size(), crew, [&](std::size_t i) { return terms[i]; });
    };
    const double source_cost = left_costs * (units ? source_total - moved : sum(transport_->source_left()));
    const double target_cost = left_costs * (units ? target_total - moved : sum(transport_->target_left()));
    parts.missed = from_pred ? target_cost : source_cost;
    parts.false_ = from_pred ? source_cost : target_cost;

    // A surplus of mass pays the full lam, so f is shifted by what was cut off, towards the side that has it.
    const double surplus = (target.whole(crew) - source.whole(crew)).value();  // of the targets
    const double cut_off = effective < lam && !std::isinf(lam) ? lam - effective : 0.0;
    const double shift = surplus == 0.0 ? 0.0 : (surplus > 0.0) == from_pred ? cut_off : -cut_off;
    const double sign = from_pred ? -1.0 : 1.0;
    double* const source_potential = from_pred ? pred_potential : truth_potential;
    double* const target_potential = from_pred ? truth_potential : pred_potential;
    transport_->write_source_potentials(source_potential, crew);
    transport_->write_target_potentials(target_potential, crew);
    // From the potentials before they become f, which would round them; a bound above the value is rounding.
    const Exact bound = source.integral([&](std::size_t x) { return source_potential[x]; }, crew) -
                        target.integral([&](std::size_t y) { return target_potential[y]; }, crew);
    const double of_surplus = effective * surplus + cut_off * std::abs(surplus);
    parts.lower_bound = std::min((bound + of_surplus).value(), parts.displaced + parts.missed + parts.false_);
    const auto become_f = [&](double* potential, Index n) {
        over_ranges(static_cast<std::size_t>(n), crew, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) potential[i] = sign * (potential[i] - effective) + shift;
        });
    };
    become_f(source_potential, source.points.n);
    become_f(target_potential, target.points.n);
    return parts;
}

// The pairs in no particular order; there are at most `most`, or nobody knows.
void FlatMetric::list_pairs(bool from_pred, Index most, Crew& crew) {
    const auto pair_of = [from_pred](Index source, Index target, double mass, double distance) {
        return from_pred ? Pair{target, source, mass, distance} : Pair{source, target, mass, distance};
    };
    if (transport_->merged()) {
        transport_->visit_merged_pairs(
            [&](Index x, Index y, double mass, double d) { pairs_.push_back(pair_of(x, y, mass, d)); });
        return;
    }
    const auto targets = static_cast<std::size_t>(transport_->targets());
    const std::size_t ranges = (targets + kRange - 1) / kRange;
    const auto visit_range = [&](std::size_t r, const auto& visit) {
        transport_->visit_pairs(static_cast<Index>(r * kRange), static_cast<Index>(std::min(targets, (r + 1) * kRange)),
                                visit);
    };
    std::vector<std::size_t>& begin = range_begin_;
    begin.assign(ranges, 0);
    std::size_t total = most == kNone ? 0 : static_cast<std::size_t>(most);
    if (most == kNone || ranges > 1) {
        crew.run(ranges, [&](std::size_t r, int, Interrupt&) {
            std::size_t count = 0;
            visit_range(r, [&](Index, Index, double, double) { ++count; });
            begin[r] = count;
        });
        total = 0;
        for (std::size_t& at : begin) total += std::exchange(at, total);
    }
    pairs_.resize(total);
    crew.run(ranges, [&](std::size_t r, int, Interrupt&) {
        Pair* at = pairs_.data() + begin[r];
        visit_range(r, [&](Index x, Index y, double mass, double d) { *at++ = pair_of(x, y, mass, d); });
        if (ranges == 1) total = static_cast<std::size_t>(at - pairs_.data());
    });
    pairs_.resize(total);
}

// By truth, then pred. Many are sorted into one bucket for each of the truths.
void FlatMetric::sort_pairs(Index truths, Crew& crew) {
    const auto by_truth = [](const Pair& a, const Pair& b) {
        return a.truth != b.truth ? a.truth < b.truth : a.pred < b.pred;
    };
    if (std::is_sorted(pairs_.begin(), pairs_.end(), by_truth)) return;
    if (pairs_.size() <= kRange) {
        std::sort(pairs_.begin(), pairs_.end(), by_truth);
        return;
    }
    std::vector<std::atomic<std::size_t>> next(truths);
    over_ranges(pairs_.size(), crew, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) next[pairs_[i].truth].fetch_add(1, std::memory_order_relaxed);
    });
    std::size_t total = 0;
    for (auto& at : next) total += at.exchange(total, std::memory_order_relaxed);
    sorted_.resize(total);
    over_ranges(pairs_.size(), crew, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            sorted_[next[pairs_[i].truth].fetch_add(1, std::memory_order_relaxed)] = pairs_[i];
    });
    over_ranges(truths, crew, [&](std::size_t begin, std::size_t end) {
        std::size_t from = begin == 0 ? 0 : next[begin - 1].load(std::memory_order_relaxed);
        for (std::size_t t = begin; t < end; ++t) {
            const std::size_t to = next[t].load(std::memory_order_relaxed);
            if (to - from > 1) std::sort(sorted_.data() + from, sorted_.data() + to, by_truth);
            from = to;
        }
    });
    pairs_.swap(sorted_);
}

}  // namespace flatmetric
