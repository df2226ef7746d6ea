#!/usr/bin/env python3
"""Makes a wheel of a folder: wheel.py FOLDER VERSION PLATFORM OUT.

FOLDER holds what the wheel installs: the package sprof/, and sprof-VERSION.data/ for what goes
elsewhere. This adds what makes a wheel of it (PEP 427) and prints its path. The same files make the
same bytes: names are sorted, and every file has one time and one of two modes.
"""
import base64
import hashlib
import os
import sys
import zipfile

PYTHON = ">=3.8"
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold


def metadata(version, description):
    return "\n".join([
        "Metadata-Version: 2.1", "Name: sprof", "Version: " + version,
        "Summary: A sampling profiler for Linux: CPU, Python, native code and GPU",
        "License: MIT", "Requires-Python: " + PYTHON,
        "Classifier: License :: OSI Approved :: MIT License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Topic :: Software Development :: Debuggers",
        "Provides-Extra: notebook", "Requires-Dist: ipython>=7.23; extra == 'notebook'",
        "Description-Content-Type: text/markdown", "", description])


def files_below(folder):
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                yield os.path.relpath(full, folder), file.read(), os.access(full, os.X_OK)


def hash_of(content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.decode().rstrip("=")


def entries(folder, version, tag):
    here = os.path.dirname(os.path.abspath(__file__))
    info = "sprof-%s.dist-info/" % version
    with open(os.path.join(here, "description.md")) as file:
        description = file.read()
    with open(os.path.join(here, "..", "..", "LICENSE"), "rb") as file:
        licence = file.read()
    yield from files_below(folder)
    yield info + "LICENSE", licence, False
    yield info + "METADATA", metadata(version, description).encode(), False
    yield info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: sprof\nRoot-Is-Purelib: false\n"
                           "Tag: %s\n" % tag).encode(), False
    yield info + "entry_points.txt", b"[console_scripts]\nsprof = sprof:main\n", False


def main(folder, version, platform, out):
    tag = "py3-none-" + platform
    path = os.path.join(out, "sprof-%s-%s.whl" % (version, tag))
    record = []
    os.makedirs(out, exist_ok=True)
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, content, executable):
            entry = zipfile.ZipInfo(name, TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, which has modes
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            wheel.writestr(entry, content)
        for name, content, executable in entries(folder, version, tag):
            add(name, content, executable)
            record.append("%s,%s,%d" % (name, hash_of(content), len(content)))
        name = "sprof-%s.dist-info/RECORD" % version
        add(name, "\n".join(record + [name + ",,", ""]).encode(), False)
    os.replace(path + ".new", path)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
