// workspace: who owns each thread's buffers.
#include "device/cpu/isa/workspace.h"

#include <memory>

namespace cpu {

Workspace& workspace() {
  static thread_local const std::unique_ptr<Workspace> own = std::make_unique<Workspace>();
  return *own;
}

}  // namespace cpu
