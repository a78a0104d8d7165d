#!/bin/sh
# run.sh - installs the library to a scratch prefix and builds examples/ against it with pkg-config alone.
#
#     run.sh SOURCE BUILD CC
#
# Checks that the headers compile as C and as C++, that the library defines only symbols beginning with sl_, and that
# the examples classify, complete and train.
set -eu
source=$1
build=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

# The Debian packages take every file; the units are installed by debian/rules.
(cd "$work/prefix" && find . -type f | sed 's#^\./#usr/#; s#^usr/etc/#etc/#; s#^usr/lib/\(lib\|pkgconfig\)#usr/lib/TRIPLE/\1#') >"$work/files"
cat "$source"/debian/*.install | while read -r taken _; do
    # shellcheck disable=SC2254 # a pattern, on purpose
    while read -r file; do
        case $file in $taken | $taken/* | usr/lib/systemd/*) ;; *) echo "$file" ;; esac
    done <"$work/files" >"$work/rest"
    mv "$work/rest" "$work/files"
done
[ ! -s "$work/files" ] || { cat "$work/files" >&2; fail "debian/*.install do not name these files"; }

pc=$(find "$work/prefix" -name sluice.pc)
[ -n "$pc" ] || fail "no sluice.pc was installed"
export PKG_CONFIG_PATH="$(dirname "$pc")"
config="pkg-config --define-variable=prefix=$work/prefix"
cflags=$($config --cflags sluice)

library=$(find "$work/prefix" -name libsluice.a)
strange=$(nm -g --defined-only "$library" | awk 'NF == 3 && $3 !~ /^sl_/ { print $3 }')
[ -z "$strange" ] || fail "symbols without the prefix sl_: $strange"

for header in "$work"/prefix/include/sluice/*.h; do
    name=sluice/$(basename "$header")
    printf '#include <%s>\nint main(void) { return 0; }\n' "$name" >"$work/header.c"
    $cc -std=c11 -Wall -Wextra -Werror -pedantic $cflags -c "$work/header.c" -o "$work/header.o"
    if command -v c++ >/dev/null; then
        cp "$work/header.c" "$work/header.cc"
        c++ -std=c++17 -Wall -Wextra -Werror $cflags -c "$work/header.cc" -o "$work/header.o"
    fi
done

for example in classify complete train_classifier; do
    $cc -std=gnu17 -Wall -Wextra -Werror $cflags "$source/examples/$example.c" -o "$work/$example" \
        $($config --libs sluice)
    $cc $cflags "$source/examples/$example.c" -o "$work/$example.static" $($config --static --libs sluice)
done

"$work/classify" "$source/models/sentiment/1" "A wonderful, moving film." | grep -q '^positive' ||
    fail "classify did not say positive"
"$work/complete" "$source/models/shakespeare/1" "ROMEO:" | head -1 | grep -q '^ROMEO:' ||
    fail "complete did not begin with the prompt"

printf 'label\ttext\n' >"$work/reviews.tsv"
i=0
while [ $i -lt 20 ]; do
    printf 'good\ta good film number %d\nbad\ta bad film number %d\n' $i $i >>"$work/reviews.tsv"
    i=$((i + 1))
done
"$work/train_classifier" "$work/reviews.tsv" "$work/run" "$work/store/reviews/1" >"$work/train.log" ||
    { cat "$work/train.log"; fail "train_classifier failed"; }
grep -q '^40 examples, 2 labels$' "$work/train.log" || fail "the data set was not read"
"$work/classify" "$work/store/reviews/1" "a good film" | grep -q '^good' || fail "the trained model is wrong"
"$work/prefix/bin/sluice" inspect "$work/store/reviews/1" >/dev/null || fail "the installed sluice does not run"
