#!/bin/bash
# Kernels for two architectures in one program, and sources of a program for two architectures: architectures.sh ROOT COMPILER CMAKE
#
# The kernel here is small, so that this takes seconds; include/meshtf-architectures.cmake does with it what it does with all of them.
set -u
root=$1 compiler=$2 cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 70
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the architectures are those of x86-64"; exit 77; }
"$compiler" -march=native -dM -E -x c++ /dev/null | grep -q __AVX512VL__ || { echo "skipped: this processor has no AVX-512"; exit 77; }
unique=; [[ $compiler == *clang* ]] || unique=-fno-gnu-unique
failed=0
fail() { echo "$1"; failed=1; }

# A kernel as plan/ declares it: a member of its task.
cat >task.hpp <<'END'
#include <meshtf/core/element.hpp>
namespace meshtf {
inline namespace v0 {
namespace task {
template<Element T>
struct sum_up {
  T first;
  void compute(extent n, T const* x, T* sum) const;
};
}  // namespace task
}  // namespace v0
}  // namespace meshtf
END
cat >part.cpp <<'END'
#define MESHTF_COMPILED_PART 1
#include <vector>
#include <meshtf/kernel/architecture.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <task.hpp>
namespace meshtf {
inline namespace v0 {
namespace kernel {
template<Element T>
void fill(extent n, T value, T* z) {
  if (n < 0) throw data_error("fewer than none");
  std::vector<T> values(static_cast<std::size_t>(n));   // code of this architecture, in a function that any source may have
  for (auto& v : values) v += value;
  parallel_for(n, 1, worth_dividing, [&](extent begin, extent end, int) {
    for (; begin < end; ++begin) z[begin] = values[static_cast<std::size_t>(begin)];
  });
}
template void fill(extent, float, float*);
}  // namespace kernel
namespace task {
template<Element T>
void sum_up<T>::compute(extent n, T const* x, T* sum) const {
  *sum = first;
  for (extent i = 0; i < n; ++i) *sum += x[i];
}
template struct sum_up<float>;
}  // namespace task
}  // namespace v0
}  // namespace meshtf
END
cat >start.cpp <<'END'
#define MESHTF_COMPILED_START 1
#define MESHTF_COMPILED 1
#define MESHTF_FOR_EACH_ARCHITECTURE(X) X(avx2) X(avx512)
#include <meshtf/kernel/chosen_kernels.hpp>
END
cat >main.cpp <<'END'
#include <cstdio>
#include <vector>
#include <meshtf/kernel/architecture.hpp>
#include <meshtf/kernel/parallel.hpp>
#include <meshtf/kernel/whole_arrays.hpp>
#include <task.hpp>
using namespace meshtf;
int main() {
  std::vector<float> z(1000);
  kernel::use_threads(2);
  kernel::fill(extent{1000}, 2.F, z.data());
  kernel::use_threads(1);
  for (float v : z) if (v != 2.F) return 1;
  float sum = 0;
  task::sum_up<float>{5.F}.compute(extent{1000}, z.data(), &sum);
  if (sum != 2005.F) return 4;
  try {
    kernel::fill(extent{-1}, 2.F, z.data());
    return 2;
  } catch (data_error const& e) {
    if (error::latest().text != e.what() || error::latest().exit_status != 65) return 3;
  }
  std::puts(std::string{kernel::kernels_instruction_set()}.c_str());
}
END
flags="-std=c++20 -O1 -Wall -Wextra -Werror -I$root/include -I."
for name in avx2 avx512; do
  march=x86-64-v3; [ $name = avx2 ] || march=x86-64-v4
  # shellcheck disable=SC2086
  "$compiler" ${flags/-O1/-O0} $unique -fPIC -DMESHTF_ARCHITECTURE=$name -march=$march -c part.cpp -o part.$name.o || exit 70
  printf '%s' "$work/part.$name.o" >$name.objects
done
# shellcheck disable=SC2086
{ "$compiler" $flags -c start.cpp && "$compiler" $flags -DMESHTF_COMPILED -c main.cpp; } || exit 70
"$cmake" -DFOLDER="$work" -DARCHITECTURES=avx2,avx512 -DLINKER=ld -DOBJCOPY=objcopy -DNM=nm -DASSEMBLER="$compiler" \
  -P "$root/include/meshtf-architectures.cmake" || exit 70

# No symbol can be seen from outside but kernels, under names that say the architecture; and no code of it runs at start.
nm part.avx512.o | grep -q " W _ZNSt6vectorIf" || fail "expected a function of std::vector<float> in the kernel's object: then this test would see it"
for name in avx2 avx512; do
  others=$(nm --defined-only --extern-only $name.o | grep -v "\.$name\$")
  [ -z "$others" ] || fail "expected only names that end in .$name in the object of $name, got $others"
  ! readelf -SW $name.o | grep -q '\.init_array' || fail "expected nothing in the object of $name that runs at start"
done

"$compiler" main.o start.o kernels.o avx2.o avx512.o -pthread -o program || exit 70
says() {   # STATUS WORDS [VARIABLE=VALUE]: what the program says
  local status=$1 words=$2 said got
  shift 2
  said=$(env "$@" ./program 2>&1)
  got=$?
  { [ $got = "$status" ] && [[ $said =~ $words ]]; } || fail "expected status $status and '$words' with '$*', got $got and '$said'"
}
says 0 '^avx512$'
says 0 '^avx512$' MESHTF_ARCHITECTURES=
says 0 '^avx512$' 'MESHTF_ARCHITECTURES=avx2;avx512'
says 0 '^avx2$' MESHTF_ARCHITECTURES=avx2
says 64 "^meshtf: expected MESHTF_ARCHITECTURES to name kernels that this program has \(avx2, avx512\), got 'sse2'" MESHTF_ARCHITECTURES=sse2

# What would run at start, for whatever processor, is found when the kernels are put together.
mkdir starts
printf '#include <cstdlib>\nint chosen_at_start = std::rand();\n' | cat - part.cpp >starts/part.cpp   # <iostream> would do with g++ 12 alone
# shellcheck disable=SC2086
"$compiler" ${flags/-O1/-O0} $unique -fPIC -DMESHTF_ARCHITECTURE=avx512 -march=x86-64-v4 -c starts/part.cpp -o starts/part.o || exit 70
printf '%s' "$work/starts/part.o" >starts/avx512.objects
said=$("$cmake" -DFOLDER="$work/starts" -DARCHITECTURES=avx512 -DLINKER=ld -DOBJCOPY=objcopy -DNM=nm -DASSEMBLER="$compiler" \
  -P "$root/include/meshtf-architectures.cmake" 2>&1)
[[ $said == *"expected nothing in the kernels for avx512 that runs at start"* ]] || fail "expected kernels with a variable that is computed at start to be refused, got '$said'"

# So is what the linker would still take for something that other sources have, too: a tool that leaves a name as it is stands for it here.
mkdir seen
printf '%s' "$work/part.avx512.o" >seen/avx512.objects
printf '#!/bin/bash\n[[ "$*" == *--redefine-syms* ]] && exec objcopy "${@:2}"\nexec objcopy "$@"\n' >seen/objcopy
chmod +x seen/objcopy
said=$("$cmake" -DFOLDER="$work/seen" -DARCHITECTURES=avx512 -DLINKER=ld -DOBJCOPY="$work/seen/objcopy" -DNM=nm -DASSEMBLER="$compiler" \
  -P "$root/include/meshtf-architectures.cmake" 2>&1)
[[ $(tr -s ' \n' ' ' <<<"$said") == *"that can be seen from outside but names that end in .avx512"*"_ZN6meshtf2v06kernel"* ]] || fail "expected kernels under their own names to be refused, got '$said'"

# Two sources for two architectures have no loop around the same function in common, of which the linker would keep one.
cat >twice.cpp <<'END'
#include <meshtf/kernel/kernels.hpp>
struct twice {
  float operator()(float x) const { return x + x; }
};
void NAME(meshtf::nest_steps const& s, float* z, float const* x) {
  meshtf::kernel::execute(meshtf::task::map<twice, float, float>{twice{}}, s, meshtf::place_in_mesh{}, z, x);
}
END
for march in x86-64 x86-64-v3 x86-64-v4; do
  # shellcheck disable=SC2086
  "$compiler" ${flags/-O1/-O0} -DMESHTF_COMPILED -DNAME="of_${march//-/_}" -march=$march -c twice.cpp -o twice.$march.o || exit 70
  nm --defined-only twice.$march.o | awk '$2 == "W" {print $3}' | grep 5twice | grep -E 'plain_(loop|rows)' | sort >loops.$march
  [ -s loops.$march ] || fail "expected loops around a function of the program's own, compiled for $march"
done
common=$(sort loops.* | uniq -d)
[ -z "$common" ] || fail "expected no loop to be the same for two architectures, got $common"

# Linked, whichever comes first, each of them is right. Their kernels come from the headers: the compiled library is not here.
cat >sums.cpp <<'END'
#include <vector>
#include <meshtf/kernel/nest.hpp>
float NAME(int n) {   // of 2 x for all x of an array of n, read as it lies and across
  using namespace meshtf;
  std::vector<float> x(static_cast<std::size_t>(n * n)), z(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  auto const twice = [](auto const& a) { return a + a; };
  std::vector<extent> const loops{n, n}, all{n * n};
  dim_list down, across, one;
  down.push_back(0), down.push_back(1), across.push_back(1), across.push_back(0), one.push_back(0);
  std::vector<dim_list> const straight{down, down}, turned{across, down}, joined{one, {}};
  kernel::map_nest(plan_nest(loops, straight), twice, z.data(), static_cast<float const*>(x.data()));
  float total = 0, sum = 0;
  for (float v : z) total += v;
  kernel::map_nest(plan_nest(loops, turned), function::identity{}, z.data(), static_cast<float const*>(x.data()));
  for (std::size_t i = 0; i < z.size(); ++i)
    if (z[i] != x[i % static_cast<std::size_t>(n) * static_cast<std::size_t>(n) + i / static_cast<std::size_t>(n)]) return -1;
  kernel::reduce_nest<reduction::sum>(plan_nest(all, joined), function::identity{}, &sum, static_cast<float const*>(x.data()));
  return total == 2 * sum ? sum : -1;
}
END
cat >sums_main.cpp <<'END'
float of_x86_64(int), of_x86_64_v3(int), of_x86_64_v4(int);
int main() {
  for (int n = 3; n < 50; n += 13) {
    float sum = 0;
    for (int i = 0; i < n * n; ++i) sum += static_cast<float>(i % 7);
    if (of_x86_64(n) != sum || of_x86_64_v3(n) != sum || of_x86_64_v4(n) != sum) return 1;
  }
}
END
for march in x86-64 x86-64-v3 x86-64-v4; do
  # shellcheck disable=SC2086
  "$compiler" $flags -DNAME="of_${march//-/_}" -march=$march -c sums.cpp -o sums.$march.o || exit 70
done
# shellcheck disable=SC2086
"$compiler" $flags -c sums_main.cpp || exit 70
for order in "x86-64 x86-64-v3 x86-64-v4" "x86-64-v4 x86-64-v3 x86-64"; do
  # shellcheck disable=SC2046
  "$compiler" sums_main.o $(printf 'sums.%s.o ' $order) -pthread -o sums && ./sums || fail "expected sources for $order to be one program that is right"
done
exit $failed
