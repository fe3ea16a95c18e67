# cpack reads this first. A build that is not hardened, or for another place than that of packages, is no package.
if(CPACK_GENERATOR STREQUAL "DEB" AND NOT (CPACK_FTC_PACKAGE AND CPACK_PACKAGING_INSTALL_PREFIX STREQUAL "/usr"))
    message(FATAL_ERROR "This build is not for packages: use `cmake --workflow --preset package`, "
        "or configure with -DFTC_PACKAGE=ON -DCMAKE_INSTALL_PREFIX=/usr.")
endif()
