# Make Debian packages: `cmake --workflow --preset package`, or cpack -G DEB if FTC_PACKAGE is on
# and the prefix is /usr.
set(maintainer "ftcoll developers <ftcoll@packages.invalid>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL}) # Debian's own tools read these too
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(FTC_PACKAGE_MAINTAINER "${maintainer}" CACHE STRING "Who answers for the packages: Name <address>")
# This revision is less than 1, the first revision of a package in Debian itself.
set(FTC_PACKAGE_REVISION 0local1 CACHE STRING "Debian revision of the packages")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ftcoll)
set(CPACK_PACKAGE_CONTACT "${FTC_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/debian/refuse.cmake)
set(CPACK_FTC_PACKAGE ${FTC_PACKAGE})
# The component "notices" is left out: Debian has the licence already, and its own places for
# copyright and changelog (prepare.cmake).
set(CPACK_COMPONENTS_ALL library tools development documentation)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/prepare.cmake)
set(CPACK_FTC_SOURCE ${PROJECT_SOURCE_DIR})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE ftcoll)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${FTC_PACKAGE_REVISION})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/runtime) # ftcoll-perf needs libftcoll itself
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(exactly "(= ${PROJECT_VERSION}-${FTC_PACKAGE_REVISION})")

set(about "ftcoll is a runtime for groups of processes that have to go on when some
of them die: reduce, allreduce, broadcast, barrier and validate finish with
one consistent result on every survivor, whichever processes die, whenever.")

get_target_property(soversion ftcoll SOVERSION)
set(library libftcoll${soversion})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# A trigger runs ldconfig. cpack would write scripts that call it unless other scripts are named.
# The scripts named here do not exist: cpack says so, and leaves them out.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/triggers ${PROJECT_BINARY_DIR}/none/postinst ${PROJECT_BINARY_DIR}/none/postrm)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# libibverbs and librdmacm are loaded only if there are RDMA devices. The package ftcoll has the
# programs that start ranks.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "ftcoll ${exactly}, libibverbs1, librdmacm1")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "fault-tolerant collective operations (library)
${about}
.
This package has the library that programs are linked with.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ftcoll)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${library} ${exactly}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "elfutils | gdb") # for ftcoll-status --stacks
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS "bash-completion, ftcoll-doc, gnuplot-nox | gnuplot, slurm-client")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "fault-tolerant collective operations (programs)
${about}
.
This package has ftrun, which starts such groups on one machine or on the
hosts of a Slurm allocation, ftcoll-status, which shows what they do,
ftcoll-perf, which measures them, and ftcoll-sim, which simulates them.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libftcoll-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} ${exactly}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "ftcoll, ftcoll-doc, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "fault-tolerant collective operations (development files)
${about}
.
This package has the header, the manual pages of its functions, and what
pkg-config and CMake need to find the library.")

set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_NAME ftcoll-doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION "fault-tolerant collective operations (documentation)
${about}
.
This package has the description of the protocol, of the design and of what
was measured, and the sources of example programs.")

include(CPack)
