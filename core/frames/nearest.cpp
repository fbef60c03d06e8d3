#include "frames/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "geometry/box.hpp"
#include "geometry/kdtree.hpp"
#include "geometry/lattice.hpp"
#include "support/parallel.hpp"
#include "support/simd.hpp"
#include "support/sums.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kFramesAtATime = 64;  // taken by a thread at a time: enough work to outweigh asking
constexpr std::size_t kPairsWorthCells = std::size_t{1} << 14;    // below, all pairs are faster than cells
constexpr std::size_t kPairsWorthThreads = std::size_t{1} << 18;  // below, starting threads costs more
constexpr Index kQueriesAtATime = 4096;                           // of one frame, for each thread
constexpr std::size_t kRowsAtATime = 16;                          // rows of cells that a thread takes at a time
constexpr int kMostRings = 64;                                    // of cells around a point; then a tree is faster
constexpr double kPerCell = 2.0;                                  // intended number of points
constexpr Index kCrowd = 64;  // points in one cell that make trees the better choice
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The sums of both sides.
struct Squares {
    double truth = 0.0;
    double pred = 0.0;
};

// Two small sets, by all their pairs. Reuses its buffers.
template <int D>
class EveryPair {
public:
    Squares squares(Points<D> truth, Points<D> pred) {
        for (int k = 0; k < D; ++k) {
            axis_[k].resize(pred.n + 1);
            for (Index j = 0; j < pred.n; ++j) axis_[k][j] = pred[j][k];
            axis_[k][pred.n] = kInfinity;
        }
        least_of_pred_.assign(pred.n + 1, kInfinity);
        std::array<const double*, D> there;
        for (int k = 0; k < D; ++k) there[k] = axis_[k].data();
        double* const column = least_of_pred_.data();
        Squares sums;
        for (Index i = 0; i < truth.n; ++i) {
            std::array<Double2, D> here;
            for (int k = 0; k < D; ++k) here[k] = broadcast(truth[i][k]);
            Double2 row = broadcast(kInfinity);
            for (Index j = 0; j < pred.n; j += 2) {
                Double2 squared = broadcast(0.0);
                for (int k = 0; k < D; ++k) {
                    const Double2 step = load2(there[k] + j) - here[k];
                    squared = squared + step * step;
                }
                row = min2(squared, row);
                store2(column + j, min2(squared, load2(column + j)));
            }
            sums.truth += lower_lane(row);
        }
        sums.pred = sum_of(static_cast<std::size_t>(pred.n), [&](std::size_t j) { return column[j]; });
        return sums;
    }

private:
    std::array<std::vector<double>, D> axis_;
    std::vector<double> least_of_pred_;
};

// Two large sets: by cells if evenly spread; by trees if not, and for points far from all others.
template <int D>
class InSpace {
public:
    InSpace(Points<D> truth, Points<D> pred, Team& team) : sides_{truth, pred}, team_(team) {}

    Squares squares() {
        lattice_ = lattice();
        on_each_side([&](std::size_t side, int, Interrupt&) { cells_[side].build(sides_[side], lattice_); });
        if (std::max(cells_[0].most(), cells_[1].most()) > kCrowd) {
            for (int side = 0; side < 2; ++side) {
                undecided_[side].resize(sides_[side].n);
                for (Index i = 0; i < sides_[side].n; ++i) undecided_[side][i] = i;
            }
            ask_trees();
        } else {
            ask_cells();
            // A few undecided points at the edge are worth searching more cells, but not building a tree.
            const std::size_t few = static_cast<std::size_t>(sides_[0].n + sides_[1].n) / 64;
            if (undecided_[0].size() + undecided_[1].size() <= few) look_further();
            ask_trees();
        }
        return {sums_[0].value(), sums_[1].value()};
    }

private:
    // The result of one task for its side.
    struct TaskResult {
        double sum = 0.0;
        std::vector<Index> undecided;
    };

    Lattice<D> lattice() const {
        Box<D> boxes[2];
        on_each_side([&](std::size_t side, int, Interrupt&) { boxes[side] = Box<D>::around(sides_[side]); });
        for (int k = 0; k < D; ++k) {
            boxes[0].low[k] = std::min(boxes[0].low[k], boxes[1].low[k]);
            boxes[0].high[k] = std::max(boxes[0].high[k], boxes[1].high[k]);
        }
        return Lattice<D>::over(boxes[0].low.data(), boxes[0].high.data(), std::max(sides_[0].n, sides_[1].n),
                                kPerCell);
    }

    template <class Body>
    void on_each_side(const Body& body) const {
        team_.run(2, body);
    }

    // Searches the cells around each point; points whose nearest may lie further away are recorded as undecided.
    void ask_cells() {
        const std::size_t runs = (lattice_.rows() + kRowsAtATime - 1) / kRowsAtATime;
        std::vector<TaskResult> results(2 * runs);
        team_.run(results.size(), [&](std::size_t task, int, Interrupt&) {
            const int side = task < runs ? 0 : 1;
            RowOfCells row;
            const std::size_t first = (task % runs) * kRowsAtATime;
            for (std::size_t r = first; r < std::min(lattice_.rows(), first + kRowsAtATime); ++r) {
                ask_row(cells_[side], cells_[1 - side], r, row, results[task]);
            }
        });
        for (std::size_t task = 0; task < results.size(); ++task) {
            const int side = task < runs ? 0 : 1;
            sums_[side].add(results[task].sum);
            undecided_[side].insert(undecided_[side].end(), results[task].undecided.begin(),
                                    results[task].undecided.end());
        }
    }

    // The points of one row of cells: the least squared distance of each so far, its cell in the row, and which points
    // have to search the next row of the other side. The buffers are reused.
    struct RowOfCells {
        std::vector<double> least;
        std::vector<Index> cell;
        std::vector<Index> looking;
    };

    // All points of a row of cells first search their own row of the other side; then, row by row, each neighbouring
    // row that may hold a nearer point. Consecutive searches belong to different points, so none waits for the one
    // before.
    void ask_row(const CellPoints<D>& mine, const CellPoints<D>& other, std::size_t number, RowOfCells& row,
                 TaskResult& results) const {
        const Index width = lattice_.count[0];
        const std::size_t first_cell = number * static_cast<std::size_t>(width);
        const Index begin = mine.begins(first_cell)[0];
        const Index count = mine.begins(first_cell)[width] - begin;
        if (count == 0) return;
        row.least.assign(count, kInfinity);
        row.cell.resize(count);
        row.looking.resize(count);
        for (Index c = 0; c < width; ++c) {
            std::fill(row.cell.begin() + (mine.begins(first_cell)[c] - begin),
                      row.cell.begin() + (mine.begins(first_cell)[c + 1] - begin), c);
        }
        const auto look = [&](Index i, const Index* begins) {
            const Index c = row.cell[i];
            row.least[i] = other.least_among(begins[c > 0 ? c - 1 : 0], begins[c + 2 < width ? c + 2 : width],
                                             mine.point(begin + i), row.least[i]);
        };
        const Index* const own = other.begins(first_cell);
        for (Index i = 0; i < count; ++i) look(i, own);

        const Index y = static_cast<Index>(number % static_cast<std::size_t>(lattice_.count[1]));
        const Index z = static_cast<Index>(number / static_cast<std::size_t>(lattice_.count[1]));
        for (const Step& step : steps()) {
            if (!inside(1, y + step.y) || (D == 3 && !inside(D - 1, z + step.z))) continue;
            const Gap along_y = gap(1, y, step.y);
            const Gap along_z = gap(D - 1, z, step.z);
            Index looking = 0;
            for (Index i = 0; i < count; ++i) {
                double squared = along_y.squared(mine.axis(1)[begin + i]);
                if constexpr (D == 3) squared += along_z.squared(mine.axis(2)[begin + i]);
                row.looking[looking] = i;
                looking += squared < row.least[i] ? 1 : 0;
            }
            const std::ptrdiff_t rows_on = step.y + static_cast<std::ptrdiff_t>(step.z) * lattice_.count[1];
            const Index* const there = own + rows_on * width;
            for (Index k = 0; k < looking; ++k) look(row.looking[k], there);
        }
        const double seen = lattice_.seen(1) * lattice_.seen(1);
        for (Index i = 0; i < count; ++i) {
            if (row.least[i] <= seen) {
                results.sum += row.least[i];
            } else {
                results.undecided.push_back(begin + i);
            }
        }
    }

    // Rows around a row; those that share a side with it come first.
    struct Step {
        int y;
        int z;
    };
    static const std::vector<Step>& steps() {
        static const std::vector<Step> around =
            D == 2 ? std::vector<Step>{{-1, 0}, {1, 0}}
                   : std::vector<Step>{{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {1, -1}, {-1, 1}, {1, 1}};
        return around;
    }

    bool inside(int axis, Index cell) const { return cell >= 0 && cell < lattice_.count[axis]; }

    // A lower bound on the squared distance along one axis from a point to the next cell; 0 for a step of 0.
    struct Gap {
        double sign;
        double wall;
        double slack;
        double squared(double at) const {
            const double gap = sign * (at - wall) - slack;
            const double beyond_doubt = gap > 0.0 ? gap : 0.0;
            return beyond_doubt * beyond_doubt;
        }
    };
    Gap gap(int axis, Index cell, int step) const {
        return {-1.0 * step, lattice_.wall(axis, step > 0 ? cell + 1 : cell), lattice_.slack(axis)};
    }

    // Searches more and more rings of cells for the undecided points.
    void look_further() {
        for (int side = 0; side < 2; ++side) {
            const CellPoints<D>& other = cells_[1 - side];
            std::vector<Index> still;
            for (const Index i : undecided_[side]) {
                const std::array<double, D> q = cells_[side].point(i);
                const auto here = lattice_.place(q.data());
                double least = kInfinity;
                double seen = 0.0;
                for (int rings = 2; rings <= kMostRings && !(least <= seen * seen); rings *= 2) {
                    least = least_around(other, q, here, rings);
                    seen = lattice_.seen(rings);
                }
                if (least <= seen * seen) {
                    sums_[side].add(least);
                } else {
                    still.push_back(i);
                }
            }
            undecided_[side] = std::move(still);
        }
    }

    double least_around(const CellPoints<D>& other, const std::array<double, D>& q,
                        const typename Lattice<D>::Place& here, int rings) const {
        const auto from = [&](int axis) { return std::max<Index>(here[axis] - rings, 0); };
        const auto to = [&](int axis) { return std::min<Index>(here[axis] + rings, lattice_.count[axis] - 1); };
        auto at = here;
        double least = kInfinity;
        for (Index z = D == 3 ? from(D - 1) : 0; z <= (D == 3 ? to(D - 1) : 0); ++z) {
            if constexpr (D == 3) at[2] = z;
            for (Index y = from(1); y <= to(1); ++y) {
                at[0] = from(0);
                at[1] = y;
                const Index* const begins = other.begins(lattice_.number(at));
                least = other.least_among(begins[0], begins[to(0) - from(0) + 1], q, least);
            }
        }
        return least;
    }

    void ask_trees() {
        if (undecided_[0].empty() && undecided_[1].empty()) return;
        KdTree<D> trees[2];
        on_each_side([&](std::size_t side, int, Interrupt& interrupt) {
            if (!undecided_[1 - side].empty()) trees[side].build(sides_[side], interrupt);
        });
        const auto runs = [&](int side) { return (undecided_[side].size() + kQueriesAtATime - 1) / kQueriesAtATime; };
        std::vector<double> results(runs(0) + runs(1));
        team_.run(results.size(), [&](std::size_t run, int, Interrupt&) {
            const int side = run < runs(0) ? 0 : 1;
            const std::size_t begin = (side == 0 ? run : run - runs(0)) * kQueriesAtATime;
            const std::size_t end = std::min(begin + kQueriesAtATime, undecided_[side].size());
            for (std::size_t i = begin; i < end; ++i) {
                results[run] += trees[1 - side].least_squared(cells_[side].point(undecided_[side][i]).data());
            }
        });
        for (std::size_t run = 0; run < results.size(); ++run) sums_[run < runs(0) ? 0 : 1].add(results[run]);
    }

    Points<D> sides_[2];
    Team& team_;
    Lattice<D> lattice_;
    CellPoints<D> cells_[2];
    CompensatedSum sums_[2];
    std::vector<Index> undecided_[2];  // as positions in the order of the cells
};

template <int D>
Nearest search(const Cloud& truth, const Cloud& pred, int threads, const std::function<bool()>& should_stop) {
    Team team(threads, should_stop);
    const Ordered ordered_truth(truth, D, team, std::numeric_limits<double>::max());
    const Ordered ordered_pred(pred, D, team, std::numeric_limits<double>::max());
    const std::vector<Frame> frames = list_frames(ordered_truth, ordered_pred, team);
    Nearest nearest;
    nearest.frame.resize(frames.size());
    nearest.truth_count.resize(frames.size());
    nearest.pred_count.resize(frames.size());
    nearest.truth.resize(frames.size());
    nearest.pred.resize(frames.size());
    const auto each_frame = [&](std::size_t begin, std::size_t end, const auto& use) {
        for (std::size_t k = begin; k < end; ++k) {
            use(k, ordered_truth.cloud.points<D>(D, frames[k].truth_begin, frames[k].truth_end),
                ordered_pred.cloud.points<D>(D, frames[k].pred_begin, frames[k].pred_end));
        }
    };
    const auto note = [&](std::size_t k, const Squares& sums) {
        nearest.truth[k] = sums.truth;
        nearest.pred[k] = sums.pred;
    };
    team.run((frames.size() + kFramesAtATime - 1) / kFramesAtATime, [&](std::size_t run, int, Interrupt&) {
        EveryPair<D> every_pair;
        const std::size_t end = std::min(frames.size(), (run + 1) * kFramesAtATime);
        each_frame(run * kFramesAtATime, end, [&](std::size_t k, Points<D> here, Points<D> there) {
            nearest.frame[k] = frames[k].number;
            nearest.truth_count[k] = there.n > 0 ? here.n : 0;
            nearest.pred_count[k] = here.n > 0 ? there.n : 0;
            const std::size_t pairs = static_cast<std::size_t>(here.n) * static_cast<std::size_t>(there.n);
            if (pairs == 0) {
                note(k, {});
            } else if (pairs <= kPairsWorthCells) {
                note(k, every_pair.squares(here, there));
            } else if (pairs <= kPairsWorthThreads) {
                Team alone(1);
                note(k, InSpace<D>(here, there, alone).squares());
            }
        });
    });
    each_frame(0, frames.size(), [&](std::size_t k, Points<D> here, Points<D> there) {
        const std::size_t pairs = static_cast<std::size_t>(here.n) * static_cast<std::size_t>(there.n);
        if (pairs > kPairsWorthThreads) note(k, InSpace<D>(here, there, team).squares());
    });
    return nearest;
}

}  // namespace

Nearest nearest_in_frames(const Cloud& truth, const Cloud& pred, int dim, int threads,
                          const std::function<bool()>& should_stop) {
    return dim == 2 ? search<2>(truth, pred, threads, should_stop) : search<3>(truth, pred, threads, should_stop);
}

}  // namespace flatmetric
