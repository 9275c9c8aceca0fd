# find_package(AnyDML) defines the targets AnyDML::directml, AnyDML::d3d12 and AnyDML::dxcore. directml brings the other
# two, the headers, and the Direct3D 12 headers with their identifiers through pkg-config.
find_package(PkgConfig REQUIRED)
pkg_check_modules(AnyDML_DirectX REQUIRED IMPORTED_TARGET DirectX-Headers)

get_filename_component(AnyDML_LIBDIR "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_path(AnyDML_INCLUDE_DIR DirectML.h
  HINTS "${AnyDML_LIBDIR}/../include/anydml" "${AnyDML_LIBDIR}/../../include/anydml" NO_DEFAULT_PATH)

foreach(library dxcore d3d12 directml)
  if(NOT TARGET AnyDML::${library})
    add_library(AnyDML::${library} SHARED IMPORTED)
    set_target_properties(AnyDML::${library} PROPERTIES
      IMPORTED_LOCATION "${AnyDML_LIBDIR}/lib${library}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${AnyDML_INCLUDE_DIR}"
      INTERFACE_LINK_LIBRARIES PkgConfig::AnyDML_DirectX)
  endif()
endforeach()
set_property(TARGET AnyDML::directml APPEND PROPERTY INTERFACE_LINK_LIBRARIES AnyDML::d3d12 AnyDML::dxcore)
