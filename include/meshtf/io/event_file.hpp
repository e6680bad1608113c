// TensorBoard's event files: records with checksums around messages in protocol buffers.
//
// The formats: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto and
// tensorflow/core/framework/summary.proto.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <meshtf/core/compiled.hpp>

#if MESHTF_DEFINES_RUNTIME
#include <array>
#include <cstring>
#include <limits>
#endif

namespace meshtf {
inline namespace v0 {
namespace detail {

/// CRC-32C (Castagnoli), which zlib does not have, as these files store it: rotated, with a number added, so
/// that a checksum of checksums is none.
struct masked_checksum {
  static std::uint32_t of(std::string_view bytes);
};

/// A message in protocol buffers.
class protobuf {
public:
  protobuf& number(unsigned field, std::uint64_t value);
  protobuf& real(unsigned field, double value);
  protobuf& real(unsigned field, float value);
  protobuf& bytes(unsigned field, std::string_view value);
  protobuf& message(unsigned field, protobuf const& value) { return bytes(field, value.bytes_); }
  protobuf& reals(unsigned field, std::span<double const> values);

  std::string const& bytes() const { return bytes_; }

private:
  void varint(std::uint64_t n);

  std::string bytes_;
};

/// Numbers counted by size: for each sign four bins to a power of two, from 2^-32 to 2^32, and one bin for
/// what is smaller. All processes count in the same bins, so the histogram of a tensor is the sum of those of
/// its parts.
struct histogram_bins {
  static constexpr int lowest          = -32;
  static constexpr int highest         = 32;
  static constexpr int in_each         = 4;
  static constexpr std::size_t of_sign = static_cast<std::size_t>(highest - lowest) * in_each;
  static constexpr std::size_t count   = 2 * of_sign + 1;

  /// Of a finite number. What is 2^32 or larger is in the last bin.
  static std::size_t bin_of(double x) {
    auto const bits = std::bit_cast<std::uint64_t>(x) & ~(std::uint64_t{1} << 63);
    // the exponent, and two bits after the point
    auto const number = static_cast<std::int64_t>(bits >> 50) - ((1023 + lowest) * in_each);
    if (number < 0) return of_sign;
    auto const k = std::min(static_cast<std::size_t>(number), of_sign - 1);
    return x < 0 ? of_sign - 1 - k : of_sign + 1 + k;
  }
  /// The largest number of a bin.
  static double limit(std::size_t bin);
};

/// What is told of the elements of a tensor.
struct histogram {
  double min_value      = 0;
  double max_value      = 0;
  double sum            = 0;
  double sum_of_squares = 0;
  double number         = 0;
  double not_finite     = 0;
  // of the bins from the first that has something to the last
  std::vector<double> limits = {};
  std::vector<double> counts = {};

  static histogram of(std::span<double const> bins, double min_value, double max_value, double sum,
                      double sum_of_squares, double not_finite);
};

/// The records of an event file.
struct event_record {
  static constexpr char const* version = "brain.Event:2";

  static std::string framed(std::string const& event);
  /// The first record of a log.
  static std::string of_version(double time);
  /// A reader that has seen later steps, before the training went back to a checkpoint, forgets them.
  static std::string of_restart(double time, std::uint64_t next_step);
  static std::string of(double time, std::uint64_t step, protobuf const& value);
  static protobuf scalar(std::string const& name, double x);
  static protobuf text(std::string const& name, std::string_view words);
  static protobuf of_histogram(std::string const& name, histogram const& h);

  /// The step of an event; nothing if it has none, such as the version.
  static std::optional<std::uint64_t> step_of(std::string_view event);
};

#if MESHTF_DEFINES_RUNTIME

MESHTF_DEFINE std::uint32_t masked_checksum::of(std::string_view bytes) {
  static auto const table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = (t[i] & 1) != 0 ? t[i] >> 1 ^ 0x82f63b78U : t[i] >> 1;
    }
    return t;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (char const c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ crc >> 8;
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

/// The bytes of a number, the lowest first, as both formats want.
template<class Number>
std::string little_endian(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

MESHTF_DEFINE protobuf& protobuf::number(unsigned field, std::uint64_t value) {
  varint(field << 3);
  varint(value);
  return *this;
}

MESHTF_DEFINE protobuf& protobuf::real(unsigned field, double value) {
  varint(field << 3 | 1);
  bytes_ += little_endian(value);
  return *this;
}

MESHTF_DEFINE protobuf& protobuf::real(unsigned field, float value) {
  varint(field << 3 | 5);
  bytes_ += little_endian(value);
  return *this;
}

MESHTF_DEFINE protobuf& protobuf::bytes(unsigned field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  bytes_ += value;
  return *this;
}

MESHTF_DEFINE protobuf& protobuf::reals(unsigned field, std::span<double const> values) {
  std::string packed;
  for (double const v : values) packed += little_endian(v);
  return bytes(field, packed);
}

MESHTF_DEFINE void protobuf::varint(std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) bytes_ += static_cast<char>(n | 0x80);
  bytes_ += static_cast<char>(n);
}

MESHTF_DEFINE double histogram_bins::limit(std::size_t bin) {
  auto const edge = [](std::size_t k) {
    return std::bit_cast<double>(
        (static_cast<std::uint64_t>(k) + static_cast<std::uint64_t>((1023 + lowest) * in_each)) << 50);
  };
  if (bin + 1 == count) return std::numeric_limits<double>::max();
  return bin < of_sign ? -edge(of_sign - 1 - bin) : edge(bin - of_sign);
}

MESHTF_DEFINE histogram histogram::of(std::span<double const> bins, double min_value, double max_value,
                                      double sum, double sum_of_squares, double not_finite) {
  histogram h{.sum = sum, .sum_of_squares = sum_of_squares, .not_finite = not_finite};
  std::size_t first = 0;
  std::size_t end   = bins.size();
  while (first < end && bins[first] == 0) ++first;
  while (end > first && bins[end - 1] == 0) --end;
  for (std::size_t i = first; i < end; ++i) {
    h.number += bins[i];
    h.limits.push_back(histogram_bins::limit(i));
    h.counts.push_back(bins[i]);
  }
  if (h.number > 0) {
    h.min_value = min_value;
    h.max_value = max_value;
  }
  return h;
}

MESHTF_DEFINE std::string event_record::framed(std::string const& event) {
  std::string const length = little_endian(std::uint64_t{event.size()});
  return length + little_endian(masked_checksum::of(length)) + event +
         little_endian(masked_checksum::of(event));
}

MESHTF_DEFINE std::string event_record::of_version(double time) {
  return framed(protobuf{}.real(1, time).bytes(3, version).bytes());
}

MESHTF_DEFINE std::string event_record::of_restart(double time, std::uint64_t next_step) {
  return framed(protobuf{}.real(1, time).number(2, next_step).message(7, protobuf{}.number(1, 1)).bytes());
}

MESHTF_DEFINE std::string event_record::of(double time, std::uint64_t step, protobuf const& value) {
  return framed(protobuf{}.real(1, time).number(2, step).message(5, protobuf{}.message(1, value)).bytes());
}

MESHTF_DEFINE protobuf event_record::scalar(std::string const& name, double x) {
  return protobuf{}.bytes(1, name).real(2, static_cast<float>(x));
}

MESHTF_DEFINE protobuf event_record::text(std::string const& name, std::string_view words) {
  auto const plugin = protobuf{}.message(1, protobuf{}.bytes(1, "text"));
  // 7: strings
  return protobuf{}.bytes(1, name).message(9, plugin).message(
      8, protobuf{}.number(1, 7).bytes(2, "").bytes(8, words));
}

MESHTF_DEFINE protobuf event_record::of_histogram(std::string const& name, histogram const& h) {
  auto const told = protobuf{}
                        .real(1, h.min_value)
                        .real(2, h.max_value)
                        .real(3, h.number)
                        .real(4, h.sum)
                        .real(5, h.sum_of_squares)
                        .reals(6, h.limits)
                        .reals(7, h.counts);
  return protobuf{}.bytes(1, name).message(5, told);
}

MESHTF_DEFINE std::optional<std::uint64_t> event_record::step_of(std::string_view event) {
  auto const varint = [&event]() -> std::uint64_t {
    std::uint64_t n = 0;
    for (int shift = 0; !event.empty() && shift < 64; shift += 7) {
      auto const byte = static_cast<unsigned char>(event[0]);
      event.remove_prefix(1);
      n |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return n;
  };
  while (!event.empty()) {
    std::uint64_t const tag = varint();
    if (tag == (2 << 3)) return varint();
    std::uint64_t size = 0;
    switch (tag & 7) {  // the wire types of protocol buffers
      case 0: varint(); break;
      case 1: size = 8; break;
      case 2: size = varint(); break;
      case 5: size = 4; break;
      default: break;
    }
    if (size > event.size()) return std::nullopt;
    event.remove_prefix(size);
  }
  return std::nullopt;
}

#endif

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
