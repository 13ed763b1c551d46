#!/usr/bin/env bash
# Debian packages: made, checked by lintian, installed in a root of their own, used as a stranger would, and removed without a trace:
# debian.sh SOURCE BUILD
#
# The root is a layer over this system's: what is installed there is seen there only, with the system's own packages below it.
set -euo pipefail
source=$1 build=$2
fail() { echo "$*" >&2 && exit 1; }

if [[ ${CALDER_INSIDE:-} != 1 ]]; then
    cmake --build "$build" --target calder_packages > /dev/null
    "$source/scripts/pack-deb" "$build" > /dev/null
    # Lintian leaves files behind.
    TMPDIR=$(mktemp -d)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
    checked=
    if command -v lintian > /dev/null; then
        lintian --allow-root --fail-on error "$build"/deb/*.deb > "$build/deb/lintian" 2> /dev/null &
        checked=$!
    else echo "lintian is not installed: the packages are not checked"; fi
    private=(unshare --mount)
    [[ $(id -u) == 0 ]] || private=(unshare --map-root-user --mount)
    status=0
    if "${private[@]}" true 2> /dev/null; then
        CALDER_INSIDE=1 "${private[@]}" bash "$0" "$source" "$build" || status=$?
    else echo "there are no namespaces here: the packages are not installed" && status=77; fi
    [[ -z $checked ]] || wait $checked || fail "$(cat "$build/deb/lintian")"
    exit $status
fi

# --- In a mount namespace of our own: everything below ends with it ---------------------------------------------------------

work=$(mktemp -d)
trap 'umount -l "$work" 2> /dev/null; rmdir "$work"' EXIT
mount -t tmpfs none "$work"
mkdir "$work"/{upper,work,root}
if ! mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root" 2> /dev/null; then
    echo "there are no layers of file systems here: the packages are not installed" && exit 77
fi
root=$work/root
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs none "$root/tmp"
mkdir "$root/tmp/debs" && cp "$build"/deb/*.deb "$root/tmp/debs/"
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 bash -euo pipefail -c "$1"
}
packages=$(for deb in "$build"/deb/*.deb; do basename "$deb" | sed 's/_.*//'; done | tr '\n' ' ')

inside "! dpkg -s libcalder0.1 > /dev/null 2>&1" || fail "Calder is installed on this system: there is no clean root"
inside "dpkg --no-triggers --force-unsafe-io -i /tmp/debs/*.deb > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }; ldconfig"

# The command, its pages and its completion; ranks have the same bits.
inside "cd /tmp
    calder -V > version; grep -q '^calder [0-9]' version
    calder sim pendulum --time 1 --json > one.json
    mpirun -n 2 calder-mpi sim pendulum --time 1 --json --machine mpi > two.json
    one=\$(grep -o '\"state_hash\": *\"[0-9a-f]*\"' one.json)
    two=\$(grep -o '\"state_hash\": *\"[0-9a-f]*\"' two.json)
    test \"\$one\" = \"\$two\"
    test -f /usr/share/man/man1/calder-sim.1.gz -a -f /usr/share/bash-completion/completions/calder
    calder sim pendulum --time 0.1 --out run.html > /dev/null; grep -q '<html' run.html"

# Samples by pkg-config and by CMake, of C and with MPI.
inside "cp -r /usr/share/doc/libcalder-dev/examples /tmp/samples; cd /tmp/samples
    gcc first.c -o by-pkg-config \$(pkg-config --cflags --libs calder)
    gcc watch.c -o watch \$(pkg-config --cflags --libs calder-view)
    gcc ranks.c -o with-ranks \$(pkg-config --cflags --libs calder-mpi) && mpirun -n 2 ./with-ranks > /dev/null
    cmake -S . -B build -DCMAKE_C_COMPILER=gcc > /dev/null && cmake --build build -j 2 --target first watch ranks > /dev/null
    ./by-pkg-config > a; build/first > b; cmp a b"

# GPUs, where the build has them: this computer may have none, and then says so.
if [[ -e $(echo "$build"/deb/calder-cuda_*.deb) ]]; then
    inside "cd /tmp
    echo '#include <calder/calder_cuda.h>
    #include <stdio.h>
    int main(void) { cal_cuda_def def = cal_default_cuda_def(); cal_machine* machine; cal_error error = {CAL_OK, \"\"};
        const cal_status status = cal_machine_cuda(&def, &machine, &error);
        puts(error.text);
        cal_machine_destroy(machine);
        return status != CAL_OK && status != CAL_NOT_AVAILABLE; }' > gpu.c
    gcc gpu.c -o gpu \$(pkg-config --cflags --libs calder-cuda) && ./gpu
    echo 'cmake_minimum_required(VERSION 3.22)
    project(gpu LANGUAGES C)
    find_package(calder 0.1 REQUIRED COMPONENTS cuda)
    add_executable(gpu gpu.c)
    target_link_libraries(gpu PRIVATE calder::calder_cuda)' > CMakeLists.txt
    cmake -S . -B gpu-build -DCMAKE_C_COMPILER=gcc > /dev/null && cmake --build gpu-build > /dev/null && gpu-build/gpu
    calder-cuda sim pendulum --time 1 --machine cuda > /dev/null 2> line || grep -q 'GPU\|CUDA\|cuda' line
    test -f /usr/share/man/man1/calder-cuda.1.gz
    cd / && /usr/bin/python3 -c '
import calder
try:
    calder.Simulation(calder.generate(\"pendulum\"), machine=\"cuda\").advance(0.1)
except calder.Error as error:
    assert error.status == \"not_available\" and \"installation\" not in str(error), error
'"
fi

# The module, from another folder than that of any sources.
inside "cd /; /usr/bin/python3 -c '
import calder, calder.env
assert calder.__file__.startswith(\"/usr/lib/python3/dist-packages/\"), calder.__file__
sim = calder.Simulation(calder.generate(\"pendulum\"))
sim.advance(1)
assert calder.has_page
calder.Simulation(sim.model, machine=\"mpi\").advance(0.1)
env = calder.env.make(\"cartpole\"); env.reset(seed=1); env.step([0])
'"

inside "dpkg --no-triggers --force-unsafe-io -P $packages > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }; ldconfig"
umount -l "$root/tmp" "$root/dev" "$root/proc" "$root/sys"
# What is left are the books of dpkg and ldconfig, which every package changes.
left=$(cd "$work/upper" && find . ! -type d | grep -Ev '^\./(var/lib/dpkg/|var/log/|var/cache/(ldconfig|debconf)/|etc/ld\.so\.cache$)' || true)
[[ -z $left ]] || fail "removing the packages leaves $left"
left=$(cd "$work/upper" && find . -iname '*calder*')
[[ -z $left ]] || fail "removing the packages leaves $left"
echo "$(wc -w <<< "$packages") packages were made, installed, used and removed"
