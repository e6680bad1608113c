# The Conan recipe of meshtf: headers, and the CMake files that find what they need.
#
#   conan create . -pr:a tests/package/conan_profile --no-remote
#   conan create . -pr:a tests/package/conan_profile --no-remote -o "&:runtime=False"
#
# The libraries come from Conan, or from the machine where the profile names them under [platform_requires].
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_compiler_version, check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.22"                               # check_min_compiler_version


class MeshtfConan(ConanFile):
    name = "meshtf"
    description = "Tensors on a mesh of processes, planned by the compiler"
    license = "BSL-1.0"
    topics = ("tensor", "mpi", "machine-learning", "metaprogramming", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"runtime": [True, False],                        # changes what is required, not what is packed
               "compiled": [True, False],                       # packs meshtf::compiled as a static library
               "architectures": ["ANY"]}                        # of its kernels: "avx2,avx512"; none: what the profile's flags say
    default_options = {"runtime": True, "compiled": False, "architectures": ""}
    exports_sources = "CMakeLists.txt", "include/*", "LICENSE"
    no_copy_source = True
    test_package_folder = "tests/package"

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(meshtf VERSION (\d+\.\d+\.\d+)", text).group(1)

    # oneDNN and sentencepiece, which Conan's index lacks, are found by CMake where the machine has them; xsimd comes with xtensor.
    def requirements(self):
        if self.options.runtime:
            self.requires("boost/[>=1.74 <2]", options={"header_only": False, "without_mpi": False, "without_serialization": False})
            self.requires("openmpi/[>=4.1 <6]")
            self.requires("xtensor/[>=0.24 <0.28]")
            self.requires("openblas/[>=0.3.20 <0.4]")
            self.requires("zlib/[>=1.2.11 <2]")
            self.requires("jansson/[>=2.13 <3]")
            self.requires("xxhash/[>=0.8 <1]")
        else:
            self.requires("boost/[>=1.74 <2]", options={"header_only": True})

    def package_id(self):
        if not self.info.options.compiled:                      # one package for all compilers: the same bytes
            self.info.clear()

    def validate(self):
        if self.options.compiled and not self.options.runtime:
            raise ConanInvalidConfiguration("meshtf's compiled library belongs to its runtime: -o meshtf/*:runtime=True, or no compiled=True")
        check_min_cppstd(self, 20)
        check_min_compiler_version(self, [("gcc", "12", "C++20 in constant evaluation"), ("clang", "16", "C++20 in constant evaluation")])
        for dependency in self.dependencies.values():           # what the machine has is not among them: CMake asks for that
            if self.options.runtime and dependency.ref.name == "boost" and dependency.options.get_safe("without_mpi"):
                raise ConanInvalidConfiguration(
                    "meshtf needs Boost.MPI: -o boost/*:without_mpi=False, or the machine's Boost through [platform_requires] in the profile")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in "TESTS", "EXAMPLES", "BENCHMARKS":          # who only packs looks for no library
            toolchain.cache_variables[f"MESHTF_{part}"] = False
        toolchain.cache_variables["MESHTF_PACK_COMPILED"] = bool(self.options.compiled)
        toolchain.cache_variables["MESHTF_ARCHITECTURES"] = str(self.options.architectures).replace(",", ";")
        toolchain.user_presets_path = False
        toolchain.generate()
        if self.options.compiled:
            CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        if self.options.compiled:
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")   # our own meshtf-config.cmake is the one to find
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "meshtf")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
