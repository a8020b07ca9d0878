#!/usr/bin/env bash
# setup: installs, through the system's package manager, what the build needs and is missing; says nothing when all is there.
#   tools/setup.sh build            compiler, cmake, libraries
#   tools/setup.sh clients          Python and Node for the clients of make test-clients
#   tools/setup.sh build sanitize   also clang 19 with its sanitizer and fuzzer runtimes
#   tools/setup.sh cuda             nvcc 13, into .cache/cuda, unless there is one
#   tools/setup.sh nvcc             says where that nvcc is
# Tried: Debian 12. Written with care but not tried: Ubuntu 24.04 and later, Fedora, macOS with Homebrew.
set -euo pipefail

apt_build="g++ cmake ninja-build pkg-config ccache python3 python3-pip ca-certificates
  libgtest-dev libgmock-dev libsimdjson-dev nlohmann-json3-dev libutf8proc-dev libpcre2-dev libboost-dev libssl-dev
  libcurl4-openssl-dev libfmt-dev libsqlite3-dev libtomlplusplus-dev libre2-dev zlib1g-dev"
apt_clients="python3-venv nodejs npm"
apt_sanitize="clang-19 libclang-rt-19-dev llvm-19"
dnf_build="gcc-c++ cmake ninja-build pkgconf-pkg-config ccache python3 python3-pip
  gtest-devel gmock-devel simdjson-devel json-devel utf8proc-devel pcre2-devel boost-devel openssl-devel
  libcurl-devel fmt-devel sqlite-devel tomlplusplus-devel re2-devel zlib-devel"
dnf_clients="python3 nodejs npm"
dnf_sanitize="clang compiler-rt llvm"
brew_build="cmake ninja pkg-config ccache python googletest simdjson nlohmann-json utf8proc pcre2 boost openssl@3 curl fmt sqlite tomlplusplus re2 zlib"
brew_clients="python node"
brew_sanitize="llvm@19"

# The packages of every group that was asked for, for one package manager.
wanted() { local group name; for group in "${groups[@]}"; do name="$1_$group"; echo ${!name}; done; }

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else echo "setup: not root and no sudo here; please run as root: $*" >&2; exit 1; fi
}

missing_apt() {
  local installed; installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2 == "installed" { print $1 }' | sort -u)
  comm -23 <(wanted apt | tr ' ' '\n' | sort -u) <(echo "$installed")
}

setup_apt() {
  local missing; missing=$(missing_apt)
  [ -n "$missing" ] || return 0
  echo "setup: installing" $missing
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing </dev/null >/dev/null
}

setup_dnf() {
  local missing="" package
  for package in $(wanted dnf); do rpm -q --quiet --whatprovides "$package" || missing+=" $package"; done
  [ -n "$missing" ] || return 0
  echo "setup: installing$missing"
  as_root dnf install -y $missing </dev/null
}

setup_brew() {
  local missing; missing=$(comm -23 <(wanted brew | tr ' ' '\n' | sort -u) <(brew list --formula -1 --full-name | sed 's|.*/||' | sort -u))
  [ -n "$missing" ] || return 0
  echo "setup: installing" $missing
  HOMEBREW_NO_AUTO_UPDATE=1 brew install $missing </dev/null
}

# The compiler of the NVIDIA device: the newest nvcc 13 that is here, or the one that setup_cuda brought; nothing where there is none.
find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc "$cuda_home/bin/nvcc"; do
    [ -x "$candidate" ] && "$candidate" --version 2>/dev/null | grep -q 'release 13\.' || continue
    echo "$candidate"
    return
  done
}
cuda_home="$(cd "$(dirname "$0")/.." && pwd)/.cache/cuda/nvidia/cu13"
cuda_wheels="nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85"

# NVIDIA ships the compiler and the static runtime as wheels, too: 250 MB, no driver needed to compile.
setup_cuda() {
  [ -z "$(find_nvcc)" ] || return 0
  echo "setup: installing" $cuda_wheels
  rm -rf "${cuda_home%/nvidia/cu13}"
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "${cuda_home%/nvidia/cu13}" $cuda_wheels
  ln -s lib "$cuda_home/lib64"
  ln -s libcudart.so.13 "$cuda_home/lib/libcudart.so"
}

if [ "${1:-}" = nvcc ]; then find_nvcc; exit; fi
if [ "${1:-}" = cuda ]; then setup_cuda; exit; fi

groups=("${@:-build}")
if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then setup_apt
elif command -v dnf >/dev/null; then setup_dnf
elif command -v brew >/dev/null; then setup_brew
else echo "setup: no apt-get, dnf or brew here; needed (Debian names):" $(wanted apt) >&2; fi
