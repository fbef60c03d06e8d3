#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/column.hpp"

namespace flatmetric {

// What a column of a text table may hold.
enum class CellKind {
    number,    // finite numbers only
    whole,     // whole numbers that a double holds exactly, kept as integers
    optional,  // anything: what is not a number becomes NaN
};

enum class FaultKind { none, ragged, empty, text, not_finite, too_large, not_whole, long_line };

// The first cell for which a row was rejected. Lines fed and columns count from 1; column 0 is the line as a whole.
struct Fault {
    FaultKind kind = FaultKind::none;
    std::int64_t line = 0;
    int column = 0;
    std::string cell;  // as found, cut to a readable length; for a ragged row its number of cells
};

struct WantedColumn {
    int index;  // from 0
    CellKind kind;
};

struct TableLayout {
    char delimiter;                     // a blank stands for any run of blanks and tabs
    std::vector<WantedColumn> columns;  // in increasing order of index
    int cells_per_row;
    bool ends_at_blank_line;  // what follows is a footer
    bool skip_bad_rows;
    std::int64_t expected_rows;  // initial capacity; only a hint
};

// Reads columns of numbers out of delimited text that arrives in pieces. Lines end in \n, \r\n or \r; blank lines and
// lines that begin with # are passed over; cells may be padded or quoted.
class NumberTable {
public:
    explicit NumberTable(TableLayout layout);

    // Takes the next piece of text. False: reading has ended, by a fault or by the footer.
    bool feed(std::string_view text);
    // The last line may lack its end.
    bool finish();

    const TableLayout& layout() const { return layout_; }
    bool ended_early() const { return ended_early_; }  // by a fault or by the footer
    std::int64_t lines() const { return line_ - 1; }   // fed so far, blank ones and comments included
    const Fault& fault() const { return fault_; }
    const std::map<FaultKind, std::int64_t>& skipped() const { return skipped_; }
    const Fault& first_skipped() const { return first_skipped_; }

    // The wanted columns, as integers or doubles by their kind. Call once, at the end.
    struct Values {
        Column<double> numbers;
        Column<std::int64_t> wholes;
    };
    std::vector<Values> take();

private:
    bool line(std::string_view text);
    bool row(std::string_view text);
    bool reject(FaultKind kind, int column, std::string_view cell);
    void make_room(std::size_t rows);

    TableLayout layout_;
    std::vector<Values> values_;
    std::size_t rows_ = 0;
    std::size_t room_ = 0;  // rows that the columns have room for
    std::string carry_;     // an unfinished line
    std::int64_t line_ = 1;
    bool after_return_ = false;  // the last piece ended in \r: a \n at the start of the next belongs to it
    bool ended_ = false;
    bool ended_early_ = false;
    Fault fault_;
    Fault first_skipped_;
    std::map<FaultKind, std::int64_t> skipped_;
};

}  // namespace flatmetric
