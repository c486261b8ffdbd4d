# Installs headers, libraries, the command, and a package file. A project calls `find_package(fatctx)`, then links
# `fatctx::fatctx`, or `fatctx::fatctx_c` for the C interface, which `pkg-config fatctx` finds too, or
# `fatctx::onnxruntime` if it was built.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(NOT TARGET fatctx_onnxruntime)
  set(not_installed PATTERN onnxruntime.h EXCLUDE)
endif()
install(DIRECTORY include/fatctx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" ${not_installed})
install(FILES ${PROJECT_BINARY_DIR}/include/fatctx/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fatctx)
install(TARGETS fatctx_base fatctx_mapping fatctx_container fatctx_dlc fatctx_runtime EXPORT fatctxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS fatctx_c EXPORT fatctxTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET fatctx_onnxruntime)
  set_target_properties(fatctx_onnxruntime PROPERTIES EXPORT_NAME onnxruntime)
  install(TARGETS fatctx_onnxruntime EXPORT fatctxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
configure_file(cmake/fatctx.pc.in ${PROJECT_BINARY_DIR}/fatctx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fatctx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(FATCTX_HAVE_ORT)
  install(TARGETS fatctx_ort LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(FATCTX_BUILD_TOOLS)
  install(TARGETS fatctx_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET ep_weight_sharing_ctx_gen)
    install(TARGETS ep_weight_sharing_ctx_gen fatctx_ort_bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endif()
install(EXPORT fatctxTargets NAMESPACE fatctx:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fatctx)
configure_package_config_file(cmake/fatctxConfig.cmake.in ${PROJECT_BINARY_DIR}/fatctxConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fatctx)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fatctxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fatctxConfig.cmake ${PROJECT_BINARY_DIR}/fatctxConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/fatctx)
