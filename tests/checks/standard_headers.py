#!/usr/bin/env python3
"""A header includes the standard headers of what it names, itself or through a header of ours: standard_headers.py FOLDER

What the standard library's headers include of one another differs from version to version, so it does not count. The compilers see this only where
each header is compiled without precompiled headers, as in long runs.
"""
import functools
import re
import sys
from pathlib import Path

names = {   # header: the names of namespace std that it declares, of those that are used here
    "algorithm": "all_of any_of clamp copy copy_n count count_if equal fill fill_n find find_if for_each is_sorted max_element min_element minmax "
                 "nth_element partial_sort remove_if replace reverse rotate sort stable_sort transform unique upper_bound lower_bound",
    "array": "array to_array", "atomic": "atomic memory_order_relaxed memory_order_acquire memory_order_release",
    "bit": "bit_cast popcount countr_zero countl_zero bit_width has_single_bit bit_ceil rotl endian",
    "charconv": "from_chars to_chars", "cmath": "abs sqrt exp log tanh erf isfinite isnan isinf pow floor ceil lround fabs log2 cos sin",
    "concepts": "same_as convertible_to integral floating_point invocable derived_from default_initializable", "condition_variable": "condition_variable",
    "cstddef": "size_t byte ptrdiff_t nullptr_t", "cstdint": "int32_t int64_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t uintptr_t",
    "cstdio": "fprintf printf snprintf fflush fopen fclose fputs fwrite", "cstdlib": "getenv abort exit free malloc _Exit",
    "cstring": "memcpy memset memcmp strlen strcmp strerror memmove", "deque": "deque", "exception": "exception uncaught_exceptions terminate exception_ptr",
    "filesystem": "filesystem", "forward_list": "forward_list", "fstream": "ifstream ofstream", "functional": "function hash reference_wrapper",
    "initializer_list": "initializer_list", "limits": "numeric_limits", "map": "map multimap", "memory": "unique_ptr shared_ptr make_unique make_shared",
    "mutex": "mutex lock_guard unique_lock scoped_lock", "new": "bad_alloc align_val_t", "numbers": "numbers", "numeric": "accumulate iota gcd lcm",
    "optional": "optional nullopt", "random": "mt19937 mt19937_64", "set": "set", "source_location": "source_location", "span": "span dynamic_extent",
    "sstream": "ostringstream istringstream stringstream", "stdexcept": "runtime_error invalid_argument logic_error out_of_range",
    "string": "string to_string stoi stol getline", "string_view": "string_view", "system_error": "errc error_code generic_category", "thread": "thread",
    "tuple": "tuple apply tie make_tuple tuple_cat forward_as_tuple tuple_size_v tuple_element_t",
    "type_traits": "is_same_v conditional_t remove_cvref_t decay_t enable_if_t true_type false_type integral_constant bool_constant is_empty_v is_void_v "
                   "is_base_of_v is_constant_evaluated type_identity invoke_result_t remove_const_t common_type_t underlying_type_t",
    "unordered_map": "unordered_map", "utility": "forward move swap exchange pair index_sequence make_index_sequence integer_sequence declval index_sequence_for "
                                                 "as_const in_range cmp_less unreachable", "variant": "variant visit", "vector": "vector",
}
also_in = {   # what the standard says is declared by another header too
    "size_t": "cstdio cstdlib cstring ctime", "abs": "cstdlib", "swap": "string_view", "initializer_list": "utility string vector array",
    "tuple_size_v": "array utility", "tuple_element_t": "array utility", "pair": "map", "move": "algorithm", "getline": "string", "ptrdiff_t": "",
    "index_sequence": "", "exception": "stdexcept", "hash": "string memory optional", "bad_alloc": "", "error_code": "",
}
header_of = {name: header for header, line in names.items() for name in line.split()}
root = Path(sys.argv[1]).resolve() / "include"
headers = {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.hpp"))}


@functools.lru_cache(maxsize=None)
def includes(header):
    return re.findall(r"^ *# *include <([^>]+)>", headers[header], re.M)


def reached(header):
    seen, rest = set(), [header]
    while rest:
        for included in includes(rest.pop()):
            if included not in seen:
                seen.add(included)
                if included in headers:
                    rest.append(included)
    return seen


problems = []
for header, text in headers.items():
    code = re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", "", text)
    there = reached(header)
    lacking = {}
    for name in set(re.findall(r"\bstd::(\w+)", code)):
        wanted = header_of.get(name)
        if wanted and wanted not in there and not there & set(also_in.get(name, "").split()):
            lacking.setdefault(wanted, []).append(name)
    problems.extend(f"include/{header}: expected #include <{wanted}>, for std::{', std::'.join(sorted(used))}" for wanted, used in sorted(lacking.items()))
print("\n".join(problems))
sys.exit(1 if problems else 0)
