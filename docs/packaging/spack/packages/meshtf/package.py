# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""Tells Spack how to install meshtf from the clone that this file lies in: spack repo add docs/packaging/spack && spack install meshtf"""

from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Meshtf(CMakePackage):
    """Tensors on a mesh of processes, planned by the compiler. Header-only C++20: dimensions, layouts and meshes are types, a layout's mistakes are
    compile errors, and the price of a training step is a constant."""

    git = f"file://{Path(__file__).resolve().parents[5]}"

    license("BSL-1.0")

    version("main", branch="main")

    variant("runtime", default=True, description="Programs that run on processes; without it, layout checks and prices")
    variant("onednn", default=True, when="+runtime", description="Products in single precision by oneDNN")
    variant("checkpoints", default=True, when="+runtime", description="Save and load checkpoints")
    variant("sentencepiece", default=False, when="+runtime", description="A tokenizer of pieces of words")
    variant("compiled", default=False, when="+runtime", description="The kernels compiled once, as a static library")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("boost@1.74:")
    with when("+runtime"):
        depends_on("boost@1.74: +mpi+serialization")
        depends_on("mpi")
        depends_on("xtensor@0.24:0.27")
        depends_on("xsimd@8:")
        depends_on("openblas threads=pthreads")
        depends_on("zlib-api")
        depends_on("onednn", when="+onednn")
        depends_on("jansson", when="+checkpoints")
        depends_on("xxhash@0.8:", when="+checkpoints")
        depends_on("sentencepiece", when="+sentencepiece")

    conflicts("%gcc@:11", msg="meshtf needs g++ 12: C++20 in constant evaluation")
    conflicts("%clang@:15", msg="meshtf needs clang 16: C++20 in constant evaluation")

    def cmake_args(self):
        return [
            self.define("MESHTF_TESTS", False),
            self.define("MESHTF_EXAMPLES", False),
            self.define("MESHTF_BENCHMARKS", False),
            self.define_from_variant("MESHTF_PACK_COMPILED", "compiled"),
        ]
