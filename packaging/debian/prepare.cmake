# cpack runs this between installing and packing: what Debian's policy wants otherwise than `cmake --install` does it.
cmake_minimum_required(VERSION 3.25)
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
set(ENV{LC_ALL} C)

function(compress file)
    execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# SOURCE_DATE_EPOCH makes the same package of the same sources.
function(debian_date result)
    if(DEFINED ENV{SOURCE_DATE_EPOCH})
        string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    else()
        file(TIMESTAMP ${CPACK_FTC_SOURCE}/CHANGELOG.md date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    endif()
    set(${result} ${date} PARENT_SCOPE)
endfunction()

function(add_notices root package)
    set(folder ${root}/usr/share/doc/${package})
    set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
    debian_date(date)
    file(MAKE_DIRECTORY ${folder})
    file(COPY_FILE ${CPACK_FTC_SOURCE}/packaging/debian/copyright ${folder}/copyright)
    file(COPY_FILE ${CPACK_FTC_SOURCE}/CHANGELOG.md ${folder}/changelog)
    file(WRITE ${folder}/changelog.Debian "ftcoll (${version}) unstable; urgency=medium

  * Packages of ftcoll ${CPACK_PACKAGE_VERSION}; what is new in it is told in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
    compress(${folder}/changelog)
    compress(${folder}/changelog.Debian)
    file(CHMOD ${folder}/copyright ${folder}/changelog.gz ${folder}/changelog.Debian.gz
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# A page that only leads to another is a link to it; the others are compressed.
function(compress_manual root)
    file(GLOB pages ${root}/usr/share/man/man*/*)
    foreach(page IN LISTS pages)
        file(STRINGS ${page} line LIMIT_COUNT 1)
        if(line MATCHES "^\\.so man[0-9]/(.*)$")
            file(REMOVE ${page})
            file(CREATE_LINK ${CMAKE_MATCH_1}.gz ${page}.gz SYMBOLIC)
        else()
            compress(${page})
        endif()
    endforeach()
endfunction()

# As dh_strip does it. Scripts have nothing to strip.
function(strip_binaries root)
    file(GLOB_RECURSE files ${root}/usr/bin/* ${root}/usr/lib/*.so.*)
    foreach(file IN LISTS files)
        file(READ ${file} magic LIMIT 4 HEX)
        if(magic STREQUAL "7f454c46" AND NOT IS_SYMLINK ${file})
            execute_process(COMMAND strip --strip-unneeded --remove-section=.comment --remove-section=.note ${file} COMMAND_ERROR_IS_FATAL ANY)
        endif()
    endforeach()
endfunction()

# The umask of whoever packs must not be in the package.
function(open_folders root)
    file(GLOB_RECURSE paths LIST_DIRECTORIES true ${root}/*)
    foreach(path IN LISTS paths)
        if(IS_DIRECTORY ${path} AND NOT IS_SYMLINK ${path})
            file(CHMOD ${path} PERMISSIONS
                OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
        endif()
    endforeach()
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component})
    string(TOUPPER ${component} upper)
    strip_binaries(${root})
    compress_manual(${root})
    add_notices(${root} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    open_folders(${root})
endforeach()
