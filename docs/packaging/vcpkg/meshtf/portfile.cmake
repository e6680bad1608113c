# The port of meshtf, from the clone that this file lies in: vcpkg install meshtf --overlay-ports=docs/packaging/vcpkg
#
# In a registry, SOURCE_PATH comes from vcpkg_from_git or vcpkg_from_github. meshtf is headers and CMake files: nothing is compiled, no library is
# looked for, and the features say which libraries are there when a project asks for meshtf.
set(VCPKG_BUILD_TYPE release)   # headers are the same in both
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DMESHTF_TESTS=OFF
    -DMESHTF_EXAMPLES=OFF
    -DMESHTF_BENCHMARKS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/meshtf)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
