# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""What a candidate tries to reach outside itself. One candidate tries them all and reports: a probe returns None when
it got nowhere and a text when it reached something."""
import textwrap

from case import Case, native, python

# How lines of /etc/shadow and /etc/passwd begin.
SECRETS = ("root:*:", "root:!:", "root:x:", "root:$")

PROBES = {
    "network": ("a network namespace with nothing in it", """
        for address in (("1.1.1.1", 53), ("192.0.2.1", 9), ("127.0.0.1", 22), ("10.0.0.1", 80)):
            s = socket.socket()
            s.settimeout(0.2)
            if s.connect_ex(address) == 0:
                return str(address)
    """),
    "DNS": ("no network, and no /etc/resolv.conf", """
        try:
            return str(socket.getaddrinfo("example.org", 80))
        except OSError:
            pass
    """),
    "unix sockets": ("no socket of the machine is mounted, abstract ones belong to the network namespace", """
        for line in open("/proc/net/unix").read().splitlines()[1:]:
            words = line.split()
            if len(words) > 7:
                try:
                    socket.socket(socket.AF_UNIX).connect(words[7].replace("@", chr(0)))
                    return words[7]
                except OSError:
                    pass
        for path in ("/run/systemd/private", "/run/dbus/system_bus_socket", "/var/run/docker.sock", "/tmp/.X11-unix/X0"):
            if os.path.exists(path):
                return path
    """),
    "processes of others": ("a process namespace of its own", """
        pids = [int(n) for n in os.listdir("/proc") if n.isdigit()]
        if len(pids) > 8:
            return str(sorted(pids))
        for pid in pids:
            words = open(f"/proc/{pid}/cmdline", "rb").read()
            if b"serve" in words or b"ninja" in words:
                return words.decode(errors="replace")
    """),
    "the environment": ("a fixed list of variables", """
        allowed = {"PATH", "HOME", "TMPDIR", "LANG", "USER", "LOGNAME", "PWD", "LATHE_PYTHON", "TORCHINDUCTOR_CACHE_DIR",
                   "TRITON_CACHE_DIR", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SHLVL", "_",
                   "TORCHINDUCTOR_COMPILE_THREADS", "KMP_INIT_AT_FORK", "KMP_DUPLICATE_LIB_OK", "OLDPWD", "LC_CTYPE",
                   "TORCH_CUDA_ARCH_LIST"}
        extra = sorted(name for name in os.environ if name not in allowed)
        if extra:
            return " ".join(extra)
    """),
    "files of mode 0600": ("files that are not mounted are not there; a phase has a user of its own", """
        for path in ("/etc/shadow", "/etc/passwd", "/root", "/home", os.path.expanduser("~root/.ssh"),
                     "/etc/ssh/ssh_host_ed25519_key", "/proc/1/environ", "/proc/kcore", "/dev/mem", "/var/log"):
            try:
                if not os.path.isdir(path):
                    open(path, "rb").read(1)
                    return path
                # The way to the Python environment is there, and nothing beside it.
                beside = [name for name in os.listdir(path)
                          if not (sys.prefix + "/").startswith(os.path.join(path, name) + "/")]
                if beside:
                    return path + " " + beside[0]
            except OSError:
                pass
    """),
    "the reference's source": ("the candidate's sandbox has an empty folder in its place", """
        for folder in ("/task", "/candidate/..", "/"):
            for root, folders, names in os.walk(folder):
                folders[:] = [f for f in folders if f not in ("proc", "sys", "usr", "lib", "dev")]
                if "reference.py" in names:
                    return root
                if root.count("/") > 4:
                    folders.clear()
    """),
    "writing to its own folder": ("mounted read-only", """
        for path in ("/candidate/x", "/task/x", "/lathe/bin/x", "/usr/x", "/x"):
            try:
                open(path, "w")
                return path
            except OSError:
                pass
        try:
            os.symlink("/etc", "/candidate/link")
            return "/candidate/link"
        except OSError:
            pass
    """),
    "more rights": ("no capabilities, no_new_privs, no new user namespace", """
        libc = ctypes.CDLL(None, use_errno=True)
        for flags in (0x10000000, 0x20000000, 0x00020000):
            if libc.unshare(flags) == 0 and flags != 0x10000000:
                return f"unshare {flags:x}"
        status = open("/proc/self/status").read()
        if "CapEff:\\t0000000000000000" not in status or "NoNewPrivs:\\t1" not in status:
            return [line for line in status.splitlines() if "Cap" in line or "NoNew" in line]
        try:
            os.setuid(0)
            return "setuid 0"
        except OSError:
            pass
    """),
    "mounting and device files": ("no capabilities; a private /dev", """
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
            return "mount"
        try:
            os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0))
            return "mknod"
        except OSError:
            pass
        odd = [n for n in os.listdir("/dev") if n.startswith(("sd", "vd", "nvme", "kvm", "fuse", "loop"))]
        if odd:
            return str(odd)
    """),
    "System V shared memory and semaphores": ("an IPC namespace of its own", """
        for name in ("shm", "sem", "msg"):
            rows = open("/proc/sysvipc/" + name).read().splitlines()[1:]
            if rows:
                return rows[0]
    """),
    "priority and affinity of others": ("raising priority needs a capability", """
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -10)
            return "nice -10"
        except OSError:
            pass
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
            return "real-time"
        except OSError:
            pass
    """),
    "core files": ("limit 0", """
        import resource
        if resource.getrlimit(resource.RLIMIT_CORE)[1] != 0:
            return "a core may be written"
    """),
}


def prober():
    lines = ["import json, socket"]
    for number, (_, body) in enumerate(PROBES.values()):
        lines += [f"def probe{number}():", textwrap.indent(textwrap.dedent(body).strip("\n"), "    "), ""]
    lines += ["def reports():", "    out = []", f"    for number in range({len(PROBES)}):", "        try:",
              "            found = globals()[f'probe{number}']()", "        except Exception as error:",
              "            found = None if isinstance(error, OSError) else 'PROBE BROKE ' + repr(error)",
              "        out.append('-' if found is None else str(found)[:60])", "    return '|'.join(out)"]
    return python("matmul", "raise RuntimeError('reports ' + reports())", top="\n".join(lines))


CASES = [
    Case("what can be reached", "matmul", prober(), ("crashed",), ("reports ",),
         probes={name: how for name, (how, _) in PROBES.items()}),
    Case(".incbin of a file of the machine", "matmul",
         native("matmul", "return a @ b", """
            asm(".section .rodata\\nstolen: .incbin \\"/etc/shadow\\"\\n.previous");
            static void nothing(int64_t) {}
            LATHE_EXPORT(nothing, nothing);
         """), ("build_failed",), ("shadow", "no such file", "incbin"), "compilers run in a sandbox as well", never=SECRETS),
    Case("#include of a file of the machine", "matmul",
         native("matmul", "return a @ b", """
            #include "/root/.bashrc"
            static void nothing(int64_t) {}
            LATHE_EXPORT(nothing, nothing);
         """), ("build_failed",), ("bashrc",), "compilers run in a sandbox as well", never=SECRETS),
    Case("compiler plugin", "matmul",
         native("matmul", "return a @ b", "static void nothing(int64_t) {}\nLATHE_EXPORT(nothing, nothing);\n"),
         ("build_failed",), ("plugin",), "a plugin would run in the compiler's sandbox; it cannot be found",
         flags=("-fplugin=/build/src/kernels/plugin.so",)),
    Case("compiler wrapper that reads and writes around", "matmul",
         native("matmul", "return a @ b", "static void nothing(int64_t) {}\nLATHE_EXPORT(nothing, nothing);\n",
                files={"kernels/wrap.sh": "cat /etc/shadow /root/.bashrc >&2; ls / /home >&2; touch /usr/x; exit 9\n"}),
         ("build_failed",), ("",), "it runs in the compiler's sandbox: no network, no files, no rights",
         never=SECRETS, flags=("-wrapper", "/bin/sh,/build/src/kernels/wrap.sh")),
    Case("a link in place of the library", "matmul",
         native("matmul", "return a @ b", "static void nothing(int64_t) {}\nLATHE_EXPORT(nothing, nothing);\n",
                files={"kernels/wrap.sh": "rm -f /build/out/kernels.so; ln -s /etc/shadow /build/out/kernels.so; exit 0\n"}),
         ("build_failed", "load_failed"), ("",), "what the compiler leaves is read without following links, as a regular file",
         never=SECRETS, flags=("-wrapper", "/bin/sh,/build/src/kernels/wrap.sh")),
]
