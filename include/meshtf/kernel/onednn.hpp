// What all primitives of oneDNN need: an engine, a stream for each thread, and a word about failures.
#pragma once

#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN
#include <dnnl.h>
#endif

// The functions that describe primitives have other names from version 3 on.
#if defined(MESHTF_WITH_ONEDNN) && MESHTF_WITH_ONEDNN && DNNL_VERSION_MAJOR == 2
#define MESHTF_HAS_ONEDNN_PRIMITIVES 1

#include <stdexcept>
#include <string>

namespace meshtf {
inline namespace v0 {
namespace kernel {
namespace onednn {

inline void expect_done(dnnl_status_t status,
                        char const* what = "a matrix product of bfloat16 (dnnl_matmul)") {
  if (status != dnnl_success) throw std::runtime_error(std::string{"meshtf: oneDNN refused "} + what);
}

// The engine and the stream live until the process ends: others may still use them when static objects die.
inline dnnl_engine_t engine() {
  static dnnl_engine_t const made = [] {
    dnnl_engine_t e = nullptr;
    expect_done(dnnl_engine_create(&e, dnnl_cpu, 0), "to start");
    return e;
  }();
  return made;
}
inline dnnl_stream_t stream() {
  static thread_local dnnl_stream_t const made = [] {
    dnnl_stream_t s = nullptr;
    expect_done(dnnl_stream_create(&s, engine(), dnnl_stream_default_flags), "to start");
    return s;
  }();
  return made;
}

}  // namespace onednn
}  // namespace kernel
}  // namespace v0
}  // namespace meshtf
#else
#define MESHTF_HAS_ONEDNN_PRIMITIVES 0
#endif
