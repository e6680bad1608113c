// The hash of a cost: two programs with the same predicted cost have the same hash.
#pragma once

#include <cstdint>
#include <string_view>

#include <meshtf/core/name.hpp>
#include <meshtf/price/cost.hpp>

namespace meshtf {
inline namespace v0 {

/// FNV-1a, 64 bits, of integers (their eight bytes, lowest first) and of text.
/// Source: Fowler, Noll, Vo; constants of http://www.isthe.com/chongo/tech/comp/fnv.
class fnv1a {
public:
  constexpr fnv1a& operator<<(std::uint64_t number) {
    for (int i = 0; i < 8; ++i) add(static_cast<unsigned char>(number >> 8 * i & 0xff));
    return *this;
  }
  constexpr fnv1a& operator<<(std::string_view text) {
    for (char c : text) add(static_cast<unsigned char>(c));
    return *this << text.size();
  }
  /// Hashes what all processes that make a call must have in common. The call site is not part of it.
  constexpr fnv1a& operator<<(collective_call const& c) {
    return *this << static_cast<std::uint64_t>(c.kind) << static_cast<std::uint64_t>(c.op)
                 << static_cast<std::uint64_t>(c.type) << c.over << static_cast<std::uint64_t>(c.count)
                 << static_cast<std::uint64_t>(c.payload);
  }
  constexpr std::uint64_t value() const { return value_; }

private:
  constexpr void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// The hash of everything that processes must have in common: the names and sizes of the mesh's axes; of each
/// collective, in order, its kind, operator, element type, axes, count, payload and how often it is repeated;
/// flops, parameter bytes and peak. Call sites do not count.
template<Mesh M, std::size_t Capacity>
constexpr std::uint64_t hash_of(cost<M, Capacity> const& c) {
  fnv1a hash;
  [&hash]<class... A>(axes<A...>) {
    ((hash << name_of<A>() << static_cast<std::uint64_t>(A::size)), ...);
  }(typename M::all_axes{});
  c.for_each_collective([&hash](collective_call const& call, extent times) {
    hash << call << static_cast<std::uint64_t>(times);
  });
  for (extent figure : {c.flops(), c.elementwise_flops(), c.parameter_bytes(), c.peak_bytes()})
    hash << static_cast<std::uint64_t>(figure);
  return hash.value();
}

}  // namespace v0
}  // namespace meshtf
