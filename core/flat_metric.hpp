#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "compensated_sum.hpp"
#include "points.hpp"
#include "transport.hpp"

namespace flatmetric {

// One side of a problem: coordinates, and masses or null where every point has mass 1.
template <int D>
struct Measure {
    Points<D> points;
    const double* mass = nullptr;

    double mass_of(Index i) const { return mass == nullptr ? 1.0 : mass[i]; }
    double total() const {
        if (mass == nullptr) return points.n;
        CompensatedSum sum;
        for (Index i = 0; i < points.n; ++i) sum.add(mass[i]);
        return sum.value();
    }
};

struct Pair {
    Index truth;
    Index pred;
    double mass;
    double distance;
};

struct Parts {
    double displaced = 0.0;
    double missed = 0.0;
    double false_ = 0.0;
    double lower_bound = 0.0;
};

// The Flat Metric of one pair of measures. Buffers are kept from one problem to the next.
template <int D>
class FlatMetric {
public:
    // Writes f at every point into the two potential arrays and appends the plan, by truth and then pred, to `pairs`.
    Parts solve(const Measure<D>& truth, const Measure<D>& pred, double lam, Method method, double* truth_potential,
                double* pred_potential, std::vector<Pair>& pairs, Interrupt& interrupt) {
        if (truth.points.n == 0 || pred.points.n == 0) return solve_one_sided(truth, pred, lam, truth_potential, pred_potential);

        // Beyond half the diameter every pair is worth moving and lam only prices the surplus of mass; a problem with
        // lam cut to the diameter has the same plans, keeps its digits, and includes lam = infinity.
        const double enough = diameter_bound(truth.points, pred.points);
        const double effective = std::min(lam, enough > 0.0 ? enough : 1.0);

        // Searches start from the side with less mass: the other keeps free points, prices stay low and searches short.
        const double truth_total = truth.total();
        const double pred_total = pred.total();
        const bool from_pred = pred_total < truth_total;
        const Measure<D>& source = from_pred ? pred : truth;
        const Measure<D>& target = from_pred ? truth : pred;
        transport_.solve(source.points, source.mass, target.points, target.mass, 2.0 * effective, method, interrupt);
        const Instance<D>& solved = transport_.instance();
        const Plan& plan = transport_.plan();

        Parts parts;
        const std::size_t first = pairs.size();
        plan.visit([&](Index x, Index y, double mass) {
            const Index s = solved.original_source(x);
            const Index t = solved.original_target(y);
            pairs.push_back({from_pred ? t : s, from_pred ? s : t, mass, solved.distance_between(x, y)});
        });
        std::sort(pairs.begin() + static_cast<std::ptrdiff_t>(first), pairs.end(), [](const Pair& a, const Pair& b) {
            return a.truth != b.truth ? a.truth < b.truth : a.pred < b.pred;
        });
        CompensatedSum displaced;
        for (std::size_t i = first; i < pairs.size(); ++i) displaced.add(pairs[i].mass * pairs[i].distance);
        parts.displaced = displaced.value();

        const double source_cost = std::isinf(lam) ? 0.0 : lam * sum(plan.source_left);
        const double target_cost = std::isinf(lam) ? 0.0 : lam * sum(plan.target_left);
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
        for (Index x = 0; x < source.points.n; ++x) {
            source_potential[solved.original_source(x)] = sign * (solved.source.potential[x] - effective) + shift;
        }
        for (Index y = 0; y < target.points.n; ++y) {
            target_potential[solved.original_target(y)] = sign * (solved.target.potential[y] - effective) + shift;
        }
        parts.lower_bound = dual_value(truth, pred, truth_potential, pred_potential);
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
        parts.lower_bound = dual_value(truth, pred, truth_potential, pred_potential);
        return parts;
    }

    static double sum(const std::vector<double>& terms) {
        CompensatedSum sum;
        for (const double term : terms) sum.add(term);
        return sum.value();
    }

    static double dual_value(const Measure<D>& truth, const Measure<D>& pred, const double* truth_potential,
                             const double* pred_potential) {
        CompensatedSum sum;
        for (Index i = 0; i < truth.points.n; ++i) sum.add(truth.mass_of(i) * truth_potential[i]);
        for (Index j = 0; j < pred.points.n; ++j) sum.add(-pred.mass_of(j) * pred_potential[j]);
        return sum.value();
    }

    static double diameter_bound(Points<D> a, Points<D> b) {
        const int dim = a.dims();
        double squares = 0.0;
        for (int k = 0; k < dim; ++k) {
            double low = a[0][k];
            double high = low;
            for (const Points<D>& points : {a, b}) {
                for (Index i = 0; i < points.n; ++i) {
                    low = std::min(low, points[i][k]);
                    high = std::max(high, points[i][k]);
                }
            }
            squares += (high - low) * (high - low);
        }
        return std::sqrt(squares);
    }

    Transport<D> transport_;
};

}  // namespace flatmetric
