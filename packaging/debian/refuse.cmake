# cpack reads this first. The library has the path of the ftrun that it starts: a build for another place is no package.
if(CPACK_GENERATOR STREQUAL "DEB" AND NOT (CPACK_FTC_PACKAGE AND CPACK_PACKAGING_INSTALL_PREFIX STREQUAL "/usr"))
    message(FATAL_ERROR "This build is not for packages: use `cmake --workflow --preset package`, "
        "or configure with -DFTC_PACKAGE=ON -DCMAKE_INSTALL_PREFIX=/usr.")
endif()
