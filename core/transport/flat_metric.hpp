#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/points.hpp"
#include "support/column.hpp"
#include "support/interrupt.hpp"
#include "support/sums.hpp"
#include "transport/measure.hpp"
#include "transport/transport.hpp"

namespace flatmetric {

// The pairs of a plan as columns, the way they leave the core. Where every point has mass 1 so has every pair, and the
// masses are left out.
struct Pairs {
    Column<std::int64_t> truth;
    Column<std::int64_t> pred;
    Column<double> mass;
    Column<double> distance;

    std::size_t size() const { return truth.size(); }
    void resize(std::size_t n, bool with_mass) {
        truth.resize(n);
        pred.resize(n);
        distance.resize(n);
        if (with_mass) mass.resize(n);
    }
};

struct Parts {
    double displaced = 0.0;
    double missed = 0.0;
    double false_ = 0.0;
    double lower_bound = 0.0;
    bool by_simplex = false;
};

// The Flat Metric of one pair of measures. Buffers are kept from one problem to the next.
template <int D>
class FlatMetric {
public:
    // Writes f at every point into the two potential arrays and appends the plan, by truth and then pred, to `pairs`.
    // Point i of a side is row truth_row(i), pred_row(i) there.
    template <class TruthRow, class PredRow>
    Parts solve(const Measure<D>& truth, const Measure<D>& pred, double lam, Method method, double* truth_potential,
                double* pred_potential, const TruthRow& truth_row, const PredRow& pred_row, Pairs& pairs,
                Interrupt& interrupt) {
        if (truth.points.n == 0 || pred.points.n == 0) return solve_one_sided(truth, pred, lam, truth_potential, pred_potential);

        // Beyond half the diameter every pair is worth moving and lam only prices the surplus of mass; capping
        // lam at the diameter keeps the plans, loses no digits, and covers lam = infinity.
        const Box<D> truth_box = Box<D>::around(truth.points);
        const Box<D> pred_box = Box<D>::around(pred.points);
        const double enough = diameter_bound(truth_box, pred_box);
        const double effective = std::min(lam, enough > 0.0 ? enough : 1.0);

        // Searches start from the side with less mass: the other keeps free points, prices stay low and searches short.
        const double truth_total = truth.total();
        const double pred_total = pred.total();
        const bool from_pred = pred_total < truth_total;
        const Measure<D>& source = from_pred ? pred : truth;
        const Measure<D>& target = from_pred ? truth : pred;
        const double source_total = std::min(truth_total, pred_total);
        const double target_total = std::max(truth_total, pred_total);
        transport_.solve(source.points, source.mass, target.points, target.mass,
                         from_pred ? truth_box : pred_box, 2.0 * effective, method, interrupt);

        Parts parts;
        parts.by_simplex = transport_.by_simplex();
        list_pairs(from_pred);
        parts.displaced = sum_of(pairs_.size(), [this](std::size_t i) { return pairs_[i].mass * pairs_[i].distance; });
        const bool units = truth.mass == nullptr && pred.mass == nullptr;  // then each point is moved whole or not at all
        std::size_t at = pairs.size();
        pairs.resize(at + pairs_.size(), !units);
        for (const Pair& pair : pairs_) {
            pairs.truth[at] = truth_row(pair.truth);
            pairs.pred[at] = pred_row(pair.pred);
            pairs.distance[at] = pair.distance;
            if (!units) pairs.mass[at] = pair.mass;
            ++at;
        }
        const double left_costs = std::isinf(lam) ? 0.0 : lam;
        const auto moved = static_cast<double>(pairs_.size());
        const double source_cost = left_costs * (units ? source_total - moved : sum(transport_.source_left()));
        const double target_cost = left_costs * (units ? target_total - moved : sum(transport_.target_left()));
        parts.missed = from_pred ? target_cost : source_cost;
        parts.false_ = from_pred ? source_cost : target_cost;

        // A surplus of mass pays the full lam, so f is shifted by what was cut off, towards the side that has it.
        double shift = 0.0;
        if (effective < lam && !std::isinf(lam) && truth_total != pred_total) {
            shift = truth_total > pred_total ? lam - effective : effective - lam;
        }
        const double sign = from_pred ? -1.0 : 1.0;
        double* const source_potential = from_pred ? pred_potential : truth_potential;
        double* const target_potential = from_pred ? truth_potential : pred_potential;
        const auto f = [&](double potential) { return sign * (potential - effective) + shift; };
        transport_.visit_source_potentials([&](Index x, double U) { source_potential[x] = f(U); });
        transport_.visit_target_potentials([&](Index y, double p) { target_potential[y] = f(p); });
        parts.lower_bound = truth.integral(truth_potential) - pred.integral(pred_potential);
        return parts;
    }

private:
    static Parts solve_one_sided(const Measure<D>& truth, const Measure<D>& pred, double lam, double* truth_potential,
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

    struct Pair {
        Index truth;
        Index pred;
        double mass;
        double distance;
    };

    void list_pairs(bool from_pred) {
        pairs_.resize(transport_.most_pairs());
        Pair* pair = pairs_.data();
        transport_.visit_pairs([&](Index source, Index target, double mass, double distance) {
            pair->truth = from_pred ? target : source;
            pair->pred = from_pred ? source : target;
            pair->mass = mass;
            pair->distance = distance;
            ++pair;
        });
        pairs_.resize(pair - pairs_.data());
        const auto by_truth = [](const Pair& a, const Pair& b) {
            return a.truth != b.truth ? a.truth < b.truth : a.pred < b.pred;
        };
        if (!std::is_sorted(pairs_.begin(), pairs_.end(), by_truth)) std::sort(pairs_.begin(), pairs_.end(), by_truth);
    }

    static double sum(const std::vector<double>& terms) {
        return sum_of(terms.size(), [&](std::size_t i) { return terms[i]; });
    }

    Transport<D> transport_;
    std::vector<Pair> pairs_;
};

}  // namespace flatmetric
