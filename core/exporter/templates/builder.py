# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile


def _machine():
    """-march=native makes code for this processor only, and home folders are shared between machines."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        flags = ""
    return platform.machine() + flags


def _command(sources, flags, output):
    if any(name.endswith(".cu") for name in sources):
        compiler = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        major, minor = torch.cuda.get_device_capability()
        command = [compiler, "-O3", "-lineinfo", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", f"-arch=sm_{major}{minor}",
                   "-Xlinker", "-Bsymbolic"]
    else:
        compiler = os.environ.get("CXX") or "g++"
        command = [compiler, "-O3", "-march=native", "-fopenmp", "-std=c++20", "-fPIC", "-shared", "-g1", "-Wl,-Bsymbolic"]
    return command + list(flags) + ["-Iinclude", "-o", output] + [n for n in sources if n.endswith((".cpp", ".cu"))]


def _build(files, flags):
    """Compiles into the user's cache, once per content and machine; returns the shared library."""
    sources = [name for name in sorted(files) if not name.startswith("include/")]
    command = _command(sources, flags, "kernels.so")
    key = hashlib.sha256(repr((sorted(files.items()), command, _machine())).encode()).hexdigest()
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "lathe-exports"
    library = cache / (key[:32] + ".so")
    if library.exists():
        return library
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the kernels did not compile:\n$ {' '.join(command)}\n{done.stdout}{done.stderr}")
        os.replace(pathlib.Path(folder, "kernels.so"), library)  # whole or absent, also for a second process
    return library
