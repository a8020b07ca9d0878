# benches: bench/NAME.cpp becomes bench_NAME, which links the rooms device, text and privacy.
file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.cpp)
foreach(bench ${benches})
  get_filename_component(name ${bench} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${bench})
  target_link_libraries(bench_${name} PRIVATE calla_device calla_text calla_privacy)
  target_include_directories(bench_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
endforeach()
