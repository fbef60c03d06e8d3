#pragma once

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

// What compilers and standard libraries spell differently.
namespace flatmetric {

// How many bits above the highest that is set; the number is not 0.
inline int leading_zeros(std::uint64_t number) {
#if defined(_MSC_VER)
    unsigned long highest;
    _BitScanReverse64(&highest, number);
    return 63 - static_cast<int>(highest);
#else
    return __builtin_clzll(number);
#endif
}

// The upper 64 bits of a product.
inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(_MSC_VER)
    return __umulh(a, b);
#else
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#endif
}

// std::from_chars for doubles, which the standard library of macOS lacks: no blanks, no plus, no hexadecimals.
inline std::from_chars_result double_from_chars(const char* begin, const char* end, double& value) {
#if defined(__cpp_lib_to_chars) || defined(_MSC_VER)
    return std::from_chars(begin, end, value);
#else
    const std::string text(begin, end);
    const std::size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
    const bool starts = sign < text.size() && text.find_first_of("0123456789.iInN", sign) == sign;
    if (!starts || text.find_first_of("xX") != std::string::npos) return {begin, std::errc::invalid_argument};
    char* stopped = nullptr;
    errno = 0;
#if defined(__APPLE__)
    const double found = strtod_l(text.c_str(), &stopped, nullptr);  // in the C locale, whatever the user's is
#else
    const double found = std::strtod(text.c_str(), &stopped);
#endif
    if (stopped == text.c_str()) return {begin, std::errc::invalid_argument};
    const char* const place = begin + (stopped - text.c_str());
    if (errno == ERANGE) return {place, std::errc::result_out_of_range};
    value = found;
    return {place, std::errc{}};
#endif
}

}  // namespace flatmetric
