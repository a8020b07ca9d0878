# tests: tests/NAME/*.cpp becomes NAME_test, which links the room NAME; tests/*.py run with python3; fuzz targets are tests/fuzz/NAME.cpp.
# tests/cuda becomes cuda_test, which needs a GPU (label gpu).
# Targets: tests (all test programs), threaded_tests (those run under ThreadSanitizer), fuzzers (clang, CALLA_FUZZ=ON).
find_package(GTest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(CALLA_THREADED_ROOMS core device engine privacy wire app)  # rooms that start threads
set(CALLA_BUSY_TESTS cuda device)                          # they compute much themselves: optimised; for the others compiling would take longer than it saves
set(CALLA_GREEDY_ROOMS device model engine app)            # their tests use all cores: nothing runs beside them
# Tests that read files of the source tree are told where it is; the others compile to the same bytes in every clone, which a compiler cache rewards.
function(calla_tell_source_dir)
  foreach(source ${ARGN})
    file(STRINGS ${source} mentions REGEX "CALLA_SOURCE_DIR|fixture\\.h")
    if(mentions)
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS CALLA_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
endfunction()
add_custom_target(tests)
add_custom_target(threaded_tests)

file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*)
foreach(folder ${folders})
  get_filename_component(name ${folder} NAME)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  if(CALLA_SANITIZE MATCHES "thread")
    list(FILTER sources EXCLUDE REGEX "/allocation_test\\.cpp$")  # it replaces operator new, which ThreadSanitizer keeps to itself
  endif()
  if(sources AND TARGET calla_${name})
    add_executable(${name}_test ${sources})
    target_link_libraries(${name}_test PRIVATE calla_${name} GTest::gtest GTest::gmock GTest::gtest_main)
    target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    calla_tell_source_dir(${sources})
    if(CALLA_FUZZ)
      target_compile_options(${name}_test PRIVATE -fno-sanitize=fuzzer-no-link)  # fuzzers need to see branches of rooms, not of tests
    endif()
    if(NOT name IN_LIST CALLA_BUSY_TESTS)
      target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    add_dependencies(tests ${name}_test)
    set(labels room)
    if(name IN_LIST CALLA_THREADED_ROOMS)
      list(APPEND labels threaded)
      add_dependencies(threaded_tests ${name}_test)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
    if(name IN_LIST CALLA_GREEDY_ROOMS)
      set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
  endif()
endforeach()

if(CALLA_CUDA)  # says SKIPPED where there is no GPU
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/*.cpp)
  add_executable(cuda_test ${sources})
  target_link_libraries(cuda_test PRIVATE calla_model GTest::gtest)
  target_include_directories(cuda_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  calla_tell_source_dir(${sources})
  add_test(NAME cuda_host COMMAND cuda_test --gtest_filter=Host.*:Lower.*:Memory.* WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  add_test(NAME cuda COMMAND cuda_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(cuda PROPERTIES LABELS gpu RUN_SERIAL TRUE SKIP_REGULAR_EXPRESSION "SKIPPED: no NVIDIA GPU")
  add_dependencies(tests cuda_test)
endif()

target_link_libraries(privacy_test PRIVATE OpenSSL::SSL)  # a loopback server whose certificate nobody vouches for

add_test(NAME layers COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_layers.py ${CMAKE_SOURCE_DIR})
# A script finds the program in CALLA and leaves with 0 when all is well.
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*.py)
foreach(script ${scripts})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${script} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE ENVIRONMENT "CALLA=${CMAKE_BINARY_DIR}/calla" SKIP_REGULAR_EXPRESSION "SKIPPED: no NVIDIA GPU")
endforeach()

if(CALLA_FUZZ)
  foreach(room app engine)  # no fuzz target reaches them
    target_compile_options(calla_${room} PRIVATE -fno-sanitize=fuzzer-no-link)
  endforeach()
  add_custom_target(fuzzers)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.cpp)
  foreach(fuzzer ${fuzzers})
    get_filename_component(name ${fuzzer} NAME_WE)
    add_executable(fuzz_${name} ${fuzzer})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    target_link_libraries(fuzz_${name} PRIVATE calla_file calla_model calla_text calla_store calla_privacy calla_wire)
    add_dependencies(fuzzers fuzz_${name})
  endforeach()
endif()
