// Text that the compiler can make: a buffer of fixed size, and numbers as people read them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string_view>

#include <meshtf/core/dim.hpp>

namespace meshtf {
inline namespace v0 {

/// Text of at most `Capacity` characters, as a literal value: made in constant evaluation, kept in a
/// constant, printed at run time, or used as a template argument. Text that does not fit stops the compiler,
/// or throws at run time.
template<std::size_t Capacity>
struct fixed_text {
  // public, so that a text can be a template argument
  std::size_t count = 0;
  char characters[Capacity + 1]{};

  constexpr fixed_text() = default;
  constexpr fixed_text(std::string_view text) { *this += text; }
  constexpr fixed_text(char const* text) : fixed_text(std::string_view{text}) {}

  constexpr std::string_view view() const { return {characters, count}; }
  constexpr operator std::string_view() const { return view(); }
  constexpr char const* c_str() const { return characters; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }

  constexpr fixed_text& operator+=(std::string_view text) {
    if (text.size() > Capacity - count) throw "meshtf: a text is longer than its fixed_text";
    std::copy(text.begin(), text.end(), characters + count);
    count += text.size();
    return *this;
  }
  constexpr fixed_text& operator+=(char const* text) { return *this += std::string_view{text}; }
  constexpr fixed_text& operator+=(char c) { return *this += std::string_view{&c, 1}; }

  /// Appends `c` `n` times.
  constexpr fixed_text& fill(std::size_t n, char c) {
    for (std::size_t i = 0; i < n; ++i) *this += c;
    return *this;
  }

  template<std::convertible_to<std::string_view> Text>
  friend constexpr bool operator==(fixed_text const& a, Text const& b) {
    return a.view() == std::string_view{b};
  }
  template<class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                                      fixed_text const& text) {
    return out << text.view();
  }
};

/// A number as text.
using short_text = fixed_text<63>;

/// A number as text: "1234567".
constexpr short_text number_text(extent n) {
  char reversed[32]{};
  std::size_t count = 0;
  bool const below  = n < 0;
  do {
    int const digit   = static_cast<int>(n % 10);
    reversed[count++] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
    n /= 10;
  } while (n != 0);
  short_text text;
  if (below) text += '-';
  while (count > 0) text += reversed[--count];
  return text;
}

/// A number as text, with commas between thousands: "1,234,567".
constexpr short_text thousands_text(extent n) {
  short_text const plain = number_text(n);
  short_text text;
  for (std::size_t i = 0; i < plain.count; ++i) {
    text += plain.characters[i];
    std::size_t const left = plain.count - 1 - i;
    if (left > 0 && left % 3 == 0 && plain.characters[i] != '-') text += ',';
  }
  return text;
}

/// 12.35: rounded to `decimals` decimals. A value without digits to show is "nan", "inf" or "-inf"; a number
/// of more than 18 digits, decimals included, is shown as infinite too.
constexpr short_text decimal_text(double x, int decimals) {
  extent scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  bool const below = x < 0;
  if (x != x) return "nan";
  if ((below ? -x : x) * static_cast<double>(scale) > 9e17) return below ? "-inf" : "inf";
  extent const whole = static_cast<extent>((below ? -x : x) * static_cast<double>(scale) + 0.5);
  short_text text;
  if (below && whole != 0) text += '-';
  text += number_text(whole / scale);
  if (decimals == 0) return text;
  text += '.';
  short_text const fraction = number_text(whole % scale);
  text.fill(static_cast<std::size_t>(decimals) - fraction.count, '0');
  return text += fraction;
}

namespace detail {

/// Three significant digits: 1.23, 12.3, 123; from 1000 on, a whole number: 1234.
constexpr short_text three_digits(double x) {
  double const size = x < 0 ? -x : x;
  if (size < 9.995) return decimal_text(x, 2);
  return decimal_text(x, size < 99.95 ? 1 : 0);
}

}  // namespace detail

/// 512 B, 1.50 KiB, 24.0 GiB.
constexpr short_text bytes_text(extent bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double size                        = static_cast<double>(bytes);
  std::size_t unit                   = 0;
  for (; (size >= 1023.5 || size <= -1023.5) && unit < 5; ++unit) size /= 1024;
  short_text text = unit == 0 ? number_text(bytes) : detail::three_digits(size);
  text += ' ';
  return text += units[unit];
}

/// 1.23 G, 45.6 T: counts such as flops, in powers of 1000.
constexpr short_text count_text(extent n) {
  constexpr std::string_view units[] = {"", " k", " M", " G", " T", " P", " E"};
  double size                        = static_cast<double>(n);
  std::size_t unit                   = 0;
  for (; (size >= 999.5 || size <= -999.5) && unit < 6; ++unit) size /= 1000;
  short_text text = unit == 0 ? number_text(n) : detail::three_digits(size);
  return text += units[unit];
}

/// 3.20 us, 45.6 ms, 1.05 s.
constexpr short_text seconds_text(double seconds) {
  constexpr std::string_view units[] = {"s", "ms", "us", "ns"};
  std::size_t unit                   = 0;
  double const size                  = seconds < 0 ? -seconds : seconds;
  double factor                      = 1;
  for (; unit < 3 && size * factor < 0.9995 && size != 0; ++unit) factor *= 1000;
  short_text text = detail::three_digits(seconds * factor);
  text += ' ';
  return text += units[unit];
}

/// `text` at the left or right end of a column of `width` characters; longer text is not cut.
constexpr fixed_text<255> left_column(std::string_view text, std::size_t width) {
  fixed_text<255> column{text};
  return column.fill(width > text.size() ? width - text.size() : 0, ' ');
}
/// The same, with the text at its right end.
constexpr fixed_text<255> right_column(std::string_view text, std::size_t width) {
  fixed_text<255> column;
  column.fill(width > text.size() ? width - text.size() : 0, ' ');
  return column += text;
}

}  // namespace v0
}  // namespace meshtf
