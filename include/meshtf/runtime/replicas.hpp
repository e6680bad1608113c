// Replicas: the processes that hold the same part of a tensor, and whether its elements are equal there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/mpi/communicator.hpp>

#include <meshtf/core/elements.hpp>
#include <meshtf/core/error.hpp>
#include <meshtf/core/shard.hpp>
#include <meshtf/runtime/agree.hpp>
#include <meshtf/runtime/check.hpp>
#include <meshtf/runtime/collectives.hpp>
#include <meshtf/runtime/waiting.hpp>

namespace meshtf {
inline namespace v0 {

/// What `process_mesh::agree` does where replicas of a parameter, or of what an optimizer keeps of it,
/// differ.
enum class replicas_differ {
  /// It ends the job: `software_error`, status 70.
  end_job,
  /// Where more than half of the replicas have the same bits, the others get these again, and say so in a
  /// line on stderr. Where no half has, as with two replicas, it ends the job.
  send_again
};

namespace detail {

/// What `part` differs in from that of the other replicas, most of which count as right: an error on each
/// process that differs, null on the others. All of them call it if any differs. If the right part is to be
/// sent again and is known, `replace(it)` takes the place of the error.
template<class Machine, class T, class Replace>
std::exception_ptr difference_of_replicas(Machine const& m, boost::mpi::communicator const& replicas,
                                          std::string_view name, std::span<T const> part, std::uint64_t hash,
                                          replicas_differ policy, Replace const& replace) {
  auto const n = static_cast<std::size_t>(replicas.size());
  std::vector<std::int64_t> hashes(n);
  std::vector<std::int32_t> ranks(n);
  auto const own_hash        = static_cast<std::int64_t>(hash);
  std::int32_t const my_rank = m.rank();
  meshtf::all_gather(replicas, &own_hash, 1, hashes.data());
  meshtf::all_gather(replicas, &my_rank, 1, ranks.data());
  auto const like = [&hashes](std::int64_t h) { return std::count(hashes.begin(), hashes.end(), h); };
  auto const right =
      std::max_element(hashes.begin(), hashes.end(), [&](auto a, auto b) { return like(a) < like(b); });
  auto const its_number = static_cast<std::size_t>(right - hashes.begin());
  elements<T> of_right{part.size()};
  std::copy(part.begin(), part.end(), of_right.data());
  meshtf::broadcast(replicas, of_right.data(), static_cast<extent>(part.size()),
                    static_cast<int>(its_number));
  std::size_t position = 0;
  while (position < part.size() && std::memcmp(&part[position], of_right.data() + position, sizeof(T)) == 0)
    ++position;
  if (position == part.size()) return nullptr;
  std::string text = "the processes hold the same part of " + std::string{name} +
                     ", and it differs: element " + std::to_string(position) + " of the part is " +
                     to_compare(of_right.data()[position]).words + " on process " +
                     std::to_string(ranks[its_number]) + " and " + to_compare(part[position]).words +
                     " on process " + std::to_string(m.rank());
  bool const is_known = 2 * like(*right) > replicas.size();
  if (is_known)
    text += " (" + std::to_string(like(*right)) + " of " + std::to_string(n) + " processes have the former)";
  if (is_known && policy == replicas_differ::send_again) {
    replace(static_cast<T const*>(of_right.data()));
    std::fputs(
        ("meshtf: " + text + ": process " + std::to_string(m.rank()) + " gets the part again\n").c_str(),
        stderr);
    return nullptr;
  }
  return std::make_exception_ptr(
      software_error(text +
                     ": give all the same values, from one seed or file; if they were the same before, "
                     "a machine has failed: go on from a checkpoint"));
}

/// Compares what replicas along `over` hold: its hash, and only if that differs the elements. The error of a
/// process that differs, unless `replace` has mended it.
template<class Machine, class T, class Replace>
std::exception_ptr compare_replicas(Machine const& m, axis_set over, std::string_view name,
                                    std::span<T const> part, replicas_differ policy, Replace const& replace) {
  auto const bytes     = std::string_view{reinterpret_cast<char const*>(part.data()), part.size_bytes()};
  auto const hash      = (fnv1a{} << bytes).value();
  auto const& replicas = m.along(over);
  waiting const here{"agree"};
  if (same_everywhere(replicas, hash)) return nullptr;
  return difference_of_replicas(m, replicas, name, part, hash, policy, replace);
}

/// The same of a tensor, whose padding may differ. `replaced` counts what was mended.
template<class Machine, class X>
std::exception_ptr compare_replicas(Machine const& m, std::string_view name, X const& x,
                                    replicas_differ policy, int& replaced) {
  using T                 = typename X::element_type;
  using L                 = typename X::layout_type;
  using S                 = typename X::shape_type;
  constexpr axis_set over = replica_axes<L, S>;
  bool const is_here      = !x.handle()->is_absent();
  std::span<T const> part{x.handle()->data(), is_here ? static_cast<std::size_t>(x.size) : 0};
  elements<T> packed;
  auto const for_each_part = [&](auto const& f) {
    for_each_run(placed_dims<L, S>, m.place(), m.counted(),
                 [&f, n = extent{0}](extent local, extent, extent run) mutable {
                   f(local, n, run);
                   n += run;
                 });
  };
  if constexpr (is_uneven<L, S>) {
    if (is_here) {
      packed   = elements<T>{part.size()};
      extent n = 0;
      for_each_part([&](extent local, extent to, extent run) {
        std::copy_n(x.handle()->data() + local, run, packed.data() + to);
        n = to + run;
      });
      part = {packed.data(), static_cast<std::size_t>(n)};
    }
  }
  return compare_replicas(m, over, name, part, policy, [&](T const* right) {
    for_each_part([&](extent local, extent from, extent run) {
      std::copy_n(right + from, run, x.handle()->data() + local);
    });
    x.handle()->written();
    ++replaced;
  });
}

/// Errors: `software_error` on all processes of `m` if replicas differ; it names an element and two
/// processes.
template<class Machine, class X>
void agree_on_replicas(Machine const& m, std::string_view name, X const& x) {
  int replaced                    = 0;
  std::exception_ptr const caught = compare_replicas(m, name, x, replicas_differ::end_job, replaced);
  waiting const here{"agree"};
  meshtf::agree(m.world(), caught);
}

/// The same of all parameters of a list, and of the arrays that an optimizer keeps of them. How many arrays
/// this process got again.
template<class Machine, class List, class Optimizer>
int agree_on_replicas(Machine const& m, List const& list, Optimizer const& opt, replicas_differ policy) {
  int replaced = 0;
  std::exception_ptr caught;
  auto const keep = [&caught](std::exception_ptr const& found) {
    if (!caught) caught = found;
  };
  list.for_each_named([&]<class W>(std::string const& name, W& w) {
    using L = typename W::layout_type;
    keep(compare_replicas(m, "parameter " + name, w, policy, replaced));
    if constexpr (requires { w.zero_gradient(); })  // it is trained
      opt.for_each_array(w, [&]<class... S>(char const* what, auto const& data, auto const& parts, S...) {
        using T       = std::remove_pointer_t<decltype(data->data())>;
        axis_set over = replica_axes<L, typename W::shape_type>;
        ((over = replica_axes<L, S>), ...);  // of a shape of its own
        std::span<T const> const own{data->data(),
                                     data->is_absent() ? 0 : static_cast<std::size_t>(parts.part())};
        keep(compare_replicas(m, over & ~parts.over, std::string{what} + " of parameter " + name, own, policy,
                              [&](T const* right) {
                                std::copy_n(right, own.size(), data->data());
                                ++replaced;
                              }));
      });
  });
  waiting const here{"agree"};
  meshtf::agree(m.world(), caught);
  return replaced;
}

}  // namespace detail
}  // namespace v0
}  // namespace meshtf
