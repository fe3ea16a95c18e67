# Installing libftcoll, its header, and what lets others find it: pkg-config ftcoll, find_package(ftcoll).
include(CMakePackageConfigHelpers)

install(TARGETS ftcoll EXPORT ftcollTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/ftcoll.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Relative, so that `cmake --install --prefix` and packages need no other file.
file(RELATIVE_PATH FTC_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/ftcoll.pc.in ${PROJECT_BINARY_DIR}/ftcoll.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ftcoll.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ftcoll)
install(EXPORT ftcollTargets NAMESPACE ftcoll:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ftcollConfig.cmake.in
    ${PROJECT_BINARY_DIR}/ftcollConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ftcollConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ftcollConfig.cmake ${PROJECT_BINARY_DIR}/ftcollConfigVersion.cmake
    DESTINATION ${package_dir})
