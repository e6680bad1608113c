# A project that uses meshtf by Conan: `conan create` builds and runs it against what it packed.
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout


class MeshtfTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, src_folder="find_package", build_folder="../../build/conan")

    @property
    def component(self):
        return "runtime" if self.dependencies["meshtf"].options.runtime else "core"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False                      # no CMakeUserPresets.json among the sources
        toolchain.cache_variables["COMPONENT"] = self.component
        toolchain.cache_variables["COMPILED"] = bool(self.dependencies["meshtf"].options.compiled)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            program = os.path.join(self.cpp.build.bindir, "consumer")
            processes = os.path.join(self.recipe_folder, "..", "..", "examples", "processes")
            self.run(program if self.component == "core" else f"{processes} 2 {program}", env="conanrun")
