#!/bin/sh
# make-man.sh BIN-DIR OUT-DIR - writes the manual pages of all programs and their commands from what --help prints.
#
# help2man does the work. Each page's --help comes from the option tables, so a page cannot say something else than the
# program; docs/man/*.h2m adds what --help leaves out.
set -eu
here=$(dirname "$(realpath "$0")")
bin=$(realpath "$1")
out=$2
export COLUMNS=1000 # lines are filled by man
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"
rm -f "$out"/*.[18]

# The date of the release, not of the build, so that two builds give the same pages.
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y "$here/../../CHANGELOG.md")}" +%Y-%m-%d)

# page NAME SECTION ONE-LINE PROGRAM [COMMAND]
page() {
    # help2man names a page after what --version prints.
    cat >"$scratch/$1" <<END
#!/bin/sh
if [ "\$1" = --version ]; then
    "$bin/$4" --version | sed 's/^$4 /$1 /'
else
    "$bin/$4" ${5-} "\$@"
fi
END
    chmod +x "$scratch/$1"
    include=$here/$1.h2m
    [ -f "$include" ] || include=$here/$4-command.h2m
    # Headings of groups, which are indented by one space, become subsections. Examples keep their lines.
    help2man --no-info --section "$2" --name "$3" --manual Sluice --include "$include" "$scratch/$1" |
        sed -e "s/^\(\.TH [^ ]* \"[0-9]\"\) \"[^\"]*\"/\1 \"$date\"/" -e 's/\]\\fR$/\\fR]/' \
            -e '/^\.SH EXAMPLES$/,/^\.SH "SEE/{s/^\.IP$/.IP\n.nf/;s/^\.SH "SEE ALSO"$/.fi\n&/}' \
            -e '/^\.IP$/{N;s/^\.IP\n\([A-Z][^.]*\)$/.SS "\1"/}' >"$out/$1.$2"
}

# commands PROGRAM: name, then one line, of each command that --help lists
commands() {
    "$bin/$1" --help | sed -n "s/^  $1 \([a-z-]*\) *[^a-z]*\([a-z].*\)/\1 \2/p" # operands have no small letters
}

page sluiced 8 'serve and train small text models over HTTP' sluiced
page sluice 1 'train, evaluate and run small text models' sluice
page sluicectl 1 'send requests to the daemon sluiced' sluicectl
for program in sluice sluicectl; do
    commands $program | while read -r command line; do
        page "$program-$command" 1 "$line" $program "$command"
    done
done
