# Kernels for several architectures in one program. The target meshtf::compiled runs this after the kernels are compiled:
#
#   cmake -DFOLDER=... -DARCHITECTURES=avx2,avx512 -DLINKER=... -DOBJCOPY=... -DNM=... -DASSEMBLER=... -P meshtf-architectures.cmake
#
# FOLDER/NAME.objects lists the objects of an architecture. They become FOLDER/NAME.o, in which only kernels can be seen from outside, under
# names that end in ".NAME". So the linker never takes a function of avx512, say of std::vector<float>, for one that sources without -march
# have too. FOLDER/kernels.o has the kernels under their own names: each jumps to the one of the architecture that kernel/chosen_kernels.hpp
# picks when the program starts.
cmake_minimum_required(VERSION 3.22)
string(REPLACE "," ";" architectures "${ARCHITECTURES}")

foreach(name IN LISTS architectures)
  file(READ ${FOLDER}/${name}.objects objects)
  # A group is what compilers make of an inline function, so that one of many is kept. Without groups all functions stay, next to those that call them.
  execute_process(COMMAND ${LINKER} -r --force-group-allocation -o ${FOLDER}/${name}.all.o ${objects} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${FOLDER}/${name}.all.o
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" symbols "${symbols}")
  execute_process(COMMAND ${NM} ${FOLDER}/${name}.all.o OUTPUT_VARIABLE all_symbols COMMAND_ERROR_IS_FATAL ANY)
  if(all_symbols MATCHES "_GLOBAL__sub_I[^\n]*")   # as <iostream> has: it would run on any processor
    message(FATAL_ERROR "meshtf: expected nothing in the kernels for ${name} that runs at start, ${NM} finds ${CMAKE_MATCH_0}\n")
  endif()
  set(kernels_of_${name})
  foreach(symbol IN LISTS symbols)   # what is in task:: and kernel::, but for functions that are templates of an architecture
    if(NOT symbol MATCHES "5xsimd|7no_simd" AND symbol MATCHES "^(_ZN6meshtf2v06kernel[^ ]*|_ZNK6meshtf2v04task[^ ]*7compute[^ ]*) [TW] ")
      list(APPEND kernels_of_${name} ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()

# Inline functions may be there for one architecture and not for another; what other sources ask for is instantiated for all.
list(GET architectures 0 first)
set(kernels)
foreach(kernel IN LISTS kernels_of_${first})
  set(everywhere ON)
  foreach(name IN LISTS architectures)
    if(NOT kernel IN_LIST kernels_of_${name})
      set(everywhere OFF)
    endif()
  endforeach()
  if(everywhere)
    list(APPEND kernels ${kernel})
  endif()
endforeach()
list(LENGTH kernels count)
if(count EQUAL 0)
  message(FATAL_ERROR "meshtf: expected kernels in the objects of ${ARCHITECTURES}, ${NM} finds none: is the program compiled with -flto?")
endif()

set(lines "# Made by CMake: a kernel of any architecture is called through the table of the one that runs.\n")
foreach(name IN LISTS architectures)
  set(kept)
  set(renamed)
  string(APPEND lines ".section .data.rel.ro,\"aw\",@progbits\n.balign 8\n.globl meshtf_kernels_of_${name}\n.hidden meshtf_kernels_of_${name}\n"
    "meshtf_kernels_of_${name}:\n")
  foreach(kernel IN LISTS kernels)
    string(APPEND kept "${kernel}\n")
    string(APPEND renamed "${kernel} ${kernel}.${name}\n")
    string(APPEND lines ".quad ${kernel}.${name}\n")
  endforeach()
  file(WRITE ${FOLDER}/${name}.kept "${kept}")
  file(WRITE ${FOLDER}/${name}.renamed "${renamed}")
  execute_process(COMMAND ${OBJCOPY} --keep-global-symbols=${FOLDER}/${name}.kept ${FOLDER}/${name}.all.o ${FOLDER}/${name}.local.o
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${OBJCOPY} --redefine-syms=${FOLDER}/${name}.renamed ${FOLDER}/${name}.local.o ${FOLDER}/${name}.o
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${FOLDER}/${name}.o OUTPUT_VARIABLE seen COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[^\n]*\\.${name} [^\n]*\n" "" seen "${seen}")
  if(seen MATCHES "^[^ ]+")   # a linker might take it for a function that sources for other processors have, too
    message(FATAL_ERROR "meshtf: expected nothing in the kernels for ${name} that can be seen from outside but names that end in .${name}, "
      "${NM} finds ${CMAKE_MATCH_0}\n")
  endif()
  file(REMOVE ${FOLDER}/${name}.all.o ${FOLDER}/${name}.local.o ${FOLDER}/${name}.kept ${FOLDER}/${name}.renamed)
endforeach()

string(APPEND lines ".globl meshtf_refusing_kernels\n.hidden meshtf_refusing_kernels\nmeshtf_refusing_kernels:\n"
  ".rept ${count}\n.quad meshtf_refuse_kernels\n.endr\n.hidden meshtf_kernels\n.text\n")
set(at 0)
foreach(kernel IN LISTS kernels)   # r11 belongs to nobody between a call and the function
  string(APPEND lines ".weak ${kernel}\n.type ${kernel},@function\n${kernel}:\nendbr64\nmovq meshtf_kernels(%rip),%r11\njmp *${at}(%r11)\n"
    ".size ${kernel},.-${kernel}\n")
  math(EXPR at "${at} + 8")
endforeach()
string(APPEND lines ".section .note.GNU-stack,\"\",@progbits\n")
file(WRITE ${FOLDER}/kernels.s "${lines}")
execute_process(COMMAND ${ASSEMBLER} -c ${FOLDER}/kernels.s -o ${FOLDER}/kernels.o COMMAND_ERROR_IS_FATAL ANY)
