#!/bin/sh
# Lays out below a folder what the image adds to its base: Python without what no broker needs, what has been installed
# into SITE, the libraries that both load, and /data.
#
#     root.sh PYTHON SITE ROOT
#
# Wheels bring symbols for debuggers, which are half of their size. Modules are compiled here, with no look at their
# sources later: nobody can write there, and Python would compile them again at every start. The standard library is
# there without its sources, which are 9 MB; a traceback has its lines by their numbers.
set -eu
python=$1 site=$2 root=$3
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
lib=$root/usr/local/lib/$version

mkdir -p "$root/usr/local/bin" "$root/usr/lib" "$root/data" "$lib"
cp "$prefix/bin/$version" "$root/usr/local/bin/python3"
if [ -e "$prefix/lib/lib$version.so.1.0" ]; then cp "$prefix/lib/lib$version.so.1.0" "$root/usr/lib/"; fi

(cd "$prefix/lib/$version" && find . \
    \( -path ./site-packages -o -path './config-*' -o -path ./ensurepip -o -path ./idlelib -o -path ./lib2to3 \
       -o -path ./distutils -o -path ./pydoc_data -o -path ./tkinter -o -path ./turtledemo -o -path ./venv \
       -o -path ./_pyrepl -o -path ./curses -o -path ./sqlite3 -o -path ./dbm \
       -o -name test -o -name tests -o -name __pycache__ \) -prune \
    -o -type f ! -name 'turtle.py' ! -name '_test*.so' ! -name '_ctypes_test*' ! -name 'xxlimited*' \
       ! -name '_tkinter*' ! -name '_curses*' ! -name 'readline*' ! -name '_sqlite3*' ! -name '_dbm*' ! -name '_gdbm*' \
       -print0 | tar --null -cf - -T -) | tar -xf - -C "$lib"

mkdir -p "$lib/site-packages"
(cd "$site" && find . \( -name tests -o -name __pycache__ -o -path ./bin \) -prune -o -type f \
    ! -name '*.pyx' ! -name '*.pxd' ! -name '*.pyi' ! -name '*.c' ! -name '*.cpp' ! -name '*.h' ! -name '*.hpp' \
    -print0 | tar --null -cf - -T -) | tar -xf - -C "$lib/site-packages"

find "$root" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/python3' \) -exec strip --strip-unneeded {} +
compile() { "$python" -m compileall -q --invalidation-mode unchecked-hash -s "$root" "$@"; }
compile -b -x /site-packages/ "$lib"
find "$lib" -path "$lib/site-packages" -prune -o -name '*.py' -exec rm {} +
compile "$lib/site-packages"

# The base has these itself.
of_base='/(ld-linux[^/]*|lib(c|m|dl|rt|util|pthread|resolv|ssl|crypto))\.so'
find "$root" -type f \( -name '*.so' -o -name '*.so.*' -o -path '*/bin/python3' \) -exec ldd {} + |
    sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | sort -u | grep -Ev "$of_base|/lib$version\.so" |
    while read -r library; do cp -L "$library" "$root/usr/lib/"; done

printf '#!/usr/local/bin/python3\nimport sys\n\nfrom ottla.cli import main\n\nsys.exit(main())\n' > "$root/usr/local/bin/ottla"
chmod 755 "$root/usr/local/bin/ottla"
