#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "curve.hpp"
#include "frames.hpp"
#include "magnitude.hpp"
#include "matching.hpp"
#include "nearest.hpp"
#include "number_table.hpp"
#include "recycled.hpp"
#include "rows.hpp"

namespace nb = nanobind;
using namespace flatmetric;

namespace {

// Both sides, and a root, share one range of indices in the network simplex.
constexpr Index kMaxPoints = std::numeric_limits<Index>::max() / 2 - 1;

using Coords = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Masses = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
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

void require_same_kind(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                       const std::optional<FrameNumbers>& pred_frame) {
    if (truth.shape(1) != pred.shape(1)) throw nb::value_error("both sides need the same dimension");
    if (truth_frame.has_value() != pred_frame.has_value()) throw nb::value_error("frames on both sides or on none");
}

void require_two_or_three(const Coords& coords) {
    if (coords.shape(1) != 2 && coords.shape(1) != 3) throw nb::value_error("two or three coordinates");
}

bool python_wants_to_stop() {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

nb::dict solve(const Coords& truth, const Coords& pred, const std::optional<Masses>& truth_mass,
               const std::optional<Masses>& pred_mass, const std::optional<FrameNumbers>& truth_frame,
               const std::optional<FrameNumbers>& pred_frame, double lam, double divisor, Method method, int threads) {
    require_same_kind(truth, pred, truth_frame, pred_frame);
    const Cloud truth_cloud = cloud(truth, truth_mass, truth_frame);
    const Cloud pred_cloud = cloud(pred, pred_mass, pred_frame);
    const int dim = static_cast<int>(truth.shape(1));
    Solution solution;
    try {
        const nb::gil_scoped_release released;
        solution = solve_frames(truth_cloud, pred_cloud, dim, lam, divisor, method, threads, python_wants_to_stop);
    } catch (const Interrupted&) {
        throw nb::python_error();
    } catch (const UnequalMasses& masses) {
        nb::dict unequal;
        unequal["frame"] = masses.frame;
        unequal["unequal_masses"] = nb::make_tuple(masses.truth_mass, masses.pred_mass);
        return unequal;
    } catch (const BeyondLimit&) {
        nb::dict beyond;
        beyond["beyond_limit"] = true;
        return beyond;
    }
    nb::dict out;
    out["displaced"] = solution.total.displaced;
    out["missed"] = solution.total.missed;
    out["false"] = solution.total.false_;
    out["lower_bound"] = solution.total.lower_bound;
    out["by_simplex"] = solution.total.by_simplex;
    out["pair_truth"] = to_numpy(std::move(solution.pairs.truth));
    out["pair_pred"] = to_numpy(std::move(solution.pairs.pred));
    out["pair_mass"] = truth_mass || pred_mass ? to_numpy(std::move(solution.pairs.mass)) : nb::none();
    out["pair_distance"] = to_numpy(std::move(solution.pairs.distance));
    out["truth_potential"] = to_numpy(std::move(solution.truth_potential));
    out["pred_potential"] = to_numpy(std::move(solution.pred_potential));
    if (truth_frame) {
        out["frame"] = column(solution.frames, [](const Frame& f) { return f.number; });
        out["frame_n_truth"] = column(solution.frames, [](const Frame& f) { return std::int64_t{f.truth_end - f.truth_begin}; });
        out["frame_n_pred"] = column(solution.frames, [](const Frame& f) { return std::int64_t{f.pred_end - f.pred_begin}; });
        out["frame_displaced"] = column(solution.parts, [](const Parts& p) { return p.displaced; });
        out["frame_missed"] = column(solution.parts, [](const Parts& p) { return p.missed; });
        out["frame_false"] = column(solution.parts, [](const Parts& p) { return p.false_; });
        out["frame_lower_bound"] = column(solution.parts, [](const Parts& p) { return p.lower_bound; });
    }
    return out;
}

nb::tuple match(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                const std::optional<FrameNumbers>& pred_frame, double lateral, double axial, bool greedy, double power, double price,
                int threads) {
    require_same_kind(truth, pred, truth_frame, pred_frame);
    require_two_or_three(truth);
    const Cloud truth_cloud = cloud(truth, std::nullopt, truth_frame);
    const Cloud pred_cloud = cloud(pred, std::nullopt, pred_frame);
    const int dim = static_cast<int>(truth.shape(1));
    Matches matches;
    try {
        const nb::gil_scoped_release released;
        matches = match_frames(truth_cloud, pred_cloud, dim, {lateral, axial}, {greedy, power, price}, threads, python_wants_to_stop);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
    return nb::make_tuple(to_numpy(std::move(matches.truth)), to_numpy(std::move(matches.pred)), to_numpy(std::move(matches.distance)));
}

nb::tuple follow(const Coords& truth, const Coords& pred, const std::optional<Masses>& truth_mass,
                 const std::optional<Masses>& pred_mass, const std::optional<FrameNumbers>& truth_frame,
                 const std::optional<FrameNumbers>& pred_frame, double lam_max, int threads) {
    require_same_kind(truth, pred, truth_frame, pred_frame);
    const Cloud truth_cloud = cloud(truth, truth_mass, truth_frame);
    const Cloud pred_cloud = cloud(pred, pred_mass, pred_frame);
    const int dim = static_cast<int>(truth.shape(1));
    Curve curve;
    try {
        const nb::gil_scoped_release released;
        curve = follow_lam(truth_cloud, pred_cloud, dim, lam_max, threads, python_wants_to_stop);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
    return nb::make_tuple(curve.slope_at_zero, to_numpy(std::move(curve.breakpoint)), to_numpy(std::move(curve.change)));
}

nb::tuple nearest(const Coords& truth, const Coords& pred, const std::optional<FrameNumbers>& truth_frame,
                  const std::optional<FrameNumbers>& pred_frame, int threads) {
    require_same_kind(truth, pred, truth_frame, pred_frame);
    require_two_or_three(truth);
    const Cloud truth_cloud = cloud(truth, std::nullopt, truth_frame);
    const Cloud pred_cloud = cloud(pred, std::nullopt, pred_frame);
    const int dim = static_cast<int>(truth.shape(1));
    Nearest found;
    try {
        const nb::gil_scoped_release released;
        found = nearest_in_frames(truth_cloud, pred_cloud, dim, threads, python_wants_to_stop);
    } catch (const Interrupted&) {
        throw nb::python_error();
    }
    return nb::make_tuple(to_numpy(std::move(found.frame)), to_numpy(std::move(found.truth_count)), to_numpy(std::move(found.pred_count)),
                          to_numpy(std::move(found.truth)), to_numpy(std::move(found.pred)));
}

// A table whose rows follow each other or, if not, whose columns do.
nb::object to_table(Column<double>&& values, std::size_t rows, std::size_t columns, bool by_rows) {
    const Handed<double> handed(std::move(values));
    const std::size_t shape[2] = {rows, columns};
    const std::int64_t strides[2] = {static_cast<std::int64_t>(by_rows ? columns : 1), static_cast<std::int64_t>(by_rows ? 1 : rows)};
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>>(handed.data, 2, shape, handed.owner, strides));
}

nb::object table_of(const std::vector<Masses>& columns, int threads) {
    if (columns.empty()) throw nb::value_error("at least one column");
    const std::size_t rows = columns[0].shape(0);
    std::vector<const double*> starts;
    for (const Masses& column : columns) {
        if (column.shape(0) != rows) throw nb::value_error("columns of equal length");
        starts.push_back(column.data());
    }
    Column<double> table;
    {
        const nb::gil_scoped_release released;
        table = interleaved(starts, rows, threads);
    }
    return to_table(std::move(table), rows, columns.size(), true);
}

nb::object row_differences(const Coords& from, const Coords& to, const FrameNumbers& from_rows, const FrameNumbers& to_rows, int threads) {
    const std::size_t count = from_rows.shape(0);
    if (from.shape(1) != to.shape(1)) throw nb::value_error("both tables need the same dimension");
    if (to_rows.shape(0) != count) throw nb::value_error("one row for each row");
    const auto are_there = [](const FrameNumbers& rows, const Coords& table) {
        const auto n = static_cast<std::int64_t>(table.shape(0));
        return std::all_of(rows.data(), rows.data() + rows.shape(0), [n](std::int64_t row) { return row >= 0 && row < n; });
    };
    if (!are_there(from_rows, from) || !are_there(to_rows, to)) throw nb::index_error("a row that is not there");
    const int dim = static_cast<int>(from.shape(1));
    Column<double> found;
    {
        const nb::gil_scoped_release released;
        found = differences(from.data(), from_rows.data(), to.data(), to_rows.data(), count, dim, threads);
    }
    return to_table(std::move(found), count, from.shape(1), false);
}

NumberTable number_table(char delimiter, const std::vector<std::pair<int, CellKind>>& columns, int cells_per_row,
                         bool ends_at_blank_line, bool skip_bad_rows, std::int64_t expected_rows) {
    TableLayout layout{delimiter, {}, cells_per_row, ends_at_blank_line, skip_bad_rows, expected_rows};
    for (const auto& [index, kind] : columns) {
        if (!layout.columns.empty() && layout.columns.back().index >= index) throw nb::value_error("columns out of order");
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
    nb::enum_<Method>(m, "Method")
        .value("automatic", Method::automatic)
        .value("shortest_paths", Method::shortest_paths)
        .value("simplex", Method::simplex);
    m.def(
        "all_within",
        [](const Coords& numbers, double limit) { return all_within(numbers.data(), numbers.size(), limit); },
        nb::arg("numbers"), nb::arg("limit"), "Whether all numbers are finite and at most `limit` in size.");
    m.def("keep_freed_memory", &keep_freed_memory, "Keep the memory that is given back for the next array: for a process of one task.");
    m.def("solve", &solve, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_mass").none(), nb::arg("pred_mass").none(),
          nb::arg("truth_frame").none(), nb::arg("pred_frame").none(), nb::arg("lam"), nb::arg("divisor"), nb::arg("method"), nb::arg("threads"),
          "Flat Metric of every frame: parts, plan and potentials, for masses as given (None: 1), all divided by `divisor`.");
    m.def("follow_lam", &follow, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_mass").none(), nb::arg("pred_mass").none(),
          nb::arg("truth_frame").none(), nb::arg("pred_frame").none(), nb::arg("lam_max"), nb::arg("threads"),
          "The Flat Metric for every lam, masses as given (None: 1): slope at 0, breakpoints in no order, changes of slope.");
    m.def("match", &match, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_frame").none(), nb::arg("pred_frame").none(),
          nb::arg("lateral"), nb::arg("axial"), nb::arg("greedy"), nb::arg("power"), nb::arg("price"), nb::arg("threads"),
          "One-to-one matching in every frame: true rows, found rows, distances.");
    m.def("nearest", &nearest, nb::arg("truth"), nb::arg("pred"), nb::arg("truth_frame").none(), nb::arg("pred_frame").none(),
          nb::arg("threads"),
          "For each frame: its number, how many true and found points have a nearest one on the other side, and the sums of their "
          "squared distances to it.");
    m.def("table_of", &table_of, nb::arg("columns"), nb::arg("threads"), "Columns as the rows of one table.");
    m.def("row_differences", &row_differences, nb::arg("from_table"), nb::arg("to_table"), nb::arg("from_rows"), nb::arg("to_rows"),
          nb::arg("threads"), "Rows of one table minus rows of another, column by column.");
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
        // Text of any encoding: what was meant is not known here.
        .def_prop_ro("cell", [](const Fault& fault) { return nb::bytes(fault.cell.data(), fault.cell.size()); });
    nb::class_<NumberTable>(m, "NumberTable", "Reads columns of numbers out of delimited text that arrives in pieces.")
        .def(nb::new_(&number_table), nb::kw_only(), nb::arg("delimiter"), nb::arg("columns"), nb::arg("cells_per_row"),
             nb::arg("ends_at_blank_line"), nb::arg("skip_bad_rows"), nb::arg("expected_rows"))
        .def("feed",
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
