#!/usr/bin/env bash
# `pip wheel .` makes one wheel without the network, which runs wherever it is put: wheel.sh SOURCE BUILD PYTHON
set -euo pipefail
source=$1 build=$2 python=$3
"$python" -m pip --version > /dev/null 2>&1 || { echo "pip is not installed (Debian: python3-pip): no wheel is made" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CALDER_BUILD=$build PYTHONDONTWRITEBYTECODE=1
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$work/wheels" "$source"
wheels=("$work"/wheels/*)
[[ ${#wheels[@]} == 1 && ${wheels[0]} == *-cp311-abi3-*.whl ]] || { echo "not one abi3 wheel: ${wheels[*]}" >&2 && exit 1; }
"$python" -m pip install --quiet --no-deps --root-user-action=ignore --target "$work/site" "${wheels[0]}"
expected=$(PYTHONPATH=$build/python "$python" -c 'import calder; s = calder.Simulation(calder.generate("mobile:s=2,l=3,o=4")); s.advance(1); print(s.hash, calder.has_page)')
cd "$work"
for each in "$python" /usr/bin/python3; do
    command -v "$each" > /dev/null && "$each" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue
    got=$(PYTHONPATH=$work/site "$each" -c 'import calder, calder.env
assert calder.__file__.endswith("site/calder/__init__.py"), calder.__file__
maps = open("/proc/self/maps").read() if __import__("os").path.exists("/proc/self/maps") else ""
assert "/python/calder/libcalder" not in maps, "it uses the build tree"
s = calder.Simulation(calder.generate("mobile:s=2,l=3,o=4")); s.advance(1); print(s.hash, calder.has_page)')
    [[ $got == "$expected" ]] || { echo "$each: the wheel says $got, the build $expected" >&2 && exit 1; }
done
unzip -l "${wheels[0]}" 2> /dev/null | tail -n 1 || true
