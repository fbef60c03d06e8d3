#include "text/number_table.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "text/portable.hpp"

namespace flatmetric {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kShownCell = 40;
constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: beyond it a double skips whole numbers

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\0'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::string_view unquoted(std::string_view cell) {
    cell = trimmed(cell);
    while (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
        cell.remove_prefix(1);
        cell.remove_suffix(1);
        cell = trimmed(cell);
    }
    return cell;
}

constexpr int kLargestPower = 22;  // 10^22 is the last that a double holds exactly
constexpr double kPowers[kLargestPower + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A whole number of 128 bits, for powers of ten beyond 64.
struct Wide {
    std::uint64_t high;
    std::uint64_t low;

    constexpr bool operator<(const Wide& other) const {
        return high < other.high || (high == other.high && low < other.low);
    }
    constexpr Wide operator+(const Wide& other) const {
        return {high + other.high + (low + other.low < low ? 1U : 0U), low + other.low};
    }
    constexpr Wide operator-(const Wide& other) const {
        return {high - other.high - (low < other.low ? 1U : 0U), low - other.low};
    }
};

// 10^-k = bits * 2^-shift, where bits has its top bit set and is cut, not rounded: the true value lies in [bits, bits +
// 1).
struct Reciprocal {
    std::uint64_t bits;
    int shift;
};

constexpr Reciprocal reciprocal(int k) {
    Wide power{0, 1};
    for (int i = 0; i < k; ++i) {
        const Wide twice = power + power;
        const Wide eightfold = twice + twice + twice + twice;
        power = eightfold + twice;
    }
    Wide rest{0, 1};
    int shift = 0;
    while (rest < power) {  // the first quotient bit is set
        rest = rest + rest;
        ++shift;
    }
    std::uint64_t bits = 0;
    for (int bit = 63; bit >= 0; --bit) {
        if (!(rest < power)) {
            bits |= std::uint64_t{1} << bit;
            rest = rest - power;
        }
        rest = rest + rest;
    }
    return {bits, shift + 63};
}

struct Reciprocals {
    Reciprocal of[kLargestPower + 1];
    constexpr Reciprocals() : of() {
        for (int k = 0; k <= kLargestPower; ++k) of[k] = reciprocal(k);
    }
};
constexpr Reciprocals kReciprocals;

// digits / 10^k, correctly rounded, by a product that is known to within two units of its 64 bits. False where that
// does not decide the rounding, about once in 250 numbers.
bool divided(std::uint64_t digits, int k, double& value) {
    const int lift = leading_zeros(digits);
    const Reciprocal& inverse = kReciprocals.of[k];
    std::uint64_t high = high_product(digits << lift, inverse.bits);
    int exponent = 64 - lift - inverse.shift;
    int uncertain = 2;  // the cut of the reciprocal, and that of the lower half
    if (!(high >> 63)) {
        high <<= 1;
        --exponent;
        uncertain = 4;
    }
    constexpr int kSpare = 64 - 53;
    constexpr std::uint64_t kHalf = std::uint64_t{1} << (kSpare - 1);
    const std::uint64_t spare = high & (2 * kHalf - 1);
    if (spare <= kHalf && spare + static_cast<std::uint64_t>(uncertain) >= kHalf) return false;
    std::uint64_t mantissa = high >> kSpare;
    if (spare > kHalf) ++mantissa;
    exponent += kSpare;
    const std::uint64_t scale_bits = static_cast<std::uint64_t>(1023 + exponent) << 52;
    double scale;
    std::memcpy(&scale, &scale_bits, sizeof scale);
    value = static_cast<double>(mantissa) * scale;
    return true;
}

// The usual numbers, of up to 19 digits and small exponents, correct to the last bit. Returns the end of the number, or
// null when it is not of that kind. The character after the text must be readable and no part of a number.
const char* usual_number(const char* at, double& value) {
    const bool negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    std::uint64_t digits = 0;
    const char* const first = at;
    for (; is_digit(*at); ++at) digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
    std::ptrdiff_t count = at - first;
    int exponent = 0;
    if (*at == '.') {
        const char* const fraction = ++at;
        for (; is_digit(*at); ++at) digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
        exponent = -static_cast<int>(at - fraction);
        count += at - fraction;
    }
    if (count == 0 || count > 19) return nullptr;
    if (*at == 'e' || *at == 'E') {
        const char* p = at + 1;
        const bool down = *p == '-';
        if (*p == '-' || *p == '+') ++p;
        const char* const power = p;
        int shift = 0;
        for (; is_digit(*p) && p - power < 5; ++p) shift = 10 * shift + (*p - '0');
        if (p == power || is_digit(*p)) return nullptr;
        exponent += down ? -shift : shift;
        at = p;
    }
    if (exponent < -kLargestPower || exponent > kLargestPower) return nullptr;
    if (digits <= std::uint64_t{1} << 53) {  // both exact, so one rounding
        const double whole = static_cast<double>(digits);
        value = exponent < 0 ? whole / kPowers[-exponent] : whole * kPowers[exponent];
    } else if (exponent >= 0 || !divided(digits, -exponent, value)) {
        return nullptr;
    }
    if (negative) value = -value;
    return at;
}

FaultKind any_number(std::string_view cell, double& value) {
    if (cell.empty()) return FaultKind::empty;
    const char* begin = cell.data();
    const char* const end = begin + cell.size();
    if (usual_number(begin, value) == end) return FaultKind::none;
    if (*begin == '+' && cell.size() > 1 && cell[1] != '-') ++begin;
    const auto [stopped, error] = double_from_chars(begin, end, value);
    if (stopped != end || error == std::errc::invalid_argument) return FaultKind::text;
    if (error == std::errc::result_out_of_range) {
        value =
            std::strtod(std::string(begin, end).c_str(), nullptr);  // tiny numbers round to zero, large ones do not fit
        if (std::isinf(value)) return FaultKind::too_large;
    }
    return std::isfinite(value) ? FaultKind::none : FaultKind::not_finite;
}

// The end of the cell that begins at `at`: its delimiter, or the end of the line.
const char* cell_end(const char* at, const char* end, char delimiter) {
    const char* p = at;
    while (p < end && is_blank(*p) && *p != delimiter) ++p;
    if (p < end && *p == '"') {  // a delimiter inside quotes is text; "" is a quote
        for (++p; p < end; ++p) {
            if (*p != '"') continue;
            if (p + 1 < end && p[1] == '"') {
                ++p;
            } else {
                break;
            }
        }
        if (p == end) p = at;  // the quote is never closed: an ordinary character
    }
    if (delimiter == ' ') {
        while (p < end && !is_blank(*p)) ++p;
        return p;
    }
    const void* const found = std::memchr(p, delimiter, static_cast<std::size_t>(end - p));
    return found ? static_cast<const char*>(found) : end;
}

// Past the delimiter to the next cell; null after the last one.
const char* next_cell(const char* at, const char* end, char delimiter) {
    if (delimiter != ' ') return at < end ? at + 1 : nullptr;
    while (at < end && is_blank(*at)) ++at;
    return at < end ? at : nullptr;
}

}  // namespace

NumberTable::NumberTable(TableLayout layout) : layout_(std::move(layout)), values_(layout_.columns.size()) {
    make_room(layout_.expected_rows > 0 ? static_cast<std::size_t>(layout_.expected_rows) : 1024);
}

void NumberTable::make_room(std::size_t rows) {
    for (std::size_t k = 0; k < values_.size(); ++k) {
        if (layout_.columns[k].kind == CellKind::whole) {
            values_[k].wholes.resize(rows);
        } else {
            values_[k].numbers.resize(rows);
        }
    }
    room_ = rows;
}

std::vector<NumberTable::Values> NumberTable::take() {
    make_room(rows_);
    return std::move(values_);
}

bool NumberTable::feed(std::string_view text) {
    if (ended_) return false;
    if (after_return_ && !text.empty()) {
        if (text.front() == '\n') text.remove_prefix(1);
        after_return_ = false;
    }
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto find = [end](const char* from, char c) {
        const void* const found = std::memchr(from, c, static_cast<std::size_t>(end - from));
        return found ? static_cast<const char*>(found) : end;
    };
    const char* newline = find(at, '\n');
    const char* carriage = find(at, '\r');
    while (at < end) {
        // Each is looked for again only when passed, so that text with one kind of line end is searched once.
        if (newline < at) newline = find(at, '\n');
        if (carriage < at) carriage = find(at, '\r');
        const char* const stop = newline < carriage ? newline : carriage;
        const std::string_view piece(at, static_cast<std::size_t>(stop - at));
        if (stop == end) {
            carry_ += piece;
            if (carry_.size() > kLongestLine) {
                fault_ = {FaultKind::long_line, line_, 0, {}};
                ended_ = ended_early_ = true;
            }
            return !ended_;
        }
        if (carry_.empty()) {
            ended_ = !line(piece);
        } else {
            carry_ += piece;
            ended_ = !line(carry_);
            carry_.clear();
        }
        if (ended_) {
            ended_early_ = true;
            return false;
        }
        at = stop + 1;
        if (*stop == '\r') {
            if (at == end) {
                after_return_ = true;
            } else if (*at == '\n') {
                ++at;
            }
        }
    }
    return true;
}

bool NumberTable::finish() {
    if (!ended_ && !carry_.empty()) {
        const std::string last = std::move(carry_);
        carry_.clear();
        line(last);
    }
    ended_ = true;
    return fault_.kind == FaultKind::none;
}

bool NumberTable::line(std::string_view text) {
    bool going_on = true;
    if (text.size() > kLongestLine) {
        going_on = reject(FaultKind::long_line, 0, {});
    } else if (text.empty() || (is_blank(text.front()) && trimmed(text).empty())) {
        going_on = !layout_.ends_at_blank_line;
    } else if (text.front() != '#') {
        going_on = row(text);
    }
    ++line_;
    return going_on;
}

// The character after `text` is a line end or, after the last line, NUL.
bool NumberTable::row(std::string_view text) {
    if (rows_ == room_) make_room(2 * room_);
    const char* at = text.data();
    const char* const end = at + text.size();
    const char delimiter = layout_.delimiter;
    if (delimiter == ' ') {
        while (at < end && is_blank(*at)) ++at;
    }
    FaultKind bad = FaultKind::none;
    int bad_column = 0;
    std::string_view bad_cell;
    std::size_t wanted = 0;
    int cells = 0;
    const char* last = at;
    while (at) {
        const char* stop = nullptr;
        if (wanted < layout_.columns.size() && layout_.columns[wanted].index == cells) {
            const CellKind kind = layout_.columns[wanted].kind;
            double value = 0;
            const char* p = at;
            while (*p == ' ') ++p;
            stop = usual_number(p, value);
            if (stop && delimiter != ' ') {
                while (*stop == ' ') ++stop;
            }
            FaultKind fault = FaultKind::none;
            if (!stop || (stop < end && *stop != delimiter && !(delimiter == ' ' && is_blank(*stop)))) {
                stop = cell_end(at, end, delimiter);
                fault = any_number(unquoted({at, static_cast<std::size_t>(stop - at)}), value);
                if (fault != FaultKind::none && kind == CellKind::optional) {
                    fault = FaultKind::none;
                    value = std::numeric_limits<double>::quiet_NaN();
                }
            }
            if (kind != CellKind::whole) {
                values_[wanted].numbers[rows_] = value;
            } else if (std::abs(value) <= kLargestWhole && value == std::floor(value)) {
                values_[wanted].wholes[rows_] = static_cast<std::int64_t>(value);
            } else if (fault == FaultKind::none) {
                fault = std::abs(value) > kLargestWhole ? FaultKind::too_large : FaultKind::not_whole;
            }
            if (fault != FaultKind::none && bad == FaultKind::none) {
                bad = fault;
                bad_column = cells + 1;
                bad_cell = unquoted({at, static_cast<std::size_t>(stop - at)});
            }
            ++wanted;
        } else {
            stop = cell_end(at, end, delimiter);
        }
        ++cells;
        last = at;
        at = next_cell(stop, end, delimiter);
    }
    if (cells != layout_.cells_per_row) {
        // A delimiter after the last cell adds an empty one.
        const bool last_is_empty = trimmed({last, static_cast<std::size_t>(end - last)}).empty();
        if (cells != layout_.cells_per_row + 1 || !last_is_empty)
            return reject(FaultKind::ragged, 0, std::to_string(cells));
    }
    if (bad != FaultKind::none) return reject(bad, bad_column, bad_cell);
    ++rows_;
    return true;
}

bool NumberTable::reject(FaultKind kind, int column, std::string_view cell) {
    Fault fault{kind, line_, column, std::string(cell.substr(0, kShownCell))};
    if (!layout_.skip_bad_rows) {
        fault_ = std::move(fault);
        return false;
    }
    if (skipped_.empty()) first_skipped_ = std::move(fault);
    ++skipped_[kind];
    return true;
}

}  // namespace flatmetric
