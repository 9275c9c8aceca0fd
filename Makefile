# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make check` do everything on a bare Debian 12 or 13; the rest is convenience.
BUILD := build
MINGW := gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix
SETUP := meson setup

.PHONY: demo check check-all wheel wheel-compat wheel-torch wheel-pydirectml wheel-anydml deb deb-check dist reproducible docs check-asan check-tsan
.PHONY: windows windows-dist check-wine check-radv check-profiles conformance conformance-torch readme-check fuzz build install packages ready format clean

export SETUP

packages:
	scripts/install-packages test

ready:
	scripts/prepare-build $(BUILD) test

ready-wheel:
	@scripts/prepare-build $(BUILD) build python3-venv

build: ready
	ninja -C $(BUILD)

demo:
	@scripts/prepare-build $(BUILD) build
	ninja -C $(BUILD) tools/anydml-demo
	scripts/demo $(BUILD)

check: build
	scripts/check $(BUILD)

# Also what takes longer (tests/long.txt): three quarters of an hour on two CPUs.
check-all: check
	scripts/check --long $(BUILD)

# The Python package of the execution provider for ONNX Runtime.
wheel: ready-wheel
	scripts/package/make-wheel $(BUILD) $(BUILD)/wheel

# The Windows provider's names for it, for programs that use them (docs/programs.md).
wheel-compat: ready-wheel
	scripts/package/make-wheel $(BUILD) $(BUILD)/wheel anydml_compat

# torch_directml, with glue for each of TORCH_VERSIONS ("2.15 2.14 2.13"), as a wheel and as an sdist.
wheel-torch: ready
	scripts/package/make-wheel-torch $(BUILD) $(BUILD)/wheel

# The Python module pydirectml.
wheel-pydirectml: ready-wheel
	scripts/package/make-wheel $(BUILD) $(BUILD)/wheel pydirectml

# The command, with the libraries, as a Python package.
wheel-anydml: ready-wheel
	scripts/package/make-wheel $(BUILD) $(BUILD)/wheel anydml

# Debian packages of the committed state (docs/packages.md); deb-check installs and uses them in a bare Debian, as root.
deb: packages
	scripts/package/make-deb $(BUILD)/deb

deb-check: deb
	scripts/check-deb $(BUILD)/deb

# The shaders of every row, compiled for six families of AMD's GPUs in a bare Debian 13, as root (docs/conformance-gpu.md).
check-radv:
	scripts/check-debian trixie sh -ec "scripts/install-packages test mesa-vulkan-drivers; [ -e build/build.ninja ] || meson setup build; \
	    ninja -C build tests/check/check_vulkan tests/vulkan/libanydml_test_layer.so; scripts/check-radv build"

# Kernels, operators, networks and training on devices that are presented as twelve GPUs (docs/conformance-gpu.md).
check-profiles: ready
	scripts/check-profiles $(BUILD)

# Follows README.md and samples/README.md in a bare Debian, as root; images and videos that this makes are in build/readme.
# WITH: a folder of networks that the documents name.
WITH :=
readme-check:
	scripts/check-readme $(BUILD)/readme $(if $(WITH),--with $(WITH))

# What a release consists of, in build/dist; and the proof that two builds of it are the same (docs/packages.md).
dist: ready
	scripts/package/make-dist $(BUILD) $(BUILD)/dist

reproducible: packages
	scripts/install-packages test $(MINGW)
	scripts/check-reproducible
	scripts/check-reproducible --windows

# The documentation as a site, in build/site.
docs: packages
	scripts/make-docs $(BUILD)/site

check-asan: packages
	[ -e build-asan/build.ninja ] || $(SETUP) build-asan -Db_sanitize=address,undefined -Db_lundef=false --buildtype=debugoptimized
	ninja -C build-asan
	scripts/run-tests build-asan

check-tsan: packages
	[ -e build-tsan/build.ninja ] || $(SETUP) build-tsan -Db_sanitize=thread -Db_lundef=false --buildtype=debugoptimized
	ninja -C build-tsan
	scripts/run-tests build-tsan

# Minutes of CPU time: make fuzz MINUTES=30, also with ADAPTER=vulkan
MINUTES := 30
ADAPTER := cpu
fuzz: packages
	scripts/fuzz $(MINUTES) $(ADAPTER)

# Minutes; writes docs/conformance.md. Then Microsoft's torch-directml on these libraries, where it can be had, and the
# libraries for Windows. On another adapter than the CPU: make conformance DEVICE=vulkan
DEVICE :=
conformance: build
	/usr/bin/python3 tests/conformance/conformance.py --driver $(BUILD)/tests/conformance/conformance-driver --cases 64 \
	    $(if $(DEVICE),--adapter $(DEVICE) --timeout 600) --json $(BUILD)/conformance.json \
	    --results tests/conformance/results --markdown docs/conformance.md
	$(if $(DEVICE),,scripts/try-microsoft-packages $(BUILD) torch-directml)
	$(if $(DEVICE),,$(MAKE) check-wine)

# About half an hour; writes docs/conformance-torch.md. Parts of it: make conformance-torch OPTIONS='--dtypes float16'
OPTIONS :=
conformance-torch: build
	scripts/prepare-torch --networks
	scripts/check-torch $(BUILD) -- tests/torch/conformance.py --json $(BUILD)/conformance-torch.json \
	    --markdown docs/conformance-torch.md $(OPTIONS)

# Libraries for Windows, an archive of them, and their tests in Wine (docs/wine.md).
windows:
	scripts/install-packages test $(MINGW)
	[ -e build-windows/build.ninja ] || $(SETUP) build-windows --cross-file scripts/windows.cross
	ninja -C build-windows

windows-dist: windows
	scripts/package/make-dist-windows build-windows build-windows/dist

check-wine: windows
	scripts/install-packages test wine64 xvfb
	scripts/check-wine build-windows

install:
	@scripts/prepare-build $(BUILD) build
	scripts/build-installed $(BUILD)
	meson install -C $(BUILD) --no-rebuild

format:
	scripts/format

clean:
	rm -rf build build-aarch64 build-asan build-ccache build-clang build-coverage build-fuzz build-plain build-tsan build-windows build-windows-plain out
