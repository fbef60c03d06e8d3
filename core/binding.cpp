#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frames/curve.hpp"
#include "frames/matching.hpp"
#include "frames/nearest.hpp"
#include "frames/neighbours.hpp"
#include "frames/slopes.hpp"
#include "frames/solve.hpp"
#include "spots/psf.hpp"
#include "support/binned.hpp"
#include "support/gather.hpp"
#include "support/magnitude.hpp"
#include "text/number_table.hpp"

namespace nb = nanobind;
using namespace flatmetric;

namespace {

// Both sides, and a root, share one range of indices in the network simplex.
constexpr Index kMaxPoints = std::numeric_limits<Index>::max() / 2 - 1;

using Coords = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Masses = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FrameNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Memory that a numpy array takes over without a copy.
template <class T>
struct Handed {
    explicit Handed(Column<T>&& values) {
        auto owned = std::make_unique<Column<T>>(std::move(values));
        Column<T>* const column = owned.get();
        owner = nb::capsule(column, [](void* p) noexcept { delete static_cast<Column<T>*>(p); });
        owned.release();  // the capsule has it now
        data = column->data();
        size = column->size();
    }
    T* data;
    std::size_t size;
    nb::capsule owner;
};

template <class T>
nb::object to_numpy(Column<T>&& values) {
    const Handed<T> handed(std::move(values));
    const std::size_t shape[1] = {handed.size};
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(handed.data, 1, shape, handed.owner));
}

template <class Row, class Get>
nb::object column(const std::vector<Row>& rows, const Get& get) {
    Column<decltype(get(rows[0]))> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) values[i] = get(rows[i]);
    return to_numpy(std::move(values));
}

Cloud cloud(const Coords& coords, const std::optional<Masses>& masses, const std::optional<FrameNumbers>& frames) {
    const std::size_t n = coords.shape(0);
    if (n > static_cast<std::size_t>(kMaxPoints)) throw nb::value_error("too many points");
    if (masses && masses->shape(0) != n) throw nb::value_error("one mass per point");
    if (frames && frames->shape(0) != n) throw nb::value_error("one frame number per point");
    return {coords.data(), static_cast<Index>(n), masses ? masses->data() : nullptr, frames ? frames->data() : nullptr};
}

bool python_wants_to_stop() {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// The two clouds of a call, checked.
struct Clouds {
    Cloud truth;
    Cloud pred;
    int dim;
};

Clouds clouds(const Coords& truth, const Coords& pred, const std::optional<Masses>& truth_mass,
              const std::optional<Masses>& pred_mass, const std::optional<FrameNumbers>& truth_frame,
              const std::optional<FrameNumbers>& pred_frame) {
    if (truth.shape(1) != pred.shape(1)) throw nb::value_error("both sides need the same dimension");
    if (truth_frame.has_value() != pred_frame.has_value()) throw nb::value_error("frames on both sides or on none");
    return {cloud(truth, truth_mass, truth_frame), cloud(pred, pred_mass, pred_frame),
            static_cast<int>(truth.shape(1))};
}

Clouds clouds_in_space(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                       const std::optional<FrameNumbers>& pred_frame) {
    if (truth.shape(1) != 2 && truth.shape(1) != 3) throw nb::value_error("two or three coordinates");
    return clouds(truth, pred, std::nullopt, std::nullopt, truth_frame, pred_frame);
}

// The results below are plain structs whose columns are numpy arrays that own their memory.

struct FrameColumns {
    nb::object frame, n_truth, n_pred, displaced, missed, false_, lower_bound;
};

struct SolutionColumns {
    Parts total;
    nb::object pair_truth, pair_pred, pair_mass, pair_distance;  // the mass is None where all points weigh the same
    nb::object truth_potential, pred_potential;
    std::optional<FrameColumns> frames;
};

struct MatchColumns {
    nb::object truth, pred, distance;
};

struct CurveColumns {
    double slope_at_end;
    nb::object breakpoint, fall;
};

struct NeighbourColumns {
    nb::object distance, row;
};

struct NearestColumns {
    nb::object frame, truth_count, pred_count, truth, pred;
};

nb::object boxes_of_spot(const nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& coefficients,
                         std::size_t per_pixel, const Coords& places, std::size_t side, bool slopes) {
    const SampledSpot spot{coefficients.data(), coefficients.shape(0), coefficients.shape(1), coefficients.shape(2),
                           per_pixel};
    if (places.shape(1) != 3) throw nb::value_error("three numbers for each place");
    if (side == 0 || per_pixel == 0 || spot.planes < 4 ||
        std::min(spot.rows, spot.columns) < (side - 1) * per_pixel + 4) {
        throw nb::value_error("too few samples");
    }
    Column<double> boxes;
    {
        const nb::gil_scoped_release released;
        boxes = spot_boxes(spot, places.data(), places.shape(0), side, slopes);
    }
    return to_numpy(std::move(boxes));
}

SolutionColumns solve(const Coords& truth, const Coords& pred, const std::optional<Masses>& truth_mass,
                      const std::optional<Masses>& pred_mass, const std::optional<FrameNumbers>& truth_frame,
                      const std::optional<FrameNumbers>& pred_frame, double lam, double divisor, Method method,
                      int threads) {
    const Clouds sides = clouds(truth, pred, truth_mass, pred_mass, truth_frame, pred_frame);
    Solution solution;
    {
        const nb::gil_scoped_release released;
        solution =
            solve_frames(sides.truth, sides.pred, sides.dim, lam, divisor, method, threads, python_wants_to_stop);
    }
    SolutionColumns out;
    out.total = solution.total;
    out.pair_truth = to_numpy(std::move(solution.pairs.truth));
    out.pair_pred = to_numpy(std::move(solution.pairs.pred));
    out.pair_mass = truth_mass || pred_mass ? to_numpy(std::move(solution.pairs.mass)) : nb::none();
    out.pair_distance = to_numpy(std::move(solution.pairs.distance));
    out.truth_potential = to_numpy(std::move(solution.truth_potential));
    out.pred_potential = to_numpy(std::move(solution.pred_potential));
    if (truth_frame) {
        out.frames = FrameColumns{
            column(solution.frames, [](const Frame& f) { return f.number; }),
            column(solution.frames, [](const Frame& f) { return std::int64_t{f.truth_end - f.truth_begin}; }),
            column(solution.frames, [](const Frame& f) { return std::int64_t{f.pred_end - f.pred_begin}; }),
            column(solution.parts, [](const Parts& p) { return p.displaced; }),
            column(solution.parts, [](const Parts& p) { return p.missed; }),
            column(solution.parts, [](const Parts& p) { return p.false_; }),
            column(solution.parts, [](const Parts& p) { return p.lower_bound; }),
        };
    }
    return out;
}

template <class T>
nb::object to_table(Column<T>&& values, std::size_t columns) {
    const Handed<T> handed(std::move(values));
    const std::size_t shape[2] = {columns == 0 ? 0 : handed.size / columns, columns};
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(handed.data, 2, shape, handed.owner));
}

std::pair<nb::object, nb::object> plan_slopes(const Coords& truth, const Coords& pred, const FrameNumbers& pair_truth,
                                              const FrameNumbers& pair_pred, const Masses& pair_distance,
                                              const std::optional<Masses>& pair_mass, bool of_truth, int threads) {
    const Clouds sides = clouds(truth, pred, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    const std::size_t n = pair_truth.shape(0);
    if (pair_pred.shape(0) != n || pair_distance.shape(0) != n || (pair_mass && pair_mass->shape(0) != n))
        throw nb::value_error("columns of equal length");
    Slopes slopes;
    {
        const nb::gil_scoped_release released;
        slopes = slopes_of_plan(
            sides.truth, sides.pred, sides.dim,
            {pair_truth.data(), pair_pred.data(), pair_distance.data(), pair_mass ? pair_mass->data() : nullptr, n},
            of_truth, threads);
    }
    const auto columns = static_cast<std::size_t>(sides.dim);
    return {to_table(std::move(slopes.truth), columns), to_table(std::move(slopes.pred), columns)};
}

MatchColumns match(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                   const std::optional<FrameNumbers>& pred_frame, double lateral, double axial, bool greedy,
                   double power, double price, int threads) {
    const Clouds sides = clouds_in_space(truth, pred, truth_frame, pred_frame);
    Matches matches;
    {
        const nb::gil_scoped_release released;
        matches = match_frames(sides.truth, sides.pred, sides.dim, {lateral, axial}, {greedy, power, price}, threads,
                               python_wants_to_stop);
    }
    return {to_numpy(std::move(matches.truth)), to_numpy(std::move(matches.pred)),
            to_numpy(std::move(matches.distance))};
}

CurveColumns follow(const Coords& truth, const Coords& pred, const std::optional<Masses>& truth_mass,
                    const std::optional<Masses>& pred_mass, const std::optional<FrameNumbers>& truth_frame,
                    const std::optional<FrameNumbers>& pred_frame, double lam_max, int threads) {
    const Clouds sides = clouds(truth, pred, truth_mass, pred_mass, truth_frame, pred_frame);
    Curve curve;
    {
        const nb::gil_scoped_release released;
        curve = follow_lam(sides.truth, sides.pred, sides.dim, lam_max, threads, python_wants_to_stop);
    }
    return {curve.slope_at_end.value(), to_numpy(std::move(curve.breakpoint)), to_numpy(std::move(curve.fall))};
}

NearestColumns nearest(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                       const std::optional<FrameNumbers>& pred_frame, int threads) {
    const Clouds sides = clouds_in_space(truth, pred, truth_frame, pred_frame);
    Nearest sums;
    {
        const nb::gil_scoped_release released;
        sums = nearest_in_frames(sides.truth, sides.pred, sides.dim, threads, python_wants_to_stop);
    }
    return {to_numpy(std::move(sums.frame)), to_numpy(std::move(sums.truth_count)),
            to_numpy(std::move(sums.pred_count)), to_numpy(std::move(sums.truth)), to_numpy(std::move(sums.pred))};
}

NeighbourColumns neighbours(const Coords& points, const Coords& others, const FrameNumbers& frame,
                            const FrameNumbers& other_frame, double reach, bool apart, int threads) {
    const Clouds sides = clouds_in_space(points, others, frame, other_frame);
    Neighbours found;
    {
        const nb::gil_scoped_release released;
        found = neighbours_in_frames(sides.truth, sides.pred, sides.dim, reach, apart, threads, python_wants_to_stop);
    }
    return {to_numpy(std::move(found.distance)), to_numpy(std::move(found.row))};
}

// A table stored row by row or, if not, column by column.
nb::object to_table(Column<double>&& values, std::size_t rows, std::size_t columns, bool by_rows) {
    const Handed<double> handed(std::move(values));
    const std::size_t shape[2] = {rows, columns};
    const std::int64_t strides[2] = {static_cast<std::int64_t>(by_rows ? columns : 1),
                                     static_cast<std::int64_t>(by_rows ? 1 : rows)};
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(handed.data, 2, shape, handed.owner, strides));
}

// Where columns of so many rows lie.
std::vector<const double*> starts_of(const std::vector<Masses>& columns, std::size_t rows) {
    std::vector<const double*> starts;
    for (const Masses& column : columns) {
        if (column.shape(0) != rows) throw nb::value_error("columns of equal length");
        starts.push_back(column.data());
    }
    return starts;
}

nb::object table_of(const std::vector<Masses>& columns, int threads) {
    if (columns.empty()) throw nb::value_error("at least one column");
    const std::size_t rows = columns[0].shape(0);
    const std::vector<const double*> starts = starts_of(columns, rows);
    Column<double> table;
    {
        const nb::gil_scoped_release released;
        table = interleave_columns(starts, rows, threads);
    }
    return to_table(std::move(table), rows, columns.size(), true);
}

// One row for the number of rows in each bin, and one for each column.
nb::object binned(const Masses& values, const Masses& limits, const Flags& counted, const std::vector<Masses>& columns,
                  int threads) {
    const std::size_t rows = values.shape(0);
    const std::vector<const double*> starts = starts_of(columns, rows);
    if (counted.shape(0) != rows) throw nb::value_error("columns of equal length");
    const std::vector<double> ascending(limits.data(), limits.data() + limits.shape(0));
    Column<double> sums;
    {
        const nb::gil_scoped_release released;
        sums = sum_in_bins(values.data(), counted.data(), rows, ascending, starts, threads);
    }
    return to_table(std::move(sums), columns.size() + 1, ascending.size() + 1, true);
}

nb::object row_differences(const Coords& from, const Coords& to, const FrameNumbers& from_rows,
                           const FrameNumbers& to_rows, int threads) {
    const std::size_t count = from_rows.shape(0);
    if (from.shape(1) != to.shape(1)) throw nb::value_error("both tables need the same dimension");
    if (to_rows.shape(0) != count) throw nb::value_error("as many rows of one table as of the other");
    const auto exist = [](const FrameNumbers& rows, const Coords& table) {
        const auto n = static_cast<std::int64_t>(table.shape(0));
        return std::all_of(rows.data(), rows.data() + rows.shape(0),
                           [n](std::int64_t row) { return row >= 0 && row < n; });
    };
    const int dim = static_cast<int>(from.shape(1));
    Column<double> differences;
    {
        const nb::gil_scoped_release released;
        if (!exist(from_rows, from) || !exist(to_rows, to)) throw nb::index_error("a row is out of range");
        differences = subtract_rows(from.data(), from_rows.data(), to.data(), to_rows.data(), count, dim, threads);
    }
    return to_table(std::move(differences), count, from.shape(1), false);
}

NumberTable number_table(char delimiter, const std::vector<std::pair<int, CellKind>>& columns, int cells_per_row,
                         bool ends_at_blank_line, bool skip_bad_rows, std::int64_t expected_rows) {
    TableLayout layout{delimiter, {}, cells_per_row, ends_at_blank_line, skip_bad_rows, expected_rows};
    for (const auto& [index, kind] : columns) {
        if (!layout.columns.empty() && layout.columns.back().index >= index)
            throw nb::value_error("columns out of order");
        layout.columns.push_back({index, kind});
    }
    return NumberTable(std::move(layout));
}

nb::list taken(NumberTable& table) {
    nb::list columns;
    std::vector<NumberTable::Values> values = table.take();
    for (std::size_t k = 0; k < values.size(); ++k) {
        const bool whole = table.layout().columns[k].kind == CellKind::whole;
        columns.append(whole ? to_numpy(std::move(values[k].wholes)) : to_numpy(std::move(values[k].numbers)));
    }
    return columns;
}

}  // namespace

NB_MODULE(_core, m) {
    m.attr("MAX_POINTS") = kMaxPoints;
    m.attr("LARGEST") = kLargest;
    // Kept for the life of the process, like the module that they belong to.
    static PyObject* const unequal_masses =
        PyErr_NewException("flatmetric._core.UnequalMassesError", PyExc_ValueError, nullptr);
    static PyObject* const beyond_limit =
        PyErr_NewException("flatmetric._core.BeyondLimitError",
                           nb::module_::import_("flatmetric.errors").attr("InputError").ptr(), nullptr);
    m.attr("UnequalMassesError") = nb::handle(unequal_masses);
    m.attr("BeyondLimitError") = nb::handle(beyond_limit);
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const Interrupted&) {
            // python_wants_to_stop has set Python's exception already.
        } catch (const UnequalMasses& masses) {
            PyErr_SetObject(unequal_masses, nb::make_tuple(masses.frame, masses.truth_mass, masses.pred_mass).ptr());
        } catch (const BeyondLimit&) {
            PyErr_SetString(beyond_limit,
                            "a number is not finite or too large, perhaps since an array changed while it was read; "
                            "give arrays that stay as they are");
        }
    });
    nb::class_<FrameColumns>(m, "FrameSolutions",
                             "What each frame contributes: counts of points, and parts of the cost.")
        .def_ro("frame", &FrameColumns::frame)
        .def_ro("n_truth", &FrameColumns::n_truth)
        .def_ro("n_pred", &FrameColumns::n_pred)
        .def_ro("displaced", &FrameColumns::displaced)
        .def_ro("missed", &FrameColumns::missed)
        .def_ro("false", &FrameColumns::false_)
        .def_ro("lower_bound", &FrameColumns::lower_bound);
    nb::class_<SolutionColumns>(m, "Solution", "The Flat Metric of all frames: parts of the cost, plan and potentials.")
        .def_prop_ro("displaced", [](const SolutionColumns& s) { return s.total.displaced; })
        .def_prop_ro("missed", [](const SolutionColumns& s) { return s.total.missed; })
        .def_prop_ro("false", [](const SolutionColumns& s) { return s.total.false_; })
        .def_prop_ro("lower_bound", [](const SolutionColumns& s) { return s.total.lower_bound; })
        .def_prop_ro("by_simplex", [](const SolutionColumns& s) { return s.total.by_simplex; })
        .def_ro("pair_truth", &SolutionColumns::pair_truth)
        .def_ro("pair_pred", &SolutionColumns::pair_pred)
        .def_ro("pair_mass", &SolutionColumns::pair_mass)
        .def_ro("pair_distance", &SolutionColumns::pair_distance)
        .def_ro("truth_potential", &SolutionColumns::truth_potential)
        .def_ro("pred_potential", &SolutionColumns::pred_potential)
        .def_ro("frames", &SolutionColumns::frames);
    nb::class_<MatchColumns>(m, "Matches", "Matched rows of both tables, and their distances.")
        .def_ro("truth", &MatchColumns::truth)
        .def_ro("pred", &MatchColumns::pred)
        .def_ro("distance", &MatchColumns::distance);
    nb::class_<CurveColumns>(
        m, "Curve",
        "The Flat Metric for every lam: its slope at the end, unordered breakpoints, and what the slope falls by.")
        .def_ro("slope_at_end", &CurveColumns::slope_at_end)
        .def_ro("breakpoint", &CurveColumns::breakpoint)
        .def_ro("fall", &CurveColumns::fall);
    nb::class_<NearestColumns>(
        m, "NearestSums",
        "For each frame: how many points of a side have a nearest one on the other, and the sum of their "
        "squared distances to it.")
        .def_ro("frame", &NearestColumns::frame)
        .def_ro("truth_count", &NearestColumns::truth_count)
        .def_ro("pred_count", &NearestColumns::pred_count)
        .def_ro("truth", &NearestColumns::truth)
        .def_ro("pred", &NearestColumns::pred);
    nb::class_<NeighbourColumns>(m, "Neighbours",
                                 "For each point: the distance to the nearest of others in its frame, and its row.")
        .def_ro("distance", &NeighbourColumns::distance)
        .def_ro("row", &NeighbourColumns::row);
    nb::enum_<Method>(m, "Method")
        .value("automatic", Method::automatic)
        .value("shortest_paths", Method::shortest_paths)
        .value("simplex", Method::simplex)
        .value("paths_in_tiles", Method::paths_in_tiles)
        .value("simplex_in_tiles", Method::simplex_in_tiles);
    m.def(
        "all_within",
        [](const Coords& numbers, double limit) { return all_within(numbers.data(), numbers.size(), limit); },
        nb::arg("numbers"), nb::arg("limit"), "Whether all numbers are finite and at most `limit` in size.");
    m.def("solve", &solve, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_mass").none(), nb::arg("pred_mass").none(),
          nb::arg("truth_frame").none(), nb::arg("pred_frame").none(), nb::arg("lam"), nb::arg("divisor"),
          nb::arg("method"), nb::arg("threads"),
          "The Flat Metric of every frame, for masses as given (None: 1 each); all costs are divided by `divisor`.");
    m.def("plan_slopes", &plan_slopes, nb::arg("truth"), nb::arg("pred"), nb::arg("pair_truth"), nb::arg("pair_pred"),
          nb::arg("pair_distance"), nb::arg("pair_mass").none(), nb::arg("of_truth"), nb::arg("threads"),
          "How the cost of a plan changes with the coordinates of its points, true and predicted.");
    m.def("follow_lam", &follow, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_mass").none(),
          nb::arg("pred_mass").none(), nb::arg("truth_frame").none(), nb::arg("pred_frame").none(), nb::arg("lam_max"),
          nb::arg("threads"), "The Flat Metric for every lam up to `lam_max`, for masses as given (None: 1 each).");
    m.def("match", &match, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_frame").none(),
          nb::arg("pred_frame").none(), nb::arg("lateral"), nb::arg("axial"), nb::arg("greedy"), nb::arg("power"),
          nb::arg("price"), nb::arg("threads"), "One-to-one matching within every frame.");
    m.def("neighbours", &neighbours, nb::arg("points"), nb::arg("others"), nb::arg("frame"), nb::arg("other_frame"),
          nb::arg("reach"), nb::arg("apart"), nb::arg("threads"),
          "For each point: the nearest of `others` in its frame, closer than reach; infinite and -1 for none. `apart`: "
          "the "
          "others are the points themselves, and none is its own neighbour.");
    m.def("nearest", &nearest, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_frame").none(),
          nb::arg("pred_frame").none(), nb::arg("threads"),
          "Distances to the nearest point of the other side, summed over every frame.");
    m.def("sums_in_bins", &binned, nb::arg("values"), nb::arg("limits"), nb::arg("counted"), nb::arg("columns"),
          nb::arg("threads"),
          "The number of counted rows in each bin, and a row for each column with its sums there; the bin of a row is "
          "the number of limits that its value reaches.");
    m.def("table_of", &table_of, nb::arg("columns"), nb::arg("threads"),
          "Columns side by side as one table, row by row.");
    m.def("spot_boxes", &boxes_of_spot, nb::arg("coefficients"), nb::arg("per_pixel"), nb::arg("places"),
          nb::arg("side"), nb::arg("slopes"),
          "A sampled spot in squares of pixels, with its derivatives by z, y and x if asked for.");
    m.def("row_differences", &row_differences, nb::arg("from_table"), nb::arg("to_table"), nb::arg("from_rows"),
          nb::arg("to_rows"), nb::arg("threads"), "Rows of one table minus rows of another.");
    nb::enum_<CellKind>(m, "CellKind")
        .value("number", CellKind::number)
        .value("whole", CellKind::whole)
        .value("optional", CellKind::optional);
    nb::enum_<FaultKind>(m, "FaultKind")
        .value("none", FaultKind::none)
        .value("ragged", FaultKind::ragged)
        .value("empty", FaultKind::empty)
        .value("text", FaultKind::text)
        .value("not_finite", FaultKind::not_finite)
        .value("too_large", FaultKind::too_large)
        .value("not_whole", FaultKind::not_whole)
        .value("long_line", FaultKind::long_line);
    nb::class_<Fault>(m, "Fault")
        .def_ro("kind", &Fault::kind)
        .def_ro("line", &Fault::line)
        .def_ro("column", &Fault::column)
        // Bytes, since the encoding is not known here.
        .def_prop_ro("cell", [](const Fault& fault) { return nb::bytes(fault.cell.data(), fault.cell.size()); });
    nb::class_<NumberTable>(m, "NumberTable", "Reads columns of numbers out of delimited text that arrives in pieces.")
        .def(nb::new_(&number_table), nb::kw_only(), nb::arg("delimiter"), nb::arg("columns"), nb::arg("cells_per_row"),
             nb::arg("ends_at_blank_line"), nb::arg("skip_bad_rows"), nb::arg("expected_rows"))
        .def(
            "feed",
            [](NumberTable& table, const nb::bytes& text, std::size_t begin, std::optional<std::size_t> end) {
                const std::string_view view(text.c_str(), end.value_or(text.size()));
                if (view.size() > text.size() || begin > view.size()) throw nb::index_error("a part beyond the text");
                const nb::gil_scoped_release released;
                return table.feed(view.substr(begin));
            },
            nb::arg("text"), nb::arg("begin") = 0, nb::arg("end") = nb::none())
        .def("finish", &NumberTable::finish)
        .def("take", &taken)
        .def_prop_ro("ended_early", &NumberTable::ended_early)
        .def_prop_ro("lines", &NumberTable::lines)
        .def_prop_ro("fault", &NumberTable::fault)
        .def_prop_ro("first_skipped", &NumberTable::first_skipped)
        .def_prop_ro("skipped", [](const NumberTable& table) {
            nb::dict counts;
            for (const auto& [kind, count] : table.skipped()) counts[nb::cast(kind)] = count;
            return counts;
        });
}
