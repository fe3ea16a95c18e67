# Install libftcoll, its header, and the files for pkg-config ftcoll and find_package(ftcoll).
# Components: library, development, tools (the rooms that make tools install them), documentation,
# notices.
include(CMakePackageConfigHelpers)

install(TARGETS ftcoll EXPORT ftcollTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/include/ftcoll.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT notices)
# The documents have the places of the source tree, so that their links work.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)

# The path is relative, so that `cmake --install --prefix` and packages can use the same file.
file(RELATIVE_PATH FTC_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ftcoll.pc.in ${PROJECT_BINARY_DIR}/ftcoll.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ftcoll.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ftcoll)
install(EXPORT ftcollTargets NAMESPACE ftcoll:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ftcollConfig.cmake.in
    ${PROJECT_BINARY_DIR}/ftcollConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ftcollConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ftcollConfig.cmake ${PROJECT_BINARY_DIR}/ftcollConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development)
