// Random problems for the core, decoded from bytes, each answer checked from the inputs alone.
//
// With libFuzzer (clang, -fsanitize=fuzzer and -DUSE_LIBFUZZER) the bytes are its own; otherwise `main` draws them for
// the given number of seconds. A wrong answer aborts with the problem's size; the bytes decide everything, so that a
// failing input can be replayed: fuzz FILE.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "frames/solve.hpp"

using namespace flatmetric;

namespace {

// Takes values off the input; an exhausted input gives zeros.
class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
    unsigned byte() { return at_ < end_ ? *at_++ : 0; }
    unsigned below(unsigned bound) { return ((byte() << 8) | byte()) % bound; }
    double unit() { return below(65536) / 65536.0; }

private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

struct Problem {
    int dim = 2;
    double lam = 1.0;
    std::vector<double> truth, pred, truth_mass, pred_mass;
    std::vector<std::int64_t> truth_frame, pred_frame;
    bool weighted = false;
    bool framed = false;
    int threads = 1;
    Method method = Method::automatic;
};

// Coordinates beyond the input's own bytes come from a generator that the bytes seed, so that large problems occur too.
void fill(Bytes& bytes, Problem& problem, std::vector<double>& coords, std::vector<double>& mass,
          std::vector<std::int64_t>& frame, unsigned n, unsigned kind, double scale) {
    std::mt19937_64 random(bytes.below(65536));
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (unsigned i = 0; i < n; ++i) {
        for (int k = 0; k < problem.dim; ++k) {
            double c = n > 40 ? uniform(random) : bytes.unit();
            if (kind == 1) c = std::floor(c * 5.0);                           // lattice
            if (kind == 2) c = k == 0 ? c : 0.25;                             // on a line
            if (kind == 3) c = std::floor(c * 2.0) * 0.3;                     // repeated points
            if (kind == 4) c = std::floor(c * 3.0) + uniform(random) * 0.05;  // clusters
            coords.push_back(c * scale);
        }
        const unsigned m = bytes.byte();
        mass.push_back(m < 40 ? 0.0 : m < 128 ? 1.0 : std::ldexp(1.0 + uniform(random), static_cast<int>(m % 40) - 20));
        frame.push_back(static_cast<std::int64_t>(random() % 5) - 2);
    }
}

Problem decode(Bytes& bytes) {
    Problem problem;
    const unsigned flags = bytes.byte();
    problem.dim = 1 + static_cast<int>(bytes.below(5));
    problem.weighted = (flags & 1) != 0;
    problem.framed = (flags & 2) != 0;
    problem.threads = (flags & 4) != 0 ? 3 : 1;
    problem.method = static_cast<Method>(bytes.below(5));
    const unsigned largest = (flags & 8) != 0 ? 700 : 30;
    const unsigned n = bytes.below(largest + 1);
    const unsigned m = (flags & 16) != 0 ? n : bytes.below(largest + 1);
    const unsigned kind = bytes.below(5);
    const double scale = std::pow(10.0, static_cast<double>(bytes.below(19)) - 9.0);
    problem.lam = scale * std::pow(10.0, bytes.unit() * 5.0 - 3.0);
    fill(bytes, problem, problem.truth, problem.truth_mass, problem.truth_frame, n, kind, scale);
    fill(bytes, problem, problem.pred, problem.pred_mass, problem.pred_frame, m, kind, scale);
    if ((flags & 32) != 0 && n == m && !problem.weighted && !problem.framed) {
        problem.lam = std::numeric_limits<double>::infinity();
    }
    return problem;
}

void require(bool holds, const char* what, const Problem& problem) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s (dim %d, %zu x %zu, lam %g, weighted %d, framed %d, method %d)\n", what,
                 problem.dim, problem.truth_mass.size(), problem.pred_mass.size(), problem.lam, problem.weighted,
                 problem.framed, static_cast<int>(problem.method));
    std::abort();
}

double norm(const Problem& problem, std::size_t i, std::size_t j) {
    return distance<0>(problem.truth.data() + i * problem.dim, problem.pred.data() + j * problem.dim, problem.dim);
}

void check(const Problem& problem, const Solution& solution) {
    const auto mass = [&](const std::vector<double>& given, std::size_t i) {
        return problem.weighted ? given[i] : 1.0;
    };
    const std::size_t n = problem.truth_mass.size();
    const std::size_t m = problem.pred_mass.size();
    double largest = 0.0;
    double total = 0.0;
    std::vector<double> truth_left(n), pred_left(m);
    for (std::size_t i = 0; i < n; ++i) total += truth_left[i] = mass(problem.truth_mass, i);
    for (std::size_t j = 0; j < m; ++j) total += pred_left[j] = mass(problem.pred_mass, j);
    for (const double left : truth_left) largest = std::max(largest, left);
    for (const double left : pred_left) largest = std::max(largest, left);

    double cost = 0.0;
    for (std::size_t k = 0; k < solution.pairs.size(); ++k) {
        const auto i = static_cast<std::size_t>(solution.pairs.truth[k]);
        const auto j = static_cast<std::size_t>(solution.pairs.pred[k]);
        const double moved = problem.weighted ? solution.pairs.mass[k] : 1.0;
        require(i < n && j < m && moved > 0.0, "pair", problem);
        require(!problem.framed || problem.truth_frame[i] == problem.pred_frame[j], "pair across frames", problem);
        truth_left[i] -= moved;
        pred_left[j] -= moved;
        cost += moved * norm(problem, i, j);
    }
    double diameter = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) diameter = std::max(diameter, norm(problem, i, j));
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
            const double d = norm(problem, i, j);
            if (problem.framed && problem.truth_frame[i] != problem.pred_frame[j]) continue;
            const double difference = std::abs(solution.truth_potential[i] - solution.pred_potential[j]);
            require(difference <= d + 1e-10 * std::min(problem.lam, diameter), "Lipschitz", problem);
        }
    }
    const double lam = std::isinf(problem.lam) ? 0.0 : problem.lam;
    const double bound = std::isinf(problem.lam) ? std::numeric_limits<double>::infinity() : problem.lam * (1 + 1e-12);
    double dual = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        require(truth_left[i] >= -1e-12 * largest, "more moved than there is", problem);
        require(std::abs(solution.truth_potential[i]) <= bound, "potential above lam", problem);
        cost += lam * truth_left[i];
        dual += mass(problem.truth_mass, i) * solution.truth_potential[i];
    }
    for (std::size_t j = 0; j < m; ++j) {
        require(pred_left[j] >= -1e-12 * largest, "more moved than there is", problem);
        require(std::abs(solution.pred_potential[j]) <= bound, "potential above lam", problem);
        cost += lam * pred_left[j];
        dual -= mass(problem.pred_mass, j) * solution.pred_potential[j];
    }
    const double value = solution.total.displaced + solution.total.missed + solution.total.false_;
    const double tolerance = 1e-10 * std::max(std::min(problem.lam, diameter), lam) * total;
    require(std::abs(value - cost) <= tolerance, "value is not what the plan costs", problem);
    require(std::abs(solution.total.lower_bound - dual) <= tolerance, "bound is not the dual value", problem);
    require(std::abs(value - dual) <= tolerance, "the gap is open", problem);
}

void solve_and_check(const std::uint8_t* data, std::size_t size) {
    Bytes bytes(data, size);
    const Problem problem = decode(bytes);
    const auto cloud = [&](const std::vector<double>& coords, const std::vector<double>& mass,
                           const std::vector<std::int64_t>& frame) {
        return Cloud{coords.data(), static_cast<Index>(mass.size()), problem.weighted ? mass.data() : nullptr,
                     problem.framed ? frame.data() : nullptr};
    };
    check(problem, solve_frames(cloud(problem.truth, problem.truth_mass, problem.truth_frame),
                                cloud(problem.pred, problem.pred_mass, problem.pred_frame), problem.dim, problem.lam,
                                1.0, problem.method, problem.threads, {}));
}

}  // namespace

#ifdef USE_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    solve_and_check(data, size);
    return 0;
}
#else
int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "10";
    if (what.find_first_not_of("0123456789") != std::string::npos) {
        std::ifstream file(what, std::ios::binary);
        const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
        solve_and_check(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
        return 0;
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoi(what));
    std::vector<std::uint8_t> data(400);
    std::uint64_t seed = 0;
    for (; std::chrono::steady_clock::now() < end; ++seed) {
        std::mt19937_64 random(seed);
        for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(random());
        // If this problem breaks, its bytes are left to replay it.
        std::ofstream("build/fuzz-last", std::ios::binary)
            .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
        solve_and_check(data.data(), data.size());
    }
    std::printf("fuzz: %llu problems, every answer proved\n", static_cast<unsigned long long>(seed));
    return 0;
}
#endif
