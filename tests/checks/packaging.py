#!/usr/bin/env python3
"""The recipes in docs/packaging do what they say: packaging.py ROOT FOLDER CMAKE [OPTION...]

Neither vcpkg nor Spack is here, so their words stand for themselves: the port runs in CMake with stand-ins for vcpkg's functions, which configure and
install as vcpkg's do, and the package's directives are written down. Compared are versions, options of CMakeLists.txt, files that an install leaves, and
the libraries that include/meshtf-dependencies.cmake asks for.
"""
import json
import re
import subprocess
import sys
import types
from pathlib import Path

root, folder, cmake, options = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
cmakelists = (root / "CMakeLists.txt").read_text()
version = re.search(r"project\(meshtf VERSION ([\d.]+)", cmakelists)[1]
wrong = []


def expect(fact, words):
    if not fact:
        wrong.append(words)


def known_options(where, names):
    for name in names:
        expect(re.search(rf"\b{name}\b", cmakelists), f"{where}: CMakeLists.txt has no option {name}")


# ---- vcpkg

port = root / "docs/packaging/vcpkg/meshtf"
manifest = json.loads((port / "vcpkg.json").read_text())
expect(manifest["version"] == version, f"vcpkg.json has version {manifest['version']}, CMakeLists.txt {version}")
keys = {"name", "version", "description", "license", "supports", "dependencies", "default-features", "features"}
expect(set(manifest) <= keys, f"vcpkg.json has keys that vcpkg does not know: {set(manifest) - keys}")
for where in (manifest, *manifest["features"].values()):
    names = [d if isinstance(d, str) else d["name"] for d in where.get("dependencies", [])]
    expect(names == sorted(names), f"vcpkg format-manifest would sort these: {names}")
    expect(all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", n) for n in names), f"these are no names of ports: {names}")
expect(list(manifest["features"]) == sorted(manifest["features"]), "vcpkg format-manifest would sort the features")
expect(set(manifest["default-features"]) <= set(manifest["features"]), "a default feature is none of the features")

stand_ins = folder / "vcpkg.cmake"
packages = folder / "packages"
folder.mkdir(parents=True, exist_ok=True)
stand_ins.write_text(
    f'''
set(PORT meshtf)
set(CURRENT_PACKAGES_DIR "{packages}")
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  execute_process(COMMAND "{cmake}" -S ${{arg_SOURCE_PATH}} -B "{folder}/build" {" ".join(f'"{o}"' for o in options)} ${{arg_OPTIONS}}
    --install-prefix ${{CURRENT_PACKAGES_DIR}} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_install)
  execute_process(COMMAND "{cmake}" --install "{folder}/build" COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
  file(RENAME ${{CURRENT_PACKAGES_DIR}}/${{arg_CONFIG_PATH}} ${{CURRENT_PACKAGES_DIR}}/share/config)
  file(REMOVE_RECURSE ${{CURRENT_PACKAGES_DIR}}/share/cmake)
  file(RENAME ${{CURRENT_PACKAGES_DIR}}/share/config ${{CURRENT_PACKAGES_DIR}}/share/${{PORT}})
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${{arg_FILE_LIST}} DESTINATION ${{CURRENT_PACKAGES_DIR}}/share/${{PORT}} RENAME copyright)
endfunction()
file(REMOVE_RECURSE ${{CURRENT_PACKAGES_DIR}} "{folder}/build")
include("{port}/portfile.cmake")
'''
)
ran = subprocess.run([cmake, "-P", stand_ins], capture_output=True, text=True)
expect(ran.returncode == 0, f"portfile.cmake fails:\n{ran.stdout}{ran.stderr}")
for file in ("share/meshtf/meshtf-config.cmake", "share/meshtf/usage", "share/meshtf/copyright", "share/pkgconfig/meshtf.pc", "include/meshtf/meshtf.hpp"):
    expect((packages / file).is_file(), f"the port leaves no {file}")
known_options("portfile.cmake", re.findall(r"-D(MESHTF_\w+)=", (port / "portfile.cmake").read_text()))

# ---- Spack

said = {}


class nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def directive(word):
    def note(*arguments, **keywords):
        said.setdefault(word, []).append((arguments, keywords))
        return nothing()

    return note


class CMakePackage:
    def define(self, name, value):
        return name

    def define_from_variant(self, name, variant):
        expect(any(a[0] == variant for a, _ in said["variant"]), f"package.py: there is no variant {variant}")
        return name


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    made.__all__ = list(members)
    sys.modules[name] = made


for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
    module(name)
module("spack_repo.builtin.build_systems.cmake", CMakePackage=CMakePackage)
words = ("license", "version", "variant", "depends_on", "when", "conflicts")
module("spack.package", **{word: directive(word) for word in words})
recipe = root / "docs/packaging/spack/packages/meshtf/package.py"
package = {"__file__": str(recipe)}
exec(compile(recipe.read_text(), recipe, "exec"), package)
known_options("package.py", package["Meshtf"]().cmake_args())
expect(Path(package["Meshtf"].git.removeprefix("file://")) == root.resolve(), f"package.py: its sources are not {root}, but {package['Meshtf'].git}")

# ---- both ask for what CMake asks for

asked = re.findall(r'meshtf_lacks\(\w+ "(\w+).*?"', (root / "include/meshtf-dependencies.cmake").read_text())
in_spack = " ".join(a[0] for a, _ in said["depends_on"])
in_vcpkg = json.dumps(manifest)
for library in {name.lower() for name in asked}:
    expect(library in in_spack, f"package.py does not depend on {library}, which meshtf-dependencies.cmake asks for")
    expect(library in in_vcpkg, f"vcpkg.json does not depend on {library}, which meshtf-dependencies.cmake asks for")

print("\n".join(wrong))
sys.exit(1 if wrong else 0)
