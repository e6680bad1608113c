#!/bin/bash
# MPICH, and a Boost.MPI built for it, in a folder: mpich.sh FOLDER
#
# Debian's Boost.MPI is linked to Open MPI, and its packages of MPICH would change what mpicc and mpirun are. So nothing is installed: the packages are
# unpacked into FOLDER, and Boost.MPI is compiled from Debian's sources of the Boost that is installed. FOLDER/setup.cmake then has what CMake must be
# told (cmake -C), and FOLDER/environment what programs need (MESHTF_MPIRUN is for examples/processes).
set -u
stop() { echo "meshtf: $1" >&2; exit 69; }
. "$(dirname "${BASH_SOURCE[0]}")/../../examples/simulation/boost_mpi_sources"
mkdir -p "$1" || stop "expected a folder that can be written, got '$1'"
folder=$(cd "$1" && pwd)
place=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
cd "$folder" || exit 69
[ -f environment ] && exit 0

# The packages, without what the machine has.
mkdir -p packages root
for package in mpich libmpich12 libmpich-dev libslurm38 libucx0 libhwloc15; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] && continue
  (cd packages && apt-get -q download "$package") >>log 2>&1 || stop "expected to fetch Debian's package $package, got: $(tail -1 log)"
done
for package in packages/*.deb; do dpkg -x "$package" root || stop "expected to unpack $package"; done

boost_mpi_sources "$folder" || exit
boost=$(dpkg-query -W -f='${Version}' libboost-dev) boost=${boost%.*}
headers=$folder/root/usr/include/$place/mpich libraries=$folder/root/usr/lib/$place
mkdir -p lib cmake/boost_mpi
g++ -O2 -fPIC -shared -DBOOST_MPI_DYN_LINK -DBOOST_ALL_NO_LIB -DMPICH_SKIP_MPICXX -isystem "$headers" sources/libs/mpi/src/*.cpp \
  -o lib/libboost_mpi.so -L"$libraries" -lmpich -lboost_serialization -Wl,-rpath,"$libraries" >>log 2>&1 || stop "expected Boost.MPI to build, got: see $folder/log"

# MPICH 4.0.2 waits in a loop and never gives its core away. With more processes than cores each message then waits for the scheduler to take turns, for
# milliseconds instead of microseconds, so a test of thousands of short messages seems to hang. (Open MPI has mpi_yield_when_idle, which
# examples/processes sets.) In that loop MPICH asks UCX for progress: where there is none, the core is given away.
cat >yields.c <<END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
unsigned ucp_worker_progress(void* worker) {
  static unsigned (*progress)(void*);
  if (!progress) progress = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  unsigned const made = progress(worker);
  if (made == 0) sched_yield();
  return made;
}
END
gcc -O2 -fPIC -shared yields.c -o lib/yields.so >>log 2>&1 || stop "expected yields.c to build, got: see $folder/log"

# Found in the place of Debian's.
cat >cmake/boost_mpi/boost_mpi-config.cmake <<END
find_package(boost_serialization $boost EXACT CONFIG REQUIRED)
find_package(boost_headers $boost EXACT CONFIG REQUIRED)
add_library(Boost::mpi SHARED IMPORTED)
set_target_properties(Boost::mpi PROPERTIES IMPORTED_LOCATION $folder/lib/libboost_mpi.so INTERFACE_COMPILE_DEFINITIONS "BOOST_MPI_DYN_LINK"
  INTERFACE_LINK_LIBRARIES "Boost::headers;Boost::serialization;MPI::MPI_CXX")
END
cat >cmake/boost_mpi/boost_mpi-config-version.cmake <<END
set(PACKAGE_VERSION $boost)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
set(PACKAGE_VERSION_EXACT TRUE)
END
# A compiler that tells CMake what MPICH needs, in MPICH's words: Debian's own names places that are not these.
cat >mpicxx <<END
#!/bin/sh
case " \$* " in
  *" -show "*) echo g++ -I$headers -L$libraries -Wl,-rpath,$libraries -lmpich;;
  *) exec g++ -I$headers "\$@" -L$libraries -Wl,-rpath,$libraries -lmpich;;
esac
END
chmod +x mpicxx
cat >setup.cmake <<END
set(MPI_CXX_COMPILER $folder/mpicxx CACHE FILEPATH "")
set(MPIEXEC_EXECUTABLE $folder/root/usr/bin/mpiexec.hydra CACHE FILEPATH "")
set(boost_mpi_DIR $folder/cmake/boost_mpi CACHE PATH "")
END
cat >environment <<END
export LD_LIBRARY_PATH=$folder/lib:$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export MESHTF_MPIRUN="$folder/root/usr/bin/mpiexec.hydra -bind-to none -genv LD_PRELOAD $folder/lib/yields.so"
END
