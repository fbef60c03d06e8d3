// Feeds random text to the table parser: in pieces and whole must give the same result, without reading out of bounds.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "text/number_table.hpp"

using namespace flatmetric;

namespace {

std::string random_text(std::mt19937& rng) {
    static const char* const kTokens[] = {"1",     "-2.5",    "3e5",
                                          "nan",   "1e400",   "0.1234567890123456789",
                                          "\"4\"", "\"a,b\"", "x",
                                          ",",     ",",       ",",
                                          "\n",    "\r\n",    "\r",
                                          " ",     "\t",      "#",
                                          "\"",    "\0",      "9007199254740993",
                                          "-",     "e",       ".",
                                          "\n"};
    std::string text;
    for (int tokens = static_cast<int>(rng() % 60); tokens > 0; --tokens) {
        const char* const token = kTokens[rng() % (sizeof kTokens / sizeof *kTokens)];
        text.append(token, token[0] ? std::strlen(token) : 1);
    }
    return text;
}

struct Outcome {
    Fault fault;
    std::int64_t lines;
    std::vector<NumberTable::Values> values;
};

// Each piece lies in memory of exactly its size, so that a read beyond it is caught.
Outcome parsed(const TableLayout& layout, const std::string& text, std::mt19937& rng, bool whole) {
    NumberTable table(layout);
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t size = whole ? text.size() : 1 + rng() % (text.size() - at);
        const std::unique_ptr<char[]> piece(new char[size]);
        std::memcpy(piece.get(), text.data() + at, size);
        if (!table.feed({piece.get(), size})) break;
        at += size;
    }
    table.finish();
    return {table.fault(), table.lines(), table.take()};
}

bool same(const Column<double>& a, const Column<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::mt19937 rng(7);
    long long count = 0;
    for (; std::chrono::steady_clock::now() < end; ++count) {
        const char delimiter = ", \t"[rng() % 3];
        const TableLayout layout{delimiter,
                                 {{0, CellKind::whole}, {1, CellKind::number}, {2, CellKind::optional}},
                                 3,
                                 rng() % 2 == 0,
                                 rng() % 2 == 0,
                                 0};
        const std::string text = random_text(rng);
        const Outcome all = parsed(layout, text, rng, true);
        const Outcome pieces = parsed(layout, text, rng, false);
        const bool fine = all.fault.kind == pieces.fault.kind && all.fault.line == pieces.fault.line &&
                          all.lines == pieces.lines && all.values[0].wholes == pieces.values[0].wholes &&
                          same(all.values[1].numbers, pieces.values[1].numbers) &&
                          same(all.values[2].numbers, pieces.values[2].numbers);
        if (!fine) {
            std::fprintf(stderr, "text in pieces differs from text as a whole:\n%s\n", text.c_str());
            return 1;
        }
    }
    std::printf("%lld texts parsed\n", count);
    return 0;
}
