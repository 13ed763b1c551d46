"""Builds the wheel: `pip wheel .` calls it (PEP 517). CMake builds the module; this packs it with the libraries that it needs.

One wheel is for CPython 3.11 and later (the stable ABI) on this kind of machine. The viewer is inside; libraries of the system that Calder
uses (expat, jansson, libwebsockets, SUNDIALS, MPI) are not. CALDER_BUILD names a build that is there already, to pack it as it is.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _version():
    text = (ROOT / "include/calder/calder.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"#define CAL_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def _metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / project["readme"]).read_text(encoding="utf-8")
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {_version()}\nSummary: {project['description']}\n"
        f"License: {project['license']['text']}\nRequires-Python: {project['requires-python']}\n"
        f"Description-Content-Type: text/markdown\n\n{text}"
    )


def _build():
    """The folder with the package."""
    folder = os.environ.get("CALDER_BUILD")
    if not folder:
        folder = ROOT / "build/wheel"
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DCALDER_BUILD_TESTS=OFF", "-DCALDER_BUILD_PEERS=OFF", f"-DPython3_EXECUTABLE={sys.executable}"]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *options], check=True)
    folder = pathlib.Path(folder).resolve()
    jobs = str(os.cpu_count() or 1)
    subprocess.run(["cmake", "--build", folder, "-j", jobs, "--target", "calder_python"], check=True)
    package = folder / "python/calder"
    if not list(package.glob("_calder*.so")):
        raise RuntimeError("CMake did not build the module: are Python's headers installed (Debian: python3-dev)?")
    return package


def _files(package, work):
    """Names in the wheel, and what is there: modules, stubs, and libraries under their sonames, without what only linkers need."""
    chosen = sorted((ROOT / "python/calder").glob("*.py*")) + [ROOT / "python/calder/py.typed"] + sorted(package.glob("_*.abi3.so"))
    yield from ((f"calder/{path.name}", path) for path in chosen if path.is_file())
    for path in sorted(package.glob("libcalder*.so.*")):
        if path.is_symlink():  # the soname
            yield f"calder/{path.name}", path.resolve()


def _stripped(path, work):
    if path.suffix == ".so" or ".so." in path.name:
        copy = work / path.name
        shutil.copy(path, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return copy.read_bytes()
    return path.read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _build()
    version, machine = _version(), re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"calder-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: calder\nRoot-Is-Purelib: false\nTag: cp311-abi3-{machine}\n"
    name = f"calder-{version}-cp311-abi3-{machine}.whl"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(
        pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED
    ) as archive:
        contents = [(where, _stripped(path, pathlib.Path(folder))) for where, path in _files(package, folder)]
        contents += [(f"{info}/METADATA", _metadata().encode()), (f"{info}/WHEEL", wheel.encode())]
        contents += [(f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes())]
        record = ""
        for where, data in contents:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{where},sha256={digest},{len(data)}\n"
        record += f"{info}/RECORD,,\n"
        for where, data in [*contents, (f"{info}/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(where)  # with a fixed date: one build, one wheel
            entry.external_attr = (0o755 if ".so" in where else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"calder-{_version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for name in filter(None, listed.split("\0")):
            archive.add(ROOT / name, f"{base}/{name}")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(_metadata())
            file.flush()
            archive.add(file.name, f"{base}/PKG-INFO")
    return f"{base}.tar.gz"
